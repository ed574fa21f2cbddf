"""Reading what was published: the questions of `report`, `doctor` and `explain`, and readers' SQL.

A question is one SELECT in pipelines/questions/, over published tables, with `$name` where a value
goes; a table that the written report has too is asked by its SELECT in reports/questions/. All run
in the sandbox of warehouse.query, as a reader's own SQL does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipelines.config import Config
from pipelines.months import unit_key
from pipelines.warned import warned
from reports import listing
from reports.listing import Cut
from reports.warned import Warned
from warehouse import header, sqltypes
from warehouse.contracts import LANDING, Column, Contract
from warehouse.errors import StoreError
from warehouse.query import run_query
from warehouse.shipped import MODELS
from warehouse.store import Store

#: More rows than there are: a table that is shown whole.
_ALL = 2**62
QUESTIONS = Path(__file__).resolve().parent / "questions"

Row = dict[str, Any]
Value = str | int | date | Decimal | None


def contracts() -> dict[str, Contract]:
    """Every published table: what has landed, then marts and reports.

    Marts are described by their headers alone. Parsing all their SQL, as a run does, takes longer
    than most questions.
    """
    found = dict(LANDING)
    for layer in ("marts", "reports"):
        for path in sorted((MODELS / "sql" / layer).glob("*.sql")):
            lines, _ = header.split(path.read_text(encoding="utf-8"), path)
            head = header.parse(lines, path)
            columns = tuple(
                Column(c.name, sqltypes.arrow_type(c.type), c.unit, c.meaning) for c in head.columns
            )
            order = head.order + tuple(key for key in head.keys if key not in head.order)
            found[path.stem] = Contract(
                path.stem, head.version, head.grain, head.keys, order, columns
            )
    return found


class Published:
    """The published tables of a configuration's warehouse, as they are at the first question."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.store = Store(config.root)
        self.contracts = contracts()

    @cached_property
    def months(self) -> list[date]:
        """First days of the months that are published, in order; from the store alone."""
        units = self.store.units("mart").values()
        return sorted(date.fromisoformat(f"{unit.meta['month']}-01") for unit in units)

    def month(self, wanted: date | None) -> date:
        """The month that is asked for, else the latest; StoreError where it is not published."""
        if not self.months:
            raise StoreError(
                f"{self.store.root}: no month is published there. Run `plumbline run`; if it ran, "
                "no bill line has landed: see `plumbline doctor`."
            )
        if wanted is None:
            return self.months[-1]
        if wanted not in self.months:
            there = ", ".join(f"{month:%Y-%m}" for month in self.months)
            raise StoreError(
                f"{wanted:%Y-%m} is not published; published are {there}. Run "
                f"`plumbline run --month {wanted:%Y-%m}`."
            )
        return wanted

    def warned(self, month: date) -> list[Warned]:
        """The checks that warned when a month was published."""
        return warned(self.store.units("mart")[unit_key(month)])

    def query(
        self, sql: str, *, only: Iterable[str] | None = None, timeout_s: float | None = None
    ) -> pa.Table:
        """The result of a reader's SQL; QueryRefused where it asks for more than these tables.

        `only` binds no other tables, which is quicker.
        """
        names = list(self.contracts if only is None else only)
        return run_query(
            {name: self._paths(name) for name in names},
            {name: self.contracts[name].schema for name in names},
            sql, memory_limit=self.config.memory_limit, timeout_s=timeout_s,
        )  # fmt: skip

    def ask(self, question: str, **values: Value) -> list[Row]:
        """The rows of a question of pipelines/questions/; KeyError where a value is not given."""
        sql, tables = filled((QUESTIONS / f"{question}.sql").read_text(encoding="utf-8"), values)
        rows: list[Row] = self.query(sql, only=tables).to_pylist()
        return rows

    def listed(self, table: str, month: date, *, first: int = _ALL) -> Cut:
        """The first rows of a table of the report (reports/questions/), and how many there are."""
        query = listing.filled(table, {"month": month})
        return listing.read_listing(self, query, first=first).whole

    def _paths(self, table: str) -> Sequence[str]:
        return [self.store.path(entry) for entry in self.store.files(table)]


def filled(sql: str, values: dict[str, Value]) -> tuple[str, list[str]]:
    """The SQL with its values as literals, and the tables that it reads."""
    import sqlglot
    from sqlglot import exp

    from warehouse.models import tables

    query = sqlglot.parse_one(sql, read="duckdb")
    read = sorted({table.name for table in tables(query)})
    for place in list(query.find_all(exp.Placeholder)):
        value = values[place.name]
        # The syntax tree quotes it: a name can never become SQL.
        place.replace(exp.null() if value is None else exp.convert(value))
    return query.sql("duckdb"), read
