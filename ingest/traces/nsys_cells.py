"""Cells of an export, which sqlite does not keep to a type: which rows have a sound time."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.traces.nsys_tables import Part
from ingest.traces.nsys_target import MAX_NS

_WEEK_NS = 7 * 86_400 * 10**9
_MAX_LONG = 2**63 - 1


class Found(NamedTuple):
    """Rows with a sound time and place: epoch ns, and cells by column."""

    starts: pa.Array
    ends: pa.Array
    cells: Mapping[str, list[Any]]

    def take(self, index: list[int]) -> Found:
        """Those of its rows."""
        if len(index) == len(self.starts):
            return self
        at = pa.array(index, pa.int64())
        cells = {name: [values[i] for i in index] for name, values in self.cells.items()}
        return Found(self.starts.take(at), self.ends.take(at), cells)


def times(part: Part) -> tuple[pa.Array | None, pa.Array | None]:
    """Starts and ends of all rows; None where one of them has no sound time."""
    starts, ends = longs(part.columns["start"]), longs(part.columns["end"])
    if starts is None or ends is None or not len(starts):
        return starts, ends
    lengths = pc.min_max(pc.subtract_checked(ends, starts)).as_py() if _fit(starts, ends) else None
    is_sound = lengths is not None and lengths["min"] >= 0 and lengths["max"] <= _WEEK_NS
    return (starts, ends) if is_sound else (None, None)


def _fit(starts: pa.Array, ends: pa.Array) -> bool:
    return bool(
        pc.min(starts).as_py() >= 0
        and pc.max(starts).as_py() <= MAX_NS
        and pc.min(ends).as_py() >= 0
        and pc.max(ends).as_py() <= MAX_NS
    )


def longs(values: list[Any]) -> pa.Array | None:
    """A column of whole numbers; None where one is none."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        return pa.array(values, pa.int64())
    except OverflowError:
        return None


def fault(part: Part, at: int, need: tuple[str, ...]) -> str:
    """What is wrong with a row's time or place; '' where nothing is."""
    for name in ("start", "end", *need):
        value = part.columns[name][at]
        if value is None and name == "end":
            return "no end: it was still open when the recording ended; expected a time"
        if type(value) is not int or abs(value) > _MAX_LONG:
            return f"{name} is {shown(value)}; expected a whole number"
    start, end = part.columns["start"][at], part.columns["end"][at]
    if start < 0 or max(start, end) > MAX_NS:
        return f"it runs from {start} to {end}; expected ns from 0 to {MAX_NS}"
    if end < start:
        return f"end {end} is before start {start}"
    if end - start > _WEEK_NS:
        return f"it takes {end - start} ns: it was never ended; expected 7 days or less"
    return ""


def shown(value: object) -> str:
    """A cell as a message shows it."""
    return f"{len(value)} bytes" if isinstance(value, bytes) else repr(value)[:200]


def naturals(values: list[Any]) -> list[int | None]:
    """Whole numbers from 0; None where a cell is none."""
    return [v if type(v) is int and 0 <= v <= _MAX_LONG else None for v in values]


def products(cells: Mapping[str, list[Any]], sides: tuple[str, ...]) -> list[int | None]:
    """Blocks of a grid or threads of a block; None where a side is not known."""
    rows = zip(*(cells[side] for side in sides), strict=True)
    return [
        product if all(type(v) is int for v in row) and 0 < (product := prod(row)) <= _MAX_LONG
        else None
        for row in rows
    ]  # fmt: skip
