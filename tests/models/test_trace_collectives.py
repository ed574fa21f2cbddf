"""Collectives matched across the ranks of their group, and when they are not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import Rows, expect, filled, run_model

#: Two ranks of one attempt, each with its trace, both in step 45 from 0 to 1000.
HOLDS = """
    hold_id | rank | cluster | job_id | attempt
    4       | 0    | c1      | 7      | 0
    5       | 1    | c1      | 7      | 0
    6       | 2    | c1      | 7      | 0
"""
STEPS = """
    trace_no | hold_id | window_id | step | start_ns | end_ns
    1        | 4       | 1         | 45   | 0        | 1000
    2        | 5       | 2         | 45   | 0        | 1000
    3        | 6       | 3         | 45   | 0        | 1000
    1        | 4       | 4         | 46   | 1000     | 2000
    2        | 5       | 5         | 46   | 1000     | 2000
"""
COMM = {
    "kind": "comm", "collective": "allreduce", "group_name": "0", "group_key": "0 [0, 1]",
    "group_size": "2", "in_elements": "100",
}  # fmt: skip


def calls(kernels: str, *, steps: str = STEPS, more: dict[str, Rows] | None = None) -> list[Any]:
    """(event, matched by, last start, last hold) of kernels `rank start end` and further cells
    `column=value`; the kernel's place in the text is its event."""
    work = []
    for number, text in enumerate(kernels.split(";"), 1):
        rank, start, end, *cells = text.split()
        work.append({
            **COMM, "trace_no": int(rank) + 1, "hold_id": int(rank) + 4, "event_no": number,
            "start_ns": start, "end_ns": end,
            **{k: v.replace("_", " ") or None for k, v in (cell.split("=") for cell in cells)},
        })  # fmt: skip
    rows = run_model(
        "int_collective_call",
        {"int_gpu_work": work, "int_hold": HOLDS, "int_trace_step": steps, **(more or {})},
    )
    for row in rows:
        assert row["is_matched"] == (row["matched_by"] is not None)
        assert row["is_matched"] == (row["last_start_ns"] is not None)
    return [
        (row["event_no"], row["matched_by"], row["last_start_ns"], row["last_hold_id"])
        for row in sorted(rows, key=lambda row: int(row["event_no"]))
    ]


def alone(*events: int) -> list[Any]:
    return [(event, None, None, None) for event in events]


# --- by number ------------------------------------------------------------------------------------


def test_the_number_of_the_trace_matches_the_ranks_and_the_last_to_begin_is_waited_for() -> None:
    found = calls("0 100 400 seq=8; 1 300 400 seq=8; 0 500 600 seq=9; 1 450 600 seq=9")
    assert found == [
        (1, "seq", 300, 5), (2, "seq", 300, 5), (3, "seq", 500, 4), (4, "seq", 500, 4),
    ]  # fmt: skip


def test_a_number_matches_unequal_sizes_and_needs_no_step() -> None:
    # An all-gather of unequal shards; no step of the profiler, no log.
    found = calls("0 100 400 seq=8 in_elements=1; 1 300 400 seq=8 in_elements=2", steps="")
    assert found == [(1, "seq", 300, 5), (2, "seq", 300, 5)]


def test_of_ranks_that_begin_at_once_one_is_named() -> None:
    assert calls("0 100 400 seq=8; 1 100 400 seq=8") == [(1, "seq", 100, 4), (2, "seq", 100, 4)]


@pytest.mark.parametrize(
    "kernels",
    [
        # Another number, group or kind.
        "0 100 400 seq=8; 1 300 400 seq=9",
        "0 100 400 seq=8; 1 300 400 seq=8 group_key=1_[0,_1]",
        "0 100 400 seq=8; 1 300 400 seq=8 collective=allgather",
        # A rank is missing.
        "0 100 400 seq=8 group_size=3; 1 300 400 seq=8 group_size=3",
        "0 100 400 seq=8; 0 100 400 seq=9",
        # A collective that had ended before the last began is another one, or the clocks differ.
        "0 100 300 seq=8; 1 300 400 seq=8",
        # A group of one rank waits for nobody; without a group nothing is known.
        "0 100 400 seq=8 group_size=1; 1 300 400 seq=9 group_size=1",
        "0 100 400 seq=8 group_key=; 1 300 400 seq=8 group_key=",
        "0 100 400 seq=8 group_size=; 1 300 400 seq=8 group_size=",
    ],
)
def test_without_every_participant_there_is_no_match(kernels: str) -> None:
    assert calls(kernels) == alone(1, 2)


def test_a_rank_with_two_kernels_of_one_number_matches_nothing() -> None:
    assert calls("0 100 400 seq=8; 1 300 400 seq=8; 1 310 400 seq=8") == alone(1, 2, 3)
    # Nor do two traces that show the same rank and number.
    assert calls("0 100 400 seq=8; 0 100 400 seq=8") == alone(1, 2)


def test_three_ranks_of_three_match() -> None:
    kernels = "0 1 9 seq=8 group_size=3; 1 2 9 seq=8 group_size=3; 2 5 9 seq=8 group_size=3"
    assert calls(kernels) == [(n, "seq", 5, 6) for n in (1, 2, 3)]


def test_attempts_do_not_mix() -> None:
    holds = HOLDS.replace("5       | 1    | c1      | 7      | 0", "5 | 1 | c1 | 7 | 1")
    found = calls("0 100 400 seq=8; 1 300 400 seq=8", more={"int_hold": holds})
    assert found == alone(1, 2)


# --- by the recorder ------------------------------------------------------------------------------

OPS = filled(
    """
    trace_no | event_no | external_id | start_ns | end_ns
    1        | 81       | 31          | 90       | 95
    2        | 82       | 32          | 290      | 295
    """,
    name="record_param_comms",
)
KEPT = filled(
    """
    rank | seq | created_ns
    0    | 8   | 90
    1    | 8   | 295
    """,
    cluster="c1", job_id="7", attempt="0", group_name="0", name="allreduce",
)  # fmt: skip
TWO = "0 100 400 external_id=31; 1 300 400 external_id=32"


def recorded(*, ops: Any = OPS, kept: Any = KEPT, kernels: str = TWO) -> list[Any]:
    """Two kernels without a number and without a step, and what the ranks' recorders kept."""
    return calls(kernels, steps="", more={"int_op": ops, "stg_collective": kept})


def test_the_recorders_number_is_found_by_when_the_host_enqueued_it() -> None:
    assert recorded() == [(1, "seq", 300, 5), (2, "seq", 300, 5)]
    # A recorder that names neither cluster nor attempt is its job's all the same.
    bare = [{k: v for k, v in row.items() if k not in ("cluster", "attempt")} for row in KEPT]
    assert recorded(kept=bare) == [(1, "seq", 300, 5), (2, "seq", 300, 5)]


def test_a_number_from_the_trace_and_one_from_the_recorder_match() -> None:
    found = recorded(kernels="0 100 400 seq=8; 1 300 400 external_id=32")
    assert found == [(1, "seq", 300, 5), (2, "seq", 300, 5)]
    # The trace's own number goes before the recorder's.
    assert recorded(kernels="0 100 400 external_id=31 seq=7; 1 300 400 external_id=32") == alone(
        1, 2
    )


@pytest.mark.parametrize(
    "change",
    [
        {"created_ns": "296"}, {"created_ns": "289"}, {"rank": "2"}, {"job_id": "8"},
        {"group_name": "1"}, {"attempt": "1"}, {"cluster": "c2"}, {"seq": "9"},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_a_record_of_something_else_gives_no_number(change: dict[str, str]) -> None:
    assert recorded(kept=[KEPT[0], {**KEPT[1], **change}]) == alone(1, 2)


def test_two_records_within_one_op_leave_the_number_open() -> None:
    assert recorded(kept=[*KEPT, {**KEPT[1], "seq": "9"}]) == alone(1, 2)
    # The same number twice is no doubt.
    twice = [*KEPT, {**KEPT[1], "created_ns": "291"}]
    assert recorded(kept=twice) == [(1, "seq", 300, 5), (2, "seq", 300, 5)]


def test_an_op_of_another_name_says_nothing() -> None:
    assert recorded(ops=[{**row, "name": "c10d::allreduce_"} for row in OPS]) == alone(1, 2)


def test_staging_leaves_out_what_has_no_number_and_counts_what_two_files_repeat_once() -> None:
    expect(
        "stg_collective",
        {
            "collective": filled(
                """
                source_file | source_row | group_name | seq | is_p2p
                b           | 1          | 0          | 8   | false
                a           | 5          | 0          | 8   | false
                a           | 6          | 0          | 9   | true
                a           | 7          | 0          |     | false
                a           | 8          |            | 10  | false
                """,
                cluster="c1", job_id="7", rank="0", group_ranks="[0, 1]", created_ns="100",
                name="allreduce", recorder="flight_recorder", state="completed",
            )
        },
        "group_name | seq | created_ns | source_file\n0 | 8 | 100 | a\n",
    )  # fmt: skip


# --- by order -------------------------------------------------------------------------------------


def test_without_numbers_the_order_within_the_step_matches() -> None:
    found = calls("0 100 400; 1 300 400; 0 500 700; 1 600 700; 0 1100 1400; 1 1200 1400")
    assert found == [
        (1, "order", 300, 5), (2, "order", 300, 5), (3, "order", 600, 5), (4, "order", 600, 5),
        (5, "order", 1200, 5), (6, "order", 1200, 5),
    ]  # fmt: skip


def test_the_order_is_the_hosts_not_the_kernels() -> None:
    # Rank 0 enqueues the kernel that runs first last.
    launches = """
        trace_no | correlation | start_ns
        1        | 1           | 60
        1        | 2           | 50
        2        | 3           | 50
        2        | 4           | 60
    """
    kernels = "0 100 900 correlation=1; 0 200 900 correlation=2;" + (
        "1 300 900 correlation=3; 1 400 900 correlation=4"
    )
    found = calls(kernels, more={"int_launch": launches})
    assert found == [
        (1, "order", 400, 5), (2, "order", 300, 5), (3, "order", 300, 5), (4, "order", 400, 5),
    ]  # fmt: skip


def test_a_collective_belongs_to_the_step_in_which_the_host_enqueued_it() -> None:
    # Rank 1's kernel runs after the step ended; its launch lies in it.
    launches = "trace_no | correlation | start_ns\n2 | 3 | 990\n"
    found = calls("0 900 1100; 1 1010 1100 correlation=3", more={"int_launch": launches})
    assert found == [(1, "order", 1010, 5), (2, "order", 1010, 5)]


@pytest.mark.parametrize(
    "kernels",
    [
        "0 100 400; 1 300 400 in_elements=99",
        "0 100 400; 1 300 400 in_elements=",
        "0 100 400; 1 300 400 collective=allgather",
        "0 100 400; 1 300 400 group_key=1_[0,_1]",
        "0 100 300; 1 300 400",
        "0 100 400 group_size=3; 1 300 400 group_size=3",
        # Outside of steps, or in another one.
        "0 2100 2400; 1 2300 2400",
        "0 900 1100; 1 1010 1100",
        # A number on one side only is no order on the other.
        "0 100 400 seq=1; 1 300 400",
    ],
)
def test_order_alone_matches_only_what_is_alike(kernels: str) -> None:
    assert calls(kernels) == alone(1, 2)


def test_where_one_rank_has_one_more_the_others_order_shifts_and_sizes_refuse_it() -> None:
    found = calls("0 100 200 in_elements=5; 0 300 500; 1 400 500")
    assert found == alone(1, 2, 3)
    # The count of another kind or group does not shift it.
    other = calls("0 100 200 collective=broadcast; 0 300 500; 1 400 500")
    assert other == [(1, None, None, None), (2, "order", 400, 5), (3, "order", 400, 5)]


def test_only_collectives_are_listed() -> None:
    rows = calls("0 100 400 kind=compute; 1 300 400 kind=copy; 0 500 600 seq=1")
    assert rows == alone(3)


# --- what it makes of the time --------------------------------------------------------------------


def test_the_early_rank_waits_and_the_late_one_moves_data() -> None:
    work = filled(
        """
        trace_no | hold_id | event_no | start_ns | end_ns
        1        | 4       | 1        | 100      | 400
        2        | 5       | 2        | 300      | 400
        1        | 4       | 3        | 500      | 600
        """,
        **COMM,
    )
    expect(
        "int_trace_bucket",
        {
            "int_gpu_work": work,
            "int_hold": HOLDS,
            "int_trace": "trace_no\n1\n2\n3\n",
            "int_trace_step": "\n".join(STEPS.splitlines()[:4]),
        },
        """
        hold_id | bucket       | traced_ns
        4       | comm_wait    | 200
        4       | comm_exposed | 200
        4       | gap_unknown  | 600
        5       | comm_exposed | 100
        5       | gap_unknown  | 900
        """,
    )
