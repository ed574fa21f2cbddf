"""The oracle itself: it gives waste-model section 10, and its rules hold on cases made by hand."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from tests.oracle.ladder import (
    NS,
    UP_S,
    Held,
    Recording,
    Sample,
    Step,
    idle_runs,
    ladder,
    level1,
    lost_spans,
    read,
    unallocated,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "h200"
NAMES = (
    "gpu_util_ratio", "engine_active_ratio", "sm_active_ratio", "tensor_active_ratio",
    "dram_active_ratio",
)  # fmt: skip
#: waste-model section 10 in percent: (job, rank, scope), then as many of NAMES as it gives.
SECTION_10 = {
    ("1001", 0, "first_to_last_step"): (98.1, 97.1, 93.9, 74.2, 22.9),
    ("1001", 0, "in_steps"): (98.5, 97.6, 94.5, 74.6, 23.1),
    ("1002", 0, "first_to_last_step"): (96.1, 96.2, 90.1, 2.7, 7.4),
    ("1002", 0, "in_steps"): (97.0, 97.5, 91.3, 2.7, 7.5),
    ("1003", 0, "first_to_last_step"): (23.8, 23.1, 18.5, 7.5, 8.0),
    ("1003", 0, "in_steps"): (24.4, 23.9, 19.2, 7.8, 8.3),
    ("1004", 0, "first_to_last_step"): (16.1, 16.1, 0.5, 0, 0),
    ("1004", 0, "in_steps"): (19.4, 19.3, 0.6, 0, 0),
    ("1005", 0, "first_to_last_step"): (62.5, 62.5, 60.6, 0, 26.7),
    ("1005", 0, "in_steps"): (82.6, 82.7, 80.0, 0, 35.4),
    ("1006", 0, "first_to_last_step"): (71.1, 71.4, 0.54, 0, 0),
    ("1006", 0, "in_steps"): (98.1, 98.4, 0.74, 0, 0),
    ("1007", 0, "first_to_last_step"): (63.9, 64.3, 52.2, 2.0, 49.9),
    ("1007", 0, "in_steps"): (95.2, 96.3, 78.2, 2.9, 74.8),
    ("1009", 0, "first_to_last_step"): (0, 0, 0, 0, 0),
    ("2005", 0, "first_to_last_step"): (0, 0, 0, 0, 0),
    ("2002", 0, "first_to_last_step"): (93.6, 93.1, 32.5, 8.4),
    ("2002", 1, "first_to_last_step"): (21.9, 22.0, 18.2, 8.5),
    ("2002", 0, "in_steps"): (95.6, 95.3, 33.4, 8.7),
    ("2002", 1, "in_steps"): (22.6, 22.5, 18.6, 8.7),
    ("2001", 0, "first_to_last_step"): (65.2,),
    ("2001", 1, "first_to_last_step"): (62.1,),
    ("2001", 0, "in_steps"): (67.9,),
    ("2001", 1, "in_steps"): (64.6,),
    ("2003", 0, "first_to_last_step"): (78.0,),
    ("2003", 1, "first_to_last_step"): (75.1,),
    ("2003", 0, "in_steps"): (81.6,),
    ("2003", 1, "in_steps"): (78.9,),
}


@pytest.fixture(scope="module")
def by_driver() -> Recording:
    return read(EXAMPLE, basis="driver")


@pytest.fixture(scope="module")
def by_scheduler() -> Recording:
    return read(EXAMPLE)


def test_counter_means_of_section_10(by_scheduler: Recording) -> None:
    rungs = ladder(by_scheduler)
    for (job, rank, scope), expected in SECTION_10.items():
        ratios = rungs[job, 0, rank, scope].ratios
        for name, value in zip(NAMES, expected, strict=False):
            # Clipped to the scheduler's whole second, 1005 and 1006 lose a part of their last step.
            assert 100 * ratios[name] == pytest.approx(value, abs=0.3), (job, rank, scope, name)


def test_mfu_of_1001(by_scheduler: Recording) -> None:
    rung = ladder(by_scheduler)["1001", 0, None, "first_to_last_step"]
    assert rung.mfu_ratio == pytest.approx(0.571, abs=0.0005)
    assert rung.model_flops == 100 * 141_547_894_996_992


def test_only_dram_is_ever_missing(by_scheduler: Recording) -> None:
    for rung in ladder(by_scheduler).values():
        for name, weight in rung.weights.items():
            if name == "dram_active_ratio":
                assert 0.95 * rung.total_ns < weight <= rung.total_ns
            else:
                assert weight == rung.total_ns


def test_seconds_of_section_10_by_the_drivers_times(by_driver: Recording) -> None:
    """Section 10's seconds are those of the driver's times, not of the scheduler's."""

    def s(job: str, bucket: str, attempt: int = 0) -> float:
        return found[job, attempt, 0][bucket] / NS

    free = {key: ns / NS for key, ns in unallocated(by_driver).items()}
    assert free["one-gpu", 0] == pytest.approx(42.9, abs=0.05)
    assert free["two-gpu", 0] == pytest.approx(17.5, abs=0.05)
    assert free["two-gpu", 1] == pytest.approx(36.4, abs=0.05)
    found = level1(by_driver)
    assert s("1001", "startup") == pytest.approx(36.1, abs=0.05)
    assert s("1001", "in_step") == pytest.approx(24.7, abs=0.05)
    assert s("1001", "between_steps") == pytest.approx(3.2, abs=0.05)
    assert s("1009", "startup") == pytest.approx(4.6, abs=0.05)
    assert s("1009", "idle_held") == pytest.approx(19.1, abs=0.05)
    assert s("1009", "in_step") == pytest.approx(2.3, abs=0.05)
    assert s("1010", "lost_work") == pytest.approx(1.239, abs=0.0005)
    startup = sum(buckets["startup"] for buckets in found.values())
    assert startup / NS / sum((355, 169, 169)) == pytest.approx(0.35, abs=0.02)


def test_seconds_by_the_schedulers_whole_seconds(by_scheduler: Recording) -> None:
    assert unallocated(by_scheduler) == {
        ("one-gpu", 0): 43 * NS, ("two-gpu", 0): 17 * NS, ("two-gpu", 1): 36 * NS,
    }  # fmt: skip
    found = level1(by_scheduler)
    assert found["1010", 0, 0]["lost_work"] / NS == pytest.approx(1.133, abs=0.0005)
    assert found["1009", 0, 0]["startup"] / NS == pytest.approx(5.039, abs=0.0005)


def test_every_held_instant_has_one_bucket(by_scheduler: Recording, by_driver: Recording) -> None:
    for recording in (by_scheduler, by_driver):
        found = level1(recording)
        for held in recording.held:
            buckets = found[held.job_id, held.attempt, held.rank]
            assert sum(buckets.values()) == held.span[1] - held.span[0]
        held_ns = sum(sum(buckets.values()) for buckets in found.values())
        free = unallocated(recording)
        assert held_ns + sum(free.values()) == NS * sum(UP_S[machine] for machine, _ in free)


def test_checkpoint_records_do_not_move_the_lost_work(by_scheduler: Recording) -> None:
    without = level1(dataclasses.replace(by_scheduler, blocked={}))["1010", 0, 0]
    with_records = level1(by_scheduler)["1010", 0, 0]
    assert without["lost_work"] == with_records["lost_work"]
    assert without["recovery_checkpoint"] == 0 < with_records["recovery_checkpoint"]


# --- cases made by hand -------------------------------------------------------------------------


def _case(engine: list[float], *, steps: tuple[Step, ...], failed: bool = False) -> Recording:
    """One GPU held for as many seconds as there are samples, each of which speaks for one."""
    zeros = dict.fromkeys(
        (
            "gpm_pcie_tx_per_sec", "gpm_pcie_rx_per_sec", "gpm_nvlink_total_tx_per_sec",
            "gpm_nvlink_total_rx_per_sec",
        ),
        0.0,
    )  # fmt: skip
    held = Held("m", "1", 0, 0, 0, (0, len(engine) * NS), failed, steps)
    samples = tuple(
        Sample((i * NS, (i + 1) * NS), zeros | {"gpm_graphics_util": value})
        for i, value in enumerate(engine)
    )
    return Recording((held,), {("m", 0): samples})


def _seconds(recording: Recording, idle_after_s: int = 3) -> dict[str, float]:
    found = level1(recording, idle_after_s=idle_after_s)["1", 0, 0]
    return {bucket: ns / NS for bucket, ns in found.items() if ns}


def test_precedence_by_hand() -> None:
    steps = (Step(0, (2 * NS, 3 * NS), 0), Step(1, (7 * NS, 9 * NS), 0))
    recording = _case([50, 50, 50, 0, 0, 0, 0, 50, 50, 50], steps=steps)
    assert _seconds(recording) == {
        "startup": 2, "in_step": 1 + 2, "idle_held": 4, "between_steps": 1,
    }  # fmt: skip
    # A longer minimum leaves the quiet time between the steps.
    assert _seconds(recording, 5) == {"startup": 2, "in_step": 3, "between_steps": 5}
    blocked = dataclasses.replace(recording, blocked={("1", 0): ((8 * NS, 10 * NS),)})
    assert _seconds(blocked)["recovery_checkpoint"] == 2


def test_a_hole_or_a_nan_is_not_observed_and_ends_an_idle_run() -> None:
    steps = (Step(0, (NS, 2 * NS), 0),)
    recording = _case([50, 50, 0, 0, 0, math.nan, 0, 0], steps=steps)
    assert _seconds(recording) == {
        "startup": 1, "in_step": 1, "idle_held": 3, "not_observed": 1, "between_steps": 2,
    }  # fmt: skip
    samples = recording.samples["m", 0]
    cut = dataclasses.replace(recording, samples={("m", 0): samples[:3] + samples[4:]})
    assert idle_runs(cut, cut.held[0], idle_after_s=3) == []
    assert _seconds(cut)["not_observed"] == 2


def test_never_touched_needs_full_observation() -> None:
    steps = (Step(0, (NS, 2 * NS), 0),)
    assert _seconds(_case([0, 0.5, 1, 0], steps=steps)) == {"never_touched": 4}
    assert "never_touched" not in _seconds(_case([0, 0, math.nan, 0], steps=steps))


def test_lost_work_needs_a_failure_and_a_later_attempt() -> None:
    steps = (Step(4, (NS, 2 * NS), 0), Step(5, (2 * NS, 3 * NS), 0), Step(6, (3 * NS, 4 * NS), 0))
    recording = _case([50] * 6, steps=steps, failed=True)
    first = recording.held[0]
    assert lost_spans(recording, first) == []
    again = dataclasses.replace(first, attempt=1, span=(6 * NS, 9 * NS), steps=steps[1:])
    both = dataclasses.replace(recording, held=(first, again))
    assert lost_spans(both, first) == [(3 * NS, 6 * NS)]
    fine = dataclasses.replace(first, failed=False)
    assert lost_spans(dataclasses.replace(both, held=(fine, again)), fine) == []
