"""What must hold in every month (waste model, section 9), on random months and on less of them."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest

from tests.models.whole import Whole, whole
from tests.oracle.months import random_month
from tests.oracle.taking import SOURCES, taken, without
from tests.oracle.world import Tables

#: Seeds of the fast suite, and those of the slow one. 106 and 114 once found that a drain counted
#: although nobody knew whether a job held the GPU; 220, that waste pushed out what a policy covers.
FAST, SLOW = (0, 1, 106, 114, 141, 220), range(120, 132)


def window(tables: Tables) -> tuple[int, int]:
    """A window that holds a month's whole story, with a day to spare on both sides."""
    times = [row["charge_period_start"] for row in tables["bill_line"]]
    times += [row["charge_period_end"] for row in tables["bill_line"]]
    times += [t for row in tables["job_attempt"] for t in (row.get("start"), row.get("end")) if t]
    return _ns(min(times) - timedelta(days=1)), _ns(max(times) + timedelta(days=1))


def _ns(time: datetime) -> int:
    return int(time.timestamp()) * 1_000_000_000


def assert_sums(month: Whole) -> None:
    """Blocking checks pass, each line reconciles on each basis, and nothing is negative."""
    assert month.failed() == []
    assert (
        month.rows(
            """
        select line_id from recon_invoice
        where difference_usd <> 0 or effective_difference_usd <> 0
            or coalesce(list_difference_usd, 0) <> 0 or billed_gpu_ns <> partitioned_gpu_ns
        """
        )
        == []
    )
    totals = month.rows(
        """
        select
            (select sum(billed_usd) from bill_line) as billed,
            (select sum(billed_usd) from waste_team_month) as by_bucket,
            (select sum(billed_usd) from showback_team_month) as by_team,
            (select sum(billed_gpu_ns) from recon_invoice) as billed_ns,
            (select sum(gpu_ns) from gpu_hour_state) as state_ns,
            (select min(least(gpu_ns, low_gpu_ns)) from gpu_hour_state) as least_ns
        """
    )[0]  # fmt: skip
    assert totals["billed"] == totals["by_bucket"] == totals["by_team"]
    assert totals["billed_ns"] == totals["state_ns"]
    assert totals["least_ns"] >= 0
    assert_traced_sums(month)


def assert_traced_sums(month: Whole) -> None:
    """Kernels have all busy time of the traced steps, and all waiting is for somebody."""
    unequal = month.rows(
        """
        select coalesce(part.window_id, share.window_id) as window_id, bucket, busy_ns, share_ns
        from (
            select window_id, bucket, traced_ns as busy_ns from int_trace_bucket
            where bucket in ('compute', 'comm_wait', 'comm_exposed', 'copy_exposed')
        ) as part
        full outer join (
            select window_id, bucket, sum(share_ns) as share_ns from int_kernel_share group by all
        ) as share using (window_id, bucket)
        where busy_ns is distinct from share_ns
        """
    )
    assert unequal == []
    stray = month.rows(
        """
        select bucket, cause, method_id, evidence_grade from gpu_hour_state
        where (bucket = 'comm_wait') <> (cause = 'straggler')
            or (evidence_grade >= 'E3') <> (method_id in ('in_step_trace', 'in_step_trace_unfit'))
        """
    )
    assert stray == []
    twice = month.rows(
        """
        select work.hold_id, work.start_ns, work.end_ns, work.family
        from int_gpu_work as work
        inner join int_trace as trace using (trace_no)
        group by all
        having bool_or(trace.source_file like 'copy/%')
            and bool_or(trace.source_file not like 'copy/%')
        """
    )
    assert twice == []


def assert_strict_never_rises(seed: int, rounds: int) -> None:
    """Take sources of a month away, whole or in part: what is less known is never more wasted."""
    rng = Random(seed)
    month = random_month(rng)
    span = window(month)
    with whole(month, span) as full:
        assert_sums(full)
        strict = full.strict_ns()
        # Time that counters call idle is in a traced step all the same, once they are gone.
        grades = full.rows(
            """
            select greatest(
                (select max(evidence_grade) from gpu_hour_state),
                (select max(case when is_every_step then 'E4' else 'E3' end) from int_trace_fit)
            ) as best
            """
        )[0]["best"]  # fmt: skip
    for _ in range(rounds):
        what, less = taken(month, rng)
        with whole(less, span) as part:
            assert_sums(part)
            assert part.strict_ns() <= strict, f"seed {seed}: {what}"
            best = part.rows("select max(evidence_grade) as best from gpu_hour_state")[0]["best"]
            assert best <= grades


@pytest.mark.parametrize("seed", FAST)
def test_less_evidence_is_never_more_waste(seed: int) -> None:
    assert_strict_never_rises(seed, 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW)
def test_less_evidence_is_never_more_waste_in_many_months(seed: int) -> None:
    assert_strict_never_rises(seed, 3)


@pytest.mark.parametrize("seed", [0, 5])
def test_with_the_bill_alone_nothing_is_known_and_nothing_is_wasted(seed: int) -> None:
    month = random_month(Random(seed))
    bare = without(month, *SOURCES)
    with whole(bare, window(month)) as found:
        assert_sums(found)
        assert set(found.buckets()) <= {"billed_not_seen", "commitment_unused", "non_gpu"}


@pytest.mark.parametrize("seed", [9])
def test_without_traces_nothing_inside_steps_is_told_apart(seed: int) -> None:
    month = random_month(Random(seed))
    with whole(without(month, "traces"), window(month)) as found:
        assert_sums(found)
        inside = found.rows("select distinct bucket from gpu_hour_state where level1 = 'in_step'")
        assert {row["bucket"] for row in inside} <= {
            "compute", "gap_unknown", "busy_unsplit", "step_unsplit",
        }  # fmt: skip


@pytest.mark.parametrize("seed", [1, 7])
def test_the_order_of_landing_rows_changes_nothing(seed: int) -> None:
    rng = Random(seed)
    month = random_month(rng)
    shuffled = {name: rng.sample(rows, len(rows)) for name, rows in month.items()}
    query = "select * exclude (bundle_id, row_no) from allocation order by line_id, target_no"
    with whole(month, window(month)) as left, whole(shuffled, window(month)) as right:
        assert left.rows(query) == right.rows(query)


def test_prices_scale_dollars_and_leave_seconds_alone() -> None:
    month = random_month(Random(3))
    dear = {
        **month,
        "bill_line": [
            {**row, **{c: row[c] * 7 for c in ("billed_usd", "effective_usd") if c in row}}
            for row in month["bill_line"]
        ],
    }
    with whole(month, window(month)) as left, whole(dear, window(month)) as right:
        assert left.buckets() == right.buckets()
        assert_sums(right)
