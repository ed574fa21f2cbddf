"""The report's tables as files: CSV with exact values, XLSX for people who filter and add up.

Names can be no formulas in either: they are text cells, and in CSV an apostrophe stands before what
a spreadsheet would compute. Numbers are what the published tables hold.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reports.names import KEPT, cell, cut, plain
from reports.specs import Spec

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
    if pa.types.is_timestamp(column.type):
        column = pc.strftime(column, format="%Y-%m-%dT%H:%M:%SZ")
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.string())
    elif pa.types.is_decimal(column.type):
        # Much quicker than by Decimal; a tiny value comes as 1E-12 and is written out.
        texts = column.cast(pa.string()).to_pylist()
        return ["" if v is None else f"{Decimal(v):f}" if "E" in v else v for v in texts]
    values = column.to_pylist()
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # Names repeat, and looking one up is quicker than making it harmless again.
        known: dict[str | None, str] = {None: ""}
        for value in values:
            if value not in known:
                known[value] = cell(value)
        return [known[value] for value in values]
    return ["" if v is None else v for v in values]


def to_xlsx(sheets: Iterable[tuple[str, Spec, pa.Table]], *, month: date) -> bytes:
    """A workbook of sheets by name; equal tables give equal bytes.

    A sheet has its column names in a frozen first row, and Spec.sheet_rows rows at most; where
    there are more, its last row says so.
    """
    import xlsxwriter

    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {
        "strings_to_formulas": False, "strings_to_urls": False,
        "strings_to_numbers": False, "nan_inf_to_errors": True, "remove_timezone": True,

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
    for name, spec, table in sheets:
        sheet = book.add_worksheet(name[:31])
        sheet.freeze_panes(1, 0)
        _sheet(sheet, table, spec.sheet_rows, styles, head)
        sheet.write_comment(0, 0, spec.caption)
    book.close()
    return out.getvalue()


def _sheet(sheet: Any, table: pa.Table, most: int, styles: Mapping[str, Any], head: Any) -> None:
    shown = table.slice(0, most)
    columns = [shown.column(at).to_pylist() for at in range(table.num_columns)]
    formats = [styles.get(_style(field.name, field.type)) for field in table.schema]
    for at, (name, values) in enumerate(zip(table.column_names, columns, strict=True)):
        sheet.write_string(0, at, name, head)
        widths = [len(name), *(len(str(value)) for value in values[:200] if value is not None)]
        sheet.set_column(at, at, min(_WIDEST, max(widths) + 2), formats[at])
    # Row by row: the library then holds one row in memory.
    for row, values in enumerate(zip(*columns, strict=True), 1):
        for at, value in enumerate(values):
            if value is not None:
                _cell(sheet, row, at, value, formats[at])
    if left := table.num_rows - shown.num_rows:
        sheet.write_string(shown.num_rows + 1, 0, f"and {left:,} more rows: see the CSV file")
    if shown.num_rows:
        sheet.autofilter(0, 0, shown.num_rows, table.num_columns - 1)


def _cell(sheet: Any, row: int, at: int, value: Any, style: Any) -> None:
    if isinstance(value, str):
        sheet.write_string(row, at, cut(plain(value), KEPT))
    elif isinstance(value, bool):
        sheet.write_boolean(row, at, value)
    elif isinstance(value, datetime | date):
        sheet.write_datetime(row, at, value, style)
    else:
        sheet.write_number(row, at, float(value), style)


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
