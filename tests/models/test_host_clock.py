"""The clocks of hosts, told from the collectives that they share, and what is in doubt by them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.models.harness import expect, failed_checks, run_model

GROUP = "0 [0, 1]"


def call(match: int, node: str, start: int, end: int, *, rank: int | None = None) -> dict[str, Any]:
    """A kernel of int_collective; the rank's trace is 10 + rank, its hold 4 + rank."""
    rank = "abcd".index(node) if rank is None else rank
    return {
        "trace_no": 10 + rank, "hold_id": 4 + rank, "event_no": match, "rank": rank, "node": node,
        "group_key": GROUP, "start_ns": start, "end_ns": end, "match_no": match,
        "matched_by": "seq",
    }  # fmt: skip


def clocks(calls: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """(first trace, node, ahead, low, high, matches)."""
    rows = run_model("int_host_clock", {"int_collective": calls})
    names = ("first_trace_no", "node", "ahead_ns", "low_ns", "high_ns", "match_count")
    return [tuple(row[name] for name in names) for row in rows]


def waits(calls: list[dict[str, Any]]) -> dict[tuple[str, int], tuple[Any, ...]]:
    """Last start, lowest, highest and last hold by (node, match)."""
    rows = run_model("int_collective_call", {"int_collective": calls})
    node_of = {(c["trace_no"], c["event_no"]): c["node"] for c in calls}
    return {
        (node_of[row["trace_no"], row["event_no"]], row["event_no"]): (
            row["last_start_ns"], row["last_low_ns"], row["last_high_ns"], row["last_hold_id"],
        )
        for row in rows
    }  # fmt: skip


def test_the_clock_lies_between_what_starts_and_ends_allow_and_ends_meet() -> None:
    # b is 1000 ahead. Once it comes last, once first; each moves data for 100.
    found = clocks([
        call(1, "a", 100, 400), call(1, "b", 1300, 1400),
        call(2, "a", 700, 800), call(2, "b", 1500, 1800),
    ])  # fmt: skip
    assert found == [(10, "b", 1000, 900, 1100, 2)]


def test_without_clocks_apart_both_hosts_agree() -> None:
    assert clocks([call(1, "a", 100, 400), call(1, "b", 300, 401)]) == [(10, "b", 1, -100, 301, 1)]


def test_the_middle_of_the_ends_counts_and_what_disagrees_is_no_match() -> None:
    good = [c for n in (1, 2, 3) for c in (
        call(n, "a", n * 1000, n * 1000 + 100), call(n, "b", n * 1000 + 50, n * 1000 + 150 + n),
    )]  # fmt: skip
    strange = [call(4, "a", 9000, 9100), call(4, "b", 19000, 19100)]
    assert clocks(good + strange) == [(10, "b", 52, -50, 151, 3)]
    found = waits(good + strange)
    assert found["a", 4] == (None,) * 4
    assert found["a", 1] == (1000, 1000, 1100, 4)


def test_where_half_disagrees_the_clock_is_not_known_and_nothing_is_matched() -> None:
    calls = [
        call(1, "a", 100, 200), call(1, "b", 150, 200),
        call(2, "a", 900, 1000), call(2, "b", 5150, 5200),
    ]  # fmt: skip
    assert clocks(calls) == []
    assert set(waits(calls).values()) == {(None,) * 4}
    assert failed_checks("int_collective_call", {"int_collective": calls}) == []


@pytest.mark.parametrize(("ahead", "known"), [(60 * 10**9, True), (60 * 10**9 + 1, False)])
def test_clocks_over_a_minute_apart_are_not_believed(ahead: int, known: bool) -> None:
    """Ranks that start again within an attempt count their collectives anew."""
    calls = [call(1, "a", 100, 400), call(1, "b", 300 + ahead, 400 + ahead)]
    assert bool(clocks(calls)) is known
    assert (waits(calls)["a", 1][0] == 300) is known


def test_ranks_of_one_host_share_its_clock_and_leave_no_doubt() -> None:
    calls = [call(1, "a", 100, 400, rank=0), call(1, "a", 300, 400, rank=1)]
    assert clocks(calls) == []
    assert set(waits(calls).values()) == {(300, 300, 300, 5)}


def test_the_kernels_of_one_host_bind_its_clock_together() -> None:
    # Both ranks of b: the later start and the earlier end.
    found = clocks([
        call(1, "a", 100, 400, rank=0), call(1, "b", 1200, 1400, rank=1),
        call(1, "b", 1300, 1398, rank=2),
    ])  # fmt: skip
    assert found == [(10, "b", 1000, 900, 1298, 1)]


def test_waiting_is_told_by_the_own_clock_with_what_is_in_doubt() -> None:
    calls = [
        call(1, "a", 100, 400), call(1, "b", 1300, 1400),
        call(2, "a", 700, 800), call(2, "b", 1500, 1800),
    ]  # fmt: skip
    assert waits(calls) == {
        # a waits for b from 100 to 300, or from 200 to 400 by the bounds of b's clock.
        ("a", 1): (300, 200, 400, 5), ("b", 1): (1300, 1300, 1300, 5),
        ("a", 2): (700, 700, 700, 4), ("b", 2): (1700, 1600, 1800, 4),
    }  # fmt: skip


def test_groups_and_traces_have_clocks_of_their_own() -> None:
    calls = [
        call(1, "a", 100, 400), call(1, "b", 1300, 1400),
        {**call(2, "a", 100, 400), "group_key": "1 [0, 1]"},
        {**call(2, "b", 300, 400), "group_key": "1 [0, 1]"},
        {**call(3, "a", 500, 600), "trace_no": 99}, {**call(3, "b", 550, 610), "trace_no": 98},
    ]  # fmt: skip
    assert sorted(row[:3] for row in clocks(calls)) == [
        (10, "b", 0),
        (10, "b", 1000),
        (99, "b", 10),
    ]


def test_what_is_no_match_says_nothing_of_clocks() -> None:
    calls = [{**call(1, "a", 1, 9), "match_no": None}, {**call(2, "b", 5, 9), "match_no": None}]
    assert clocks(calls) == []
    assert set(waits(calls).values()) == {(None,) * 4}


@pytest.mark.parametrize("seed", range(4))
def test_the_true_clock_and_the_true_waiting_lie_within_the_bounds(seed: int) -> None:
    dice = random.Random(seed)
    ahead = {"a": 0} | {node: dice.randint(-(10**7), 10**7) for node in "bcd"}
    calls, truth = [], {}
    for match in range(1, dice.randint(2, 12)):
        begins = {node: match * 10**6 + dice.randint(0, 10**5) for node in ahead}
        last = max(begins.values())
        for node, begin in begins.items():
            end = last + dice.randint(1000, 1100)
            calls.append(call(match, node, begin + ahead[node], end + ahead[node]))
            truth[node, match] = last + ahead[node]
    dice.shuffle(calls)
    for _, node, point, low, high, _ in clocks(calls):
        assert low <= ahead[node] <= high
        assert abs(point - ahead[node]) <= 100
    found = waits(calls)
    assert found.keys() == truth.keys()
    for key, (last, low, high, _) in found.items():
        assert low <= truth[key] <= high, key
        assert abs(last - truth[key]) <= 200


# --- what is in doubt of a hold's waiting ---------------------------------------------------------


def test_doubt_is_what_clocks_leave_open_within_the_kernel_and_all_that_is_not_matched() -> None:
    calls = [
        {"event_no": 1, "start_ns": 100, "end_ns": 400, "last_start_ns": 300, "last_low_ns": 250,
         "last_high_ns": 900},
        {"event_no": 2, "start_ns": 500, "end_ns": 600, "last_start_ns": 550, "last_low_ns": 550,
         "last_high_ns": 550},
        {"event_no": 3, "start_ns": 700, "end_ns": 707, "is_matched": False},
        # No collective of a traced step.
        {"event_no": 4, "start_ns": 800, "end_ns": 900, "is_matched": False},
        {"event_no": 5, "start_ns": 800, "end_ns": 900, "is_matched": False, "hold_id": 5},
    ]  # fmt: skip
    shares = [
        {"event_no": 1, "bucket": "comm_wait"}, {"event_no": 1, "bucket": "comm_exposed"},
        {"event_no": 2, "bucket": "comm_wait"}, {"event_no": 3, "bucket": "comm_exposed"},
        {"event_no": 4, "bucket": "compute"},
    ]  # fmt: skip
    rows = run_model("int_wait_bound", {
        "int_collective_call": [
            {"trace_no": 1, "hold_id": 4, "is_matched": True, **row} for row in calls
        ],
        "int_kernel_share": [{"trace_no": 1, "hold_id": 4, "window_id": 1, **r} for r in shares],
    })  # fmt: skip
    assert rows == [{"hold_id": 4, "less_ns": 50, "more_ns": 100 + 7}]


def test_the_published_clock_names_both_hosts_and_the_trace() -> None:
    expect(
        "host_clock",
        {
            "int_collective": [call(1, "a", 100, 400), call(1, "b", 1300, 1400)],
            "int_trace": [
                {"trace_no": 10, "source_file": "f", "start_ns": "10:00", "cluster": "c1",
                 "job_id": "7", "attempt": 0},
            ],
        },
        """
        source_file | job_id | first_node | node | ahead_ns | low_ns | high_ns | match_count
        f           | 7      | a          | b    | 1000     | 900    | 1300    | 1
        """,
    )  # fmt: skip
