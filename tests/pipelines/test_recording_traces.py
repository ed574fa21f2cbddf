"""Traced steps, whole jobs and stragglers of the recording, against the raw JSON of its traces."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.oracle import ladder
from tests.oracle.traces import BUSY, GAPS, PARTS
from tests.pipelines.published import NS, Published
from tests.pipelines.traced import Jobs, Key

MS = 1_000_000
#: Traced time in ms that is known of a rank: compute, and comm_wait with comm_exposed.
KNOWN = {
    ("2002", 0): (125.354, 347.230), ("2002", 1): (106.862, 2.124), ("2001", 0): (None, 24.796),
    ("2001", 1): (None, 72.763), ("2003", 0): (None, 66.217), ("2003", 1): (None, 34.795),
}  # fmt: skip
UNFIT = {"1004", "2001", "2003"}


@pytest.fixture(scope="module")
def gpu(published: Published) -> dict[Key, str]:
    """The GPU that each traced rank ran on, as step_breakdown has it."""
    return {
        (row["job_id"], row["attempt"], row["rank"]): row["gpu_uuid"]
        for row in published.rows(
            "select distinct job_id, attempt, rank, gpu_uuid from step_breakdown"
        )
    }


def traced(published: Published) -> dict[Key, dict[str, float]]:
    """Milliseconds of each part over the traced steps of each rank."""
    sums = ", ".join(f"sum({part}_ns) / 1e6 as {part}" for part in PARTS)
    return {
        (row["job_id"], row["attempt"], row["rank"]): row
        for row in published.rows(
            f"select job_id, attempt, rank, {sums} from step_breakdown group by all"
        )
    }


def whole(published: Published, gpu: dict[Key, str]) -> dict[Key, dict[str, int]]:
    """Nanoseconds of each bucket of in_step, over the whole job."""
    by_gpu: dict[tuple[str, int, str], dict[str, int]] = defaultdict(dict)
    for row in published.rows(
        """
        select job_id, attempt, gpu_uuid, bucket, sum(gpu_ns) as ns
        from gpu_hour_state where level1 = 'in_step' group by all
        """
    ):
        by_gpu[row["job_id"], row["attempt"], row["gpu_uuid"]][row["bucket"]] = int(row["ns"])
    return {key: by_gpu[key[0], key[1], uuid] for key, uuid in gpu.items()}


# --- the traced steps ---------------------------------------------------------------------------


def test_every_traced_step_is_what_the_raw_json_says(published: Published, jobs: Jobs) -> None:
    rows = published.rows("select * from step_breakdown")
    expected = {
        (*key, step.span[0]): (job, step) for key, job in jobs.items() for step in job.steps
    }  # fmt: skip
    assert len(rows) == len(expected) == 53
    for row in rows:
        key = (row["job_id"], row["attempt"], row["rank"], row["start_ns"])
        job, step = expected[key]
        assert row["step"] == step.step.number
        assert row["step_ns"] == step.span[1] - step.span[0]
        assert row["step_ns"] == sum(row[f"{part}_ns"] for part in (*PARTS, "pipeline_bubble"))
        assert row["pipeline_bubble_ns"] == 0
        assert row["unfit"] == (job.held.job_id in UNFIT)
        for part, ns in step.ns.items():
            assert row[f"{part}_ns"] == pytest.approx(ns, rel=0.01, abs=2), (key, part)


def test_the_steps_of_the_second_attempt_bear_its_own_numbers(published: Published) -> None:
    rows = published.rows("select attempt, step from step_breakdown where job_id = '1010'")
    assert sorted((row["attempt"], row["step"]) for row in rows) == [
        (0, 5), (0, 6), (0, 7), (1, 45), (1, 46), (1, 47),
    ]  # fmt: skip


def test_compute_and_communication_are_the_known_ones(published: Published) -> None:
    found = traced(published)
    for (job, rank), (compute, comm) in KNOWN.items():
        row = found[job, 0, rank]
        assert row["comm_wait"] + row["comm_exposed"] == pytest.approx(comm, rel=0.01)
        if compute:
            assert row["compute"] == pytest.approx(compute, rel=0.01)
    assert found["2002", 0, 0]["comm_wait"] == pytest.approx(339, rel=0.01)
    # fsdp hides most of its communication: its collectives run far longer than is exposed.
    assert found["2003", 0, 0]["compute"] > 1.9 * KNOWN["2003", 0][1]


def test_the_gaps_have_their_known_reasons(published: Published) -> None:
    found = traced(published)

    def gaps(job: str, rank: int = 0) -> dict[str, float]:
        return {part: found[job, 0, rank][part] for part in GAPS}

    loader = gaps("1003")
    assert sum(loader.values()) == pytest.approx(194.2, abs=0.1)
    assert loader["data_stall"] == pytest.approx(158.3, abs=0.1)
    straggler = gaps("2002", 1)
    assert straggler["data_stall"] > 0.9 * sum(straggler.values())
    assert gaps("2002", 0)["data_stall"] == 0
    tiny = gaps("1004")
    assert tiny["launch_gap"] > 0.9 * sum(tiny.values())
    for notebook in ("1009", "2005"):
        asleep = gaps(notebook)
        assert asleep["gap_unknown"] > 0.95 * sum(asleep.values())
        assert asleep["gap_unknown"] > 2900
    for (job, attempt, rank), row in found.items():
        assert row["data_stall"] == 0 or (job, rank) in {("1003", 0), ("2002", 1)}, attempt


# --- the whole job ------------------------------------------------------------------------------


def test_the_whole_job_is_split_as_the_traces_and_logs_say(
    published: Published, jobs: Jobs, gpu: dict[Key, str]
) -> None:
    found = whole(published, gpu)
    assert found.keys() == jobs.keys()
    for key, job in jobs.items():
        parts, total = job.in_step(), sum(found[key].values())
        assert found[key].keys() <= set(PARTS)
        # The bill's six decimals of an hour pay up to 1.8 ms more or less than the whole seconds.
        assert total == pytest.approx(job.in_step_ns, abs=2 * MS)
        for part in PARTS:
            assert found[key].get(part, 0) == pytest.approx(
                float(parts[part]), rel=0.01, abs=2 * MS
            ), (key, part)


def test_exactly_three_jobs_are_unfit(
    published: Published, jobs: Jobs, gpu: dict[Key, str]
) -> None:
    assert {job.held.job_id for job in jobs.values() if job.unfit} == UNFIT
    for table in ("step_breakdown", "trace_file"):
        rows = published.rows(f"select distinct job_id from {table} where unfit")
        assert {row["job_id"] for row in rows} == UNFIT, table
    # Wide bounds: nothing of an unfit job's split is certain but its sum.
    rows = published.rows(
        """
        select job_id, bucket, gpu_ns, low_gpu_ns, high_gpu_ns, method_id
        from gpu_hour_state where level1 = 'in_step'
        """
    )
    for row in rows:
        assert row["low_gpu_ns"] <= row["gpu_ns"] <= row["high_gpu_ns"]
        assert (row["method_id"] == "in_step_trace_unfit") == (row["job_id"] in UNFIT)
        if row["job_id"] in UNFIT:
            assert row["low_gpu_ns"] == 0
            assert row["high_gpu_ns"] > row["gpu_ns"]


@pytest.mark.parametrize("job", ["1001", "1002", "1003", "1005", "1006", "1007", "1008"])
def test_the_counters_lie_between_the_bounds_of_a_fit_job(
    job: str, published: Published, truth: ladder.Recording
) -> None:
    rung = ladder.ladder(truth)[job, 0, 0, "in_steps"]
    [row] = published.rows(
        f"""
        select sum(low_gpu_ns) as low, sum(high_gpu_ns) as high from gpu_hour_state
        where job_id = '{job}' and bucket = 'compute'
        """
    )
    busy = rung.ratios["engine_active_ratio"] * rung.total_ns
    assert float(row["low"]) <= busy + 2 * MS
    assert busy - 2 * MS <= float(row["high"]) <= rung.total_ns + 2 * MS
    assert row["low"] > 0


def test_1005_is_as_busy_as_its_counters_say(
    published: Published, jobs: Jobs, gpu: dict[Key, str]
) -> None:
    parts = whole(published, gpu)["1005", 0, 0]
    share = sum(parts.get(part, 0) for part in BUSY) / sum(parts.values())
    assert share == pytest.approx(0.907, abs=0.005)
    assert share == pytest.approx(jobs["1005", 0, 0].counters_share, abs=0.02)
    row = traced(published)["1005", 0, 0]
    slow = sum(row[part] for part in BUSY) / sum(row[part] for part in PARTS)
    assert slow == pytest.approx(0.74, abs=0.01)


def test_every_split_sums_to_its_in_step_time_and_says_how_it_was_found(
    published: Published, truth: ladder.Recording, gpu: dict[Key, str]
) -> None:
    found = whole(published, gpu)
    for key, level1 in ladder.level1(truth).items():
        assert sum(found[key].values()) == pytest.approx(level1["in_step"], abs=2 * MS)
    rows = published.rows(
        "select distinct evidence_grade, method_id from gpu_hour_state where level1 = 'in_step'"
    )
    assert {(row["evidence_grade"], row["method_id"]) for row in rows} == {
        ("E3", "in_step_trace"), ("E3", "in_step_trace_unfit"),
    }  # fmt: skip


# --- stragglers ---------------------------------------------------------------------------------


def test_the_straggler_is_the_rank_that_the_others_wait_for(
    published: Published, jobs: Jobs, gpu: dict[Key, str]
) -> None:
    rows = {
        (row["job_id"], row["rank"]): row for row in published.rows("select * from straggler_rank")
    }
    assert rows.keys() == {(job, rank) for job in ("2001", "2002", "2003") for rank in (0, 1)}
    for (job, rank), row in rows.items():
        other = jobs[job, 0, 1 - rank]
        assert row["gpu_uuid"] == gpu[job, 0, rank]
        assert row["node"] == "gpu-node-1"
        assert row["wait_caused_gpu_ns"] == pytest.approx(
            float(other.in_step()["comm_wait"]), rel=0.01, abs=2 * MS
        )
        own = [
            sum(step.ns[part] for step in known.steps for part in PARTS if "comm" not in part)
            for known in (jobs[job, 0, rank], other)
        ]
        assert row["slowdown_ratio"] == pytest.approx(own[0] / own[1], rel=0.01)
    assert rows["2002", 1]["wait_caused_gpu_ns"] > 12 * NS
    assert rows["2002", 1]["slowdown_ratio"] > 3
    assert rows["2002", 0]["wait_caused_gpu_ns"] < NS // 100


def test_waiting_is_paid_by_who_waits_and_caused_by_who_comes_last(
    published: Published, gpu: dict[Key, str]
) -> None:
    rows = published.rows(
        """
        select gpu_uuid, cause, cause_ref, payer_team, sum(gpu_ns) as ns, sum(billed_usd) as usd
        from gpu_hour_state where job_id = '2002' and bucket = 'comm_wait' group by all
        """
    )
    waiting = [row for row in rows if row["gpu_uuid"] == gpu["2002", 0, 0]]
    assert {(row["cause"], row["payer_team"]) for row in waiting} == {("straggler", "foundation")}
    assert all(gpu["2002", 0, 1] in row["cause_ref"] for row in waiting)
    [caused] = published.rows(
        "select wait_caused_usd as usd from straggler_rank where job_id = '2002' and rank = 1"
    )
    assert caused["usd"] == sum(row["usd"] for row in waiting)
