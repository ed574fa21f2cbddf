"""All that a report reads, each table once for all its pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import cache, cached_property

import pyarrow as pa
from sqlglot import exp

from reports.amounts import dollar_places, hour_places
from reports.listing import (
    Cut,
    Listing,
    Reader,
    Row,
    Value,
    filled,
    literal,
    read_all,
    read_listing,
)
from reports.margins import two_way
from reports.rounding import shown
from reports.specs import FILES, SPECS
from reports.warned import Warned
from reports.words import CLASSES

_HOUR_NS = 3_600_000_000_000
#: Stands for a team in a text that is made once for all of them.
_TEAM = "{team}"


class Data:
    """A month's published tables, as questions; read at the first use and kept."""

    def __init__(
        self, reader: Reader, month: date, previous: date | None, warnings: Sequence[Warned] = ()
    ) -> None:
        """`previous` is the month to compare with, None where none is published; `warnings` are
        the checks that warned when the month was."""
        self.month, self.previous, self.warnings = month, previous, warnings
        self._reader = reader
        self._values: Mapping[str, Value] = {"month": month, "previous": previous}
        self._listings: dict[str, Listing] = {}
        self._texts: dict[tuple[str, bool], str] = {}

    def query(self, name: str, team: str | None = None) -> exp.Select:
        """A table's SELECT over the published tables, for a team or all."""
        return filled(name, self._values, team)

    def sql(self, name: str, team: str | None = None) -> str:
        """A table's SELECT as text that people can read and run again, for a team or all."""
        key = (name, team is not None)
        if key not in self._texts:
            query = self.query(name, None if team is None else _TEAM)
            self._texts[key] = query.sql("duckdb", pretty=True, comments=False)
        return self._texts[key].replace(f"'{_TEAM}'", _literal(team))

    def listing(self, name: str) -> Listing:
        """A table's first rows, over all teams and of each."""
        if name not in self._listings:
            spec = SPECS[name]
            self._listings[name] = read_listing(
                self._reader, self.query(name), first=spec.first, first_of_team=spec.first_of_team
            )
        return self._listings[name]

    def cut(self, name: str, team: str | None = None) -> Cut:
        """A table's first rows, of one team or over all."""
        return self.listing(name).cut(team)

    def everything(self, name: str, team: str | None = None) -> pa.Table:
        """All rows of a table."""
        return read_all(self._reader, self.query(name, team))

    def files(self, team: str | None) -> list[str]:
        """The tables that a report gives whole; a team's report has those that are cut by team."""
        return [
            name
            for name in FILES
            if (name != "changes" or self.previous is not None)
            and (team is None or SPECS[name].first_of_team is not None)
        ]

    @cached_property
    def money(self) -> Money:
        """What is shown of the bill, cut from the total down."""
        return Money(self)


class Money:
    """Dollars and GPU-hours as they are shown: the month, its teams, their classes and buckets.

    Each is cut under the one above it, so that what stands on a page adds up.
    """

    def __init__(self, data: Data) -> None:
        showback = data.cut("showback")
        totals = showback.totals
        self.places = dollar_places(totals.get("billed_usd", Decimal(0)))
        self.hour_places = hour_places(totals.get("gpu_ns", Decimal(0)))
        self.teams = [row["team"] for row in showback.rows]
        self.usd = dict(zip(self.teams, self._usd(showback.rows), strict=True))
        self.hours = dict(zip(self.teams, self._hours(showback.rows), strict=True))
        self.billed = dict(zip(self.teams, self._usd(showback.rows, "billed_usd"), strict=True))
        self.classes = self._classes(data)
        self._totals: dict[str | None, dict[str, tuple[Decimal, Decimal]]] = {}

    def _classes(self, data: Data) -> dict[tuple[str, str], tuple[Decimal, Decimal]]:
        """USD and GPU-hours by team and class: they add up to the teams, and to the classes."""
        rows = [
            sorted(data.cut("team_classes", team).rows, key=_class_order) for team in self.teams
        ]
        usd = two_way(
            [{row["waste_class"]: row["effective_usd"] for row in own} for own in rows],
            [self.usd[team] for team in self.teams], places=self.places,
        )  # fmt: skip
        hours = two_way(
            [{row["waste_class"]: Decimal(row["gpu_ns"]) / _HOUR_NS for row in own}
             for own in rows],
            [self.hours[team] for team in self.teams], places=self.hour_places,
        )  # fmt: skip
        return {
            (team, name): (usd[at][name], hours[at][name])
            for at, team in enumerate(self.teams)
            for name in usd[at]
        }

    def class_totals(self, team: str | None = None) -> dict[str, tuple[Decimal, Decimal]]:
        """USD and GPU-hours by class, over all teams or of one, in the order of words.CLASSES."""
        if not self._totals:
            self._add_up()
        return self._totals.get(team, {})

    def _add_up(self) -> None:
        for (owner, name), (usd, hours) in self.classes.items():
            for team in (None, owner):
                totals = self._totals.setdefault(team, {})
                before = totals.get(name, (Decimal(0), Decimal(0)))
                totals[name] = (before[0] + usd, before[1] + hours)
        for team, totals in self._totals.items():
            self._totals[team] = {name: totals[name] for name in sorted(totals, key=_order)}

    def under_classes(self, rows: Sequence[Row], team: str | None) -> list[tuple[Decimal, Decimal]]:
        """USD and GPU-hours of rows of buckets, under the classes of a team or of all."""
        found: dict[int, tuple[Decimal, Decimal]] = {}
        for name, (usd, hours) in self.class_totals(team).items():
            at = [i for i, row in enumerate(rows) if row["waste_class"] == name]
            cells = self.under([rows[i] for i in at], usd, hours)
            found.update(zip(at, cells, strict=True))
        return [found[i] for i in range(len(rows))]

    def under(
        self, rows: Sequence[Row], usd: Decimal, hours: Decimal
    ) -> list[tuple[Decimal, Decimal]]:
        """USD and GPU-hours of rows that add up to these."""
        return list(zip(self._usd(rows, total=usd), self._hours(rows, total=hours), strict=True))

    def parts(self, rows: Sequence[Row]) -> dict[str, list[Decimal | None]]:
        """What each row of showback consists of: a line's parts add up to what is billed."""
        names = ("direct_usd", "shared_usd", "tax_usd", "credit_usd")
        split = [
            _under([row[name] for name in names], self.places, self.billed[row["team"]])
            for row in rows
        ]
        return {name: [cells[at] for cells in split] for at, name in enumerate(names)}

    def _usd(
        self, rows: Sequence[Row], key: str = "effective_usd", total: Decimal | None = None
    ) -> list[Decimal]:
        return _under([row[key] for row in rows], self.places, total)

    def _hours(self, rows: Sequence[Row], total: Decimal | None = None) -> list[Decimal]:
        parts = [Decimal(row["gpu_ns"]) / _HOUR_NS for row in rows]
        return _under(parts, self.hour_places, total)


@cache
def _literal(team: str | None) -> str:
    return literal(team).sql("duckdb")


def _under(parts: list[Decimal], places: int, total: Decimal | None) -> list[Decimal]:
    try:
        return shown(parts, places=places, total=total)
    except ValueError:
        # A class whose only teams had to round one way; the largest part takes what is missing.
        cells = shown(parts, places=places)
        largest = max(range(len(parts)), key=lambda at: abs(parts[at]))
        cells[largest] += (total or Decimal(0)) - sum(cells, Decimal(0))
        return cells


def _class_order(row: Row) -> tuple[int, str]:
    return _order(row["waste_class"])


def _order(name: str) -> tuple[int, str]:
    names = list(CLASSES)
    return (names.index(name) if name in CLASSES else len(names), name)
