"""Readings that come field by field, put together as rows of gpu_sample: one a GPU and time.

Fields of one scrape have one time, so nothing is moved or filled in: a row has what was delivered
for just that GPU at just that time. The same reading may come twice, from two exporters, from two
replicas of a server, or copied to each pod that shares a GPU. It counts once; where the copies do
not agree nobody knows the value, so it is no reading.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from ingest.counters.doubt import Doubt, disbelieve, tell
from ingest.counters.fields import FIELDS, Field
from ingest.counters.readings import readings
from ingest.rows import BATCH_ROWS, Rejects
from warehouse.contracts import GPU_SAMPLE, Batch, SourceFile

_WHOLE = pa.int64()
#: A key is the GPU's number and the time in ms, which is below 2**43 until the year 2248.
_TIME_BITS = 43
_TIME_MASK = (1 << _TIME_BITS) - 1
MAX_MS = _TIME_MASK


class Wide:
    """The samples of one file, by field; `rows` puts them together."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._codes: dict[str, int] = {}
        self._doubts: list[Doubt] = []
        self._parts: dict[int, list[tuple[pa.Array, pa.Array]]] = defaultdict(list)

    def code(self, gpu_uuid: str) -> int:
        """The number of a GPU, as `add` takes it."""
        return self._codes.setdefault(gpu_uuid, len(self._codes))

    def add(self, dcgm_id: int, codes: pa.Array, ms: pa.Array, values: pa.Array) -> None:
        """Add samples of a field: for each the GPU, the time and the value as DCGM delivers it."""
        if len(ms):
            keys = pc.add(pc.multiply(codes, 1 << _TIME_BITS), ms)
            self._parts[dcgm_id].append((keys, values))

    def rows(self) -> Iterator[Batch]:
        """Yield the rows, in the contract's order."""
        columns: dict[str, pa.Array] = {}
        delivered = {
            FIELDS[dcgm_id]: _single(parts) for dcgm_id, parts in sorted(self._parts.items())
        }
        self._parts.clear()
        if not delivered:
            return
        keys = self._ordered(_union([one for one, _, _ in delivered.values()]))
        mask = pa.repeat(pa.scalar(0, _WHOLE), len(keys))
        for field, (own, values, differs) in delivered.items():
            columns[field.column], bits = _column(field, keys, own, values, differs)
            mask = pc.bit_wise_or(mask, bits)
        codes, ms = _code(keys), pc.bit_wise_and(keys, _TIME_MASK)
        mask, self._doubts = disbelieve(codes, ms, columns, mask)
        yield from self._batches(codes, ms, columns | {"invalid_mask": mask})

    def tell(self, rejects: Rejects) -> None:
        """Make a reject of each run of samples that `rows` did not believe."""
        names = list(self._codes)
        for gpu_uuid, doubt in sorted((names[doubt.code], doubt) for doubt in self._doubts):
            tell(rejects, gpu_uuid, doubt)

    def _ordered(self, keys: pa.Array) -> pa.Array:
        """Keys by the GPUs' names, then by time."""
        ranks = {uuid: rank for rank, uuid in enumerate(sorted(self._codes))}
        rank_of = pa.array([ranks[uuid] for uuid in self._codes], _WHOLE)
        order = pc.add(
            pc.multiply(rank_of.take(_code(keys)), 1 << _TIME_BITS),
            pc.bit_wise_and(keys, _TIME_MASK),
        )
        return keys.take(pc.sort_indices(order))

    def _batches(
        self, codes: pa.Array, ms: pa.Array, columns: dict[str, pa.Array]
    ) -> Iterator[Batch]:
        columns["gpu_uuid"] = pa.array(list(self._codes), pa.string()).take(codes)
        columns["ts"] = pc.multiply(ms, 1000).cast(pa.timestamp("us", tz="UTC"))
        columns["period_us"] = _periods(codes, ms, len(self._codes)).take(codes)
        columns["source_row"] = pa.array(range(1, len(ms) + 1), _WHOLE)
        columns["source_file"] = pa.repeat(pa.scalar(self._file.name), len(ms))
        schema = GPU_SAMPLE.schema
        whole = pa.RecordBatch.from_arrays(
            [columns.get(f.name, pa.nulls(len(ms), f.type)) for f in schema], schema=schema
        )
        for at in range(0, len(ms), BATCH_ROWS):
            yield Batch(GPU_SAMPLE.name, whole.slice(at, BATCH_ROWS))


def _code(keys: pa.Array) -> pa.Array:
    return pc.shift_right(keys, _TIME_BITS)


def _single(parts: list[tuple[pa.Array, pa.Array]]) -> tuple[pa.Array, pa.Array, pa.Array | None]:
    """Keys in order, each once, with their values; and which of them have values that differ."""
    keys = pa.concat_arrays([keys for keys, _ in parts])
    values = pa.concat_arrays([values for _, values in parts])
    steps = pc.subtract(keys[1:], keys[:-1])
    if len(steps) and pc.min(steps).as_py() <= 0:
        order = pc.sort_indices(keys)
        keys, values = keys.take(order), values.take(order)
        steps = pc.subtract(keys[1:], keys[:-1])
    if not len(steps) or pc.min(steps).as_py() > 0:
        return keys, values, None
    # Copies follow one another; two NaN are the same value, and nobody's.
    low = pc.fill_null(pc.if_else(pc.is_nan(values), None, values), float("inf"))
    grouped = pa.table({"key": keys, "value": low}).group_by("key", use_threads=False).aggregate(
        [("value", "min"), ("value", "max")]
    )  # fmt: skip
    first = pa.concat_arrays([pa.array([True]), pc.greater(steps, 0)])
    kept = grouped.sort_by("key").combine_chunks()
    differs = pc.not_equal(kept["value_min"].chunk(0), kept["value_max"].chunk(0))
    return keys.filter(first), values.filter(first), differs


def _union(keys: list[pa.Array]) -> pa.Array:
    first = keys[0]
    if all(other.equals(first) for other in keys[1:]):
        return first
    return pc.unique(pa.concat_arrays(keys))


def _column(
    field: Field, keys: pa.Array, own: pa.Array, values: pa.Array, differs: pa.Array | None
) -> tuple[pa.Array, pa.Array]:
    """A field's column and its bit, for all keys; null where it has no sample."""
    reading, bits = readings(field, field.unit, values)
    if differs is not None:
        reading = pc.if_else(differs, pa.scalar(None, reading.type), reading)
        bits = pc.if_else(differs, field.bit, bits).cast(_WHOLE)
    if keys.equals(own):
        return reading, bits
    at = pc.index_in(keys, value_set=own)
    return reading.take(at), pc.fill_null(bits.take(at), 0)


def _periods(codes: pa.Array, ms: pa.Array, count: int) -> pa.Array:
    """By GPU the distance in us that its samples have most often; 0 where one stands alone."""
    same = pc.equal(codes[1:], codes[:-1])
    found = pa.table({"code": codes[1:], "ms": pc.subtract(ms[1:], ms[:-1])}).filter(same)
    counted = found.group_by(["code", "ms"], use_threads=False).aggregate([([], "count_all")])
    by_code: dict[int, Counter[int]] = defaultdict(Counter)
    for code, distance, times in zip(
        *(counted[name].to_pylist() for name in ("code", "ms", "count_all")), strict=True
    ):
        by_code[code][distance] = times
    return pa.array(
        [
            1000 * max(by_code[code].items(), key=lambda item: (item[1], -item[0]))[0]
            if by_code[code] else 0
            for code in range(count)
        ],
        _WHOLE,
    )  # fmt: skip
