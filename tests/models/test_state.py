"""Rows of a bundle: class, cause, payer, evidence, bounds, and what nothing shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.models.harness import Rows, expect, failed_checks, filled, run_model

BUNDLE = """
    bundle_id | resource_id | billed_gpu_ns | bill_team | month
    1         | i-1         | 1h            | nlp       | 2026-11-01
"""
HOLD = filled("hold_id | team\n1 | language\n", gpu_uuid="a", cluster="c1", job_id="7", attempt="1")
PIECE: dict[str, Any] = {
    "gpu_uuid": "a", "bundle_id": 1, "hour_id": 10, "hold_id": 1, "idle_id": 0, "is_policy": False,
    "is_reserve": False, "is_lost_high": False, "is_after_steps": False, "start_ns": "10:00",
    "end_ns": "11:00",
}  # fmt: skip


def state(pieces: list[dict[str, Any]], **tables: Rows) -> list[dict[str, Any]]:
    """Rows of int_state for these pieces of one GPU."""
    given: Mapping[str, Rows] = {
        "int_bundle": BUNDLE, "int_hold": HOLD,
        "int_labelled": [{**PIECE, **piece} for piece in pieces], **tables,
    }  # fmt: skip
    return run_model("int_state", given)


def one(piece: dict[str, Any], **tables: Rows) -> dict[str, Any]:
    """The only row."""
    (row,) = state([piece], **tables)
    return row


FACT = filled(
    "hold_id | has_log | failed_attempt | failure_cause\n1 | true | 0 | platform\n"
)  # fmt: skip
LOSS = filled(
    "cause | method_id\npreemption | save_record\n", cluster="c1", job_id="7", attempt="1"
)


@pytest.mark.parametrize(
    ("bucket", "hold", "row"),
    [
        ("unusable", 0, "strict | platform | platform | E1 | unusable"),
        ("unusable", 1, "strict | platform | language | E1 | unusable"),
        ("unallocated", 0, "strict | platform | platform | E1 | unallocated"),
        ("not_observed", 0, "unknown | scheduler_missing | language | E0 | not_observed"),
        ("not_observed", 1, "unknown | telemetry | language | E1 | not_observed"),
        ("lost_work", 1, "strict | preemption | language | E1 | lost_work_save_record"),
        ("never_touched", 1, "strict | own_code | language | E2 | never_touched"),
        ("startup", 1, "overhead | platform | language | E1 | startup_first_step"),
        ("startup_excess", 1, "strict | platform | language | E1 | startup_first_step"),
        ("idle_held", 1, "strict | own_code | language | E2 | idle_held"),
        ("recovery_checkpoint", 1, "overhead | own_code | language | E1 | recovery_checkpoint"),
        ("between_steps", 1, "overhead | own_code | language | E2 | between_steps"),
    ],
)
def test_class_cause_payer_and_evidence_of_each_bucket(bucket: str, hold: int, row: str) -> None:
    found = one(
        {"bucket": bucket, "hold_id": hold}, int_hold_fact=FACT, int_interruption=LOSS,
        int_tag_team="bill_team | month | team\nnlp | 2026-11-01 | language\n",
    )  # fmt: skip
    names = ("waste_class", "cause", "payer_team", "evidence_grade", "method_id")
    assert " | ".join(found[name] for name in names) == row


@pytest.mark.parametrize(
    ("bucket", "late", "row"),
    [
        ("compute", 0, "useful | own_code"),
        ("gap_unknown", 0, "step | unknown"),
        ("busy_unsplit", 0, "unknown | unknown"),
        ("step_unsplit", 0, "unknown | unknown"),
        ("comm_wait", 2, "step | straggler"),
        ("comm_exposed", 0, "step | own_code"),
        ("copy_exposed", 0, "step | own_code"),
        ("data_stall", 0, "step | own_code"),
        ("host_sync", 0, "step | own_code"),
        ("launch_gap", 0, "step | own_code"),
        ("pipeline_bubble", 0, "step | own_code"),
    ],
)
def test_class_and_cause_of_the_parts_of_in_step(bucket: str, late: int, row: str) -> None:
    (found,) = state(
        [{"bucket": "in_step"}],
        int_hold=filled(
            "hold_id | gpu_uuid | rank | node\n1 | a | 0 | n1\n2 | b | 1 | n2\n",
            team="language", cluster="c1", job_id="7", attempt="1",
        ),
        int_in_step_split=filled(
            "gpu_ns | less_ns | more_ns\n1h | 20min | 5min\n", bundle_id="1", hold_id="1",
            hour_id="10", bucket=bucket, cause_hold_id=str(late), evidence_grade="E3",
            method_id="in_step_trace",
        ),
    )  # fmt: skip
    assert f"{found['waste_class']} | {found['cause']}" == row
    assert (found["evidence_grade"], found["method_id"]) == ("E3", "in_step_trace")
    assert (found["payer_team"], found["gpu_uuid"]) == ("language", "a")
    assert found["cause_ref"] == ("rank 1 b n2" if late else None)
    minutes = [found[name] // 60_000_000_000 for name in ("low_gpu_ns", "gpu_ns", "high_gpu_ns")]
    assert minutes == [40, 60, 65]


def test_time_around_a_trace_is_the_profilers() -> None:
    between = {"bucket": "between_steps", "is_after_steps": True}
    assert one({**between, "is_profiler": True})["sub"] == "profiler"
    assert one({**between, "is_profiler": False})["sub"] == "after_last_step"


def test_startup_without_a_log_and_without_a_failure_is_the_jobs_own() -> None:
    facts = filled("hold_id | has_log | failed_attempt\n1 | false |\n")
    row = one({"bucket": "startup"}, int_hold_fact=facts)
    assert (row["cause"], row["cause_ref"], row["method_id"], row["evidence_grade"]) == (
        "own_code", None, "startup_first_work", "E2",
    )  # fmt: skip


def test_the_failed_attempt_is_what_caused_a_loss_and_the_next_startup() -> None:
    assert one({"bucket": "startup"}, int_hold_fact=FACT)["cause_ref"] == "c1/7/0"
    assert one({"bucket": "lost_work"}, int_interruption=LOSS)["cause_ref"] == "c1/7/1"


def test_a_providers_fault_is_the_providers() -> None:
    row = one({"bucket": "unusable", "hold_id": 0, "event_sub": "provider_fault"})
    assert (row["cause"], row["sub"], row["waste_class"]) == (
        "provider", "provider_fault", "strict",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("piece", "sub"),
    [
        ({"bucket": "unusable", "event_sub": "boot"}, "boot"),
        # An event over free time that an approved window covers is no kind of unallocated.
        ({"bucket": "unallocated", "event_sub": "boot"}, None),
        ({"bucket": "unallocated", "is_reserve": True}, "held_reserve"),
        ({"bucket": "between_steps", "is_after_steps": True}, "after_last_step"),
        ({"bucket": "not_observed", "is_after_steps": True}, None),
        ({"bucket": "idle_held", "idle_id": 3, "is_after_steps": True}, "tail"),
    ],
)
def test_the_kind_within_a_bucket(piece: dict[str, Any], sub: str | None) -> None:
    assert one(piece, int_idle_run="idle_id | sub\n3 | tail\n")["sub"] == sub


def test_an_exception_changes_the_class_and_nothing_else() -> None:
    plain, policy = (
        one({"bucket": "idle_held", "is_policy": is_policy}) for is_policy in (False, True)
    )
    assert (plain["waste_class"], policy["waste_class"]) == ("strict", "policy")
    assert {**plain, "waste_class": None} == {**policy, "waste_class": None}


def test_what_nothing_shows_is_one_row_without_gpu_and_hour() -> None:
    rows = state([{"bucket": "unallocated", "hold_id": 0, "end_ns": "10:45"}])
    assert [(r["bucket"], r["gpu_uuid"], r["hour_id"], r["gpu_ns"], r["row_no"]) for r in rows] == [
        ("unallocated", "a", 10, 45 * 60 * 10**9, 1),
        ("billed_not_seen", None, None, 15 * 60 * 10**9, 2),
    ]
    unseen = rows[1]
    assert (unseen["waste_class"], unseen["cause"], unseen["evidence_grade"]) == (
        "unknown", "unknown", "E0",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tag", "team"),
    [("", "unmapped"), ("nlp | 2026-10-01 | old\n", "unmapped"), ("nlp | 2026-11-01 | x\n", "x")],
)
def test_what_nobody_holds_and_nothing_explains_is_paid_by_the_bills_tag(
    tag: str, team: str
) -> None:
    names = f"bill_team | month | team\n{tag}"
    (unseen,) = state([], int_tag_team=names)
    assert (unseen["bucket"], unseen["payer_team"]) == ("billed_not_seen", team)
    dark = one({"bucket": "not_observed", "hold_id": 0}, int_tag_team=names)
    assert dark["payer_team"] == team
    free = one({"bucket": "unallocated", "hold_id": 0}, int_tag_team=names)
    assert free["payer_team"] == "platform"


def test_pieces_of_one_kind_are_one_row_and_hours_and_holds_are_not_mixed() -> None:
    expect(
        "int_state",
        {
            "int_bundle": BUNDLE.replace("1h ", "2h "),
            "int_hold": filled(
                "hold_id | job_id\n1 | 7\n2 | 8\n", team="language", gpu_uuid="a", cluster="c1",
                attempt="0",
            ),
            "int_labelled": filled(
                """
                hour_id | hold_id | start_ns | end_ns
                10      | 1       | 10:00    | 10:10
                10      | 1       | 10:20    | 10:30
                10      | 2       | 10:30    | 11:00
                11      | 2       | 11:00    | 11:10
                """,
                bucket="between_steps", gpu_uuid="a", bundle_id="1", is_policy="false",
                is_reserve="false", is_after_steps="false", idle_id="0",
            ),
        },
        """
        row_no | hour_id | job_id | bucket          | gpu_ns
        1      | 10      | 7      | between_steps   | 20min
        2      | 10      | 8      | between_steps   | 30min
        3      | 11      | 8      | between_steps   | 10min
        4      |         |        | billed_not_seen | 60min
        """,
    )  # fmt: skip


def test_the_high_bound_of_a_loss_is_what_may_have_been_lost_before_it() -> None:
    rows = state(
        [
            {"bucket": "in_step", "is_lost_high": True, "end_ns": "10:20"},
            {"bucket": "lost_work", "start_ns": "10:20", "end_ns": "11:00"},
        ],
        int_in_step_split="bundle_id|hold_id|hour_id|bucket|gpu_ns\n1 | 1 | 10 | compute | 20min\n",
        int_interruption=LOSS,
    )
    lost = next(row for row in rows if row["bucket"] == "lost_work")
    minute = 60 * 10**9
    assert (lost["low_gpu_ns"], lost["gpu_ns"], lost["high_gpu_ns"]) == (
        40 * minute, 40 * minute, 60 * minute,
    )  # fmt: skip


def test_more_time_than_is_billed_fails_the_check() -> None:
    tables: dict[str, Rows] = {
        "int_bundle": BUNDLE, "int_hold": HOLD,
        "int_labelled": [{**PIECE, "bucket": "unallocated", "end_ns": "11:30"}],
    }  # fmt: skip
    assert "not_negative" in failed_checks("int_state", tables)
