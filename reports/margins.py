"""Rounding a table with totals on two sides: teams by classes.

Each row is cut under its own total, by largest remainder. The columns' sums may then miss their
exact values by many units, since every row rounds for itself; units are moved inside rows until
each column, too, is less than one unit away from its exact sum.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from decimal import Decimal

from reports.rounding import shown

_Row = Mapping[str, Decimal]


def two_way(rows: Sequence[_Row], totals: Sequence[Decimal], *, places: int) -> list[_Row]:
    """The rows' cells at so many places: each row sums to its total, columns nearly to theirs.

    No cell moves by a unit or more. Where no such table exists (a column of one cell that its row
    forces up), the rows' totals win.
    """
    unit = Decimal(1).scaleb(-places)
    found = [
        dict(zip(row, shown(list(row.values()), places=places, total=total), strict=True))
        for row, total in zip(rows, totals, strict=True)
    ]
    columns = sorted({name for row in rows for name in row})
    off = {
        name: sum((cells[name] - row[name] for row, cells in zip(rows, found, strict=True)
                   if name in row), Decimal(0))
        for name in columns
    }  # fmt: skip
    while True:
        path = _path(rows, found, off, unit)
        if not path:
            return list(found)
        for at, giver, taker in path:
            found[at][giver] -= unit
            found[at][taker] += unit
        off[path[0][1]] -= unit
        off[path[-1][2]] += unit


def _path(
    rows: Sequence[_Row], found: Sequence[_Row], off: Mapping[str, Decimal], unit: Decimal
) -> list[tuple[int, str, str]]:
    """Moves (row, from, to) that take a unit from a column with too much to one with too little.

    The worst column moves first, and only where a move brings both ends nearer to their sums.
    """
    worst = max(off, key=lambda name: (abs(off[name]), name), default="")
    if not worst or abs(off[worst]) < unit:
        return []
    over = off[worst] > 0
    came: dict[str, tuple[int, str, str]] = {}
    left = deque([worst])
    while left:
        here = left.popleft()
        for there in sorted(off):
            if there == worst or there in came:
                continue
            giver, taker = (here, there) if over else (there, here)
            at = _row(rows, found, giver, taker)
            if at is None:
                continue
            came[there] = (at, giver, taker)
            if (off[there] < 0) is over and off[there] != 0:
                return _steps(came, there, worst, over)
            left.append(there)
    return []


def _row(rows: Sequence[_Row], found: Sequence[_Row], giver: str, taker: str) -> int | None:
    """The row in which a unit moves between two columns at the least cost; None where none may."""
    best: tuple[Decimal, int] | None = None
    for at, (row, cells) in enumerate(zip(rows, found, strict=True)):
        if (
            giver in row
            and taker in row
            and cells[giver] > row[giver]
            and cells[taker] < row[taker]
        ):
            cost = (row[giver] - cells[giver]) - (row[taker] - cells[taker])
            if best is None or cost > best[0]:
                best = (cost, at)
    return None if best is None else best[1]


def _steps(
    came: Mapping[str, tuple[int, str, str]], end: str, start: str, over: bool
) -> list[tuple[int, str, str]]:
    path = []
    here = end
    while here != start:
        path.append(came[here])
        here = came[here][1] if over else came[here][2]
    return path[::-1] if over else path
