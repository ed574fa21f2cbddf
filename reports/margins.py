"""Rounding a table with totals on two sides: teams by classes.

Each row is cut under its own total, by largest remainder. The columns' sums may then miss their
exact values by many units, since every row rounds for itself; units are moved inside rows until
the columns, too, add up to what they are when they are cut under the total of all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from decimal import Decimal

from reports.rounding import shown

_Row = Mapping[str, Decimal]


def two_way(
    rows: Sequence[_Row], totals: Sequence[Decimal], *, places: int
) -> list[dict[str, Decimal]]:
    """The rows' cells at so many places: each row sums to its total, each column to its own.

    No cell moves by a unit or more. Where no such table exists (a column of one cell that its row
    forces up), the rows' totals win.
    """
    unit = Decimal(1).scaleb(-places)
    found = [
        dict(zip(row, shown(list(row.values()), places=places, total=total), strict=True))
        for row, total in zip(rows, totals, strict=True)
    ]
    columns = sorted({name for row in rows for name in row})
    wanted = shown(
        [_sum(rows, name) for name in columns], places=places, total=sum(totals, Decimal(0))
    )
    off = {
        name: int((_sum(found, name) - target) / unit)
        for name, target in zip(columns, wanted, strict=True)
    }
    stuck: set[str] = set()
    while over := [name for name in columns if off[name] > 0 and name not in stuck]:
        path = _path(rows, found, off, over[0])
        if not path:
            stuck.add(over[0])
            continue
        for at, giver, taker in path:
            found[at][giver] -= unit
            found[at][taker] += unit
        off[path[0][1]] -= 1
        off[path[-1][2]] += 1
    return found


def _sum(rows: Sequence[_Row], column: str) -> Decimal:
    return sum((row[column] for row in rows if column in row), Decimal(0))


def _path(
    rows: Sequence[_Row], found: Sequence[_Row], off: Mapping[str, int], start: str
) -> list[tuple[int, str, str]]:
    """The fewest moves (row, from, to) of a unit from a column to one that has too little."""
    came: dict[str, tuple[int, str, str]] = {}
    left = deque([start])
    while left:
        here = left.popleft()
        for there in sorted(off):
            at = None
            if there != start and there not in came:
                at = _row(rows, found, here, there)
            if at is None:
                continue
            came[there] = (at, here, there)
            if off[there] < 0:
                return _steps(came, there, start)
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
            gain = (cells[giver] - row[giver]) + (row[taker] - cells[taker])
            if best is None or gain > best[0]:
                best = (gain, at)
    return None if best is None else best[1]


def _steps(
    came: Mapping[str, tuple[int, str, str]], end: str, start: str
) -> list[tuple[int, str, str]]:
    path: list[tuple[int, str, str]] = []
    here = end
    while here != start:
        path.append(came[here])
        here = came[here][1]
    return path[::-1]
