"""The random months fit the contracts, are consistent, hold the hard cases, and only lose facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.oracle import months as generator
from tests.oracle.months import TABLES, months, random_month
from tests.oracle.profiled import EVENTS
from tests.oracle.taking import COVERAGE, SOURCES, subsets, taken, with_hole, with_rejects, without
from tests.oracle.world import PERIOD_S, Row, Tables
from warehouse.contracts import LANDING, SAMPLE_FIELDS

SEEDS = range(60)


@pytest.fixture(scope="module")
def many() -> list[Tables]:
    return [random_month(Random(seed)) for seed in SEEDS]


def frozen(row: Row) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((k, tuple(v) if isinstance(v, list) else v) for k, v in row.items()))


def overlaps(spans: Iterable[tuple[Any, Any]]) -> bool:
    ordered = sorted(spans)
    return any(a[1] > b[0] for a, b in pairwise(ordered))


@settings(max_examples=25, deadline=None)
@given(months())
def test_rows_fit_their_contracts(tables: Tables) -> None:
    assert set(tables) == set(TABLES) == set(LANDING)
    for name, rows in tables.items():
        contract = LANDING[name]
        columns = {column.name for column in contract.columns}
        assert all(row.keys() <= columns for row in rows)
        # validate() does not look at nulls, so the columns that may have none are counted.
        table = pa.Table.from_pylist(rows, schema=contract.schema)
        table.validate(full=True)
        for column in contract.columns:
            assert column.nullable or table[column.name].null_count == 0, (name, column.name)
        keys = Counter(tuple(str(row.get(part)) for part in contract.key) for row in rows)
        assert all(count == 1 for count in keys.values()), (name, keys.most_common(1))


def test_traces_lie_inside_their_headers_and_ranks_play_one_script(many: list[Tables]) -> None:
    for tables in many:
        headers = {row["source_file"]: row for row in tables["trace_header"]}
        assert len(headers) == len(tables["trace_header"])
        events = Counter[str]()
        calls: dict[str, list[int]] = {}
        for name in EVENTS:
            for row in tables[name]:
                header = headers[row["source_file"]]
                assert header["start_ns"] <= row["start_ns"] < row["end_ns"] <= header["end_ns"]
                events[row["source_file"]] += 1
                if row.get("kind") == "comm":
                    calls.setdefault(row["source_file"], []).append(row["end_ns"])
        assert events == {file: row["event_count"] for file, row in headers.items()}
        # kineto/job_attempt_rank_part.json: a collective ends on all ranks at once.
        whole: dict[tuple[str, ...], list[list[int]]] = {}
        for file, ends in calls.items():
            if not headers[file]["is_truncated"]:
                job, attempt, _, part = file.split("/")[-1].split("_")
                whole.setdefault((job, attempt, part), []).append(ends)
        assert all(ends == ranks[0] for ranks in whole.values() for ends in ranks)


def test_a_seed_is_a_month(many: list[Tables]) -> None:
    assert random_month(Random(7)) == many[7]
    assert random_month(Random(8)) != many[7]
    assert SAMPLE_FIELDS[generator.ENGINE_BIT.bit_length() - 1] == "engine_active_ratio"
    assert SAMPLE_FIELDS[generator.PCIE_BIT.bit_length() - 1] == "pcie_tx_bytes_s"


def test_nothing_contradicts_itself(many: list[Tables]) -> None:
    far = datetime.max.replace(tzinfo=generator.BEGINNINGS[0].tzinfo)
    for tables in many:
        attempts = {
            (row["job_id"], row["start"]): row
            for row in tables["job_attempt"]
            if row["source_file"] == "sacct.psv"
        }
        held: dict[tuple[str, int], list[tuple[datetime, datetime]]] = {}
        for row in tables["job_gpu"]:
            end = attempts[row["job_id"], row["start"]]["end"] or far
            held.setdefault((row["node"], row["gpu_index"]), []).append((row["start"], end))
        assert not any(overlaps(spans) for spans in held.values()), "one GPU, two jobs"
        for (job, start), row in attempts.items():
            count = sum(r["job_id"] == job and r["start"] == start for r in tables["job_gpu"])
            assert row["gpu_count"] == count
            assert row["submit"] <= row["start"] < (row["end"] or far)
        by_rank: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        spans: dict[str, list[tuple[int, int]]] = {job: [] for job, _ in attempts}
        for (job, start), row in attempts.items():
            end_s = (row["end"] or far).timestamp()
            spans[job].append((int(start.timestamp()), int(end_s)))
        for step in tables["train_step"]:
            start_s, end_s = spans[step["job_id"]][step["attempt"]]
            assert start_s * 10**9 <= step["start_ns"] < step["end_ns"] <= end_s * 10**9
            key = (step["job_id"], step["attempt"], step.get("rank"))
            by_rank.setdefault(key, []).append((step["start_ns"], step["end_ns"]))
        assert not any(overlaps(each) for each in by_rank.values())
        placed = [(r["node"], r["gpu_index"], r["start"], r["end"] or far) for r in
                  tables["gpu_inventory"]]  # fmt: skip
        for node, index, *_ in placed:
            assert not overlaps((a, b) for n, i, a, b in placed if (n, i) == (node, index))


def test_hard_cases_occur(many: list[Tables]) -> None:
    def share(holds: Any) -> float:
        return sum(bool(holds(tables)) for tables in many) / len(many)

    def any_row(table: str, **values: Any) -> Any:
        return lambda t: any(all(r.get(k) == v for k, v in values.items()) for r in t[table])

    def idle_while_held(tables: Tables) -> bool:
        ends = {(r["job_id"], r["start"]): r["end"] for r in tables["job_attempt"]}
        runs: dict[str, int] = {}
        for row in tables["gpu_sample"]:
            [gpu] = [r for r in tables["gpu_inventory"] if r["gpu_uuid"] == row["gpu_uuid"]]
            held = any(
                (r["node"], r["gpu_index"]) == (gpu["node"], gpu["gpu_index"])
                and r["start"] < row["ts"] <= (ends[r["job_id"], r["start"]] or row["ts"])
                for r in tables["job_gpu"]
            )
            engine = row["engine_active_ratio"]
            quiet = held and engine is not None and engine <= 0.01
            runs[row["gpu_uuid"]] = runs.get(row["gpu_uuid"], 0) + 1 if quiet else 0
            if runs[row["gpu_uuid"]] * PERIOD_S >= 300:
                return True
        return False

    cases = (
        (any_row("train_step", attempt=1), 0.1),
        (any_row("checkpoint", event="save"), 0.2),
        (any_row("checkpoint", event="restore"), 0.03),
        (any_row("job_attempt", is_interactive=True), 0.2),
        (any_row("job_attempt", source_file="sacct-earlier.psv"), 0.1),
        (any_row("job_attempt", state="RUNNING"), 0.1),
        (any_row("job_attempt", account="nobody"), 0.2),
        (any_row("bill_line", commitment_discount_status="Unused"), 0.3),
        (any_row("bill_line", commitment_discount_status="Used"), 0.1),
        (any_row("bill_line", charge_category="Tax"), 0.3),
        (any_row("bill_line", resource_id="i-unknown"), 0.1),
        (any_row("bill_line", service_category="Compute", sku_gpu_count=None), 0.05),
        (any_row("node_event", kind="down"), 0.2),
        (any_row("node_event", kind="fatal_xid"), 0.05),
        (any_row("policy_window", kind="exempt_idle"), 0.02),
        (any_row("gpu_sample", engine_active_ratio=None), 0.5),
        (any_row("trace_header", is_truncated=True), 0.1),
        (any_row("trace_header", meta_job_id=None, path_job_id=None), 0.2),
        (any_row("trace_header", step_count=0), 0.2),
        (any_row("trace_header", host_name="vm"), 0.1),
        (lambda t: any(r["source_file"].startswith("copy/") for r in t["trace_header"]), 0.1),
        (lambda t: any(r["source_file"].startswith("again/") for r in t["trace_header"]), 0.05),
        (lambda t: any(r["start_ns"] > max(s["end_ns"] for s in t["train_step"]) + 10**12
                       for r in t["trace_header"] if t["train_step"]), 0.05),
        (lambda t: any(r.get("path_attempt", 0) > max(
            (s["attempt"] for s in t["train_step"] if s["job_id"] == r["path_job_id"]), default=0,
        ) for r in t["trace_header"] if r.get("path_job_id")), 0.1),
        (any_row("trace_annotation", name="load_batch"), 0.3),
        (any_row("trace_kernel", kind="comm"), 0.2),
        (lambda t: any(r.get("seq") for r in t["trace_kernel"]), 0.1),
        (lambda t: t["collective"], 0.1),
        (lambda t: len({r["device"] for r in t["trace_kernel"]}) > 1, 0.1),
        (lambda t: any(len(r["nodes"]) > 1 for r in t["job_attempt"]), 0.1),
        (lambda t: len({r["billing_period_start"] for r in t["bill_line"]}) > 1, 0.1),
        (lambda t: len({(r["node"], r["gpu_index"]) for r in t["gpu_inventory"]})
            < len(t["gpu_inventory"]), 0.1),
        (idle_while_held, 0.3),
    )  # fmt: skip
    for number, (holds, least) in enumerate(cases):
        assert share(holds) >= least, f"case {number} is too rare: {share(holds)}"


def test_bill_adds_up_to_its_snapshot(many: list[Tables]) -> None:
    for tables in many:
        [snapshot] = tables["bill_snapshot"]
        assert sum(row["billed_usd"] for row in tables["bill_line"]) == snapshot["billed_usd"]
        for row in tables["bill_line"]:
            assert row["billing_period_start"] <= row["charge_period_start"]
            assert row["charge_period_end"] <= row["billing_period_end"]
        bought = [r for r in tables["bill_line"] if r.get("commitment_discount_id")]
        assert sum(r["billed_usd"] - r["effective_usd"] for r in bought) == 0


def test_without_leaves_nothing_of_a_source(many: list[Tables]) -> None:
    assert len(list(subsets())) == 2 ** len(SOURCES)
    for tables, gone in zip(many, subsets(), strict=False):
        left = without(tables, *gone)
        for source, names in SOURCES.items():
            if source in gone:
                assert not any(left[name] for name in names)
        blind = {COVERAGE[source] for source in gone if source in COVERAGE}
        assert not blind & {row["source"] for row in left["source_coverage"]}
        assert left["bill_line"] == tables["bill_line"]


def seen(tables: Tables, source: str, at: datetime) -> bool:
    """Whether coverage says, of any node, that the source was read for this instant."""
    rows = [r for r in tables["source_coverage"] if r["source"] == source]
    at_time = [r for r in rows if r["start"] <= at < r["end"]]
    return any(not r["is_cut"] for r in at_time) and not any(
        r["is_cut"] and r.get("node") is None and r.get("job_id") is None for r in at_time
    )


@settings(max_examples=60, deadline=None)
@given(months())
def test_a_loss_adds_no_fact(tables: Tables) -> None:
    rng = Random(len(tables["gpu_sample"]))
    told, left = taken(tables, rng)
    assert told
    for name, rows in tables.items():
        # A header counts the rejects of its file.
        if name not in ("reject", "source_coverage", "trace_header"):
            before, after = Counter(map(frozen, rows)), Counter(map(frozen, left[name]))
            assert after <= before, told
    begin = min(row["start"] for row in tables["gpu_inventory"])
    for source in set(COVERAGE.values()):
        for minutes in range(0, 240, 7):
            at = begin + timedelta(minutes=minutes)
            assert seen(tables, source, at) or not seen(left, source, at), (told, source, at)
    key = LANDING["source_coverage"].key
    assert (
        max(
            Counter(tuple(map(row.get, key)) for row in left["source_coverage"]).values(), default=1
        )
        == 1
    )
    for name in ("reject", "source_coverage"):
        pa.Table.from_pylist(left[name], schema=LANDING[name].schema).validate(full=True)


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_each_way_takes_something_somewhere(many: list[Tables], source: str) -> None:
    for way in (with_hole, with_rejects):
        fewer = 0
        for seed, tables in enumerate(many):
            left = way(tables, source, Random(seed))
            fewer += sum(len(left[name]) < len(tables[name]) for name in SOURCES[source])
        assert fewer > 0, way.__name__


def test_a_reject_is_kept_and_cuts_coverage(many: list[Tables]) -> None:
    for source in sorted(SOURCES):
        cuts = 0
        for seed, tables in enumerate(many):
            left = with_rejects(tables, source, Random(seed))
            lost = sum(len(tables[n]) - len(left[n]) for n in SOURCES[source])
            assert (lost > 0) == bool(left["reject"])
            assert len(left["reject"]) <= lost
            cuts += sum(row["is_cut"] for row in left["source_coverage"])
        # The inventory has no coverage, and a lost snapshot costs none.
        assert (cuts > 0) == (source in COVERAGE)
