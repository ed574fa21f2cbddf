"""`plumbline sql`: formats, what it refuses, how it lists tables, and questions of our own."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.config import load_config
from pipelines.published import QUESTIONS, Published, contracts, filled
from tests.models.whole import shipped
from tests.pipelines.command import call, cluster, done, failed
from warehouse.contracts import LANDING
from warehouse.query import run_query
from warehouse.shipped import marts

SUMS = "select team, sum(gpu_ns) as gpu_ns from showback_team_month group by team order by team"


def test_three_formats_of_one_answer(demo: Path) -> None:
    table = done("sql", SUMS, config=demo)
    assert table.splitlines()[-1] == "6 rows"
    rows = list(csv.DictReader(io.StringIO(done("sql", SUMS, "--format", "csv", config=demo))))
    found = json.loads(done("sql", SUMS, "--format", "json", config=demo))
    assert [row["team"] for row in rows] == [row["team"] for row in found]
    assert sum(int(row["gpu_ns"]) for row in rows) == sum(int(row["gpu_ns"]) for row in found)
    assert all(row["team"] in table for row in rows)


def test_the_query_may_stand_in_a_file_or_come_by_pipe(demo: Path, tmp_path: Path) -> None:
    file = tmp_path / "month.sql"
    file.write_text(f"-- the month\n{SUMS}")
    wanted = done("sql", SUMS, config=demo)
    assert done("sql", "--file", file, config=demo) == wanted
    assert done("sql", "--file", "-", config=demo, stdin=SUMS) == wanted


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("select 1", "--tables"),
        ("select 1", "--file", "-"),
        ("--tables", "--file", "-"),
        ("select 1", "--format", "xml"),
        ("select 1", "--timeout", "0"),
        ("--file", "no-such-file.sql"),
    ],
)
def test_wrong_usage(demo: Path, words: tuple[str, ...]) -> None:
    assert "Usage: plumbline sql" in failed("sql", *words, code=2, config=demo)


def test_a_file_that_is_no_text(demo: Path, tmp_path: Path) -> None:
    file = tmp_path / "month.sql"
    file.write_bytes(b"select '\xff'")
    assert "is no UTF-8 text" in failed("sql", "--file", file, code=2, config=demo)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("drop table allocation", "DROP is refused"),
        ("select * from read_csv('/etc/passwd')", "read_csv"),
        ("copy allocation to '/tmp/x.csv'", "COPY is refused"),
        ("select * from alocation", "allocation"),
        ("selec 1", "cannot be parsed"),
        ("select no_such from allocation", "no_such"),
        ("", "0 statements"),
        ("select 1; select 2", "2 statements"),
    ],
)
def test_what_it_refuses_is_one_message(demo: Path, query: str, said: str) -> None:
    error = failed("sql", query, code=1, config=demo)
    assert error.startswith("plumbline: ")
    assert said in error


def test_a_long_query_is_stopped(demo: Path) -> None:
    query = "select count(*) from range(100000000) a, range(100000000) b where a.range = -b.range"
    assert "was stopped" in failed("sql", query, "--timeout", "0.05", code=1, config=demo)


def test_tables_lists_every_column_with_unit_and_meaning(demo: Path) -> None:
    text = done("sql", "--tables", config=demo)
    found = contracts()
    for name, contract in found.items():
        assert f"\n{name}: {contract.grain} (" in text
        for column in contract.columns:
            assert f"    {column.name} " in text
            assert column.meaning in text
    assert "billed_usd DECIMAL(38,12) [USD]: billed cost" in text
    assert text.index("waste_team_month:") < text.index("bill_line:")
    assert "recon_invoice: one row per bill line (9 rows)" in text


def test_before_the_first_run_tables_are_empty(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    assert "allocation: one row per bill line and target (0 rows)" in done(
        "sql", "--tables", config=config
    )
    assert "0 rows" in done("sql", "select * from allocation", config=config)


def test_names_are_data_in_every_format(tmp_path: Path) -> None:
    name = "=cmd()|[red]x[/red]\x1b[31m"
    config = cluster(tmp_path, teams=[{"team": name}])
    done("run", config=config)
    query = "select team from showback_team_month where team <> 'platform'"
    assert json.loads(done("sql", query, "--format", "json", config=config)) == [{"team": name}]
    text = done("sql", query, "--format", "csv", config=config)
    assert list(csv.reader(io.StringIO(text))) == [["team"], [f"'{name}"]]
    table = call("sql", query, config=config).stdout
    assert "[red]x[/red]" in table
    assert "\x1b" not in table


def test_contracts_of_published_tables_are_those_of_the_models() -> None:
    assert contracts() == {**LANDING, **marts(shipped())}


@pytest.mark.parametrize("question", sorted(path.stem for path in QUESTIONS.glob("*.sql")))
def test_every_question_runs_on_nothing_and_on_the_recording(
    question: str, demo: Path, tmp_path: Path
) -> None:
    values = {
        "month": date(2026, 11, 1), "team": "research", "bucket": "idle_held", "top": 3,
        "scope": "in_steps", "hours": 1, "first": datetime(2026, 11, 1, tzinfo=UTC),
        "end": datetime(2026, 12, 1, tzinfo=UTC),
    }  # fmt: skip
    some = Published(load_config(demo)).ask(question, **values)
    none = Published(load_config(cluster(tmp_path))).ask(question, **values)
    assert len(none) <= 1
    assert len(some) >= len(none)


def test_a_value_that_is_missing_is_an_error(demo: Path) -> None:
    with pytest.raises(KeyError, match="month"):
        Published(load_config(demo)).ask("report_seen")


@settings(deadline=None, max_examples=60)
@given(st.text() | st.integers(-(2**63), 2**63 - 1) | st.none() | st.dates())
def test_a_value_comes_back_as_it_went_in(value: str | int | date | None) -> None:
    if isinstance(value, str) and ("\0" in value or not value.isprintable()):
        value = value.replace("\0", "").encode("utf-8", "ignore").decode()
    sql, tables = filled("select $value as value, 'a$value' as text", {"value": value})
    assert tables == []
    (row,) = run_query({}, {}, sql).to_pylist()
    assert (row["value"], row["text"]) == (value, "a$value")


def test_a_decimal_keeps_its_digits() -> None:
    value = Decimal("12345678901234567890.123456789012")
    sql, _ = filled("select $value as value", {"value": value})
    assert run_query({}, {}, sql).to_pylist() == [{"value": value}]
