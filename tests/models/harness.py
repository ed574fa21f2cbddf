"""Run one model on a handful of rows, so that a rule's test shows input and answer on one screen.

    def test_a_hole_ends_an_idle_run() -> None:
        expect(
            "int_idle_run",
            {
                "int_activity_run": '''
                    gpu_uuid | start_ns | end_ns   | activity
                    GPU-a    | 10:00:00 | 10:05:00 | quiet
                    GPU-a    | 10:06:00 | 10:07:00 | quiet
                ''',
            },
            '''
                gpu_uuid | start_ns | end_ns
                GPU-a    | 10:00:00 | 10:05:00
            ''',
            settings={"idle_after_ns": "5min"},
        )

Tables are given at any depth below the model, as text like this or as a list of dicts: models
between them and the tested one are built. A column left out is null, an input left out is empty; a
seed left out is the shipped one, run_ tables left
out are those of a run over November 2026. Types come from the upstream model's header, the landing
contract or the seed.

A cell is what DuckDB casts to the column's type, and besides:
- empty is null, '' is the empty text; text in list[dict] rows stays as it is
- 1_000_000 is a number
- in times, 10:00:00.5 is that time on the test day (2026-11-01), UTC
- in whole numbers (epoch ns, durations in ns), 10:00:00.5 and 2026-11-01 10:00:00 are epoch ns,
  and 5s, 250ms, 3us, 2min, 1h are ns
"""

from __future__ import annotations

import atexit
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from warehouse import sqltypes
from warehouse.contracts import LANDING
from warehouse.engines.duckdb import DuckEngine
from warehouse.models import Model, parse_model
from warehouse.run_tables import RUN, RUN_SETTING, run_hour, run_setting
from warehouse.seeds import read_seed

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models" / "sql"
SEEDS = ROOT / "models" / "seeds"
DAY = "2026-11-01"

Rows = Sequence[Mapping[str, Any]] | str

_UNITS = {"h": 3_600_000_000_000, "min": 60_000_000_000, "s": 10**9, "ms": 10**6, "us": 10**3}
_LENGTH = re.compile(rf"(-?[\d_.]+) ?({'|'.join(_UNITS)})")
_CLOCK = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?")
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(?:Z|\+00(?::00)?)?"
)


def run_model(
    model_name: str, tables: Mapping[str, Rows], *, settings: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Run one model on these rows; its rows in publishing order, with Python values.

    `settings` changes the row of run_setting (window: November 2026). Raises KeyError for a table
    that the model does not rest on or a column that a table does not have.
    """
    model = find_model(model_name)
    engine = _built(model, tables, settings or {})
    order = ", ".join(f'"{column}" nulls first' for column in model.order) or "all"
    rows: list[dict[str, Any]] = engine.rows(
        f"select * from {model_name} order by {order}"
    ).to_pylist()
    return rows


def failed_checks(
    model_name: str, tables: Mapping[str, Rows], *, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Names of the model's own checks, unique_key among them, that fail on these rows."""
    model = find_model(model_name)
    engine = _built(model, tables, settings or {})
    return [result.check for result in engine.check(model) if not result.passed]


def _built(model: Model, tables: Mapping[str, Rows], settings: Mapping[str, Any]) -> DuckEngine:
    unread = tables.keys() - ancestors(model.name)
    if unread:
        raise KeyError(f"{model.name} rests on nothing called {sorted(unread)}")
    engine = _engine()
    bound: set[str] = set()
    for name in model.inputs:
        _bind(engine, name, tables, settings, bound)
    _build(engine, model)
    return engine


def _bind(
    engine: DuckEngine, name: str, tables: Mapping[str, Rows], settings: Mapping[str, Any],
    bound: set[str],
) -> None:  # fmt: skip
    """Bind one input: the rows given, the shipped seed, or a model built on what was given."""
    if name in bound:
        return
    bound.add(name)
    if name in tables:
        engine.bind_arrow(name, _typed(engine, name, types(name), tables[name]))
    elif name in RUN:
        engine.bind_arrow(name, _run_table(name, settings))
    elif (SEEDS / f"{name}.csv").exists():
        engine.bind_arrow(name, _seed(SEEDS / f"{name}.csv"))
    elif ancestors(name) & tables.keys():
        for upstream in find_model(name).inputs:
            _bind(engine, upstream, tables, settings, bound)
        _build(engine, find_model(name))
    else:
        engine.bind_arrow(name, _typed(engine, name, types(name), []))


def _build(engine: DuckEngine, model: Model) -> None:
    # A table, also in staging: the same name is an input's table in another test.
    engine.build(replace(model, layer="intermediate"))


def ancestors(name: str) -> frozenset[str]:
    """All that a model rests on, directly or not; nothing for an input."""
    return _ancestors(name, MODELS)


@cache
def _ancestors(name: str, models: Path) -> frozenset[str]:
    if name in LANDING or name in RUN or (SEEDS / f"{name}.csv").exists():
        return frozenset()
    inputs = find_model(name).inputs
    return frozenset(inputs).union(*(_ancestors(upstream, models) for upstream in inputs))


def expect(
    model_name: str,
    tables: Mapping[str, Rows],
    expected: Rows,
    *,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Assert what a model makes of these rows: every row, in any order.

    Only the columns that `expected` names are compared.
    """
    found = run_model(model_name, tables, settings=settings)
    wanted_cells = _cells(expected)
    columns = list(wanted_cells[0]) if wanted_cells else []
    wanted = _typed(_engine(), model_name, types(model_name), expected).to_pylist()
    left = sorted(_shown(row, columns or list(row)) for row in found)
    right = sorted(_shown(row, columns) for row in wanted)
    lines = [f"{model_name} gives", *(left or ["-"]), "expected", *(right or ["-"])]
    assert left == right, "\n".join(lines)


def filled(rows: Rows, **same: Any) -> list[dict[str, Any]]:
    """Rows with columns that are the same in all of them, where a row does not name them itself."""
    return [{**same, **row} for row in _cells(rows)]


def find_model(name: str) -> Model:
    """The model of that name, parsed alone: a fault in another file does not matter here."""
    for path in MODELS.rglob(f"{name}.sql"):
        return _parsed(path.read_text(), path)
    raise KeyError(f"no model {name} below {MODELS}")


@cache
def _parsed(text: str, path: Path) -> Model:
    return parse_model(text, path, layer=path.parent.name)


@cache
def types(name: str) -> dict[str, str]:
    """Column names and SQL types of a landing table, run table, seed or model."""
    if name in LANDING or name in RUN:
        schema = (LANDING.get(name) or RUN[name]).schema
        return {field.name: sqltypes.sql_type(field.type) for field in schema}
    if (SEEDS / f"{name}.csv").exists():
        return dict(read_seed(SEEDS / f"{name}.csv").columns)
    return {column.name: column.type for column in find_model(name).columns}


def empty_table(name: str) -> pa.Table:
    """No rows, with a table's columns and types."""
    fields = types(name).items()
    return pa.schema(
        [(c, pa.float32() if t == "FLOAT" else sqltypes.arrow_type(t)) for c, t in fields]
    ).empty_table()


@cache
def _engine() -> DuckEngine:
    """One engine for the process: to open one takes longer than most tests."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(DuckEngine(Path(folder), memory_limit="1GB", threads=1))


@cache
def _seed(path: Path) -> pa.Table:
    """A seed with its types; shipped seeds are read once."""
    engine = _engine()
    engine.bind_seed(path.stem, path)
    return engine.rows(f'select * from "{path.stem}"')


def _run_table(name: str, settings: Mapping[str, Any]) -> pa.Table:
    values: dict[str, Any] = {
        "window_start_ns": f"{DAY} 00:00:00",
        "window_end_ns": "2026-12-01 00:00:00",
        **settings,
    }
    for column in values.keys() & {c.name for c in RUN_SETTING.columns if c.name[-3:] == "_ns"}:
        values[column] = int(_cell(values[column], "BIGINT") or 0)
    start, end = values.pop("window_start_ns"), values.pop("window_end_ns")
    billed = values.pop("billed_start_ns", start), values.pop("billed_end_ns", end)
    if name == "run_hour":
        return run_hour(start, end)
    return run_setting(start, end, billed=billed, **values)


def _typed(engine: DuckEngine, name: str, columns: dict[str, str], rows: Rows) -> pa.Table:
    """Rows with all columns of a table, in its types."""
    given = _cells(rows)
    if not given:
        return empty_table(name)
    for row in given:
        unknown = row.keys() - columns.keys()
        if unknown:
            raise KeyError(f"{name} has no column {sorted(unknown)}; it has {', '.join(columns)}")
    texts = {
        column: pa.array([_cell(row.get(column), type_) for row in given], pa.string())
        for column, type_ in columns.items()
    }
    engine.bind_arrow("given_cells", pa.table({"given_row": list(range(len(given))), **texts}))
    casts = ", ".join(f'cast("{c}" as {type_}) as "{c}"' for c, type_ in columns.items())
    return engine.rows(f"select {casts} from given_cells order by given_row")


def _cells(rows: Rows) -> list[dict[str, Any]]:
    if not isinstance(rows, str):
        return [dict(row) for row in rows]
    lines = [line.strip() for line in rows.splitlines() if line.strip()]
    if not lines:
        return []
    names = [name.strip() for name in lines[0].split("|")]
    found = []
    for line in lines[1:]:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != len(names):
            raise ValueError(f"{line!r} has {len(cells)} cells, not {len(names)}")
        found.append(
            {
                name: None if cell == "" else "" if cell == "''" else cell
                for name, cell in zip(names, cells, strict=True)
            }
        )
    # An expectation of no rows still names its columns.
    return found


def _cell(value: Any, type_: str) -> str | None:
    """One value as text that DuckDB casts to the type."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(str(item) for item in value) + "]"
    if isinstance(value, datetime | date):
        value = value.isoformat()
    elif isinstance(value, Decimal):
        value = f"{value:f}"
    text = str(value)
    if type_ == "TIMESTAMP WITH TIME ZONE" and _CLOCK.fullmatch(text):
        return f"{DAY} {text}"
    if type_ in {"BIGINT", "INTEGER", "DECIMAL(38,0)"}:
        return _whole(text)
    if type_ == "DOUBLE" or type_.startswith("DECIMAL"):
        return text.replace("_", "")
    return text


def _whole(text: str) -> str:
    length = _LENGTH.fullmatch(text)
    if length:
        return str(int(Decimal(length[1].replace("_", "")) * _UNITS[length[2]]))
    instant = _INSTANT.fullmatch(f"{DAY} {text}" if _CLOCK.fullmatch(text) else text)
    if instant:
        seconds = int(datetime.fromisoformat(f"{instant[1]}+00:00").timestamp())
        return str(seconds * 10**9 + int((instant[2] or "").ljust(9, "0")))
    return text.replace("_", "")


def _shown(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    return " | ".join(_plain(row[column]) for column in columns)


def _plain(value: Any) -> str:
    if isinstance(value, Decimal):
        # Scale is no difference: 1.50 is 1.5.
        return f"{value.normalize():f}"
    return repr(value) if isinstance(value, str | float) else str(value)
