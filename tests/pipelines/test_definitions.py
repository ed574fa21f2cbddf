"""The scheduler's definitions: complete, as the golden graph has them, and loadable anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.orchestration import checks, watch
from pipelines.orchestration.deployment import config_path, first_day
from pipelines.orchestration.partitions import calendar, months_between
from tests.pipelines.command import cluster
from tests.pipelines.orchestrated import definitions, shipped
from warehouse.contracts import LANDING
from warehouse.shipped import seeds

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "asset_graph.json"
UPDATE = "PLUMBLINE_UPDATE_GOLDEN"


@pytest.fixture(scope="module")
def defs() -> dg.Definitions:
    return definitions("")


@pytest.fixture(scope="module")
def specs(defs: dg.Definitions) -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def check_specs(defs: dg.Definitions) -> list[dg.AssetCheckSpec]:
    return [
        spec
        for assets in defs.assets or ()
        if isinstance(assets, dg.AssetsDefinition)
        for spec in assets.check_specs
    ]


def asset_graph(defs: dg.Definitions, specs: dict[str, dg.AssetSpec]) -> dict[str, Any]:
    """Keys, dependencies, partitions and checks, as the golden file has them."""
    kinds = {
        None: None,
        **{k: k.__name__ for k in (dg.DailyPartitionsDefinition, dg.MonthlyPartitionsDefinition)},
    }
    found: dict[str, Any] = {
        name: {
            "group": spec.group_name,
            "partitions": kinds[spec.partitions_def and type(spec.partitions_def)],
            "deps": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
            "checks": {},
        }
        for name, spec in sorted(specs.items())
    }  # fmt: skip
    for check in check_specs(defs):
        level = "blocking" if check.blocking else "warning"
        found[check.asset_key.to_user_string()]["checks"][check.name] = level
    return found


def test_definitions_validate(defs: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(defs)


def test_the_asset_graph_is_the_golden_one(
    defs: dg.Definitions, specs: dict[str, dg.AssetSpec]
) -> None:
    found = json.dumps(asset_graph(defs, specs), indent=1, sort_keys=True) + "\n"
    if os.environ.get(UPDATE):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8"), (
        f"the asset graph changed: look at the change with {UPDATE}=1 pytest "
        "tests/pipelines/test_definitions.py, then git diff tests/golden"
    )


def test_every_table_is_an_asset_that_says_what_it_is(specs: dict[str, dg.AssetSpec]) -> None:
    models = {m.name: m for m in shipped().models.values() if m.layer != "checks"}
    read = {name for model in shipped().models.values() for name in model.inputs}
    assert specs.keys() == {*LANDING, *models, *(read & seeds().keys()), "report"}
    for name, model in models.items():
        spec = specs[name]
        assert spec.group_name == model.layer
        assert model.purpose[1:20] in (spec.description or "")
        columns = spec.metadata["dagster/column_schema"].columns
        assert [(c.name, c.type) for c in columns] == [(c.name, c.type) for c in model.columns]
        assert {dep.asset_key.to_user_string() for dep in spec.deps} == {
            name for name in model.inputs if not name.startswith("run_")
        }
    for name, contract in LANDING.items():
        spec = specs[name]
        assert contract.grain[1:] in (spec.description or "")
        columns = spec.metadata["dagster/column_schema"].columns
        assert [c.name for c in columns] == [c.name for c in contract.columns]
        assert [c.constraints.nullable for c in columns] == [c.nullable for c in contract.columns]
        units = [c.unit for c in contract.columns if c.unit]
        assert all(
            any(f"[{unit}]" in (c.description or "") for c in columns) for unit in units
        ), name  # fmt: skip


def test_every_check_of_a_model_is_an_asset_check(defs: dg.Definitions) -> None:
    found = {(s.asset_key.to_user_string(), s.name): s.blocking for s in check_specs(defs)}
    wanted: dict[tuple[str, str], bool] = {}
    for model in shipped().models.values():
        if model.layer == "checks":
            home = checks.home(shipped(), model)
            assert home in model.inputs
            wanted[home, model.name] = model.level == "blocking"
        else:
            wanted[model.name, "unique_key"] = True
            wanted |= {(model.name, c.name): c.level == "blocking" for c in model.checks}
    watched = {(s.asset_key.to_user_string(), s.name): s.blocking for s in watch.specs()}
    assert found == wanted | watched
    assert not any(watched.values())


def test_partitions_are_shared_and_a_range_is_one_run(
    defs: dg.Definitions, specs: dict[str, dg.AssetSpec]
) -> None:
    by_kind: dict[str, set[int]] = {}
    for spec in specs.values():
        if spec.partitions_def is not None:
            name = type(spec.partitions_def).__name__
            by_kind.setdefault(name, set()).add(id(spec.partitions_def))
    assert {name: len(ids) for name, ids in by_kind.items()} == {
        "DailyPartitionsDefinition": 1, "MonthlyPartitionsDefinition": 1,
    }  # fmt: skip
    days, months = specs["gpu_sample"].partitions_def, specs["bill_line"].partitions_def
    assert months is specs["waste_team_month"].partitions_def
    assert days is not None
    assert months is not None
    assert months.get_partition_keys() == ["2026-09-01", "2026-10-01", "2026-11-01"]
    assert days.get_partition_keys()[::90] == ["2026-09-01", "2026-11-30"]
    for assets in defs.assets or ():
        if isinstance(assets, dg.AssetsDefinition):
            assert assets.backfill_policy == dg.BackfillPolicy.single_run()
            assert assets.op.pool == (None if assets.op.name == "write_report" else "duckdb")


def test_calendars_go_on_with_the_clock() -> None:
    found = calendar(date(2026, 1, 15))
    assert found.months.get_first_partition_key() == "2026-01-01"
    assert found.months.end is None
    assert not found.has_month(date(2025, 12, 1))
    assert found.has_month(date(2026, 1, 1))
    assert months_between(date(2025, 12, 31), date(2026, 2, 1)) == [
        date(2025, 12, 1), date(2026, 1, 1), date(2026, 2, 1),
    ]  # fmt: skip


def test_the_configuration_is_named_or_found_or_the_example(tmp_path: Path, root: Path) -> None:
    mine = cluster(tmp_path)
    (tmp_path / "a").mkdir()
    assert config_path({"PLUMBLINE_CONFIG": str(mine)}, start=root) == str(mine)
    assert config_path({}, start=tmp_path / "a") == str(mine)
    example = root / "examples" / "h200" / "plumbline.toml"
    assert config_path({}, start=Path("/")) == str(example)


def test_the_first_day(tmp_path: Path) -> None:
    today = date(2026, 12, 1)
    assert first_day("", today=today) == date(2025, 1, 1)
    assert first_day(str(tmp_path / "none.toml"), today=today) == date(2025, 1, 1)
    path = cluster(tmp_path)
    assert first_day(str(path), today=today) == date(2026, 11, 10)  # what sacct covers
    text = path.read_text()
    path.write_text(text.replace('root = "out"', 'root = "out"\nfirst_day = 2026-10-05'))
    assert first_day(str(path), today=today) == date(2026, 10, 5)
    path.write_text(text.replace('covers = ["2026-11-10', 'covers = ["1970-01-02'))
    assert first_day(str(path), today=today).year == 2016


def test_check_defs_works_without_a_configuration_of_ones_own(root: Path) -> None:
    """What `dg check defs` does, in a fresh process and with every warning an error."""
    environ = {name: value for name, value in os.environ.items() if name != "PLUMBLINE_CONFIG"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c",
         "import dagster as dg; from pipelines.definitions import defs; "
         "dg.Definitions.validate_loadable(defs)"],
        cwd=root, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
