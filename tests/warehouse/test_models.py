"""Model files: header grammar, dependencies, layering, order."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse import header, sqltypes
from warehouse.errors import ModelError
from warehouse.models import Graph, Model, load_graph, parse_model

HEADER = """/*
purpose: jobs with their team,
    as the mapping says
grain: one row per job
keys: job_id
columns:
    job_id | VARCHAR | - | raw job id
    billed_usd | decimal(38, 12) | USD | what the job costs,
        shared parts included
checks:
    not_negative | blocking | billed_usd >= 0
    has_team | warning | job_id <> '' or
        job_id is null
order: billed_usd
*/
"""
SQL = "select job_id, billed_usd\nfrom int_job\n"


def mart(text: str = HEADER + SQL, name: str = "job_cost") -> Model:
    return parse_model(text, Path(f"marts/{name}.sql"), layer="marts")


def graph(folder: Path, files: dict[str, str], inputs: set[str] | None = None) -> Graph:
    """A graph of files written as `layer/name: SQL`; a plain header with column a is put before."""
    for place, sql in files.items():
        path = folder / f"{place}.sql"
        path.parent.mkdir(exist_ok=True)
        is_check = place.startswith("checks/")
        what = "level: blocking" if is_check else "grain: one row per a\nkeys: a"
        path.write_text(f"/*\npurpose: p\n{what}\ncolumns:\n    a | BIGINT | - | m\n*/\n{sql}\n")
    return load_graph(folder, inputs=inputs or {"bill_line", "gpu_peak", "run_setting"})


def test_header_is_read_whole() -> None:
    model = mart()
    assert model.purpose == "jobs with their team, as the mapping says"
    assert model.grain == "one row per job"
    assert [(c.name, c.type, c.unit) for c in model.columns] == [
        ("job_id", "VARCHAR", ""),
        ("billed_usd", "DECIMAL(38,12)", "USD"),
    ]
    assert model.columns[1].meaning == "what the job costs, shared parts included"
    assert [(c.name, c.level, c.expression) for c in model.checks] == [
        ("not_negative", "blocking", "billed_usd >= 0"),
        ("has_team", "warning", "job_id <> '' or job_id is null"),
    ]
    assert model.order == ("billed_usd", "job_id")  # ends in the key: a unique order
    assert (model.keys, model.version, model.level) == (("job_id",), 1, None)
    assert model.inputs == ("int_job",)


def test_sql_keeps_the_lines_of_the_file() -> None:
    model = mart()
    text = HEADER + SQL
    line = text.split("\n").index("from int_job")
    assert model.sql.split("\n")[line] == "from int_job"


def test_contract_has_arrow_types_and_units() -> None:
    contract = mart(HEADER.replace("*/", "version: 3\n*/") + SQL).contract()
    assert (contract.name, contract.version, contract.key) == ("job_cost", 3, ("job_id",))
    assert contract.schema.field("billed_usd").type == pa.decimal128(38, 12)
    assert contract.schema.field("billed_usd").metadata[b"unit"] == b"USD"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("/*\n", "", 1, "does not begin with a header"),
        ("*/", "", 1, "is not closed"),
        ("grain: one row per job\n", "", 1, "no grain"),
        ("purpose: jobs", "porpoise: jobs", 2, "starts no field"),
        ("keys: job_id\n", "keys: job_id\nkeys: job_id\n", 6, "stands twice"),
        ("keys: job_id", "keys: job", 5, "'job', which is no column"),
        ("keys: job_id", "keys: job_id, job_id", 5, "a column twice"),
        ("order: billed_usd", "order: cost", 14, "'cost', which is no column"),
        ("columns:", "columns: all", 6, "stands beside"),
        ("job_id | VARCHAR | - | raw job id", "job_id | VARCHAR | -", 7, "no row of 4 cells"),
        ("job_id | VARCHAR |", "JobId | VARCHAR |", 7, "name 'JobId'"),
        ("job_id | VARCHAR |", "billed_usd | VARCHAR |", 8, "stands twice"),
        ("VARCHAR", "HUGEINT", 7, "HUGEINT"),
        ("decimal(38, 12)", "DECIMAL(39,12)", 8, "DECIMAL"),
        ("decimal(38, 12)", "TIMESTAMP", 8, "TIMESTAMP"),
        ("| blocking |", "| fatal |", 11, "level 'fatal'"),
        ("billed_usd >= 0", "billed_usd >= ", 11, "cannot be parsed"),
        ("billed_usd >= 0", "cost >= 0", 11, "no column 'cost'"),
        ("billed_usd >= 0", "sum(billed_usd) >= 0", 11, "beyond one row"),
        ("billed_usd >= 0", "exists (select 1 from t)", 11, "beyond one row"),
        ("order: billed_usd", "level: blocking", 14, "a model has no level"),
        ("order: billed_usd", "version: one", 14, "version 'one'"),
        (SQL, "", 6, "found nothing"),
        (SQL, SQL + "; select 1", 18, "select, select"),
        (SQL, "create table x as select 1", 16, "create"),
        (SQL, "select (job_id\nfrom int_job", 17, "cannot be parsed"),
        (SQL, "select job_id,\n*\nfrom int_job", 17, "has a star"),
        (SQL, "select job.*\nfrom int_job as job", 16, "has a star"),
        (SQL, "from int_job", 16, "has a star"),
        (SQL, "select 1 as a from t union all select * from t", 16, "has a star"),
        (SQL, "select job_id from memory.int_job", 16, "is qualified"),
    ],
)
def test_faults_name_file_and_line(old: str, new: str, line: int, message: str) -> None:
    text = HEADER + SQL
    assert old in text
    with pytest.raises(ModelError, match=f"job_cost.sql:{line}: .*{message}") as caught:
        mart(text.replace(old, new, 1))
    assert str(caught.value).endswith((".", "?"))  # says what to do


def test_check_file_has_a_level_and_no_keys() -> None:
    text = "/*\npurpose: p\nlevel: warning\ncolumns:\n    a | DATE | - | m\n*/\nselect a from t"
    check = parse_model(text, Path("chk_x.sql"), layer="checks")
    assert (check.level, check.keys) == ("warning", ())
    with pytest.raises(ModelError, match="no contract"):
        check.contract()
    with pytest.raises(ModelError, match=":3: level 'loud'"):
        parse_model(text.replace("warning", "loud"), Path("chk_x.sql"), layer="checks")
    with pytest.raises(ModelError, match=":4: a check has no keys"):
        parse_model(text.replace("columns", "keys: a\ncolumns"), Path("chk_x.sql"), layer="checks")
    with pytest.raises(ModelError, match="no level"):
        parse_model(text.replace("level: warning\n", ""), Path("chk_x.sql"), layer="checks")


@pytest.mark.parametrize(
    ("layer", "name", "message"),
    [
        ("marts", "stg_x", "wrong prefix"),
        ("marts", "run_x", "wrong prefix"),
        ("staging", "x", "Start it with stg_"),
        ("intermediate", "stg_x", "Start it with int_"),
        ("checks", "x", "Start it with chk_"),
        ("marts", "JobCost", "lower case"),
        ("raw", "x", "is no layer"),
        (".", "x", "is no layer"),
    ],
)
def test_names_follow_their_layer(layer: str, name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_model(HEADER + SQL, Path(f"{name}.sql"), layer=layer)


@pytest.mark.parametrize(
    ("sql", "inputs"),
    [
        ("with t as (select a from x) select a from t", ["x"]),
        ("with t as (select a from t) select a from t", ["t"]),
        ("with t as (select a from u), u as (select a from t) select a from u", ["u"]),
        ("with recursive t as (select a from x union all select a from t) select a from t", ["x"]),
        ("select a from (with t as (select a from y) select a from t) as s, t", ["t", "y"]),
        ("with t as (select a from x) select a from t union all select a from t", ["x"]),
        ("with t as (select a from x) select a from y where exists (select a from t)", ["x", "y"]),
        ("select a from x, lateral (select b from y where y.a = x.a) as l", ["x", "y"]),
        ("select a from unnest(generate_series(1, 3)) as g(a)", []),
        ('select x."end" as a from x left join z using (a)', ["x", "z"]),
    ],
)
def test_inputs_are_tables_and_no_ctes(sql: str, inputs: list[str]) -> None:
    text = HEADER.replace("order: billed_usd\n", "") + sql
    assert list(mart(text).inputs) == inputs


def test_graph_orders_and_walks(tmp_path: Path) -> None:
    found = graph(
        tmp_path,
        {
            "marts/cost": "select a from int_b",
            "marts/total": "select a from cost union all select a from gpu_peak",
            "intermediate/int_b": "select a from stg_z union all select a from int_a",
            "intermediate/int_a": "select a from stg_z",
            "staging/stg_z": "select a from bill_line cross join run_setting",
            "checks/chk_all": "select a from bill_line where a not in (select a from total)",
        },
    )
    assert found.order == ("stg_z", "int_a", "int_b", "cost", "total", "chk_all")
    assert found.downstream(["int_b"]) == ("int_b", "cost", "total", "chk_all")
    assert found.downstream(["gpu_peak"]) == ("total", "chk_all")
    assert found.downstream(["bill_line"]) == found.order
    assert found.upstream(["cost"]) == ("stg_z", "int_a", "int_b", "cost")
    assert found.downstream([]) == ()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"intermediate/int_a": "select a\nfrom bill_line"}, "int_a.sql:9: .*may not read landing"),
        ({"marts/m": "select a\nfrom bill_line"}, "m.sql:9: marts may not read landing"),
        ({"staging/stg_a": "select a from stg_b", "staging/stg_b": "select a from bill_line"},
         "staging may not read staging"),
        ({"marts/m": "select a from gpu_peak", "intermediate/int_a": "select a from m"},
         "intermediate may not read marts"),
        ({"checks/chk_a": "select a from gpu_peak", "marts/m": "select a from chk_a"},
         "marts may not read checks"),
        ({"reports/r": "select a from stg_a", "staging/stg_a": "select a from bill_line"},
         "reports may not read staging"),
        ({"marts/m": "select a from gpu_peek"}, "unknown table gpu_peek. Did you mean gpu_peak"),
        ({"marts/m": "select a from zzz"}, "unknown table zzz. Add a model"),
        ({"intermediate/int_a": "select a from int_b", "intermediate/int_b": "select a from int_a"},
         "int_. -> int_. -> int_."),
        ({"marts/m": "select a from m"}, "m -> m"),
        ({"marts/gpu_peak": "select 1 as a"}, "taken by an input table"),
        ({"marts/m": "select 1 as a", "reports/m": "select 1 as a"}, "taken by .*marts/m.sql"),
    ],
)  # fmt: skip
def test_layering_is_enforced(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph(tmp_path, files)


def test_fingerprint_is_of_what_counts(tmp_path: Path) -> None:
    files = {"staging/stg_a": "select a from bill_line"}
    first = graph(tmp_path, files).fingerprint
    path = tmp_path / "staging/stg_a.sql"
    path.write_text(path.read_text().replace("\n", "  \r\n"), newline="")
    assert load_graph(tmp_path, inputs={"bill_line"}).fingerprint == first
    assert graph(tmp_path, {"staging/stg_a": "select 1 as a from bill_line"}).fingerprint != first
    path.write_text(path.read_text().replace("purpose: p", "purpose: q"))
    assert load_graph(tmp_path, inputs={"bill_line"}).fingerprint != first


# -- properties -------------------------------------------------------------------------------

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
words = st.lists(
    st.from_regex(r"[A-Za-z0-9.,;:()<>=+'-]{1,8}", fullmatch=True), min_size=1, max_size=8
)
types = st.sampled_from(
    ["BIGINT", "INTEGER", "VARCHAR", "VARCHAR[]", "BOOLEAN", "DATE", "DOUBLE",
     "TIMESTAMP WITH TIME ZONE", "DECIMAL(38,12)", "DECIMAL(1,0)"]
)  # fmt: skip
columns = st.lists(
    st.tuples(names, types, st.sampled_from(["-", "USD", "B/s"]), words),
    min_size=1, max_size=6, unique_by=lambda c: c[0],
)  # fmt: skip


@given(purpose=words, grain=words, columns=columns, wrap=st.booleans(), data=st.data())
def test_a_written_header_is_read_back(
    purpose: list[str],
    grain: list[str],
    columns: list[tuple[str, str, str, list[str]]],
    wrap: bool,
    data: st.DataObject,
) -> None:
    keys = data.draw(st.lists(st.sampled_from([c[0] for c in columns]), min_size=1, unique=True))
    gap = "\n        " if wrap else " "
    rows = "".join(f"    {n} | {t.lower()} |  {u} | {gap.join(m)}\n" for n, t, u, m in columns)
    text = (
        f"/*\npurpose: {gap.join(purpose)}\n\ngrain: {' '.join(grain)}\n"
        f"columns:\n{rows}keys: {', '.join(keys)}\n*/ select 1"
    )
    lines, sql = header.split(text, "f.sql")
    head = header.parse(lines, "f.sql")
    assert (head.purpose, head.grain) == (" ".join(purpose), " ".join(grain))
    assert head.keys == head.order == tuple(keys)
    assert [(c.name, c.type, c.unit or "-", c.meaning) for c in head.columns] == [
        (n, t, u, " ".join(m)) for n, t, u, m in columns
    ]
    assert sql == "\n" * text.count("\n") + " select 1"


@given(st.text(alphabet="abc:|,/*\n \t-", max_size=200))
def test_no_text_breaks_the_parser_otherwise_than_by_a_model_error(text: str) -> None:
    try:
        found = parse_model(text, Path("m.sql"), layer="marts").name
    except ModelError as error:
        found = str(error)
    assert found == "m" or found.startswith("m.sql:")


@given(types)
def test_types_survive_the_way_to_arrow_and_back(sql_type: str) -> None:
    assert sqltypes.sql_type(sqltypes.arrow_type(sql_type)) == sql_type


def test_types_outside_the_list_are_refused() -> None:
    assert sqltypes.sql_type(pa.float32()) == "FLOAT"
    with pytest.raises(ValueError, match="no SQL type"):
        sqltypes.sql_type(pa.timestamp("ns", tz="UTC"))
    assert not sqltypes.same_type(pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
    assert sqltypes.same_type(pa.list_(pa.field("l", pa.string())), pa.list_(pa.string()))
