"""Logged steps on their GPU, what is known of each hold, and what a failed attempt lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import Rows, expect, filled, run_model

HOLD = {"hold_id": "1", "gpu_uuid": "a", "cluster": "c1", "job_id": "1", "attempt": "0"}
ATTEMPT = {"cluster": "c1", "job_id": "1"}


# --- int_step -------------------------------------------------------------------------------------


def test_a_log_with_ranks_speaks_for_the_gpu_of_its_rank_and_one_without_for_all() -> None:
    expect(
        "int_step",
        {
            "stg_train_step": filled(
                """
                rank | step
                0    | 1
                1    | 2
                2    | 3
                     | 4
                """,
                job_id="1", attempt="0", start_ns="10:10", end_ns="10:11",
            ),
            "int_attempt": filled(
                "attempt | start_ns | end_ns\n0 | 10:00 | 11:00\n", **ATTEMPT
            ),
            "int_hold": filled(
                "hold_id | gpu_uuid | rank\n1 | a | 0\n2 | b | 1\n", attempt="0",
                start_ns="10:00", end_ns="11:00", **ATTEMPT,
            ),
        },
        """
        hold_id | gpu_uuid | rank | step
        1       | a        | 0    | 1
        2       | b        | 1    | 2
        1       | a        |      | 4
        2       | b        |      | 4
        """,
    )  # fmt: skip


def test_steps_are_cut_to_the_hold_and_those_outside_are_gone() -> None:
    expect(
        "int_step",
        {
            "stg_train_step": filled(
                """
                step | start_ns | end_ns
                1    | 09:58    | 10:00
                2    | 09:59    | 10:01
                3    | 10:01    | 10:02
                4    | 10:59    | 11:01
                5    | 11:00    | 11:02
                """,
                job_id="1", attempt="0", rank="0",
            ),
            "int_attempt": filled("attempt | start_ns | end_ns\n0 | 10:00 | 11:00\n", **ATTEMPT),
            "int_hold": filled("start_ns | end_ns | rank\n10:00 | 11:00 | 0\n", **HOLD),
        },
        """
        step | start_ns | end_ns
        2    | 10:00    | 10:01
        3    | 10:01    | 10:02
        4    | 10:59    | 11:00
        """,
    )  # fmt: skip


def test_a_step_without_an_attempt_belongs_to_the_one_in_which_it_began() -> None:
    expect(
        "int_step",
        {
            "stg_train_step": filled(
                """
                step | start_ns | end_ns | attempt
                1    | 10:30    | 10:31  |
                2    | 10:59    | 11:05  |
                3    | 11:00    | 11:01  |
                4    | 11:30    | 11:31  | 0
                5    | 13:00    | 13:01  |
                """,
                job_id="1",
            ),
            "int_attempt": filled(
                "attempt | start_ns | end_ns\n0 | 10:00 | 11:00\n1 | 11:00 | 12:00\n", **ATTEMPT
            ),
            "int_hold": filled(
                """
                hold_id | attempt | start_ns | end_ns
                1       | 0       | 10:00    | 11:00
                2       | 1       | 11:00    | 12:00
                """,
                gpu_uuid="a", rank="0", **ATTEMPT,
            ),
        },
        """
        step | attempt | start_ns | end_ns
        1    | 0       | 10:30    | 10:31
        2    | 0       | 10:59    | 11:00
        3    | 1       | 11:00    | 11:01
        """,
    )  # fmt: skip


def test_a_log_that_names_its_cluster_is_not_another_clusters() -> None:
    expect(
        "int_step",
        {
            "stg_train_step": filled(
                "cluster | step\nc1 | 1\nc2 | 2\n | 3\n", job_id="1", attempt="0",
                start_ns="10:10", end_ns="10:11",
            ),
            "int_attempt": filled("attempt | start_ns | end_ns\n0 | 10:00 | 11:00\n", **ATTEMPT),
            "int_hold": filled("start_ns | end_ns\n10:00 | 11:00\n", **HOLD),
        },
        "step | cluster\n1 | c1\n3 | c1\n",
    )  # fmt: skip


# --- int_interruption -----------------------------------------------------------------------------

STEPS = filled(
    """
        attempt | step | start_ns | end_ns
        0       | 1    | 10:05    | 10:10
        0       | 2    | 10:15    | 10:20
        0       | 3    | 10:25    | 10:30
        0       | 4    | 10:35    | 10:40
        0       | 5    | 10:45    | 10:50
        0       | 6    | 10:55    | 11:00
        1       | 4    | 11:20    | 11:25
        1       | 5    | 11:25    | 11:30
        """,
    gpu_uuid="a",
    rank="0",
    **ATTEMPT,
)
#: Attempt 0 ran 10:00 to 11:00 and attempt 1 from 11:10; steps 1 to 6 end at 10:10 to 10:60.
FAILED: dict[str, Rows] = {
    "int_attempt": filled(
        """
        attempt | state     | start_ns | end_ns
        0       | NODE_FAIL | 10:00    | 11:00
        1       | COMPLETED | 11:10    | 12:00
        """,
        is_running="false", **ATTEMPT,
    ),
    "int_step": STEPS,
}  # fmt: skip
SAVED = {"job_id": "1", "is_blocking": "true", "source_file": "f"}


def saves(rows: str) -> list[dict[str, Any]]:
    """Checkpoint records of the job."""
    head = "attempt | event | step | start_ns | end_ns"
    return filled(f"{head}\n{rows}", **SAVED)


def loss(tables: dict[str, Rows], expected: str) -> None:
    """Attempt 0's loss, from these tables."""
    head = "restored_step | lost_from_ns | high_from_ns | method_id"
    rows = [row for row in run_model("int_interruption", tables) if row["attempt"] == 0]
    assert len(rows) == 1
    columns = [name.strip() for name in head.split("|")]
    wanted = filled(f"{head}\n{expected}\n")[0]
    shown = {c: None if rows[0][c] is None else str(rows[0][c]) for c in columns}
    for column in ("lost_from_ns", "high_from_ns"):
        if wanted[column]:
            hour, minute = wanted[column].split(":")
            wanted[column] = str(DAY_NS + (int(hour) * 60 + int(minute)) * 60 * 10**9)
    assert shown == wanted


DAY_NS = 1_793_491_200 * 10**9  # 2026-11-01


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        # Without a record: the end of step k = 4, and it may have been run again.
        ("", "4 | 10:40 | 10:35 | first_step"),
        # A record at k or k - 1 was restored; both: the later.
        ("0 | save | 4 | 10:40 | 10:41", "4 | 10:40 | 10:40 | save_record"),
        ("0 | save | 3 | 10:30 | 10:31", "3 | 10:30 | 10:30 | save_record"),
        (
            "0 | save | 3 | 10:30 | 10:31\n0 | save | 4 | 10:40 | 10:41",
            "4 | 10:40 | 10:40 | save_record",
        ),
        # A record that is not known to be restored proves nothing.
        ("0 | save | 2 | 10:20 | 10:21", "4 | 10:40 | 10:35 | first_step"),
        ("0 | save | 5 | 10:50 | 10:51", "4 | 10:40 | 10:35 | first_step"),
        # Not durable when the attempt ended; durable at that very instant.
        ("0 | save | 4 | 10:59 | 11:01", "4 | 10:40 | 10:35 | first_step"),
        ("0 | save | 4 | 10:59 | 11:00", "4 | 10:40 | 10:40 | save_record"),
        # What the next attempt says that it restored counts before all.
        (
            "0 | save | 4 | 10:40 | 10:41\n1 | restore | 2 | 11:11 | 11:12",
            "2 | 10:20 | 10:20 | restore_record",
        ),
        # A restore that does not lie in the next attempt is not its own.
        ("1 | restore | 2 | 11:09 | 11:12", "4 | 10:40 | 10:35 | first_step"),
        ("0 | restore | 2 | 11:11 | 11:12", "4 | 10:40 | 10:35 | first_step"),
        # All that the attempt did was kept: no loss.
        ("1 | restore | 6 | 11:11 | 11:12", "6 | 11:00 | 11:00 | restore_record"),
        ("1 | restore | 9 | 11:11 | 11:12", "9 | | | restore_record"),
        # From scratch: all after the start, but for the first step that is logged, is proven lost.
        ("1 | restore | 0 | 11:11 | 11:12", "0 | 10:10 | 10:10 | restore_record"),
    ],
)
def test_lost_work_begins_at_the_end_of_the_restored_step(records: str, expected: str) -> None:
    loss({**FAILED, "stg_checkpoint": saves(records)}, expected)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ("1 | restore | 3 | 11:11 | 11:12\n0 | save | 3 | 10:30 | 10:33", "10:33 | durable_time"),
        ("1 | restore | 3 | 11:11 | 11:12", " | durable_time"),
        ("0 | save | 3 | 10:30 | 10:33", "10:33 | durable_time"),
        ("0 | save | 2 | 10:20 | 10:22", " | first_step"),
        ("", " | first_step"),
    ],
)
def test_without_steps_of_its_own_only_a_restored_records_durable_time_proves_a_loss(
    records: str, expected: str
) -> None:
    steps = [row for row in STEPS if row["attempt"] == "1"]
    since, method = expected.split(" | ")
    restored = 4 if method == "first_step" else 3
    loss(
        {**FAILED, "int_step": steps, "stg_checkpoint": saves(records)},
        f"{restored} | {since} | {since} | {method}",
    )


def test_no_step_of_the_next_attempt_and_no_restore_prove_no_loss() -> None:
    steps = [row for row in STEPS if row["attempt"] == "0"]
    records = saves("0 | save | 3 | 10:30 | 10:33")
    loss({**FAILED, "int_step": steps, "stg_checkpoint": records}, " | | | none")


@pytest.mark.parametrize(
    ("attempts", "found"),
    [
        ("0 | CANCELLED | 10:00 | 11:00\n1 | COMPLETED | 11:10 | 12:00", ""),
        ("0 | COMPLETED | 10:00 | 11:00\n1 | COMPLETED | 11:10 | 12:00", ""),
        ("0 | NODE_FAIL | 10:00 | 11:00", "0 | platform |\n"),
        ("0 | BOOT_FAIL | 10:00 | 11:00", "0 | platform |\n"),
        ("0 | PREEMPTED | 10:00 | 11:00", "0 | preemption |\n"),
        ("0 | TIMEOUT | 10:00 | 11:00", "0 | own_code |\n"),
        ("0 | OUT_OF_MEMORY | 10:00 | 11:00", "0 | own_code |\n"),
        ("0 | FAILED | 10:00 | 11:00", "0 | unknown |\n"),
        ("0 | REQUEUED | 10:00 | 11:00", "0 | unknown |\n"),
        ("0 | FAILED | | ", ""),
        # The next attempt waits still, or was cancelled while it waited: nothing was resumed.
        ("0 | FAILED | 10:00 | 11:00\n1 | PENDING | |", "0 | unknown |\n"),
    ],
)
def test_cancelled_is_not_lost_and_without_a_later_attempt_nothing_is(
    attempts: str, found: str
) -> None:
    tables = {
        **FAILED,
        "int_attempt": filled(
            f"attempt | state | start_ns | end_ns\n{attempts}\n", is_running="false", **ATTEMPT
        ),
    }
    expect("int_interruption", tables, f"attempt | cause | lost_from_ns\n{found}")


def test_an_attempt_that_still_runs_is_not_interrupted() -> None:
    running = filled(
        "attempt | state | start_ns | end_ns\n0 | REQUEUED | 10:00 | 11:00\n", is_running="true",
        **ATTEMPT,
    )  # fmt: skip
    expect("int_interruption", {**FAILED, "int_attempt": running}, "attempt\n")


@pytest.mark.parametrize(
    ("cut", "method"),
    [
        ("1 | 0", "none"),
        ("1 | 1", "none"),
        ("1 |", "none"),
        (" |", "none"),
        ("1 | 2", "first_step"),
        ("2 |", "first_step"),
    ],
)
def test_a_step_log_with_rejects_proves_no_loss(cut: str, method: str) -> None:
    coverage = filled(
        f"job_id | attempt\n{cut}\n", source="steps", is_cut="true", start_ns="00:00",
        end_ns="23:00",
    )  # fmt: skip
    (row,) = run_model("int_interruption", {**FAILED, "stg_source_coverage": coverage})
    assert row["method_id"] == method
    assert (row["lost_from_ns"] is None) == (method == "none")


def test_of_several_ranks_the_last_to_end_the_step_keeps_the_most() -> None:
    steps = filled(
        """
        attempt | step | rank | gpu_uuid | start_ns | end_ns
        0       | 4    | 0    | a        | 10:35    | 10:40
        0       | 4    | 1    | b        | 10:36    | 10:42
        0       | 5    | 0    | a        | 10:45    | 10:50
        0       | 5    | 1    | b        | 10:45    | 10:50
        1       | 4    | 0    | a        | 11:20    | 11:25
        """,
        **ATTEMPT,
    )
    loss({**FAILED, "int_step": steps}, "4 | 10:42 | 10:35 | first_step")


def test_a_save_of_an_earlier_attempt_can_be_what_was_restored() -> None:
    tables: dict[str, Rows] = {
        "int_attempt": filled(
            """
            attempt | state     | start_ns | end_ns
            0       | NODE_FAIL | 09:00    | 10:00
            1       | NODE_FAIL | 11:00    | 12:00
            2       | COMPLETED | 13:00    | 14:00
            """,
            is_running="false", **ATTEMPT,
        ),
        "stg_checkpoint": saves(
            """
            0 | save    | 3 | 09:30 | 09:31
            1 | restore | 3 | 11:01 | 11:02
            2 | restore | 3 | 13:01 | 13:02
            """
        ),
    }  # fmt: skip
    expect(
        "int_interruption",
        tables,
        """
        attempt | lost_from_ns | method_id
        0       | 09:31        | durable_time
        1       | 09:31        | durable_time
        """,
    )


# --- int_hold_fact --------------------------------------------------------------------------------


def fact(
    *, runs: str = "", steps: str = "", hold: str = "10:00 | 12:00 | 0", attempt: str = "",
    cut: str = "", failure: str = "", allowance: str = "10min",
) -> dict[str, Any]:  # fmt: skip
    """The facts of one hold; its attempt has the hold's own times unless given."""
    start, end, number = hold.split(" | ")
    (row,) = run_model(
        "int_hold_fact",
        {
            "int_hold": filled(
                "start_ns | end_ns | attempt\n" + hold, hold_id="1", gpu_uuid="a", **ATTEMPT
            ),
            "int_attempt": filled(
                f"start_ns | end_ns | is_running\n{attempt or f'{start} | {end} | false'}\n",
                attempt=number, **ATTEMPT,
            ),
            "int_hold_run": filled(f"activity | start_ns | end_ns\n{runs}", hold_id="1"),
            "int_step": filled(f"step | start_ns | end_ns\n{steps}", hold_id="1"),
            "stg_source_coverage": filled(
                f"job_id | attempt\n{cut}", source="steps", is_cut="true"
            ),
            "int_interruption": filled(
                f"next_attempt | restored_step | method_id | cause\n{failure}",
                attempt="0", **ATTEMPT,
            ),
        },
        settings={"startup_allowance_ns": allowance},
    )  # fmt: skip
    return row


def clock(ns: int | None) -> str | None:
    """Time of the test day."""
    if ns is None:
        return None
    seconds, rest = divmod(ns - DAY_NS, 10**9)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text if rest == 0 else f"{text}.{rest:09}"


@pytest.mark.parametrize(
    ("runs", "never"),
    [
        ("quiet | 10:00 | 12:00", True),
        ("quiet | 10:00 | 11:00\nbusy_link | 11:00 | 12:00", True),
        ("quiet | 10:00 | 11:00\nactive | 11:00 | 11:00:01\nquiet | 11:00:01 | 12:00", False),
        ("quiet | 10:00 | 11:59:59.999999999", False),
        ("quiet | 10:00:00.000000001 | 12:00", False),
        ("quiet | 10:00 | 11:00\nquiet | 11:00:01 | 12:00", False),
        ("", False),
    ],
)
def test_never_touched_needs_the_whole_attempt_observed_and_no_engine(
    runs: str, never: bool
) -> None:
    assert fact(runs=runs)["is_never_touched"] is never


@pytest.mark.parametrize(
    "attempt",
    ["10:00 | 12:00 | true", "09:59 | 12:00 | false", "10:00 | 12:01 | false"],
)
def test_a_part_of_an_attempt_does_not_say_that_the_whole_was_never_touched(attempt: str) -> None:
    """It runs still, or the inventory has the GPU there for a part of it only."""
    assert fact(runs="quiet | 10:00 | 12:00", attempt=attempt)["is_never_touched"] is False


@pytest.mark.parametrize(
    ("steps", "startup", "excess"),
    [
        ("1 | 10:09 | 10:10\n2 | 10:10 | 10:11", "10:09:00", None),
        ("1 | 10:10 | 10:11", "10:10:00", None),
        ("1 | 10:30 | 10:31", "10:30:00", "10:10:00"),
        ("0 | 10:30 | 10:31", "10:30:00", "10:10:00"),
        # The log's first steps may be lost: then the first that is there proves no excess.
        ("2 | 10:30 | 10:31", "10:30:00", None),
    ],
)
def test_startup_ends_at_the_first_step_and_a_whole_log_proves_the_excess(
    steps: str, startup: str, excess: str | None
) -> None:
    row = fact(steps=steps, runs="active | 10:01 | 12:00")
    assert (clock(row["startup_end_ns"]), clock(row["excess_from_ns"])) == (startup, excess)
    assert row["has_log"] is True


@pytest.mark.parametrize("cut", ["1 | 0\n", "1 |\n", " |\n"])
def test_a_step_log_with_rejects_proves_no_excess(cut: str) -> None:
    row = fact(steps="1 | 10:30 | 10:31", cut=cut)
    assert (clock(row["startup_end_ns"]), row["excess_from_ns"]) == ("10:30:00", None)


@pytest.mark.parametrize("cut", ["1 | 7\n", "2 |\n"])
def test_rejects_of_another_log_do_not_matter(cut: str) -> None:
    assert clock(fact(steps="1 | 10:30 | 10:31", cut=cut)["excess_from_ns"]) == "10:10:00"


@pytest.mark.parametrize(
    ("runs", "startup"),
    [
        ("active | 10:03 | 12:00", "10:03:00"),
        # A blink is no work; a second is.
        ("active | 10:03 | 10:03:00.999999999\nactive | 10:05 | 10:05:01", "10:05:00"),
        ("active | 10:09:59 | 12:00", "10:09:59"),
        ("active | 10:30 | 12:00", "10:10:00"),
        ("quiet | 10:00 | 12:00", "10:10:00"),
        ("busy_link | 10:00 | 12:00", "10:10:00"),
        ("", "10:10:00"),
    ],
)
def test_without_a_log_startup_ends_with_sustained_work_at_most_at_the_allowance(
    runs: str, startup: str
) -> None:
    row = fact(runs=runs)
    assert clock(row["startup_end_ns"]) == startup
    assert row["excess_from_ns"] is None
    assert row["has_log"] is False


def test_a_hold_shorter_than_the_allowance_is_startup_to_its_end() -> None:
    assert clock(fact(hold="10:00 | 10:04 | 0")["startup_end_ns"]) == "10:04:00"


@pytest.mark.parametrize(
    ("failure", "first", "excess"),
    [
        ("1 | 40 | restore_record | platform", 40, True),
        ("1 | 40 | restore_record | platform", 41, True),
        ("1 | 40 | save_record | platform", 41, True),
        ("1 | 40 | restore_record | platform", 42, False),
        ("1 | 40 | first_step | platform", 40, False),
        ("1 | 40 | first_step | platform", 1, True),
        ("", 41, False),
        ("", 1, True),
    ],
)
def test_after_a_restart_the_first_step_must_follow_the_restored_one(
    failure: str, first: int, excess: bool
) -> None:
    row = fact(hold="10:00 | 12:00 | 1", steps=f"{first} | 10:30 | 10:31", failure=failure)
    assert (row["excess_from_ns"] is not None) is excess
    assert row["failure_cause"] == ("platform" if failure else None)
    assert row["failed_attempt"] == (0 if failure else None)


def test_steps_are_counted_and_their_last_end_is_known() -> None:
    row = fact(steps="1 | 10:05 | 10:06\n3 | 10:08 | 10:20\n2 | 10:06 | 10:30\n")
    assert row["step_count"] == 3
    assert (clock(row["first_step_ns"]), clock(row["last_step_ns"])) == ("10:05:00", "10:30:00")


def test_a_log_without_ranks_is_shared_over_the_gpus_of_the_attempt() -> None:
    expect(
        "int_step",
        {
            "stg_train_step": "job_id|attempt|step|start_ns|end_ns|tokens|model_flops\n"
            "7|0|1|10:00|10:01|100|7\n",
            "int_attempt": "cluster|job_id|attempt|start_ns|end_ns\nc1|7|0|10:00|11:00\n",
            "int_hold": "hold_id|cluster|job_id|attempt|rank|rank_count|start_ns|end_ns\n"
            "1|c1|7|0|0|2|10:00|11:00\n2|c1|7|0|1|2|10:00|11:00\n",
        },
        "hold_id | tokens | model_flops\n1 | 50 | 3\n2 | 50 | 3\n",
    )


def test_an_attempt_that_never_started_does_not_hide_the_one_that_resumed() -> None:
    expect(
        "int_failure",
        {
            "int_attempt": """
            cluster|job_id|attempt|start_ns|end_ns|is_running|state
            c1|7|0|10:00|10:30|false|FAILED
            c1|7|1|||false|CANCELLED
            c1|7|2|11:00|12:00|false|COMPLETED
            """
        },
        "attempt | next_attempt | next_start_ns\n0 | 2 | 11:00\n",
    )
