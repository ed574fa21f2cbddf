"""Asking one question of pipelines/questions over rows that stand in the test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from pipelines.published import QUESTIONS, Row, Value, contracts, filled

Rows = Sequence[Mapping[str, Any]]


def asked(question: str, tables: Mapping[str, Rows], **values: Value) -> list[Row]:
    """The rows of a question; columns that a row leaves out are null, tables without rows empty."""
    sql, names = filled((QUESTIONS / f"{question}.sql").read_text(encoding="utf-8"), values)
    assert set(tables) <= set(names)
    known = contracts()
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for name in names:
            rows = [dict(row) for row in tables.get(name, ())]
            unknown = {key for row in rows for key in row} - set(known[name].schema.names)
            assert unknown == set(), f"{name} has no {unknown}"
            table = pa.Table.from_pylist(rows, schema=_nullable(known[name].schema))
            connection.register(name, table)
        found: list[Row] = connection.sql(sql).to_arrow_table().to_pylist()
        return found


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, field.type) for field in schema])
