"""The oracle of traced steps itself, on cases made by hand; times are in microseconds."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from tests.oracle.ladder import Held, Recording, Sample, Span, Step
from tests.oracle.traces import (
    PARTS,
    Event,
    Trace,
    WholeJob,
    events_of,
    gaps_between,
    last_starts,
    pieces,
    split,
    unfit_jobs,
    union,
    whole_job,
)

US = 1000


def held(*steps: Span, end: int = 10_000_000) -> Held:
    """A GPU held from 0 on, with steps 100, 101, ... of one rank."""
    return Held(
        "m", "1", 0, 0, 0, (0, end * US), False,
        tuple(Step(100 + i, (a * US, b * US), 0) for i, (a, b) in enumerate(steps)),
    )  # fmt: skip


def event(category: str, name: str, start: int, end: int, tid: int = 1, **args: Any) -> Event:
    return Event(category, name, (start * US, end * US), 1, tid, args)


def step(start: int, end: int, number: int = 7) -> Event:
    return event("user_annotation", f"ProfilerStep#{number}", start, end)


def kernel(name: str, start: int, end: int, **args: Any) -> Event:
    return event("kernel", name, start, end, 7, **args)


def reduce(start: int, end: int, elements: int = 8, group: str = "0", size: int = 2) -> Event:
    return kernel(
        "ncclDevKernel_AllReduce", start, end,
        **{"Process Group Name": group, "Collective name": "allreduce", "Group size": size,
           "In msg nelems": elements},
    )  # fmt: skip


def parts(*events: Event, last_start: dict[int, int] | None = None) -> dict[str, float]:
    """Microseconds of each part, without those that have none, of the only step of a trace."""
    spans = [(e.span[0] // US, e.span[1] // US) for e in events if "ProfilerStep" in e.name]
    [traced] = split(Trace(held(*spans), events, last_start or {}))
    assert tuple(traced.ns) == PARTS
    return {part: ns / US for part, ns in traced.ns.items() if ns}


def test_times_are_exact_to_the_nanosecond() -> None:
    text = """{"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5217744919663.256,
         "dur": 9.695},
        {"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 3, "dur": 0},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": 5, "id": 1}]}"""
    first, second = events_of(text.encode())
    start = 1_790_857_026_000_000_000 + 5_217_744_919_663_256
    assert first.span == (start, start + 9695)
    assert second.span == (1_790_857_026_000_003_000, 1_790_857_026_000_003_000)


def test_a_time_finer_than_a_nanosecond_is_no_time() -> None:
    event = {"ph": "X", "name": "k", "pid": 0, "tid": 7, "ts": 1.0005, "dur": 1}
    with pytest.raises(AssertionError, match="whole number"):
        events_of(json.dumps({"traceEvents": [event]}).encode())


def test_unions_and_gaps() -> None:
    assert union([(5, 9), (0, 2), (2, 3), (8, 12), (20, 20)]) == [(0, 3), (5, 12)]
    assert union([(0, 2), (4, 5), (8, 9)], join_ns=2) == [(0, 5), (8, 9)]
    assert gaps_between([(0, 3), (5, 12)], (1, 14)) == [(3, 5), (12, 14)]


def test_compute_comes_before_communication_and_that_before_copies() -> None:
    assert parts(
        step(0, 100), kernel("gemm", 10, 30), reduce(20, 50),
        event("gpu_memcpy", "Memcpy HtoD", 40, 60), event("gpu_memset", "Memset", 60, 61),
    ) == {
        "compute": 20, "comm_exposed": 20, "copy_exposed": 11, "gap_unknown": 49,
    }  # fmt: skip


def test_a_step_takes_what_lies_inside_it() -> None:
    assert parts(step(10, 20), kernel("gemm", 0, 15), kernel("gemm", 19, 40)) == {
        "compute": 6, "gap_unknown": 4,
    }  # fmt: skip


def test_communication_waits_until_the_last_rank_has_come() -> None:
    events = (step(0, 100), reduce(10, 60))
    assert parts(*events, last_start={1: 50 * US}) == {
        "comm_wait": 40, "comm_exposed": 10, "gap_unknown": 50,
    }  # fmt: skip
    assert parts(*events, kernel("gemm", 0, 45), last_start={1: 50 * US}) == {
        "compute": 45, "comm_wait": 5, "comm_exposed": 10, "gap_unknown": 40,
    }  # fmt: skip
    # The last one comes after this kernel's end: by clocks that differ, all of it is waiting.
    assert parts(*events, last_start={1: 70 * US}) == {"comm_wait": 50, "gap_unknown": 50}
    # Another collective moves its bytes meanwhile.
    assert parts(*events, reduce(20, 30), last_start={1: 50 * US})["comm_exposed"] == 20


def test_collectives_match_by_group_operation_and_order() -> None:
    first = [step(0, 9), reduce(40, 60, 5), reduce(10, 30, 8)]
    second = [reduce(25, 30, 8), reduce(41, 60, 5)]
    assert last_starts([first, second]) == [{1: 41 * US, 2: 25 * US}, {0: 25 * US, 1: 41 * US}]


def test_collectives_match_only_where_every_rank_is_there() -> None:
    assert last_starts([[reduce(1, 2)]]) == [{}]
    assert last_starts([[reduce(1, 2)], [reduce(1, 2), reduce(3, 4)]]) == [{}, {}]
    assert last_starts([[reduce(1, 2, size=3)], [reduce(1, 2, size=3)]]) == [{}, {}]
    assert last_starts([[reduce(1, 2, group="a")], [reduce(1, 2, group="b")]]) == [{}, {}]
    with pytest.raises(AssertionError, match="different sizes"):
        last_starts([[reduce(1, 2, 8)], [reduce(1, 2, 9)]])


@pytest.mark.parametrize(
    "name", ["load_batch", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"]
)
def test_a_step_thread_in_its_loader_waits_for_data(name: str) -> None:
    loader = event("user_annotation", name, 20, 70)
    busy = kernel("gemm", 30, 40)
    runtime = event("cuda_runtime", "cudaStreamSynchronize", 0, 100)
    assert parts(step(0, 100), loader, busy, runtime) == {
        "compute": 10, "data_stall": 40, "host_sync": 50,
    }  # fmt: skip
    elsewhere = event("user_annotation", name, 20, 70, tid=2)
    assert parts(step(0, 100), elsewhere, busy) == {"compute": 10, "gap_unknown": 90}


@pytest.mark.parametrize("name", ["enumerate(DataLoader)", "load_batches", "batch"])
def test_other_names_prove_no_loader(name: str) -> None:
    found = parts(step(0, 100), event("user_annotation", name, 20, 70), kernel("gemm", 0, 1))
    assert found == {"compute": 1, "gap_unknown": 99}


def test_a_running_host_delays_the_launch_and_a_resting_one_does_not() -> None:
    op = event("cpu_op", "aten::mm", 300, 400, tid=5)
    later = event("cuda_driver", "cuLaunchKernel", 500, 510)
    far = event("cuda_runtime", "cudaMalloc", 611, 620)
    frame = event("python_function", "f", 0, 1000)
    assert parts(step(0, 1000), kernel("gemm", 0, 10), op, later, far, frame) == {
        "compute": 10,
        # 400 to 500 is 100 us and counts as running; 510 to 611 is more.
        "launch_gap": 210 + 9,
        "gap_unknown": 990 - 219,
    }  # fmt: skip


def test_work_on_its_way_to_the_gpu_is_a_launch_gap() -> None:
    launch = event("cuda_runtime", "cudaLaunchKernel", 300, 310, correlation=5)
    events = (step(0, 1000), kernel("gemm", 0, 10), launch)
    assert parts(*events, kernel("gemm", 800, 1000, correlation=5)) == {
        "compute": 210, "launch_gap": 500, "gap_unknown": 290,
    }  # fmt: skip
    # Work that was launched before the last one had ended waits from the gap's beginning on.
    early = event("cuda_runtime", "cudaLaunchKernel", 0, 5, correlation=6)
    assert parts(*events, early, kernel("gemm", 800, 1000, correlation=6)) == {
        "compute": 210, "launch_gap": 790,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("category", "name", "proves"),
    [
        ("cuda_runtime", "cudaStreamSynchronize", True),
        ("cuda_runtime", "cudaDeviceSynchronize", True),
        ("cuda_runtime", "cudaEventSynchronize", True),
        ("cuda_runtime", "cudaMemcpy", True),
        ("cpu_op", "aten::item", True),
        ("cuda_runtime", "cudaMemcpyAsync", False),
        ("cuda_runtime", "cudaEventQuery", False),
        ("user_annotation", "cudaStreamSynchronize", False),
    ],
)
def test_a_gap_that_began_while_the_host_waited(category: str, name: str, proves: bool) -> None:
    wait = event(category, name, 5, 12)
    op = event("cpu_op", "aten::add", 40, 200)
    found = parts(step(0, 500), kernel("gemm", 0, 10), wait, op)
    if proves:
        # Until the host rests, 200; from then on nothing is known.
        assert found == {"compute": 10, "host_sync": 190, "gap_unknown": 300}
    else:
        assert found["gap_unknown"] >= 300
        assert "host_sync" not in found


def test_a_wait_that_begins_inside_a_gap_proves_nothing() -> None:
    wait = event("cuda_runtime", "cudaStreamSynchronize", 11, 12)
    assert parts(step(0, 500), kernel("gemm", 0, 10), wait) == {
        "compute": 10, "launch_gap": 1, "gap_unknown": 489,
    }  # fmt: skip


def test_kernels_share_an_instant_and_sum_to_their_part() -> None:
    events = (
        step(0, 100), kernel("a", 0, 30), kernel("b", 10, 40), kernel("b", 20, 40), reduce(30, 60),
    )  # fmt: skip
    [traced] = split(Trace(held((0, 100)), events, {4: 50 * US}))
    assert traced.kernels == {
        ("compute", "a"): 10_000 + 5_000 + Fraction(10_000, 3),
        ("compute", "b"): 5_000 + Fraction(20_000, 3) + 10_000,
        ("comm_wait", "ncclDevKernel_AllReduce"): 10_000,
        ("comm_exposed", "ncclDevKernel_AllReduce"): 10_000,
    }
    assert sum(ns for (part, _), ns in traced.kernels.items() if part == "compute") == 40_000


def test_pieces_cover_the_trace_once() -> None:
    trace = Trace(held((0, 100)), (step(0, 100), kernel("a", 20, 130), reduce(5, 25)), {})
    spans = [piece.span for piece in pieces(trace)]
    assert spans[0][0] == 0
    assert spans[-1][1] == 130 * US
    assert all(a[1] == b[0] for a, b in pairwise(spans))


def test_a_traced_step_is_the_logged_step_that_it_meets_most() -> None:
    events = (step(95, 195, number=1), kernel("gemm", 100, 150))
    [traced] = split(Trace(held((0, 100), (110, 200)), events, {}))
    assert (traced.profiler_step, traced.step.number) == (1, 101)
    assert traced.ns["compute"] == 50 * US
    assert traced.logged_ns["compute"] == 40 * US
    assert traced.logged_kernels == {("compute", "gemm"): 40 * US}


def world(traced_us: int, busy_us: int, engine_percent: float) -> WholeJob:
    """Steps of 100 us, of which the fourth was traced and took longer; the first was slow."""
    spans = [(0, 900), (1000, 1100), (1100, 1200), (2000, 2000 + traced_us), (4000, 4100)]
    owner = held(*spans, end=4100)
    values = {
        "gpm_graphics_util": engine_percent, "gpm_pcie_tx_per_sec": 0.0,
        "gpm_pcie_rx_per_sec": 0.0, "gpm_nvlink_total_tx_per_sec": 0.0,
        "gpm_nvlink_total_rx_per_sec": 0.0,
    }  # fmt: skip
    samples = (Sample((0, 4100 * US), values),)
    events = (
        step(2000, 2000 + traced_us), kernel("gemm", 2000, 2000 + busy_us),
        event("cpu_op", "aten::add", 2000, 2000 + busy_us + (traced_us - busy_us) // 2),
    )  # fmt: skip
    return whole_job(Recording((owner,), {("m", 0): samples}), Trace(owner, events, {}))


def test_a_normal_step_is_neither_the_first_nor_traced() -> None:
    job = world(traced_us=100, busy_us=80, engine_percent=80)
    assert job.normal_ns == 100 * US
    assert job.in_step_ns == 1300 * US
    assert job.in_step() == {
        **dict.fromkeys(PARTS, 0), "compute": 1040 * US, "launch_gap": 130 * US,
        "gap_unknown": 130 * US,
    }  # fmt: skip


def test_the_profiler_slows_the_host_and_not_the_kernels() -> None:
    job = world(traced_us=480, busy_us=80, engine_percent=80)
    assert job.busy_share == 0.8
    assert job.slowdown == 4.8
    assert job.weights["launch_gap"] == job.weights["gap_unknown"] == 10 * US
    # More busy time than a normal step has leaves no room for gaps.
    full = world(traced_us=480, busy_us=101, engine_percent=80)
    assert full.weights["compute"] == 101 * US
    assert full.weights["launch_gap"] == full.weights["gap_unknown"] == 0
    assert sum(full.in_step().values()) == full.in_step_ns


@pytest.mark.parametrize(
    ("traced_us", "busy_us", "engine_us", "unfit"),
    [
        (103, 102, 1326, False),  # 1.02 x the normal step
        (103, 103, 1339, True),
        (110, 50, 1000, False),  # no slower than 1.10 x normal: the counters are not asked
        (111, 50, 1300 * 0.46, False),
        (111, 50, 1300 * 0.44, True),
        (111, 50, 1300 * 0.56, True),
    ],
)
def test_a_trace_is_unfit_by_its_busy_time_or_against_the_counters(
    traced_us: int, busy_us: int, engine_us: float, unfit: bool
) -> None:
    # The counters' share is of in_step time, and their mean is of the time from the first step on.
    in_step = 1200 + traced_us
    percent = 100 * engine_us * in_step / 1300 / 4100
    job = world(traced_us, busy_us, percent)
    assert job.counters_share == pytest.approx(engine_us / 1300)
    assert job.unfit == unfit
    assert unfit_jobs([job]) == (["1"] if unfit else [])


def test_a_save_is_no_part_of_a_normal_step() -> None:
    owner = held((0, 100), (100, 200), (200, 500), (600, 700), end=1000)
    recording = Recording(
        (owner,), {("m", 0): (Sample((0, 1000 * US), {"gpm_graphics_util": 50.0}),)},
        blocked={("1", 0): ((300 * US, 500 * US),)},
    )  # fmt: skip
    trace = Trace(owner, (step(600, 700), kernel("gemm", 600, 650)), {})
    job = whole_job(recording, trace)
    assert job.normal_ns == 100 * US
    assert job.in_step_ns == 400 * US
