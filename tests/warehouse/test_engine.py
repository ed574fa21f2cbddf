"""The DuckDB engine: binding, building, checks, streams."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from warehouse.contracts import TEAM_MAP
from warehouse.engines.duckdb import STREAM_ROWS, DuckEngine
from warehouse.errors import ModelError, StoreError
from warehouse.models import Model, parse_model

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("end", pa.timestamp("us", tz="UTC")),
        ("billed_usd", pa.decimal128(38, 12)),
        ("nodes", pa.list_(pa.string())),
    ]
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckEngine]:
    with DuckEngine(tmp_path / "scratch", memory_limit="500MB") as opened:
        yield opened


def model(
    sql: str,
    columns: str = "id | BIGINT | - | number",
    *,
    layer: str = "marts",
    name: str = "cost",
    more: str = "",
) -> Model:
    """A model with key id; columns and checks are rows divided by semicolons."""
    rows = "".join(f"    {row.strip()}\n" for row in columns.split(";"))
    kind = "level: warning\n" if layer == "checks" else "grain: one row per id\nkeys: id\n"
    text = f"/*\npurpose: p\n{kind}columns:\n{rows}{more}*/\n{sql}"
    return parse_model(text, Path(f"{name}.sql"), layer=layer)


def write(path: Path, ids: list[int], schema: pa.Schema = SCHEMA) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "id": i,
            "end": datetime(2026, 11, 1, tzinfo=UTC),
            "billed_usd": Decimal(i),
            "nodes": ["n"],
        }
        for i in ids
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


# -- inputs -----------------------------------------------------------------------------------


def test_files_are_read_as_listed_and_no_others(engine: DuckEngine, tmp_path: Path) -> None:
    # Blanks, quotes, patterns and a hive-like folder: all only names here.
    folder = tmp_path / "it's [a] day=2026-11-01"
    listed = [write(folder / "x*.parquet", [1, 2]), write(folder / "y?.parquet", [3])]
    write(folder / "x1.parquet", [99])
    write(folder / "y1.parquet", [98])
    engine.bind_files("bill", listed, SCHEMA)
    assert engine.rows("select id from bill order by id").column("id").to_pylist() == [1, 2, 3]
    row = engine.rows('select "end", billed_usd, nodes from bill where id = 2').to_pylist()[0]
    assert row["end"] == datetime(2026, 11, 1, tzinfo=UTC)
    assert (row["billed_usd"], row["nodes"]) == (Decimal(2), ["n"])


def test_no_files_give_an_empty_typed_view(engine: DuckEngine) -> None:
    engine.bind_files("team_map", [], TEAM_MAP.schema)
    rows = engine.rows("select * from team_map")
    assert rows.num_rows == 0
    assert rows.schema.names == TEAM_MAP.schema.names
    assert str(rows.schema.field("valid_from").type).startswith("timestamp[us, tz=")


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([*SCHEMA, ("more", pa.int64())]),
        pa.schema(list(SCHEMA)[:3]),
        pa.schema([pa.field("id", pa.int32()), *list(SCHEMA)[1:]]),
    ],
    ids=["more", "fewer", "other type"],
)
def test_files_of_another_shape_are_refused(
    engine: DuckEngine, tmp_path: Path, schema: pa.Schema
) -> None:
    good, bad = write(tmp_path / "good.parquet", [1]), tmp_path / "bad.parquet"
    pq.write_table(schema.empty_table(), bad)
    with pytest.raises(StoreError, match=r"bad\.parquet: columns differ[\s\S]*  ! "):
        engine.bind_files("bill", [good, bad], SCHEMA)


def test_a_file_that_is_no_parquet_is_named(engine: DuckEngine, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"broken\.parquet: cannot be read as Parquet for bill"):
        engine.bind_files("bill", [broken], SCHEMA)
    with pytest.raises(StoreError, match=r"absent\.parquet"):
        engine.bind_files("bill", [tmp_path / "absent.parquet"], SCHEMA)


def test_arrow_tables_are_copied_and_replaced(engine: DuckEngine) -> None:
    engine.bind_arrow("run_setting", pa.table({"idle_after_ns": [5]}))
    engine.bind_arrow("run_setting", pa.table({"idle_after_ns": [6]}))
    assert engine.rows("select * from run_setting").to_pylist() == [{"idle_after_ns": 6}]


def test_python_variables_are_no_tables(engine: DuckEngine) -> None:
    hidden = pa.table({"a": [1]})
    with pytest.raises(ModelError, match="hidden"):
        engine.rows("select * from hidden")
    assert hidden.num_rows == 1


def seed(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "gpu_peak.csv"
    path.write_text(text)
    return path


def test_seed_types_stand_in_its_first_line(engine: DuckEngine, tmp_path: Path) -> None:
    path = seed(
        tmp_path,
        "# source: a datasheet, with: colons, commas\n"
        "gpu:VARCHAR,flops:DECIMAL(38,0),since:DATE,at:TIMESTAMP WITH TIME ZONE,tags:varchar[]\n"
        '"H200, SXM",989400000000000,2024-01-01,2024-01-01 00:00:00,"[a, b]"\n'
        "\n# more\n"
        "#none\n"
        "L4,,,,\n",
    )
    engine.bind_seed("gpu_peak", path)
    described = engine.rows("describe gpu_peak").column("column_type").to_pylist()
    assert described == [
        "VARCHAR", "DECIMAL(38,0)", "DATE", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]",
    ]  # fmt: skip
    assert engine.rows("select * from gpu_peak order by gpu").to_pylist() == [
        {"gpu": "H200, SXM", "flops": Decimal(989400000000000), "since": date(2024, 1, 1),
         "at": datetime(2024, 1, 1, tzinfo=UTC), "tags": ["a", "b"]},
        {"gpu": "L4", "flops": None, "since": None, "at": None, "tags": None},
    ]  # fmt: skip
    left = engine.rows("select table_name from information_schema.tables").to_pylist()
    assert left == [{"table_name": "gpu_peak"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# x\na:BIGINT,b:DATE\n1,2026-01-01\n2,soon\n",
            r"gpu_peak\.csv:4: 'soon' is no DATE \(b\)",
        ),
        ("a:BIGINT,b:DATE\n1\n", r"gpu_peak\.csv:2: 1 cells where the first line has 2"),
        ("a:BIGINT,b\n", r"gpu_peak\.csv:1: column 'b': type ''"),
        ("a:HUGEINT\n", r"gpu_peak\.csv:1: column 'a': type 'HUGEINT'"),
        ("# nothing\n", "seed is empty"),
    ],
)
def test_seed_faults_name_the_line(
    engine: DuckEngine, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        engine.bind_seed("gpu_peak", seed(tmp_path, text))
    with pytest.raises(ModelError, match="cannot be read"):
        engine.bind_seed("gpu_peak", tmp_path / "absent.csv")


# -- models -----------------------------------------------------------------------------------


def test_models_are_built_on_each_other(engine: DuckEngine, tmp_path: Path) -> None:
    engine.bind_files("bill", [write(tmp_path / "b.parquet", [1, 2, 3])], SCHEMA)
    engine.build(model("select id from bill", layer="staging", name="stg_bill"))
    engine.build(model("select id from stg_bill where id > 1", layer="intermediate", name="int_a"))
    cost = model("select id + 1 as id from int_a")
    engine.build(cost)
    assert engine.rows("select id from cost order by id").column("id").to_pylist() == [3, 4]
    engine.build(cost)  # again: replaced, not doubled
    assert engine.rows("select count(*) as n from cost").to_pylist() == [{"n": 2}]
    kinds = engine.rows("select table_name, table_type from information_schema.tables").to_pylist()
    assert {k["table_name"]: k["table_type"] for k in kinds} == {
        "bill": "VIEW", "stg_bill": "VIEW", "int_a": "BASE TABLE", "cost": "BASE TABLE",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "mark"),
    [
        ("select cast(1 as integer) as id", "! id BIGINT   id INTEGER"),
        ("select cast(1 as bigint) as number", "! id BIGINT   number BIGINT"),
        ("select cast(1 as bigint) as id, 'x' as more", "! -           more VARCHAR"),
        ("select sum(id) as id from (select cast(1 as bigint) as id) as t", "id HUGEINT"),
    ],
)
def test_columns_must_be_the_headers(engine: DuckEngine, sql: str, mark: str) -> None:
    with pytest.raises(ModelError, match=r"cost\.sql: columns differ") as caught:
        engine.build(model(sql))
    assert mark in str(caught.value)


def test_faults_of_sql_name_the_file_and_its_line(engine: DuckEngine) -> None:
    with pytest.raises(ModelError, match=r"cost\.sql: [\s\S]*LINE 9: from nowhere"):
        engine.build(model("select id\nfrom nowhere"))
    broken = model("select cast(a as bigint) as id\nfrom (values ('x')) as t(a)")
    with pytest.raises(ModelError, match=r"cost\.sql: Conversion Error"):
        engine.build(broken)


def test_time_is_utc_whatever_the_machine_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        with DuckEngine(tmp_path) as engine:
            found = engine.rows(
                "select cast(date_trunc('day', timestamptz '2026-11-01 03:00Z') as varchar) as d"
            )
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found.to_pylist() == [{"d": "2026-11-01 00:00:00+00"}]


# -- checks -----------------------------------------------------------------------------------


def test_keys_are_unique_and_nulls_compare_equal(engine: DuckEngine) -> None:
    cost = model(
        "select id, part from (values (1, 'a'), (1, 'a'), (1, 'b'), (null, 'c'), (null, 'c'),"
        " (null, 'c'), (2, null)) as t(id, part)",
        "id | INTEGER | - | n; part | VARCHAR | - | p",
    )
    both = parse_model(
        cost.sql.join(["/*\npurpose: p\ngrain: g\nkeys: id, part\ncolumns:\n"
                       "    id | INTEGER | - | n\n    part | VARCHAR | - | p\n*/", ""]),
        Path("both.sql"), layer="marts",
    )  # fmt: skip
    engine.build(both)
    (result,) = engine.check(both)
    assert (result.check, result.level, result.passed, result.bad_rows) == (
        "unique_key", "blocking", False, 5,
    )  # fmt: skip
    by_id = sorted(result.sample, key=lambda row: row["row_count"])
    assert by_id == [
        {"id": 1, "part": "a", "row_count": 2},
        {"id": None, "part": "c", "row_count": 3},
    ]


def test_keys_that_differ_pass(engine: DuckEngine) -> None:
    cost = model("select range as id from range(1000)")
    engine.build(cost)
    assert [(r.passed, r.bad_rows, r.sample) for r in engine.check(cost)] == [(True, 0, [])]


def test_row_checks_count_false_and_null(engine: DuckEngine) -> None:
    cost = model(
        "select id, usd from (values (3, 1), (1, -1), (2, null)) as t(id, usd)",
        "id | INTEGER | - | n; usd | INTEGER | - | u",
        more="checks:\n    positive | blocking | usd > 0\n    small | warning | id < 9 -- why\n",
    )
    engine.build(cost)
    key, positive, small = engine.check(cost)
    assert key.passed
    assert small.passed
    assert (small.level, small.sample) == ("warning", [])
    assert (positive.passed, positive.level, positive.bad_rows) == (False, "blocking", 2)
    assert positive.sample == [{"id": 1, "usd": -1}, {"id": 2, "usd": None}]


def test_a_check_model_passes_without_rows(engine: DuckEngine) -> None:
    chk = model("select id from t where id > 7", layer="checks", name="chk_t")
    engine.bind_arrow("t", pa.table({"id": [7, 1]}))
    (result,) = engine.check(chk)
    assert (result.check, result.level, result.passed) == ("chk_t", "warning", True)
    engine.bind_arrow("t", pa.table({"id": list(range(20, 0, -1))}))
    (result,) = engine.check(chk)
    assert (result.passed, result.bad_rows) == (False, 13)
    assert result.sample == [{"id": i} for i in (8, 9, 10, 11, 12)]


# -- results ----------------------------------------------------------------------------------


def test_stream_is_ordered_and_in_the_contracts_schema(engine: DuckEngine) -> None:
    cost = model(
        "select cast(id as bigint) as id, usd, seen, nodes from (values"
        " (2, cast(1 as decimal(38,12)), timestamptz '2026-11-01 00:00:00+00', ['a']),"
        " (1, 2, null, []), (3, null, null, null), (null, 1, null, null))"
        " as t(id, usd, seen, nodes)",
        "id | BIGINT | - | n; usd | DECIMAL(38,12) | USD | u;"
        "seen | TIMESTAMP WITH TIME ZONE | UTC | t; nodes | VARCHAR[] | - | v",
        more="order: usd\n",
    )
    engine.build(cost)
    batches = list(engine.stream(cost))
    assert {b.table for b in batches} == {"cost"}
    rows = pa.Table.from_batches([b.rows for b in batches])
    assert rows.schema.equals(cost.contract().schema, check_metadata=True)
    # usd with nulls first, then the key, nulls first too
    assert rows.column("id").to_pylist() == [3, None, 2, 1]


def test_stream_of_one_month(engine: DuckEngine) -> None:
    cost = model(
        "select id, month from (values (1, date '2026-11-01'), (2, date '2026-12-01'))"
        " as t(id, month)",
        "id | INTEGER | - | n; month | DATE | - | m",
    )
    engine.build(cost)
    december = list(engine.stream(cost, where_month=date(2026, 12, 1)))
    assert [b.rows.to_pylist() for b in december] == [[{"id": 2, "month": date(2026, 12, 1)}]]
    assert list(engine.stream(cost, where_month=date(2027, 1, 1))) == []
    plain = model("select cast(1 as bigint) as id", name="plain")
    engine.build(plain)
    with pytest.raises(ModelError, match=r"plain\.sql: no column month"):
        list(engine.stream(plain, where_month=date(2026, 12, 1)))


def test_stream_is_in_batches_and_may_be_left_early(engine: DuckEngine) -> None:
    rows = 3 * STREAM_ROWS
    cost = model(f"select (range * 7919) % {rows} as id from range({rows})")
    engine.build(cost)
    ids = [i for b in engine.stream(cost) for i in b.rows.column("id").to_pylist()]
    assert ids == list(range(rows))
    stream = engine.stream(cost)
    assert next(stream).rows.num_rows <= STREAM_ROWS
    stream.close()  # type: ignore[attr-defined]
    assert engine.rows("select 1 as a").num_rows == 1


# -- scratch ----------------------------------------------------------------------------------


def test_scratch_is_removed_also_after_a_kill(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    left = scratch / "engine-killed"
    left.mkdir(parents=True)
    (left / "lock").touch()
    (left / "scratch.duckdb").write_bytes(b"x")
    with DuckEngine(scratch) as first:
        assert not left.exists()
        first.bind_arrow("t", pa.table({"a": [1]}))
        with DuckEngine(scratch):  # another engine leaves the one in use alone
            assert len(list(scratch.iterdir())) == 2
        assert first.rows("select a from t").num_rows == 1
    assert list(scratch.iterdir()) == []


def test_bigger_than_memory_spills_and_too_little_is_said(tmp_path: Path) -> None:
    big = model("select range as id, md5(cast(range as varchar)) as text from range(2000000)",
                "id | BIGINT | - | n; text | VARCHAR | - | t", more="order: text\n")  # fmt: skip
    with DuckEngine(tmp_path, memory_limit="60MB", threads=1) as engine:
        engine.build(big)
        last = ""
        for batch in engine.stream(big):
            texts = batch.rows.column("text")
            assert texts[0].as_py() > last
            last = texts[-1].as_py()
    with (
        DuckEngine(tmp_path, memory_limit="1MB", threads=1) as engine,
        pytest.raises(ModelError, match="needs more than memory_limit 1MB"),
    ):
        engine.build(big)


def test_a_wrong_setting_is_a_clear_error(tmp_path: Path) -> None:
    with (
        pytest.raises(ModelError, match="does not start"),
        DuckEngine(tmp_path, memory_limit="much"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
