"""The report's tables as files: CSV with exact values, XLSX for people who filter and add up.

Names can be no formulas in either: they are text cells, and in CSV an apostrophe stands before what
a spreadsheet would compute. Numbers are what the published tables hold.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from reports.names import KEPT, cell, cut, plain

#: Rows of a sheet; the CSV file beside it has all.
SHEET_ROWS = 20_000
_WIDEST = 60


def to_csv(table: pa.Table) -> bytes:
    """A table as CSV: UTF-8, CRLF, a head of the published column names, empty for null."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(table.column_names)
    columns = [_texts(table.column(at)) for at in range(table.num_columns)]
    writer.writerows(zip(*columns, strict=True))
    return out.getvalue().encode("utf-8")


def _texts(column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Names repeat, and looking one up is quicker than making it harmless again.
        known: dict[str | None, str] = {None: ""}
        for value in values:
            if value not in known:
                known[value] = cell(value)
        return [known[value] for value in values]
    if pa.types.is_timestamp(column.type):
        return ["" if v is None else v.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for v in values]
    if pa.types.is_boolean(column.type):
        return ["" if v is None else str(v).lower() for v in values]
    if pa.types.is_decimal(column.type):
        return ["" if v is None else f"{v:f}" for v in values]
    return ["" if v is None else v for v in values]


def to_xlsx(sheets: Iterable[tuple[str, str, pa.Table]], *, month: date) -> bytes:
    """A workbook of sheets (name, caption, table), equal bytes for equal tables.

    A sheet has its column names in a frozen first row. One with more than SHEET_ROWS rows is cut,
    and its last row says so.
    """
    import xlsxwriter

    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {
        "in_memory": True, "strings_to_formulas": False, "strings_to_urls": False,
        "strings_to_numbers": False, "nan_inf_to_errors": True, "remove_timezone": True,
        "constant_memory": False,
    })  # fmt: skip
    # No clock: the same month gives the same bytes.
    book.set_properties({"title": f"GPU bill {month:%Y-%m}", "created": datetime(2000, 1, 1)})  # noqa: DTZ001 - the library wants it so
    styles = {
        name: book.add_format({"num_format": form})
        for name, form in {
            "usd": "#,##0.00####", "ns": "#,##0", "hours": "#,##0.0000", "ratio": "0.0%",
            "number": "#,##0.######", "time": "yyyy-mm-dd hh:mm:ss", "date": "yyyy-mm-dd",
        }.items()
    }  # fmt: skip
    head = book.add_format({"bold": True, "bottom": 1})
    for name, caption, table in sheets:
        sheet = book.add_worksheet(name[:31])
        sheet.freeze_panes(1, 0)
        _sheet(sheet, table, styles, head, caption)
    book.close()
    return out.getvalue()


def _sheet(sheet: Any, table: pa.Table, styles: Mapping[str, Any], head: Any, caption: str) -> None:
    shown = table.slice(0, SHEET_ROWS)
    for at, name in enumerate(table.column_names):
        sheet.write_string(0, at, name, head)
        style = styles.get(_style(name, table.schema.field(at).type))
        values = shown.column(at).to_pylist()
        _column(sheet, at, values, style)
        widths = [len(name), *(len(str(value)) for value in values[:200] if value is not None)]
        sheet.set_column(at, at, min(_WIDEST, max(widths) + 2), style)
    if table.num_columns and shown.num_rows:
        sheet.autofilter(0, 0, shown.num_rows, table.num_columns - 1)
    sheet.write_comment(0, 0, caption)
    if shown.num_rows < table.num_rows:
        left = table.num_rows - shown.num_rows
        sheet.write_string(shown.num_rows + 1, 0, f"and {left:,} more rows: see the CSV file")


def _column(sheet: Any, at: int, values: Sequence[Any], style: Any) -> None:
    for row, value in enumerate(values, 1):
        if value is None:
            continue
        if isinstance(value, bool):
            sheet.write_boolean(row, at, value)
        elif isinstance(value, Decimal | int | float):
            sheet.write_number(row, at, float(value), style)
        elif isinstance(value, datetime | date):
            sheet.write_datetime(row, at, value, style)
        else:
            sheet.write_string(row, at, cut(plain(value), KEPT))


def _style(name: str, kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "time"
    if pa.types.is_date(kind):
        return "date"
    if name.endswith("_usd"):
        return "usd"
    if name.endswith("_ns") or pa.types.is_integer(kind):
        return "ns"
    if name.endswith("_ratio") and name not in ("slowdown_ratio", "traced_step_ratio"):
        return "ratio"
    if name.endswith("_hours"):
        return "hours"
    return "number" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else ""
