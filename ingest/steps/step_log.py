"""Step logs that jobs write themselves, as JSON lines (plain or gzip) -> train_step.

One object a line: `step`, `start_ns`, `end_ns` (epoch ns), and as far as known `job_id`, `attempt`,
`rank`, `tokens`, `model_flops`, `loss`, `dtype`. Other fields are passed over. Counts are whole
numbers: 1.0 is refused, since a number that went through a float may be another number.

What a record does not say may stand in the file's path (the option `pattern`). A record's own
field counts; one that contradicts the path is a reject.

A log with a reject proves neither that a step came late nor that none came after, so its job's
steps are cut for the file's whole span.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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

KIND = "step_log"

EXPORT = """\
Written by the training loop, one JSON object per step and rank (times by time.time_ns()):
  {"job_id": "1001", "attempt": 0, "rank": 0, "step": 17, "start_ns": 1796074280469223697,
   "end_ns": 1796074280710562075, "tokens": 32768, "model_flops": 141547894996992, "loss": 10.53}
job_id is SLURM_JOB_ID, attempt SLURM_RESTART_COUNT (0 where unset), rank SLURM_PROCID. model_flops
are those that the model needs for this rank's tokens, about 6 x parameters x tokens, not those
that recomputation adds. What stands in the file's name may be left out: see `pattern`.
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "pattern": "what only the file's path says: its end, with the marks {job_id}, {attempt} and "
    "{rank} and with `*` for anything, or a list of such; the first that fits counts"
}

#: DECIMAL(38,0) of model_flops.
_MAX_FLOPS = 10**38 - 1


class StepRecord(msgspec.Struct):
    """A line as it is written."""

    step: int
    start_ns: int
    end_ns: int
    job_id: str | int | None = None
    attempt: int | None = None
    rank: int | None = None
    tokens: int | None = None
    model_flops: int | None = None
    loss: float | None = None
    dtype: str | None = None


@dataclass
class _Group:
    """The records of one job and attempt: their first and last line, and the time they span."""

    first: int
    last: int
    start: int
    end: int


_Key = tuple[str, int | None]


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one step log.

    Raises ConfigError where `pattern` does not fit, SourceError where no line is a step and
    nothing says whose log it is.
    """
    names = read_options(file).read(file.name)
    steps, rejects = Rows("train_step", file), Rejects(file, KIND)
    groups: dict[_Key, _Group] = {}
    blind: dict[_Key, int] = {}
    for line in lines(file):
        if not line.fault and not line.text.strip():
            continue
        try:
            if line.fault:
                raise BadRecord(line.fault)
            record = decode(line.text, StepRecord)
            row = _row(record, names)
        except BadRecord as error:
            rejects.put(f"line {line.number}", str(error), line.text)
            if (key_or_none := _key(line.text, names)) is not None:
                blind.setdefault(key_or_none, line.number)
        else:
            steps.add(cluster=file.cluster, source_row=line.number, **row)
            group = groups.setdefault(
                (row["job_id"], row["attempt"]),
                _Group(line.number, line.number, record.start_ns, record.end_ns),
            )
            group.last = line.number
            group.start = min(group.start, record.start_ns)
            group.end = max(group.end, record.end_ns)
        yield from steps.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
    if rejects.count and not groups and not blind and file.covers is None:
        raise SourceError(
            file.name, f"none of its {rejects.count} lines is a step",
            expected='JSON lines such as {"step": 1, "start_ns": ..., "end_ns": ...}',
            todo="Check the source's `files`; `pattern` can say whose log a file is.",
        )  # fmt: skip
    yield from steps.flush()
    yield from rejects.flush()
    yield from _coverage(file, groups, blind, has_rejects=rejects.count > 0).flush()


def read_options(file: SourceFile) -> PathPattern:
    """The option `pattern`; ConfigError where an option cannot be."""
    check_options(file, OPTIONS)
    return path_pattern(file, OF_JOB)


def _row(record: StepRecord, names: Named) -> dict[str, Any]:
    """A record's columns of train_step; BadRecord says why it cannot be one."""
    job_id = one_of("job_id", job_of(record.job_id), names.job_id)
    if job_id is None:
        raise BadRecord("no job_id in the record; expected one, or {job_id} in the pattern")
    attempt = one_of("attempt", record.attempt, names.attempt)
    rank = one_of("rank", record.rank, names.rank)
    check_range(
        attempt=attempt, rank=rank, step=record.step, start_ns=record.start_ns,
        end_ns=record.end_ns, tokens=record.tokens,
    )  # fmt: skip
    if record.end_ns < record.start_ns:
        raise BadRecord(f"end_ns {record.end_ns} is before start_ns {record.start_ns}")
    flops = record.model_flops
    if flops is not None and not 0 <= flops <= _MAX_FLOPS:
        raise BadRecord(f"model_flops is {flops}; expected 0 to 1e38")
    loss = record.loss if record.loss is not None and math.isfinite(record.loss) else None
    return {
        "job_id": job_id, "attempt": attempt, "rank": rank, "step": record.step,
        "start_ns": record.start_ns, "end_ns": record.end_ns, "tokens": record.tokens,
        "model_flops": flops, "loss": loss, "dtype": record.dtype,
    }  # fmt: skip


def _key(text: bytes, names: Named) -> _Key | None:
    """Whose step a bad line may have been: by the file's name, else by what the line still says."""
    said = salvage(text)
    job_id = names.job_id or job_of(said.get("job_id"))
    if job_id is None:
        return None
    return job_id, whole(said.get("attempt")) if names.attempt is None else names.attempt


def _coverage(
    file: SourceFile, groups: dict[_Key, _Group], blind: dict[_Key, int], *, has_rejects: bool
) -> Rows:
    """For which jobs and time the log speaks; with rejects, for which it is blind.

    A row stands at the group's first line and its cut at the last: where these are one, the cut
    alone says the same.
    """
    rows = Rows("source_coverage", file)
    spans = [(group.start, group.end) for group in groups.values()]
    shown = (min(s for s, _ in spans), max(e for _, e in spans)) if spans else ALL_TIME
    for (job_id, attempt), group in groups.items():
        if not has_rejects or group.first != group.last:
            add_stretch(
                rows, file, "steps", file.covers or (group.start, group.end),
                job_id=job_id, attempt=attempt, is_cut=False, line=group.first,
            )  # fmt: skip
        if has_rejects:
            add_stretch(
                rows, file, "steps", file.covers or _with_length(shown),
                job_id=job_id, attempt=attempt, is_cut=True, line=group.last,
            )  # fmt: skip
    for (job_id, attempt), line in blind.items():
        if (job_id, attempt) not in groups:
            add_stretch(
                rows, file, "steps", file.covers or _with_length(shown),
                job_id=job_id, attempt=attempt, is_cut=True, line=line,
            )  # fmt: skip
    if has_rejects and not groups and not blind:
        add_stretch(
            rows, file, "steps", file.covers or ALL_TIME,
            job_id=None, attempt=None, is_cut=True, line=0,
        )  # fmt: skip
    return rows


def _with_length(span: tuple[int, int]) -> tuple[int, int]:
    """A span that has a length, so that a cut is never lost."""
    return span[0], max(span[1], span[0] + 1000)
