"""Events to rows of the trace tables: which event belongs where, with exact times.

Times of the file are microseconds, relative to a base or since the epoch; rows have epoch ns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from math import prod
from typing import Any, NamedTuple, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from ingest.rows import BATCH_ROWS, Columns, Rejects
from ingest.traces import modules
from ingest.traces.chunks import Piece
from ingest.traces.events import NO_ARGS, NO_TEXT, Args, Event, long
from ingest.traces.kernel_names import collective_name, family, kind_of
from ingest.traces.op_work import work
from ingest.traces.times import Clock
from warehouse.contracts import Batch, SourceFile

_GPU, _LAUNCH, _OP, _USER, _PYTHON, _OTHER = range(6)


class _Tables(dict[str, int]):
    def __missing__(self, category: str) -> int:
        return _OTHER


#: Which rows a category gives; capital ones are of 2021. All else is counted only.
_TABLE_OF = _Tables({
    "kernel": _GPU, "Kernel": _GPU,
    "gpu_memcpy": _GPU, "Memcpy": _GPU,
    "gpu_memset": _GPU, "Memset": _GPU,
    "cuda_runtime": _LAUNCH, "Runtime": _LAUNCH, "cuda_driver": _LAUNCH,
    "xpu_runtime": _LAUNCH, "xpu_driver": _LAUNCH,
    "mtia_runtime": _LAUNCH,
    "privateuse1_runtime": _LAUNCH, "privateuse1_driver": _LAUNCH,
    "cpu_op": _OP, "Operator": _OP,
    "user_annotation": _USER,
    "python_function": _PYTHON,
})  # fmt: skip
#: For each table, its own code to 1 and the others' to 0.
_FLAGS = [bytes(code == table for code in range(256)) for table in range(_OTHER + 1)]
_ACTIVITY = {
    "kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "memcpy", "Memcpy": "memcpy",
    "gpu_memset": "memset", "Memset": "memset",
}  # fmt: skip
_STEP_NAME = re.compile(r"profilerstep\s*(?:#\s*([0-9]{1,18})|\*)?\s*\Z", re.IGNORECASE)

_NO_PIECE = Piece(1, [])

Values: TypeAlias = Sequence[Any] | pa.Array
_Places: TypeAlias = Callable[[list[Event]], tuple[list[Any], list[Any]]]


class Timed(NamedTuple):
    """Events of one kind that have a sound time, with their numbers and epoch ns."""

    numbers: pa.Array
    events: list[Event]
    starts: pa.Array
    ends: pa.Array


class _Group(NamedTuple):
    """Events of one kind and their numbers; their epoch ns where all of their times are sound."""

    numbers: pa.Array
    events: list[Event]
    spans: tuple[pa.Array, pa.Array] | None

    def take(self, places: list[int]) -> _Group:
        """Some of the events."""
        at = pa.array(places, pa.int64())
        spans = self.spans and (self.spans[0].take(at), self.spans[1].take(at))
        return _Group(self.numbers.take(at), [self.events[place] for place in places], spans)


@dataclass
class Counts:
    """What was seen of a file's events."""

    events: int = 0
    steps: int = 0
    start_ns: int | None = None
    end_ns: int | None = None
    has_shapes: bool = False
    has_stack: bool = False

    def span(self, starts: pa.Array, ends: pa.Array) -> None:
        """Widen the file's time to these events'."""
        if len(starts):
            first, last = pc.min(starts).as_py(), pc.max(ends).as_py()
            self.start_ns = first if self.start_ns is None else min(first, self.start_ns)
            self.end_ns = last if self.end_ns is None else max(last, self.end_ns)


class Tables:
    """The tables of one trace file, filled by `take` and `finish`; `flush` hands rows on."""

    def __init__(
        self, file: SourceFile, base_ns: int, rejects: Rejects, *, keep_python: bool = False
    ) -> None:
        self._keeps_python = keep_python
        self.counts = Counts()
        #: Processes that rows of the host belong to.
        self.pids: set[int] = set()
        self._clock = Clock(base_ns)
        self._rejects = rejects
        self._piece = _NO_PIECE
        self._texts: list[tuple[int, bytes]] | None = None
        self._frames = modules.Frames()
        self.gpu = Columns("trace_kernel", file)
        self.launches = Columns("trace_launch", file)
        self.ops = Columns("trace_op", file)
        self.annotations = Columns("trace_annotation", file)

    def take(self, piece: Piece) -> None:
        """Add events that follow one another."""
        self._piece, self._texts = piece, None
        self.counts.events += len(piece.events)
        flags = bytes([event.ph == "X" for event in piece.events])
        events = list(compress(piece.events, flags))
        numbers = pc.add(pc.indices_nonzero(_mask(flags)).cast(pa.int64()), piece.first)
        spans = self._clock.spans(events)
        if spans is not None:
            self.counts.span(*spans)
        codes = bytes(map(_TABLE_OF.__getitem__, [event.cat for event in events]))
        for table in sorted(set(codes)):
            flags = codes.translate(_FLAGS[table])
            mask = _mask(flags)
            self._add(table, _Group(
                numbers.filter(mask), list(compress(events, flags)),
                spans and (spans[0].filter(mask), spans[1].filter(mask)),
            ))  # fmt: skip
        self._piece, self._texts = _NO_PIECE, None

    def _add(self, table: int, group: _Group) -> None:
        if table == _GPU:
            self._add_gpu(*self._timed(group, _devices))
        elif table == _LAUNCH:
            self._add_launches(*self._timed(group, _threads))
        elif table == _OP:
            self._add_ops(group)
        elif table == _USER:
            self._add_annotations(*self._timed(group, _threads))
        elif table == _PYTHON:
            self.counts.has_stack = True
            self._add_frames(group)
        else:
            self._span(group)

    def finish(self) -> Iterator[Batch]:
        """Yield the rows that only the whole file gives: modules, and what is left."""
        for number, columns in self._frames.rows():
            self.annotations.add(number, columns)
            yield from self.annotations.flush(at_least=BATCH_ROWS)
        yield from self.flush()

    def flush(self, *, at_least: int = 1) -> Iterator[Batch]:
        """Yield what has gathered in tables of at least so many rows."""
        for rows in (self.gpu, self.launches, self.ops, self.annotations):
            yield from rows.flush(at_least=at_least)

    def _timed(self, group: _Group, places: _Places) -> tuple[Timed, pa.Array, pa.Array]:
        """The events whose time and place are sound, with the two numbers of their place.

        The others become rejects.
        """
        kept = self._sound(group)
        outer, inner = map(_longs, places(kept.events))
        if outer.null_count or inner.null_count:
            kept, outer, inner = self._placed(kept, outer, inner)
        if group.spans is None:
            self.counts.span(kept.starts, kept.ends)
        return kept, outer, inner

    def _sound(self, group: _Group) -> Timed:
        """The events whose time is sound; the others become rejects."""
        numbers, events, _ = group
        spans = group.spans or self._clock.spans(events)
        if spans is not None:
            return Timed(numbers, events, *spans)
        kept, found = [], []
        for at, (number, event) in enumerate(zip(numbers.to_pylist(), events, strict=True)):
            if fault := self._clock.fault(event):
                self._reject(number, fault)
            else:
                kept.append(at)
                found.append(self._clock.span(event))
        return Timed(
            _taken(numbers, kept), [events[at] for at in kept],
            pa.array([start for start, _ in found], pa.int64()),
            pa.array([end for _, end in found], pa.int64()),
        )  # fmt: skip

    def _placed(
        self, timed: Timed, outer: pa.Array, inner: pa.Array
    ) -> tuple[Timed, pa.Array, pa.Array]:
        """Those whose place is two whole numbers; the others become rejects."""
        kept = []
        for at, event in enumerate(timed.events):
            if outer[at].is_valid and inner[at].is_valid:
                kept.append(at)
                continue
            self._reject(
                timed.numbers[at].as_py(),
                f"pid {event.pid!r}, tid {event.tid!r}; expected whole numbers, or a device and a "
                f"stream",
            )
        placed = Timed(
            _taken(timed.numbers, kept), [timed.events[at] for at in kept],
            _taken(timed.starts, kept), _taken(timed.ends, kept),
        )  # fmt: skip
        return placed, _taken(outer, kept), _taken(inner, kept)

    def _reject(self, number: int, fault: str) -> None:
        if self._texts is None:
            self._texts = self._piece.texts()
        offset, text = self._texts[number - self._piece.first]
        self._rejects.put(f"event {number}, byte {offset}", fault, text)

    def _span(self, group: _Group) -> None:
        """Let events that are not kept widen the file's time, where theirs is sound."""
        if group.spans is not None:
            return
        events = group.events
        spans = self._clock.spans(events)
        if spans is None:
            spans = self._clock.spans([e for e in events if not self._clock.fault(e) and e.ts >= 0])
        if spans is not None:
            self.counts.span(*spans)

    def _add_gpu(self, timed: Timed, devices: pa.Array, streams: pa.Array) -> None:
        events = timed.events
        args = [e.args or NO_ARGS for e in events]
        activities = [_ACTIVITY[e.cat] for e in events]
        names = [e.name for e in events]
        families = {name: family(name) for name in set(names)}
        kinds = {name: kind_of(name) for name in families}
        self.gpu.add(len(events), {
            "event_no": timed.numbers, "start_ns": timed.starts, "end_ns": timed.ends,
            "device": devices, "stream": streams,
            "activity": activities,
            "kind": [
                kinds[name] if a == "kernel" else "copy"
                for name, a in zip(names, activities, strict=True)
            ],
            "name": names,
            "family": [families[name] for name in names],
            "correlation": _longs([a.correlation for a in args]),
            "external_id": _external_ids(args),
            "graph_node_id": [_node(a) for a in args],
            "bytes": _longs([a.size for a in args]),
            "blocks": [_product(a.grid, a) for a in args],
            "threads": [_product(a.block, a) for a in args],
            "occupancy_percent": _longs([a.occupancy for a in args]),
            **_collective(args),
        })  # fmt: skip

    def _add_launches(self, timed: Timed, pids: pa.Array, tids: pa.Array) -> None:
        args = [e.args or NO_ARGS for e in timed.events]
        self.launches.add(len(args), {
            **self._host(timed, pids, tids),
            "name": [e.name for e in timed.events],
            "correlation": _longs([a.correlation for a in args]),
            "external_id": _external_ids(args),
        })  # fmt: skip

    def _add_ops(self, group: _Group) -> None:
        """Add ops; in 2021 the profiler's steps were among them."""
        names = [e.name for e in group.events]
        steps = {name for name in set(names) if _STEP_NAME.match(name.strip())}
        if steps:
            places = [at for at, name in enumerate(names) if name in steps]
            self._add_annotations(*self._timed(group.take(places), _threads))
            group = group.take([at for at, name in enumerate(names) if name not in steps])
        timed, pids, tids = self._timed(group, _threads)
        names = [e.name for e in timed.events]
        args = [e.args or NO_ARGS for e in timed.events]
        shapes = _shapes(names, args)
        self.counts.has_shapes |= shapes["input_dims"].null_count < len(args)
        self.ops.add(len(args), {
            **self._host(timed, pids, tids),
            "name": names,
            "external_id": _external_ids(args),
            "sequence_number": _longs([a.sequence_number for a in args]),
            "fwd_thread_id": _longs([a.fwd_thread_id for a in args]),
            **shapes,
            **_comms(args),
        })  # fmt: skip

    def _add_annotations(self, timed: Timed, pids: pa.Array, tids: pa.Array) -> None:
        names = [e.name for e in timed.events]
        steps = [_STEP_NAME.match(name.strip()) for name in names]
        self.counts.steps += sum(step is not None for step in steps)
        self.annotations.add(len(names), {
            **self._host(timed, pids, tids),
            "kind": ["user" if step is None else "step" for step in steps],
            "name": names,
            "step_no": [int(step[1]) if step and step[1] else None for step in steps],
        })  # fmt: skip

    def _add_frames(self, group: _Group) -> None:
        """Keep module frames; other Python frames only widen the file's time, where nobody asked
        for them."""
        prefix = modules.PREFIX
        are_modules = [event.name.startswith(prefix) for event in group.events]
        kept = [at for at, is_module in enumerate(are_modules) if is_module]
        others = group.take([at for at, is_module in enumerate(are_modules) if not is_module])
        if self._keeps_python:
            timed, pids, tids = self._timed(others, _threads)
            # Whose the trace is is told by rows that are there in any case.
            self.annotations.add(len(timed.events), {
                **_place(timed, pids, tids),
                "kind": ["python"] * len(timed.events),
                "name": [e.name for e in timed.events],
            })  # fmt: skip
        else:
            self._span(others)
        if kept:
            timed, pids, tids = self._timed(group.take(kept), _threads)
            self._frames.add({
                **self._host(timed, pids, tids),
                "name": [e.name.removeprefix(prefix) for e in timed.events],
            })  # fmt: skip

    def _host(self, timed: Timed, pids: pa.Array, tids: pa.Array) -> dict[str, Values]:
        self.pids.update(pids.unique().to_pylist())
        return _place(timed, pids, tids)


def _place(timed: Timed, pids: pa.Array, tids: pa.Array) -> dict[str, Values]:
    return {
        "event_no": timed.numbers, "pid": pids, "tid": tids,
        "start_ns": timed.starts, "end_ns": timed.ends,
    }  # fmt: skip


def _mask(flags: bytes) -> pa.Array:
    """Flags of one byte each as a column of booleans."""
    buffers = [None, pa.py_buffer(flags)]
    return pa.Array.from_buffers(pa.uint8(), len(flags), buffers).cast(pa.bool_())


def _taken(column: pa.Array, places: list[int]) -> pa.Array:
    return column.take(pa.array(places, pa.int64()))


def _devices(events: list[Event]) -> tuple[list[Any], list[Any]]:
    """Device and stream of each."""
    args = [e.args or NO_ARGS for e in events]
    return (
        [e.pid if a.device is None else a.device for e, a in zip(events, args, strict=True)],
        [e.tid if a.stream is None else a.stream for e, a in zip(events, args, strict=True)],
    )


def _threads(events: list[Event]) -> tuple[list[Any], list[Any]]:
    """Process and thread of each."""
    return [e.pid for e in events], [e.tid for e in events]


def _longs(values: list[Any]) -> pa.Array:
    """A BIGINT column; what is no whole number, nor text that ends in one, is null."""
    try:
        return pa.array(values, pa.int64())
    except (OverflowError, TypeError, pa.ArrowException):
        return pa.array([long(value) for value in values], pa.int64())


def _external_ids(args: list[Args]) -> pa.Array:
    return _longs([a.old_external_id if a.external_id is None else a.external_id for a in args])


def _node(args: Args) -> int | None:
    """The node of the graph that a kernel is of; the graph, where only that is known."""
    for value in (args.graph_node_id, args.graph_id):
        if value is not None and (number := long(value)) is not None and number > 0:
            return number
    return None


def _product(sides: object, args: Args) -> int | None:
    """Blocks or threads of a launch. ROCm counts a grid in blocks or in threads: not known."""
    if not isinstance(sides, list) or not sides or args.kind is not None:
        return None
    product = prod(sides)
    return product if 0 < product < 2**63 else None


def _collective(args: list[Args]) -> dict[str, Values]:
    if not any(a.collective is not None or a.group_name is not None for a in args):
        return _comms(args)
    return {
        "collective": [
            None if a.collective is None else collective_name(a.collective) for a in args
        ],
        "group_name": [a.group_name for a in args],
        "group_ranks": [a.group_ranks for a in args],
        "group_size": _longs([a.group_size for a in args]),
        "seq": _longs([a.seq for a in args]),
        "in_elements": _longs([a.in_elements for a in args]),
        "out_elements": _longs([a.out_elements for a in args]),
        "dtype": [a.dtype for a in args],
        **_comms(args),
    }


def _comms(args: list[Args]) -> dict[str, Values]:
    if all(a.comms_id is None for a in args):
        return {}
    return {"comms_id": [None if a.comms_id is None else str(a.comms_id) for a in args]}


class _Shape(NamedTuple):
    dims: str | None
    types: str | None
    flops: int | None
    bytes: int | None
    math_dtype: str | None


def _shapes(names: list[str], args: list[Args]) -> dict[str, pa.Array]:
    """The columns of the ops' inputs and their work; each shape is looked at once."""
    # Most ops of a trace without shapes have none of the three.
    keys: list[Any] = [
        (name,) if a.dims is NO_TEXT and a.types is NO_TEXT and a.concrete is NO_TEXT
        else (name, bytes(a.dims), bytes(a.types), bytes(a.concrete))
        for name, a in zip(names, args, strict=True)
    ]  # fmt: skip
    index: dict[tuple[Any, ...], int] = {}
    codes = [index.setdefault(key, len(index)) for key in keys]
    shapes = [_shape(*key) for key in index]
    at = pa.array(codes, pa.int32())
    text, number = pa.string(), pa.int64()
    return {
        "input_dims": pa.array([s.dims for s in shapes], text).take(at),
        "input_types": pa.array([s.types for s in shapes], text).take(at),
        "flops": pa.array([s.flops for s in shapes], number).take(at),
        "bytes": pa.array([s.bytes for s in shapes], number).take(at),
        "math_dtype": pa.array([s.math_dtype for s in shapes], text).take(at),
    }


@lru_cache(maxsize=16_384)
def _shape(name: str, dims: bytes = b"", types: bytes = b"", concrete: bytes = b"") -> _Shape:
    """The shapes of an op's inputs as compact JSON, and the work that they make."""
    read = [_decoded(text) for text in (dims, types, concrete)]
    flops, size, math_dtype = work(name, *read)
    return _Shape(_compact(read[0]), _compact(read[1]), flops, size, math_dtype)


def _decoded(text: bytes) -> list[Any] | None:
    try:
        value = msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None
    return value if isinstance(value, list) else None


def _compact(value: list[Any] | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
