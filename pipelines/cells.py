"""Cells that tables of several modules share: a job's name, dollars, how many rows are left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from rich.text import Text

from pipelines.published import Row
from pipelines.terminal import usd
from reports.rounding import rounded


def job(row: Row) -> str | None:
    """The job of a row, None where it has none."""
    return None if row["job_id"] is None else f"{row['cluster']}/{row['job_id']}"


def attempt(row: Row) -> str | None:
    """The job and the attempt of a row, None where it has none."""
    return None if row["job_id"] is None else f"{job(row)} attempt {row['attempt']}"


def dollars(value: Decimal | None, places: int) -> str:
    """Dollars rounded to so many places; a dash where there are none."""
    return usd(None if value is None else rounded(value, places=places))


def more(rows: Sequence[Row], top: int) -> Iterator[Text]:
    """How to see the rows that are left out; `row_count` of a row says how many there are."""
    if rows and rows[0]["row_count"] > top:
        count = rows[0]["row_count"]
        yield Text(f"{top:,} of {count:,} rows; all: --top {count}")
