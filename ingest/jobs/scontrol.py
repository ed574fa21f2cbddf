"""`scontrol show job --details` to job_gpu: which GPU indices a running job holds on which node.

Slurm prints indices only while a job runs, so the file is gathered by a prolog or a poll; many
snapshots may stand in one file, and a GPU that several of them show is one row. Both the form of
many lines and --oneliner are read. A line looks like

    Nodes=gpu[001-002] CPU_IDs=0-3 Mem=1000 GRES=gpu:h100:2(IDX:2-3),gpu:a100:1(IDX:5)

and speaks for each of its nodes alike. Where GRES is blank (the job has ended) or has no index
(`IDX:N/A`, GPUs configured by count only) there is no row: the attempt then has nodes, no indices.
An index counts GPUs in the order of gres.conf. A bad record gives no row of its job at all, since
half of a job's GPUs would read as if it held no others. It cuts no coverage: who held which node
is sacct's to say, and a lost snapshot only leaves the index unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.jobs.parsable import MAX_RECORD_CHARS, PhysicalLine, physical_lines
from ingest.jobs.slurm_text import Clock, clock, hosts, indices, split_entries
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, Rejects, Rows, time_of_ns
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError, SourceError

#: The command that exports what this module reads; run it in a prolog or every few minutes.
EXPORT = "TZ=UTC SLURM_TIME_FORMAT=%s scontrol show job --details"

#: Options of a source of this kind, with their meaning.
OPTIONS = {"timezone": "IANA zone in which scontrol ran; needed where times are no epoch seconds"}

_JOB = re.compile(r"JobId=(\d+)(?= |$)", re.MULTILINE)
_STATE = re.compile(r"(?<=\s)JobState=([A-Z_,]+) Reason=")
_START = re.compile(r"(?<=\s)StartTime=(\S+) EndTime=")
_NODES = re.compile(r"(?<=\s)Nodes=(\S+) CPU_IDs=\S* Mem=\S* GRES=(\S*)")
_GPU = re.compile(r"gpu(?::([^:()]+))??(?::(\d+))?(?:\((S|IDX):([^)]*)\))?")
# A pending job shows an estimated start and, after a requeue, nothing that it holds.
_NOT_HELD = frozenset({"PENDING"})
_S = 1_000_000_000


def read(file: SourceFile) -> Iterator[Batch]:
    """job_gpu and reject of one file of snapshots.

    Raises SourceError where the file is no such text, ConfigError where the source has no cluster
    or the option `timezone` is wrong or missing.
    """
    times = read_options(file)
    rows, rejects = Rows("job_gpu", file), Rejects(file, "scontrol_job")
    seen: set[tuple[str, int, str, int]] = set()
    for line, text, fault in _records(file):
        try:
            if fault:
                raise ValueError(fault)
            found = _gpus(text, times)
        except ValueError as error:
            rejects.put(f"line {line}", str(error), _shown(text))
            yield from rejects.flush(at_least=BATCH_ROWS)
            continue
        for job_id, start, node, index, kind in found:
            if (job_id, start, node, index) in seen:
                continue
            seen.add((job_id, start, node, index))
            rows.add(
                cluster=file.cluster, job_id=job_id, start=time_of_ns(start * _S), node=node,
                gpu_index=index, gpu_type=kind, source_row=line,
            )  # fmt: skip
        yield from rows.flush(at_least=BATCH_ROWS)
    yield from rows.flush()
    yield from rejects.flush()


def read_options(file: SourceFile) -> Clock:
    """How to read times; ConfigError where an option cannot be, or no cluster is given."""
    check_options(file, OPTIONS)
    if file.cluster is None:
        raise ConfigError(
            f"source {file.source!r}: scontrol does not print its cluster, so the source needs "
            'cluster = "..." (the name that `scontrol show config` prints as ClusterName)'
        )
    return clock(file, EXPORT)


def _records(file: SourceFile) -> Iterator[tuple[int, str, str]]:
    """First line, text and fault of each record, which starts at a line that starts with JobId=."""
    start, texts, size = 0, [""], 0
    found = False
    first: PhysicalLine | None = None
    for line in physical_lines(file):
        if line.text and first is None:
            first = line
        if line.text.startswith("JobId=") or line.fault:
            if start:
                yield start, "\n".join(texts), _too_long(size)
            found = True
            start, texts, size = line.number, [], 0
            if line.fault:
                yield line.number, line.text, line.fault
                start = 0
        if start and size <= MAX_RECORD_CHARS:
            texts.append(line.text)
            size += len(line.text)
    if start:
        yield start, "\n".join(texts), _too_long(size)
    if not found and first is not None and not first.text.startswith("No jobs in the system"):
        raise SourceError(
            file.name, f"no line starts with JobId=; the first is {first.text[:120]!r}",
            expected="the output of `scontrol show job --details`",
            todo=f"Export it anew with\n    {EXPORT}",
        )  # fmt: skip


def _too_long(size: int) -> str:
    return f"the record is longer than {MAX_RECORD_CHARS}" if size > MAX_RECORD_CHARS else ""


def _gpus(text: str, times: Clock) -> list[tuple[str, int, str, int, str | None]]:
    """(job id, start in epoch s, node, index, type) of one record; ValueError if it is unclear."""
    job = _JOB.match(text)
    if job is None:
        raise ValueError("JobId= is not followed by a number")
    state = _only(_STATE, text, "JobState= ... Reason=")
    start_text = _only(_START, text, "StartTime= ... EndTime=")
    if state in _NOT_HELD:
        return []
    # Free text stands before the state (the name) and after this field (comment, command).
    body, end, _ = text[text.index("JobState=") :].partition("MinCPUsNode=")
    held = [
        (node, index, kind)
        for nodes, gres in _NODES.findall(body)
        for kind, numbers in _gres(gres)
        for node in hosts(nodes)
        for index in numbers
    ]
    if not held:
        return []
    if not end:
        raise ValueError("the record ends early: MinCPUsNode= is missing behind its nodes")
    starts = times.read(start_text)
    if len(starts) != 1:
        why = "occurs twice when daylight saving ends" if starts else "is no time"
        raise ValueError(f"StartTime {start_text!r} {why}; export with SLURM_TIME_FORMAT=%s")
    return [(job[1], starts[0], *gpu) for gpu in held]


def _only(pattern: re.Pattern[str], text: str, name: str) -> str:
    values = pattern.findall(text)
    if len(values) != 1:
        raise ValueError(f"{name} stands {len(values)} times in the record, expected once")
    return str(values[0])


def _gres(text: str) -> list[tuple[str | None, list[int]]]:
    """Type and indices of each gpu entry of a GRES list; entries without indices are left out."""
    found: list[tuple[str | None, list[int]]] = []
    if text in {"", "(null)", "N/A"}:
        return found
    for entry in split_entries(text):
        if entry.partition(":")[0].partition("(")[0] != "gpu":
            continue
        match = _GPU.fullmatch(entry)
        if match is None:
            raise ValueError(f"GRES {entry!r} is not gpu[:type]:count[(IDX:list)]")
        kind, count, what, numbers_text = match.groups()
        numbers = indices(numbers_text) if what == "IDX" else []
        if numbers and count is not None and len(set(numbers)) != int(count):
            raise ValueError(f"GRES {entry!r} has {len(set(numbers))} indices for {count} GPUs")
        if numbers:
            found.append((kind, numbers))
    return found


def _shown(text: str) -> str:
    """What `reject` keeps of a record: the fields that are read, and no private text."""
    parts = [m[0] for p in (_JOB, _STATE, _START, _NODES) for m in p.finditer(text)]
    return " ".join(parts) if parts else text[:40]
