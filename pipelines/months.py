"""Which months there are to build, and how far before and after a month its build must look.

A month is decided by its bill lines, by the whole of every job that overlaps them, and by nothing
else: a job's samples of the month before may prove that it was never touched, its next attempt of
the month after may prove lost work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.rows import ns_of_time
from warehouse.contracts import LANDING
from warehouse.store import FileEntry, Store
from warehouse.trace_contracts import TRACE_TABLES

_DAY_NS = 86_400_000_000_000
#: Large tables, of which a build reads the files that touch its window only.
WINDOWED = ("gpu_sample", "train_step", *(table.name for table in TRACE_TABLES))


@dataclass(frozen=True)
class Span:
    """A stretch of time, epoch ns [start, end)."""

    start_ns: int
    end_ns: int

    def with_(self, other: Span) -> Span:
        """The least span that holds both."""
        return Span(min(self.start_ns, other.start_ns), max(self.end_ns, other.end_ns))

    def meets(self, other: Span) -> bool:
        """True where they share an instant."""
        return self.start_ns < other.end_ns and self.end_ns > other.start_ns


@dataclass(frozen=True)
class Landing:
    """What decides the windows: stretches of bill lines, and jobs (all attempts together).

    A stretch is the lines of one resource whose charge periods overlap: they are paid as one
    bundle, so a build takes all of them or none.
    """

    lines: tuple[Span, ...]
    jobs: tuple[Span, ...]

    def months(self) -> list[date]:
        """First days of the months that bill lines touch, in order."""
        found: set[date] = set()
        for line in set(self.lines):
            month = _day(line.start_ns).replace(day=1)
            while True:
                found.add(month)
                month = next_month(month)
                if month_span(month).start_ns >= line.end_ns:
                    break
        return sorted(found)

    def billed(self, month: date) -> Span:
        """The time of the bill lines that a build of the month takes: its own, and what they touch.

        Lines that lie in it and touch no instant of the month do no harm: they are published with
        their own month.
        """
        span = month_span(month)
        for line in self.lines:
            if line.meets(month_span(month)):
                span = span.with_(line)
        return span

    def window(self, month: date) -> Span:
        """The time that a build of the month looks at: its bill, and every job that overlaps it."""
        billed = self.billed(month)
        span = billed
        for job in self.jobs:
            if job.meets(billed):
                span = span.with_(job)
        return span


def read_landing(store: Store) -> Landing:
    """The stretches of bill lines and the spans of jobs that have landed."""
    of_resource: dict[str | None, set[Span]] = {}
    columns = ("resource_id", "charge_period_start", "charge_period_end")
    for resource, start, end in _columns(store, "bill_line", columns):
        span = Span(ns_of_time(start), ns_of_time(end))
        of_resource.setdefault(resource, set()).add(span)
    lines = set(of_resource.pop(None, ()))
    for spans in of_resource.values():
        lines.update(_stretches(spans))
    jobs: dict[tuple[object, object], Span] = {}
    open_end = max((line.end_ns for line in lines), default=0)
    for cluster, job_id, start, end in _columns(
        store, "job_attempt", ("cluster", "job_id", "start", "end")
    ):
        if start is not None:
            span = Span(ns_of_time(start), ns_of_time(end) if end is not None else open_end)
            known = jobs.get((cluster, job_id))
            jobs[cluster, job_id] = span if known is None else known.with_(span)
    return Landing(tuple(sorted(lines, key=_order)), tuple(sorted(jobs.values(), key=_order)))


def _stretches(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans that overlap, joined; spans that only touch stay apart."""
    whole: Span | None = None
    for span in sorted(spans, key=_order):
        if whole is not None and span.meets(whole):
            whole = whole.with_(span)
            continue
        if whole is not None:
            yield whole
        whole = span
    if whole is not None:
        yield whole


def inputs(store: Store, window: Span) -> dict[str, list[FileEntry]]:
    """The landing files that a build of this window reads, by table."""
    wide = Span(window.start_ns - _DAY_NS, window.end_ns + _DAY_NS)
    return {
        table: [
            entry
            for entry in store.files(table, area="landing")
            if table not in WINDOWED
            or entry.min_ns is None
            or entry.max_ns is None
            or wide.meets(Span(entry.min_ns, entry.max_ns + 1))
        ]
        for table in LANDING
    }


def fingerprint(
    files: Iterable[FileEntry], spans: Iterable[Span], *, models: str, settings: object
) -> str:
    """A hash of all that a month's marts are a function of."""
    text = json.dumps(
        {
            "files": sorted((entry.path, entry.sha256) for entry in files),
            "spans": [(span.start_ns, span.end_ns) for span in spans],
            "models": models,
            "settings": settings,
        },
        default=str,
        sort_keys=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()


def unit_key(month: date) -> str:
    """The store's name for a month's marts."""
    return f"month={month:%Y-%m}"


def month_span(month: date) -> Span:
    """The month that begins on this day, UTC."""
    return Span(_midnight(month), _midnight(next_month(month)))


def next_month(month: date) -> date:
    """First day of the month after."""
    return (month + timedelta(days=31)).replace(day=1)


def _midnight(day: date) -> int:
    return ns_of_time(datetime(day.year, day.month, day.day, tzinfo=UTC))


def _day(time_ns: int) -> date:
    return date(1970, 1, 1) + timedelta(days=time_ns // _DAY_NS)


def _order(span: Span) -> tuple[int, int]:
    return span.start_ns, span.end_ns


def _columns(store: Store, table: str, names: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for entry in store.files(table, area="landing"):
        rows: pa.Table = pq.read_table(store.path(entry), columns=list(names), partitioning=None)
        yield from zip(*(rows.column(name).to_pylist() for name in names), strict=True)
