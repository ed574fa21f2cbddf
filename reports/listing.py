"""Asking the published tables: each table of a report is one SELECT in reports/questions/.

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

QUESTIONS = Path(__file__).resolve().parent / "questions"
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
    return (QUESTIONS / f"{name}.sql").read_text(encoding="utf-8")


def filled(name: str, values: Mapping[str, Value], team: str | None = None) -> exp.Select:
    """A table's SELECT with its values as literals, for one team or all; KeyError without a value.

    A value is put in as a literal of the syntax tree, so that a name can never become SQL.
    """
    query = _parsed(name).copy()
    for place in list(query.find_all(exp.Placeholder)):
        place.replace(literal(values[place.name]))
    if team is not None:
        column = next(c for c in query.selects if c.alias_or_name == "team")
        query = query.where(exp.EQ(this=column.unalias().copy(), expression=literal(team)))
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
    cuts = {"whole": (first, "")}
    if first_of_team is not None:
        cuts["team"] = (first_of_team, "partition by team")
    summed = _summed(query)
    found = reader.query(_bounded(query, summed, cuts), only=_tables(query))
    rows = found.select(query.named_selects).to_pylist()
    whole = [at for at, place in enumerate(found.column("whole_at").to_pylist()) if place <= first]
    teams: dict[str, list[int]] = {}
    if first_of_team is not None:
        for at, place in enumerate(found.column("team_at").to_pylist()):
            if rows[at]["team"] is not None and place <= first_of_team:
                teams.setdefault(rows[at]["team"], []).append(at)
    # All rows of a cut carry its sums: they are read once for each.
    heads = found.take(pa.array([members[0] for members in teams.values()], pa.int64()))
    own = zip(_sums(heads, "team", summed), teams.items(), strict=True) if teams else []
    return Listing(
        Cut([rows[at] for at in whole], *_sums(found.take(whole[:1]), "whole", summed)[0])
        if whole else Cut(),
        {team: Cut([rows[at] for at in members], *sums) for sums, (team, members) in own},
    )  # fmt: skip


def _sums(
    heads: pa.Table, cut: str, summed: Iterable[str]
) -> list[tuple[int, dict[str, Decimal], dict[str, Decimal]]]:
    """The number of rows, the totals and the rests of each cut, by a row of it."""
    columns = [f"{cut}_{which}_{name}" for which in ("total", "rest") for name in summed]
    return [
        (
            row[f"{cut}_count"],
            {name: row[f"{cut}_total_{name}"] or Decimal(0) for name in summed},
            {name: row[f"{cut}_rest_{name}"] or Decimal(0) for name in summed},
        )
        for row in heads.select([f"{cut}_count", *columns]).to_pylist()
    ]


@cache
def _parsed(name: str) -> exp.Select:
    return sqlglot.parse_one(question(name), read="duckdb", into=exp.Select)


def literal(value: Value) -> exp.Expr:
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


def _bounded(
    query: exp.Select, summed: Mapping[str, str], cuts: Mapping[str, tuple[int, str]]
) -> str:
    """The SELECT's rows with their place, and what all rows and the hidden ones add up to.

    It holds no value but the numbers of rows: those of the inner SELECT are in it already.
    """
    inner = query.copy()
    order = inner.args["order"].sql("duckdb")
    inner.set("order", None)
    places = (f"row_number() over ({part} {order}) as {cut}_at" for cut, (_, part) in cuts.items())
    sums = []
    for cut, (bound, part) in cuts.items():
        sums.append(f"count(*) over ({part}) as {cut}_count")
        for column, kind in summed.items():
            hidden = f'case when {cut}_at > {bound} then "{column}" end'
            sums += [
                f'cast(sum("{column}") over ({part}) as {kind}) as "{cut}_total_{column}"',
                f'cast(sum({hidden}) over ({part}) as {kind}) as "{cut}_rest_{column}"',
            ]
    shown = " or ".join(f"{cut}_at <= {bound}" for cut, (bound, _) in cuts.items())
    return (
        f"with listed as ({plain_sql(inner)}), "  # noqa: S608 - see above
        f"ranked as (select *, {', '.join(places)} from listed), "
        f"totals as (select *, {', '.join(sums)} from ranked) "
        f"select * from totals where {shown} order by whole_at"
    )


def _summed(query: exp.Select) -> dict[str, str]:
    """The columns that are added up, with the type of their sum."""
    return {
        name: kind
        for name in query.named_selects
        for end, kind in _SUMMED.items()
        if name.endswith(end)
    }
