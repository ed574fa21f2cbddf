"""Traced steps: their windows, their number by the job's log, and what they prove of its time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import Rows, expect, failed_checks, filled, run_model

TRACE = {
    "trace_no": "1", "source_file": "f", "cluster": "c1", "job_id": "7", "attempt": "0",
    "start_ns": "100", "end_ns": "900",
}  # fmt: skip
DEVICE = "trace_no | device | hold_id\n1 | 0 | 4\n"
STEP = {"hold_id": "4", "source_file": "log"}
PROFILED = {"source_file": "f", "kind": "step", "pid": "9", "tid": "9"}


def traced(log: str, profiler: str, **more: Rows) -> dict[str, Rows]:
    """A trace on hold 4, with logged steps and steps of the profiler."""
    return {
        "int_trace": [TRACE],
        "int_trace_device": DEVICE,
        "int_step": filled(f"step | start_ns | end_ns\n{log}", **STEP),
        "stg_trace_annotation": filled(f"step_no | start_ns | end_ns\n{profiler}", **PROFILED),
        **more,
    }


# --- int_trace_step -------------------------------------------------------------------------------


def test_the_window_is_the_profilers_and_the_number_the_logs() -> None:
    # The profiler's step 5 is the job's step 45: numbers of the profiler count from its start.
    expect(
        "int_trace_step",
        traced(
            "5 | 100 | 110\n44 | 180 | 199\n45 | 200 | 300\n46 | 300 | 400\n",
            "5 | 205 | 305\n6 | 305 | 395\n",
        ),
        """
        window_id | step | profiler_step | start_ns | end_ns | log_start_ns | log_end_ns | hold_id
        1         | 45   | 5             | 205      | 305    | 200          | 300        | 4
        2         | 46   | 6             | 305      | 395    | 300          | 400        | 4
        """,
    )


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        ("150", "251", 2),
        ("150", "249", 1),
        # As much of both: the earlier.
        ("150", "250", 1),
        # Touching is no overlap.
        ("300", "350", None),
        ("50", "100", None),
        ("299", "400", 2),
        # A window around both: the longer part.
        ("100", "300", 1),
    ],
)
def test_the_number_is_found_by_the_greatest_overlap(start: str, end: str, step: int) -> None:
    tables = traced("1 | 100 | 200\n2 | 200 | 300\n", f"9 | {start} | {end}\n")
    [row] = run_model("int_trace_step", tables)
    assert (row["step"], row["start_ns"], row["end_ns"]) == (step, int(start), int(end))


def test_a_file_that_was_cut_shows_no_steps() -> None:
    # Events stand in no order of time: the work that was lost would pass for gaps.
    tables = traced("1 | 200 | 300\n", "5 | 200 | 300\n")
    assert len(run_model("int_trace_step", tables)) == 1
    cut = traced("1 | 200 | 300\n", "5 | 200 | 300\n", int_trace=[{**TRACE, "is_truncated": True}])
    assert run_model("int_trace_step", cut) == []


def test_without_a_log_the_windows_have_no_number() -> None:
    expect(
        "int_trace_step",
        traced("", "7 | 200 | 300\n"),
        "step | profiler_step | pid | tid\n | 7 | 9 | 9\n",
    )


def test_without_profiler_steps_the_logged_steps_wholly_inside_are_windows() -> None:
    expect(
        "int_trace_step",
        traced("1 | 99 | 150\n2 | 150 | 400\n3 | 400 | 900\n4 | 900 | 950\n", ""),
        """
        step | profiler_step | tid | start_ns | end_ns | log_start_ns | log_end_ns
        2    |               |     | 150      | 400    | 150          | 400
        3    |               |     | 400      | 900    | 400          | 900
        """,
    )


def test_a_logged_step_that_outlasts_the_trace_by_a_nanosecond_is_no_window() -> None:
    assert run_model("int_trace_step", traced("1 | 100 | 901\n", "")) == []
    assert run_model("int_trace_step", traced("1 | 99 | 900\n", "")) == []
    assert len(run_model("int_trace_step", traced("1 | 100 | 900\n", ""))) == 1


def test_without_either_there_is_no_traced_step() -> None:
    assert run_model("int_trace_step", traced("", "")) == []


def test_one_profiler_step_is_enough_to_leave_the_log_out() -> None:
    expect(
        "int_trace_step",
        traced("1 | 100 | 200\n2 | 200 | 300\n", "0 | 200 | 300\n"),
        "step | start_ns\n2 | 200\n",
    )


def test_a_window_inside_another_is_a_repetition_of_it() -> None:
    # Each thread can carry the step's annotation; only the first and longest counts.
    expect(
        "int_trace_step",
        traced("", "1 | 200 | 300\n1 | 200 | 290\n1 | 210 | 300\n2 | 300 | 400\n3 | 399 | 500\n"),
        "profiler_step | start_ns | end_ns\n1 | 200 | 300\n2 | 300 | 400\n",
    )


def test_every_gpu_of_a_trace_has_the_windows_and_its_own_logs_number() -> None:
    tables = traced("", "1 | 200 | 300\n")
    tables["int_trace_device"] = "trace_no | device | hold_id\n1 | 0 | 4\n1 | 1 | 5\n"
    tables["int_step"] = (
        "hold_id | step | start_ns | end_ns\n4 | 8 | 200 | 300\n5 | 9 | 250 | 350\n"
    )
    expect("int_trace_step", tables, "hold_id | step | start_ns\n4 | 8 | 200\n5 | 9 | 200\n")


# --- step_breakdown -------------------------------------------------------------------------------


def test_a_row_shows_each_bucket_of_a_step_and_they_sum_to_it() -> None:
    parts = [
        ("compute", 60), ("comm_wait", 1), ("comm_exposed", 2), ("copy_exposed", 3),
        ("data_stall", 4), ("launch_gap", 5), ("host_sync", 6), ("pipeline_bubble", 7),
        ("gap_unknown", 12),
    ]  # fmt: skip
    expect(
        "step_breakdown",
        {
            "int_trace_step": filled("window_id\n1\n", trace_no="1", hold_id="4", step="45",
                                     start_ns="10:00", end_ns="10:00:00.000000100"),
            "int_trace_bucket": [
                {"window_id": 1, "hold_id": 4, "bucket": bucket, "traced_ns": ns}
                for bucket, ns in parts
            ],
            "int_hold": filled("hold_id\n4\n", cluster="c1", job_id="7", attempt="0", rank="1",
                               gpu_uuid="a"),
            "int_trace": [TRACE],
            "int_trace_fit": "hold_id | is_unfit_attempt\n4 | true\n",
        },
        """
        month      | rank | step | gpu_uuid | step_ns | compute_ns | comm_wait_ns | comm_exposed_ns | copy_exposed_ns | data_stall_ns | launch_gap_ns | host_sync_ns | pipeline_bubble_ns | gap_unknown_ns | unfit | source_file
        2026-11-01 | 1    | 45   | a        | 100     | 60         | 1            | 2               | 3               | 4             | 5             | 6            | 7                  | 12             | true  | f
        """,  # noqa: E501
    )  # fmt: skip


def test_a_step_whose_parts_do_not_sum_to_it_fails() -> None:
    tables: dict[str, Rows] = {
        "int_trace_step": filled(
            "window_id | start_ns | end_ns\n1 | 10:00 | 10:00:01\n2 | 10:01 | 10:01:01\n",
            trace_no="1", hold_id="4",
        ),
        "int_trace_bucket": "window_id | hold_id | bucket | traced_ns\n"
        "1 | 4 | compute | 1s\n2 | 4 | compute | 1s\n",
        "int_hold": "hold_id\n4\n",
        "int_trace": [TRACE],
        "int_trace_fit": "hold_id\n4\n",
    }  # fmt: skip
    assert failed_checks("step_breakdown", tables) == []
    tables["int_trace_bucket"] = [
        {"window_id": 1, "hold_id": 4, "bucket": "compute", "traced_ns": 10**9},
        {"window_id": 2, "hold_id": 4, "bucket": "compute", "traced_ns": 10**9 - 1},
    ]
    assert failed_checks("step_breakdown", tables) == ["parts_sum_to_step"]


# --- int_logged_step ------------------------------------------------------------------------------


def logged(log: str) -> dict[str, Rows]:
    """The trace on hold 4, with logged steps alone."""
    tables = traced(log, "")
    del tables["stg_trace_annotation"]
    return tables


def test_logged_steps_are_numbered_in_time_and_the_trace_touches_some() -> None:
    tables = logged(
        "40 | 0 | 100\n41 | 100 | 300\n42 | 300 | 900\n43 | 900 | 950\n44 | 899 | 960\n"
    )
    expect(
        "int_logged_step",
        tables,
        """
        step | step_no | is_traced | step_ns
        40   | 1       | false     | 100
        41   | 2       | true      | 200
        42   | 3       | true      | 600
        44   | 4       | true      | 61
        43   | 5       | false     | 50
        """,
    )


def test_holds_without_a_trace_are_left_out() -> None:
    tables = logged("")
    tables["int_step"] = "hold_id | step | start_ns | end_ns\n5 | 1 | 200 | 300\n"
    assert run_model("int_logged_step", tables) == []


def test_saves_restores_and_idle_runs_are_no_step_time_and_count_once_where_they_overlap() -> None:
    hold = filled("hold_id\n4\n", cluster="c1", job_id="7", attempt="0", start_ns="0",
                  end_ns="10000")  # fmt: skip
    saved = filled(
        """
        start_ns | end_ns | is_blocking | event
        150      | 160    | true        | save
        155      | 170    | true        | restore
        180      | 190    | false       | save
        """,
        job_id="7", attempt="0", cluster="c1",
    )  # fmt: skip
    tables = logged("1 | 100 | 200\n2 | 200 | 300\n3 | 300 | 400\n")
    tables |= {
        "int_hold": hold,
        "stg_checkpoint": saved,
        "int_idle_run": filled("start_ns | end_ns\n190 | 240\n", hold_id="4", idle_id="1"),
    }
    expect("int_logged_step", tables, "step | step_ns\n1 | 70\n2 | 60\n3 | 100\n")


# --- int_trace_interval ---------------------------------------------------------------------------

HOLD = {"hold_id": "4", "start_ns": "150", "end_ns": "850"}


def test_traced_steps_prove_steps_only_where_the_job_logs_none() -> None:
    tables = traced("", "1 | 100 | 200\n2 | 200 | 300\n3 | 800 | 900\n", int_hold=[HOLD])
    expect(
        "int_trace_interval",
        tables,
        "hold_id | kind | start_ns | end_ns\n4|step|150|200\n4|step|200|300\n4|step|800|850\n",
    )
    logged = traced("1 | 500 | 600\n", "1 | 200 | 300\n", int_hold=[HOLD])
    expect("int_trace_interval", logged, "kind | start_ns | end_ns\nprofiler | 500 | 600\n")


def test_the_profilers_doing_reaches_two_logged_steps_around_the_trace() -> None:
    log = "".join(f"{n} | {100 * n} | {100 * n + 50}\n" for n in range(1, 10))
    tables = traced(log, "", int_hold=[HOLD])
    # Touched are the steps 4 to 6.
    tables["int_trace"] = [{**TRACE, "start_ns": "449", "end_ns": "601"}]
    expect("int_trace_interval", tables, "kind | start_ns | end_ns\nprofiler | 200 | 850\n")


def test_two_traces_of_the_same_steps_say_it_once() -> None:
    tables = traced("1 | 100 | 200\n2 | 200 | 300\n", "", int_hold=[HOLD])
    tables["int_trace"] = [TRACE, {**TRACE, "trace_no": "2", "source_file": "g"}]
    tables["int_trace_device"] = "trace_no | device | hold_id\n1 | 0 | 4\n2 | 0 | 4\n"
    assert failed_checks("int_trace_interval", tables) == []
    expect("int_trace_interval", tables, "kind | start_ns | end_ns\nprofiler | 100 | 300\n")


@pytest.mark.parametrize(
    ("start", "end", "spans"),
    [
        # The first step and the last bound it.
        ("110", "120", [(100, 350)]),
        ("910", "920", [(700, 950)]),
        # A trace between steps touches none: nothing says that it held them up.
        ("460", "490", []),
        ("449", "501", [(200, 750)]),
    ],
)
def test_the_profilers_doing_ends_with_the_log(
    start: str, end: str, spans: list[tuple[int, int]]
) -> None:
    log = "".join(f"{n} | {100 * n} | {100 * n + 50}\n" for n in range(1, 10))
    tables = traced(log, "", int_hold=[HOLD])
    tables["int_trace"] = [{**TRACE, "start_ns": start, "end_ns": end}]
    rows = run_model("int_trace_interval", tables)
    assert [(row["start_ns"], row["end_ns"]) for row in rows] == spans


def held(flags: dict[str, Any]) -> tuple[str, str | None]:
    """Bucket and sub of a held, observed, logged piece with these flags."""
    piece = {
        "gpu_uuid": "a", "bundle_id": 1, "start_ns": "10:00", "end_ns": "10:30", "hour_id": 10,
        "hold_id": 4, "idle_id": 0, "is_seen": True, "has_log": True, **flags,
    }  # fmt: skip
    [row] = run_model("int_named_part", {
        "int_elementary": [piece],
        "int_placement": "gpu_uuid | start_ns | paid_until_ns | is_placed\na|10:00|10:30|true\n",
        "int_bundle": "bundle_id\n1\n",
        "int_hold": filled("hold_id | gpu_uuid\n4 | a\n", start_ns="10:00", end_ns="10:30"),
    })  # fmt: skip
    return row["bucket"], row["sub"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"is_profiler": True}, ("between_steps", "profiler")),
        ({}, ("between_steps", None)),
        # The last trace's tail lies after the last step: the profiler is the nearer reason.
        ({"is_profiler": True, "is_after_steps": True}, ("between_steps", "profiler")),
        ({"is_after_steps": True}, ("between_steps", "after_last_step")),
        ({"is_profiler": True, "is_save": True}, ("recovery_checkpoint", None)),
        ({"is_profiler": True, "is_startup": True}, ("startup", None)),
        ({"is_profiler": True, "is_lost": True}, ("lost_work", None)),
        ({"is_profiler": True, "is_seen": False}, ("not_observed", None)),
    ],
)
def test_the_profiler_names_time_between_steps_and_no_other(
    flags: dict[str, Any], expected: tuple[str, str | None]
) -> None:
    assert held(flags) == expected
