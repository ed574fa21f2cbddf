"""CSV and XLSX: exact numbers, harmless names, equal bytes."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal

import openpyxl
import pyarrow as pa
import pytest

from reports import exports, names
from reports.specs import Spec
from tests.reports.test_page import EVIL

NOVEMBER = date(2026, 11, 1)
TABLE = pa.table({
    "team": pa.array([*EVIL.values(), None]),
    "billed_usd": pa.array(
        [Decimal("-1.123456789012")] * len(EVIL) + [None], pa.decimal128(38, 12)
    ),
    "gpu_ns": pa.array([2**53 + 1] * (len(EVIL) + 1), pa.int64()),
    "mfu_ratio": pa.array([0.5] * (len(EVIL) + 1)),
    "unfit": pa.array([True] * len(EVIL) + [None]),
    "start": pa.array([datetime(2026, 11, 3, 4, 5, 6, tzinfo=UTC)] * (len(EVIL) + 1),
                      pa.timestamp("us", tz="UTC")),
})  # fmt: skip


def test_csv_is_exact_and_harmless() -> None:
    rows = list(csv.reader(io.StringIO(exports.to_csv(TABLE).decode("utf-8"))))
    assert rows[0] == TABLE.column_names
    assert [row[0] for row in rows[1:-1]] == [names.cell(name) for name in EVIL.values()]
    assert rows[1][1:] == [
        "-1.123456789012", "9007199254740993", "0.5", "true", "2026-11-03T04:05:06.000000Z",
    ]  # fmt: skip
    assert rows[-1] == ["", "", "9007199254740993", "0.5", "", "2026-11-03T04:05:06.000000Z"]


def book(table: pa.Table, most: int = 5000) -> bytes:
    spec = Spec("waste_team_month", "A caption", (), sheet_rows=most)
    return exports.to_xlsx([("waste", spec, table)], month=NOVEMBER)


def test_xlsx_has_text_for_names_and_numbers_for_numbers() -> None:
    sheet = openpyxl.load_workbook(io.BytesIO(book(TABLE)))["waste"]
    assert [cell.value for cell in sheet[1]] == TABLE.column_names
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == f"A1:F{len(EVIL) + 2}"
    for row, name in enumerate(EVIL.values(), 2):
        cell = sheet.cell(row, 1)
        assert cell.data_type == "s"
        assert cell.value == names.cut(names.plain(name), names.KEPT)
    assert (sheet["B2"].data_type, sheet["B2"].number_format) == ("n", "#,##0.00####")
    assert sheet["B2"].value == pytest.approx(-1.123456789012, abs=1e-12)
    assert (sheet["D2"].value, sheet["D2"].number_format) == (0.5, "0.0%")
    assert sheet["E2"].value is True
    assert sheet["F2"].value == datetime(2026, 11, 3, 4, 5, 6)  # noqa: DTZ001 - sheets have no zone
    assert sheet.cell(len(EVIL) + 2, 1).value is None


def test_no_cell_is_a_formula_and_no_link_leads_out() -> None:
    with zipfile.ZipFile(io.BytesIO(book(TABLE))) as file:
        for name in file.namelist():
            text = file.read(name).decode("utf-8", "replace")
            assert "<f>" not in text
            assert "<hyperlink " not in text
            assert 'TargetMode="External"' not in text


def test_equal_tables_give_equal_bytes() -> None:
    assert book(TABLE) == book(TABLE)


def test_a_long_sheet_says_how_much_is_left() -> None:
    sheet = openpyxl.load_workbook(io.BytesIO(book(TABLE, most=3)))["waste"]
    assert sheet.max_row == 5
    assert sheet["A5"].value == f"and {len(EVIL) - 2} more rows: see the CSV file"


def test_an_empty_table_has_its_heads() -> None:
    empty = TABLE.slice(0, 0)
    assert exports.to_csv(empty) == (",".join(TABLE.column_names) + "\r\n").encode()
    assert openpyxl.load_workbook(io.BytesIO(book(empty)))["waste"].max_row == 1
