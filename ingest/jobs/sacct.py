"""`sacct --parsable2` to job_attempt: one row per incarnation of a job.

Any selection of columns is read that has JobIDRaw (or JobID), State, Submit, Start, End, AllocTRES
and NodeList. EXPORT is the best one, for these reasons:

- epoch seconds (SLURM_TIME_FORMAT=%s): text is local to whoever runs sacct and repeats an hour a
  year; TZ=UTC makes sacct read FROM and TO as UTC as well;
- --duplicates: without it only the last incarnation of a requeued job is shown, and the GPU time
  before the requeue is lost;
- with steps (no -X): a step `.interactive` is the only record that says that an allocation is a
  session. Steps repeat the job's AllocTRES, so they are never counted;
- no --truncate, which would print times that are not the job's;
- the job name last: it may hold the delimiter and newlines.

Which GPU time a row holds: start to end, suspended time included, as slurmdbd's own roll-up
(sreport) counts. An incarnation that has not started holds nothing, even where AllocTRES is set.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.jobs import parsable
from ingest.jobs.coverage import Coverage
from ingest.jobs.layout import Layout
from ingest.jobs.parsable import Record
from ingest.jobs.sacct_columns import GRAMMAR
from ingest.jobs.slurm_text import (
    Clock,
    clock,
    duration_us,
    gpus,
    held_interval,
    hosts,
    or_nothing,
)
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, Rejects, Rows, time_of_ns
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError

#: The command that exports what this module reads; FROM and TO are times such as 2026-11-01.
EXPORT = GRAMMAR.export

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "delimiter": 'what --delimiter was given; default "|"',
    "timezone": "IANA zone in which sacct ran; needed where times are no epoch seconds",
    "hash_users": "true, or a salt (better: names are few): user names are hashed",
    "gpus_tracked": "true: AccountingStorageTRES has gres/gpu, so a file without GPUs is believed",
}

#: States after which a job has an End; one without is a fault of the database.
_ENDED = frozenset({
    "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE",
    "BOOT_FAIL", "PREEMPTED",
})  # fmt: skip
_S = 1_000_000_000
_EXIT = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True)
class Options:
    """What a source of this kind was told."""

    clock: Clock
    salt: str | None
    gpus_tracked: bool


@dataclass(frozen=True)
class _Seen:
    """One job row that was read: its values for job_attempt, and the times that it shows."""

    values: dict[str, Any]
    start_s: int | None
    until_s: int | None
    submit_s: int


def read(file: SourceFile) -> Iterator[Batch]:
    """job_attempt, reject and source_coverage (source `scheduler`) of one sacct output.

    Raises SourceError where the file is no sacct output or lacks a required column, ConfigError
    where an option is wrong, or missing for what the file holds.
    """
    options = read_options(file)
    jobs, rejects = Rows("job_attempt", file), Rejects(file, "sacct")
    coverage = Coverage(file, "scheduler")
    last: dict[str, Any] | None = None
    early: set[str] = set()
    ran = has_gpus = False
    layout, records = parsable.open_table(file, GRAMMAR)
    if "Cluster" not in layout.names and file.cluster is None:
        raise ConfigError(
            f"source {file.source!r}: {file.name} has no column Cluster, so the source needs "
            'cluster = "..." (the name that `scontrol show config` prints as ClusterName)'
        )
    for record in records:
        shown = record.cells or record.head
        job_id, _, step = (shown.get("JobIDRaw") or shown.get("JobID", "")).partition(".")
        if step:
            if step == "interactive" and last is not None and last["job_id"] == job_id:
                last["is_interactive"] = True
            elif step == "interactive":
                early.add(job_id)
            continue
        try:
            seen = _attempt(record, file, options)
        except ValueError as error:
            rejects.put(f"line {record.line}", str(error), _shown(record, layout, options))
            _cut(coverage, record, file, options)
            continue
        if last is not None:
            jobs.add(**last)
        last = seen.values
        if job_id in early:
            early.discard(job_id)
            last["is_interactive"] = True
        ran |= seen.until_s != seen.start_s
        has_gpus |= last["gpu_count"] > 0
        is_running = seen.start_s is not None and last["end"] is None
        coverage.see(
            last["cluster"], start_s=seen.start_s, other_s=(seen.submit_s,),
            end_s=None if is_running else seen.until_s,
            looked_s=seen.until_s if is_running else None,
        )  # fmt: skip
        yield from jobs.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
    if last is not None:
        jobs.add(**last)
    if ran and not has_gpus and not options.gpus_tracked:
        rejects.put(
            "whole file",
            "jobs ran and none shows gres/gpu in AllocTRES: AccountingStorageTRES in slurm.conf "
            "lacks gres/gpu, so sacct cannot say who held GPUs. If it has it and these jobs just "
            "used no GPU, set gpus_tracked = true",
            "",
        )
        coverage.cut(1)
    yield from jobs.flush()
    yield from rejects.flush()
    yield from coverage.batches()


def read_options(file: SourceFile) -> Options:
    """The options of a source of this kind; ConfigError where one cannot be."""
    check_options(file, OPTIONS)
    parsable.delimiter_of(file)
    hash_users = file.options.get("hash_users", False)
    if not isinstance(hash_users, bool | str):
        raise ConfigError(
            f"source {file.source!r}: hash_users = {hash_users!r} is neither true, false nor a salt"
        )
    tracked = file.options.get("gpus_tracked", False)
    if not isinstance(tracked, bool):
        raise ConfigError(f"source {file.source!r}: gpus_tracked = {tracked!r} is no true or false")
    salt = hash_users if isinstance(hash_users, str) else "" if hash_users else None
    return Options(clock(file, EXPORT), salt, tracked)


def hashed_user(name: str, salt: str = "") -> str:
    """`u-` and the first 12 hex digits of SHA-256 of the salt, a NUL and the name."""
    return "u-" + hashlib.sha256(f"{salt}\0{name}".encode()).hexdigest()[:12]


def _attempt(record: Record, file: SourceFile, options: Options) -> _Seen:
    """The row of one job; ValueError where it cannot be believed."""
    if record.problem is not None:
        raise ValueError(record.problem)
    cells = record.cells
    blank = [n for n in ("State", "Submit", "Start", "End") if not cells[n]]
    if blank:
        raise ValueError(f"{', '.join(blank)} blank where sacct prints a value or Unknown")
    if record.bad:
        found = ", ".join(f"{name} = {cells[name]!r}" for name in record.bad)
        raise ValueError(f"{found}: not of the column's type; is a field missing or too many?")
    cluster = cells.get("Cluster") or file.cluster
    if cluster is None:
        raise ValueError("Cluster is blank and the source names no cluster")
    submits = options.clock.read(cells["Submit"])
    if not submits:
        raise ValueError(f"Submit is {cells['Submit']!r}, expected a time")
    state = cells["State"].split(maxsplit=1)[0].rstrip("+")
    suspended_us = duration_us(cells.get("Suspended", "")) or 0
    elapsed = cells.get("ElapsedRaw", "")
    held_s = int(elapsed) + suspended_us // 1_000_000 if elapsed else None
    start, end = None, None
    starts, ends = options.clock.read(cells["Start"]), options.clock.read(cells["End"])
    if starts:
        if not ends and state in _ENDED:
            raise ValueError(f"state {state} with Start and without End")
        start, end = held_interval(starts, ends, submits=submits, held_s=held_s)
    holds = _held(cells, is_started=start is not None, is_empty=start is not None and start == end)
    exit_code = _EXIT.fullmatch(cells.get("ExitCode", ""))
    user = cells.get("User") or None
    if user is not None and options.salt is not None:
        user = hashed_user(user, options.salt)
    until = end
    if start is not None and end is None and held_s is not None:
        until = start + held_s  # a running job: when sacct looked
    values = {
        "cluster": cluster,
        "job_id": cells.get("JobIDRaw") or cells["JobID"],
        "job_label": cells.get("JobID") or None,
        "submit": _time(submits[0]),
        "start": _time(start),
        "end": _time(end),
        "state": state,
        "exit_code": int(exit_code[1]) if exit_code else None,
        "signal": int(exit_code[2]) if exit_code else None,
        "user_name": user,
        "account": cells.get("Account") or None,
        "partition": cells.get("Partition") or None,
        "qos": cells.get("QOS") or None,
        "job_name": cells.get("JobName") or None,
        "suspended_us": suspended_us,
        "is_interactive": False,
        "source_row": record.line,
        **holds,
    }
    return _Seen(values, start, until, submits[0])


def _held(cells: Mapping[str, str], *, is_started: bool, is_empty: bool) -> dict[str, Any]:
    """What an attempt held: nothing before it starts, whatever the request already shows."""
    if not is_started:
        return {"gpu_count": 0, "gpu_types": None, "nodes": []}
    held, nodes = gpus(cells["AllocTRES"]), hosts(cells["NodeList"])
    if not is_empty:
        # Read as "no GPU" these would turn held GPUs into unallocated ones.
        if not cells["AllocTRES"]:
            raise ValueError("the job ran and AllocTRES is blank: what it held is not known")
        if held.shared and not held.count:
            raise ValueError("the job held shares of GPUs (gres/shard or gres/mps), not whole ones")
        if held.count and not nodes:
            raise ValueError("the job held GPUs and NodeList names no node")
    return {"gpu_count": held.count, "gpu_types": held.types_text, "nodes": nodes}


def _time(epoch_s: int | None) -> Any:
    return None if epoch_s is None else time_of_ns(epoch_s * _S)


def _cut(coverage: Coverage, record: Record, file: SourceFile, options: Options) -> None:
    """Blind the file for a bad row: its nodes and time where they are sure, else all of it."""
    cells = record.cells
    # With two values of the wrong type the columns may be shifted: nothing in it is sure.
    if record.problem is not None or len(record.bad) > 1 or not all(
        cells[name] for name in ("State", "Submit")
    ):  # fmt: skip
        coverage.cut(record.line)
        return
    nodes = or_nothing(hosts, cells["NodeList"])
    starts = or_nothing(options.clock.read, cells["Start"])
    ends = or_nothing(options.clock.read, cells["End"])
    start, end = min(starts, default=None), max(ends, default=None)
    if start is not None and end is not None and end < start:
        start = end = None
    cluster = cells.get("Cluster") or file.cluster
    coverage.cut(record.line, cluster=cluster, nodes=nodes, start_s=start, end_s=end)


def _shown(record: Record, layout: Layout, options: Options) -> str:
    """The text of a bad row for `reject`, without private columns."""
    hidden = GRAMMAR.free - GRAMMAR.landed
    if options.salt is not None:
        hidden |= {"User", "UID", "Group", "GID"}
    if record.cells:
        cells = ("..." if n in hidden else record.cells[n] for n in layout.names)
        return layout.delimiter.join(cells)
    fields = record.text.split(layout.delimiter)
    first = next((i for i, name in enumerate(layout.names) if name in hidden), len(fields))
    if first >= len(fields):
        return record.text
    return layout.delimiter.join([*fields[:first], "..."])
