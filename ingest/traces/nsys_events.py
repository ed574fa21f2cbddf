"""Rows of an Nsight Systems export to rows of the trace tables.

Every row of an event table gets the next number of the file, in the order in which it is read. One
whose time or place cannot be read is a reject with its table and row; the rest is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.rows import BATCH_ROWS, Columns, Rejects
from ingest.traces import nsys_names as names
from ingest.traces.kernel_names import collective_of, family, kind_of
from ingest.traces.modules import Frames
from ingest.traces.nsys_cells import Found, fault, longs, naturals, products, shown, times
from ingest.traces.nsys_tables import Export, Part
from ingest.traces.nsys_target import Target
from ingest.traces.op_work import Work, work
from ingest.traces.tables import Counts
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import SourceError

_KIND = "CUPTI_ACTIVITY_KIND_"
KERNEL, GRAPH, RUNTIME = f"{_KIND}KERNEL", f"{_KIND}GRAPH_TRACE", f"{_KIND}RUNTIME"
MEMCPY, MEMSET = f"{_KIND}MEMCPY", f"{_KIND}MEMSET"
SYNC, NVTX = f"{_KIND}SYNCHRONIZATION", "NVTX_EVENTS"
EVENT_TABLES = (KERNEL, MEMCPY, MEMSET, GRAPH, RUNTIME, SYNC, NVTX)
NO_NAME = "(unnamed)"
#: Ranges: push and pop, start and end, and both again where they come from a text file.
_RANGES = (59, 60, 70, 71)
#: The host waits for these; the other kind makes one stream wait for another.
_WAITS = {1: "cudaEventSynchronize", 3: "cudaStreamSynchronize", 4: "cudaDeviceSynchronize"}
_COPIES = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD",
    9: "HtoH", 10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD",
}  # fmt: skip
_PLACE, _THREAD = ("deviceId", "streamId"), ("globalTid",)
#: Text of all names together; the strings of a trace of an hour take a tenth.
_MAX_NAMES_BYTES = 1 << 30

_GRID, _BLOCK = ("gridX", "gridY", "gridZ"), ("blockX", "blockY", "blockZ")


class Events:
    """The trace tables of one export; `read` yields them."""

    def __init__(
        self, file: SourceFile, export: Export, rejects: Rejects, *, base_ns: int, target: Target,
        step: re.Pattern[str], module: re.Pattern[str],
    ) -> None:  # fmt: skip
        self.counts = Counts()
        #: Processes that work on GPUs or call their runtime.
        self.pids: set[int] = set()
        self._processes = names.Processes()
        self._file, self._export, self._rejects, self._base = file, export, rejects, base_ns
        self._target = target
        #: Whether a range's name is a step's and a module's; names repeat.
        self._said = lru_cache(maxsize=16_384)(
            lambda name: (step.fullmatch(name.strip()), module.fullmatch(name.strip()))
        )
        self._strings = _strings(file, export)
        self._frames = Frames()
        self._nameless, self._number = 0, 0
        self.gpu = Columns("trace_kernel", file)
        self.launches = Columns("trace_launch", file)
        self.ops = Columns("trace_op", file)
        self.annotations = Columns("trace_annotation", file)

    def read(self) -> Iterator[Batch]:
        """Yield the rows of all tables."""
        yield from self._gpu_work()
        yield from self._calls()
        yield from self._ranges()
        for count, columns in self._frames.rows():
            self.annotations.add(count, {**columns, "event_no": self._numbered(count)})
            yield from self.annotations.flush(at_least=BATCH_ROWS)
        for rows in (self.gpu, self.launches, self.ops, self.annotations):
            yield from rows.flush()
        if self._nameless:
            self._rejects.put(
                "StringIds", f"{self._nameless} events have a name that StringIds lacks: they are "
                "kept without it; expected a string for each", "",
            )  # fmt: skip

    def _gpu_work(self) -> Iterator[Batch]:
        devices = self._device_numbers()
        graphs = self._graphs()
        columns = (
            "globalPid", "deviceId", "streamId", "correlationId", "graphNodeId", "demangledName",
            "shortName", "mangledName", *_GRID, *_BLOCK,
        )  # fmt: skip
        for found in self._found(KERNEL, *columns, need=_PLACE):
            cells = found.cells
            text = [
                self._name(full, short, mangled)
                for full, short, mangled in zip(
                    cells["demangledName"], cells["shortName"], cells["mangledName"], strict=True
                )
            ]
            self._add_gpu(found, devices, text, "kernel", kind=[kind_of(t) for t in text], more={
                "collective": [collective_of(t) for t in text],
                "blocks": products(cells, _GRID), "threads": products(cells, _BLOCK),
            })  # fmt: skip
            for key in zip(cells["globalPid"], cells["correlationId"], strict=True):
                graphs.pop(key, None)
            yield from self.gpu.flush(at_least=BATCH_ROWS)
        for table, activity in ((MEMCPY, "memcpy"), (MEMSET, "memset")):
            moved = ("globalPid", "deviceId", "streamId", "correlationId", "graphNodeId", "bytes",
                     "copyKind")  # fmt: skip
            for found in self._found(table, *moved, need=_PLACE):
                cells = found.cells
                text = ["Memset"] * len(found.starts)
                if activity == "memcpy":
                    text = [f"Memcpy {_COPIES.get(kind, 'unknown')}" for kind in cells["copyKind"]]
                self._add_gpu(found, devices, text, activity, kind=["copy"] * len(text), more={
                    "bytes": naturals(cells["bytes"]),
                })  # fmt: skip
                for key in zip(cells["globalPid"], cells["correlationId"], strict=True):
                    graphs.pop(key, None)
                yield from self.gpu.flush(at_least=BATCH_ROWS)
        yield from self._whole_graphs(graphs, devices)

    def _graphs(self) -> dict[tuple[Any, Any], None]:
        """Launches of graphs that are recorded as one activity each."""
        return {
            key: None
            for part in self._export.parts(GRAPH, "globalPid", "correlationId")
            for key in zip(*part.columns.values(), strict=True)
        }

    def _whole_graphs(
        self, graphs: dict[tuple[Any, Any], None], devices: dict[tuple[int, int], int]
    ) -> Iterator[Batch]:
        """Launches of graphs without a record of what ran inside: one activity each, compute."""
        columns = ("globalPid", "deviceId", "streamId", "correlationId", "graphId", "graphExecId")
        for found in self._found(GRAPH, *columns, need=_PLACE):
            cells = found.cells
            keys = zip(cells["globalPid"], cells["correlationId"], strict=True)
            kept = found.take([at for at, key in enumerate(keys) if key in graphs])
            cells = kept.cells
            numbers = [
                graph if type(graph) is int else execution
                for graph, execution in zip(cells["graphId"], cells["graphExecId"], strict=True)
            ]
            kept = kept._replace(cells={**cells, "graphNodeId": numbers})
            text = [
                f"CUDA graph {number}" if type(number) is int else "CUDA graph"
                for number in numbers
            ]
            self._add_gpu(kept, devices, text, "kernel", kind=["compute"] * len(text), more={
                "family": ["CUDA graph"] * len(text),
            })  # fmt: skip
            yield from self.gpu.flush(at_least=BATCH_ROWS)

    def _add_gpu(
        self, found: Found, devices: dict[tuple[int, int], int], text: list[str], activity: str, *,
        kind: list[str], more: dict[str, Sequence[Any] | pa.Array],
    ) -> None:  # fmt: skip
        cells = found.cells
        pids = cells["globalPid"]
        self.pids.update(names.process(pid) for pid in set(pids) if type(pid) is int)
        self.gpu.add(len(text), {
            "event_no": self._numbered(len(text)),
            "start_ns": found.starts, "end_ns": found.ends,
            "device": [
                devices.get((pid, device), device) if type(pid) is int else device
                for pid, device in zip(pids, cells["deviceId"], strict=True)
            ],
            "stream": cells["streamId"],
            "activity": [activity] * len(text),
            "kind": kind,
            "name": text,
            "family": [family(t) for t in text],
            "correlation": self._unique(pids, cells["correlationId"]),
            "graph_node_id": [
                node if type(node) is int and node > 0 else None for node in cells["graphNodeId"]
            ],
            **more,
        })  # fmt: skip

    def _device_numbers(self) -> dict[tuple[int, int], int]:
        """A GPU's number by process and ordinal, where several processes count for themselves.

        Two processes that each see one GPU call both 0. The number is the ordinal where one process
        works, and where the export does not say which GPU each of them means.
        """
        used = {
            (pid, device)
            for table in (KERNEL, MEMCPY, MEMSET, GRAPH)
            for part in self._export.parts(table, "globalPid", "deviceId")
            for pid, device in zip(*part.columns.values(), strict=True)
            if type(pid) is int and type(device) is int
        }
        if len({pid for pid, _ in used}) < 2:
            return {}
        found = {
            (pid, device): gpu
            for pid, device in used
            if (gpu := self._target.gpu_of.get((names.process(pid), device))) is not None
        }
        return found if len(found) == len(used) else {}

    def _calls(self) -> Iterator[Batch]:
        waits = {
            (pid, number): None
            for part in self._export.parts(SYNC, "globalPid", "correlationId", "syncType")
            for pid, number, kind in zip(*part.columns.values(), strict=True)
            if kind in _WAITS and type(pid) is int
        }
        for found in self._found(RUNTIME, "globalTid", "correlationId", "nameId", need=_THREAD):
            cells = found.cells
            tids = cells["globalTid"]
            self.pids.update(map(names.process, set(tids)))
            self.launches.add(len(tids), {
                **self._host(found, tids),
                "name": [names.function(self._name(number)) for number in cells["nameId"]],
                "correlation": self._unique(tids, cells["correlationId"]),
            })  # fmt: skip
            for tid, number in zip(tids, cells["correlationId"], strict=True):
                waits.pop((tid >> 24 << 24, number), None)
            yield from self.launches.flush(at_least=BATCH_ROWS)
        yield from self._waits(waits)

    def _waits(self, waits: dict[tuple[int, Any], None]) -> Iterator[Batch]:
        """Waits of the host for the GPU whose call was not recorded, on no known thread: 0."""
        for found in self._found(
            SYNC, "globalPid", "correlationId", "syncType", need=("globalPid",)
        ):
            cells = found.cells
            keys = zip(cells["globalPid"], cells["correlationId"], strict=True)
            kept = found.take([at for at, key in enumerate(keys) if key in waits])
            cells = kept.cells
            self.launches.add(len(kept.starts), {
                **self._host(kept, cells["globalPid"]),
                "name": [_WAITS[kind] for kind in cells["syncType"]],
                "correlation": self._unique(cells["globalPid"], cells["correlationId"]),
            })  # fmt: skip
            yield from self.launches.flush(at_least=BATCH_ROWS)

    def _ranges(self) -> Iterator[Batch]:
        columns = ("eventType", "globalTid", "text", "textId")
        for found in self._found(NVTX, *columns, need=_THREAD):
            cells = found.cells
            text = [
                spoken if isinstance(spoken, str) and spoken else self._name(number)
                for spoken, number in zip(cells["text"], cells["textId"], strict=True)
            ]
            read = [names.op(t) for t in text]
            plain = [t if o is None else o.name for t, o in zip(text, read, strict=True)]
            said = [self._said(t) for t in plain]
            steps, module = [step for step, _ in said], [module for _, module in said]
            ops = [at for at, o in enumerate(read) if o and not steps[at] and not module[at]]
            marked = [at for at, m in enumerate(module) if m and not steps[at]]
            taken = {*ops, *marked}
            self._add_ops(found.take(ops), [o for at in ops if (o := read[at])])
            self._add_frames(found.take(marked), [m for at in marked if (m := module[at])])
            rest = [at for at in range(len(text)) if at not in taken]
            self._add_annotations(
                found.take(rest), [plain[at] for at in rest], [steps[at] for at in rest]
            )
            for rows in (self.ops, self.annotations):
                yield from rows.flush(at_least=BATCH_ROWS)

    def _add_ops(self, found: Found, ops: list[names.Op]) -> None:
        tids = found.cells["globalTid"]
        self.counts.has_shapes |= any(o.dims is not None for o in ops)
        works = [_work(o.name, o.dims) for o in ops]
        self.ops.add(len(ops), {
            **self._host(found, tids),
            "name": [o.name for o in ops],
            "sequence_number": self._unique(tids, [o.sequence_number for o in ops]),
            "input_dims": [o.dims for o in ops],
            "flops": [done.flops for done in works],
            "bytes": [done.bytes for done in works],
            "math_dtype": [done.math_dtype for done in works],
        })  # fmt: skip

    def _add_frames(self, found: Found, modules: list[re.Match[str]]) -> None:
        if not modules:
            return
        # Frames get their numbers when their order is known.
        tids = found.cells["globalTid"]
        self._frames.add({
            "event_no": [0] * len(tids), "start_ns": found.starts, "end_ns": found.ends,
            "pid": [names.process(tid) for tid in tids],
            "tid": [names.thread(tid) for tid in tids],
            "name": [m.groupdict().get("name") or m[0] for m in modules],
        })  # fmt: skip

    def _add_annotations(
        self, found: Found, text: list[str], steps: list[re.Match[str] | None]
    ) -> None:
        self.counts.steps += sum(step is not None for step in steps)
        self.annotations.add(len(text), {
            **self._host(found, found.cells["globalTid"]),
            "kind": ["user" if step is None else "step" for step in steps],
            "name": text,
            "step_no": [None if step is None else _step_no(step) for step in steps],
        })  # fmt: skip

    def _host(self, found: Found, tids: list[int]) -> dict[str, Sequence[Any] | pa.Array]:
        return {
            "event_no": self._numbered(len(tids)),
            "start_ns": found.starts, "end_ns": found.ends,
            "pid": [names.process(tid) for tid in tids],
            "tid": [names.thread(tid) for tid in tids],
        }  # fmt: skip

    def _unique(self, ids: list[Any], numbers: Sequence[Any]) -> pa.Array:
        unique = self._processes.unique
        return pa.array(
            [unique(i, number) for i, number in zip(ids, numbers, strict=True)], pa.int64()
        )

    def _name(self, *ids: object) -> str:
        """The first of these strings that is there."""
        for number in ids:
            if text := self._strings.get(number):
                return text
        self._nameless += 1
        return NO_NAME

    def _numbered(self, count: int) -> range:
        """The next numbers of events in the file."""
        first = self._number + 1
        self._number += count
        return range(first, first + count)

    def _found(self, table: str, *columns: str, need: tuple[str, ...]) -> Iterator[Found]:
        """Yield the rows of a table whose time and place are sound; the others become rejects.

        Of NVTX only ranges are looked at: the other events have no length.
        """
        for part in self._export.parts(table, "start", "end", *columns):
            self.counts.events += len(part.rows)
            if table == NVTX:
                kinds = part.columns["eventType"]
                kept = [at for at, kind in enumerate(kinds) if type(kind) is int]
                for at in range(len(kinds)) if len(kept) < len(kinds) else ():
                    if type(kinds[at]) is not int:
                        self._reject(table, part, at, f"eventType is {shown(kinds[at])}")
                part = part.take([at for at in kept if kinds[at] in _RANGES])
            found = self._sound(table, part, need)
            if len(found.starts):
                self.counts.span(found.starts, found.ends)
                yield found

    def _sound(self, table: str, part: Part, need: tuple[str, ...]) -> Found:
        starts, ends = times(part)
        if starts is None or ends is None or any(longs(part.columns[n]) is None for n in need):
            kept = []
            for at in range(len(part.rows)):
                if found := fault(part, at, need):
                    self._reject(table, part, at, found)
                else:
                    kept.append(at)
            part = part.take(kept)
            starts = pa.array(part.columns["start"], pa.int64())
            ends = pa.array(part.columns["end"], pa.int64())
        return Found(pc.add(starts, self._base), pc.add(ends, self._base), part.columns)

    def _reject(self, table: str, part: Part, at: int, reason: str) -> None:
        cells = {name: shown(cells[at]) for name, cells in part.columns.items()}
        where = f"{table}, {self._export.row_name} {part.rows[at]}"
        self._rejects.put(where, reason, ", ".join(f"{n} {c}" for n, c in cells.items()))


def first_time(export: Export) -> int | None:
    """The earliest time of the first rows of the event tables; None where there is none."""
    found = []
    for table in EVENT_TABLES:
        for part in export.parts(table, "start"):
            found += [time for time in part.columns["start"] if type(time) is int]
            break
    return min(found, default=None)


def _strings(file: SourceFile, export: Export) -> dict[object, str]:
    found: dict[object, str] = {}
    size = 0
    for part in export.parts("StringIds", "id", "value"):
        for number, value in zip(*part.columns.values(), strict=True):
            if type(number) is int and isinstance(value, str):
                found[number] = value
                size += len(value)
        if size > _MAX_NAMES_BYTES:
            raise SourceError(
                file.name, f"its strings are over {_MAX_NAMES_BYTES} bytes",
                expected="the names of one recording", todo="Record a shorter time.",
            )  # fmt: skip
    return found


def _step_no(step: re.Match[str]) -> int | None:
    text = step.groupdict().get("number") or (step[1] if step.re.groups else None)
    return int(text) if text and text.isdecimal() and len(text) < 19 else None


@lru_cache(maxsize=16_384)
def _work(name: str, dims: str | None) -> Work:
    """What an op has to do by its shapes; number formats and plain values are not recorded."""
    shapes = None if dims is None else msgspec.json.decode(dims)
    return work(name, shapes, None if shapes is None else [""] * len(shapes), None)
