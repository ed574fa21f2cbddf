"""Answers of Prometheus and of those who speak like it, as columns: one series after another.

Three forms are read: a query's answer (raw samples of a range selector, a range query, or one
sample each), and lines of VictoriaMetrics' export. Times become whole milliseconds, the unit of
all of them; values stay as they were delivered, NaN and infinities among them.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_NONE = msgspec.Raw()
_MS, _VALUE = pa.int64(), pa.float64()
_COLUMNS = csv.ConvertOptions(column_types={"ts": _VALUE, "value": _VALUE}, null_values=[""])


class BadAnswer(Exception):
    """A line is no answer, or one of a failed or partial query; the text says which."""


class Labelled(NamedTuple):
    """A series: its labels and how many of the samples are its own."""

    labels: dict[str, str]
    size: int


class Samples(NamedTuple):
    """Series, and the times (epoch ms) and values of all of them, one after another."""

    series: list[Labelled]
    ms: pa.Array
    values: pa.Array


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: msgspec.Raw = _NONE
    value: msgspec.Raw = _NONE
    timestamps: list[int] | None = None


class _Data(msgspec.Struct):
    result: list[_Series]
    resultType: str = ""


class _Answer(msgspec.Struct):
    status: str = ""
    data: _Data | None = None
    errorType: str = ""
    error: str = ""
    warnings: list[str] | None = None
    # A line of VictoriaMetrics' export is one series.
    metric: dict[str, str] | None = None
    values: list[float | None] | None = None
    timestamps: list[int] | None = None


_answer = msgspec.json.Decoder(_Answer)
_pairs = msgspec.json.Decoder(list[tuple[float, str]])


def samples(text: bytes) -> Samples:
    """Read one answer, or one line of an export; BadAnswer where it is none or a failed one."""
    try:
        answer = _answer.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadAnswer(f"no answer of a query and no series ({error})") from None
    if answer.metric is not None:
        return _exported(answer)
    if answer.status != "success" or answer.data is None:
        raise BadAnswer(
            f"the query failed: {answer.errorType or answer.status or 'no status'} {answer.error}"
        )
    if answer.warnings:
        # Thanos leaves a store out that does not answer: what is missing would look like idle.
        raise BadAnswer(f"the answer is partial: {'; '.join(answer.warnings)}")
    return _matrix(answer.data.result)


def _exported(answer: _Answer) -> Samples:
    values, times = answer.values or [], answer.timestamps or []
    if len(values) != len(times):
        raise BadAnswer(f"{len(values)} values and {len(times)} timestamps; expected as many")
    assert answer.metric is not None
    return Samples(
        [Labelled(answer.metric, len(times))], pa.array(times, _MS), pa.array(values, _VALUE)
    )


def _matrix(result: list[_Series]) -> Samples:
    found, texts = [], []
    for one in result:
        raw = bytes(one.values) or (b"[%b]" % bytes(one.value) if one.value else b"[]")
        # [[1,"a"],[2,"b"]] is two lines of a CSV, whatever stands in it: numbers have no brackets.
        body = raw.strip()[2:-2]
        count = raw.count(b"],[") + 1 if body else 0
        found.append(Labelled(one.metric, count))
        if count:
            texts.append(body.replace(b"],[", b"\n").replace(b'"', b""))
    try:
        ms, values = _columns(b"\n".join(texts))
        if len(ms) == sum(one.size for one in found):
            return Samples(found, ms, values)
    except pa.ArrowInvalid:
        pass
    return _slowly(result)


def _columns(text: bytes) -> tuple[pa.Array, pa.Array]:
    if not text:
        return pa.array([], _MS), pa.array([], _VALUE)
    table = csv.read_csv(
        pa.BufferReader(text),
        read_options=csv.ReadOptions(
            column_names=["ts", "value"], block_size=len(text) + 1, use_threads=False
        ),
        parse_options=csv.ParseOptions(quote_char=False),
        convert_options=_COLUMNS,
    ).combine_chunks()
    if table["ts"].null_count or table["value"].null_count:
        raise pa.ArrowInvalid("an empty number")
    return _milliseconds(table["ts"].chunk(0)), table["value"].chunk(0)


def _slowly(result: list[_Series]) -> Samples:
    """The same for any JSON: with blanks, and with +Inf as Go writes it."""
    found: list[Labelled] = []
    times: list[float] = []
    values: list[float] = []
    for one in result:
        try:
            pairs = _pairs.decode(bytes(one.values) or b"[%b]" % bytes(one.value))
            values += [float(value) for _, value in pairs]
        except (msgspec.MsgspecError, ValueError) as error:
            raise BadAnswer(f"samples of {one.metric} cannot be read ({error})") from None
        times += [time for time, _ in pairs]
        found.append(Labelled(one.metric, len(pairs)))
    return Samples(found, _milliseconds(pa.array(times, _VALUE)), pa.array(values, _VALUE))


def _milliseconds(seconds: pa.Array) -> pa.Array:
    return pc.round(pc.multiply(seconds, 1000.0)).cast(_MS)


def owners(series: list[Labelled], codes: list[int]) -> pa.Array:
    """For each sample the code of its series."""
    ends, end = [], 0
    kept = []
    for one, code in zip(series, codes, strict=True):
        if one.size:
            end += one.size
            ends.append(end)
            kept.append(code)
    if not ends:
        return pa.array([], _MS)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), pa.array(kept, _MS))
    return pc.run_end_decode(runs)
