"""Take the recording's sources away, each subset of them and parts of them: what then is said."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.config import Config
from pipelines.run import Outcome, open_store
from tests.models.whole import Whole, whole
from tests.pipelines.published import NS, Published
from warehouse.contracts import LANDING

Tables = dict[str, pa.Table]

WINDOW = (1_793_491_200 * NS, 1_796_083_200 * NS)
SOURCES: dict[str, tuple[str, ...]] = {
    "scheduler": ("job_attempt", "job_gpu"),
    "telemetry": ("gpu_sample",),
    "steps": ("train_step",),
    "checkpoints": ("checkpoint",),
    "inventory": ("gpu_inventory",),
    "node_event": ("node_event",),
}
SUBSETS = [subset for size in range(len(SOURCES) + 1) for subset in combinations(SOURCES, size)]


@pytest.fixture(scope="module")
def landed(recorded: tuple[Published, Outcome, Config]) -> tuple[Tables, Config]:
    """The recording's landing tables, as they were stored."""
    config = recorded[2]
    store = open_store(config)
    tables = {}
    for name, contract in LANDING.items():
        parts = [store.open(entry) for entry in store.files(name, area="landing")]
        tables[name] = (
            pa.concat_tables(parts).cast(contract.schema)
            if parts
            else contract.schema.empty_table()
        )
    return tables, config


@pytest.fixture(scope="module")
def strict(landed: tuple[Tables, Config]) -> int:
    tables, config = landed
    with whole(tables, WINDOW, **config.settings) as full:
        assert full.failed() == []
        return full.strict_ns()


def without(tables: Tables, names: tuple[str, ...]) -> Tables:
    """The tables without these sources: neither rows nor coverage of theirs."""
    gone = {table for name in names for table in SOURCES[name]}
    left = {name: table.slice(0, 0) if name in gone else table for name, table in tables.items()}
    coverage = left["source_coverage"]
    kept = pc.invert(pc.is_in(coverage["source"], pa.array(list(names), pa.string())))
    left["source_coverage"] = coverage.filter(kept)
    return left


def assert_sound(built: Whole, strict_ns: int) -> None:
    assert built.failed() == []
    assert built.rows("select line_id from recon_invoice where difference_usd <> 0") == []
    assert built.strict_ns() <= strict_ns


@pytest.mark.slow
@pytest.mark.parametrize("names", SUBSETS, ids="-".join)
def test_no_subset_of_sources_makes_more_waste(
    names: tuple[str, ...], landed: tuple[Tables, Config], strict: int
) -> None:
    tables, config = landed
    with whole(without(tables, names), WINDOW, **config.settings) as built:
        assert_sound(built, strict)
        buckets = built.buckets()
        if "inventory" in names:
            assert set(buckets) == {"billed_not_seen", "commitment_unused", "non_gpu"}
        if "scheduler" in names:
            assert "unallocated" not in buckets
        if "telemetry" in names:
            assert not {"idle_held", "compute", "between_steps"} & set(buckets)
            grades = built.rows("select max(evidence_grade) as best from gpu_hour_state")
            assert grades[0]["best"] <= "E1"
        if {"steps", "telemetry"} <= set(names) and not {"scheduler", "inventory"} & set(names):
            assert buckets["not_observed"] > 300 * NS


Filter = Callable[[pa.Table], pa.Table]


def every_nth(number: int) -> Filter:
    """Lose one row of so many."""
    return lambda table: table.filter(
        pa.array([i % number != 3 for i in range(table.num_rows)], pa.bool_())
    )


def middle(table: pa.Table) -> pa.Table:
    """Lose the third quarter."""
    quarter = table.num_rows // 4
    return pa.concat_tables([table.slice(0, 2 * quarter), table.slice(3 * quarter)])


@pytest.mark.parametrize(
    ("name", "lose"),
    [
        ("gpu_sample", every_nth(7)), ("gpu_sample", middle), ("train_step", middle),
        ("job_gpu", every_nth(5)), ("checkpoint", every_nth(4)), ("gpu_inventory", every_nth(4)),
    ],
)  # fmt: skip
def test_no_hole_makes_more_waste(
    name: str, lose: Filter, landed: tuple[Tables, Config], strict: int
) -> None:
    tables, config = landed
    assert lose(tables[name]).num_rows < max(tables[name].num_rows, 1) or name == "gpu_inventory"
    with whole({**tables, name: lose(tables[name])}, WINDOW, **config.settings) as built:
        assert_sound(built, strict)


def test_a_hole_in_the_samples_of_a_job_without_steps_is_not_observed(
    landed: tuple[Tables, Config],
) -> None:
    tables, config = landed
    samples, steps = tables["gpu_sample"], tables["train_step"]
    # 1006 ran from 21:34:08 to 21:34:28 (job 1006, spinning); cut 21:34:20 to 21:34:24 out of it.
    start, end = 1_796_074_460 * NS, 1_796_074_464 * NS
    at = pc.multiply(samples["ts"].cast(pa.int64()), 1000)
    one = pc.equal(samples["gpu_uuid"], "GPU-27149535-6073-2b3f-fc3f-71ff2d4504f0")
    hole = pc.and_(one, pc.and_(pc.greater(at, start), pc.less_equal(at, end)))
    job = _job_at(tables, start)
    less = {
        **tables,
        "gpu_sample": samples.filter(pc.invert(hole)),
        "train_step": steps.filter(pc.not_equal(steps["job_id"], job)),
    }
    with whole(less, WINDOW, **config.settings) as built:
        [row] = built.rows(
            f"""
            select sum(gpu_ns) as ns, min(cause) as cause, min(payer_team) as team
            from gpu_hour_state where bucket = 'not_observed' and job_id = '{job}'
            """
        )
    assert int(row["ns"]) / NS == pytest.approx(4, abs=0.2)
    assert row["cause"] == "telemetry"


def _job_at(tables: Tables, time_ns: int) -> str:
    for job in tables["job_attempt"].to_pylist():
        if job["start"].timestamp() * NS <= time_ns < job["end"].timestamp() * NS:
            return str(job["job_id"])
    raise AssertionError("no job held a GPU then")


def test_unallocated_time_needs_no_samples(landed: tuple[Tables, Config]) -> None:
    tables, config = landed
    with (
        whole(tables, WINDOW, **config.settings) as full,
        whole(without(tables, ("telemetry",)), WINDOW, **config.settings) as less,
    ):
        assert full.buckets()["unallocated"] == less.buckets()["unallocated"] > 90 * NS


def test_lost_work_is_the_same_without_checkpoint_records(landed: tuple[Tables, Config]) -> None:
    tables, config = landed
    with whole(without(tables, ("checkpoints",)), WINDOW, **config.settings) as built:
        assert built.buckets()["lost_work"] / NS == pytest.approx(1.133, abs=0.001)
        [row] = built.rows("select method_id, lost_high_gpu_ns, lost_gpu_ns from interruptions")
        assert row["method_id"] == "first_step"
        assert row["lost_high_gpu_ns"] > row["lost_gpu_ns"]


@pytest.mark.parametrize("lost", ["gpu-node-0", "gpu-node-1"])
@pytest.mark.parametrize("name", [None, "another-name"])
def test_an_inventory_that_loses_a_nodes_name_makes_no_waste(
    lost: str, name: str | None, landed: tuple[Tables, Config], strict: int
) -> None:
    tables, config = landed
    inventory = tables["gpu_inventory"]
    rows = [
        {**row, "node": name if row["node"] == lost else row["node"]}
        for row in inventory.to_pylist()
    ]
    less = {**tables, "gpu_inventory": pa.Table.from_pylist(rows, schema=inventory.schema)}
    with whole(less, WINDOW, **config.settings) as built:
        assert_sound(built, strict)
