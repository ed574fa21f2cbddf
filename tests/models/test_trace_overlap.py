"""Two traces of one GPU at one time: the work that both tell counts once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import run_model

HOLDS = """
    hold_id | cluster | job_id | attempt | rank | rank_count | gpu_uuid | start_ns | end_ns
    1       | c1      | 7      | 0       | 0    | 2          | a        | 10:00    | 11:00
    2       | c1      | 7      | 0       | 1    | 2          | b        | 10:00    | 11:00
"""
TRACE = {"cluster": "c1", "job_id": "7", "attempt": 0, "rank": 0}


def kept(*traces: tuple[str, str, int, int]) -> list[int]:
    """Numbers, from 1, of the traces (start, end, kernels, rank) that a GPU is found for."""
    rows = run_model("int_trace_device", {
        "int_trace": [
            {**TRACE, "trace_no": n, "source_file": str(n), "start_ns": start, "end_ns": end,
             "rank": rank}
            for n, (start, end, _, rank) in enumerate(traces, 1)
        ],
        "stg_trace_kernel": [
            {"source_file": str(n), "event_no": i, "device": 0, "start_ns": start, "end_ns": end}
            for n, (start, end, kernels, _) in enumerate(traces, 1)
            for i in range(kernels)
        ],
        "int_hold": HOLDS,
    })  # fmt: skip
    found: list[Any] = sorted(row["trace_no"] for row in rows)
    return found


def test_a_cut_file_beside_the_whole_one() -> None:
    assert kept(("10:10", "10:12", 2, 0), ("10:10", "10:14", 5, 0)) == [2]
    assert kept(("10:10", "10:14", 5, 0), ("10:10", "10:12", 2, 0)) == [1]
    # As full as each other: the first.
    assert kept(("10:10", "10:14", 5, 0), ("10:10", "10:14", 5, 0)) == [1]


def test_a_whole_file_counts_before_a_fuller_one_that_was_cut() -> None:
    both = [
        {
            **TRACE,
            "trace_no": n,
            "source_file": str(n),
            "start_ns": "10:10",
            "end_ns": "10:14",
            "is_truncated": n == 1,
        }
        for n in (1, 2)
    ]
    rows = run_model("int_trace_device", {
        "int_trace": both,
        "stg_trace_kernel": [
            {"source_file": str(n), "event_no": i, "device": 0, "start_ns": "10:10",
             "end_ns": "10:11"}
            for n, kernels in ((1, 9), (2, 5)) for i in range(kernels)
        ],
        "int_hold": HOLDS,
    })  # fmt: skip
    assert [row["trace_no"] for row in rows] == [2]


def test_other_ranks_and_other_times_stay() -> None:
    assert kept(("10:10", "10:14", 5, 0), ("10:10", "10:14", 5, 1)) == [1, 2]
    assert kept(("10:10", "10:14", 5, 0), ("10:14", "10:18", 5, 0)) == [1, 2]


@pytest.mark.parametrize(
    ("start", "found"),
    [
        # A kernel of the window before may run into the next window; half of it may not.
        ("10:13", [1, 2]),
        ("10:12", [1, 2]),
        ("10:11:59", [1]),
    ],
)
def test_windows_that_only_touch_are_two(start: str, found: list[int]) -> None:
    end = start.replace("10:13", "10:17").replace("10:12", "10:16").replace("10:11:59", "10:15:59")
    assert kept(("10:10", "10:14", 5, 0), (start, end, 3, 0)) == found


def test_of_three_the_fullest_counts() -> None:
    found = kept(("10:10", "10:14", 3, 0), ("10:10", "10:14", 5, 0), ("10:10", "10:13", 2, 0))
    assert found == [2]
