"""A month of many teams and jobs, as published tables: made by SQL, consistent in its sums."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tests.reports.marts import Marts

_SQL = Path(__file__).resolve().parent / "fleet.sql"


def fleet(folder: Path, *, teams: int, jobs: int) -> Marts:
    """Publish a month of so many teams and jobs; one job in twenty is traced, on two ranks."""
    marts = Marts(folder)
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        text = _SQL.read_text(encoding="utf-8")
        for statement in text.replace("$teams", str(teams)).replace("$jobs", str(jobs)).split(";"):
            if statement.strip():
                connection.execute(statement)
        for (name,) in connection.execute(
            "select view_name from duckdb_views() where not internal and schema_name = 'main'"
        ).fetchall():
            marts.put_table(name, connection.table(name).to_arrow_table())
    return marts
