"""Every model file: it parses, keeps the layering, runs on DuckDB with its header's columns, and
passes the transpiler to Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.harness import MODELS, SEEDS, empty_table, find_model
from warehouse.contracts import LANDING
from warehouse.engines.duckdb import DuckEngine
from warehouse.models import load_graph
from warehouse.portable import lint_model, to_spark
from warehouse.run_tables import RUN

FILES = sorted(path.relative_to(MODELS).as_posix() for path in MODELS.rglob("*.sql"))
INPUTS = {*LANDING, *RUN, *(path.stem for path in SEEDS.glob("*.csv"))}


def test_the_graph_loads() -> None:
    graph = load_graph(MODELS, inputs=INPUTS)
    assert len(graph.order) == len(FILES)
    assert {"bill_line", "job_attempt"} <= {i for m in graph.models.values() for i in m.inputs}


@pytest.mark.parametrize("file", FILES)
def test_columns_are_the_headers(file: str, tmp_path: Path) -> None:
    model = find_model(Path(file).stem)
    with DuckEngine(tmp_path, memory_limit="1GB", threads=1) as engine:
        for name in model.inputs:
            engine.bind_arrow(name, empty_table(name))
        engine.build(model)
        for result in engine.check(model):
            assert result.bad_rows == len(result.sample) == 0 or model.layer != "checks"


@pytest.mark.parametrize("file", FILES)
def test_passes_to_spark(file: str) -> None:
    assert to_spark(find_model(Path(file).stem).sql)


@pytest.mark.parametrize("file", FILES)
def test_is_in_the_portable_subset(file: str) -> None:
    findings = lint_model(find_model(Path(file).stem))
    assert not findings, "\n".join(map(str, findings))


@pytest.mark.parametrize("seed", sorted(path.name for path in SEEDS.glob("*.csv")))
def test_seeds_are_typed_and_name_their_source(seed: str, tmp_path: Path) -> None:
    assert (SEEDS / seed).read_text().startswith("#")
    with DuckEngine(tmp_path, memory_limit="1GB", threads=1) as engine:
        engine.bind_seed("seed", SEEDS / seed)
        assert engine.rows("select * from seed").num_rows > 0
