"""Readers' SQL: what is answered, what is refused, and that refusing leaves no trace."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warehouse.errors import QueryRefused, StoreError
from warehouse.query import run_query

SCHEMA = pa.schema(
    [("team", pa.string()), ("gpu_ns", pa.int64()), ("month", pa.timestamp("us", tz="UTC"))]
)
MONTH = datetime(2026, 11, 1, tzinfo=UTC)
Ask = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two published files in a folder whose name holds pattern characters, and a stranger."""
    folder = tmp_path / "marts [x]*"
    folder.mkdir()
    for i, name in enumerate(("a?.parquet", "b's.parquet", "stranger.parquet")):
        rows = [{"team": f"t{i}", "gpu_ns": i + 1, "month": MONTH}]
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / name)
    return [str(folder / "a?.parquet"), str(folder / "b's.parquet")]


@pytest.fixture
def ask(files: list[str]) -> Ask:
    def run(sql: str) -> list[dict[str, Any]]:
        found = run_query(
            {"cost": files, "empty": []}, {"cost": SCHEMA, "empty": SCHEMA}, sql,
            memory_limit="200MB",
        )  # fmt: skip
        rows: list[dict[str, Any]] = found.to_pylist()
        return rows

    return run


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("select team, gpu_ns from cost order by team", {"team": "t0", "gpu_ns": 1}),
        ("select count(*) as n from COST;", {"n": 2}),
        ("from main.cost select max(gpu_ns) as n", {"n": 2}),
        ("with c as (select * from cost) select sum(gpu_ns) as n from c", {"n": 3}),
        ("with cost as (select 7 as n) select n from cost", {"n": 7}),
        ("select a.team from cost a join cost b using (team) order by 1", {"team": "t0"}),
        ("select (select count(*) from cost) as n, exists (from empty) as e", {"n": 2, "e": False}),
        ("values (1)", {"col0": 1}),
        ("select n from range(3) as r(n)", {"n": 0}),
        ("select unnest([5, 6]) as n", {"n": 5}),
        ("with recursive r as (select 1 as n union all select n + 1 from r where n < 3) from r",
         {"n": 1}),
        ("select count(*) as n from empty", {"n": 0}),
        ("select table_name from information_schema.tables order by 1", {"table_name": "cost"}),
        ("select cast(month as varchar) as m from cost limit 1", {"m": "2026-11-01 00:00:00+00"}),
    ],
)  # fmt: skip
def test_reading_is_answered(ask: Ask, sql: str, first: dict[str, Any]) -> None:
    assert ask(sql)[0] == first


def test_tables_describe_themselves(ask: Ask) -> None:
    assert [row["name"] for row in ask("show tables")] == ["cost", "empty"]
    assert [row["column_name"] for row in ask("describe empty")] == SCHEMA.names
    assert [row["column_name"] for row in ask("describe select team from cost")] == ["team"]
    assert {row["column_name"] for row in ask("summarize cost")} == set(SCHEMA.names)


@pytest.mark.parametrize(
    "sql",
    [
        "explain select * from cost",
        "EXPLAIN ANALYZE select * from cost",
        "-- why\n/* slow? */ explain (analyze) select * from cost",
        "explain (format json) select * from cost",
        "explain (select * from cost)",
    ],
)
def test_plans_are_shown(ask: Ask, sql: str) -> None:
    assert "plan" in ask(sql)[0]


REFUSED = [
    # other files and places
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/etc/passwd')",
    "select * from glob('/etc/*')",
    "select * from '/etc/passwd'",
    "select * from 'x.csv'",
    "select * from read_parquet('{stranger}')",
    "select * from '{stranger}'",
    "select * from '{published}'",
    "select * from parquet_metadata('{published}')",
    "select * from 'https://example.com/x.parquet'",
    "select * from read_csv('http://127.0.0.1:1/x.csv')",
    "select * from 's3://bucket/x.parquet'",
    "describe select * from read_csv('/etc/passwd')",
    "summarize '/etc/passwd'",
    "select (select count(*) from read_text('/etc/passwd'))",
    "select 1 where exists (from read_text('/etc/passwd'))",
    "with a as (from read_text('/etc/passwd')) select 1",
    "select * from query('select * from read_text(''/etc/passwd'')')",
    "select * from query_table('cost')",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    # writing
    "copy cost to '{published}'",
    "copy (select 1) to '{published}' (format parquet)",
    "with a as (copy (select 1 as x) to '{published}') select 1",
    "select * from (with a as (copy (select 1 as x) to '{published}') select 1)",
    "explain analyze copy (select 1) to '{published}'",
    "explain analyze with a as (copy (select 1 as x) to '{published}') select 1",
    "explain copy (select 1) to '{published}'",
    "export database '{folder}'",
    "create table t as select 1",
    "create view t as select 1",
    "create macro m() as 1",
    "create secret s (type s3)",
    "create or replace view cost as select 1",
    "drop view cost",
    "insert into cost values (1)",
    "with a as (insert into cost values ('x', 1, null) returning *) select * from a",
    "with a as (delete from cost returning *) select * from a",
    "with a as (update cost set gpu_ns = 1 returning *) select * from a",
    "update cost set gpu_ns = 1",
    "delete from cost",
    "truncate cost",
    "alter view cost rename to x",
    "import database '{folder}'",
    # other databases, extensions, settings
    "attach '{published}' as z",
    "attach ':memory:' as z",
    "detach memory",
    "use memory",
    "install httpfs",
    "load httpfs",
    "update extensions",
    "set memory_limit = '10GB'",
    "set enable_external_access = true",
    "set lock_configuration = false",
    "set variable x = 1",
    "reset memory_limit",
    "pragma version",
    "pragma database_list",
    "call pragma_version()",
    "checkpoint",
    "begin",
    "prepare p as select 1",
    "execute p",
    "vacuum",
    "pivot cost on team using sum(gpu_ns)",
    # the machine
    "select getenv('HOME')",
    "select current_setting('allowed_paths')",
    "select getvariable('x')",
    "select * from duckdb_secrets()",
    "select * from duckdb_settings()",
    "select * from duckdb_views()",
    "select * from duckdb_views",
    "select * from sqlite_master",
    "select * from information_schema.views",
    "select * from pragma_version()",
    "select * from which_secret('s3://x', 's3')",
    "select * from memory.information_schema.views",
    # more or less than one statement
    "select 1; select 2",
    "select 1; copy cost to '{published}'",
    "",
    "-- nothing",
    ";",
    "explain",
    "selec 1",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_anything_else_is_refused(ask: Ask, files: list[str], sql: str) -> None:
    folder = Path(files[0]).parent
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.iterdir()}
    names = {
        "published": files[0], "stranger": str(folder / "stranger.parquet"), "folder": str(folder),
    }  # fmt: skip
    for name, path in names.items():
        sql = sql.replace("{" + name + "}", path)
    with pytest.raises(QueryRefused) as caught:
        ask(sql)
    assert str(caught.value).rstrip().endswith((".", "?", "^")) or "LINE" in str(caught.value)
    after = {path: hashlib.sha256(path.read_bytes()).digest() for path in folder.iterdir()}
    assert after == before


def test_python_variables_are_no_tables(ask: Ask) -> None:
    hidden = pa.table({"a": [1]})
    with pytest.raises(QueryRefused, match="'hidden' is no published table"):
        ask("select * from hidden")
    assert hidden.num_rows == 1


def test_refusals_say_what_is_allowed(ask: Ask) -> None:
    with pytest.raises(QueryRefused, match=r"COPY is refused. Allowed is one statement: SELECT"):
        ask("copy cost to 'x.csv'")
    with pytest.raises(QueryRefused, match=r"COPY inside a query is refused"):
        ask("with a as (copy (select 1 as x) to 'y') select 1")
    with pytest.raises(QueryRefused, match=r"found 2 statements. Allowed"):
        ask("select 1; select 2")
    with pytest.raises(QueryRefused, match=r"'costs' is no published table. Did you mean cost\?"):
        ask("select * from costs")
    with pytest.raises(QueryRefused, match=r"'zzz' is no published table. SHOW TABLES lists them"):
        ask("select * from zzz")
    with pytest.raises(QueryRefused, match=r"the query does not run: .*teams"):
        ask("select teams from cost")


def test_the_second_wall_holds_alone(
    ask: Ask, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the syntax tree unseen, the engine itself still refuses what lies outside."""
    monkeypatch.setattr("warehouse.query._inspect", lambda *_: None)
    for sql in (
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        f"select * from '{Path(files[0]).parent / 'stranger.parquet'}'",
        "select * from glob('/etc/*')",
        f"copy (select 1) to '{files[0]}.new'",
        "install httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "select * from duckdb_secrets()",
    ):
        with pytest.raises(QueryRefused):
            ask(sql)


def test_very_deep_nesting_is_refused(ask: Ask) -> None:
    def nested(depth: int) -> str:
        return "select " + "(select " * depth + "1" + ")" * depth + " as n"

    assert ask(nested(20)) == [{"n": 1}]
    with pytest.raises(QueryRefused):
        ask(nested(5000))


def test_time_and_memory_have_limits(files: list[str], tmp_path: Path) -> None:
    def run(sql: str, **limits: Any) -> pa.Table:
        return run_query({"cost": files}, {"cost": SCHEMA}, sql, **limits)

    with pytest.raises(QueryRefused, match=r"took more than 0.2 s"):
        run("select count(*) from range(1000000000000)", timeout_s=0.2)
    before = set(Path.cwd().iterdir())
    with pytest.raises(QueryRefused, match=r"needs more than memory_limit 20MB"):
        run("select md5(cast(n as varchar)) as m, n from range(5000000) r(n) order by 1",
            memory_limit="20MB")  # fmt: skip
    assert set(Path.cwd().iterdir()) == before
    # A query that is done in time leaves no timer behind.
    assert run("select 1 as a", timeout_s=60).to_pylist() == [{"a": 1}]
    assert not [t for t in threading.enumerate() if isinstance(t, threading.Timer) and t.is_alive()
                and not t.finished.is_set()]  # fmt: skip


def test_damaged_published_files_are_the_stores_fault(files: list[str]) -> None:
    Path(files[0]).write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"published files of cost cannot be bound"):
        run_query({"cost": files}, {"cost": SCHEMA}, "select 1")
