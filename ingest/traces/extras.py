"""What is kept of a trace on request only: flows and changes of memory, which are many.

A flow ties two places, as a launch to its kernel or a forward op to its backward op; each of its
ends is a row. The profiler writes a change of memory where it was asked for (profile_memory).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ingest.rows import Rejects, Rows
from ingest.traces.chunks import Piece
from ingest.traces.events import Event, WideArgs, WideEvent, long
from ingest.traces.times import Clock
from warehouse.contracts import Batch, SourceFile

#: Events that a source may ask for, with what they become.
KEEP = {
    "flow": "rows of trace_flow",
    "memory": "rows of trace_memory",
    "python_function": "rows of trace_annotation, kind python",
}
_FLOW_ENDS = {"s": "start", "t": "step", "f": "finish"}
_MEMORY = "[memory]"
_NO_ARGS = WideArgs()


class Extras:
    """Rows of flows and of memory, as far as they are asked for."""

    def __init__(
        self, file: SourceFile, base_ns: int, rejects: Rejects, keep: Collection[str]
    ) -> None:
        self._clock, self._rejects = Clock(base_ns), rejects
        self._phases = ({*_FLOW_ENDS} if "flow" in keep else set()) | (
            {"i"} if "memory" in keep else set()
        )
        self._flows, self._memory = Rows("trace_flow", file), Rows("trace_memory", file)

    def take(self, piece: Piece) -> None:
        """Add the flows and changes of memory among events that follow one another."""
        if not self._phases:
            return
        for number, event in enumerate(piece.events, piece.first):
            if event.ph not in self._phases or (event.ph == "i" and event.name != _MEMORY):
                continue
            fault = self._clock.start_fault(event) or _fault(event)
            if fault:
                offset, text = piece.texts()[number - piece.first]
                self._rejects.put(f"event {number}, byte {offset}", fault, text)
            elif event.ph == "i":
                self._memory.add(**self._place(number, event), **_change(event))
            else:
                self._flows.add(
                    **self._place(number, event), flow_id=long(getattr(event, "id", None)),
                    end=_FLOW_ENDS[event.ph], category=event.cat, name=event.name,
                )  # fmt: skip

    def flush(self, *, at_least: int = 1) -> Iterator[Batch]:
        """Yield what has gathered in tables of at least so many rows."""
        yield from self._flows.flush(at_least=at_least)
        yield from self._memory.flush(at_least=at_least)

    def _place(self, number: int, event: Event) -> dict[str, Any]:
        return {
            "event_no": number, "pid": long(event.pid), "tid": long(event.tid),
            "at_ns": self._clock.start(event),
        }  # fmt: skip


def _fault(event: Event) -> str:
    if long(event.pid) is None or long(event.tid) is None:
        return f"pid {event.pid!r}, tid {event.tid!r}; expected whole numbers"
    if event.ph == "i":
        args = event.args
        if not isinstance(args, WideArgs) or long(args.changed) is None:
            return f"{_MEMORY} without Bytes; expected by how much memory changed"
    elif not isinstance(event, WideEvent) or long(event.id) is None:
        return "a flow without id; expected a whole number"
    return ""


def _change(event: Event) -> dict[str, Any]:
    args = event.args if isinstance(event.args, WideArgs) else _NO_ARGS
    return {
        "changed_bytes": long(args.changed), "allocated_bytes": long(args.allocated),
        "reserved_bytes": long(args.reserved), "device_type": long(args.device_type),
        "device": long(args.device_id),
        "address": None if args.address is None else str(args.address),
    }  # fmt: skip
