"""The bucket of each instant of a traced step: busy kinds, then the gaps and their order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import Rows, expect, run_model

TRACE = {"trace_no": "1", "source_file": "f", "cluster": "c1", "job_id": "7", "attempt": "0"}
WINDOW = {"window_id": "1", "trace_no": "1", "hold_id": "4", "pid": "9", "tid": "9"}
#: One traced step of 1 ms; times of the tests are microseconds from its begin.
STEP = [{**WINDOW, "start_ns": "0us", "end_ns": "1000us"}]


def spans(text: str, names: str, **same: str) -> list[dict[str, Any]]:
    """Rows of `a b start end; ...`, times in us, the cells before them under these names."""
    rows = []
    for number, part in enumerate(part for part in text.split(";") if part.strip()):
        *cells, start, end = part.split()
        rows.append({
            "event_no": str(number + 1), "start_ns": f"{start}us", "end_ns": f"{end}us",
            **same, **dict(zip(names.split(), cells, strict=True)),
        })  # fmt: skip
    return rows


def step(
    work: str, *, ops: str = "", calls: str = "", notes: str = "", waits: str = "",
    windows: list[dict[str, str]] = STEP,
) -> dict[str, Rows]:  # fmt: skip
    """A traced step: GPU work `kind correlation start end`; ops and notes `name tid start end`;
    calls `name correlation start end`; matched collectives `start end last_start`."""
    found: dict[str, Rows] = {
        "int_trace": [TRACE],
        "int_trace_step": windows,
        "int_gpu_work": spans(work, "kind correlation", trace_no="1", hold_id="4"),
        "stg_trace_op": spans(ops, "name tid", source_file="f", pid="9"),
        "stg_trace_launch": spans(calls, "name correlation", source_file="f", pid="9", tid="9"),
        "stg_trace_annotation": spans(notes, "name tid", source_file="f", pid="9", kind="user"),
        "int_collective_call": [
            {
                "trace_no": "1", "hold_id": "4", "is_matched": "true", "event_no": str(number),
                **dict(zip(("start_ns", "end_ns", "last_start_ns"), cells.split(), strict=True)),
            }
            for number, cells in enumerate(part for part in waits.split(";") if part.strip())
        ],
    }  # fmt: skip
    return found


def pieces(tables: dict[str, Rows]) -> str:
    """`bucket start end; ...` in us, neighbours of one bucket as one."""
    merged: list[list[Any]] = []
    for row in run_model("int_trace_piece", tables):
        start, end = row["start_ns"] / 1000, row["end_ns"] / 1000
        if merged and merged[-1][0] == row["bucket"] and merged[-1][2] == start:
            merged[-1][2] = end
        else:
            merged.append([row["bucket"], start, end])
    return "; ".join(f"{bucket} {start:g} {end:g}" for bucket, start, end in merged)


# --- busy -----------------------------------------------------------------------------------------


def test_compute_goes_before_communication_and_that_before_copies() -> None:
    work = "compute 1 0 300; comm 2 200 600; copy 3 500 800"
    assert pieces(step(work)) == (
        "compute 0 300; comm_exposed 300 600; copy_exposed 600 800; gap_unknown 800 1000"
    )


def test_only_the_traced_step_counts() -> None:
    work = "compute 1 -500 100; copy 2 900 1500"
    assert pieces(step(work)) == "compute 0 100; gap_unknown 100 900; copy_exposed 900 1000"


def test_a_step_without_gpu_work_is_all_gap() -> None:
    assert pieces(step("")) == "gap_unknown 0 1000"
    found = pieces(step("", ops="aten::add 9 0 400"))
    assert found == "launch_gap 0 400; gap_unknown 400 1000"


def test_pieces_of_two_steps_belong_to_their_own_and_know_what_the_log_covers() -> None:
    windows = [
        {**WINDOW, "start_ns": "0us", "end_ns": "400us", "step": "1", "log_start_ns": "100us",
         "log_end_ns": "450us"},
        {**WINDOW, "window_id": "2", "start_ns": "400us", "end_ns": "1000us", "step": "2",
         "log_start_ns": "450us", "log_end_ns": "900us"},
    ]  # fmt: skip
    expect(
        "int_trace_bucket",
        step("compute 1 50 500; copy 2 850 1000", windows=windows),
        """
        window_id | bucket       | traced_ns | logged_ns
        1         | gap_unknown  | 50us      | 0
        1         | compute      | 350us     | 300us
        2         | compute      | 100us     | 50us
        2         | gap_unknown  | 350us     | 350us
        2         | copy_exposed | 150us     | 50us
        """,
    )


# --- waiting --------------------------------------------------------------------------------------


def test_a_collective_waits_until_its_last_participant_begins() -> None:
    tables = step("comm 1 0 1000", waits="0us 1000us 700us")
    assert pieces(tables) == "comm_wait 0 700; comm_exposed 700 1000"
    assert pieces(step("comm 1 0 1000", waits="0us 1000us 0us")) == "comm_exposed 0 1000"


def test_time_counts_as_waiting_only_while_every_collective_that_runs_waits() -> None:
    work = "comm 1 0 800; comm 2 200 1000"
    both = step(work, waits="0us 800us 500us; 200us 1000us 700us")
    # Until 500 all that run wait; then the first moves data.
    assert pieces(both) == "comm_wait 0 500; comm_exposed 500 1000"
    one = step(work, waits="0us 800us 500us")
    assert pieces(one) == "comm_wait 0 200; comm_exposed 200 1000"
    later = step(work, waits="0us 800us 100us; 200us 1000us 900us")
    assert pieces(later) == (
        "comm_wait 0 100; comm_exposed 100 800; comm_wait 800 900; comm_exposed 900 1000"
    )


def test_waiting_under_a_kernel_that_computes_is_compute() -> None:
    tables = step("comm 1 0 1000; compute 2 300 600", waits="0us 1000us 900us")
    assert pieces(tables) == (
        "comm_wait 0 300; compute 300 600; comm_wait 600 900; comm_exposed 900 1000"
    )


# --- gaps -----------------------------------------------------------------------------------------

#: Work on both sides of a gap from 200 to 800 us. The second kernel's launch is number 2.
AROUND = "compute 1 0 200; compute 2 800 1000"


def gap(**host: str) -> str:
    """The gap between two kernels, divided by what the host did."""
    found = pieces(step(AROUND, **host))
    start, end = "compute 0 200; ", "; compute 800 1000"
    assert found.startswith(start)
    assert found.endswith(end)
    return found[len(start) : -len(end)]


LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


@pytest.mark.parametrize(
    "host",
    [
        {"notes": f"{LOADER} 9 300 700"},
        {"ops": f"{LOADER} 9 300 700"},
        {"notes": "load_batch 9 300 700"},
        # Ops inside it do not take it away, nor do waits for the GPU.
        {"notes": "load_batch 9 300 700", "ops": "aten::stack 9 300 700"},
        {"notes": "load_batch 9 300 700", "calls": "cudaStreamSynchronize 9 300 700"},
        {"notes": "load_batch 9 300 600; load_batch 9 500 700"},
    ],
)
def test_a_loader_on_the_steps_thread_is_data_stall(host: dict[str, str]) -> None:
    assert gap(**host) == "gap_unknown 200 300; data_stall 300 700; gap_unknown 700 800"


@pytest.mark.parametrize(
    "host",
    [
        {"notes": "load_batch 8 300 700"},
        {"notes": "load_batches 9 300 700"},
        {"notes": "enumerate(DataLoader)#x.__iter__ 9 300 700"},
        {"notes": "my.load_batch 9 300 700"},
    ],
)
def test_another_thread_or_name_is_no_data_stall(host: dict[str, str]) -> None:
    assert gap(**host) == "gap_unknown 200 800"


def test_a_module_of_that_name_is_no_annotation() -> None:
    tables = step(AROUND, notes="load_batch 9 300 700")
    tables["stg_trace_annotation"] = spans(
        "load_batch 9 300 700", "name tid", source_file="f", pid="9", kind="module"
    )
    assert "data_stall" not in pieces(tables)


def test_where_the_log_gives_the_window_any_thread_may_load() -> None:
    window = {k: v for k, v in STEP[0].items() if k not in ("pid", "tid")}
    tables = step(AROUND, notes="load_batch 8 300 700", windows=[window])
    assert "data_stall 300 700" in pieces(tables)


@pytest.mark.parametrize(
    "name",
    [
        "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
        "hipStreamSynchronize", "hipMemcpyWithStream", "cuCtxSynchronize",
    ],
)  # fmt: skip
def test_a_gap_that_began_while_the_host_waited_is_host_sync(name: str) -> None:
    assert gap(calls=f"{name} 9 100 210; cudaLaunchKernel 2 220 799") == "host_sync 200 800"


@pytest.mark.parametrize(
    "host",
    [
        # Not blocking; ended before; began after.
        {"calls": "cudaMemcpyAsync 9 100 210; cudaLaunchKernel 2 220 799"},
        {"calls": "cudaStreamSynchronize 9 100 200; cudaLaunchKernel 2 220 799"},
        {"calls": "cudaStreamSynchronize 9 201 210; cudaLaunchKernel 2 200 799"},
    ],
)
def test_else_a_working_host_makes_it_a_launch_gap(host: dict[str, str]) -> None:
    assert gap(**host) == "launch_gap 200 800"


def test_an_op_that_reads_a_value_back_waits_too_on_any_thread() -> None:
    assert gap(ops="aten::item 8 100 300; aten::mul 9 310 800") == "host_sync 200 800"


def test_after_a_wait_the_first_rest_ends_host_sync() -> None:
    # A notebook: the GPU is waited for, the cell sleeps, the next cell starts.
    found = gap(calls="cudaDeviceSynchronize 9 100 250; cudaLaunchKernel 2 700 720")
    assert found == "host_sync 200 250; gap_unknown 250 700; launch_gap 700 800"
    # One instant of rest is enough, and a second wait does not bring it back.
    twice = gap(
        calls="cudaDeviceSynchronize 9 100 250; cudaDeviceSynchronize 8 400 500;"
        "cudaLaunchKernel 2 500 799"
    )
    assert twice == "host_sync 200 250; gap_unknown 250 400; launch_gap 400 800"


def test_a_rest_of_the_step_before_ends_it_for_the_whole_gap() -> None:
    # The gap crosses from one traced step into the next.
    windows = [
        {**STEP[0], "end_ns": "500us"},
        {**STEP[0], "window_id": "2", "start_ns": "500us"},
    ]
    tables = step(
        AROUND, calls="cudaDeviceSynchronize 9 100 250; cudaLaunchKernel 2 600 799",
        windows=windows,
    )  # fmt: skip
    assert "host_sync 200 250; gap_unknown 250 600; launch_gap 600 800" in pieces(tables)
    kept = step(
        AROUND, calls="cudaDeviceSynchronize 9 100 500; cudaLaunchKernel 2 500 799",
        windows=windows,
    )  # fmt: skip
    assert "host_sync 200 800" in pieces(kept)


def test_the_next_gap_begins_anew() -> None:
    work = "compute 1 0 200; compute 2 400 500; compute 3 900 1000"
    calls = (
        "cudaStreamSynchronize 9 100 250; cudaLaunchKernel 2 260 390;"
        "cudaStreamSynchronize 8 450 550; cudaLaunchKernel 3 560 899"
    )
    assert pieces(step(work, calls=calls)) == (
        "compute 0 200; host_sync 200 400; compute 400 500; host_sync 500 900; compute 900 1000"
    )
    # Without a wait at its begin the second is a launch gap.
    late = calls.replace("8 450 550", "8 510 550").replace("3 560", "3 500")
    assert "launch_gap 500 900" in pieces(step(work, calls=late))


def test_before_the_first_activity_no_gap_has_begun() -> None:
    tables = step("compute 2 800 1000", calls="cudaStreamSynchronize 9 0 400")
    assert pieces(tables) == "launch_gap 0 400; gap_unknown 400 800; compute 800 1000"


def test_a_hole_of_100_us_between_host_events_is_python_at_work_and_a_longer_one_a_rest() -> None:
    assert gap(ops="aten::add 9 0 200; aten::mul 9 300 800") == "launch_gap 200 800"
    longer = gap(ops="aten::add 9 0 200; aten::mul 9 300.001 800")
    assert longer == "gap_unknown 200 300.001; launch_gap 300.001 800"
    # An event inside a longer one is no end of it.
    assert gap(ops="aten::mm 9 0 700; aten::add 9 0 10; aten::t 9 800 900") == "launch_gap 200 800"


def test_the_host_works_on_any_thread_and_in_ops_and_calls_alike() -> None:
    found = gap(ops="autograd::backward 77 150 400", calls="cudaEventRecord 9 450 500")
    assert found == "launch_gap 200 500; gap_unknown 500 800"


def test_the_launch_of_the_next_work_makes_the_rest_a_launch_gap() -> None:
    # The host called and then slept: the GPU's queue is what is waited for.
    found = gap(calls="cudaLaunchKernel 2 500 510")
    assert found == "gap_unknown 200 500; launch_gap 500 800"
    # The call began before the gap; the call of another kernel says nothing.
    assert gap(calls="cudaLaunchKernel 2 100 110") == "launch_gap 200 800"
    other = gap(calls="cudaLaunchKernel 3 500 510")
    assert other == "gap_unknown 200 500; launch_gap 500 510; gap_unknown 510 800"


def test_of_two_activities_that_end_a_gap_the_earlier_call_counts() -> None:
    work = "compute 1 0 200; compute 2 800 900; copy 3 800 1000"
    calls = "cudaLaunchKernel 2 700 710; cudaMemcpyAsync 3 500 510"
    assert "gap_unknown 200 500; launch_gap 500 800" in pieces(step(work, calls=calls))


def test_a_named_bubble_stands_behind_what_the_host_does() -> None:
    found = gap(notes="pipeline_bubble 9 300 700", ops="aten::add 9 400 500")
    assert found == (
        "gap_unknown 200 300; pipeline_bubble 300 400; launch_gap 400 500;"
        " pipeline_bubble 500 700; gap_unknown 700 800"
    )
    assert gap(notes="pipeline_bubble 8 300 700") == "gap_unknown 200 800"


def test_with_every_reason_at_once_the_order_holds() -> None:
    loads, bubble = "load_batch 9 200 800", "pipeline_bubble 9 200 800"
    works = "cudaStreamSynchronize 9 100 800"
    assert gap(notes=f"{loads}; {bubble}", calls=works) == "data_stall 200 800"
    assert gap(notes=bubble, calls=works) == "host_sync 200 800"
    assert gap(notes=bubble, ops="aten::add 9 200 800") == "launch_gap 200 800"
    assert gap(notes=bubble) == "pipeline_bubble 200 800"
    assert gap() == "gap_unknown 200 800"


def test_loading_inside_a_wait_leaves_the_rest_of_the_gap_host_sync() -> None:
    found = gap(
        notes="load_batch 9 300 400",
        calls="cudaStreamSynchronize 9 100 250; cudaLaunchKernel 2 360 799",
    )
    assert found == "host_sync 200 250; gap_unknown 250 300; data_stall 300 400; launch_gap 400 800"


# --- shares ---------------------------------------------------------------------------------------


def shares(work: str) -> dict[tuple[int, str], int]:
    """ns by (activity, bucket) of one step of 1 ms."""
    rows = run_model("int_kernel_share", step(work))
    return {(row["event_no"], row["bucket"]): row["share_ns"] for row in rows}


def test_an_instant_that_k_kernels_share_counts_a_kth_each_and_the_sum_is_exact() -> None:
    # 0.2 us of three kernels: 200 ns do not divide by three.
    found = shares("compute 1 0 10; compute 2 9.8 10; compute 3 9.8 10; compute 4 20 20.001")
    assert found == {
        (1, "compute"): 9867,
        (2, "compute"): 67,
        (3, "compute"): 66,
        (4, "compute"): 1,
    }


def test_what_runs_beneath_a_deciding_kind_has_no_part_in_it() -> None:
    found = shares("compute 1 0 100; comm 2 50 200; copy 3 150 300; comm 4 0 50")
    assert found == {
        (1, "compute"): 100_000, (2, "comm_exposed"): 100_000, (3, "copy_exposed"): 100_000,
    }  # fmt: skip


def test_one_collective_has_a_part_in_waiting_and_in_moving_data() -> None:
    rows = run_model(
        "int_kernel_share", step("comm 1 0 1000; comm 2 600 800", waits="0us 1000us 700us")
    )
    assert {(row["event_no"], row["bucket"]): row["share_ns"] for row in rows} == {
        (1, "comm_wait"): 600_000, (1, "comm_exposed"): 300_000, (2, "comm_exposed"): 100_000,
    }  # fmt: skip


def test_work_across_two_steps_has_a_part_in_each() -> None:
    windows = [
        {**STEP[0], "end_ns": "400us"},
        {**STEP[0], "window_id": "2", "start_ns": "600us"},
    ]
    expect(
        "int_kernel_share",
        step("compute 1 100 700; copy 2 900 2000", windows=windows),
        """
        window_id | event_no | bucket       | share_ns
        1         | 1        | compute      | 300us
        2         | 1        | compute      | 100us
        2         | 2        | copy_exposed | 100us
        """,
    )
