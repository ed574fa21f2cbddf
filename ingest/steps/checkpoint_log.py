"""Checkpoint records as JSON lines (plain or gzip) -> checkpoint.

One object a line: `job_id`, `attempt`, `event` (`save` or `restore`), `step` (the last step whose
result it holds), `start_ns`, `end_ns` (epoch ns; a save's end is when it is durable), `blocking`.

A reject cuts coverage for its job and time where these can be read, else for the file's span.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from ingest.file_names import OF_JOB, Named, PathPattern, path_pattern
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, Rejects, Rows
from ingest.steps.jsonl import (
    ALL_TIME,
    BadRecord,
    add_stretch,
    check_range,
    decode,
    job_of,
    one_of,
    salvage,
    whole,
)
from ingest.text import lines
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import SourceError

KIND = "checkpoint_log"

EXPORT = """\
Written by the training loop around its save and load calls (times by time.time_ns()):
  {"job_id": "1010", "attempt": 0, "event": "save", "step": 40, "start_ns": 1796074544000000000,
   "end_ns": 1796074545000000000, "blocking": true}
event is "save" or "restore"; step is the last step whose result the checkpoint holds; the end of a
save is when its file is durable; blocking is false where training goes on meanwhile.
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "pattern": "what only the file's path says: its end, with the marks {job_id}, {attempt} and "
    "{rank} and with `*` for anything, or a list of such; the first that fits counts"
}


class CheckpointRecord(msgspec.Struct):
    """A line as it is written."""

    event: Literal["save", "restore"]
    step: int
    start_ns: int
    end_ns: int
    blocking: bool
    job_id: str | int | None = None
    attempt: int | None = None


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one file of checkpoint records.

    Raises ConfigError where `pattern` does not fit, SourceError where no line is such a record and
    nothing says whose log it is.
    """
    names = read_options(file).read(file.name)
    checkpoints, rejects = Rows("checkpoint", file), Rejects(file, KIND)
    coverage = Rows("source_coverage", file)
    start, end, lost = ALL_TIME[1], 0, 0
    for line in lines(file):
        if not line.fault and not line.text.strip():
            continue
        try:
            if line.fault:
                raise BadRecord(line.fault)
            row = _row(decode(line.text, CheckpointRecord), names)
        except BadRecord as error:
            rejects.put(f"line {line.number}", str(error), line.text)
            if not _cut(coverage, file, line.number, line.text, names):
                lost = lost or line.number
        else:
            checkpoints.add(cluster=file.cluster, source_row=line.number, **row)
            start, end = min(start, row["start_ns"]), max(end, row["end_ns"])
        yield from checkpoints.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
        yield from coverage.flush(at_least=BATCH_ROWS)
    if lost and not end and names.job_id is None and file.covers is None:
        raise SourceError(
            file.name, f"none of its {rejects.count} lines is a checkpoint record",
            expected='JSON lines such as {"event": "save", "step": 40, ...}',
            todo="Check the source's `files`; `pattern` can say whose log a file is.",
        )  # fmt: skip
    span = file.covers or ((start, end) if end else None)
    if span is not None:
        add_stretch(
            coverage, file, "checkpoints", span, job_id=None, attempt=None, is_cut=False, line=0
        )
    if lost:
        add_stretch(
            coverage, file, "checkpoints", span or ALL_TIME,
            job_id=names.job_id, attempt=names.attempt, is_cut=True, line=lost,
        )  # fmt: skip
    for rows in (checkpoints, rejects, coverage):
        yield from rows.flush()


def read_options(file: SourceFile) -> PathPattern:
    """The option `pattern`; ConfigError where an option cannot be."""
    check_options(file, OPTIONS)
    return path_pattern(file, OF_JOB)


def _row(record: CheckpointRecord, names: Named) -> dict[str, Any]:
    """A record's columns of checkpoint; BadRecord says why it cannot be one."""
    job_id = one_of("job_id", job_of(record.job_id), names.job_id)
    attempt = one_of("attempt", record.attempt, names.attempt)
    if job_id is None or attempt is None:
        raise BadRecord(
            "no job_id or no attempt in the record; expected both, or {job_id} and {attempt} in "
            "the pattern"
        )
    check_range(attempt=attempt, step=record.step, start_ns=record.start_ns, end_ns=record.end_ns)
    if record.end_ns < record.start_ns:
        raise BadRecord(f"end_ns {record.end_ns} is before start_ns {record.start_ns}")
    return {
        "job_id": job_id, "attempt": attempt, "event": record.event, "step": record.step,
        "start_ns": record.start_ns, "end_ns": record.end_ns, "blocking": record.blocking,
    }  # fmt: skip


def _cut(coverage: Rows, file: SourceFile, line: int, text: bytes, names: Named) -> bool:
    """Cut coverage for what a bad line still says of its job and time; False where it says none."""
    said = salvage(text)
    job_id = names.job_id or job_of(said.get("job_id"))
    start, end = whole(said.get("start_ns")), whole(said.get("end_ns"))
    if job_id is None or start is None or end is None or end <= start:
        return False
    attempt = whole(said.get("attempt")) if names.attempt is None else names.attempt
    add_stretch(
        coverage, file, "checkpoints", (start, min(end, ALL_TIME[1])),
        job_id=job_id, attempt=attempt, is_cut=True, line=line,
    )  # fmt: skip
    return True
