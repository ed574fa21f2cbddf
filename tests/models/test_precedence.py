"""One bucket for each instant: the sweep, the precedence, the exceptions; in_step by counters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.models.harness import expect, failed_checks, filled, run_model

#: Flags of int_elementary, all false; a bare piece of a GPU of a bundle.
FLAGS = (
    "is_down", "is_soft", "is_provider_fault", "is_maintenance", "is_boot", "is_covered", "is_seen",
    "is_never_touched", "has_log", "is_after_steps", "is_startup", "is_excess", "is_lost",
    "is_lost_high", "is_save", "is_step", "has_maintenance", "has_reserve", "is_exempt",
    "is_disputed",
)  # fmt: skip
START, END = "10:00", "10:30"


def label(*flags: str, hold: int = 1, idle: int = 0) -> dict[str, Any]:
    """int_labelled's row for one paid piece with these flags."""
    assert set(flags) <= set(FLAGS)
    piece = {
        "gpu_uuid": "a", "bundle_id": 1, "start_ns": START, "end_ns": END, "hour_id": 10,
        "hold_id": hold, "idle_id": idle, **{flag: flag in flags for flag in FLAGS},
    }  # fmt: skip
    placed = f"gpu_uuid | start_ns | end_ns | paid_until_ns | is_placed\na|{START}|{END}|{END}|true"
    rows = run_model("int_labelled", {"int_elementary": [piece], "int_placement": placed})
    return rows[0]


# --- int_labelled: first match wins ---------------------------------------------------------------

#: What proves each bucket of a held GPU, in the order of the waste model.
HELD: dict[str, tuple[tuple[str, ...], int]] = {
    "unusable": (("is_down",), 0),
    "lost_work": (("is_lost",), 0),
    "never_touched": (("is_never_touched", "is_seen"), 0),
    "startup_excess": (("is_excess", "is_startup", "has_log"), 0),
    "startup": (("is_startup", "has_log"), 0),
    "idle_held": (("is_seen",), 5),
    "recovery_checkpoint": (("is_save",), 0),
    "in_step": (("is_step", "has_log"), 0),
    "not_observed": (("has_log",), 0),
}


@pytest.mark.parametrize("bucket", HELD)
def test_each_proof_alone_gives_its_bucket(bucket: str) -> None:
    flags, idle = HELD[bucket]
    assert label(*flags, idle=idle)["bucket"] == bucket


@pytest.mark.parametrize(("first", "second"), list(pairwise(HELD)))
def test_of_two_neighbours_the_first_wins(first: str, second: str) -> None:
    (flags, idle), (more, more_idle) = HELD[first], HELD[second]
    assert label(*{*flags, *more}, idle=idle or more_idle)["bucket"] == first


def test_with_every_proof_at_once_the_order_holds() -> None:
    left = list(HELD)
    while left:
        flags = {flag for bucket in left for flag in HELD[bucket][0]}
        idle = 5 if "idle_held" in left else 0
        if left[0] == "not_observed":
            assert label(*flags, "is_seen")["bucket"] == "between_steps"
            flags.discard("is_seen")
        assert label(*flags, idle=idle)["bucket"] == left[0]
        left.pop(0)


@pytest.mark.parametrize(
    ("flags", "bucket"),
    [
        (("is_seen", "has_log"), "between_steps"),
        (("is_seen",), "in_step"),
        (("has_log",), "not_observed"),
        ((), "not_observed"),
        # Startup without a log rests on samples: where there is none, nothing is known.
        (("is_startup",), "not_observed"),
        (("is_startup", "is_seen"), "startup"),
        (("is_startup", "has_log"), "startup"),
        # With a log, steps, startup and saves stand though no sample does.
        (("has_log", "is_step"), "in_step"),
        (("is_save",), "recovery_checkpoint"),
    ],
)
def test_what_is_left_of_held_time(flags: tuple[str, ...], bucket: str) -> None:
    assert label(*flags)["bucket"] == bucket


@pytest.mark.parametrize(
    ("flags", "bucket"),
    [
        (("is_covered",), "unallocated"),
        (("is_covered", "is_seen"), "unallocated"),
        (("is_seen",), "not_observed"),
        (("is_covered", "is_soft"), "unusable"),
        # Without the scheduler nothing says that no job held the drained GPU.
        (("is_soft",), "not_observed"),
        (("is_down",), "unusable"),
        (("is_down", "is_covered", "is_seen"), "unusable"),
    ],
)
def test_time_that_no_job_holds(flags: tuple[str, ...], bucket: str) -> None:
    row = label(*flags, hold=0)
    assert (row["bucket"], row["hold_id"]) == (bucket, 0)


def test_a_drain_counts_only_while_no_job_holds_the_gpu() -> None:
    assert label("is_soft", "is_seen", "has_log", "is_step")["bucket"] == "in_step"
    assert label("is_soft", "is_down", "is_step")["bucket"] == "unusable"


@pytest.mark.parametrize(
    ("flags", "sub"),
    [
        (("is_provider_fault", "is_maintenance", "is_boot"), "provider_fault"),
        (("is_maintenance", "is_boot"), "own_maintenance"),
        (("is_boot",), "boot"),
        ((), None),
    ],
)
def test_the_kind_of_an_unusable_time(flags: tuple[str, ...], sub: str | None) -> None:
    assert label("is_down", *flags, hold=0)["event_sub"] == sub


#: A piece of each bucket, and which exceptions make it policy.
POLICY: list[tuple[str, tuple[str, ...], int, int, set[str]]] = [
    ("unusable", ("is_down",), 0, 0, {"has_maintenance", "has_reserve"}),
    # A reserve is of what nobody holds.
    ("unusable", ("is_down",), 1, 0, {"has_maintenance"}),
    ("unallocated", ("is_covered",), 0, 0, {"has_maintenance", "has_reserve"}),
    ("not_observed", ("is_seen",), 0, 0, set()),
    ("lost_work", ("is_lost",), 1, 0, {"has_maintenance", "is_disputed"}),
    ("never_touched", ("is_never_touched",), 1, 0, {"has_maintenance", "is_exempt", "is_disputed"}),
    ("startup_excess", ("is_excess",), 1, 0, {"has_maintenance", "is_disputed"}),
    ("startup", ("is_startup", "has_log"), 1, 0, set()),
    ("idle_held", ("is_seen",), 1, 5, {"has_maintenance", "is_exempt", "is_disputed"}),
    ("recovery_checkpoint", ("is_save",), 1, 0, set()),
    ("in_step", ("is_step",), 1, 0, set()),
    ("between_steps", ("is_seen", "has_log"), 1, 0, set()),
]


@pytest.mark.parametrize(("bucket", "flags", "hold", "idle", "by"), POLICY)
def test_a_dated_exception_makes_only_its_own_buckets_policy(
    bucket: str, flags: tuple[str, ...], hold: int, idle: int, by: set[str]
) -> None:
    for exception in ("has_maintenance", "has_reserve", "is_exempt", "is_disputed"):
        row = label(*flags, exception, hold=hold, idle=idle)
        assert (row["bucket"], row["is_policy"]) == (bucket, exception in by)
    assert label(*flags, hold=hold, idle=idle)["is_policy"] is False


def test_a_reserve_shows_on_unallocated_time_only() -> None:
    assert label("is_covered", "has_reserve", "has_maintenance", hold=0)["is_reserve"] is True
    assert label("is_down", "has_reserve", "has_maintenance", hold=0)["is_reserve"] is False
    assert label("is_covered", "has_maintenance", hold=0)["is_reserve"] is False


def test_the_high_bound_of_lost_work_leaves_out_what_is_lost_or_unusable_anyway() -> None:
    assert label("is_lost_high", "is_step")["is_lost_high"] is True
    assert label("is_lost_high", "is_lost", "is_step")["is_lost_high"] is False
    assert label("is_lost_high", "is_down", "is_step")["is_lost_high"] is False


def test_only_the_paid_part_of_placed_time_has_a_bucket() -> None:
    expect(
        "int_labelled",
        {
            "int_elementary": filled(
                """
                start_ns | end_ns
                10:00    | 10:30
                10:30    | 11:00
                11:00    | 11:30
                """,
                gpu_uuid="a", hold_id="0", idle_id="0", is_covered="true", is_down="false",
                is_soft="false",
            ),
            "int_placement": """
            gpu_uuid | start_ns | paid_until_ns | is_placed
            a        | 10:00    | 10:20         | true
            a        | 10:30    | 10:30         | true
            a        | 11:00    | 11:30         | false
            """,
        },
        "start_ns | end_ns | bucket\n10:00 | 10:20 | unallocated\n",
    )  # fmt: skip


# --- int_interval and int_elementary --------------------------------------------------------------

GPU = filled("start_ns | end_ns\n10:00 | 12:00\n", bundle_id="1", gpu_uuid="a", cluster="c1",
             node="n1")  # fmt: skip


def kinds(**tables: Any) -> set[tuple[str, str, str]]:
    """Intervals of one GPU in one bundle from 10:00 to 12:00, but for the bundle and the hours."""
    rows = run_model("int_interval", {"int_bundle_gpu": GPU, **tables})
    return {
        (row["kind"], clock(row["start_ns"]), clock(row["end_ns"]))
        for row in rows
        if row["kind"] not in ("bundle", "hour")
    }


def clock(ns: int) -> str:
    """Hour and minute of the test day."""
    minutes = (ns - 1_793_491_200 * 10**9) // (60 * 10**9)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def test_events_of_the_node_or_of_the_gpu_count_and_others_do_not() -> None:
    events = filled(
        """
        cluster | node | gpu_uuid | start_ns | end_ns | is_hard | sub
        c1      | n1   |          | 09:00    | 10:10  | true    | provider_fault
        c1      | n1   | a        | 10:20    | 10:30  | true    |
        c1      | n1   |          | 11:50    | 13:00  | false   | boot
        c1      | n1   | b        | 10:40    | 10:50  | true    |
        c1      | n2   |          | 10:40    | 10:50  | true    |
        c2      | n1   |          | 10:40    | 10:50  | true    |
        c1      | n1   |          | 12:00    | 13:00  | true    |
        c1      | n1   |          | 11:00    | 11:00  | true    |
        """
    )
    assert kinds(stg_node_event=events) == {
        ("down", "10:00", "10:10"), ("provider_fault", "10:00", "10:10"),
        ("down", "10:20", "10:30"), ("soft", "11:50", "12:00"), ("boot", "11:50", "12:00"),
    }  # fmt: skip


def test_the_scheduler_covers_what_was_read_of_it_and_rejects_blind_it() -> None:
    coverage = filled(
        """
        source     | cluster | node | start_ns | end_ns | is_cut
        scheduler  | c1      |      | 09:00    | 11:00  | false
        scheduler  |         |      | 11:30    | 13:00  | false
        scheduler  | c1      | n1   | 11:10    | 11:20  | false
        scheduler  | c1      | n2   | 11:00    | 12:00  | false
        scheduler  | c2      |      | 11:00    | 12:00  | false
        telemetry  | c1      |      | 11:00    | 12:00  | false
        node_event | c1      |      | 11:00    | 12:00  | true
        scheduler  | c1      | n1   | 10:10    | 10:20  | true
        scheduler  |         |      | 11:40    | 11:50  | true
        scheduler  | c1      | n2   | 10:30    | 10:40  | true
        """
    )
    blind = filled(
        """
        cluster | node | start_ns | end_ns
        c1      | n1   | 10:40    | 10:50
        c1      |      | 10:55    | 10:57
        c1      | n2   | 10:50    | 10:55
        c2      |      | 10:50    | 10:55
        """
    )
    assert kinds(stg_source_coverage=coverage, int_blind_node=blind) == {
        ("covered", "10:00", "11:00"), ("covered", "11:30", "12:00"), ("covered", "11:10", "11:20"),
        ("blind", "10:10", "10:20"), ("blind", "11:40", "11:50"), ("blind", "10:40", "10:50"),
        ("blind", "10:55", "10:57"),
    }  # fmt: skip


def test_policy_windows_meet_their_cluster_node_account_and_job() -> None:
    hold = filled(
        "start_ns | end_ns\n10:30 | 11:30\n", hold_id="1", gpu_uuid="a", cluster="c1", node="n1",
        account="nlp", job_id="17", attempt="0",
    )  # fmt: skip
    windows = filled(
        """
        kind        | cluster | node | account | job_id | start_ns | end_ns
        maintenance |         |      |         |        | 09:00    | 10:10
        reserve     | c1      | n1   |         |        | 10:10    | 10:20
        maintenance | c1      | n2   |         |        | 10:20    | 10:30
        reserve     | c2      |      |         |        | 10:20    | 10:30
        exempt_idle |         |      | nlp     |        | 10:00    | 11:00
        exempt_idle |         |      |         | 17     | 11:00    | 11:10
        dispute     | c1      | n1   | nlp     | 17     | 11:10    | 12:00
        exempt_idle |         |      | vision  |        | 11:20    | 11:30
        dispute     |         |      |         | 18     | 10:40    | 10:50
        dispute     |         | n2   |         |        | 10:40    | 10:50
        """
    )
    found = kinds(int_hold=hold, stg_policy_window=windows)
    assert found - {("hold", "10:30", "11:30")} == {
        ("maintenance", "10:00", "10:10"), ("reserve", "10:10", "10:20"),
        ("exempt_idle", "10:30", "11:00"), ("exempt_idle", "11:00", "11:10"),
        ("dispute", "11:10", "11:30"),
    }  # fmt: skip


def test_only_blocking_saves_count_and_lie_in_the_hold_of_their_attempt() -> None:
    hold = filled(
        "start_ns | end_ns\n10:30 | 11:30\n", hold_id="1", gpu_uuid="a", cluster="c1", job_id="1",
        attempt="0",
    )  # fmt: skip
    records = filled(
        """
        cluster | attempt | start_ns | end_ns | is_blocking
        c1      | 0       | 10:00    | 10:40  | true
                | 0       | 11:20    | 12:00  | true
        c1      | 0       | 10:50    | 11:00  | false
        c1      | 1       | 10:50    | 11:00  | true
        c2      | 0       | 10:50    | 11:00  | true
        c1      | 0       | 11:30    | 11:40  | true
        """,
        job_id="1",
    )
    found = kinds(int_hold=hold, stg_checkpoint=records)
    assert found - {("hold", "10:30", "11:30")} == {
        ("save", "10:30", "10:40"), ("save", "11:20", "11:30"),
    }  # fmt: skip


def test_lost_work_never_reaches_before_the_hold() -> None:
    """The restored record can be older than the attempt: others held the GPU since."""
    hold = filled(
        "start_ns | end_ns\n10:30 | 11:30\n", hold_id="1", gpu_uuid="a", cluster="c1", job_id="1",
        attempt="1",
    )  # fmt: skip
    loss = filled(
        "lost_from_ns | high_from_ns\n09:00 | 08:00\n", cluster="c1", job_id="1", attempt="1"
    )
    found = kinds(int_hold=hold, int_interruption=loss)
    assert found - {("hold", "10:30", "11:30")} == {
        ("lost", "10:30", "11:30"), ("lost_high", "10:30", "11:30"),
    }  # fmt: skip


def test_a_fact_of_a_hold_becomes_its_intervals() -> None:
    facts = filled(
        """
        start_ns | end_ns | is_never_touched | has_log | startup_end_ns | excess_from_ns
        10:00    | 11:00  | false            | true    | 10:20          | 10:10
        11:00    | 12:00  | true             | false   | 11:10          |
        """,
        gpu_uuid="a", last_step_ns="10:50",
    )  # fmt: skip
    assert kinds(int_hold_fact=facts) == {
        ("log", "10:00", "11:00"), ("ended", "10:50", "11:00"), ("startup", "10:00", "10:20"),
        ("excess", "10:10", "10:20"), ("never", "11:00", "12:00"), ("startup", "11:00", "11:10"),
    }  # fmt: skip


def test_time_is_cut_at_every_boundary_and_a_hand_over_has_no_gap() -> None:
    expect(
        "int_elementary",
        {
            "int_interval": """
            gpu_uuid | kind   | id | start_ns | end_ns
            a        | bundle | 1  | 10:00    | 11:00
            a        | bundle | 2  | 11:00    | 12:00
            a        | hour   | 10 | 10:00    | 11:00
            a        | hour   | 11 | 11:00    | 12:00
            a        | hold   | 4  | 10:15    | 10:30
            a        | hold   | 9  | 10:30    | 11:15
            a        | seen   | 1  | 10:30    | 10:40
            a        | seen   | 1  | 10:40    | 10:50
            b        | hold   | 5  | 10:00    | 11:00
            """
        },
        """
        gpu_uuid | start_ns | end_ns | bundle_id | hour_id | hold_id | is_seen
        a        | 10:00    | 10:15  | 1         | 10      | 0       | false
        a        | 10:15    | 10:30  | 1         | 10      | 4       | false
        a        | 10:30    | 10:40  | 1         | 10      | 9       | true
        a        | 10:40    | 10:50  | 1         | 10      | 9       | true
        a        | 10:50    | 11:00  | 1         | 10      | 9       | false
        a        | 11:00    | 11:15  | 2         | 11      | 9       | false
        a        | 11:15    | 12:00  | 2         | 11      | 0       | false
        """,
    )


@pytest.mark.parametrize(
    ("kind", "flag"),
    [
        ("down", "is_down"), ("soft", "is_soft"), ("provider_fault", "is_provider_fault"),
        ("own_maintenance", "is_maintenance"), ("boot", "is_boot"), ("covered", "is_covered"),
        ("seen", "is_seen"), ("never", "is_never_touched"), ("log", "has_log"),
        ("ended", "is_after_steps"), ("startup", "is_startup"), ("excess", "is_excess"),
        ("lost", "is_lost"), ("lost_high", "is_lost_high"), ("save", "is_save"),
        ("step", "is_step"), ("maintenance", "has_maintenance"), ("exempt_idle", "is_exempt"),
        ("dispute", "is_disputed"),
    ],
)  # fmt: skip
def test_overlapping_intervals_of_a_kind_hold_to_the_last_end(kind: str, flag: str) -> None:
    rows = run_model(
        "int_elementary",
        {
            "int_interval": f"""
            gpu_uuid | kind   | id | start_ns | end_ns
            a        | bundle | 1  | 10:00    | 11:00
            a        | {kind} | 1  | 10:10    | 10:40
            a        | {kind} | 1  | 10:20    | 10:30
            a        | {kind} | 1  | 10:20    | 10:30
            """
        },
    )
    on = [(clock(r["start_ns"]), clock(r["end_ns"])) for r in rows if r[flag]]
    assert on == [("10:10", "10:20"), ("10:20", "10:30"), ("10:30", "10:40")]
    others = {f for f in FLAGS if f != flag and any(r[f] for r in rows)}
    assert others == set()


def test_a_reject_blinds_coverage_and_a_reserve_is_no_maintenance() -> None:
    expect(
        "int_elementary",
        {
            "int_interval": """
            gpu_uuid | kind    | id | start_ns | end_ns
            a        | bundle  | 1  | 10:00    | 11:00
            a        | covered | 1  | 10:00    | 11:00
            a        | blind   | 1  | 10:10    | 10:20
            a        | reserve | 1  | 10:20    | 11:00
            """
        },
        """
        start_ns | end_ns | is_covered | has_maintenance | has_reserve
        10:00    | 10:10  | true       | false           | false
        10:10    | 10:20  | false      | false           | false
        10:20    | 11:00  | true       | false           | true
        """,
    )


# --- int_in_step_split ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpus", "total", "observed", "engine_sum", "rows"),
    [
        # A quarter of the time without the engine active.
        (1, 100, 100, 75_000_000, "compute | 75\ngap_unknown | 25\n"),
        (2, 100, 100, 75_000_000, "busy_unsplit | 75\ngap_unknown | 25\n"),
        # Without a reading nothing says what the GPU did.
        (1, 100, 0, 0, "step_unsplit | 100\n"),
        (2, 100, 40, 40_000_000, "busy_unsplit | 40\nstep_unsplit | 60\n"),
        (1, 100, 100, 0, "gap_unknown | 100\n"),
        (1, 3, 3, 1_500_000, "compute | 2\ngap_unknown | 1\n"),
        # Readings above 1 make no time.
        (1, 100, 100, 101_000_000, "compute | 100\n"),
        (1, 0, 0, 0, ""),
    ],
)
def test_in_step_time_by_what_the_counters_prove(
    gpus: int, total: int, observed: int, engine_sum: int, rows: str
) -> None:
    expect(
        "int_in_step_split",
        {
            "int_activity": f"""
            hold_id | hour_id | bundle_id | total_ns | observed_ns | engine_sum
            1       | 10      | 4         | {total}  | {observed}  | {engine_sum}
            1       | 10      | 0         | 999      | 999         | 999000000
            """,
            "int_hold": f"hold_id | gpu_count\n1 | {gpus}\n",
        },
        f"bucket | gpu_ns\n{rows}",
    )


def test_parts_of_one_hour_are_summed_before_they_are_rounded() -> None:
    expect(
        "int_in_step_split",
        {
            "int_activity": filled(
                "is_step | total_ns | observed_ns | engine_sum\n"
                "true | 10 | 10 | 2400000\nfalse | 10 | 10 | 2400000\n",
                hold_id="1", hour_id="10", bundle_id="4",
            ),
            "int_hold": "hold_id | gpu_count\n1 | 1\n",
        },
        "bucket | gpu_ns\ncompute | 5\ngap_unknown | 15\n",
    )  # fmt: skip


def test_a_negative_part_fails_the_check() -> None:
    tables = {
        "int_activity": "hold_id | hour_id | bundle_id | total_ns | observed_ns | engine_sum\n"
        "1 | 10 | 4 | 5 | 10 | 0\n",
        "int_hold": "hold_id | gpu_count\n1 | 1\n",
    }
    assert failed_checks("int_in_step_split", tables) == [
        "part_not_negative", "bounds_not_negative",
    ]  # fmt: skip
