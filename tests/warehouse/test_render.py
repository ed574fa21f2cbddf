"""Tables as text: exact numbers, plain times, nothing that a terminal or spreadsheet would obey."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.render import render


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def test_json_keeps_every_digit() -> None:
    big = 2**53
    found = json.loads(
        render(
            pa.table(
                {
                    "n": pa.array([1, big, big + 1, -big - 1, None]),
                    "usd": pa.array(
                        [Decimal("0.1"), Decimal(0), Decimal("1E+3"), Decimal("-2.5"), None],
                        pa.decimal128(38, 12),
                    ),
                    "ratio": [0.1, float("nan"), float("inf"), float("-inf"), None],
                    "ok": [True, False, None, None, None],
                    "parts": [[2**60], [], None, None, None],
                }
            ),
            "json",
        )
    )
    assert [row["n"] for row in found] == [1, big, str(big + 1), str(-big - 1), None]
    assert [row["usd"] for row in found] == [
        "0.100000000000", "0.000000000000", "1000.000000000000", "-2.500000000000", None,
    ]  # fmt: skip
    assert [row["ratio"] for row in found] == [0.1, "NaN", "Infinity", "-Infinity", None]
    assert found[0]["ok"] is True
    assert found[0]["parts"] == [str(2**60)]


def test_times_are_utc_with_z() -> None:
    eastern = timezone(timedelta(hours=-5))
    columns = {
        "at": pa.array([datetime(2026, 11, 1, 0, 0, 5, tzinfo=eastern)], pa.timestamp("us", "UTC")),
        "etc": pa.array([datetime(2026, 11, 1, tzinfo=UTC)], pa.timestamp("us", "Etc/UTC")),
        "zone": pa.array(
            [datetime(2026, 11, 1, tzinfo=UTC)], pa.timestamp("us", "America/New_York")
        ),
        "part": pa.array(
            [datetime(2026, 11, 1, 0, 0, 0, 5, tzinfo=UTC)], pa.timestamp("us", "UTC")
        ),
        "fine": pa.array([1_793_491_200_000_000_001], pa.timestamp("ns", "UTC")),
        "plain": pa.array([datetime(2026, 11, 1)], pa.timestamp("us")),  # noqa: DTZ001
        "day": pa.array([date(2026, 11, 1)]),
    }
    expected = {
        "at": "2026-11-01T05:00:05Z", "etc": "2026-11-01T00:00:00Z", "zone": "2026-11-01T00:00:00Z",
        "part": "2026-11-01T00:00:00.000005Z", "fine": "2026-11-01T00:00:00Z",
        "plain": "2026-11-01T00:00:00", "day": "2026-11-01",
    }  # fmt: skip
    assert json.loads(render(pa.table(columns), "json")) == [expected]
    (row,) = csv.DictReader(io.StringIO(render(pa.table(columns), "csv")))
    assert row == expected


def test_csv_disarms_formulas_in_text_only() -> None:
    texts = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "a=1", "", "'", " =1"]
    found = render(table(text=texts, n=[-1] * 10, usd=[Decimal("-1.50")] * 10), "csv")
    rows = list(csv.reader(io.StringIO(found, newline="")))
    assert [row[0] for row in rows[1:]] == [
        "'=1+1", "'+1", "'-1", "'@x", "'\tx", "'\rx", "a=1", "", "'", " =1",
    ]  # fmt: skip
    assert {(row[1], row[2]) for row in rows[1:]} == {("-1", "-1.50")}
    assert render(table(**{"=cmd()": [1]}), "csv") == "'=cmd()\n1\n"


def test_csv_writes_nulls_booleans_and_lists() -> None:
    found = render(table(a=[None, "x"], b=[True, False], c=[["p", "q"], None]), "csv")
    assert render(table(a=["", None]), "csv") == 'a\n""\n\n'
    assert found == 'a,b,c\n,true,"[""p"", ""q""]"\nx,false,\n'


def test_two_columns_of_one_name_are_both_there() -> None:
    twins = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["a", "a", "a"])
    assert json.loads(render(twins, "json")) == [{"a": 1, "a:2": 2, "a:3": 3}]
    assert render(twins, "csv") == "a,a,a\n1,2,3\n"
    assert "a  a  a" in " ".join(render(twins, "table").split("\n")).replace("   ", "  ")


def test_no_rows() -> None:
    empty = pa.schema([("team", pa.string())]).empty_table()
    assert render(empty, "json") == "[]\n"
    assert render(empty, "csv") == "team\n"
    assert render(empty, "table").splitlines()[0].strip() == "team"
    assert render(empty, "table").splitlines()[-1] == "0 rows"


def test_terminal_table_shows_and_does_not_obey() -> None:
    found = render(
        table(team=["[red]a[/red]", "b\x1b[31m\x07", "c\x9b1m"], n=[1, 10, None]), "table"
    )
    assert "[red]a[/red]" in found
    assert "b\\x1b[31m\\x07" in found
    assert "c\\x9b1m" in found
    assert not any(ord(c) < 32 and c != "\n" for c in found)
    lines = found.splitlines()
    assert lines[2].endswith(" 1")
    assert lines[3].endswith("10")
    assert lines[-1] == "3 rows"


def test_terminal_width_is_kept() -> None:
    found = render(table(text=["word " * 60], more=["z" * 90]), "table", width=60)
    assert max(map(len, found.splitlines())) <= 60
    assert found.count("z") == 90  # folded, not cut


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'xml' is none of table, csv, json"):
        render(table(a=[1]), "xml")


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(cells, min_size=1, max_size=5))
def test_any_text_survives_json_and_csv(texts: list[str]) -> None:
    column = pa.table({"text": pa.array(texts, pa.string()), "n": list(range(len(texts)))})
    assert [row["text"] for row in json.loads(render(column, "json"))] == texts
    rows = list(csv.reader(io.StringIO(render(column, "csv"), newline="")))[1:]
    assert len(rows) == len(texts)
    for (found, _), text in zip(rows, texts, strict=True):
        assert found in {text, f"'{text}"}
        assert not found.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.lists(cells, min_size=1, max_size=3))
def test_any_text_is_one_terminal_table(texts: list[str]) -> None:
    found = render(pa.table({"text": pa.array(texts, pa.string())}), "table")
    assert found.endswith("row\n" if len(texts) == 1 else "rows\n")
    assert "\x1b" not in found
