"""Samples: the time that each speaks for, what is quiet, runs, and what ends an idle run."""

from __future__ import annotations

import pytest

from tests.models.harness import Rows, expect, filled

MIB = 1 << 20
SAMPLE = {"gpu_uuid": "a", "period_ns": "10s", "source_file": "f"}


# --- int_sample -----------------------------------------------------------------------------------


def test_a_sample_speaks_for_the_time_since_the_one_before_and_after_a_hole_for_its_period() -> (
    None
):
    expect(
        "int_sample",
        {
            "stg_gpu_sample": filled(
                """
                ts_ns                | source_row
                10:00:00             | 1
                10:00:10             | 2
                10:00:25             | 3
                10:00:40.000000001   | 4
                10:00:45             | 5
                11:00:00             | 6
                """,
                **SAMPLE,
            )
        },
        # 15 s are 1.5 periods and no hole; one nanosecond more is.
        """
        sample_no | start_ns           | end_ns
        1         | 09:59:50           | 10:00:00
        2         | 10:00:00           | 10:00:10
        3         | 10:00:10           | 10:00:25
        4         | 10:00:30.000000001 | 10:00:40.000000001
        5         | 10:00:40.000000001 | 10:00:45
        6         | 10:59:50           | 11:00:00
        """,
    )


def test_of_samples_at_one_instant_one_speaks_and_gpus_do_not_mix() -> None:
    expect(
        "int_sample",
        {
            "stg_gpu_sample": filled(
                """
                gpu_uuid | ts_ns    | engine_ppm | source_file | source_row
                a        | 10:00:00 | 1          | y           | 1
                a        | 10:00:00 | 2          | x           | 9
                a        | 10:00:00 | 3          | x           | 8
                b        | 10:00:05 | 4          | x           | 10
                """,
                period_ns="10s",
            )
        },
        """
        gpu_uuid | sample_no | engine_ppm | start_ns | end_ns
        a        | 1         | 3          | 09:59:50 | 10:00:00
        b        | 1         | 4          | 09:59:55 | 10:00:05
        """,
    )


def test_energy_is_the_counters_difference_where_nothing_is_missing() -> None:
    expect(
        "int_sample",
        {
            "stg_gpu_sample": filled(
                """
                ts_ns    | energy_mj
                10:00:00 | 1000
                10:00:10 | 1500
                10:00:20 | 1500
                10:00:30 | 200
                10:00:40 |
                10:00:50 | 900
                10:02:00 | 5000
                """,
                source_row="1", **SAMPLE,
            )
        },
        # The first, a counter that began anew, a missing one on either side, and a hole.
        """
        sample_no | energy_mj
        1         |
        2         | 500
        3         | 0
        4         |
        5         |
        6         |
        7         |
        """,
    )  # fmt: skip


def test_a_sample_without_a_period_speaks_for_no_time() -> None:
    """A file of a single sample does not say how far apart its samples are."""
    expect(
        "int_sample",
        {
            "stg_gpu_sample": filled(
                """
                gpu_uuid | ts_ns    | period_ns
                a        | 10:00:00 | 0
                b        | 10:00:00 | 10s
                b        | 10:00:05 | 0
                b        | 10:00:20 | 10s
                """,
                source_file="f",
                source_row="1",
            )
        },
        """
        gpu_uuid | start_ns | end_ns
        b        | 09:59:50 | 10:00:00
        b        | 10:00:05 | 10:00:20
        """,
    )


# --- int_activity_run -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "pcie", "nvlink", "activity"),
    [
        ("0", "0", "0", "quiet"),
        ("10000", f"{50 * MIB - 1}", f"{MIB - 1}", "quiet"),
        ("10001", "0", "0", "active"),
        ("1000000", "", "", "active"),
        ("0", f"{50 * MIB}", "0", "busy_link"),
        ("0", "0", f"{MIB}", "busy_link"),
        ("0", "", "0", "busy_link"),
        ("0", "0", "", "busy_link"),
        ("", "0", "0", None),
        ("", f"{99 * MIB}", "0", None),
    ],
)
def test_quiet_needs_all_three_readings_and_no_engine_reading_is_no_observation(
    engine: str, pcie: str, nvlink: str, activity: str | None
) -> None:
    expect(
        "int_activity_run",
        {
            "int_sample": f"""
            gpu_uuid | start_ns | end_ns   | engine_ppm | pcie_bytes_s | nvlink_bytes_s
            a        | 10:00    | 10:00:10 | {engine}   | {pcie}       | {nvlink}
            """
        },
        "activity\n" + (f"{activity}\n" if activity else ""),
    )


def test_a_hole_a_null_and_a_change_end_a_run() -> None:
    expect(
        "int_activity_run",
        {
            "int_sample": filled(
                """
                gpu_uuid | start_ns | end_ns   | engine_ppm | fb_used_bytes
                a        | 10:00:00 | 10:00:10 | 0          | 9
                a        | 10:00:10 | 10:00:20 | 10000      | 5
                a        | 10:00:30 | 10:00:40 | 0          |
                a        | 10:00:40 | 10:00:50 |            | 1
                a        | 10:00:50 | 10:01:00 | 0          | 7
                a        | 10:01:00 | 10:01:10 | 500000     | 7
                b        | 10:01:10 | 10:01:20 | 500000     | 7
                """,
                pcie_bytes_s="0", nvlink_bytes_s="0",
            )
        },
        """
        run_id | gpu_uuid | activity | start_ns | end_ns   | sample_count | min_fb_used_bytes
        1      | a        | quiet    | 10:00:00 | 10:00:20 | 2            | 5
        2      | a        | quiet    | 10:00:30 | 10:00:40 | 1            |
        3      | a        | quiet    | 10:00:50 | 10:01:00 | 1            | 7
        4      | a        | active   | 10:01:00 | 10:01:10 | 1            | 7
        5      | b        | active   | 10:01:10 | 10:01:20 | 1            | 7
        """,
    )  # fmt: skip


def test_a_null_link_reading_ends_a_quiet_run() -> None:
    expect(
        "int_activity_run",
        {
            "int_sample": filled(
                """
                start_ns | end_ns   | pcie_bytes_s
                10:00:00 | 10:00:10 | 0
                10:00:10 | 10:00:20 |
                10:00:20 | 10:00:30 | 0
                """,
                gpu_uuid="a", engine_ppm="0", nvlink_bytes_s="0",
            )
        },
        """
        activity  | start_ns | end_ns
        quiet     | 10:00:00 | 10:00:10
        busy_link | 10:00:10 | 10:00:20
        quiet     | 10:00:20 | 10:00:30
        """,
    )  # fmt: skip


# --- int_hold_run ---------------------------------------------------------------------------------


def test_runs_are_cut_to_the_hold_and_found_across_hours() -> None:
    expect(
        "int_hold_run",
        {
            "int_hold": """
            hold_id | gpu_uuid | start_ns | end_ns
            1       | a        | 10:30    | 11:00
            2       | a        | 11:00    | 14:00
            3       | b        | 10:00    | 11:00
            """,
            "int_activity_run": filled(
                """
                run_id | start_ns | end_ns
                1      | 10:00    | 10:30
                2      | 10:50    | 13:10
                3      | 13:59:59 | 14:01
                """,
                gpu_uuid="a", activity="quiet",
            ),
        },
        """
        hold_id | run_id | start_ns | end_ns
        1       | 2      | 10:50    | 11:00
        2       | 2      | 11:00    | 13:10
        2       | 3      | 13:59:59 | 14:00
        """,
    )  # fmt: skip


# --- int_idle_run ---------------------------------------------------------------------------------


def idle(
    end: str, *, activity: str = "quiet", fb: str = "0", hold: str = "", fact: str = ""
) -> dict[str, Rows]:
    """One run from 10:00:00 to `end` inside a hold."""
    run = f"{activity} | 10:00:00 | {end} | {fb}"
    return {
        "int_hold_run": filled(
            f"activity | start_ns | end_ns | min_fb_used_bytes\n{run}\n",
            hold_id="1", run_id="1", gpu_uuid="a",
        ),
        "int_hold": filled(
            f"is_suspended | is_interactive\n{hold or 'false | false'}\n", hold_id="1"
        ),
        "int_hold_fact": filled(f"has_log | last_step_ns\n{fact or 'false |'}\n", hold_id="1"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("end", "activity", "rows"),
    [
        ("10:05:00", "quiet", "10:00:00 | 10:05:00\n"),
        ("10:04:59.999999999", "quiet", ""),
        ("12:00:00", "active", ""),
        ("12:00:00", "busy_link", ""),
    ],
)
def test_a_quiet_run_is_idle_from_the_idle_time_on(end: str, activity: str, rows: str) -> None:
    expect("int_idle_run", idle(end, activity=activity), f"start_ns | end_ns\n{rows}")


def test_the_idle_time_is_a_setting() -> None:
    tables = idle("10:00:05")
    expect("int_idle_run", tables, "idle_id\n1\n", settings={"idle_after_ns": "5s"})
    expect("int_idle_run", tables, "idle_id\n", settings={"idle_after_ns": "5000000001"})


@pytest.mark.parametrize(
    ("hold", "fact", "fb", "sub"),
    [
        ("true | true", "true | 10:00:00", "99_999_999_999", "suspended"),
        ("false | true", "true | 10:00:00", "99_999_999_999", "tail"),
        ("false | true", "true | 10:00:01", "99_999_999_999", "interactive"),
        ("false | false", "true | 10:00:01", f"{1 << 30}", "memory_held"),
        ("false | false", "true | 10:00:01", f"{(1 << 30) - 1}", ""),
        ("false | false", "false |", "", ""),
    ],
)
def test_the_kind_of_an_idle_run(hold: str, fact: str, fb: str, sub: str) -> None:
    expect(
        "int_idle_run", idle("11:00:00", hold=hold, fact=fact, fb=fb), f"idle_id | sub\n1 | {sub}"
    )


# --- int_activity ---------------------------------------------------------------------------------


def test_readings_weigh_by_the_time_that_they_cover_by_hour_step_and_window() -> None:
    expect(
        "int_activity",
        {
            "int_hold": "hold_id | gpu_uuid | start_ns | end_ns\n1 | a | 10:59:50 | 11:00:30\n",
            "int_sample": """
            gpu_uuid | sample_no | start_ns | end_ns   | engine_ppm | sm_ppm
            a        | 1         | 10:59:40 | 10:59:55 | 500000     | 1
            a        | 2         | 10:59:55 | 11:00:05 | 1000000    |
            a        | 3         | 11:00:05 | 11:00:20 |            | 7
            """,
            "int_step": "hold_id | start_ns | end_ns\n1 | 11:00:00 | 11:00:10\n",
            "int_hold_fact": filled(
                "has_log | first_step_ns | last_step_ns\ntrue | 11:00:00 | 11:00:15\n", hold_id="1"
            ),
            "int_labelled": filled(
                """
                bucket        | start_ns | end_ns
                in_step       | 11:00:00 | 11:00:08
                between_steps | 11:00:10 | 11:00:20
                """,
                hold_id="1", bundle_id="4",
            ),
        },
        """
        bundle_id | is_step | is_window | total_ns | observed_ns | engine_sum       | sm_ns
        0         | false   | false     | 10s      | 10s         | 7500000000000000 | 5s
        0         | false   | false     | 15s      | 0           | 0                | 5s
        0         | false   | true      | 5s       | 0           | 0                | 5s
        0         | true    | true      | 2s       | 0           | 0                | 2s
        4         | true    | true      | 8s       | 5s          | 5000000000000000 | 3s
        """,
    )  # fmt: skip


def test_energy_of_a_sample_is_parted_by_time() -> None:
    expect(
        "int_activity",
        {
            "int_hold": "hold_id | gpu_uuid | start_ns | end_ns\n1 | a | 10:00:05 | 10:00:20\n",
            "int_sample": """
            gpu_uuid | sample_no | start_ns | end_ns   | energy_mj
            a        | 1         | 10:00:00 | 10:00:10 | 1000
            a        | 2         | 10:00:10 | 10:00:20 |
            """,
        },
        "total_ns | energy_ns | energy_mj | sample_count\n15s | 5s | 500 | 2\n",
    )
