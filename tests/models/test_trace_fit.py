"""How well traced steps speak for all steps, the weights, and the split of in_step time by them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.harness import Rows, expect, filled, run_model

HOLD = {"cluster": "c1", "job_id": "7", "attempt": "0"}
#: A hold of one rank, and an attempt of two.
ONE, TWO = "hold_id | gpu_count\n4 | 1\n", "hold_id | gpu_count\n4 | 2\n5 | 2\n"


def logged(lengths: str, *, hold: int = 4) -> list[dict[str, Any]]:
    """Logged steps of these lengths, one after the other from 0; `300t` is touched by a trace."""
    rows, at = [], 0
    for number, text in enumerate(lengths.split(), 1):
        length = int(text.rstrip("t"))
        rows.append({
            "hold_id": hold, "step": number, "step_no": number, "step_ns": length,
            "start_ns": at, "end_ns": at + length, "is_traced": text.endswith("t"),
        })  # fmt: skip
        at += length
    return rows


def windows(log: list[dict[str, Any]], spans: str = "") -> list[dict[str, Any]]:
    """Traced steps: `step start end; ...`, else each traced logged step."""
    texts = [part.split() for part in spans.split(";") if part.strip()]
    found = texts or [[r["step"], r["start_ns"], r["end_ns"]] for r in log if r["is_traced"]]
    by_step = {str(row["step"]): row for row in log}
    rows = []
    for number, (step, start, end) in enumerate(found, 1):
        row = by_step.get(str(step), {})
        rows.append({
            "window_id": 10 * int(log[0]["hold_id"] if log else 4) + number,
            "hold_id": log[0]["hold_id"] if log else 4, "trace_no": 1,
            "start_ns": start, "end_ns": end, "step": row.get("step"),
            "log_start_ns": row.get("start_ns"), "log_end_ns": row.get("end_ns"),
        })  # fmt: skip
    return rows


def buckets(text: str, *, hold: int = 4) -> list[dict[str, Any]]:
    """`bucket ns; ...` of all windows together, inside the log and out of it alike."""
    return [
        {"window_id": 1, "hold_id": hold, "bucket": bucket, "traced_ns": ns, "logged_ns": ns}
        for bucket, ns in (part.split() for part in text.split(";"))
    ]


def counters(engine: int, total: int, *, hold: int = 4, bundle: int = 1) -> dict[str, Any]:
    """Observed time from first to last step, and how much of it the engine was active."""
    return {
        "hold_id": hold, "hour_id": 10, "bundle_id": bundle, "is_step": True, "is_window": True,
        "total_ns": total, "observed_ns": total, "engine_sum": engine * 10**6,
    }  # fmt: skip


def fit(
    lengths: str, parts: str, *, spans: str = "", engine: int | None = None, log: bool = True
) -> dict[str, Any]:
    """int_trace_fit of hold 4."""
    steps = logged(lengths)
    given = windows(steps, spans)
    total = sum(row["step_ns"] for row in steps) or 1000
    tables: dict[str, Rows] = {
        "int_trace_step": given, "int_trace_bucket": buckets(parts),
        "int_logged_step": steps if log else [], "int_hold": filled(ONE, **HOLD),
        "int_activity": [] if engine is None else [counters(engine, total)],
    }  # fmt: skip
    [row] = run_model("int_trace_fit", tables)
    return row


# --- the normal step ------------------------------------------------------------------------------


def test_the_normal_step_leaves_out_the_first_and_those_that_a_trace_touches() -> None:
    row = fit("5000 90 110 300t 250t 103", "compute 150; launch_gap 400", engine=900)
    assert row["normal_step_ns"] == (90 + 110 + 103) // 3
    assert (row["window_count"], row["normal_ns"], row["traced_step_ns"]) == (2, 202, 275)
    assert (row["busy_ns"], row["gap_ns"]) == (150, 400)
    assert (row["has_log"], row["is_every_step"]) == (True, False)


def test_a_step_that_is_all_save_or_idle_is_no_normal_step() -> None:
    assert fit("5000 90 0 100t 110", "compute 100", engine=9)["normal_step_ns"] == 100


@pytest.mark.parametrize("lengths", ["100t 100t", "500 100t 100t", "100t"])
def test_without_an_untraced_step_beside_the_first_no_normal_step_is_known(lengths: str) -> None:
    row = fit(lengths, "compute 60; launch_gap 40", engine=9)
    assert (row["normal_step_ns"], row["normal_ns"]) == (None, None)


def test_a_window_counts_for_as_much_of_its_logged_step_as_it_covers() -> None:
    # The log counts every tenth step: two profiled ones are a fifth of it.
    row = fit(
        "1000 1000 1000t 1000", "compute 150; launch_gap 50",
        spans="3 2200 2300; 3 2300 2400", engine=3000,
    )  # fmt: skip
    assert (row["window_count"], row["steps_ppm"], row["normal_ns"]) == (2, 200_000, 200)
    assert row["traced_step_ns"] == 1000
    # Windows half a step late: half of each of two logged steps.
    late = fit(
        "100 100 100t 100t 100t 100", "compute 100; launch_gap 0", spans="3 250 350; 4 350 450"
    )
    assert (late["steps_ppm"], late["normal_ns"]) == (1_000_000, 100)
    # Micro-batches: two windows are the one logged step.
    micro = fit("100 100 100t 100", "compute 80; launch_gap 20", spans="3 200 250; 3 250 300")
    assert (micro["steps_ppm"], micro["normal_ns"], micro["traced_step_ns"]) == (10**6, 100, 100)


def test_a_window_that_reaches_beyond_its_step_counts_once_and_its_length_is_the_profilers() -> (
    None
):
    row = fit("100 100 150t 100", "compute 80; launch_gap 20", spans="3 190 360")
    assert (row["steps_ppm"], row["normal_ns"], row["traced_step_ns"]) == (10**6, 100, 170)


# --- fit: each half of the rule -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("busy", "unfit"), [(1000, False), (1020, False), (1021, True), (1500, True)]
)
def test_busy_time_over_1_02_normal_steps_is_unfit(busy: int, unfit: bool) -> None:
    row = fit("1 1000 1000t 1000", f"compute {busy}; launch_gap 0", engine=3001)
    assert row["is_unfit"] is unfit
    assert row["is_unfit_attempt"] is unfit


@pytest.mark.parametrize(
    ("traced", "engine", "unfit"),
    [
        # Up to 1.10 normal the counters are not asked.
        (1100, 0, False),
        # Beyond it the busy share, 0.6, must agree within 5 points: 0.65 of 3,101 ns.
        (1101, 0, True),
        (1101, 2015, False),
        (1101, 2016, True),
        (1101, 1706, False),
        (1101, 1705, True),
    ],
)
def test_longer_traced_steps_are_fit_only_where_the_counters_agree(
    traced: int, engine: int, unfit: bool
) -> None:
    row = fit(f"0 1000 {traced}t 1000", f"compute 600; launch_gap {traced - 600}", engine=engine)
    assert row["counted_ns"] == 2000 + traced
    assert row["is_unfit"] is unfit


def test_exactly_five_points_are_within() -> None:
    # Busy 0.60 of a normal step; counters 0.65 and 0.55 of 4,000 ns.
    for engine, unfit in ((2600, False), (2601, True), (2200, False), (2199, True)):
        row = fit("0 1000 2000t 1000", "compute 600; launch_gap 1400", engine=engine)
        assert row["is_unfit"] is unfit, engine


def test_without_counters_a_slow_trace_cannot_be_shown_to_fit_and_a_normal_one_need_not() -> None:
    assert fit("0 1000 1101t 1000", "compute 600; launch_gap 501")["is_unfit"]
    assert not fit("0 1000 1100t 1000", "compute 600; launch_gap 500")["is_unfit"]


def test_without_a_normal_step_the_counters_must_agree_with_the_traced_time_itself() -> None:
    agree = fit("500 500t", "compute 300; launch_gap 200", engine=600)
    assert (agree["normal_step_ns"], agree["is_unfit"]) == (None, False)
    assert fit("500 500t", "compute 300; launch_gap 200", engine=651)["is_unfit"]
    assert fit("500 500t", "compute 300; launch_gap 200")["is_unfit"]


def test_without_a_log_the_counters_of_the_paid_time_in_steps_speak() -> None:
    for engine, unfit in ((600, False), (650, False), (651, True), (None, True)):
        row = fit("", "compute 300; launch_gap 200", spans="- 0 500", engine=engine, log=False)
        assert (row["has_log"], row["steps_ppm"], row["traced_step_ns"]) == (False, 10**6, 500)
        assert row["is_unfit"] is unfit, engine


def test_where_every_step_is_traced_there_is_nothing_left_to_speak_for() -> None:
    row = fit("500t 9000t", "compute 9500; launch_gap 0", engine=0)
    assert (row["is_every_step"], row["is_unfit"]) == (True, False)
    assert not fit("500t 9000", "compute 500; launch_gap 0", engine=0)["is_every_step"]


def test_every_step_means_each_of_them_and_whole() -> None:
    twice = fit("100 100t 100t", "compute 300", spans="2 100 200; 2 100 200; 3 200 300")
    assert twice["is_every_step"] is False
    part = fit("1000t 1000t", "compute 400", spans="1 0 200; 2 1000 1200")
    assert part["is_every_step"] is False
    # The ends of a step belong to it by the log and not by the profiler.
    assert fit("1000t 1000t", "compute 1980", spans="1 10 1000; 2 1000 1990")["is_every_step"]
    assert not fit("1000t 1000t", "compute 9", spans="1 11 1000; 2 1000 1990")["is_every_step"]


@pytest.mark.parametrize(
    ("cut", "every"),
    [
        ({"job_id": "7", "attempt": "0"}, False), ({"job_id": "7"}, False), ({}, False),
        ({"job_id": "8"}, True), ({"job_id": "7", "attempt": "1"}, True),
        ({"is_cut": "false"}, True), ({"source": "checkpoints"}, True),
    ],
)  # fmt: skip
def test_a_log_with_rejects_does_not_show_that_every_step_is_traced(
    cut: dict[str, str], every: bool
) -> None:
    steps = logged("500t 900t")
    tables: dict[str, Rows] = {
        "int_trace_step": windows(steps), "int_trace_bucket": buckets("compute 1400"),
        "int_logged_step": steps, "int_hold": filled(ONE, **HOLD),
        "stg_source_coverage": [
            {"source": "steps", "is_cut": "true", "start_ns": "0", "end_ns": "9", **cut}
        ],
    }  # fmt: skip
    [row] = run_model("int_trace_fit", tables)
    assert row["is_every_step"] is every


@pytest.mark.parametrize(("rejects", "unfit"), [(0, False), (2, False), (3, True)])
def test_over_2_percent_that_could_not_be_read_is_unfit(rejects: int, unfit: bool) -> None:
    """Any of these events may have been a kernel: of 100 activities, 2 may be missing."""
    header = {
        "source_file": "f", "cluster": "c1", "meta_job_id": "7", "meta_attempt": "0",
        "start_ns": "1", "end_ns": "9", "gpu_count": "100", "reject_count": rejects,
    }  # fmt: skip
    [row] = run_model("int_trace_fit", {
        "stg_trace_header": [header],
        "int_attempt": "cluster | job_id | attempt | start_ns | end_ns\nc1 | 7 | 0 | 0 | 99\n",
        "int_logged_step": logged("100 100 100t 100 100"),
        "int_trace_step": windows(logged("100 100 100t 100 100")),
        "int_trace_bucket": buckets("compute 90; launch_gap 10"),
        "int_hold": [{**HOLD, "hold_id": 4}],
    })  # fmt: skip
    assert row["is_unfit"] is unfit


@pytest.mark.parametrize(("lost", "unfit"), [(2, False), (3, True)])
def test_launches_of_which_the_trace_shows_no_work_are_work_that_it_lost(
    lost: int, unfit: bool
) -> None:
    """The profiler can lose kernels without a word; copies and waits of the host are no sign."""
    launches = [
        {"source_file": "f", "event_no": n, "correlation": n, "name": "cudaLaunchKernel"}
        for n in range(100)
    ]
    others = [
        {"source_file": "f", "event_no": 100 + n, "correlation": 100 + n, "name": name}
        for n, name in enumerate(["cudaMemcpyAsync", "cudaStreamSynchronize", "cudaEventRecord"])
    ]
    tables: dict[str, Rows] = {
        "int_trace": [{"trace_no": 1, "source_file": "f", "job_id": "7"}],
        "stg_trace_launch": launches + others,
        "trace_kernel": [
            # Of no length, as in whole-microsecond traces: work all the same.
            {"source_file": "f", "event_no": 900 + n, "correlation": n, "start_ns": 5, "end_ns": 5}
            for n in range(lost, 100)
        ],
        "int_logged_step": logged("100 100 100t 100 100"),
        "int_trace_step": windows(logged("100 100 100t 100 100")),
        "int_trace_bucket": buckets("compute 90; launch_gap 10"),
        "int_hold": [{**HOLD, "hold_id": 4}],
    }
    [row] = run_model("int_trace_fit", tables)
    assert row["is_unfit"] is unfit


def test_one_rank_that_does_not_fit_flags_its_attempt_and_no_other() -> None:
    holds = filled("hold_id | attempt\n4 | 0\n5 | 0\n6 | 1\n", cluster="c1", job_id="7")
    log = [row for hold in (4, 5, 6) for row in logged("0 1000 1000t 1000", hold=hold)]
    parts = [("compute 1021; launch_gap 0", 4), ("compute 9", 5), ("compute 9", 6)]
    expect(
        "int_trace_fit",
        {
            "int_hold": holds, "int_logged_step": log,
            "int_trace_step": [
                row for hold in (4, 5, 6)
                for row in windows([r for r in log if r["hold_id"] == hold])
            ],
            "int_trace_bucket": [row for text, hold in parts for row in buckets(text, hold=hold)],
        },
        """
        hold_id | is_unfit | is_unfit_attempt
        4       | true     | true
        5       | false    | true
        6       | false    | false
        """,
    )  # fmt: skip


# --- weights --------------------------------------------------------------------------------------


def weights(
    parts: str, *, normal: int | None, calls: str = "", clipped: str = ""
) -> dict[tuple[str, int], int]:
    """Weights by (bucket, straggler) from traced parts; `clipped` are those inside the log, and
    `calls` the time that collectives have in a bucket: `last hold, bucket, ns; ...`."""
    waits = [part.split() for part in calls.split(";") if part.strip()]
    split = buckets(parts)
    if clipped:
        inside = {row["bucket"]: row["logged_ns"] for row in buckets(clipped)}
        split = [{**row, "logged_ns": inside.get(row["bucket"], 0)} for row in split]
    busy = sum(int(r["logged_ns"]) for r in split if r["bucket"] in
               ("compute", "comm_wait", "comm_exposed", "copy_exposed"))  # fmt: skip
    rows = run_model("int_trace_weight", {
        "int_trace_bucket": split,
        "int_trace_fit": [{
            "hold_id": 4, "has_log": True, "normal_ns": normal, "busy_ns": busy,
            "gap_ns": sum(int(r["logged_ns"]) for r in split) - busy,
        }],
        "int_collective_call": [
            {"trace_no": 1, "hold_id": 4, "event_no": n, "is_matched": True, "last_hold_id": hold}
            for n, (hold, _, _) in enumerate(waits)
        ],
        "int_kernel_share": [
            {"window_id": 1, "trace_no": 1, "hold_id": 4, "event_no": n, "bucket": bucket,
             "share_ns": ns}
            for n, (_, bucket, ns) in enumerate(waits)
        ],
    })  # fmt: skip
    return {(row["bucket"], row["cause_hold_id"]): row["weight"] for row in rows}


def test_busy_weighs_as_traced_and_gaps_shrink_to_the_normal_step() -> None:
    found = weights("compute 600; copy_exposed 100; launch_gap 300; data_stall 900", normal=900)
    assert found == {
        ("compute", 0): 600, ("copy_exposed", 0): 100,
        ("launch_gap", 0): 50, ("data_stall", 0): 150,
    }  # fmt: skip


def test_gaps_grow_where_a_normal_step_has_more() -> None:
    assert weights("compute 600; launch_gap 100", normal=1000)["launch_gap", 0] == 400


def test_busy_beyond_the_normal_step_leaves_no_gap() -> None:
    assert weights("compute 600; launch_gap 100", normal=500) == {("compute", 0): 600}


def test_without_a_normal_step_all_weighs_as_traced() -> None:
    found = weights("compute 600; launch_gap 100", normal=None)
    assert found == {("compute", 0): 600, ("launch_gap", 0): 100}


def test_what_a_normal_step_has_beyond_steps_without_any_gap_is_unexplained() -> None:
    assert weights("compute 600", normal=700) == {("compute", 0): 600, ("gap_unknown", 0): 100}
    # The gap outside the logged step is none of the log's time.
    found = weights("compute 600; gap_unknown 50", clipped="compute 600", normal=700)
    assert found == {("compute", 0): 600, ("gap_unknown", 0): 100}


def test_only_what_lies_inside_the_logged_step_weighs() -> None:
    found = weights(
        "compute 600; launch_gap 400", clipped="compute 500; launch_gap 100", normal=700
    )
    assert found == {("compute", 0): 500, ("launch_gap", 0): 200}


def test_waiting_is_divided_by_who_was_waited_for() -> None:
    # Two collectives wait 100 and 200 ns for hold 5, one 33 ns for hold 6.
    calls = "5 comm_wait 100; 5 comm_wait 200; 6 comm_wait 33; 5 comm_exposed 50"
    found = weights("comm_wait 100; compute 900", normal=1000, calls=calls)
    assert found == {("comm_wait", 5): 90, ("comm_wait", 6): 10, ("compute", 0): 900}


def test_waiting_that_compute_hides_blames_nobody() -> None:
    found = weights("comm_wait 100", normal=100, calls="5 compute 900; 6 comm_wait 50")
    assert found == {("comm_wait", 6): 100}


# --- the split of in_step time --------------------------------------------------------------------


def split(
    weight: dict[str, int] | list[dict[str, Any]], total: int, engine: int, *, seen: int = -1,
    unfit: bool = False, every: bool = False, holds: str = ONE, doubt: tuple[int, int] = (0, 0),
) -> list[tuple[str, int, int, int, str, str]]:  # fmt: skip
    """(bucket, ns, low, high, grade, method) of one hour's in_step time."""
    weighed = (
        [{"bucket": bucket, "cause_hold_id": 0, "weight": w} for bucket, w in weight.items()]
        if isinstance(weight, dict)
        else weight
    )
    observed = total if seen < 0 else seen
    rows = run_model("int_in_step_split", {
        "int_activity": [{**counters(engine, total), "observed_ns": observed}],
        "int_hold": filled(holds, **HOLD),
        "int_trace_weight": [{"hold_id": 4, **row} for row in weighed],
        "int_trace_fit": [
            {"hold_id": 4, "is_unfit_attempt": unfit, "is_every_step": every}
        ] if weighed else [],
        "int_wait_bound": [{"hold_id": 4, "less_ns": doubt[0], "more_ns": doubt[1]}],
    })  # fmt: skip
    return [
        (
            row["bucket"], row["gpu_ns"], row["gpu_ns"] - row["less_ns"],
            row["gpu_ns"] + row["more_ns"], row["evidence_grade"], row["method_id"],
        )
        for row in rows
    ]  # fmt: skip


def test_the_parts_sum_exactly_and_the_largest_remainders_get_what_is_left() -> None:
    found = split({"compute": 1, "launch_gap": 1, "data_stall": 1}, 100, 50)
    # Equal remainders: in order of the name.
    assert [row[:2] for row in found] == [("compute", 34), ("data_stall", 33), ("launch_gap", 33)]
    found = split({"compute": 5, "launch_gap": 2}, 10, 5)
    assert [row[:2] for row in found] == [("compute", 7), ("launch_gap", 3)]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 10**15), min_size=1, max_size=6).filter(any),
    st.integers(1, 3_600_000_000_000),
)
def test_any_weights_split_any_time_exactly(weighed: list[int], total: int) -> None:
    rows: list[dict[str, Any]] = [
        {"bucket": "comm_wait", "cause_hold_id": cause, "weight": weight}
        for cause, weight in enumerate(weighed)
    ]
    found = split(rows, total, total // 2)
    assert sum(row[1] for row in found) == total
    # No part is further from its exact share than rounding goes.
    by_cause = [total * weight / sum(weighed) for weight in weighed]
    assert len(found) <= len(by_cause)
    assert max(row[1] for row in found) - max(by_cause) < 1.5


def test_the_bounds_of_a_fit_trace_are_what_counters_and_logic_leave_open() -> None:
    found = split({"compute": 70, "launch_gap": 30}, 1000, 800)
    assert found == [
        ("compute", 700, 700, 800, "E3", "in_step_trace"),
        ("launch_gap", 300, 0, 300, "E3", "in_step_trace"),
    ]
    # Counters that saw less than the trace: compute may be as little, gaps as much.
    found = split({"compute": 70, "launch_gap": 30}, 1000, 600)
    assert found == [
        ("compute", 700, 600, 700, "E3", "in_step_trace"),
        ("launch_gap", 300, 0, 400, "E3", "in_step_trace"),
    ]
    # What no sample saw may have been either.
    found = split({"compute": 60, "launch_gap": 40}, 1000, 500, seen=800)
    assert found == [
        ("compute", 600, 500, 700, "E3", "in_step_trace"),
        ("launch_gap", 400, 0, 500, "E3", "in_step_trace"),
    ]


def test_of_several_ranks_busy_may_be_waiting_all_of_it() -> None:
    found = split({"compute": 70, "comm_exposed": 20, "launch_gap": 10}, 1000, 900, holds=TWO)
    assert [row[:4] for row in found] == [
        ("comm_exposed", 200, 0, 900), ("compute", 700, 0, 900), ("launch_gap", 100, 0, 100),
    ]  # fmt: skip


def test_an_unfit_attempts_bounds_are_wide_and_its_method_says_so() -> None:
    found = split({"compute": 70, "launch_gap": 30}, 1000, 800, unfit=True)
    assert found == [
        ("compute", 700, 0, 1000, "E3", "in_step_trace_unfit"),
        ("launch_gap", 300, 0, 1000, "E3", "in_step_trace_unfit"),
    ]


def test_where_every_step_is_traced_the_split_is_measured() -> None:
    found = split({"compute": 70, "launch_gap": 30}, 1000, 100, every=True)
    assert found == [
        ("compute", 700, 700, 700, "E4", "in_step_trace"),
        ("launch_gap", 300, 300, 300, "E4", "in_step_trace"),
    ]


def test_there_too_waiting_is_as_sure_as_the_clocks_of_the_hosts() -> None:
    # Two stragglers, 10 ns for each of the weight; waiting 4 ns less or 6 more in all.
    parts = [
        {"bucket": "comm_exposed", "cause_hold_id": 0, "weight": 50},
        {"bucket": "comm_wait", "cause_hold_id": 5, "weight": 30},
        {"bucket": "comm_wait", "cause_hold_id": 6, "weight": 10},
        {"bucket": "compute", "cause_hold_id": 0, "weight": 10},
    ]
    found = split(parts, 1000, 900, every=True, holds=TWO, doubt=(4, 6))
    assert [row[:4] for row in found] == [
        ("comm_exposed", 500, 440, 540), ("comm_wait", 300, 270, 345),
        ("comm_wait", 100, 90, 115), ("compute", 100, 100, 100),
    ]  # fmt: skip
    # Never below nothing, nor above all of the hour.
    found = split(parts, 1000, 900, every=True, holds=TWO, doubt=(900, 900))
    assert [row[2:4] for row in found] == [(0, 1000), (0, 1000), (0, 1000), (100, 100)]


def test_a_hold_without_traces_is_split_by_its_counters_as_before() -> None:
    found = split({}, 1000, 600, seen=900)
    assert [(row[0], row[1], row[4]) for row in found] == [
        ("compute", 600, "E2"), ("gap_unknown", 300, "E2"), ("step_unsplit", 100, "E1"),
    ]  # fmt: skip
    found = split({}, 1000, 600, holds=TWO)
    assert [row[:2] for row in found] == [("busy_unsplit", 600), ("gap_unknown", 400)]


def test_weights_that_are_all_nothing_leave_it_to_the_counters() -> None:
    found = split({"compute": 0}, 1000, 600)
    assert [row[:2] for row in found] == [("compute", 600), ("gap_unknown", 400)]


def test_every_hour_is_split_alone() -> None:
    hours: list[dict[str, Any]] = [
        {**counters(5, 10), "hour_id": 10}, {**counters(1, 7), "hour_id": 11},
        {**counters(1, 3), "hour_id": 11, "bundle_id": 2},
    ]  # fmt: skip
    expect(
        "int_in_step_split",
        {
            "int_activity": hours,
            "int_hold": filled(ONE, **HOLD),
            "int_trace_weight": "hold_id | bucket | cause_hold_id | weight\n4 | compute | 0 | 1\n"
            "4 | comm_wait | 5 | 1\n",
            "int_trace_fit": "hold_id | is_unfit_attempt | is_every_step\n4 | false | false\n",
        },
        """
        bundle_id | hour_id | bucket    | cause_hold_id | gpu_ns
        1         | 10      | compute   | 0             | 5
        1         | 10      | comm_wait | 5             | 5
        1         | 11      | compute   | 0             | 3
        1         | 11      | comm_wait | 5             | 4
        2         | 11      | compute   | 0             | 1
        2         | 11      | comm_wait | 5             | 2
        """,
    )
