"""Marts: exact sums, bounds that count once, ratios beside their parts, idle dollars, coverage."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.models.harness import Rows, expect, failed_checks, filled, run_model

NOVEMBER = "2026-11-01"
#: Hours since the epoch at the start of the test day.
H0 = 1_793_491_200 // 3600


# --- allocation -----------------------------------------------------------------------------------


def allocated(**tables: Rows) -> list[dict[str, Any]]:
    """Two lines on a placed and an unplaced row of bundle 1, and a tax."""
    given: dict[str, Rows] = {
        "stg_bill_line": filled(
            "line_id | month\ncommit | 2026-11-01\nspot | 2026-11-01\ntax | 2026-10-01\n",
            resource_id="i-1",
        ),
        "int_state": f"""
            bundle_id | row_no | hour_id   | gpu_uuid | bucket          | waste_class | gpu_ns
            1         | 1      | {H0 + 9}  | a        | unallocated     | policy      | 60
            1         | 2      |           |          | billed_not_seen | unknown     | 40
        """,
        "int_charge_target": """
            line_id | target_no | bundle_id | row_no | bucket  | payer_team | gpu_ns
            commit  | 1         | 1         | 1      |         |            | 45
            commit  | 2         | 1         | 2      |         |            | 30
            spot    | 1         | 1         | 1      |         |            | 15
            spot    | 2         | 1         | 2      |         |            | 10
            tax     | 1         |           |        | non_gpu | platform   | 0
        """,
        "int_charge_money": """
            line_id | target_no | billed_usd | effective_usd | list_usd
            commit  | 1         | 6          | 3             | 9
            commit  | 2         | 4          | 2             | 6
            spot    | 1         | 0.6        | 0.6           |
            spot    | 2         | 0.4        | 0.4           |
            tax     | 1         | 1          | 1             | 1
        """,
        **tables,
    }
    return run_model("allocation", given)


def test_each_line_stands_on_the_rows_that_it_pays_with_their_class_and_hour() -> None:
    rows = {(row["line_id"], row["target_no"]): row for row in allocated()}
    assert len(rows) == 5
    placed, unseen, tax = rows["commit", 1], rows["spot", 2], rows["tax", 1]
    assert (placed["bucket"], placed["level1"], placed["waste_class"]) == (
        "unallocated", "unallocated", "policy",
    )  # fmt: skip
    assert placed["hour"].isoformat() == "2026-11-01T09:00:00+00:00"
    assert (unseen["bucket"], unseen["hour"], unseen["gpu_uuid"]) == ("billed_not_seen", None, None)
    assert (tax["bucket"], tax["waste_class"], tax["payer_team"], tax["evidence_grade"]) == (
        "non_gpu", "overhead", "platform", "E0",
    )  # fmt: skip
    assert (str(tax["month"]), str(placed["month"])) == ("2026-10-01", NOVEMBER)


def test_bounds_of_a_row_that_two_lines_pay_count_once() -> None:
    rows = filled(
        """
        line_id | gpu_ns | billed_usd | list_usd
        b       | 20     | 2          |
        a       | 40     | 4          | 8
        """,
        bundle_id="1", row_no="1", month=NOVEMBER, bucket="lost_work", evidence_grade="E1",
        effective_usd="1",
    )  # fmt: skip
    expect(
        "gpu_hour_state",
        {
            "allocation": rows,
            "int_state": "bundle_id|row_no|gpu_ns|low_gpu_ns|high_gpu_ns|cause_ref\n"
            "1 | 1 | 60 | 50 | 100 | c1/7/0\n",
        },
        """
        bucket    | gpu_ns | low_gpu_ns | high_gpu_ns | billed_usd | list_usd | list_unknown_lines
        lost_work | 60     | 50         | 100         | 6          | 8        | 1
        """,
    )


def test_hours_buckets_and_payers_stay_apart_and_the_worst_grade_shows() -> None:
    expect(
        "gpu_hour_state",
        {
            "allocation": filled(
                """
                line_id | payer_team | gpu_ns | evidence_grade
                a       | x          | 1      | E2
                b       | x          | 2      | E1
                c       | y          | 4      | E2
                """,
                month=NOVEMBER, bucket="compute", billed_usd="1", effective_usd="1", list_usd="1",
            )
        },
        """
        payer_team | gpu_ns | low_gpu_ns | high_gpu_ns | evidence_grade | billed_usd
        x          | 3      | 3          | 3           | E1             | 2
        y          | 4      | 4          | 4           | E2             | 1
        """,
    )  # fmt: skip


# --- recon_invoice and showback -------------------------------------------------------------------

LINE = filled(
    "billed_usd | effective_usd | list_usd | billed_gpu_ns\n10 | 5 | 20 | 100\n", line_id="a",
    pays_gpu="true", is_unused="false", charge_period_start="10:00",
)  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "failed"),
    [
        ("4 | 2 | 8 | 40\n6 | 3 | 12 | 60\n", []),
        ("4 | 2 | 8 | 40\n5.999999999999 | 3 | 12 | 60\n", ["money_reconciles"]),
        ("10 | 4 | 20 | 100\n", ["money_reconciles"]),
        ("10 | 5 | 19 | 100\n", ["money_reconciles"]),
        ("10 | 5 | 20 | 99\n", ["time_reconciles"]),
        ("", ["money_reconciles", "time_reconciles"]),
    ],
)
def test_a_line_that_does_not_sum_fails_the_proof(parts: str, failed: list[str]) -> None:
    rows = filled(f"billed_usd | effective_usd | list_usd | gpu_ns\n{parts}", line_id="a")
    assert failed_checks("recon_invoice", {"stg_bill_line": LINE, "allocation": rows}) == failed


def test_a_line_without_a_list_cost_reconciles_and_a_companion_bills_no_time() -> None:
    line = [{**LINE[0], "list_usd": None, "pays_gpu": "false", "billed_gpu_ns": "0"}]
    parts = filled("billed_usd | effective_usd | gpu_ns\n10 | 5 | 0\n", line_id="a")
    tables: dict[str, Rows] = {"stg_bill_line": line, "allocation": parts}
    assert failed_checks("recon_invoice", tables) == []
    expect(
        "recon_invoice", tables, "billed_gpu_ns | list_difference_usd | difference_usd\n0 | | 0\n"
    )


def test_what_a_team_pays_is_direct_shared_tax_and_credit() -> None:
    expect(
        "showback_team_month",
        {
            "stg_bill_line": """
            line_id | charge_category
            gpu     | Usage
            support | Usage
            tax     | Tax
            credit  | Credit
            """,
            "allocation": filled(
                """
                line_id | bucket      | payer_team | billed_usd | gpu_ns
                gpu     | compute     | x          | 10         | 90min
                gpu     | unallocated | platform   | 4          | 30min
                support | non_gpu     | x          | 2          | 0
                tax     | non_gpu     | x          | 1          | 0
                credit  | compute     | x          | -3         | 0
                """,
                month=NOVEMBER, effective_usd="1",
            ),
        },
        """
        team     | billed_usd | direct_usd | shared_usd | tax_usd | credit_usd | gpu_ns | gpu_hours
        x        | 10         | 10         | 2          | 1       | -3         | 90min  | 1.5
        platform | 4          | 4          | 0          | 0       | 0          | 30min  | 0.5
        """,
    )  # fmt: skip


def test_a_share_of_the_bill_stands_beside_its_parts_and_only_bounds_that_meet_are_measured() -> (
    None
):
    state = filled(
        """
        payer_team | bucket    | gpu_ns | low_gpu_ns | high_gpu_ns | effective_usd | evidence_grade
        x          | lost_work | 30     | 30         | 30          | 3             | E2
        x          | lost_work | 10     | 10         | 20          | 1             | E1
        y          | non_gpu   | 0      | 0          | 0           | 4             | E0
        """,
        month=NOVEMBER, waste_class="strict", cause="platform",
    )  # fmt: skip
    rows = {row["team"]: row for row in run_model("waste_team_month", {"gpu_hour_state": state})}
    x, y = rows["x"], rows["y"]
    assert (x["gpu_ns"], x["measured_gpu_ns"], x["measured_share_ratio"]) == (40, 30, 0.75)
    assert (x["share_of_bill_ratio"], x["invoice_effective_usd"], x["effective_usd"]) == (
        0.5, Decimal(8), Decimal(4),
    )  # fmt: skip
    assert (x["evidence_grade"], y["evidence_grade"]) == ("E1", "E0")
    assert y["measured_share_ratio"] is None


# --- interruptions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lost_from", "low", "high"), [("", 0, 50), ("10:00", 7, 9)]
)  # fmt: skip
def test_without_proof_of_a_loss_the_point_is_zero_and_the_high_bound_all_in_step_time(
    lost_from: str, low: int, high: int
) -> None:
    lost = "lost_work | lost_work | 7 | 9 | 1.5\n" if lost_from else ""
    expect(
        "interruptions",
        {
            "int_interruption": filled(
                f"interrupted_ns | lost_from_ns\n11:00:01.5 | {lost_from}\n", cluster="c1",
                job_id="7", attempt="0", next_attempt="1",
            ),
            "int_attempt": filled(
                "state | team\nNODE_FAIL | x\n", cluster="c1", job_id="7", attempt="0"
            ),
            "gpu_hour_state": filled(
                f"bucket | level1 | gpu_ns | high_gpu_ns | billed_usd\n{lost}"
                "compute | in_step | 30 | 30 | 1\ngap_unknown | in_step | 20 | 20 | 1\n",
                cluster="c1", job_id="7", attempt="0",
            )
            + filled(
                "bucket | level1 | gpu_ns\nstartup | startup | 4\nstartup_excess | startup | 5\n",
                cluster="c1", job_id="7", attempt="1",
            ),
            "int_hold": filled("hold_id\n1\n", cluster="c1", job_id="7", attempt="0"),
            # One nanosecond in this hour and one in the hour before: both count.
            "int_labelled": "hold_id | is_lost_high | start_ns | end_ns\n"
            "1 | true | 10:00 | 10:00:00.000000001\n1 | true | 09:00 | 09:00:00.000000001\n"
            "1 | false | 11:00 | 12:00\n",
        },
        f"""
        interrupted_at | team | state     | lost_gpu_ns | lost_high_gpu_ns | restart_gpu_ns
        11:00:01.5     | x    | NODE_FAIL | {low}       | {high}           | 9
        """,
    )  # fmt: skip


# --- idle_sessions --------------------------------------------------------------------------------


def test_each_idle_stretch_has_the_dollars_of_its_own_rows() -> None:
    labelled = filled(
        f"""
        hour_id   | idle_id | is_policy | start_ns | end_ns
        {H0 + 9}  | 1       | false     | 09:00    | 09:10
        {H0 + 9}  | 2       | false     | 09:30    | 09:50
        {H0 + 9}  | 2       | false     | 09:50    | 10:00
        {H0 + 10} | 2       | false     | 10:00    | 10:05
        {H0 + 10} | 2       | true      | 10:05    | 10:20
        """,
        bundle_id="1", gpu_uuid="a", hold_id="1", bucket="idle_held",
    )  # fmt: skip
    state = filled(
        f"""
        row_no | hour_id   | idle_id | waste_class | gpu_ns
        1      | {H0 + 9}  | 1       | strict      | 10min
        2      | {H0 + 9}  | 2       | strict      | 30min
        3      | {H0 + 10} | 2       | strict      | 5min
        4      | {H0 + 10} | 2       | policy      | 15min
        """,
        bundle_id="1", gpu_uuid="a", hold_id="1", bucket="idle_held",
    )  # fmt: skip
    paid = filled(
        """
        row_no | line_id | billed_usd
        1      | gpu     | 0.25
        2      | gpu     | 0.75
        2      | credit  | -0.000000000002
        3      | gpu     | 0.5
        4      | gpu     | 3
        """,
        bundle_id="1", bucket="idle_held", month="2026-11-01",
    )  # fmt: skip
    expect(
        "idle_sessions",
        {
            "int_labelled": labelled,
            "int_hold": "hold_id | cluster | job_id | attempt | team\n1 | c1 | 7 | 0 | x\n",
            "int_state": state,
            "allocation": paid,
        },
        """
        start | end   | waste_class | gpu_ns | billed_usd
        09:00 | 09:10 | strict      | 10min  | 0.25
        09:30 | 10:05 | strict      | 35min  | 1.249999999998
        10:05 | 10:20 | policy      | 15min  | 3
        """,
    )


# --- job_cost and efficiency_ladder ---------------------------------------------------------------


def test_energy_has_a_price_only_where_one_is_set_and_none_without_a_counter() -> None:
    tables: dict[str, Rows] = {
        "allocation": filled(
            "job_id | gpu_ns | billed_usd\n7 | 1h | 3\n7 | 30min | 1\n8 | 1h | 2\n",
            month=NOVEMBER, cluster="c1", attempt="0", effective_usd="1",
        ),
        "int_attempt": filled("job_id | gpu_count\n7 | 2\n8 | 1\n", cluster="c1", attempt="0"),
        "int_activity": f"hold_id | hour_id | energy_mj | energy_ns\n1 | {H0} | 3600000000 | 1h\n",
        "int_hold": "hold_id | cluster | job_id | attempt\n1 | c1 | 7 | 0\n",
        "efficiency_ladder": filled(
            "scope | rank | mfu_ratio\nallocated | | 0.5\nallocated | 0 | 0.9\nin_steps | | 0.7\n",
            month=NOVEMBER, cluster="c1", job_id="7", attempt="0",
        ),
    }  # fmt: skip
    head = "job_id|gpu_hours|billed_usd|energy_kwh|energy_usd|energy_observed_ns|mfu_ratio"
    expect(
        "job_cost", tables, f"{head}\n7 | 1.5 | 4 | 1 | | 1h | 0.5\n8 | 1 | 2 | | | 0 |\n"
    )  # fmt: skip
    # 0.36 USD per kWh.
    expect(
        "job_cost", tables, "job_id | energy_usd\n7 | 0.36\n8 |\n",
        settings={"energy_usd_per_mj": Decimal("0.0000000001")},
    )  # fmt: skip


def ladder(flops: str = "494700000000000", **tables: Rows) -> dict[str, Any]:
    """The attempt's rows by scope: an H200 held for 10 s, in a step for 4 of them."""
    rows = run_model(
        "efficiency_ladder",
        {
            "int_hold": filled(
                "hold_id | rank | gpu_model\n1 | 0 | NVIDIA H200\n", team="x", cluster="c1",
                job_id="7", attempt="0",
            ),
            "int_activity": filled(
                """
        is_step | is_window | total_ns | observed_ns | engine_sum       | sm_ns | sm_sum
        true    | true      | 4s       | 4s          | 4000000000000000 | 2s    | 1000000000000000
        false   | true      | 1s       | 1s          | 0                | 0     | 0
        false   | false     | 5s       | 0           | 0                | 0     | 0
                """,
                hold_id="1", hour_id=str(H0), bundle_id="0",
            ),
            "int_step": f"hold_id | start_ns | model_flops | dtype\n1 | 00:10 | {flops} | bf16\n",
            **tables,
        },
    )  # fmt: skip
    return {r["scope"]: r for r in rows if r["job_id"] == "7" and r["rank"] is None}


def test_each_mean_is_over_the_time_with_a_valid_reading_of_its_own_field() -> None:
    scopes = ladder()
    assert scopes["in_steps"]["engine_active_ratio"] == 1.0
    assert scopes["first_to_last_step"]["engine_active_ratio"] == pytest.approx(0.8)
    assert scopes["allocated"]["engine_active_ratio"] == pytest.approx(0.8)
    assert {row["sm_active_ratio"] for row in scopes.values()} == {0.5}
    assert scopes["allocated"]["tensor_active_ratio"] is None
    lengths = {scope: row["total_ns"] // 10**9 for scope, row in scopes.items()}
    assert lengths == {"allocated": 10, "first_to_last_step": 5, "in_steps": 4}
    assert scopes["allocated"]["observed_ns"] == 5 * 10**9


def test_mfu_is_flops_over_the_scopes_time_at_the_dense_peak() -> None:
    scopes = ladder()
    # Half a second's worth of an H200's bf16 peak of 989.4e12 FLOP/s.
    assert scopes["allocated"]["mfu_ratio"] == pytest.approx(0.05)
    assert scopes["first_to_last_step"]["mfu_ratio"] == pytest.approx(0.1)
    assert scopes["in_steps"]["mfu_ratio"] == pytest.approx(0.125)
    assert scopes["in_steps"]["peak_flops"] == 4 * Decimal("989.4e12")


def test_an_unknown_model_or_format_has_no_mfu() -> None:
    assert ladder(gpu_peak=[])["allocated"]["mfu_ratio"] is None
    assert ladder(int_step=[])["allocated"]["mfu_ratio"] is None


def test_mfu_above_one_fails_and_readings_that_contradict_warn() -> None:
    step = "hold_id | start_ns | model_flops\n1 | 00:10 | {}\n"
    base: dict[str, Rows] = {
        "int_hold": "hold_id | gpu_model | cluster | job_id\n1 | NVIDIA H200 | c1 | 7\n",
        "int_activity": "hold_id | hour_id | total_ns | observed_ns | engine_sum\n"
        f"1 | {H0} | 1s | 1s | 500000000000000\n",
    }
    fits = {**base, "int_step": step.format(989_400_000_000_000)}
    assert failed_checks("efficiency_ladder", fits) == []
    above = {**base, "int_step": step.format(989_500_000_000_000)}
    assert failed_checks("efficiency_ladder", above) == ["mfu_at_most_one"]
    odd = [{"hold_id": 1, "hour_id": H0, "total_ns": "1s", "observed_ns": "1s", "sm_ns": "1s",
            "engine_sum": 0, "sm_sum": 100_000 * 10**9}]  # fmt: skip
    assert failed_checks("efficiency_ladder", {**base, "int_activity": odd}) == [
        "ratios_at_most_one"
    ]


# --- seen_not_billed, telemetry_coverage, waste_evidence ------------------------------------------


def test_overflow_is_what_is_placed_beyond_what_is_paid() -> None:
    expect(
        "seen_not_billed",
        {
            "int_placement": filled(
                """
                start_ns | paid_until_ns | end_ns | is_placed
                09:00    | 09:20         | 09:30  | true
                09:30    | 09:30         | 09:45  | true
                09:45    | 09:45         | 10:00  | false
                """,
                gpu_uuid="a", bundle_id="1",
            ),
            "int_elementary": filled(
                "start_ns | hold_id\n09:00 | 1\n09:30 | 0\n09:45 | 0\n", gpu_uuid="a",
                hour_id=str(H0 + 9),
            ),
            "int_bundle": "bundle_id | resource_id\n1 | i-1\n",
            "int_hold": "hold_id | cluster | job_id | attempt\n1 | c1 | 7 | 0\n",
        },
        "resource_id | hour | job_id | gpu_ns\ni-1 | 09:00 | 7 | 10min\ni-1 | 09:00 | | 15min\n",
    )  # fmt: skip


def test_null_and_invalid_readings_count_per_field_and_samples_on_the_day_of_their_end() -> None:
    rows = run_model(
        "telemetry_coverage",
        {
            "stg_gpu_inventory": filled(
                "start_ns | end_ns\n12:00 | 2026-11-02 06:00:00\n", gpu_uuid="a", cluster="c1",
                node="n1",
            ),
            "int_sample": filled(
                """
                start_ns            | end_ns              | engine_ppm | dram_ppm | invalid_mask
                2026-11-01 23:59:50 | 2026-11-02 00:00:00 | 0          | 0        | 0
                2026-11-02 00:00:00 | 2026-11-02 00:00:10 |            | 0        | 2
                2026-11-02 00:00:10 | 2026-11-02 00:00:20 | 5          |          | 32
                2026-11-02 00:00:20 | 2026-11-02 00:00:30 |            |          | 0
                """,
                gpu_uuid="a",
            ),
        },
    )  # fmt: skip
    shown = {
        (str(r["day"]), r["field"]): tuple(
            r[name] // 10**9 for name in ("expected_ns", "observed_ns", "invalid_ns")
        )
        for r in rows
    }
    half, quarter = 12 * 3600, 6 * 3600
    assert shown["2026-11-01", "engine_active_ratio"] == (half, 10, 0)
    assert shown["2026-11-02", "engine_active_ratio"] == (quarter, 10, 10)
    assert shown["2026-11-02", "dram_active_ratio"] == (quarter, 10, 10)
    assert shown["2026-11-02", "pcie_bytes_s"] == (quarter, 0, 0)


def test_a_gpu_that_the_inventory_does_not_know_has_no_expected_time() -> None:
    sample = "gpu_uuid | start_ns | end_ns | engine_ppm | invalid_mask\nx | 10:00 | 10:01 | 1 | 0\n"
    rows = run_model("telemetry_coverage", {"int_sample": sample})
    (row,) = (r for r in rows if r["field"] == "engine_active_ratio")
    assert (row["expected_ns"], row["observed_ns"], row["cluster"]) == (None, 60 * 10**9, None)


def test_evidence_counts_each_row_of_each_source_once() -> None:
    allocation = filled(
        """
        line_id | row_no | gpu_uuid | bucket
        gpu     | 1      | a        | unusable
        disk    | 1      | a        | unusable
        gpu     | 2      | a        | unusable
        """,
        bundle_id="1", month=NOVEMBER, payer_team="platform",
    )  # fmt: skip
    expect(
        "waste_evidence",
        {
            "allocation": allocation,
            "int_state": f"""
            bundle_id | row_no | hour_id   | hold_id
            1         | 1      | {H0 + 9}  | 0
            1         | 2      | {H0 + 10} | 0
            """,
            "stg_bill_line": "line_id | source_file\ngpu | bill.csv\ndisk | bill.csv\n",
            "stg_gpu_inventory": "gpu_uuid | start_ns | end_ns | source_file\n"
            "a | 00:00 | 23:00 | gpus.csv\na | 23:00 | 23:30 | gpus.csv\n",
            "int_bundle_gpu": "gpu_uuid | bundle_id | cluster | node\na | 1 | c1 | n1\n",
            "stg_node_event": filled(
                """
                gpu_uuid | start_ns | end_ns | source_file
                         | 09:30    | 10:30  | events.psv
                a        | 09:40    | 09:50  | xid.psv
                b        | 09:41    | 09:50  | xid.psv
                         | 11:00    | 12:00  | events.psv
                """,
                cluster="c1", node="n1", kind="down",
            ),
        },
        """
        bucket   | source     | source_rows | source_files
        unusable | bill       | 2           | [bill.csv]
        unusable | inventory  | 1           | [gpus.csv]
        unusable | node_event | 2           | [events.psv, xid.psv]
        """,
    )  # fmt: skip


# --- int_hold_source ------------------------------------------------------------------------------


def test_rows_that_speak_for_a_hold_are_counted_by_hour_and_file() -> None:
    expect(
        "int_hold_source",
        {
            "int_hold": filled(
                "start_ns | end_ns\n09:30 | 10:30\n", hold_id="1", gpu_uuid="a", cluster="c1",
                job_id="7", attempt="0",
            ),
            "int_sample": filled(
                """
                start_ns | end_ns | source_file
                09:20    | 09:30  | x
                09:30    | 09:40  | x
                09:50    | 10:00  | y
                10:00    | 10:10  | x
                10:30    | 10:40  | x
                """,
                gpu_uuid="a",
            ),
            "int_step": "hold_id | start_ns | source_file\n1 | 09:59 | log\n1 | 10:00 | log\n",
            "stg_checkpoint": filled(
                "cluster | start_ns\nc1 | 10:29\nc2 | 10:00\n | 10:30\n", job_id="7", attempt="0",
                source_file="saves",
            ),
        },
        f"""
        hour_id   | source      | source_file | row_count
        {H0 + 9}  | telemetry   | x           | 1
        {H0 + 9}  | telemetry   | y           | 1
        {H0 + 10} | telemetry   | x           | 1
        {H0 + 9}  | steps       | log         | 1
        {H0 + 10} | steps       | log         | 1
        {H0 + 10} | checkpoints | saves       | 1
        """,
    )  # fmt: skip


def test_a_step_without_flops_makes_the_mfu_unknown_and_not_lower() -> None:
    for flops, expected in (("7000000000", "7000000000"), ("", "")):
        expect(
            "int_ladder_hold",
            {
                "int_activity": filled(
                    "is_window | is_step | total_ns\ntrue | true | 1h\n",
                    hold_id="1", hour_id=f"{H0 + 9}", bundle_id="1",
                ),
                "int_hold": "hold_id | cluster | job_id | attempt\n1 | c1 | 7 | 0\n",
                "int_step": "hold_id | step | start_ns | model_flops\n"
                f"1 | 1 | 09:00 | 0\n1 | 2 | 09:10 | {flops}\n",
            },
            "scope | model_flops\n"
            + "".join(
                f"{scope} | {expected}\n"
                for scope in ("allocated", "first_to_last_step", "in_steps")
            ),
        )  # fmt: skip
