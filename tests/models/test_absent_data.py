"""Whole months by hand: what each source's absence means, and that no observation is never idle.

One build for all: every case has a node of its own with one GPU, billed from 10:00 to 12:00.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.models.whole import Whole, whole

DAY = datetime(2026, 11, 1, tzinfo=UTC)
DAY_NS = int(DAY.timestamp()) * 10**9
MINUTE_NS = 60 * 10**9
Tables = dict[str, list[dict[str, Any]]]


def at(text: str) -> datetime:
    """A clock time of the test day."""
    hour, minute = text.split(":")
    return DAY + timedelta(hours=int(hour), minutes=int(minute))


def ns(text: str) -> int:
    """The same in epoch ns."""
    return int(at(text).timestamp()) * 10**9


def case(
    tables: Tables, name: str, *, read: bool = True, inventory: bool = True, hours: str = "2",
    jobs: str = "", steps: str = "", samples: str = "", saves: str = "", events: str = "",
) -> None:  # fmt: skip
    """A node with one GPU. Lists of cells: jobs `id attempt state start end`, samples
    `start end engine`, steps and saves `job attempt number start end` (2r is a restore), events
    `kind start end`."""
    file = {"source_file": name, "source_row": 1}

    def put(table: str, **row: Any) -> None:
        tables[table].append({**file, "source_row": len(tables[table]), **row})

    put(
        "bill_line", line_id=name, source="bill", charge_period_start=at("10:00"),
        charge_period_end=at("12:00"), charge_category="Usage", resource_id=name,
        sku_gpu_count=Decimal(1), quantity_hours=Decimal(hours), billed_usd=Decimal(10),
        effective_usd=Decimal(10), list_basis="absent", bill_team="tag",
    )  # fmt: skip
    if inventory:
        put(
            "gpu_inventory", gpu_uuid=name, resource_id=name, cluster="c1", node=name, gpu_index=0,
            start=at("00:00"),
        )  # fmt: skip
    if read:
        put(
            "source_coverage", source="scheduler", cluster="c1", node=name, start=at("00:00"),
            end=at("23:00"), is_cut=False,
        )  # fmt: skip
    for job, attempt, state, start, end in cells(jobs):
        put(
            "job_attempt", cluster="c1", job_id=job, submit=at("01:00") + timedelta(
                minutes=int(attempt)
            ), start=at(start), end=None if end == "-" else at(end), state=state, account="nlp",
            gpu_count=1, nodes=[name], suspended_us=0, is_interactive=False,
        )  # fmt: skip
    for job, attempt, number, start, end in cells(steps):
        put(
            "train_step", job_id=job, attempt=int(attempt), rank=0, step=int(number),
            start_ns=ns(start), end_ns=ns(end),
        )  # fmt: skip
    for job, attempt, number, start, end in cells(saves):
        put(
            "checkpoint", job_id=job, attempt=int(attempt), step=int(number.rstrip("r")),
            start_ns=ns(start), end_ns=ns(end), blocking=True,
            event="restore" if number.endswith("r") else "save",
        )  # fmt: skip
    for kind, start, end in cells(events):
        put("node_event", cluster="c1", node=name, start=at(start), end=at(end), kind=kind)
    for start, end, engine in cells(samples):
        time = at(start)
        while time < at(end):
            time += timedelta(minutes=1)
            put(
                "gpu_sample", gpu_uuid=name, ts=time, period_us=60_000_000, invalid_mask=0,
                engine_active_ratio=None if engine == "-" else float(engine), pcie_tx_bytes_s=0,
                pcie_rx_bytes_s=0, nvlink_tx_bytes_s=0, nvlink_rx_bytes_s=0,
            )  # fmt: skip


def cells(text: str) -> Iterator[list[str]]:
    """Cells of `a b c; d e f`."""
    yield from (part.split() for part in text.split(";") if part.strip())


#: name: what there is (arguments of `case`), and the minutes of each bucket.
CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    # No job: the scheduler says so, or nobody does, or only a sample shows the GPU.
    "free": ({}, {"unallocated": 120}),
    "free-and-seen": ({"samples": "10:00 12:00 0"}, {"unallocated": 120}),
    "unread-and-seen": (
        {"read": False, "samples": "10:00 11:00 0.5"},
        {"not_observed": 60, "billed_not_seen": 60},
    ),
    "unread": ({"read": False}, {"billed_not_seen": 120}),
    "unknown-gpu": ({"inventory": False}, {"billed_not_seen": 120}),
    # A job without telemetry: nothing at all, or steps and saves of its own.
    "dark-job": ({"jobs": "1 0 COMPLETED 10:00 12:00"}, {"not_observed": 120}),
    "dark-job-unread": (
        {"read": False, "jobs": "14 0 COMPLETED 10:00 11:00"},
        {"not_observed": 60, "billed_not_seen": 60},
    ),
    "steps-only": (
        {
            "jobs": "2 0 COMPLETED 10:00 12:00",
            "steps": "2 0 1 10:05 10:15; 2 0 2 10:20 10:30",
            "saves": "2 0 1 10:30 10:34",
        },
        {"startup": 5, "step_unsplit": 20, "recovery_checkpoint": 4, "not_observed": 91},
    ),
    # No observation is never idle: a null engine, a hole, a GPU that answers half.
    "null-engine": (
        {"jobs": "3 0 COMPLETED 10:00 12:00", "samples": "10:00 12:00 -"},
        {"not_observed": 120},
    ),
    "hole": (
        {
            "jobs": "4 0 COMPLETED 10:00 12:00",
            "samples": "10:00 10:20 0.5; 10:20 10:24 0; 10:40 10:44 0; 10:44 12:00 0.5",
        },
        {"compute": 48, "gap_unknown": 56, "not_observed": 16},
    ),
    "never-touched": (
        {"jobs": "5 0 COMPLETED 10:00 12:00", "samples": "10:00 12:00 0"},
        {"never_touched": 120},
    ),
    # It runs still: the whole attempt is not known. Startup within the allowance, then idle.
    "running": (
        {"jobs": "6 0 RUNNING 10:00 -", "samples": "10:00 12:00 0"},
        {"startup": 10, "idle_held": 110},
    ),
    "idle": (
        {
            "jobs": "7 0 COMPLETED 10:00 12:00",
            "samples": "10:00 10:10 1; 10:10 10:20 0; 10:20 11:20 1; 11:20 11:24 0; 11:24 12:00 1",
        },
        {"compute": 106, "idle_held": 10, "gap_unknown": 4},
    ),
    # Rule 3: down counts while a job holds the GPU, a drain only while none does.
    "down": (
        {"jobs": "8 0 COMPLETED 10:00 11:00", "events": "down 10:30 11:30"},
        {"not_observed": 30, "unusable": 60, "unallocated": 30},
    ),
    "drain": (
        {"jobs": "9 0 COMPLETED 10:00 11:00", "events": "drain 10:30 11:30"},
        {"not_observed": 60, "unusable": 30, "unallocated": 30},
    ),
    "excess": (
        {
            "jobs": "10 0 COMPLETED 10:00 12:00", "samples": "10:00 12:00 1",
            "steps": "10 0 1 10:40 12:00",
        },
        {"startup": 10, "startup_excess": 30, "compute": 80},
    ),
    # Billed time beyond the charge period's is not seen; what it lacks is taken from free time.
    "billed-more": ({"hours": "3"}, {"unallocated": 120, "billed_not_seen": 60}),
    "billed-less": (
        {"hours": "0.5", "jobs": "11 0 COMPLETED 11:50 12:00"},
        {"unallocated": 20, "not_observed": 10},
    ),
    # A failed attempt that a later one resumed; between them another job had the GPU.
    "lost": (
        {
            "jobs": "12 0 NODE_FAIL 10:00 10:30; 13 0 COMPLETED 10:30 11:00;"
            "12 1 NODE_FAIL 11:00 11:30; 12 2 COMPLETED 11:30 12:00",
            "steps": "12 0 1 10:00 10:10; 12 0 2 10:10 10:20; 12 0 3 10:20 10:30;"
            "12 2 3 11:30 12:00",
            "saves": "12 0 2 10:20 10:21; 12 1 2r 11:00 11:01; 12 2 2r 11:30 11:31",
        },
        {"step_unsplit": 49, "lost_work": 40, "not_observed": 30, "recovery_checkpoint": 1},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def built() -> Iterator[Whole]:
    names = (
        "bill_line", "gpu_inventory", "source_coverage", "job_attempt", "train_step", "checkpoint",
        "node_event", "gpu_sample", "team_map",
    )  # fmt: skip
    tables: Tables = {name: [] for name in names}
    for kind, key, team in (("account", "nlp", "language"), ("bill_tag", "tag", "payers")):
        tables["team_map"].append(
            {
                "kind": kind, "key": key, "team": team, "valid_from": at("00:00"),
                "source_file": "teams", "source_row": len(tables["team_map"]),
            }
        )  # fmt: skip
    for name, (given, _) in CASES.items():
        case(tables, name, **given)
    with whole(tables, (DAY_NS, DAY_NS + 24 * 60 * MINUTE_NS)) as month:
        yield month


@pytest.mark.parametrize("name", CASES)
def test_each_case_has_its_buckets(built: Whole, name: str) -> None:
    rows = built.rows(
        "select bucket, sum(gpu_ns) as gpu_ns, sum(billed_usd) as usd from gpu_hour_state "
        f"where resource_id = '{name}' group by bucket"
    )
    assert {row["bucket"]: int(row["gpu_ns"]) / MINUTE_NS for row in rows} == CASES[name][1]
    assert sum(row["usd"] for row in rows) == 10


def test_every_check_passes(built: Whole) -> None:
    assert built.failed() == []


def test_payer_and_cause_follow_who_held_the_time_and_what_is_missing(built: Whole) -> None:
    rows = built.rows(
        "select distinct resource_id, bucket, cause, payer_team as team from gpu_hour_state "
        "where bucket in ('not_observed', 'billed_not_seen', 'unallocated') and resource_id in "
        "('free', 'unread-and-seen', 'unread', 'dark-job', 'dark-job-unread')"
    )
    assert {(r["resource_id"], r["bucket"], r["cause"], r["team"]) for r in rows} == {
        ("free", "unallocated", "platform", "platform"),
        ("unread-and-seen", "not_observed", "scheduler_missing", "payers"),
        ("unread-and-seen", "billed_not_seen", "unknown", "payers"),
        ("unread", "billed_not_seen", "unknown", "payers"),
        ("dark-job", "not_observed", "telemetry", "language"),
        ("dark-job-unread", "not_observed", "telemetry", "language"),
        ("dark-job-unread", "billed_not_seen", "unknown", "payers"),
    }


def test_what_the_bill_does_not_pay_stands_apart_without_dollars(built: Whole) -> None:
    rows = built.rows(
        "select resource_id, sum(gpu_ns) as gpu_ns from seen_not_billed group by resource_id"
    )
    assert {row["resource_id"]: int(row["gpu_ns"]) / MINUTE_NS for row in rows} == {
        "billed-less": 90
    }


def test_only_the_failed_attempts_own_time_is_lost(built: Whole) -> None:
    rows = built.rows(
        "select job_id, attempt, sum(gpu_ns) as gpu_ns from gpu_hour_state "
        "where bucket = 'lost_work' group by job_id, attempt"
    )
    assert {(r["job_id"], r["attempt"], int(r["gpu_ns"]) / MINUTE_NS) for r in rows} == {
        ("12", 0, 10), ("12", 1, 30),
    }  # fmt: skip
