"""Asking the published tables: each table of a report is one SELECT in reports/tables/.

The file gives all rows in reading order, for CSV, XLSX and whoever asks again with `plumbline sql`.
A page shows the first of them; how many are left and what they add up to is asked with them, so
that nothing is added up here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import sqlglot
from sqlglot import exp

from reports.names import is_unsafe

TABLES = Path(__file__).resolve().parent / "tables"
#: Columns that a total is asked for end so.
_SUMMED = {"_usd": "decimal(38, 12)", "_ns": "decimal(38, 0)", "_count": "decimal(38, 0)",
            "_lines": "decimal(38, 0)"}  # fmt: skip

Row = dict[str, Any]
Value = str | date | None


class Reader(Protocol):
    """Whoever can run one SELECT over the published tables, bound as far as `only` says."""

    def query(self, sql: str, *, only: Iterable[str] | None = None) -> pa.Table:
        """The whole result."""
        ...


@dataclass(frozen=True)
class Cut:
    """The first rows of a table, or of one team's part of it.

    `count` is the number of all rows; `totals` are sums over all rows, `rests` over those that are
    not among `rows`, each by column.
    """

    rows: Sequence[Row] = ()
    count: int = 0
    totals: Mapping[str, Decimal] = field(default_factory=dict)
    rests: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def hidden(self) -> int:
        """How many rows are not among `rows`."""
        return self.count - len(self.rows)


@dataclass(frozen=True)
class Listing:
    """A table's first rows over all teams, and each team's own first rows."""

    whole: Cut
    by_team: Mapping[str, Cut]

    def cut(self, team: str | None) -> Cut:
        """The whole, or one team's part."""
        return self.whole if team is None else self.by_team.get(team, Cut())


def question(name: str) -> str:
    """The text of a table's SELECT, with `$month` and the like where values go."""
    return (TABLES / f"{name}.sql").read_text(encoding="utf-8")


def filled(name: str, values: Mapping[str, Value], team: str | None = None) -> exp.Select:
    """A table's SELECT with its values as literals, for one team or all; KeyError without a value.

    A value is put in as a literal of the syntax tree, so that a name can never become SQL.
    """
    query = _parsed(name).copy()
    for place in list(query.find_all(exp.Placeholder)):
        place.replace(_literal(values[place.name]))
    if team is not None:
        column = next(c for c in query.selects if c.alias_or_name == "team")
        query = query.where(exp.EQ(this=column.unalias().copy(), expression=_literal(team)))
    return query


def plain_sql(query: exp.Select) -> str:
    """The SELECT as one line that `plumbline sql` takes."""
    return query.sql("duckdb", comments=False)


def read_all(reader: Reader, query: exp.Select) -> pa.Table:
    """All rows of a SELECT, in its order."""
    return reader.query(plain_sql(query), only=_tables(query))


def read_listing(
    reader: Reader, query: exp.Select, *, first: int, first_of_team: int | None = None
) -> Listing:
    """The first rows of a SELECT and, where a number is given for it, of each team's part."""
    bounded = _bounded(query, first, first_of_team)
    rows = reader.query(bounded.sql("duckdb", comments=False), only=_tables(query)).to_pylist()
    whole = _cut([row for row in rows if row["whole_at"] <= first], "whole", query)
    teams: dict[str, list[Row]] = {}
    if first_of_team is not None:
        for row in rows:
            if row["team"] is not None and row["team_at"] <= first_of_team:
                teams.setdefault(row["team"], []).append(row)
    return Listing(whole, {team: _cut(own, "team", query) for team, own in teams.items()})


@cache
def _parsed(name: str) -> exp.Select:
    return sqlglot.parse_one(question(name), read="duckdb", into=exp.Select)


def _literal(value: Value) -> exp.Expr:
    """The value as SQL; characters that would not survive being shown are given by number."""
    if value is None:
        return exp.Null()
    if not isinstance(value, str) or not any(map(is_unsafe, value)):
        return exp.convert(value)
    parts: list[exp.Expr] = []
    for unsafe, units in groupby(value, is_unsafe):
        text = "".join(units)
        parts += (
            [exp.func("chr", exp.convert(ord(unit))) for unit in text]
            if unsafe
            else [exp.convert(text)]
        )
    return exp.func("concat", *parts, dialect="duckdb")


def _tables(query: exp.Select) -> list[str]:
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    return sorted({table.name for table in query.find_all(exp.Table)} - ctes)


def _bounded(query: exp.Select, first: int, first_of_team: int | None) -> exp.Select:
    """The SELECT's rows with their place, and what all rows and the hidden ones add up to."""
    inner = query.copy()
    order = inner.args["order"]
    inner.set("order", None)
    cuts = {"whole": (first, "")}
    if first_of_team is not None:
        cuts["team"] = (first_of_team, "partition by team ")
    ranked = exp.select("*", *(
        f"row_number() over ({part}{order.sql('duckdb')}) as {name}_at"
        for name, (_, part) in cuts.items()
    )).from_(inner.subquery("listed"))  # fmt: skip
    sums = []
    for name, (bound, part) in cuts.items():
        over = f"over ({part.strip()})"
        sums.append(f"count(*) {over} as {name}_count")
        for column, kind in _summed(query).items():
            hidden = f'case when {name}_at > {bound} then "{column}" end'
            sums += [
                f'cast(sum("{column}") {over} as {kind}) as "{name}_total_{column}"',
                f'cast(sum({hidden}) {over} as {kind}) as "{name}_rest_{column}"',
            ]
    shown = " or ".join(f"{name}_at <= {bound}" for name, (bound, _) in cuts.items())
    totals = exp.select("*", *sums).from_(ranked.subquery("ranked"))
    return exp.select("*").from_(totals.subquery("totals")).where(shown).order_by("whole_at")


def _summed(query: exp.Select) -> dict[str, str]:
    """The columns that are added up, with the type of their sum."""
    return {
        name: kind
        for name in query.named_selects
        for end, kind in _SUMMED.items()
        if name.endswith(end)
    }


def _cut(rows: list[Row], name: str, query: exp.Select) -> Cut:
    if not rows:
        return Cut()
    sums = {
        which: {c: rows[0][f"{name}_{which}_{c}"] or Decimal(0) for c in _summed(query)}
        for which in ("total", "rest")
    }
    columns = query.named_selects
    own = [{column: row[column] for column in columns} for row in rows]
    return Cut(own, rows[0][f"{name}_count"], sums["total"], sums["rest"])
