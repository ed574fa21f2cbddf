"""Take the recording's sources away, each subset of them and parts of them: what then is said."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pipelines.config import Config
from pipelines.run import Outcome, open_store
from tests.models.whole import Whole, whole
from tests.pipelines.published import NS, Published
from warehouse.contracts import LANDING
from warehouse.trace_contracts import TRACE_TABLES

Tables = dict[str, pa.Table]

WINDOW = (1_793_491_200 * NS, 1_796_083_200 * NS)
SOURCES: dict[str, tuple[str, ...]] = {
    "scheduler": ("job_attempt", "job_gpu"),
    "telemetry": ("gpu_sample",),
    "steps": ("train_step",),
    "checkpoints": ("checkpoint",),
    "inventory": ("gpu_inventory",),
    "node_event": ("node_event",),
    "traces": tuple(table.name for table in TRACE_TABLES if table.name != "collective"),
    "collectives": ("collective",),
}
#: What every subset is taken of. Traces take longest to divide, so their absence comes with each
#: subset of these, and their presence with the samples below.
PLAIN = [name for name in SOURCES if name not in ("traces", "collectives")]
SUBSETS = [subset for size in range(len(PLAIN) + 1) for subset in combinations(PLAIN, size)]
#: One subset for each rule that traces take part in.
WITH_TRACES = [
    ("steps",), ("telemetry",), ("checkpoints", "collectives"), ("scheduler",),
    ("steps", "checkpoints"), ("steps", "telemetry"),
]  # fmt: skip
#: Of the traces, those that stand for all in the samples: small ones, a requeued job, two ranks.
SMALL = ("job_1005", "job_1006", "job_1010", "job_2002", "job_2005")
IN_STEP_BY_COUNTERS = {"compute", "gap_unknown", "busy_unsplit", "step_unsplit"}


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


def without_traces_of(tables: Tables, lost: Callable[[str], bool]) -> Tables:
    """The tables without the traces whose file's name says so."""
    left = dict(tables)
    for name in SOURCES["traces"]:
        files = tables[name]["source_file"]
        gone = pa.array([file for file in pc.unique(files).to_pylist() if lost(file)], pa.string())
        left[name] = tables[name].filter(pc.invert(pc.is_in(files, gone)))
    return left


@pytest.fixture(scope="module")
def few(landed: tuple[Tables, Config]) -> Tables:
    """The recording with the traces of a few jobs."""
    return without_traces_of(landed[0], lambda file: not any(job in file for job in SMALL))


@pytest.fixture(scope="module")
def strict_of(landed: tuple[Tables, Config]) -> Callable[[tuple[str, ...]], int]:
    """Strict waste without these sources."""

    @cache
    def found(names: tuple[str, ...]) -> int:
        tables, config = landed
        with whole(without(tables, names), WINDOW, **config.settings) as built:
            return built.strict_ns()

    return found


def in_step_buckets(built: Whole, job: str) -> dict[str, int]:
    """Nanoseconds of in_step by bucket."""
    rows = built.rows(
        f"""
        select bucket, sum(gpu_ns) as ns from gpu_hour_state
        where job_id = '{job}' and level1 = 'in_step' group by bucket
        """
    )
    return {row["bucket"]: int(row["ns"]) for row in rows}


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
    less = without(tables, (*names, "traces", "collectives"))
    with whole(less, WINDOW, **config.settings) as built:
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


@pytest.mark.slow
@pytest.mark.parametrize("names", WITH_TRACES, ids="-".join)
def test_traces_neither_need_other_sources_nor_let_them_make_waste(
    names: tuple[str, ...], few: Tables, landed: tuple[Tables, Config], strict: int,
    strict_of: Callable[[tuple[str, ...]], int],
) -> None:  # fmt: skip
    with whole(without(few, names), WINDOW, **landed[1].settings) as built:
        assert_sound(built, strict)
        assert strict_of((*names, "traces", "collectives")) <= built.strict_ns()
        if "scheduler" not in names:
            parts = in_step_buckets(built, "2002")
            assert {"compute", "comm_wait", "data_stall"} <= set(parts)


@pytest.mark.parametrize("names", [("traces",), ("collectives",), ("traces", "collectives")])
def test_without_traces_no_part_is_invented(
    names: tuple[str, ...], landed: tuple[Tables, Config], strict: int
) -> None:
    tables, config = landed
    with whole(without(tables, names), WINDOW, **config.settings) as built:
        assert_sound(built, strict)
        assert built.strict_ns() == strict
        if "traces" in names:
            assert set(in_step_buckets(built, "2002")) <= {"busy_unsplit", "gap_unknown"}
            rows = built.rows("select distinct bucket from gpu_hour_state where level1 = 'in_step'")
            assert {row["bucket"] for row in rows} <= IN_STEP_BY_COUNTERS
            rows = built.rows("select distinct kernel_family as name from kernel_cost")
            assert [row["name"] for row in rows] == ["(not traced)"]
            assert built.rows("select * from step_breakdown") == []
            assert built.rows("select * from straggler_rank") == []
        else:
            assert "comm_wait" in in_step_buckets(built, "2002")


def test_without_the_other_ranks_trace_nobody_is_said_to_wait(
    few: Tables, landed: tuple[Tables, Config], strict: int
) -> None:
    one = without_traces_of(few, lambda file: "_rank1." in file)
    with (
        whole(few, WINDOW, **landed[1].settings) as both,
        whole(one, WINDOW, **landed[1].settings) as built,
    ):
        assert_sound(built, strict)
        before, parts = in_step_buckets(both, "2002"), in_step_buckets(built, "2002")
        assert "comm_wait" not in parts
        # Rank 1, of which nothing is traced now, exposed 2 of its 483 ms.
        exposed = before["comm_wait"] + before["comm_exposed"]
        assert parts["comm_exposed"] == pytest.approx(exposed, rel=0.01)
        assert "busy_unsplit" in parts
        assert built.rows("select job_id from straggler_rank where wait_caused_gpu_ns > 0") == []


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
    tables = without(tables, ("traces", "collectives"))
    assert lose(tables[name]).num_rows < max(tables[name].num_rows, 1) or name == "gpu_inventory"
    with whole({**tables, name: lose(tables[name])}, WINDOW, **config.settings) as built:
        assert_sound(built, strict)


@pytest.mark.parametrize(
    ("name", "lose"),
    [
        ("trace_kernel", every_nth(7)), ("trace_launch", middle), ("trace_op", middle),
        ("trace_annotation", every_nth(5)), ("trace_header", every_nth(5)),
    ],
)  # fmt: skip
def test_no_hole_in_the_traces_makes_more_waste(
    name: str, lose: Filter, few: Tables, landed: tuple[Tables, Config], strict: int
) -> None:
    assert lose(few[name]).num_rows < few[name].num_rows
    with whole({**few, name: lose(few[name])}, WINDOW, **landed[1].settings) as built:
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
