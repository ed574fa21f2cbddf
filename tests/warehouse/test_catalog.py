"""The catalog: what BI tools open."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from warehouse.catalog import CATALOG, write_catalog
from warehouse.contracts import LANDING, MONEY, TEXT, Batch, Column, Contract
from warehouse.errors import StoreError
from warehouse.store import Store

TEAM_MONTH = Contract(
    "waste_team_month",
    1,
    "one row per team's month; it isn't a toy",
    ("month", "team"),
    ("month", "team"),
    (
        Column("month", pa.date32(), "", "month", nullable=False),
        Column("team", TEXT, "", "team's name", nullable=False),
        Column("billed_usd", MONEY, "USD", "what the invoice asks for"),
    ),
)
TABLES = {**{t: LANDING[t] for t in ("gpu_sample", "reject")}, "waste_team_month": TEAM_MONTH}


def publish(store: Store, month: date, *teams: str) -> None:
    rows = [{"month": month, "team": team, "billed_usd": "1.5"} for team in teams]
    batch = pa.RecordBatch.from_pylist(rows, schema=pa.schema(
        [("month", pa.date32()), ("team", TEXT), ("billed_usd", TEXT)]
    )).cast(TEAM_MONTH.schema)  # fmt: skip
    with store.transaction() as transaction:
        transaction.replace(
            "mart", f"month={month:%Y-%m}", [Batch("waste_team_month", batch)],
            fingerprint="", meta={}, contracts=TABLES,
        )  # fmt: skip
        transaction.commit()
        write_catalog(store, Path(store.root) / CATALOG, TABLES)


def ask(catalog: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(catalog, read_only=True) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    # a path that DuckDB would take for a pattern, or for the end of a text
    return Store(tmp_path / "o'house [1]*")


@pytest.fixture
def catalog(store: Store) -> Path:
    publish(store, date(2026, 10, 1), "a")
    publish(store, date(2026, 11, 1), "a", "b")
    return Path(store.root) / CATALOG


def test_a_reader_elsewhere_finds_the_rows(
    catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    query = "select month, count(*), sum(billed_usd)::varchar from waste_team_month group by 1"
    assert ask(catalog, f"{query} order by 1") == [
        (date(2026, 10, 1), 1, "1.500000000000"),
        (date(2026, 11, 1), 2, "3.000000000000"),
    ]
    # and so does a fresh process
    code = (
        "import sys, duckdb; connection = duckdb.connect(sys.argv[1], read_only=True)\n"
        "print(connection.execute('select count(*) from waste_team_month').fetchall())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(catalog)],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[(3,)]\n"


def test_it_holds_views_only_and_is_of_the_old_format(catalog: Path) -> None:
    assert ask(catalog, "select count(*) from duckdb_tables()") == [(0,)]
    views = ask(catalog, "select view_name from duckdb_views() where not internal order by 1")
    assert [name for (name,) in views] == sorted(TABLES)
    with duckdb.connect() as connection:
        connection.execute(
            f"attach '{str(catalog).replace(chr(39), chr(39) * 2)}' as c (read_only)"
        )
        query = "select tags['storage_version'] from duckdb_databases() where database_name = 'c'"
        assert connection.execute(query).fetchall() == [("v1.2.0+",)]


def test_comments_come_from_the_contracts(catalog: Path) -> None:
    assert ask(
        catalog, "select comment from duckdb_views() where view_name = 'waste_team_month'"
    ) == [(TEAM_MONTH.grain,)]
    columns = (
        "select column_name, comment from duckdb_columns() where table_name = 'waste_team_month' "
        "order by column_index"
    )
    assert ask(catalog, columns) == [
        ("month", "month"),
        ("team", "team's name"),
        ("billed_usd", "what the invoice asks for [USD]"),
    ]


def test_an_empty_view_has_the_types_that_its_files_will_have(store: Store, catalog: Path) -> None:
    query = "select table_name, column_name, data_type from duckdb_columns() where not internal"
    assert write_catalog(store, catalog, LANDING)
    empty = ask(catalog, query)
    assert {table for table, *_ in empty} == set(LANDING)
    assert ask(catalog, "select count(*) from gpu_sample") == [(0,)]
    batches = [
        Batch(
            c.name,
            pa.RecordBatch.from_pylist(
                [{f.name: _sample(f.type) for f in c.columns}], schema=c.schema
            ),
        )
        for c in LANDING.values()
    ]
    with store.transaction() as transaction:
        transaction.replace("landing", "u", batches, fingerprint="", meta={}, contracts=LANDING)
        transaction.commit()
        assert write_catalog(store, catalog, LANDING)
    assert ask(catalog, query) == empty
    assert ask(catalog, "select count(*) from gpu_sample") == [(1,)]


def _sample(type_: pa.DataType) -> object:
    if pa.types.is_timestamp(type_):
        return datetime(2026, 11, 30, tzinfo=UTC)
    if pa.types.is_list(type_):
        return ["n0"]
    return pa.array(["1"]).cast(type_)[0].as_py()


def test_it_is_not_rewritten_when_nothing_changed(store: Store, catalog: Path) -> None:
    before = (catalog.stat().st_ino, hashlib.sha256(catalog.read_bytes()).digest())
    assert not write_catalog(store, catalog, TABLES)
    publish(store, date(2026, 11, 1), "b", "a")
    assert (catalog.stat().st_ino, hashlib.sha256(catalog.read_bytes()).digest()) == before
    publish(store, date(2026, 11, 1), "c")
    assert catalog.stat().st_ino != before[0]
    assert sorted(p.name for p in catalog.parent.iterdir()) == [
        ".lock", "manifest.json", "mart", CATALOG,
    ]  # fmt: skip


@pytest.mark.parametrize("changed", ["grain", "meaning", "table"])
def test_a_changed_contract_is_a_change(store: Store, catalog: Path, changed: str) -> None:
    t = TEAM_MONTH
    other = {
        "grain": {t.name: Contract(t.name, 1, "other", t.key, t.order, t.columns)},
        "meaning": {
            t.name: Contract(
                t.name, 1, t.grain, t.key, t.order,
                (*t.columns[:2], Column("billed_usd", MONEY, "USD", "other")),
            )
        },
        "table": {"more": Contract("more", 1, "more", t.key, t.order, t.columns)},
    }[changed]  # fmt: skip
    assert write_catalog(store, catalog, {**TABLES, **other})
    assert not write_catalog(store, catalog, {**TABLES, **other})


def test_replacing_it_while_a_reader_is_open_is_safe(store: Store, catalog: Path) -> None:
    count = "select count(*) from waste_team_month"
    with duckdb.connect(catalog, read_only=True) as reader:
        assert reader.execute(count).fetchall() == [(3,)]
        # a month that is added takes no file away
        publish(store, date(2026, 12, 1), "a")
        assert reader.execute(count).fetchall() == [(3,)], "the old handle keeps its answer"
        assert ask_in_process(catalog, count) == "[(4,)]"
        # one that is restated does: then the old handle says so, it never mixes old and new
        publish(store, date(2026, 11, 1), "z")
        with pytest.raises(duckdb.IOException, match="No files found"):
            reader.execute(count).fetchall()
    assert ask(catalog, count) == [(3,)]


def ask_in_process(catalog: Path, query: str) -> str:
    code = (
        "import sys, duckdb; connection = duckdb.connect(sys.argv[1], read_only=True)\n"
        "print(connection.execute(sys.argv[2]).fetchall())"
    )
    command = [sys.executable, "-c", code, str(catalog), query]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_what_a_killed_run_left_is_no_hindrance(store: Store, catalog: Path) -> None:
    half = catalog.with_name(f".{CATALOG}.tmp")
    half.write_bytes(b"half a file")
    catalog.write_bytes(b"no database")
    assert write_catalog(store, catalog, TABLES)
    assert not half.exists()
    assert ask(catalog, "select count(*) from waste_team_month") == [(3,)]


def test_an_outdated_file_is_refused(store: Store, catalog: Path) -> None:
    t = TEAM_MONTH
    newer = Contract(t.name, 2, t.grain, t.key, t.order, t.columns)
    with pytest.raises(StoreError, match=r"version 1 .* expected 2. Migrate"):
        write_catalog(store, catalog, {t.name: newer})
    assert ask(catalog, "select count(*) from waste_team_month") == [(3,)]


def test_a_place_that_cannot_be_written_is_explained(store: Store) -> None:
    with pytest.raises(StoreError, match="cannot write the catalog"):
        write_catalog(store, Path(store.root) / "absent" / CATALOG, TABLES)
