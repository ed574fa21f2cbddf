"""An Arrow table as text: for the terminal, for spreadsheets, for programs."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

FORMATS = ("table", "csv", "json")
#: Beyond it a double, and with it JavaScript, no longer has every whole number.
_SAFE_INTEGER = 2**53
#: What makes a spreadsheet take a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def render(table: pa.Table, format: str, *, width: int | None = None) -> str:
    """A table as `table` (rich), `csv` or `json` text that ends in a line break.

    - times are ISO 8601 in UTC with Z (without, where the column has no zone), dates ISO
    - csv: an empty cell is null and "" the empty text; a text that a spreadsheet would take for a
      formula gets a ' before
    - json: a list of objects; decimals, and integers beyond 2**53, are strings
    - table: cut to `width` columns of the terminal (None: as wide as it needs); control
      characters are shown, not obeyed

    Raises ValueError for another format.
    """
    writers: dict[str, Callable[[], str]] = {
        "table": lambda: _table(table, width),
        "csv": lambda: _csv(table),
        "json": lambda: _json(table),
    }
    if format not in writers:
        raise ValueError(f"format {format!r} is none of {', '.join(FORMATS)}")
    return writers[format]()


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as tuples: two columns may have the same name."""
    columns = [_readable(column).to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def _readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    # Python has no nanoseconds.
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column


def _plain(value: Any) -> Any:
    """A value as text, number, boolean, list, dict or None: what csv and json share."""
    if value is None or isinstance(value, bool | int | str | float):
        return value
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.isoformat()
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [_plain(item) for item in value]
    return str(value)


def _for_json(value: Any) -> Any:
    value = _plain(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no word for it; null would say that there is no value.
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _for_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_for_json(item) for item in value]
    return value


def _json(table: pa.Table) -> str:
    names: list[str] = []
    for name in table.column_names:
        twin = sum(1 for other in names if other == name or other.startswith(f"{name}:"))
        names.append(f"{name}:{twin + 1}" if name in names else name)
    lines = [
        json.dumps(dict(zip(names, map(_for_json, row), strict=True)), ensure_ascii=False)
        for row in _rows(table)
    ]
    return "[" + ",\n ".join(lines) + "]\n"


def _csv(table: pa.Table) -> str:
    lines = [table.column_names, *_rows(table)]
    return "".join(",".join(map(_csv_cell, line)) + "\n" for line in lines)


def _csv_cell(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(_guarded(value))
    if isinstance(value, list | dict):
        return _quoted(_text(value))
    return _text(value)


def _quoted(text: str) -> str:
    # Python's csv writer leaves a lone carriage return bare, which ends a line for readers.
    if not text or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _guarded(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _table(table: pa.Table, width: int | None) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for field in table.schema:
        is_number = (
            pa.types.is_integer(field.type)
            or pa.types.is_floating(field.type)
            or pa.types.is_decimal(field.type)
        )
        shown.add_column(
            Text(_visible(field.name)), justify="right" if is_number else "left",
            overflow="fold",
        )  # fmt: skip
    for row in _rows(table):
        # Text, not str: what stands in a cell is never markup.
        shown.add_row(*(Text(_visible(_text(value))) for value in row))
    console = Console(
        file=io.StringIO(), width=width or 100_000, color_system=None, force_terminal=False,
        legacy_windows=False,
    )  # fmt: skip
    with console.capture() as captured:
        console.print(shown)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    count = f"{table.num_rows:,} row{'' if table.num_rows == 1 else 's'}"
    return "\n".join([line for line in lines if line] + [count]) + "\n"


def _text(value: Any) -> str:
    """A value in a cell; null is nothing."""
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, list | dict):
        return json.dumps(_for_json(plain), ensure_ascii=False)
    return str(plain)


def _visible(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
