"""Exact times: microseconds of a trace, relative to a base or since the epoch, to epoch ns.

A float of that size tells nanoseconds apart, but its product with 1000 may not: at 4.46e12 us the
product is half a nanosecond off and rounds to the wrong side. So whole microseconds and the rest
are converted each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import floor, inf

import pyarrow as pa
import pyarrow.compute as pc

from ingest.traces.events import Event

_WEEK_US = 7 * 86_400 * 1_000_000
#: Later times do not fit a BIGINT of nanoseconds.
_MAX_US = 2**62 // 1000
#: With a base, a time below is one that the profiler lost.
_LEAST_US = 0.0005


def ns(us: int | float | Decimal) -> int:
    """Nanoseconds of microseconds, exact for whole numbers, decimals, and floats under 2**43."""
    if isinstance(us, float):
        whole = floor(us)
        return whole * 1000 + round((us - whole) * 1000)
    return round(us * 1000)


def all_ns(us: pa.Array) -> pa.Array:
    """The same for a column of floats."""
    whole = pc.floor(us)
    rest = pc.round(pc.multiply(pc.subtract(us, whole), 1000.0))
    return pc.add(pc.multiply(whole.cast(pa.int64()), 1000), rest.cast(pa.int64()))


class Clock:
    """The times of one file; `base_ns` is what they count from, 0 for the epoch itself."""

    def __init__(self, base_ns: int) -> None:
        self._base = base_ns

    def spans(self, events: Sequence[Event]) -> tuple[pa.Array, pa.Array] | None:
        """Starts and ends of all events, epoch ns; None where one of them has no sound time."""
        if not events:
            return None
        # One column, since the calls cost more than the numbers.
        values = [e.ts for e in events] + [e.dur for e in events]
        try:
            us = pa.array(values, pa.float64())
        except pa.ArrowInvalid:
            return self._decimal_spans(events)
        count = len(events)
        first, last = pc.min_max(us.slice(0, count)).as_py().values()
        shortest, longest = pc.min_max(us.slice(count)).as_py().values()
        if not self._are_sound(first, last, shortest, longest):
            return None
        times = all_ns(us)
        starts = pc.add(times.slice(0, count), self._base)
        return starts, pc.add(starts, times.slice(count))

    def start(self, event: Event) -> int:
        """When an event is whose `ts` has no fault, epoch ns."""
        return self._base + max(ns(event.ts), 0)

    def span(self, event: Event) -> tuple[int, int]:
        """Start and end of an event that has no fault, epoch ns."""
        start = self.start(event)
        return start, start + ns(event.dur)

    def fault(self, event: Event) -> str:
        """What is wrong with an event's time; '' where nothing is."""
        if fault := self.start_fault(event):
            return fault
        if event.dur == -inf:
            return "no dur; expected a number of microseconds"
        if event.dur < 0:
            return f"dur is {event.dur} us; expected 0 or more"
        if event.dur > _WEEK_US:
            return f"dur is {event.dur} us: an event that was never ended; expected 7 days or less"
        return ""

    def start_fault(self, event: Event) -> str:
        """What is wrong with an event's `ts`; '' where nothing is."""
        if event.ts == -inf:
            return "no ts; expected a number of microseconds"
        if event.ts > _MAX_US:
            return f"ts is {event.ts} us; expected a time before 2116"
        if self._base and event.ts < _LEAST_US:
            return f"ts is {event.ts}: the profiler lost the time; expected more than 0"
        return ""

    def _decimal_spans(self, events: Sequence[Event]) -> tuple[pa.Array, pa.Array] | None:
        ts, lengths = [e.ts for e in events], [e.dur for e in events]
        if not self._are_sound(min(ts), max(ts), min(lengths), max(lengths)):
            return None
        found = [self.span(event) for event in events]
        return (
            pa.array([start for start, _ in found], pa.int64()),
            pa.array([end for _, end in found], pa.int64()),
        )

    def _are_sound(self, first: float, last: float, shortest: float, longest: float) -> bool:
        least = _LEAST_US if self._base else 0
        return first >= least and last <= _MAX_US and shortest >= 0 and longest <= _WEEK_US
