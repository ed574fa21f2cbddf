"""Hand-kept CSVs (inventory, team map): a header with a contract's column names, checked values.

An empty cell is null. Times are ISO 8601 with a zone: such a file is kept by people in some time
zone, and a silent one would move intervals by hours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ingest.text import parse_time, records
from warehouse.contracts import SourceFile
from warehouse.errors import SourceError


class BadRow(Exception):
    """A row cannot be read; the text says what was found and what is expected."""


class Row(NamedTuple):
    """One row: its cells by column, or the fault for which it has none."""

    line: int
    cells: dict[str, str | None]
    raw: str
    fault: str


def rows(file: SourceFile, required: tuple[str, ...], *, what: str) -> Iterator[Row]:
    """Yield a file's rows by column name.

    Raises SourceError where the header lacks a column of `required`: a column that is misspelt
    must not read as null. Other columns may be absent, and unknown ones are passed over.
    """
    reading = records(file)
    first = next(reading, None)
    names = [] if first is None else [cell.strip() for cell in first.cells]
    missing = [name for name in required if name not in names]
    twice = sorted(name for name, times in Counter(names).items() if times > 1 and name)
    if missing or twice:
        found = f"has no column {', '.join(missing)}" if missing else f"has two {twice[0]}"
        raise SourceError(
            file.name, found, expected=f"{what} with the header {','.join(required)}",
            todo="Write that header; leave a cell empty where nothing is known.",
        )  # fmt: skip
    for record in reading:
        cells = {} if record.fault else dict(zip(names, record.cells, strict=True))
        stripped = {name: cell.strip() or None for name, cell in cells.items()}
        yield Row(record.line, stripped, record.raw, record.fault)


def text(row: Row, name: str) -> str:
    """A cell that must not be empty; BadRow where it is."""
    value = row.cells.get(name)
    if value is None:
        raise BadRow(f"{name} is empty; expected a value")
    return value


def time(row: Row, name: str) -> datetime | None:
    """A time with its zone, as UTC; None where the cell is empty; BadRow where it is none."""
    value = row.cells.get(name)
    if value is None:
        return None
    try:
        return parse_time(value)
    except ValueError as error:
        raise BadRow(f"{name}: {error}") from None


def interval(row: Row, start: str, end: str) -> tuple[datetime, datetime | None]:
    """A half-open interval whose end may be open; BadRow where it has no start or no length."""
    first, last = time(row, start), time(row, end)
    if first is None:
        raise BadRow(f"{start} is empty; expected a time such as 2026-11-30T21:30:00Z")
    if last is not None and last <= first:
        raise BadRow(f"{end} {last} is not after {start} {first}")
    return first, last


def overlaps(
    one: tuple[datetime, datetime | None], other: tuple[datetime, datetime | None]
) -> bool:
    """Whether two half-open intervals share an instant."""
    return (other[1] is None or one[0] < other[1]) and (one[1] is None or other[0] < one[1])
