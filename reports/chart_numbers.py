"""The numbers of a chart as a table, for those who do not see it."""

from __future__ import annotations

from typing import Any

from reports import words
from reports.amounts import MISSING
from reports.page import Cell, Figure, Head, Table

#: Per kind of chart: head and field of a row's name, field of its value, unit, decimal places.
_KINDS = {
    "waterfall": ("part", "label", "text", "USD", 0),
    "team_bars": ("team", "label", "value", "USD", 4),
    "kernel_bars": ("kernel", "label", "value", "USD", 4),
    "split_bars": ("team", "label", "value", "GPU-h", 4),
    "ladder": ("job", "label", "percent", "%", 2),
    "rank_bars": ("rank", "label", "ms", "ms", 3),
    "traced_steps": ("step", "step", "ms", "ms", 3),
    "logged_steps": ("from step", "step", "ms", "ms", 3),
}
_RUNGS = {key: name for key, (name, _) in words.RUNGS.items()}


def numbers(figure: Figure) -> Table:
    """A row for each bar, line or step of the chart, a column for each colour."""
    head, index, value, unit, places = _KINDS[figure.drawing.kind]
    pivoted = figure.drawing.kind not in ("waterfall", "logged_steps")
    keys: list[str] = []
    rows: dict[Any, dict[str, str]] = {}
    for row in figure.drawing.rows:
        key = row["key"] if pivoted else "value"
        if key not in keys:
            keys.append(key)
        shown = row[value] if isinstance(row[value], str) else f"{row[value]:,.{places}f}"
        rows.setdefault(row[index], {})[key] = shown
    heads = [Head(head), *(Head(_word(key), unit, numeric=True) for key in keys)]
    return Table(
        f"{figure.name}-numbers", figure.drawing.title, heads,
        [[Cell(str(name)), *(Cell(cells.get(key, MISSING)) for key in keys)]
         for name, cells in rows.items()],
        count=len(rows),
    )  # fmt: skip


def _word(key: str) -> str:
    return _RUNGS.get(key, key.replace("_", " "))
