"""Every check fails on a bad input, and passes on the good one beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import MODELS, Rows, filled, run_model

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


def test_no_check_is_left_out() -> None:
    files = {path.stem for path in (MODELS / "checks").glob("*.sql")}
    assert files == set(GOOD) == {check for check, *_ in BAD}
