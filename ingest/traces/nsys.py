"""Exports of Nsight Systems (sqlite, or a parquetdir folder) -> the trace tables and gpu_sample.

Kernels, copies and fills, calls of CUDA's runtime and driver, and NVTX ranges are kept: ranges of
PyTorch's emit_nvtx are ops, others steps, modules or the user's own by their names. Marks, stream
waits and overhead are counted or left. Tables and columns are found by name; any may be missing.

Where graphs are recorded whole, a launch is one activity `CUDA graph N`, all of it compute: what
runs inside is not recorded. Kernels that communicate have their collective by name, without group
or number. Processes of one export count correlations each for itself: the landed number is
unique in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.file_names import OF_PROCESS, Named, PathPattern, path_pattern
from ingest.options import check_options
from ingest.rows import Rejects, Rows
from ingest.traces.nsys_events import EVENT_TABLES, Events, first_time
from ingest.traces.nsys_metrics import METRICS, read_metrics
from ingest.traces.nsys_names import MODULE, STEP
from ingest.traces.nsys_tables import EXPORT_TABLE, open_export
from ingest.traces.nsys_target import SESSION, Target, read_clock, read_diagnostics, read_target
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError, SourceError

KIND = "nsys"

EXPORT = """\
In the job, one report for each rank, its job and rank in the path (the option `pattern` reads it):
  srun sh -c 'mkdir -p traces/job_$SLURM_JOB_ID && exec nsys profile \\
    --trace=cuda,nvtx --sample=none --cpuctxsw=none --pytorch=autograd-shapes-nvtx \\
    --cuda-graph-trace=node --gpu-metrics-devices=cuda-visible --gpu-metrics-frequency=10 \\
    --capture-range=cudaProfilerApi --capture-range-end=stop \\
    --output=traces/job_$SLURM_JOB_ID/rank$SLURM_PROCID --export=sqlite python train.py'
In the training loop: some steps, each a range with its number.
  if step == 20: torch.cuda.profiler.start()
  with torch.cuda.nvtx.range(f"step {step}"):
      train(batch)
  if step == 23: torch.cuda.synchronize(); torch.cuda.profiler.stop()
Of a report that is there: nsys export --type=sqlite REPORT.nsys-rep
--type=parquetdir is read too: let `files` end in "/META_DATA_EXPORT.parquet", which stands for the
folder. GPU metrics need the permission to read GPU counters; leave the two options out without it.
nsys before 2024.5 has no --pytorch: wrap the steps in torch.autograd.profiler.emit_nvtx(
record_shapes=True). With one report for several ranks, only a job of one node is found per GPU.
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "pattern": "what only the file's path says, as of kind kineto: job, attempt, rank, host, pid",
    "step": "regular expression for a range's whole name: a step, its number the group `number`",
    "module": "the same for a module, its class the group `name`",
}

#: What an export of anything has one of.
_KNOWN = (*EVENT_TABLES, METRICS, SESSION, EXPORT_TABLE, "StringIds", "ANALYSIS_DETAILS")


@dataclass(frozen=True)
class Options:
    """What a source of this kind was told: which ranges are steps, which are modules."""

    pattern: PathPattern
    step: re.Pattern[str]
    module: re.Pattern[str]


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one export.

    Raises ConfigError where an option is malformed, SourceError where the file is damaged or no
    export.
    """
    options = read_options(file)
    names = options.pattern.read(file.name, must_fit=False)
    rejects = Rejects(file, KIND)
    with open_export(file) as export:
        if not any(export.has(table) for table in _KNOWN):
            raise SourceError(
                file.name, "has no table of Nsight Systems",
                expected="an export with CUPTI_ACTIVITY_KIND_KERNEL or NVTX_EVENTS",
                todo="Check the source's `files`.",
            )  # fmt: skip
        clock, target = read_clock(export, first_time(export)), read_target(export)
        base = clock.base_ns or 0
        events = Events(
            file,
            export,
            rejects,
            base_ns=base,
            target=target,
            step=options.step,
            module=options.module,
        )
        yield from events.read()
        if clock.base_ns is None:
            rejects.put(
                "file", f"{clock.why}: when it ran is not known; expected utcEpochNs, since its "
                "times do not count from 1970", "",
            )  # fmt: skip
        else:
            yield from read_metrics(file, export, rejects, base_ns=base, uuids=target.uuids)
        is_incomplete = read_diagnostics(export, rejects)
        if events.counts.start_ns is not None:
            yield from _header(
                file, events, target, names, rejects.count, base, is_incomplete
            ).flush()
        elif not rejects.count:
            rejects.put("file", "no event with a length; expected at least one", "")
    yield from rejects.flush()


def read_options(file: SourceFile) -> Options:
    """The options of a source of this kind; ConfigError where one cannot be."""
    check_options(file, OPTIONS)
    step, module = _pattern(file, "step", STEP), _pattern(file, "module", MODULE)
    return Options(path_pattern(file, OF_PROCESS), step, module)


def _pattern(file: SourceFile, option: str, default: str) -> re.Pattern[str]:
    text = file.options.get(option, default)
    try:
        if isinstance(text, str) and text:
            return re.compile(text)
        found = repr(text)
    except re.error as error:
        found = f"{text!r} ({error})"
    raise ConfigError(f"{file.source}: {option} is {found}; expected a regular expression")


def _header(
    file: SourceFile, events: Events, target: Target, names: Named, rejects: int, base: int,
    is_incomplete: bool,
) -> Rows:  # fmt: skip
    """The file's row in trace_header; what the profiler's environment says of one rank counts
    only where one process works."""
    counts, pids = events.counts, events.pids
    is_one = len(pids) <= 1
    pid = names.pid
    if pid is None and len(pids) == 1:
        (pid,) = pids
    rows = Rows("trace_header", file)
    rows.add(
        format=KIND, start_ns=counts.start_ns, end_ns=counts.end_ns, base_ns=base,
        cluster=file.cluster, meta_job_id=target.job_id, meta_attempt=target.attempt,
        meta_rank=target.rank if is_one else None,
        path_job_id=names.job_id, path_attempt=names.attempt, path_rank=names.rank,
        host_name=target.host_name or names.host, pid=pid,
        world_size=target.world_size if is_one else None,
        device_name=target.device_name, device_count=len(target.uuids) or None,
        cuda_driver=target.cuda_driver, has_stack=False, has_shapes=counts.has_shapes,
        event_count=counts.events, gpu_count=events.gpu.count, op_count=events.ops.count,
        step_count=counts.steps, reject_count=rejects, is_truncated=is_incomplete,
    )  # fmt: skip
    return rows
