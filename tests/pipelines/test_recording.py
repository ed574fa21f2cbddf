"""The recorded example from its files to the marts, against an independent reading of the files."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from ingest.rows import time_of_ns
from pipelines.config import Config
from pipelines.run import Outcome, open_store, run
from tests.models.whole import whole
from tests.oracle import ladder as oracle
from tests.pipelines.published import NS, Published, quiet, snapshot
from warehouse.contracts import LANDING


def test_every_line_reconciles_to_the_last_digit(
    recorded: tuple[Published, Outcome, Config],
) -> None:
    published, outcome, _ = recorded
    lines = published.rows("select * from recon_invoice")
    assert len(lines) > 6
    for line in lines:
        assert line["difference_usd"] == 0
        assert line["effective_difference_usd"] == 0
        assert line["billed_gpu_ns"] == line["partitioned_gpu_ns"]
    assert {line["charge_category"] for line in lines} >= {"Usage", "Tax", "Credit"}
    assert outcome.landed.rejects == 0


def test_the_ladder_is_what_the_raw_files_say(
    recorded: tuple[Published, Outcome, Config], truth: oracle.Recording
) -> None:
    published, _, _ = recorded
    found = {
        (row["job_id"], row["attempt"], row["rank"], row["scope"]): row
        for row in published.rows("select * from efficiency_ladder where job_id is not null")
    }
    expected = oracle.ladder(truth)
    compared = 0
    for (job_id, attempt, rank, scope), rung in expected.items():
        one = (job_id, attempt, 1, scope) not in expected
        row = found[job_id, attempt, None if one else rank, scope]
        assert row["total_ns"] == rung.total_ns
        for name, ratio in rung.ratios.items():
            assert row[name] == pytest.approx(ratio, abs=2e-6), (job_id, rank, scope, name)
            compared += 1
        if rung.mfu_ratio is not None:
            assert row["mfu_ratio"] == pytest.approx(rung.mfu_ratio, rel=1e-9)
    assert compared > 200
    per_attempt = [key for key in found if key[2] is None]
    assert len(per_attempt) == len({(job, attempt) for job, attempt, _, _ in found}) * 3


def test_mfu_of_1001_between_first_and_last_step(
    recorded: tuple[Published, Outcome, Config],
) -> None:
    rows = recorded[0].rows(
        """
        select mfu_ratio from efficiency_ladder
        where job_id = '1001' and scope = 'first_to_last_step' and rank is null
        """
    )
    assert rows[0]["mfu_ratio"] == pytest.approx(0.571, abs=0.005)


def test_level_1_seconds_are_what_the_raw_files_say(
    recorded: tuple[Published, Outcome, Config], truth: oracle.Recording
) -> None:
    published, _, _ = recorded
    found = {
        (row["job_id"], row["attempt"], row["rank"], row["level1"]): row["ns"]
        for row in published.rows(
            """
            with gpu as (
                select distinct job_id, attempt, gpu_uuid from gpu_hour_state
                where job_id is not null
            ),
            ranked as (
                select gpu.*, row_number() over (
                    partition by job_id, attempt order by inventory.gpu_index
                ) - 1 as rank
                from gpu inner join gpu_inventory as inventory using (gpu_uuid)
            )
            select state.job_id, state.attempt, ranked.rank, state.level1, sum(gpu_ns) as ns
            from gpu_hour_state as state
            inner join ranked using (job_id, attempt, gpu_uuid)
            group by all
            """
        )
    }
    for (job_id, attempt, rank), buckets in oracle.level1(truth).items():
        for bucket, ns in buckets.items():
            assert found.get((job_id, attempt, rank, bucket), 0) == pytest.approx(
                ns, abs=2_000_000
            ), (job_id, attempt, rank, bucket)


def test_nobodys_time_is_unallocated(
    recorded: tuple[Published, Outcome, Config], truth: oracle.Recording
) -> None:
    found = {
        row["gpu_uuid"]: row["ns"]
        for row in recorded[0].rows(
            """
            select gpu_uuid, sum(gpu_ns) as ns from gpu_hour_state
            where bucket = 'unallocated' and payer_team = 'platform' group by gpu_uuid
            """
        )
    }
    expected = sorted(oracle.unallocated(truth).values())
    # The bill's six decimals pay up to 1.8 ms of an hour less or more than the whole seconds.
    assert sorted(found.values()) == pytest.approx(expected, abs=2_000_000)


def test_lost_work_of_1010(recorded: tuple[Published, Outcome, Config]) -> None:
    published, _, _ = recorded
    first = published.seconds("1010")
    assert first["lost_work"] == pytest.approx(1.133, abs=0.001)
    assert first["recovery_checkpoint"] == pytest.approx(1.885 + 2.454, abs=0.05)
    second = published.seconds("1010", attempt=1)
    assert second["recovery_checkpoint"] > 17
    [row] = published.rows("select * from interruptions")
    assert (row["job_id"], row["attempt"], row["restored_step"]) == ("1010", 0, 40)
    assert row["lost_gpu_ns"] == pytest.approx(1.133 * NS, abs=NS // 1000)
    assert row["lost_usd"] > 0
    assert row["interrupted_at"].microsecond == 0


def test_two_teams_on_one_host_stay_apart(recorded: tuple[Published, Outcome, Config]) -> None:
    rows = recorded[0].rows(
        """
        select job_id, payer_team, count(distinct gpu_uuid) as gpus, min(gpu_uuid) as gpu
        from gpu_hour_state where job_id in ('2004', '2005') group by all order by job_id
        """
    )
    assert [(r["job_id"], r["payer_team"], r["gpus"]) for r in rows] == [
        ("2004", "foundation", 1), ("2005", "research", 1),
    ]  # fmt: skip
    assert rows[0]["gpu"] != rows[1]["gpu"]


def test_the_busy_looking_gpu_is_the_one_that_waits(
    recorded: tuple[Published, Outcome, Config],
) -> None:
    ranks = recorded[0].rows(
        """
        select rank, gpu_util_ratio, sm_active_ratio from efficiency_ladder
        where job_id = '2002' and scope = 'in_steps' and rank is not null order by rank
        """
    )
    assert ranks[0]["gpu_util_ratio"] == pytest.approx(0.956, abs=0.01)
    assert ranks[1]["gpu_util_ratio"] == pytest.approx(0.226, abs=0.01)


def test_dollars_of_every_table_are_the_invoice(
    recorded: tuple[Published, Outcome, Config],
) -> None:
    published, _, _ = recorded
    [row] = published.rows(
        """
        select
            (select sum(billed_usd) from bill_line) as bill,
            (select sum(billed_usd) from waste_team_month) as waste,
            (select sum(billed_usd) from showback_team_month) as showback,
            (select sum(billed_usd) from gpu_hour_state) as state,
            (select sum(effective_usd) from bill_line) as effective,
            (select sum(effective_usd) from waste_team_month) as waste_effective
        """
    )
    assert row["bill"] == row["waste"] == row["showback"] == row["state"]
    assert row["effective"] == row["waste_effective"]
    assert isinstance(row["bill"], Decimal)


def test_a_second_run_reads_nothing_and_changes_no_byte(
    recorded: tuple[Published, Outcome, Config],
) -> None:
    _, first, config = recorded
    before = snapshot(config.root)
    again = run(config, progress=quiet)
    assert again.landed.read == []
    assert again.built == []
    assert again.unchanged == first.built
    assert snapshot(config.root) == before


def test_evidence_names_rows_and_files(recorded: tuple[Published, Outcome, Config]) -> None:
    rows = recorded[0].rows(
        """
        select source, source_rows, source_files from waste_evidence
        where team = 'research' and bucket = 'idle_held'
        """
    )
    sources = {row["source"]: row for row in rows}
    assert set(sources) == {"bill", "scheduler", "telemetry"}
    assert "recordings/one-gpu/nvml.csv" in sources["telemetry"]["source_files"]
    assert sources["telemetry"]["source_rows"] > 100


def test_the_store_verifies(recorded: tuple[Published, Outcome, Config]) -> None:
    assert open_store(recorded[2]).verify() == []


def test_the_seconds_of_the_waste_model_come_out_of_the_drivers_times(
    recorded: tuple[Published, Outcome, Config], root: Path
) -> None:
    """Section 10 gives seconds by the driver's clock; sacct has whole seconds only.

    The same landing rows with the driver's times in place of the scheduler's.
    """
    published, _, config = recorded
    landing = {
        table: published.rows(f"select * from {table}") for table in LANDING if table != "reject"
    }
    driver = _driver_times(root / "examples" / "h200" / "recordings")
    starts = {}
    for job in landing["job_attempt"]:
        start, end = driver[job["job_id"], job["start"].replace(tzinfo=UTC)]
        starts[job["job_id"], job["start"]] = start
        job["start"], job["end"] = start, end
    for held in landing["job_gpu"]:
        held["start"] = starts[held["job_id"], held["start"]]
    window = (1_793_491_200 * NS, 1_796_083_200 * NS)
    with whole(landing, window, **config.settings) as built:
        assert built.failed() == []
        found = {
            (row["job_id"], row["attempt"], row["level1"]): int(row["ns"]) / NS
            for row in built.rows(
                "select job_id, attempt, level1, sum(gpu_ns) as ns from gpu_hour_state group by all"
            )
        }
        free = sorted(
            int(row["ns"]) / NS
            for row in built.rows(
                """
                select sum(gpu_ns) as ns from gpu_hour_state
                where bucket = 'unallocated' group by gpu_uuid
                """
            )
        )
    assert free == pytest.approx([17.5, 36.4, 42.9], abs=0.05)
    expected = {
        ("1001", 0, "startup"): 36.1, ("1001", 0, "in_step"): 24.7,
        ("1001", 0, "between_steps"): 3.2, ("1009", 0, "startup"): 4.6,
        ("1009", 0, "idle_held"): 19.1, ("1009", 0, "in_step"): 2.3,
        ("1010", 0, "lost_work"): 1.239,
    }  # fmt: skip
    for key, seconds in expected.items():
        assert found[key] == pytest.approx(seconds, abs=0.05), key


def _driver_times(recordings: Path) -> dict[tuple[str, datetime], tuple[datetime, datetime]]:
    """(job, whole second of its start) -> the driver's start and end, to the microsecond."""
    found = {}
    for machine in ("one-gpu", "two-gpu"):
        with (recordings / machine / "jobs.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                start = time_of_ns(int(row["start_ns"]))
                end = time_of_ns(int(row["end_ns"]))
                found[row["job_id"], start.replace(microsecond=0)] = (start, end)
    return found
