"""NVML and GPM counters of one GPU as CSV (plain or gzip) -> gpu_sample.

The header names the columns; `ts_ns` (epoch ns, the end of what a line speaks for) must be there.
NVML's percent, MiB/s and mW become DCGM's ratio, B/s and W. An empty cell is null: the sampler
did not deliver it. What was delivered and can be no reading (`nan`, text, out of range, a blank
of the driver) is null too, and its bit is set in invalid_mask.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ingest.counters.doubt import Doubt, disbelieve, tell
from ingest.counters.fields import (
    BY_COLUMN,
    BYTE,
    CELSIUS,
    MEGAHERTZ,
    MIB_S,
    MILLIJOULE,
    MILLIWATT,
    PERCENT,
    Field,
    Unit,
)
from ingest.counters.readings import readings
from ingest.file_names import OF_GPU, Named, PathPattern, path_pattern
from ingest.options import check_options, text_option
from ingest.rows import BATCH_ROWS, Rejects, Rows, time_of_ns
from ingest.text import Block, blocks
from warehouse.contracts import GPU_SAMPLE, Batch, SourceFile
from warehouse.errors import ConfigError, SourceError

KIND = "nvml_csv"

EXPORT = """\
On each node, as a service: plumbline sample --out /var/spool/plumbline/counters
Or one CSV for each GPU, a line each 0.1 to 30 s, written on the node with nvidia-ml-py:
  ts_ns              time.time_ns(), after the readings
  gpu_util_pct       nvmlDeviceGetUtilizationRates(handle).gpu
  power_mw           nvmlDeviceGetPowerUsage(handle)
  energy_mj          nvmlDeviceGetTotalEnergyConsumption(handle)
  sm_clock_mhz       nvmlDeviceGetClockInfo(handle, NVML_CLOCK_SM)
  fb_used_bytes      nvmlDeviceGetMemoryInfo(handle).used
  temp_c             nvmlDeviceGetTemperature(handle, NVML_TEMPERATURE_GPU)
  gpm_*              two nvmlGpmSampleGet at least 100 ms apart, then nvmlGpmMetricsGet: metric 1
                     graphics_util, 2 sm_util, 3 sm_occupancy, 5 any_tensor_util, 10 dram_bw_util,
                     11 to 13 fp64, fp32, fp16_util, 20 and 21 pcie_tx and pcie_rx_per_sec, 60
                     nvlink_total_rx_per_sec, 61 nvlink_total_tx_per_sec (Hopper and newer)
Percent and MiB/s as the library gives them; leave a cell empty where a call fails.
Find the GPU's UUID for the option gpu_uuid: nvidia-smi --query-gpu=index,uuid --format=csv
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "gpu_uuid": "the GPU that the files speak for, where their paths do not say it",
    "slice_id": "the MIG slice that they speak for",
    "node": "the node whose telemetry it is; without it coverage is claimed, and cut, for every "
    "node of the cluster",
    "pattern": "what the file's path says: its end, with the marks {node}, {gpu_uuid} and "
    "{slice_id} and with `*` for anything, or a list of such; the first that fits counts",
}

_TS = "ts_ns"
_REAL, _WHOLE = pa.float64(), pa.int64()


class Source(NamedTuple):
    """What a column of the CSV is: the field, its unit as delivered, and the type to read it as."""

    field: Field
    unit: Unit
    type: pa.DataType


#: Columns of the CSV that are landed: where to, in which unit they come, as which type.
COLUMNS: dict[str, Source] = {
    name: Source(BY_COLUMN[column], unit, type_)
    for name, column, unit, type_ in (
        ("gpu_util_pct", "gpu_util_ratio", PERCENT, _REAL),
        ("gpm_graphics_util", "engine_active_ratio", PERCENT, _REAL),
        ("gpm_sm_util", "sm_active_ratio", PERCENT, _REAL),
        ("gpm_sm_occupancy", "sm_occupancy_ratio", PERCENT, _REAL),
        ("gpm_any_tensor_util", "tensor_active_ratio", PERCENT, _REAL),
        ("gpm_dram_bw_util", "dram_active_ratio", PERCENT, _REAL),
        ("gpm_fp64_util", "fp64_active_ratio", PERCENT, _REAL),
        ("gpm_fp32_util", "fp32_active_ratio", PERCENT, _REAL),
        ("gpm_fp16_util", "fp16_active_ratio", PERCENT, _REAL),
        ("gpm_pcie_tx_per_sec", "pcie_tx_bytes_s", MIB_S, _REAL),
        ("gpm_pcie_rx_per_sec", "pcie_rx_bytes_s", MIB_S, _REAL),
        ("gpm_nvlink_total_tx_per_sec", "nvlink_tx_bytes_s", MIB_S, _REAL),
        ("gpm_nvlink_total_rx_per_sec", "nvlink_rx_bytes_s", MIB_S, _REAL),
        ("power_mw", "power_watts", MILLIWATT, _REAL),
        ("energy_mj", "energy_mj", MILLIJOULE, _WHOLE),
        ("fb_used_bytes", "fb_used_bytes", BYTE, _WHOLE),
        ("sm_clock_mhz", "sm_clock_mhz", MEGAHERTZ, _WHOLE),
        ("temp_c", "temp_c", CELSIUS, _WHOLE),
    )
}
#: A whole number that no field can have: stands for a cell that is no number.
_NO_READING = -(2**63)
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_BLOCK_BYTES = 8 << 20


@dataclass(frozen=True)
class _Bad:
    """A line that cannot be read."""

    line: int
    reason: str
    raw: bytes


@dataclass(frozen=True)
class _Part:
    """A block's good lines as typed columns, among them `line` and `us`, and its bad lines."""

    good: pa.Table
    bad: list[_Bad]


@dataclass(frozen=True)
class Options:
    """What a source of this kind was told of whose samples its files are."""

    given: Named
    pattern: PathPattern

    def whose(self, file: SourceFile) -> Named:
        """Node, GPU and slice of one file; ConfigError where no pattern fits it."""
        said = self.pattern.read(file.name)
        return Named(
            node=self.given.node or said.node,
            gpu_uuid=self.given.gpu_uuid or said.gpu_uuid,
            slice_id=self.given.slice_id or said.slice_id,
        )


def read(file: SourceFile) -> Iterator[Batch]:
    """Read the samples of one GPU; the file is read twice, since its period stands in each row.

    A line that cannot be read, or whose time is not after that of the lines before it, becomes a
    reject and cuts coverage between its neighbours. Raises SourceError where the file is no such
    CSV, ConfigError where nothing says whose GPU it is.
    """
    whose = read_options(file).whose(file)
    constants = {"gpu_uuid": whose.gpu_uuid, "slice_id": whose.slice_id}
    period_us, first_us, last_us = _survey(file)
    rejects, coverage = Rejects(file, KIND), Rows("source_coverage", file)
    cuts = _Cuts(coverage, file, whose.node, period_us)
    if file.covers is not None or first_us is not None:
        start = 0 if first_us is None else first_us - period_us
        cuts.add(0, *(_covers(file) or (start, last_us)), is_cut=False)
    waiting: list[pa.RecordBatch] = []
    for part in _parts(file, COLUMNS):
        for bad in part.bad:
            rejects.put(f"line {bad.line}", bad.reason, bad.raw)
        cuts.see(part)
        if part.good.num_rows:
            batch, doubts = _samples(part.good, constants | {"period_us": period_us}, file)
            waiting.append(batch)
            for doubt in doubts:
                tell(rejects, str(whose.gpu_uuid), doubt)
        if sum(batch.num_rows for batch in waiting) >= BATCH_ROWS:
            yield _joined(waiting)
            waiting = []
        yield from rejects.flush(at_least=BATCH_ROWS)
        yield from coverage.flush(at_least=BATCH_ROWS)
    cuts.end()
    if waiting:
        yield _joined(waiting)
    yield from rejects.flush()
    yield from coverage.flush()


def read_options(file: SourceFile) -> Options:
    """The options of a source of this kind; ConfigError where one cannot be, or no GPU is named."""
    check_options(file, OPTIONS)
    given = Named(
        node=text_option(file, "node"),
        gpu_uuid=text_option(file, "gpu_uuid"),
        slice_id=text_option(file, "slice_id"),
    )
    pattern = path_pattern(file, OF_GPU)
    for regex in pattern.patterns:
        for name in OF_GPU:
            if name in regex.groupindex and getattr(given, name) is not None:
                raise ConfigError(
                    f"{file.source}: {name} is an option and a mark of pattern; expected one"
                )
    if given.gpu_uuid is None and not (
        pattern.patterns and all("gpu_uuid" in regex.groupindex for regex in pattern.patterns)
    ):
        raise ConfigError(
            f"{file.source}: {KIND} needs the GPU that a file speaks for: the option gpu_uuid "
            "(find it: nvidia-smi --query-gpu=index,uuid --format=csv), or a pattern such as "
            '"counters/{node}/{gpu_uuid}*.csv"'
        )
    return Options(given, pattern)


def _covers(file: SourceFile) -> tuple[int, int] | None:
    return (file.covers[0] // 1000, file.covers[1] // 1000) if file.covers else None


def _survey(file: SourceFile) -> tuple[int, int | None, int | None]:
    """The file's period in us, and the times of its first and last sample.

    The period is the median distance of neighbours, to the millisecond; 0 where one sample stands
    alone, which then speaks for no time.
    """
    distances: Counter[int] = Counter()
    first = last = None
    for part in _parts(file, {}):
        times = part.good["us"]
        if not len(times):
            continue
        if last is not None:
            times = pa.chunked_array([pa.array([last], _WHOLE), *times.chunks])
        else:
            first = times[0].as_py()
        last = times[-1].as_py()
        steps = pc.subtract(times[1:], times[:-1])
        rounded = pc.divide(pc.add(steps, 500), 1000)
        for pair in pc.value_counts(rounded).to_pylist():
            distances[pair["values"]] += pair["counts"]
    middle, passed = (distances.total() + 1) // 2, 0
    for distance, times_seen in sorted(distances.items()):
        passed += times_seen
        if passed >= middle:
            return distance * 1000, first, last
    return 0, first, last


def _parts(file: SourceFile, columns: Mapping[str, Source]) -> Iterator[_Part]:
    """Yield a file's blocks as typed columns, in time order, with what cannot be read beside."""
    names: list[str] = []
    header = b""
    last = -1
    for block in blocks(file, size=_BLOCK_BYTES):
        if not names:
            head, feed, data = block.data.partition(b"\n")
            names, header = _header(head if not block.fault else b"", file), head.strip()
            block = Block(block.line + 1, data)
            if not feed or not data:
                continue
        types = {_TS: _WHOLE, **{n: columns[n].type for n in names if n in columns}}
        part = None if block.fault else _quick(block, names, types, last)
        if part is None:
            part = _careful(block, names, types, last, header, file)
        if part.good.num_rows:
            last = part.good["us"][-1].as_py()
        yield part
    if not names:
        _header(b"", file)


def _header(line: bytes, file: SourceFile) -> list[str]:
    names = [name.strip() for name in line.decode("utf-8", "replace").split(",")]
    known = [name for name in names if name in COLUMNS]
    if _TS not in names or not known or len(set(names)) < len(names):
        raise SourceError(
            file.name, f"its first line is {line[:80].decode('utf-8', 'replace')!r}",
            expected=f"a header with {_TS} and counters such as gpm_sm_util, each once",
            todo="Point the source at the sampler's CSV; `plumbline init` shows how it is made.",
        )  # fmt: skip
    return names


def _quick(
    block: Block, names: list[str], types: Mapping[str, pa.DataType], last: int
) -> _Part | None:
    """Read a block as columns at once; None where any line of it needs a closer look."""
    if not block.data.endswith(b"\n"):
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(block.data),
            read_options=csv.ReadOptions(column_names=names, block_size=len(block.data) + 1),
            parse_options=csv.ParseOptions(quote_char=False, ignore_empty_lines=False),
            convert_options=csv.ConvertOptions(
                column_types=dict(types), include_columns=list(types), null_values=[""]
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != block.data.count(b"\n") or table[_TS].null_count:
        return None
    counted = pc.cumulative_sum(pa.repeat(pa.scalar(1, _WHOLE), table.num_rows))
    table = _timed(table, pc.add(counted, block.line - 1))
    us = table["us"]
    if us[0].as_py() <= last or pc.min(table[_TS]).as_py() < 0:
        return None
    if len(us) > 1 and pc.min(pc.subtract(us[1:], us[:-1])).as_py() <= 0:
        return None
    return _Part(table, [])


def _timed(table: pa.Table, line_numbers: pa.Array) -> pa.Table:
    table = table.append_column("us", pc.divide(table[_TS], 1000))
    return table.append_column("line", line_numbers)


def _careful(
    block: Block, names: list[str], types: Mapping[str, pa.DataType], last: int,
    header: bytes, file: SourceFile,
) -> _Part:  # fmt: skip
    """Read a block line by line, and keep each bad line with its reason."""
    bad: list[_Bad] = []
    good: dict[str, list[int | float | None]] = {name: [] for name in types}
    good_lines: list[int] = []
    texts = block.data.split(b"\n")
    is_cut = bool(texts[-1]) or bool(block.fault)
    if not texts[-1]:
        texts.pop()
    if block.fault:
        bad.append(_Bad(block.line, block.fault, block.data))
        texts = []
    for at, text in enumerate(texts):
        line, text = block.line + at, text.removesuffix(b"\r")
        if not text.strip() or text.strip() == header:
            continue
        cells = text.split(b",")
        if _TS.encode() in cells:
            raise SourceError(
                file.name, f"line {line} is another header", expected="the same columns throughout",
                todo="Split the file at this line.",
            )  # fmt: skip
        if len(cells) != len(names):
            bad.append(_Bad(line, f"{len(cells)} cells; expected {len(names)}", text))
            continue
        if is_cut and at == len(texts) - 1 and cells[-1]:
            # Its line feed is missing: the last cell may have been longer.
            cells[-1] = b"cut"
        row = dict(zip(names, cells, strict=True))
        time = row[_TS].strip()
        if not time.isdigit() or int(time[:20]) >= 2**63:
            reason = f"{_TS} is {time[:40].decode('utf-8', 'replace')!r}; expected epoch ns"
            bad.append(_Bad(line, reason, text))
            continue
        us = int(time) // 1000
        if us <= last:
            what = "has the time of the sample before" if us == last else "goes back in time"
            bad.append(_Bad(line, f"{what}; expected a later time in each line", text))
            continue
        last = us
        good_lines.append(line)
        for name, type_ in types.items():
            good[name].append(_cell(row[name].strip(), type_))
    table = pa.table({name: pa.array(good[name], type_) for name, type_ in types.items()})
    return _Part(_timed(table, pa.array(good_lines, _WHOLE)), bad)


def _cell(text: bytes, type_: pa.DataType) -> int | float | None:
    """A cell's number; null where it is empty; a value that no field can have where it is none."""
    if not text:
        return None
    is_number = _NUMBER.fullmatch(text) is not None
    if type_ == _REAL:
        return float(text) if is_number else math.nan
    if not is_number:
        return _NO_READING
    exact = int(text) if text.lstrip(b"+-").isdigit() and len(text) < 20 else float(text)
    return round(exact) if abs(exact) < 2**63 else _NO_READING


def _samples(
    table: pa.Table, constants: Mapping[str, str | int | None], file: SourceFile
) -> tuple[pa.RecordBatch, list[Doubt]]:
    """Make the rows of gpu_sample: units, ranges, and the bits of what was no reading; and the runs
    of samples that are not believed."""
    table = table.combine_chunks()
    count = table.num_rows
    columns: dict[str, pa.Array] = {
        "ts": table["us"].chunk(0).cast(pa.timestamp("us", tz="UTC")),
        "source_row": table["line"].chunk(0),
        "source_file": _repeat(file.name, count, pa.string()),
    }
    mask = _repeat(0, count, _WHOLE)
    for name in table.column_names:
        source = COLUMNS.get(name)
        if source is None:
            continue
        columns[source.field.column], bits = readings(
            source.field, source.unit, table[name].chunk(0)
        )
        mask = pc.bit_wise_or(mask, bits)
    one_gpu, ms = _repeat(0, count, _WHOLE), pc.divide(table["us"].chunk(0), 1000)
    columns["invalid_mask"], doubts = disbelieve(one_gpu, ms, columns, mask)
    for column in GPU_SAMPLE.columns:
        if column.name not in columns:
            columns[column.name] = _repeat(constants.get(column.name), count, column.type)
    schema = GPU_SAMPLE.schema
    rows = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
    return rows, doubts


def _repeat(value: str | int | None, count: int, type_: pa.DataType) -> pa.Array:
    return pa.nulls(count, type_) if value is None else pa.repeat(pa.scalar(value, type_), count)


def _joined(batches: list[pa.RecordBatch]) -> Batch:
    table = pa.Table.from_batches(batches).combine_chunks()
    return Batch(GPU_SAMPLE.name, table.to_batches()[0])


class _Cuts:
    """Coverage rows: what the file speaks for, and a cut between the neighbours of bad lines.

    Bad lines in a row make one cut, at the first of them.
    """

    def __init__(self, rows: Rows, file: SourceFile, node: str | None, period_us: int) -> None:
        self._rows, self._file, self._node, self._period_us = rows, file, node, period_us
        self._last: int | None = None
        self._open: int | None = None

    def add(self, line: int, start: int, end: int | None, *, is_cut: bool) -> None:
        """Add one stretch, in us; one without length is none."""
        if end is not None and end > start:
            self._rows.add(
                source="telemetry", cluster=self._file.cluster, node=self._node,
                start=time_of_ns(start * 1000), end=time_of_ns(end * 1000), is_cut=is_cut,
                source_row=line,
            )  # fmt: skip

    def see(self, part: _Part) -> None:
        """Go over a part's lines in the file's order."""
        if part.bad or self._open is not None:
            good = zip(part.good["line"].to_pylist(), part.good["us"].to_pylist(), strict=True)
            events = [*good, *((bad.line, None) for bad in part.bad)]
            for line, us in sorted(events, key=lambda event: event[0]):
                if us is not None:
                    self._close(us)
                    self._last = us
                elif self._open is None:
                    self._open = line
        elif part.good.num_rows:
            self._last = part.good["us"][-1].as_py()

    def end(self) -> None:
        """Close what is open at the end of the file."""
        covers = _covers(self._file)
        if covers is not None:
            self._close(covers[1])
        elif self._last is not None:
            self._close(self._last + 2 * self._period_us)

    def _close(self, end: int) -> None:
        if self._open is not None:
            covers = _covers(self._file)
            start = self._last
            if start is None:
                start = covers[0] if covers is not None else end - 2 * self._period_us
            self.add(self._open, start, end, is_cut=True)
            self._open = None
