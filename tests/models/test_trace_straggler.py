"""Who is waited for: the cause of comm_wait, and the ranks that the others wait for."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.models.harness import Rows, expect, filled, run_model

HOLDS = filled(
    """
    hold_id | attempt | rank | rank_count | gpu_uuid | node
    4       | 0       | 0    | 2          | a        | n1
    5       | 0       | 1    | 2          | b        | n2
    6       | 1       | 0    | 1          | a        | n1
    7       | 2       | 0    | 2          | a        | n1
    """,
    cluster="c1", job_id="7", team="nlp", start_ns="10:00", end_ns="11:00",
)  # fmt: skip
STEPS = "window_id | hold_id | trace_no\n1 | 4 | 1\n2 | 4 | 1\n3 | 5 | 2\n4 | 6 | 3\n5 | 7 | 4\n"
#: Rank 0 works 100 ns a step and waits long; rank 1, of one step, works 150.
BUCKETS = """
    window_id | hold_id | bucket       | traced_ns
    1         | 4       | compute      | 80
    1         | 4       | launch_gap   | 20
    1         | 4       | comm_wait    | 900
    2         | 4       | compute      | 100
    2         | 4       | comm_exposed | 50
    3         | 5       | compute      | 50
    3         | 5       | data_stall   | 100
    3         | 5       | comm_exposed | 7
    4         | 6       | compute      | 50
    5         | 7       | compute      | 50
"""
MONEY = filled(
    "hold_id\n4\n5\n6\n7\n", month="2026-11-01", bucket="compute", method_id="in_step_trace",
    team="nlp", gpu_ns="1", billed_usd="1",
)  # fmt: skip
#: Rank 0 waited for rank 1 in two hours, and rank 1 a little for rank 0; an hour is not paid.
STATE = filled(
    """
    bundle_id | row_no | hour_id | cause_hold_id | gpu_ns
    1         | 1      | 498202  | 5             | 600
    1         | 2      | 498203  | 5             | 300
    1         | 3      | 498203  | 4             | 5
    1         | 4      | 498203  | 0             | 999
    2         | 1      | 498203  | 5             | 1
    """
)
#: Of attempt 2 one rank is traced: nothing shows whom it kept waiting.
MATCHED = "trace_no | event_no | hold_id | is_matched\n1 | 1 | 4 | true\n4 | 1 | 7 | false\n"
PAID = "bundle_id | row_no | billed_usd\n1 | 1 | 6\n1 | 2 | 3\n1 | 3 | 0.05\n1 | 4 | 9\n"


def test_a_straggler_has_caused_the_waiting_of_the_others_and_works_longer() -> None:
    expect(
        "straggler_rank",
        {
            "int_hold": HOLDS, "int_trace_step": STEPS, "int_trace_bucket": BUCKETS,
            "int_bucket_money": MONEY, "int_state": STATE, "int_state_money": PAID,
            "int_collective_call": MATCHED,
        },
        """
        month      | attempt | rank | gpu_uuid | node | wait_caused_gpu_ns | wait_caused_usd | slowdown_ratio | team
        2026-11-01 | 0       | 0    | a        | n1   | 5                  | 0.05            | 0.666666666666666666 | nlp
        2026-11-01 | 0       | 1    | b        | n2   | 901                | 9               | 1.5            | nlp
        2026-11-01 | 2       | 0    | a        | n1   |                    |                 |                | nlp
        """,  # noqa: E501
    )  # fmt: skip


def test_what_it_caused_is_a_second_view_of_waiting_and_sums_to_it() -> None:
    rows = run_model("straggler_rank", {
        "int_hold": HOLDS, "int_trace_step": STEPS, "int_trace_bucket": BUCKETS,
        "int_bucket_money": MONEY, "int_state": STATE, "int_state_money": PAID,
        "int_collective_call": MATCHED,
    })  # fmt: skip
    known = [row for row in rows if row["wait_caused_gpu_ns"] is not None]
    assert sum(row["wait_caused_gpu_ns"] for row in known) == 600 + 300 + 5 + 1
    assert sum(row["wait_caused_usd"] for row in known) == Decimal("9.05")


# --- the cause of a part --------------------------------------------------------------------------


def named(**part: Any) -> dict[str, Any]:
    """int_named_part's row of a part of hold 4."""
    [row] = run_model("int_named_part", {
        "int_part": [{
            "bundle_id": 1, "gpu_uuid": "a", "hour_id": 10, "hold_id": 4, "idle_id": 0,
            "cause_hold_id": 0, "gpu_ns": 10, "less_ns": 1, "more_ns": 2, "is_policy": False,
            "evidence_grade": "E3", "method_id": "in_step_trace", **part,
        }],
        "int_bundle": "bundle_id\n1\n",
        "int_hold": HOLDS,
    })  # fmt: skip
    return row


def test_waiting_is_caused_by_the_rank_that_came_last_and_paid_by_who_waits() -> None:
    row = named(bucket="comm_wait", cause_hold_id=5)
    assert (row["cause"], row["cause_ref"]) == ("straggler", "rank 1 b n2")
    assert (row["waste_class"], row["payer_team"], row["gpu_uuid"]) == ("step", "nlp", "a")
    assert (row["less_ns"], row["more_ns"], row["evidence_grade"]) == (1, 2, "E3")


@pytest.mark.parametrize(
    ("bucket", "cause", "waste_class"),
    [
        ("compute", "own_code", "useful"), ("comm_exposed", "own_code", "step"),
        ("copy_exposed", "own_code", "step"), ("data_stall", "own_code", "step"),
        ("host_sync", "own_code", "step"), ("launch_gap", "own_code", "step"),
        ("pipeline_bubble", "own_code", "step"), ("gap_unknown", "unknown", "step"),
    ],
)  # fmt: skip
def test_the_other_buckets_of_a_step(bucket: str, cause: str, waste_class: str) -> None:
    row = named(bucket=bucket)
    assert (row["cause"], row["cause_ref"], row["waste_class"]) == (cause, None, waste_class)


def test_the_split_of_waiting_reaches_the_parts() -> None:
    tables: dict[str, Rows] = {
        "int_in_step_split": """
            bundle_id | hold_id | hour_id | bucket    | cause_hold_id | gpu_ns | less_ns | more_ns
            1         | 4       | 10      | comm_wait | 5             | 7      | 7       | 3
            1         | 4       | 10      | comm_wait | 6             | 2      | 2       | 1
        """,
        "int_hold": HOLDS,
    }
    expect(
        "int_part",
        tables,
        """
        gpu_uuid | bucket    | cause_hold_id | gpu_ns
        a        | comm_wait | 5             | 7
        a        | comm_wait | 6             | 2
        """,
    )
