"""A published warehouse as its readers see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

NS = 1_000_000_000


def quiet(_: str) -> None:
    """No progress."""


class Published:
    """A published warehouse, read as a BI tool does: through the catalog file."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with duckdb.connect(str(self.root / "plumbline.duckdb"), read_only=True) as connection:
            connection.execute("set timezone = 'UTC'")
            cursor = connection.execute(sql)
            names = [column[0] for column in cursor.description or []]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def seconds(self, job_id: str, *, attempt: int = 0) -> dict[str, float]:
        """Seconds by level-1 bucket of one attempt, over its GPUs."""
        return {
            row["level1"]: row["ns"] / NS
            for row in self.rows(
                f"""
                select level1, sum(gpu_ns) as ns from gpu_hour_state
                where job_id = '{job_id}' and attempt = {attempt} group by level1
                """
            )
        }


def snapshot(root: Path) -> dict[str, bytes]:
    """Every published byte below a warehouse."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.relative_to(root).as_posix().startswith(".")
    }
