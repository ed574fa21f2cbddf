"""The harness itself: what a cell means, and that slips in a test are caught."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.models import harness
from tests.models.harness import expect, failed_checks, filled, run_model

STEP = """/*
purpose: p
grain: one row per step
keys: step
columns:
    step | BIGINT | - | number
    seen | TIMESTAMP WITH TIME ZONE | UTC | when
    end_ns | BIGINT | ns | epoch
    usd | DECIMAL(38,12) | USD | cost
    note | VARCHAR | - | note
    tags | VARCHAR[] | - | tags
    ok | BOOLEAN | - | flag
    ratio | DOUBLE | ratio | ratio
*/
select 1 as never_run
"""
COPY = """/*
purpose: p
grain: one row per step
keys: step
columns:
    step | BIGINT | - | number
    seen | TIMESTAMP WITH TIME ZONE | UTC | when
    end_ns | BIGINT | ns | epoch
    usd | DECIMAL(38,12) | USD | cost
    note | VARCHAR | - | note
    tags | VARCHAR[] | - | tags
    ok | BOOLEAN | - | flag
    ratio | DOUBLE | ratio | ratio
    idle_ns | BIGINT | ns | the setting
    peak | DECIMAL(38,0) | FLOP/s | the seed
*/
select
    step.step, step.seen, step.end_ns, step.usd, step.note, step.tags, step.ok, step.ratio,
    setting.idle_after_ns as idle_ns, seed.peak
from int_step as step
cross join run_setting as setting
left join seed_peak as seed on seed.note = step.note
"""


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    models, seeds = tmp_path / "sql", tmp_path / "seeds"
    for layer in ("intermediate", "marts"):
        (models / layer).mkdir(parents=True)
    seeds.mkdir()
    (models / "intermediate" / "int_step.sql").write_text(STEP)
    (models / "marts" / "step_copy.sql").write_text(COPY)
    (models / "marts" / "broken.sql").write_text("no model at all")
    (seeds / "seed_peak.csv").write_text("note:VARCHAR,peak:DECIMAL(38,0)\nx,7\n")
    monkeypatch.setattr(harness, "MODELS", models)
    monkeypatch.setattr(harness, "SEEDS", seeds)
    harness.types.cache_clear()
    yield
    harness.types.cache_clear()


def test_cells_become_typed_values() -> None:
    rows = run_model(
        "step_copy",
        {
            "int_step": """
                step | seen     | end_ns                 | usd       | note | tags   | ok   | ratio
                2    | 10:00:05 | 10:00:00.000000001     | 1_000.5   | x    | [a, b] | true | 1e-3
                1    |          | 2026-11-01 00:00:01.5  |           | ''   | []     |      |
                1_003| 2026-11-02 00:00:00+00 | 2.5ms    | -1        |      |        |      |
            """
        },
        settings={"idle_after_ns": "5s"},
    )
    start = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) * 10**9
    first, second, third = rows
    assert first["note"] == ""
    assert first["end_ns"] == start + 1_500_000_000
    assert first["tags"] == []
    assert first["seen"] is first["usd"] is first["ok"] is first["peak"] is None
    assert second == {
        "step": 2, "seen": datetime(2026, 11, 1, 10, 0, 5, tzinfo=UTC),
        "end_ns": start + 36_000 * 10**9 + 1, "usd": Decimal("1000.5"), "note": "x",
        "tags": ["a", "b"], "ok": True, "ratio": 0.001, "idle_ns": 5 * 10**9, "peak": Decimal(7),
    }  # fmt: skip
    assert (third["step"], third["end_ns"], third["note"]) == (1003, 2_500_000, None)


def test_dicts_take_python_values() -> None:
    when = datetime(2026, 11, 1, 0, 0, 0, 250_000, tzinfo=UTC)
    row = {
        "step": 3, "seen": when, "end_ns": when, "usd": Decimal("1E+2"), "note": "",
        "tags": ["a"], "ok": False, "ratio": 0.1,
    }  # fmt: skip
    (found,) = run_model("step_copy", {"int_step": [row], "seed_peak": []})
    assert found["seen"] == when
    assert found["end_ns"] == int(when.timestamp()) * 10**9 + 250_000_000
    assert (found["usd"], found["note"], found["tags"]) == (Decimal(100), "", ["a"])
    assert (found["ok"], found["ratio"], found["idle_ns"]) == (False, 0.1, 300 * 10**9)


def test_expect_compares_the_named_columns_in_any_order() -> None:
    tables = {"int_step": "step | usd\n1 | 1.50\n2 |\n"}
    expect("step_copy", tables, "usd | step\n | 2\n1.5 | 1\n", settings={"idle_after_ns": 1})
    expect("step_copy", {}, "step | usd")
    with pytest.raises(AssertionError, match="step_copy gives"):
        expect("step_copy", tables, "step | usd\n1 | 1.5\n2 | 0\n")
    with pytest.raises(AssertionError, match="expected\n-"):
        expect("step_copy", tables, "step | usd")


def test_no_row_of_an_earlier_run_is_left() -> None:
    assert len(run_model("step_copy", {"int_step": "step\n1\n2\n"})) == 2
    assert run_model("step_copy", {}) == []


def test_filled_adds_what_is_the_same_in_all_rows() -> None:
    rows = filled("step | note\n1 | x\n2 |\n", usd="3", note="never")
    expect("step_copy", {"int_step": rows}, "step | note | usd\n1 | x | 3\n2 | | 3\n")


def test_failed_checks_are_named() -> None:
    assert failed_checks("step_copy", {"int_step": "step\n1\n2\n"}) == []
    assert failed_checks("step_copy", {"int_step": "step\n1\n1\n"}) == ["unique_key"]


def test_slips_are_caught() -> None:
    with pytest.raises(KeyError, match="rests on nothing called"):
        run_model("step_copy", {"int_stop": []})
    with pytest.raises(KeyError, match="int_step has no column"):
        run_model("step_copy", {"int_step": [{"stepp": 1}]})
    with pytest.raises(KeyError, match="run_setting has no"):
        run_model("step_copy", {}, settings={"idle": 1})
    with pytest.raises(KeyError, match="no model"):
        run_model("step_cost", {})
    with pytest.raises(ValueError, match="has 1 cells, not 2"):
        run_model("step_copy", {"int_step": "step | usd\n1\n"})
