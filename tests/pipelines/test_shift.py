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

#: 1 November 2026 00:00 UTC.
MONTH_NS = 1_793_491_200 * NS
#: 2026-11-30 21:32:10 UTC, in the middle of job 1002 on the one-GPU machine, after its trace.
INSIDE_NS = 1_796_074_330 * NS
#: 21:39:30 UTC, in the middle of job 2002 on both GPUs of the other machine, before its trace.
INSIDE_TWO_NS = 1_796_074_770 * NS
TOTALS = """
    select payer_team, bucket, waste_class, cause, sum(gpu_ns) as gpu_ns,
        sum(billed_usd) as billed_usd, sum(effective_usd) as effective_usd
    from gpu_hour_state where bucket <> 'non_gpu' group by all order by all
"""
#: What the traces measured, which is once, and what they say of whole jobs, over all months.
STEPS = "select * exclude (month, source_file) from step_breakdown order by all"
KERNELS = """
    select job_id, bucket, module, op, kernel_family, sum(traced_calls) as calls,
        sum(traced_gpu_ns) as traced_ns, sum(gpu_ns) as ns
    from kernel_cost group by all order by all
"""
WAITING = """
    select job_id, rank, gpu_uuid, sum(wait_caused_gpu_ns) as ns, max(slowdown_ratio) as ratio
    from straggler_rank group by all order by all
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
    ("boundary_ns", "inside_ns", "months", "resource"),
    [
        (MONTH_NS, INSIDE_TWO_NS, ["2026-10", "2026-11"], "i-h200-two"),
        (1_796_076_000 * NS, INSIDE_NS, ["2026-11"], "i-h200-one"),  # 30 November 2026 22:00
    ],
    ids=["month", "hour"],
)
def test_a_shift_changes_no_total(
    boundary_ns: int, inside_ns: int, months: list[str], resource: str,
    write: Callable[..., object], recorded: tuple[Published, Outcome, Config],
    root: Path, tmp_path: Path,
) -> None:  # fmt: skip
    recordings = root / "examples" / "h200" / "recordings"
    write(tmp_path / "example", recordings=recordings, shift_ns=boundary_ns - inside_ns)
    config = load_config(tmp_path / "example" / "plumbline.toml")
    outcome = run(config, progress=quiet, forget=True)
    assert [f"{month:%Y-%m}" for month in outcome.built] == months
    assert outcome.landed.rejects == 0

    here, there = Published(config.root), recorded[0]
    bill = "select sum(billed_usd) as usd, sum(effective_usd) as eff from allocation"
    assert here.rows(bill) == there.rows(bill)
    assert here.rows("select line_id from recon_invoice where difference_usd <> 0") == []
    one = f"select count(distinct hour) as n from gpu_hour_state where resource_id = '{resource}'"
    assert here.rows(one)[0]["n"] == 2

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

    # The traces measured the same, at another time.
    shift_ns = boundary_ns - inside_ns
    steps = here.rows(STEPS)
    assert [{**row, "start_ns": row["start_ns"] - shift_ns} for row in steps] == there.rows(STEPS)
    assert len(steps) == 53
    for query in (KERNELS, WAITING):
        for row, known in zip(here.rows(query), there.rows(query), strict=True):
            ns, known_ns = float(row.pop("ns")), float(known.pop("ns"))
            assert row == pytest.approx(known)
            assert ns == pytest.approx(known_ns, rel=1e-3, abs=8_000_000), row
    loaded = "select sum(loaded_usd) as usd from kernel_cost"
    cost = "select sum(billed_usd) as usd from job_cost"
    assert here.rows(loaded) == here.rows(cost)


def test_one_month_can_be_built_alone(
    write: Callable[..., object], root: Path, tmp_path: Path
) -> None:
    recordings = root / "examples" / "h200" / "recordings"
    write(tmp_path / "example", recordings=recordings, shift_ns=MONTH_NS - INSIDE_NS)
    for trace in tmp_path.rglob("*.pt.trace.json.gz"):
        # One trace is enough, of the job that the month's end lies in.
        if "job_1002" not in trace.parts:
            trace.unlink()
    config = load_config(tmp_path / "example" / "plumbline.toml")
    first = run(config, month=date(2026, 10, 1), progress=quiet)
    assert first.built == [date(2026, 10, 1)]
    second = run(config, progress=quiet)
    assert second.built == [date(2026, 11, 1)]
    assert second.unchanged == [date(2026, 10, 1)]
    # The trace lies in October; November's part of the job is divided by it all the same.
    buckets = Published(config.root).rows(
        """
        select month, bucket from gpu_hour_state
        where job_id = '1002' and level1 = 'in_step' group by all
        """
    )
    by_month = {
        month: {row["bucket"] for row in buckets if row["month"] == month}
        for month in (date(2026, 10, 1), date(2026, 11, 1))
    }
    assert by_month[date(2026, 10, 1)] == by_month[date(2026, 11, 1)]
    assert {"compute", "launch_gap", "host_sync"} <= by_month[date(2026, 11, 1)]
