"""The recording moved across the end of an hour and of a month: the same totals."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import Config, load_config
from pipelines.run import Outcome, run
from tests.pipelines.published import NS, Published, quiet

#: 2026-11-30 21:33:20 UTC, in the middle of job 1003 on the one-GPU machine.
INSIDE_NS = 1_796_074_400 * NS
TOTALS = """
    select payer_team, bucket, waste_class, cause, sum(gpu_ns) as gpu_ns,
        sum(billed_usd) as billed_usd, sum(effective_usd) as effective_usd
    from gpu_hour_state where bucket <> 'non_gpu' group by all order by all
"""


@pytest.fixture(scope="module")
def write(root: Path) -> Callable[..., object]:
    """The example's own writer."""
    path = root / "examples" / "h200" / "make.py"
    spec = importlib.util.spec_from_file_location("h200_make", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["h200_make"] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    writer: Callable[..., object] = module.write
    return writer


def totals(published: Published) -> dict[tuple[str, ...], dict[str, Any]]:
    return {
        (row["payer_team"], row["bucket"], row["waste_class"], row["cause"]): row
        for row in published.rows(TOTALS)
    }


@pytest.mark.parametrize(
    ("boundary_ns", "months", "hours"),
    [
        (1_793_491_200 * NS, ["2026-10", "2026-11"], 2),  # 1 November 2026 00:00
        (1_796_076_000 * NS, ["2026-11"], 2),  # 30 November 2026 22:00
    ],
    ids=["month", "hour"],
)
def test_a_shift_changes_no_total(
    boundary_ns: int, months: list[str], hours: int, write: Callable[..., object],
    recorded: tuple[Published, Outcome, Config], root: Path, tmp_path: Path,
) -> None:  # fmt: skip
    recordings = root / "examples" / "h200" / "recordings"
    write(tmp_path / "example", recordings=recordings, shift_ns=boundary_ns - INSIDE_NS)
    config = load_config(tmp_path / "example" / "plumbline.toml")
    outcome = run(config, progress=quiet)
    assert [f"{month:%Y-%m}" for month in outcome.built] == months
    assert outcome.landed.rejects == 0

    here, there = Published(config.root), recorded[0]
    bill = "select sum(billed_usd) as usd, sum(effective_usd) as eff from allocation"
    assert here.rows(bill) == there.rows(bill)
    assert here.rows("select line_id from recon_invoice where difference_usd <> 0") == []
    one = "select count(distinct hour) as n from gpu_hour_state where resource_id = 'i-h200-one'"
    assert here.rows(one)[0]["n"] == hours

    # What pays no GPU is shared by each month's direct cost: its sum is the same, its shares move.
    shared = "select sum(billed_usd) as usd from allocation where bucket = 'non_gpu'"
    assert here.rows(shared) == there.rows(shared)
    moved, still = totals(here), totals(there)
    assert moved.keys() - still.keys() <= {("unmapped", "billed_not_seen", "unknown", "unknown")}
    for key, row in still.items():
        # Each clock hour's line has six decimals: up to 1.8 ms a line goes to another row.
        assert moved[key]["gpu_ns"] == pytest.approx(row["gpu_ns"], abs=8_000_000), key
        assert float(moved[key]["billed_usd"]) == pytest.approx(
            float(row["billed_usd"]), abs=3e-5
        ), key


def test_one_month_can_be_built_alone(
    write: Callable[..., object], root: Path, tmp_path: Path
) -> None:
    recordings = root / "examples" / "h200" / "recordings"
    write(tmp_path / "example", recordings=recordings, shift_ns=1_793_491_200 * NS - INSIDE_NS)
    config = load_config(tmp_path / "example" / "plumbline.toml")
    first = run(config, month=date(2026, 10, 1), progress=quiet)
    assert first.built == [date(2026, 10, 1)]
    second = run(config, progress=quiet)
    assert second.built == [date(2026, 11, 1)]
    assert second.unchanged == [date(2026, 10, 1)]
