"""Staging: one landing table, renamed and cast; quantities, open ends and what is no number."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.models.harness import expect, failed_checks, filled, run_model

HOUR_NS = 3_600 * 10**9
NOVEMBER_END = "2026-12-01 00:00:00"


# --- bill lines -----------------------------------------------------------------------------------


def test_billed_time_is_quantity_times_gpus_and_not_the_charge_period() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": filled(
                """
                    line_id | charge_period_end | sku_gpu_count | quantity_hours | billed_usd
                    day     | 23:59:59          | 8             | 2.5            | 1
                    second  | 01:00             | 2             | 0.000277777778 | 1
                    half    | 01:00             | 0.5           | 1              | 1
                """,
                charge_category="Usage",
                charge_period_start="00:00",
                resource_id="i-1",
                effective_usd="1",
            )
        },
        """
            line_id | gpu_count | billed_gpu_ns | pays_gpu | start_ns | end_ns
            day     | 8         | 20h           | true     | 00:00    | 23:59:59
            second  | 2         | 2000000002    | true     | 00:00    | 01:00
            half    | 0.5       | 30min         | true     | 00:00    | 01:00
        """,
    )


@pytest.mark.parametrize(
    ("hours", "gpus"),
    [("744", "8"), ("0.333333333333", "3"), ("0.000000000001", "1"), ("123456.789", "16"),
     ("1.000000000139", "0.5")],
)  # fmt: skip
def test_billed_time_is_rounded_once_to_the_nanosecond(hours: str, gpus: str) -> None:
    (line,) = run_model(
        "stg_bill_line",
        {
            "bill_line": filled(
                f"""
                    line_id | charge_category | resource_id | sku_gpu_count | quantity_hours
                    a       | Usage           | i-1         | {gpus}        | {hours}
                """,
                charge_period_start="00:00",
                charge_period_end="01:00",
            )
        },
    )
    exact = Fraction(hours) * Fraction(gpus) * HOUR_NS
    assert abs(line["billed_gpu_ns"] - exact) <= Fraction(1, 2)


def test_the_gpu_count_is_the_lines_own_else_the_instance_types_else_unknown() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": filled(
                """
                    line_id | resource_id | instance_type | sku_gpu_count | quantity_hours
                    own     | i-1         | p5.48xlarge   | 4             | 1
                    type    | i-1         | p5.48xlarge   |               | 1
                    unknown | i-1         | p9.48xlarge   |               | 1
                    neither | i-1         |               |               | 1
                    none    | i-1         |               | 0             | 1
                """,
                charge_category="Usage",
                charge_period_start="00:00",
                charge_period_end="01:00",
            ),
            "instance_type": "instance_type | gpu_count\np5.48xlarge | 8\n",
        },
        """
            line_id | gpu_count | billed_gpu_ns | pays_gpu
            own     | 4         | 4h            | true
            type    | 8         | 8h            | true
            unknown |           | 0             | false
            neither |           | 0             | false
            none    | 0         | 0             | false
        """,
    )


def test_only_usage_of_a_resource_for_a_positive_time_pays_gpus() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": filled(
                """
        line_id     | charge_category | commitment_discount_status | resource_id | quantity_hours
        used        | Usage           | Used                       | i-1         | 1
        unused      | Usage           | Unused                     | i-1         | 1
        purchase    | Purchase        | Unused                     | i-1         | 1
        tax         | Tax             |                            | i-1         | 1
        credit      | Credit          |                            | i-1         | 1
        adjustment  | Adjustment      |                            | i-1         | 1
        no quantity | Usage           |                            | i-1         |
        nothing     | Usage           |                            | i-1         | 0
        refund      | Usage           |                            | i-1         | -1
                """,
                charge_period_start="00:00",
                charge_period_end="01:00",
                sku_gpu_count="8",
            )
        },
        """
            line_id     | is_unused | pays_gpu | billed_gpu_ns
            used        | false     | true     | 8h
            unused      | true      | false    | 8h
            purchase    | false     | false    | 0
            tax         | false     | false    | 0
            credit      | false     | false    | 0
            adjustment  | false     | false    | 0
            no quantity | false     | false    | 0
            nothing     | false     | false    | 0
            refund      | false     | false    | 0
        """,
    )


def test_usage_without_a_resource_pays_no_gpu_and_keeps_its_time() -> None:
    line = filled(
        "line_id | sku_gpu_count | quantity_hours\na | 8 | 1\n",
        charge_category="Usage",
        charge_period_start="00:00",
        charge_period_end="01:00",
    )
    expect("stg_bill_line", {"bill_line": line}, "pays_gpu | billed_gpu_ns\nfalse | 8h\n")


def test_a_quantity_that_rounds_to_no_time_pays_no_gpu() -> None:
    """Else its bundle has no row, and its dollars no place to go."""
    expect(
        "stg_bill_line",
        {
            "bill_line": filled(
                """
                    line_id | charge_category | resource_id | sku_gpu_count | quantity_hours
                    dust    | Usage           | i-1         | 0.1           | 1e-12
                """,
                charge_period_start="00:00",
                charge_period_end="01:00",
            )
        },
        "line_id | billed_gpu_ns | pays_gpu\ndust | 0 | false\n",
    )


def test_the_month_is_that_of_the_charge_periods_start_in_utc() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": """
                line_id | charge_category | charge_period_start           | charge_period_end
                last    | Usage           | 2026-10-31 23:59:59.999999+00 | 2026-11-01 00:00:00+00
                first   | Usage           | 2026-11-01 00:00:00+00        | 2026-11-01 01:00:00+00
                zone    | Usage           | 2026-10-31 20:00:00-04        | 2026-11-01 01:00:00+00
            """
        },
        """
            line_id | month      | start_ns
            last    | 2026-10-01 | 2026-10-31 23:59:59.999999
            first   | 2026-11-01 | 2026-11-01 00:00:00
            zone    | 2026-11-01 | 2026-11-01 00:00:00
        """,
        settings={"billed_start_ns": "2026-10-31 00:00:00"},
    )


def test_only_lines_that_lie_in_the_billed_time_count() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": filled(
                """
                line_id | charge_period_start | charge_period_end
                before  | 09:00               | 10:00
                reaches | 09:59               | 10:30
                first   | 10:00               | 11:00
                last    | 11:30               | 12:00
                beyond  | 11:30               | 12:00:00.000001
                after   | 12:00               | 13:00
                """,
                charge_category="Usage",
            )
        },
        "line_id\nfirst\nlast\n",
        settings={"billed_start_ns": "10:00", "billed_end_ns": "12:00"},
    )


def test_the_repeated_hour_of_a_clock_change_stays_two_hours() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": """
                line_id | charge_category | charge_period_start    | charge_period_end
                summer  | Usage           | 2026-11-01 01:00:00-04 | 2026-11-01 01:00:00-05
                winter  | Usage           | 2026-11-01 01:00:00-05 | 2026-11-01 02:00:00-05
            """
        },
        """
            line_id | start_ns | end_ns
            summer  | 05:00    | 06:00
            winter  | 06:00    | 07:00
        """,
    )


@pytest.mark.parametrize(("end", "failed"), [("01:00", ["charge_period_in_order"]),
                                             ("00:59", ["charge_period_in_order"]),
                                             ("01:00:00.000001", [])])  # fmt: skip
def test_a_charge_period_without_length_fails_the_check(end: str, failed: list[str]) -> None:
    table = f"""
     line_id | charge_category | charge_period_start | charge_period_end
     a       | Usage           | 01:00               | {end}
 """
    assert failed_checks("stg_bill_line", {"bill_line": table}) == failed


def test_a_line_that_stands_twice_fails_the_check() -> None:
    table = """
     line_id | charge_category | charge_period_start | charge_period_end
     a       | Usage           | 00:00               | 01:00
     a       | Usage           | 00:00               | 01:00
 """
    assert failed_checks("stg_bill_line", {"bill_line": table}) == ["unique_key"]


def test_list_cost_that_is_absent_stays_null() -> None:
    expect(
        "stg_bill_line",
        {
            "bill_line": """
                line_id | charge_category | charge_period_start | charge_period_end | list_usd
                known   | Usage           | 00:00               | 01:00             | 0
                absent  | Usage           | 00:00               | 01:00             |
            """
        },
        "line_id | list_usd\nknown | 0\nabsent |\n",
    )


# --- inventory, events, coverage, policy ----------------------------------------------------------


def test_an_open_inventory_interval_ends_with_the_window() -> None:
    expect(
        "stg_gpu_inventory",
        {
            "gpu_inventory": f"""
                gpu_uuid | start                  | end
                closed   | 01:00                  | 02:00
                open     | 01:00                  |
                beyond   | {NOVEMBER_END}         |
                later    | 2026-12-02 00:00:00+00 | 2026-12-03 00:00:00+00
            """
        },
        f"""
            gpu_uuid | start_ns            | end_ns
            closed   | 01:00               | 02:00
            open     | 01:00               | {NOVEMBER_END}
            later    | 2026-12-02 00:00:00 | 2026-12-03 00:00:00
        """,
    )


def test_a_mig_slice_in_the_inventory_is_refused() -> None:
    rows = "gpu_uuid | slice_id | start | end\nGPU-a | 1g.18gb/7 | 01:00 | 02:00\n"
    assert failed_checks("stg_gpu_inventory", {"gpu_inventory": rows}) == ["whole_gpus_only"]
    whole = "gpu_uuid | slice_id | start | end\nGPU-a | | 01:00 | 02:00\n"
    assert failed_checks("stg_gpu_inventory", {"gpu_inventory": whole}) == []


def test_only_a_node_that_is_down_and_a_fatal_xid_count_while_a_job_holds_the_gpu() -> None:
    expect(
        "stg_node_event",
        {
            "node_event": """
                cluster | node | start | end   | kind        | sub
                c1      | n1   | 01:00 | 02:00 | down        | provider_fault
                c1      | n1   | 01:00 |       | fatal_xid   |
                c1      | n1   | 01:00 | 02:00 | drain       |
                c1      | n1   | 01:00 | 02:00 | maintenance | own_maintenance
                c1      | n1   | 01:00 | 02:00 | boot        | boot
            """
        },
        f"""
            kind        | is_hard | sub             | end_ns
            down        | true    | provider_fault  | 02:00
            fatal_xid   | true    |                 | {NOVEMBER_END}
            drain       | false   |                 | 02:00
            maintenance | false   | own_maintenance | 02:00
            boot        | false   | boot            | 02:00
        """,
    )


def test_coverage_that_one_file_says_twice_is_one_row() -> None:
    expect(
        "stg_source_coverage",
        {
            "source_coverage": """
                source    | cluster | start | end   | is_cut | source_file | source_row
                scheduler | c1      | 01:00 | 02:00 | false  | a.psv       | 0
                scheduler | c1      | 01:00 | 02:00 | false  | a.psv       | 0
                scheduler | c1      | 01:00 | 02:00 | true   | a.psv       | 3
            """
        },
        """
            source    | cluster | start_ns | end_ns | is_cut | source_row
            scheduler | c1      | 01:00    | 02:00  | false  | 0
            scheduler | c1      | 01:00    | 02:00  | true   | 3
        """,
    )


def test_policy_windows_keep_their_scope_and_their_time() -> None:
    expect(
        "stg_policy_window",
        {
            "policy_window": """
                kind        | owner | cluster | node | account | job_id | start | end   | source_row
                maintenance | ops   | c1      | n1   |         |        | 01:00 | 02:00 | 1
                exempt_idle | lab   |         |      | nlp     | 17     | 01:00 | 02:00 | 2
            """
        },
        """
            kind        | cluster | node | account | job_id | start_ns | end_ns
            maintenance | c1      | n1   |         |        | 01:00    | 02:00
            exempt_idle |         |      | nlp     | 17     | 01:00    | 02:00
        """,
    )


# --- jobs, teams ----------------------------------------------------------------------------------


def test_attempts_keep_null_starts_and_ends() -> None:
    expect(
        "stg_job_attempt",
        {
            "job_attempt": filled(
                """
                cluster | job_id | start      | end   | state     | nodes | gpu_count | source_row
                c1      | 1      | 01:00:01.5 | 02:00 | COMPLETED | [n1]  | 8         | 1
                c1      | 2      | 01:00      |       | RUNNING   | [n1]  | 8         | 2
                c1      | 3      |            | 02:00 | CANCELLED | []    | 0         | 3
                """,
                submit="01:00",
                source_file="a",
            )
        },
        """
            job_id | submit_ns | start_ns   | end_ns | nodes
            1      | 01:00     | 01:00:01.5 | 02:00  | [n1]
            2      | 01:00     | 01:00      |        | [n1]
            3      | 01:00     |            | 02:00  | []
        """,
    )


def test_a_gpu_index_that_several_snapshots_show_is_one_row() -> None:
    expect(
        "stg_job_gpu",
        {
            "job_gpu": """
                cluster | job_id | start | node | gpu_index | source_file
                c1      | 1      | 01:00 | n1   | 0         | a
                c1      | 1      | 01:00 | n1   | 0         | b
                c1      | 1      | 01:00 | n1   | 1         | b
                c1      | 1      | 02:00 | n1   | 0         | b
            """
        },
        """
            job_id | start_ns | node | gpu_index
            1      | 01:00    | n1   | 0
            1      | 01:00    | n1   | 1
            1      | 02:00    | n1   | 0
        """,
    )


def test_a_team_map_row_that_two_files_repeat_is_one_row() -> None:
    expect(
        "stg_team_map",
        {
            "team_map": """
                kind    | key | team | valid_from | valid_to | source_file
                account | nlp | a    | 01:00      |          | x
                account | nlp | a    | 01:00      |          | y
                account | nlp | b    | 02:00      | 03:00    | y
            """
        },
        """
            key | team | start_ns | end_ns
            nlp | a    | 01:00    |
            nlp | b    | 02:00    | 03:00
        """,
    )


# --- samples, steps, checkpoints ------------------------------------------------------------------


def test_ratios_become_whole_millionths_and_null_stays_null() -> None:
    expect(
        "stg_gpu_sample",
        {
            "gpu_sample": filled(
                """
                    gpu_uuid | ts    | engine_active_ratio | sm_active_ratio | source_row
                    GPU-a    | 01:00 | 0.01                | 0.333333343     | 1
                    GPU-a    | 02:00 | 0.010001            |                 | 2
                    GPU-a    | 03:00 |                     | 1               | 3
                    GPU-a    | 04:00 | 0.0000004           | 0.0000006       | 4
                """,
                period_us="100000",
                source_file="a",
            )
        },
        """
            ts_ns | period_ns | engine_ppm | sm_ppm
            01:00 | 100ms     | 10000      | 333333
            02:00 | 100ms     | 10001      |
            03:00 | 100ms     |            | 1000000
            04:00 | 100ms     | 0          | 1
        """,
    )


def test_link_traffic_is_both_ways_and_unknown_where_one_way_is() -> None:
    expect(
        "stg_gpu_sample",
        {
            "gpu_sample": filled(
                """
                    gpu_uuid | ts    | pcie_tx_bytes_s | pcie_rx_bytes_s | nvlink_tx_bytes_s
                    GPU-a    | 01:00 | 1               | 2               | 10
                    GPU-a    | 02:00 | 1               |                 |
                """,
                nvlink_rx_bytes_s="20",
            )
        },
        """
            ts_ns | pcie_bytes_s | nvlink_bytes_s
            01:00 | 3            | 30
            02:00 |              |
        """,
    )


def test_a_sample_of_a_mig_slice_is_refused() -> None:
    """Its readings are relative to the slice: it must never speak for the whole GPU."""
    slice_ = "gpu_uuid | slice_id | ts | source_file\nGPU-a | 7 | 01:00 | a\n"
    assert failed_checks("stg_gpu_sample", {"gpu_sample": slice_}) == ["whole_gpus_only"]
    whole = "gpu_uuid | slice_id | ts | source_file\nGPU-a | | 01:00 | a\n"
    assert failed_checks("stg_gpu_sample", {"gpu_sample": whole}) == []


def test_a_step_that_two_logs_repeat_is_one_step() -> None:
    expect(
        "stg_train_step",
        {
            "train_step": filled(
                """
                job_id | attempt | rank | start_ns | end_ns   | tokens | model_flops | source_file
                1      | 0       | 0    | 01:00    | 01:00:01 | 5      |             | b
                1      | 0       | 0    | 01:00    | 01:00:02 |        | 9           | a
                1      | 0       | 1    | 01:00    | 01:00:01 | 5      | 9           | a
                1      |         | 0    | 01:00    | 01:00:01 | 5      | 9           | a
                1      | 0       | 0    | 01:05    | 01:05:01 | 5      | 9           | a
                """,
                step="7",
            )
        },
        """
            attempt | rank | step | start_ns | end_ns   | tokens | model_flops | source_file
            0       | 0    | 7    | 01:00    | 01:00:02 | 5      | 9           | a
            0       | 1    | 7    | 01:00    | 01:00:01 | 5      | 9           | a
                    | 0    | 7    | 01:00    | 01:00:01 | 5      | 9           | a
            0       | 0    | 7    | 01:05    | 01:05:01 | 5      | 9           | a
        """,
    )


def test_a_checkpoint_that_two_logs_repeat_is_durable_when_the_later_one_says() -> None:
    expect(
        "stg_checkpoint",
        {
            "checkpoint": """
                job_id | attempt | event | step | start_ns | end_ns   | blocking | source_file
                1      | 0       | save  | 7    | 01:00    | 01:00:01 | false    | b
                1      | 0       | save  | 7    | 01:00    | 01:00:03 | true     | a
                1      | 0       | save  | 8    | 01:10    | 01:10:01 | false    | a
            """
        },
        """
            step | start_ns | end_ns   | is_blocking | source_file
            7    | 01:00    | 01:00:03 | true        | a
            8    | 01:10    | 01:10:01 | false       | a
        """,
    )
