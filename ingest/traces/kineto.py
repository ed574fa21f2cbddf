"""Traces of PyTorch's profiler (Kineto), .json or .json.gz -> the trace tables.

Kernels, copies and fills, the host's calls into the GPU's runtime, framework ops, steps, user
annotations and modules are kept; overhead and instants are counted, and so are flows, changes of
memory and other Python frames, which are most of the events, unless `keep` names them.
All dialects since 2021 are read: an object or the bare list, times relative to a base (which may
stand behind the events) or since the epoch, to the nanosecond in each.

An event that cannot be read, or whose time cannot be (a negative or endless length, a lost
start), is a reject; the rest of its file is kept. A file that ends early keeps its whole events
and is marked as truncated. Landing it takes some 220 MB of memory, 310 MB at 4 GB of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder

from ingest.file_names import OF_PROCESS, Named, PathPattern, path_pattern
from ingest.options import check_options
from ingest.rows import Rejects, Rows
from ingest.traces.chunks import WINDOW_BYTES, EventList, Fault
from ingest.traces.events import EventDecoder
from ingest.traces.extras import KEEP, Extras
from ingest.traces.identity import Metadata, file_name, find_base, metadata
from ingest.traces.tables import Tables
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError, SourceError

KIND = "kineto"

EXPORT = """\
In the training loop of each rank: some steps now and then, a file for each window.
  import json, os
  from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
  job_id = os.environ["SLURM_JOB_ID"]
  with profile(
      activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
      schedule=schedule(skip_first=20, wait=480, warmup=2, active=3, repeat=0),
      on_trace_ready=tensorboard_trace_handler(f"traces/job_{job_id}", use_gzip=True),
      record_shapes=True,  # FLOPs and bytes of the ops
      with_stack=False,  # True shows modules too, and slows the host down
  ) as prof:
      prof.preset_metadata_json("slurm_job_id", json.dumps(job_id))
      prof.preset_metadata_json("slurm_restart_count", os.environ.get("SLURM_RESTART_COUNT", "0"))
      for batch in loader:
          train(batch)
          prof.step()
PyTorch before 2.4: prof.add_metadata_json(...) with the same arguments, before each prof.step().
The rank is in the trace where torch.distributed is in use.
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "pattern": "what only the file's path says: its end, with the marks {job_id}, {attempt}, "
    "{rank}, {host} and {pid} and with `*` for anything, or a list of such; a file that fits none "
    "is read all the same: its job can be found by host and time",
    "keep": "a list of what is left out else: flow (table trace_flow), memory (trace_memory), "
    "python_function (trace_annotation, kind python); two to five times as many rows",
}

#: Four tables gather at a time, and names of kernels are long.
_BATCH_ROWS = 16_384
_FIRST_TS = re.compile(rb'"ts"\s*:\s*"?([0-9]+)')
_PEEK_BYTES = 256 * 1024
#: Microseconds: above lies a time since the epoch (1973), below one relative to a base.
_EPOCH_US = 10**14
_HEAD_KEYS = ("schemaVersion", "deviceProperties", "traceEvents", "distributedInfo")


@dataclass(frozen=True)
class Options:
    """What a source of this kind was told: what paths say, and which events to keep besides."""

    pattern: PathPattern
    keep: frozenset[str]


def read(file: SourceFile, *, window: int = WINDOW_BYTES) -> Iterator[Batch]:
    """Read one trace, in windows of so many bytes.

    Raises ConfigError where an option is malformed, SourceError where the file is damaged or is
    no trace.
    """
    options = read_options(file)
    names = options.pattern.read(file.name, must_fit=False)
    rejects = Rejects(file, KIND)
    events = EventList(file, size=window)
    if not events.open():
        rejects.put("file", _no_list(file, events.head), events.head)
        yield from rejects.flush()
        return
    base, is_relative = _base(file, events)
    tables = Tables(file, base, rejects, keep_python="python_function" in options.keep)
    extras = Extras(file, base, rejects, options.keep)
    may_be_trace = False
    wide = bool({"flow", "memory"} & options.keep)
    for piece in events.pieces(EventDecoder(wide=wide)):
        may_be_trace |= not isinstance(piece, Fault) or not piece.is_json
        if isinstance(piece, Fault):
            tables.counts.events += 1
            rejects.put(f"event {piece.number}, byte {piece.offset}", piece.reason, piece.raw)
        else:
            tables.take(piece)
            extras.take(piece)
        del piece
        yield from tables.flush(at_least=_BATCH_ROWS)
        yield from extras.flush(at_least=_BATCH_ROWS)
        yield from rejects.flush(at_least=_BATCH_ROWS)
    if tables.counts.events and not may_be_trace:
        raise _no_trace(file, "its list holds no event")
    yield from tables.finish()
    yield from extras.flush()
    if events.has_more:
        rejects.put(
            "end", "more events behind the end of the list: files were written into one, or it "
            "is damaged; expected one list", events.tail,
        )  # fmt: skip
    if tables.counts.start_ns is None:
        if not rejects.count:
            rejects.put("file", "no event with a time; expected at least one", events.head)
    else:
        if is_relative and not base:
            rejects.put(
                "file", "no baseTimeNanoseconds: when it ran is not known; expected one, since "
                "its times do not count from 1970", events.head,
            )  # fmt: skip
        said = metadata(events.head, events.tail)
        yield from _header(file, events, tables, said, names, rejects.count, base).flush()
    yield from rejects.flush()


def read_options(file: SourceFile) -> Options:
    """The options of a source of this kind; ConfigError where one cannot be."""
    check_options(file, OPTIONS)
    keep = file.options.get("keep", [])
    if not isinstance(keep, list) or not all(isinstance(k, str) and k in KEEP for k in keep):
        raise ConfigError(
            f"{file.source}: keep is {keep!r}; expected a list of {', '.join(map(repr, KEEP))}"
        )
    return Options(path_pattern(file, OF_PROCESS), frozenset(keep))


def _no_list(file: SourceFile, head: bytes) -> str:
    """Why a file that may be a trace has no list of events; SourceError where it is none."""
    text = head.decode("utf-8", "replace").strip()
    if not text:
        return "an empty file; expected a trace"
    is_cut = False
    if text.startswith("{"):
        try:
            JSONDecoder(strict=False).raw_decode(text)
        except JSONDecodeError as error:
            is_cut = error.pos >= len(text) or error.msg.startswith("Unterminated")
            is_cut |= any(f'"{key}"' in text for key in _HEAD_KEYS)
        except RecursionError:
            is_cut = False
    if is_cut:
        return "the file ends before its events; expected a list traceEvents"
    raise _no_trace(file, "it has no list traceEvents")


def _no_trace(file: SourceFile, why: str) -> SourceError:
    return SourceError(
        file.name, f"is no trace: {why}",
        expected="the JSON that PyTorch's profiler writes, as .json or .json.gz",
        todo="Check the source's `files`.",
    )  # fmt: skip


def _base(file: SourceFile, events: EventList) -> tuple[int, bool]:
    """The epoch ns that times count from, and whether they count from such a base at all."""
    first = next(
        (time for found in _FIRST_TS.finditer(events.peek(_PEEK_BYTES)) if (time := int(found[1]))),
        0,
    )
    if first >= _EPOCH_US:
        return 0, False
    base = metadata(events.head).base_ns
    if base is None and not events.is_bare:
        base = find_base(file)
    return base or 0, True


def _header(
    file: SourceFile, events: EventList, tables: Tables, said: Metadata, names: Named,
    rejects: int, base: int,
) -> Rows:  # fmt: skip
    """The file's row in trace_header."""
    by_name, counts = file_name(file.name), tables.counts
    pid = by_name.pid if names.pid is None else names.pid
    if pid is None and len(tables.pids) == 1:
        (pid,) = tables.pids
    rows = Rows("trace_header", file)
    rows.add(
        format=KIND, start_ns=counts.start_ns, end_ns=counts.end_ns, base_ns=base,
        cluster=file.cluster, trace_id=said.trace_id,
        meta_job_id=said.job_id, meta_attempt=said.attempt, meta_rank=said.rank,
        path_job_id=names.job_id, path_attempt=names.attempt,
        path_rank=by_name.rank if names.rank is None else names.rank,
        host_name=said.host_name or names.host or by_name.host, pid=pid,
        world_size=said.world_size, backend=said.backend,
        device_name=said.device_name, device_count=said.device_count,
        cuda_runtime=said.cuda_runtime, cuda_driver=said.cuda_driver,
        has_stack=said.has_stack or counts.has_stack,
        has_shapes=said.has_shapes or counts.has_shapes,
        event_count=counts.events, gpu_count=tables.gpu.count, op_count=tables.ops.count,
        step_count=counts.steps, reject_count=rejects, is_truncated=events.is_truncated,
    )  # fmt: skip
    return rows
