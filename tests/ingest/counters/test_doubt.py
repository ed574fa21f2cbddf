"""A dead collector is never idle: what cannot be true is no reading (reports 6, 7 and 22)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ingest.counters.test_prometheus import (
    ENGINE,
    SM,
    UTIL,
    A,
    B,
    Tables,
    answer,
    every,
    labels,
    read,
)

POWER, ENERGY, PCIE = (
    "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "DCGM_FI_PROF_PCIE_TX_BYTES",
)  # fmt: skip


def told(folder: Path, *, step: float = 30, **series: Sequence[object]) -> Tables:
    names = {"engine": ENGINE, "sm": SM, "util": UTIL, "power": POWER, "energy": ENERGY,
             "pcie": PCIE}  # fmt: skip
    return read(folder, *(
        answer((labels(names[name]), every(values, step=step))) for name, values in series.items()
    ))  # fmt: skip


def column(tables: Tables, name: str) -> list[Any]:
    return [row[name] for row in tables["gpu_sample"]]


def test_counters_that_are_stuck_at_zero_are_no_idle_gpu(tmp_path: Path) -> None:
    """Report 6: exactly 0.000000 for hours while GPU-Util says 99 and power is high."""
    tables = told(tmp_path, engine=["0.000000"] * 10, sm=["0.000000"] * 10, util=[99] * 10,
                  power=[640] * 10, pcie=[0] * 10)  # fmt: skip
    for name in ("engine_active_ratio", "sm_active_ratio", "pcie_tx_bytes_s"):
        assert column(tables, name) == [None] * 10
    assert column(tables, "gpu_util_ratio") == [pytest.approx(0.99)] * 10
    assert column(tables, "power_watts") == [640] * 10
    assert len(set(column(tables, "invalid_mask")) - {0}) == 1
    (reject,) = tables["reject"]
    assert reject["position"] == f"{A}, 2026-11-30T21:30:30Z to 2026-11-30T21:35:00Z"
    assert "profiling counters are stuck" in reject["reason"]


def test_an_idle_gpu_is_believed(tmp_path: Path) -> None:
    tables = told(tmp_path, engine=[0] * 10, sm=[0] * 10, util=[0] * 10, pcie=[0] * 10,
                  energy=range(10))  # fmt: skip
    assert column(tables, "engine_active_ratio") == [0] * 10
    assert not tables["reject"]


def test_the_end_of_work_is_believed(tmp_path: Path) -> None:
    """GPU-Util looks back for a second: a few samples at 10 Hz are no contradiction."""
    tables = told(tmp_path, step=0.1, engine=[1] * 5 + [0] * 15, util=[99] * 12 + [0] * 8)
    assert column(tables, "engine_active_ratio") == [1] * 5 + [0] * 15
    assert not tables["reject"]


@pytest.mark.parametrize(("count", "is_believed"), [(2, True), (3, False), (4, False)])
def test_from_a_minute_on(tmp_path: Path, count: int, *, is_believed: bool) -> None:
    tables = told(tmp_path, engine=[0.5, *[0] * count, 0.5], util=[99] * (count + 2))
    middle = [0] * count if is_believed else [None] * count
    assert column(tables, "engine_active_ratio") == [0.5, *middle, 0.5]


def test_values_that_are_repeated_are_no_readings(tmp_path: Path) -> None:
    """Report 22: scrapes succeed for hours and nothing advances, the energy counter neither."""
    energy = [100, 200, *[300] * 6, 900]
    tables = told(tmp_path, engine=[0.5] * 9, power=[70] * 9, energy=energy)
    # The first of the repeated ones was a reading.
    kept = [0.5] * 3 + [None] * 5 + [0.5]
    assert column(tables, "engine_active_ratio") == kept
    assert column(tables, "energy_mj") == [100, 200, 300, None, None, None, None, None, 900]
    assert [value is None for value in column(tables, "power_watts")] == [v is None for v in kept]
    (reject,) = tables["reject"]
    assert "the energy counter stands still" in reject["reason"]


def test_energy_with_steps_is_believed(tmp_path: Path) -> None:
    tables = told(tmp_path, step=0.1, engine=[0.5] * 40, energy=[n // 10 for n in range(40)])
    assert column(tables, "engine_active_ratio") == [0.5] * 40


def test_energy_that_is_absent_says_nothing(tmp_path: Path) -> None:
    tables = told(tmp_path, engine=[0.5] * 9, energy=["NaN"] * 9)
    assert column(tables, "engine_active_ratio") == [0.5] * 9


def test_the_last_sample_of_a_gpu_is_not_the_next_ones(tmp_path: Path) -> None:
    """Two GPUs with equal counters: each stands for itself."""
    series = [(labels(name, gpu), every([value] * 2)) for gpu in (A, B)
              for name, value in ((ENERGY, 7), (ENGINE, 0.5))]  # fmt: skip
    tables = read(tmp_path, answer(*series))
    assert column(tables, "engine_active_ratio") == [0.5] * 4
    assert column(tables, "energy_mj") == [7] * 4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 0.5]), st.sampled_from([0, 40, 99])), max_size=30))
def test_against_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, samples: list[tuple[float, int]]
) -> None:
    stuck = [engine == 0 and util >= 50 for engine, util in samples]
    wanted: list[float | None] = [engine for engine, _ in samples]
    at = 0
    while at < len(stuck):
        end = at
        while end < len(stuck) and stuck[end]:
            end += 1
        if end - at >= 3:
            wanted[at:end] = [None] * (end - at)
        at = max(end, at + 1)
    tables = told(
        tmp_path_factory.mktemp("loop"),
        engine=[e for e, _ in samples],
        util=[u for _, u in samples],
    )
    assert column(tables, "engine_active_ratio") == wanted
