"""Answers of Prometheus' HTTP API (and of VictoriaMetrics, Thanos, Mimir) -> gpu_sample.

A file has answers of queries, one a line, as `plumbline collect` writes them and as curl saves
them: raw samples of range selectors, range queries, or lines of VictoriaMetrics' export. Series of
dcgm-exporter are known by every name that their fields had; types that it announces are not
believed. A line `{"start_ms": ..., "end_ms": ...}` says that what follows counts for the time after
start up to end, so that files that touch share no sample.

Which GPU a series is about its UUID says. Labels of pods and jobs are claims: whose the GPU was the
scheduler says. Values of MIG slices are rejects, one a series, since slices are not divided yet;
what counts for the whole GPU is copied to each slice and read once.

What cannot be true is no reading, whatever it says: values that a hung host engine repeats, which
the energy counter betrays, and profiling counters that are stuck at 0 while GPU-Util says that
kernels run. Each such run of samples is a reject, with its GPU and time.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.counters.prometheus_api import MAX_ANSWER_BYTES, OPTIONS, Server, server
from ingest.counters.series import BadAnswer, Labelled, owners, samples
from ingest.counters.whose import NOBODY, Whose
from ingest.counters.wide import MAX_MS, Wide
from ingest.options import check_options
from ingest.rows import Rejects, Rows, time_of_ns
from ingest.text import documents
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import SourceError

KIND = "prometheus"

EXPORT = """\
plumbline collect            # asks the server of `url` for what is missing, a file for each hour
By hand, an hour of one field (each metric a line of its own; TO is the hour's end, epoch seconds):
  curl -sG http://PROMETHEUS:9090/api/v1/query --data-urlencode time=TO \\
    --data-urlencode 'query=DCGM_FI_PROF_GR_ENGINE_ACTIVE[1h]' >> prometheus/HOUR.jsonl
dcgm-exporter gives engine, tensor and DRAM activity by default; SM activity and occupancy are
comments in its list of metrics (default-counters.csv): take the # away.
"""


class _Span(msgspec.Struct, forbid_unknown_fields=True):
    """For which time the lines below count: after `start_ms` up to `end_ms`, epoch ms."""

    start_ms: int
    end_ms: int


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one file of answers.

    An answer that cannot be read, failed or is partial is a reject and cuts coverage for the time
    that it was asked for; so is, once, a field or a series that is not known. Raises SourceError
    where no line is an answer, ConfigError for an option.
    """
    read_options(file)
    wide, rejects, coverage = Wide(file), Rejects(file, KIND), Rows("source_coverage", file)
    whose = Whose(wide)
    span: _Span | None = None
    known = False
    for number, text, fault in documents(file, most=MAX_ANSWER_BYTES):
        if not text and not fault:
            continue
        if text.startswith(b'{"start_ms"'):
            span = _span(text, number, file)
            _cover(coverage, file, span, number, is_cut=False)
            known = True
            continue
        try:
            if fault:
                raise BadAnswer(f"{fault}; ask for less at a time")
            found = samples(text)
        except BadAnswer as error:
            rejects.put(f"line {number}", str(error), text)
            if span is not None:
                _cover(coverage, file, span, number, is_cut=True)
        else:
            known = True
            _take(wide, found.series, found.ms, found.values, span, rejects, number, whose)
        yield from rejects.flush(at_least=1000)
    if not known:
        raise SourceError(
            file.name, "no line of it is an answer of a query",
            expected='lines such as {"status": "success", "data": {"result": [...]}}',
            todo="Check the source's `files`.",
        )  # fmt: skip
    yield from wide.rows()
    wide.tell(rejects)
    yield from rejects.flush()
    yield from coverage.flush()


def read_options(file: SourceFile) -> Server | None:
    """The server that is asked for files, if one is; ConfigError where an option cannot be."""
    check_options(file, OPTIONS)
    return server(file)


def _span(text: bytes, number: int, file: SourceFile) -> _Span:
    try:
        return msgspec.json.decode(text, type=_Span)
    except msgspec.MsgspecError as error:
        raise SourceError(
            file.name, f"line {number} says no time ({error})",
            expected='{"start_ms": ..., "end_ms": ...}, epoch ms', todo="Collect the file anew.",
        ) from error  # fmt: skip


def _take(
    wide: Wide, series: list[Labelled], ms: pa.Array, values: pa.Array, span: _Span | None,
    rejects: Rejects, number: int, whose: Whose,
) -> None:  # fmt: skip
    ids: list[int] = []
    codes: list[int] = []
    for one in series:
        dcgm_id, code, fault = whose.find(one.labels)
        if fault:
            rejects.put(f"line {number}", fault, msgspec.json.encode(one.labels))
        ids.append(dcgm_id)
        codes.append(code)
    owner, field = owners(series, codes), owners(series, ids)
    is_good = pc.and_(pc.not_equal(owner, NOBODY), pc.less_equal(ms, MAX_MS))
    is_good = pc.and_(is_good, pc.greater(ms, -1 if span is None else span.start_ms))
    if span is not None:
        is_good = pc.and_(is_good, pc.less_equal(ms, span.end_ms))
    for dcgm_id in sorted({i for i, code in zip(ids, codes, strict=True) if code != NOBODY}):
        own = pc.and_(is_good, pc.equal(field, dcgm_id))
        wide.add(dcgm_id, owner.filter(own), pc.filter(ms, own), pc.filter(values, own))


def _cover(rows: Rows, file: SourceFile, span: _Span, line: int, *, is_cut: bool) -> None:
    if span.end_ms > span.start_ms:
        rows.add(
            source="telemetry", cluster=file.cluster, node=None,
            start=time_of_ns(span.start_ms * 1_000_000), end=time_of_ns(span.end_ms * 1_000_000),
            is_cut=is_cut, source_row=line,
        )  # fmt: skip
