"""The house's rules: who may import whom, how long a module may be, and what --help may load."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.models import LAYERS
from warehouse.shipped import graph

REPO = Path(__file__).resolve().parent.parent
ROOMS = ("pipelines", "reports", "ingest", "warehouse", "models")

#: What modules of a room may import of ours: a room's name, or one module of it.
ALLOWED: dict[str, frozenset[str]] = {
    "pipelines": frozenset({"pipelines", "reports", "ingest", "warehouse"}),
    "reports": frozenset({"reports", "warehouse"}),
    "ingest": frozenset({"ingest", "warehouse.contracts", "warehouse.errors"}),
    "warehouse": frozenset({"warehouse"}),
    "models": frozenset(),
}
MOST_LINES = 500
#: Loading any of these costs more than answering --help does.
HEAVY = ("duckdb", "pyarrow", "sqlglot", "dagster", "boto3", "botocore", "google", "pynvml", "rich")


def modules() -> list[Path]:
    """Every Python file of the rooms."""
    return sorted(path for room in ROOMS for path in (REPO / room).rglob("*.py"))


def imported(source: str, package: str) -> Iterator[tuple[int, str]]:
    """The modules that a source text imports, as (line, dotted name), wherever in it that happens.

    `from a import b` gives `a.b`, since b may be a module; import_module("a.b") counts as well.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) + 1 - node.level]
            start = ".".join(
                [*(base if node.level else []), *([node.module] if node.module else [])]
            )
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("import_module")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, str(node.args[0].value)


def forbidden(source: str, room: str, package: str) -> list[str]:
    """The imports of ours that a module of a room must not have, as `line: name`."""
    found = []
    for line, name in imported(source, package):
        ours = name.split(".")[0] in ROOMS or name.split(".")[0] in {"tests", "docs", "bench"}
        if ours and not any(f"{name}.".startswith(f"{part}.") for part in ALLOWED[room]):
            found.append(f"{line}: {name}")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(REPO)))
def test_imports_go_one_way(path: Path) -> None:
    relative = path.relative_to(REPO)
    package = ".".join(relative.parts[:-1])
    assert forbidden(path.read_text(encoding="utf-8"), relative.parts[0], package) == []


@pytest.mark.parametrize(
    ("source", "room", "faults"),
    [
        ("from warehouse.contracts import LANDING", "ingest", []),
        ("from warehouse import contracts, errors", "ingest", []),
        ("from warehouse import store", "ingest", ["1: warehouse.store"]),
        ("import warehouse.store", "ingest", ["1: warehouse.store"]),
        (
            "def f():\n    from pipelines.config import Config",
            "ingest",
            ["2: pipelines.config.Config"],
        ),
        ("from ingest.rows import Rows", "warehouse", ["1: ingest.rows.Rows"]),
        ("from .. import pipelines", "warehouse", []),
        ("import_module('ingest.rows')", "warehouse", ["1: ingest.rows"]),
        ("import contractsx", "ingest", []),
        ("from tests.oracle import jobs", "pipelines", ["1: tests.oracle.jobs"]),
    ],
)
def test_the_import_rule_finds_what_it_should(source: str, room: str, faults: list[str]) -> None:
    assert forbidden(source, room, f"{room}.part") == faults


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(REPO)))
def test_no_module_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_models_read_their_own_layer_and_those_below() -> None:
    """The loader refuses anything else; here the rule stands beside the shipped graph."""
    models = graph().models
    kinds = {
        model.name: {models[i].layer for i in model.inputs if i in models}
        for model in models.values()
        if model.layer != "checks"
    }
    below = {
        "staging": set[str](),
        "intermediate": {"staging", "intermediate"},
        "marts": {"staging", "intermediate", "marts"},
        "reports": {"marts", "reports"},
    }
    assert set(below) | {"checks"} == set(LAYERS)
    assert {n: k - below[models[n].layer] for n, k in kinds.items()} == {n: set() for n in kinds}
    assert all("landing" not in LAYERS[name].reads for name in below if name != "staging")


#: Its files are databases: it lists a table's columns, without a condition or a computation.
DATABASE_READER = "ingest/traces/nsys_tables.py"


def test_readers_hold_no_sql() -> None:
    """What decides a number must be found in models/sql."""
    words = ("select ", "insert into ", "create view ", "create table ", "copy (")
    found = []
    for path in sorted((REPO / "ingest").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        prose = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        found += [
            f"{path.relative_to(REPO)}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in prose
            and node.value.lower().lstrip().startswith(words)
        ]
    assert [place for place in found if not place.startswith(DATABASE_READER)] == []


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import json, sys\n"
        "from pipelines.cli import cli\n"
        "try:\n"
        "    cli(['--help'], prog_name='plumbline')\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        f"print(json.dumps(sorted(m for m in {HEAVY!r} if m in sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=REPO, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Usage: plumbline" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1]) == []
