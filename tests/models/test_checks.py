"""Every check fails on a bad input, and passes on the good one beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import MODELS, Rows, filled, run_model

JOB_7 = {"month": "2026-11-01", "cluster": "c1", "job_id": "7"}


def kernels(rows: str) -> Rows:
    """kernel_cost of `job bucket gpu_ns direct_usd loaded_usd; ...`, - for no bucket."""
    head = ("job_id", "bucket", "gpu_ns", "direct_usd", "loaded_usd")
    cells = (dict(zip(head, row.split(), strict=True)) for row in rows.split(";"))
    return [
        {
            **JOB_7,
            "team": "nlp",
            "kernel_family": n,
            **row,
            "bucket": row["bucket"].strip("-") or None,
        }
        for n, row in enumerate(cells)
    ]


def parts(name: str, rows: str) -> Rows:
    """compute_split or allocation of job 7: `attempt part gpu_ns usd; ...`."""
    head = ("attempt", name, "gpu_ns", "billed_usd")
    return [{**JOB_7, **dict(zip(head, row.split(), strict=True))} for row in rows.split(";")]


GOOD: dict[str, dict[str, Rows]] = {
    "chk_bundle_sums": {
        "int_bundle": "bundle_id | billed_gpu_ns\n1 | 100\n2 | 50\n",
        "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | 60\n1 | 2 | 40\n2 | 1 | 50\n",
    },
    "chk_gpu_hour_fits": {
        "int_state": "gpu_uuid | hour_id | gpu_ns\na | 10 | 30min\na | 10 | 30min\n"
        "b | 10 | 1h\n | | 99h",
    },
    "chk_idle_dollars": {
        "allocation": "month | bucket | billed_usd\n2026-11-01 | idle_held | 5\n"
        "2026-11-01 | idle_held | -2\n2026-11-01 | compute | 9\n",
        "idle_sessions": "month | billed_usd\n2026-11-01 | 3\n",
    },
    "chk_in_step_sums": {
        "int_labelled": "hold_id | hour_id | bucket | start_ns | end_ns\n"
        "1 | 10 | in_step | 0 | 10\n1 | 10 | in_step | 20 | 25\n1 | 10 | idle_held | 30 | 99\n",
        "int_in_step_split": "hold_id | hour_id | bucket | gpu_ns\n"
        "1 | 10 | compute | 9\n1 | 10 | gap_unknown | 6\n",
    },
    "chk_invoice_in_one_file": {
        "stg_bill_line": filled(
            "line_id | invoice_id | source_file\na | I-1 | x.csv\nb | I-1 | x.csv\n"
            "c | I-2 | y.csv\nd | | x.csv\ne | | y.csv\n",
            issuer="cloud",
        ),
    },
    "chk_one_job_per_gpu": {
        "int_hold": filled(
            "hold_id | gpu_uuid | job_id | start_ns | end_ns\n"
            "1 | a | 1 | 10:00 | 10:30:07\n2 | a | 2 | 10:30:07 | 11:00\n3 | b | 1 | 10:00 | 11:00",
            cluster="c1",
        ),
    },
    "chk_one_place_per_gpu": {
        "int_bundle_gpu": "gpu_uuid | bundle_id | start_ns | end_ns\n"
        "a | 1 | 10:00 | 11:00\na | 2 | 11:00 | 12:00\nb | 3 | 10:00 | 12:00\n",
    },
    "chk_step_has_gpu": {
        "stg_train_step": "job_id | rank | step\n1 | 0 | 1\n1 | 1 | 1\n1 | | 2\n9 | 7 | 1\n",
        "int_hold": "hold_id | job_id | rank_count\n1 | 1 | 2\n2 | 1 | 2\n",
    },
    "chk_kernel_sums": {
        "kernel_cost": kernels("7 compute 60 6 9; 7 compute 40 4 5; 7 comm_wait 10 1 2; 8 - 0 0 3"),
        "allocation": [
            *parts("bucket", "0 compute 70 7; 0 compute 30 3; 0 comm_wait 10 1; 0 startup 50 5"),
            {**JOB_7, "job_id": "8", "bucket": "startup", "gpu_ns": 30, "billed_usd": 3},
            {**JOB_7, "job_id": None, "bucket": "unallocated", "gpu_ns": 99, "billed_usd": 9},
        ],
        "job_cost": filled(
            "job_id | attempt | billed_usd\n7 | 0 | 10\n7 | 1 | 6\n8 | 0 | 3\n",
            month="2026-11-01",
            cluster="c1",
        ),
    },
    "chk_compute_split_sums": {
        "compute_split": parts("part", "0 non_math 60 6; 0 unsplit 40 4; 1 unsplit 5 1"),
        "allocation": parts(
            "bucket", "0 compute 70 7; 0 compute 30 3; 1 compute 5 1; 1 startup 9 9"
        ),
    },
    "chk_ranks_communicate": {
        "int_trace": filled(
            "trace_no | source_file | job_id | world_size\n1 | f | 7 | 2\n2 | g | 7 | 2\n"
            "3 | h | 8 | 1\n",
            cluster="c1",
            attempt="0",
        ),
        "stg_trace_header": filled(
            "source_file\nf\ng\nh\n", is_truncated="false", reject_count="0"
        ),
        "int_trace_step": "trace_no | hold_id | window_id | start_ns | end_ns\n"
        "1 | 4 | 1 | 100 | 200\n2 | 5 | 2 | 100 | 200\n3 | 6 | 3 | 100 | 200\n",
        "int_gpu_work": "trace_no | hold_id | event_no | kind | start_ns | end_ns\n"
        "1 | 4 | 1 | compute | 110 | 120\n1 | 4 | 2 | comm | 120 | 130\n"
        "2 | 5 | 1 | compute | 110 | 120\n3 | 6 | 1 | compute | 110 | 120\n",
    },
    "chk_step_has_attempt": {
        "stg_train_step": "cluster | job_id | start_ns | end_ns\n"
        "c1 | 7 | 10:10 | 10:11\n | 7 | 11:00:01.9 | 11:01\n",
        "int_attempt": "cluster | job_id | attempt | start_ns | end_ns\n"
        "c1 | 7 | 0 | 10:00 | 11:00\n",
        "stg_source_coverage": "source | cluster | is_cut | start_ns | end_ns\n"
        "scheduler | c1 | false | 08:00 | 14:00\n",
    },
    "chk_unallocated_is_quiet": {
        "int_labelled": "gpu_uuid | hour_id | bucket | start_ns | end_ns\n"
        "a | 0 | unallocated | 0 | 600000000000\na | 0 | in_step | 600000000000 | 900000000000\n",
        "int_sample": "gpu_uuid | engine_ppm | start_ns | end_ns\n"
        "a | 1000000 | 540000000000 | 700000000000\na | 499999 | 0 | 540000000000\n"
        "b | 1000000 | 0 | 540000000000\n",
    },
    "chk_row_time": {
        "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | 60\n1 | 2 | 0\n",
        "int_line_time": "bundle_id | line_id | row_no | gpu_ns\n1 | a | 1 | 20\n1 | b | 1 | 40\n",
    },
}
#: One table of the good input, made bad, and how many rows the check then shows.
BAD: list[tuple[str, str, Rows, int]] = [
    ("chk_bundle_sums", "int_state", "bundle_id | row_no | gpu_ns\n1 | 1 | 100\n2 | 1 | 51\n", 1),
    ("chk_bundle_sums", "int_state", "bundle_id | row_no | gpu_ns\n1 | 1 | 99\n2 | 1 | 50\n", 1),
    ("chk_bundle_sums", "int_state", "bundle_id | row_no | gpu_ns\n1 | 1 | 100\n", 1),
    (
        "chk_bundle_sums", "int_state",
        "bundle_id | row_no | gpu_ns\n1 | 1 | 110\n1 | 2 | -10\n2 | 1 | 50\n", 1,
    ),
    ("chk_gpu_hour_fits", "int_state", "gpu_uuid | hour_id | gpu_ns\na | 10 | 3600000000001\n", 1),
    (
        "chk_gpu_hour_fits", "int_state",
        "gpu_uuid | hour_id | gpu_ns\na | 10 | 31min\na | 10 | 30min\na | 11 | 1h\n", 1,
    ),
    ("chk_idle_dollars", "idle_sessions", "month | billed_usd\n2026-11-01 | 3.000000000001\n", 1),
    ("chk_idle_dollars", "idle_sessions", "month | billed_usd\n2026-10-01 | 3\n", 2),
    ("chk_idle_dollars", "idle_sessions", "month | billed_usd\n", 1),
    (
        "chk_idle_dollars", "allocation",
        "month | bucket | billed_usd\n2026-11-01 | compute | 3\n", 1,
    ),
    (
        "chk_in_step_sums", "int_in_step_split",
        "hold_id | hour_id | bucket | gpu_ns\n1 | 10 | compute | 14\n", 1,
    ),
    ("chk_in_step_sums", "int_in_step_split", "hold_id | hour_id | gpu_ns\n", 1),
    ("chk_in_step_sums", "int_in_step_split", "hold_id | hour_id | gpu_ns\n1 | 11 | 15\n", 2),
    (
        "chk_invoice_in_one_file", "stg_bill_line",
        "line_id | invoice_id | source_file\na | I-1 | x.csv\nb | I-1 | x-copy.csv\n", 1,
    ),
    ("chk_step_has_gpu", "stg_train_step", "job_id | rank | step\n1 | 2 | 1\n1 | 2 | 2\n", 1),
    (
        "chk_one_job_per_gpu", "int_hold",
        "hold_id | gpu_uuid | start_ns | end_ns\n1 | a | 10:00 | 10:30:07.000000001\n"
        "2 | a | 10:30:07 | 11:00\n", 1,
    ),
    (
        # The one before is over, but a longer one before it is not.
        "chk_one_job_per_gpu", "int_hold",
        "hold_id | gpu_uuid | start_ns | end_ns\n1 | a | 10:00 | 13:00\n"
        "2 | a | 10:30 | 11:00\n3 | a | 12:00 | 13:00\n", 2,
    ),
    (
        "chk_one_place_per_gpu", "int_bundle_gpu",
        "gpu_uuid | bundle_id | start_ns | end_ns\na | 1 | 10:00 | 11:00\na | 2 | 10:59 | 12:00\n",
        1,
    ),
    (
        "chk_one_place_per_gpu", "int_bundle_gpu",
        "gpu_uuid | bundle_id | start_ns | end_ns\na | 1 | 10:00 | 11:00\na | 1 | 10:00 | 11:00\n",
        1,
    ),
    # A kernel's time, its cost, its bucket, the loaded sum, a job without a row, one too many.
    *(
        ("chk_kernel_sums", "kernel_cost", kernels(rows), found)
        for rows, found in (
            ("7 compute 99 10 14; 7 comm_wait 10 1 2; 8 - 0 0 3", 1),
            ("7 compute 100 9.999999999999 14; 7 comm_wait 10 1 2; 8 - 0 0 3", 1),
            ("7 compute 100 10 16; 8 - 0 0 3", 1),
            ("7 compute 100 10 13; 7 comm_wait 10 1 2; 8 - 0 0 3", 1),
            ("7 compute 100 10 14; 7 comm_wait 10 1 2", 1),
            ("7 compute 100 10 14; 7 comm_wait 10 1 2; 8 - 0 0 3; 9 compute 5 1 0", 2),
        )
    ),
    *(
        ("chk_compute_split_sums", "compute_split", parts("part", rows), found)
        for rows, found in (
            ("0 unsplit 99 10; 1 unsplit 5 1", 1),
            ("0 unsplit 100 10.000000000001; 1 unsplit 5 1", 1),
            ("0 unsplit 105 11", 2),
        )
    ),
    ("chk_compute_split_sums", "allocation", parts("bucket", "0 compute 100 10"), 1),
    (
        # The only collective lies outside of the steps.
        "chk_ranks_communicate", "int_gpu_work",
        "trace_no | hold_id | event_no | kind | start_ns | end_ns\n"
        "1 | 4 | 1 | compute | 110 | 120\n1 | 4 | 2 | comm | 200 | 230\n"
        "2 | 5 | 1 | compute | 110 | 120\n2 | 5 | 2 | copy | 110 | 120\n", 1,
    ),
    # Steps of another cluster, of a job that nobody knows, and outside of their job.
    *(
        ("chk_step_has_attempt", "stg_train_step",
         f"cluster | job_id | start_ns | end_ns\n{step}\n{step}\n", 1)
        for step in ("CLUSTER | 7 | 10:10 | 10:11", "c1 | 8 | 10:10 | 10:11",
                     "c1 | 7 | 12:10 | 12:11")
    ),
    (
        "chk_unallocated_is_quiet", "int_sample",
        "gpu_uuid | engine_ppm | start_ns | end_ns\na | 500000 | 0 | 60000000001\n", 1,
    ),
    (
        "chk_row_time", "int_line_time",
        "bundle_id | line_id | row_no | gpu_ns\n1 | a | 1 | 20\n1 | b | 1 | 41\n", 1,
    ),
    ("chk_row_time", "int_line_time", "bundle_id | line_id | row_no | gpu_ns\n", 1),
    (
        "chk_row_time", "int_line_time",
        "bundle_id | line_id | row_no | gpu_ns\n1 | a | 1 | 60\n1 | a | 2 | 1\n", 1,
    ),
]  # fmt: skip


@pytest.mark.parametrize("check", GOOD)
def test_the_check_passes_on_good_rows(check: str) -> None:
    assert run_model(check, GOOD[check]) == []


@pytest.mark.parametrize(("check", "table", "rows", "found"), BAD)
def test_the_check_fails_on_bad_rows(check: str, table: str, rows: Rows, found: int) -> None:
    tables: dict[str, Any] = {**GOOD[check], table: rows}
    assert len(run_model(check, tables)) == found


@pytest.mark.parametrize(
    "covered",
    ["", "scheduler | true | 08:00 | 14:00", "node_event | false | 08:00 | 14:00",
     "scheduler | false | 08:00 | 10:10:59", "scheduler | false | 10:10:01 | 14:00"],
)  # fmt: skip
def test_where_the_scheduler_was_not_read_no_step_is_expected_to_be_of_an_attempt(
    covered: str,
) -> None:
    tables: dict[str, Rows] = {
        "stg_train_step": "cluster | job_id | start_ns | end_ns\nc1 | 8 | 10:10 | 10:10:30\n",
        "stg_source_coverage": f"source | is_cut | start_ns | end_ns\n{covered}\n",
    }
    assert run_model("chk_step_has_attempt", tables) == []
    whole = "source | is_cut | start_ns | end_ns\nscheduler | false | 10:10 | 10:11\n"
    assert len(run_model("chk_step_has_attempt", {**tables, "stg_source_coverage": whole})) == 1


@pytest.mark.parametrize("unread", ["true | 0", "false | 1"])
def test_a_trace_that_was_not_read_whole_does_not_prove_that_ranks_do_not_communicate(
    unread: str,
) -> None:
    tables: dict[str, Any] = {
        **GOOD["chk_ranks_communicate"],
        "int_gpu_work": "trace_no | hold_id | event_no | kind | start_ns | end_ns\n"
        "1 | 4 | 1 | compute | 110 | 120\n",
    }
    assert len(run_model("chk_ranks_communicate", tables)) == 1
    tables["stg_trace_header"] = f"source_file | is_truncated | reject_count\nf | {unread}\n"
    assert run_model("chk_ranks_communicate", tables) == []


def test_no_check_is_left_out() -> None:
    files = {path.stem for path in (MODELS / "checks").glob("*.sql")}
    assert files == set(GOOD) == {check for check, *_ in BAD}
