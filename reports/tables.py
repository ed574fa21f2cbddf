"""From rows to the tables of a page: cells cut under their total, and the rest of a long list."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from reports import amounts
from reports.data import Data
from reports.listing import Cut, Row
from reports.names import file_name
from reports.page import Cell, Head, Origin, Table
from reports.rounding import rounded
from reports.specs import SPECS, Col, Spec

_UNITS = {
    "usd": "USD", "usd_bounds": "USD", "hours": "GPU-h", "seconds": "GPU-s", "ms": "ms",
    "percent": "%", "kwh": "kWh", "bounds": "GPU-h", "exact": "USD",
}  # fmt: skip
_NUMERIC = {*_UNITS, "factor", "count"}
_SCALE = {"hours": amounts.HOUR_NS, "seconds": amounts.SECOND_NS}
#: Decimal places of GPU-seconds.
SECOND_PLACES = 3

#: The cells of a summed column (as it stands in Spec.columns) for the rows, the rest and the total.
Given = Mapping[str, Sequence[Decimal | None]]


def build(
    data: Data, name: str, team: str | None = None, *, cut: Cut | None = None,
    given: Given | None = None, caption: str = "", called: str = "",
) -> Table:  # fmt: skip
    """A table of the report, over all teams or of one.

    `given` has the shown values of columns that are cut under totals of other tables: one for each
    row, then (where rows are hidden) the rest. `called` is its name on a page that has two of them.
    """
    spec = SPECS[name]
    cut = data.cut(name, team) if cut is None else cut
    columns = [col for col in spec.columns if team is None or col.key != "team"]
    sums = {
        col.key: (given or {}).get(col.key) or summed(data, col, cut)
        for col in columns if col.summed
    }  # fmt: skip
    rows = [
        [_cell(data, col, row, sums[col.key][at] if col.summed else None) for col in columns]
        for at, row in enumerate(cut.rows)
    ]
    rest = total = None
    if cut.hidden:
        rest = _sum_row(columns, {key: cells[-1] for key, cells in sums.items()})
        rest[0] = Cell(f"and {cut.hidden:,} more")
    if sums and cut.count > 1:
        total = _sum_row(
            columns, {k: sum((v or Decimal(0) for v in c), Decimal(0)) for k, c in sums.items()}
        )
        total[0] = Cell("all")
    return Table(
        called or name, caption or spec.caption, [_head(col) for col in columns], rows, rest, total,
        _origin(data, name, team, spec, "" if called else f"csv/{name}.csv"), spec.empty, cut.count,
    )  # fmt: skip


def summed(data: Data, col: Col, cut: Cut) -> list[Decimal | None]:
    """The shown values of a column's rows, then of the rest where rows are hidden."""
    values: list[Decimal | None] = [row[col.key] for row in cut.rows]
    if cut.hidden:
        values.append(cut.rests[col.key])
    if col.kind == "usd":
        return amounts.under(values, data.money.places)
    if col.kind == "count":
        return [None if value is None else Decimal(value) for value in values]
    places = data.money.hour_places if col.kind == "hours" else SECOND_PLACES
    return amounts.under(
        [None if v is None else Decimal(v) / _SCALE[col.kind] for v in values], places
    )


def _head(col: Col) -> Head:
    return Head(col.head, _UNITS.get(col.kind, ""), col.kind in _NUMERIC, col.summed, col.meaning)


def _origin(data: Data, name: str, team: str | None, spec: Spec, file: str) -> Origin:
    return Origin(spec.mart, data.sql(name, team), spec.evidence, file)


def _sum_row(columns: Sequence[Col], sums: Mapping[str, Decimal | None]) -> list[Cell]:
    return [
        Cell(amounts.count(sums[c.key]) if c.kind == "count" else amounts.amount(sums[c.key]))
        if c.summed else Cell("")
        for c in columns
    ]  # fmt: skip


def _cell(data: Data, col: Col, row: Row, shown: Decimal | None) -> Cell:
    value = row[col.key]
    if col.summed:
        return Cell(amounts.count(shown) if col.kind == "count" else amounts.amount(shown))
    if col.kind in _FORMATS:
        return Cell(_FORMATS[col.kind](value))
    if col.kind in _COMPOSED:
        return _COMPOSED[col.kind](data, row)
    if value is None:
        return Cell(amounts.MISSING)
    if col.kind in ("class", "part"):
        return Cell(str(value), key=str(value))
    if col.kind == "team":
        return team_cell(data, str(value))
    if col.kind == "gpu":
        return Cell(gpu(str(value)), title=str(value))
    return Cell(str(value), name=col.kind == "name")


def team_cell(data: Data, team: str) -> Cell:
    """A team's name, which leads to its page where it has one."""
    link = f"teams/{file_name(team)}.html" if team in data.money.usd else ""
    return Cell(team, name=True, link=link)


def _job(_: Data, row: Row) -> Cell:
    if row["job_id"] is None:
        return Cell(amounts.MISSING)
    return Cell(job_name(row), name=True)


def job_name(row: Row) -> str:
    """A job as it is called: cluster/job, with its attempt where that is not the first."""
    attempt = row.get("attempt")
    return f"{row['cluster']}/{row['job_id']}" + (f" #{attempt}" if attempt else "")


def gpu(uuid: str) -> str:
    """The part of a UUID that people tell GPUs apart by."""
    return uuid[:12] if uuid.startswith("GPU-") else uuid


def _bounds(_: Data, row: Row) -> Cell:
    low, high = row["low_gpu_hours"], row["high_gpu_hours"]
    return Cell("" if low == high else f"{rounded(low, places=4):,} to {rounded(high, places=4):,}")


def _usd_bounds(data: Data, row: Row) -> Cell:
    low, high = (rounded(row[key], places=data.money.places) for key in ("low_usd", "high_usd"))
    return Cell("" if low == high else f"{low:,} to {high:,}")


def _flag(value: bool | None) -> str:
    return amounts.MISSING if value is None else "yes" if value else "no"


def _seconds(value: Decimal | int | None) -> str:
    if value is None:
        return amounts.MISSING
    return f"{rounded(Decimal(value).scaleb(-9), places=SECOND_PLACES):,}"


def _hours(value: Decimal | int | None) -> str:
    return amounts.MISSING if value is None else f"{rounded(Decimal(value) / amounts.HOUR_NS):,}"


def _kwh(value: float | None) -> str:
    return amounts.MISSING if value is None else f"{value:,.3f}"


_FORMATS: dict[str, Callable[[Any], str]] = {
    "percent": amounts.percent, "factor": amounts.factor, "count": amounts.count,
    "ms": amounts.milliseconds, "instant": amounts.instant, "exact": amounts.exact,
    "flag": _flag, "seconds": _seconds, "hours": _hours, "kwh": _kwh,
}  # fmt: skip
_COMPOSED: dict[str, Callable[[Data, Row], Cell]] = {
    "job": _job, "bounds": _bounds, "usd_bounds": _usd_bounds,
}  # fmt: skip
