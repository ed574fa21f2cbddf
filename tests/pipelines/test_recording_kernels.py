"""The recorded traces in kernel_cost, compute_split and trace_file, against the raw JSON."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ingest.traces.kernel_names import family
from tests.oracle.traces import BUSY, Trace
from tests.oracle.work import Work, work_of
from tests.pipelines.published import Published
from tests.pipelines.traced import Jobs, Key, key_of

MS = 1_000_000


@pytest.fixture(scope="module")
def work(traces: list[Trace], jobs: Jobs) -> dict[Key, Work]:
    return {key_of(trace): work_of(trace, jobs[key_of(trace)].steps) for trace in traces}


@pytest.fixture(scope="module")
def files(published: Published) -> dict[Key, dict[str, Any]]:
    """trace_file by job, attempt and rank."""
    return {
        (row["job_id"], row["attempt"], row["rank"]): row
        for row in published.rows("select * from trace_file")
    }


def test_kernels_sum_to_their_bucket_and_to_the_job(published: Published) -> None:
    kernels = published.rows(
        """
        select job_id, bucket, sum(gpu_ns) as ns, sum(direct_usd) as usd
        from kernel_cost where bucket is not null group by all
        """
    )
    state = {
        (row["job_id"], row["bucket"]): row
        for row in published.rows(
            f"""
            select job_id, bucket, sum(gpu_ns) as ns, sum(billed_usd) as usd
            from gpu_hour_state where bucket in {BUSY} and job_id is not null group by all
            """
        )
    }
    assert {(row["job_id"], row["bucket"]) for row in kernels} == state.keys()
    for row in kernels:
        assert row["ns"] == state[row["job_id"], row["bucket"]]["ns"]
        assert row["usd"] == state[row["job_id"], row["bucket"]]["usd"]
    loaded = published.rows(
        "select month, job_id, sum(loaded_usd) as usd from kernel_cost group by all order by all"
    )
    cost = published.rows(
        "select month, job_id, sum(billed_usd) as usd from job_cost group by all order by all"
    )
    assert loaded == cost
    assert len(cost) == 15
    assert all(isinstance(row["usd"], Decimal) for row in cost)


def test_traced_time_of_each_kernel_family_is_what_the_raw_json_says(
    published: Published, jobs: Jobs
) -> None:
    expected: dict[tuple[str, str, str], float] = defaultdict(float)
    for (job, _, _), known in jobs.items():
        # A bucket that no logged step has any time in has no time to divide.
        there = {part for step in known.steps for part, ns in step.logged_ns.items() if ns}
        for step in known.steps:
            for (part, name), ns in step.kernels.items():
                if part in there:
                    expected[job, part, family(name)] += float(ns)
    found = {
        (row["job_id"], row["bucket"], row["kernel_family"]): int(row["ns"])
        for row in published.rows(
            """
            select job_id, bucket, kernel_family, sum(traced_gpu_ns) as ns
            from kernel_cost where traced_gpu_ns > 0 group by all
            """
        )
    }
    big = {key for key, ns in expected.items() if ns >= 1000}
    assert big <= found.keys()
    assert len(big) > 200
    for key in big:
        assert found[key] == pytest.approx(expected[key], rel=0.01, abs=1000), key
    assert sum(found.values()) == pytest.approx(sum(expected.values()), rel=1e-4)


def test_1006_has_one_kernel_family(published: Published) -> None:
    rows = published.rows(
        """
        select kernel_family, sum(gpu_ns) as ns from kernel_cost
        where job_id = '1006' and bucket = 'compute' group by all order by ns desc
        """
    )
    total = sum(row["ns"] for row in rows)
    assert rows[0]["ns"] > 0.999 * float(total)
    assert "spin" in rows[0]["kernel_family"]


def test_1002s_kernels_reach_module_and_op(published: Published) -> None:
    [row] = published.rows(
        """
        select sum(gpu_ns) as ns, sum(gpu_ns) filter (where op is not null) as with_op,
            sum(gpu_ns) filter (where module is not null) as with_module
        from kernel_cost where job_id = '1002' and bucket = 'compute'
        """
    )
    assert row["with_op"] > 0.99 * float(row["ns"])
    assert row["with_module"] > 0.9 * float(row["ns"])
    products = published.rows(
        """
        select module, sum(gpu_ns) as ns from kernel_cost
        where job_id = '1002' and op in ('aten::mm', 'aten::addmm') group by all order by ns desc
        """
    )
    assert {row["module"].split("/")[-1] for row in products if row["module"]} >= {"Linear"}
    assert all("/" in row["module"] for row in products if row["module"])


def test_graph_replays_stay_unlinked_and_counted(
    published: Published, files: dict[Key, dict[str, Any]], traces: list[Trace]
) -> None:
    for job in ("1007", "1008"):
        file = files[job, 0, 0]
        [own] = [trace for trace in traces if trace.held.job_id == job]
        launches = {
            e.args["correlation"]
            for e in own.events if e.category == "cuda_runtime" and e.name == "cudaGraphLaunch"
        }  # fmt: skip
        replayed = [
            e for e in own.events
            if e.category == "kernel" and e.args.get("correlation") in launches
        ]  # fmt: skip
        assert file["graph_count"] == len(replayed) > 7000
        assert file["op_linked_ratio"] < 0.01
        assert file["launch_linked_ratio"] > 0.99
        [row] = published.rows(
            f"""
            select sum(gpu_ns) as ns, sum(gpu_ns) filter (where op is null) as without
            from kernel_cost where job_id = '{job}' and bucket = 'compute'
            """
        )
        assert row["without"] > 0.99 * float(row["ns"]) > 0


def test_1005_is_bound_by_memory_and_does_no_tensor_work(published: Published) -> None:
    rows = published.rows(
        """
        select op, bound, limiter, gpu_ns from kernel_cost
        where job_id = '1005' and bucket = 'compute' order by gpu_ns desc
        """
    )
    assert rows[0]["op"] == "aten::_embedding_bag_forward_only"
    known = [row for row in rows if row["bound"] is not None]
    assert known
    assert {row["bound"] for row in known} == {"memory"}
    parts = {
        row["part"]: int(row["gpu_ns"])
        for row in published.rows("select part, gpu_ns from compute_split where job_id = '1005'")
    }
    assert not {"model_flops", "recompute", "executed_flops"} & {p for p, ns in parts.items() if ns}


# --- what compute was for -----------------------------------------------------------------------


def test_compute_parts_sum_to_the_compute_row(published: Published) -> None:
    split = published.rows(
        """
        select job_id, attempt, sum(gpu_ns) as ns, sum(billed_usd) as usd
        from compute_split group by all order by all
        """
    )
    state = published.rows(
        """
        select job_id, attempt, sum(gpu_ns) as ns, sum(billed_usd) as usd
        from gpu_hour_state where bucket = 'compute' group by all order by all
        """
    )
    assert split == state
    assert len(split) == 16


def test_compute_parts_are_what_shapes_and_logs_say(
    published: Published, jobs: Jobs, work: dict[Key, Work]
) -> None:
    found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for row in published.rows("select job_id, attempt, part, gpu_ns from compute_split"):
        found[row["job_id"], row["attempt"]][row["part"]] += int(row["gpu_ns"])
    math_parts = (
        "model_flops", "recompute", "executed_flops", "memory_ceiling", "below_roofline",
    )  # fmt: skip
    for attempt, ranks in by_attempt(jobs):
        expected: Counter[str] = Counter()
        for key, job in ranks.items():
            done, compute = work[key], float(job.in_step()["compute"])
            model = sum(step.step.model_flops for step in job.steps)
            at_peak = float(done.peak_ns / done.compute_ns) * compute
            needed = min(1.0, model / float(done.flops)) * at_peak if done.flops else 0.0
            expected["model_flops"] += int(needed) if model else 0
            expected["at_peak"] += int(at_peak)
            expected["math"] += int(float(done.math_ns / done.compute_ns) * compute)
        parts = found[attempt]
        at_peak = parts["model_flops"] + parts["recompute"] + parts["executed_flops"]
        close = {"rel": 0.01, "abs": 2 * MS}
        assert at_peak == pytest.approx(expected["at_peak"], **close), attempt
        assert parts["model_flops"] == pytest.approx(expected["model_flops"], **close), attempt
        assert sum(parts[p] for p in math_parts) == pytest.approx(expected["math"], **close), (
            attempt
        )


def by_attempt(jobs: Jobs) -> Iterator[tuple[tuple[str, int], Jobs]]:
    for attempt in sorted({key[:2] for key in jobs}):
        yield attempt, {key: job for key, job in jobs.items() if key[:2] == attempt}


# --- the files ----------------------------------------------------------------------------------


def test_every_trace_finds_its_job_attempt_rank_and_gpu(
    files: dict[Key, dict[str, Any]], traces: list[Trace], published: Published
) -> None:
    steps = published.rows("select distinct job_id, attempt, rank, gpu_uuid from step_breakdown")
    gpu = {(row["job_id"], row["attempt"], row["rank"]): row["gpu_uuid"] for row in steps}
    assert files.keys() == {key_of(trace) for trace in traces}
    for trace in traces:
        key = key_of(trace)
        row = files[key]
        assert row["gpu_uuid"] == gpu[key]
        # The two-GPU jobs wrote their id into the trace; the others lie in a folder of their name.
        metadata = key[0] in {"2001", "2002", "2003"}
        assert row["found_by"] == ("metadata" if metadata else "path")
        assert (row["start_ns"], row["end_ns"]) == trace.span
        assert row["step_count"] == len(trace.profiler_steps)
        assert row["is_clock_ok"]
        assert not row["is_job_clash"]
        assert not row["is_truncated"]
        assert row["reject_count"] == 0
        assert row["copy_count"] == 1
        assert row["collective_count"] == len(trace.last_start)
        assert row["collective_matched_ratio"] == (1.0 if trace.last_start else None)


def test_shares_of_linked_work_are_what_the_raw_json_says(
    files: dict[Key, dict[str, Any]], traces: list[Trace]
) -> None:
    for trace in traces:
        row = files[key_of(trace)]
        work = [e for e in trace.events if e.category in ("kernel", "gpu_memcpy", "gpu_memset")]
        launches = {
            e.args.get("correlation")
            for e in trace.events if e.category in ("cuda_runtime", "cuda_driver")
        }  # fmt: skip
        ops = {e.args.get("External id") for e in trace.events if e.category == "cpu_op"} - {None}
        assert row["gpu_count"] == len(work)
        launched = sum(e.args.get("correlation") in launches for e in work)
        assert row["launch_linked_ratio"] == pytest.approx(launched / len(work))
        named = sum(e.args.get("External id") in ops for e in work)
        # Where the file's own numbers name no op, the launch's time may.
        assert row["op_linked_ratio"] >= named / len(work) - 1e-9


def test_what_the_profiler_costs(files: dict[Key, dict[str, Any]], jobs: Jobs) -> None:
    for key, job in jobs.items():
        assert files[key]["traced_step_ratio"] == pytest.approx(job.slowdown, rel=0.01), key
    assert files["1004", 0, 0]["traced_step_ratio"] == pytest.approx(1.42, abs=0.01)


#: Land the traces alone and print their rows and the process's peak in kB. Its own high-water mark
#: begins anew with the program, where the usage counters still hold the tests' memory.
PEAK = """
import dataclasses, re, sys
from pathlib import Path
from pipelines.config import load_config
from pipelines.landing import land
from pipelines.run import open_store

config = load_config(Path(sys.argv[1]))
traces = tuple(source for source in config.sources if source.kind == "kineto")
config = dataclasses.replace(config, sources=traces, root=Path(sys.argv[2]))
store = open_store(config)
with store.transaction() as transaction:
    land(config, store, transaction, progress=lambda _: None)
rows = sum(store.open(entry).num_rows for entry in store.files("trace_launch", area="landing"))
print(rows, re.search("VmHWM:[^0-9]*([0-9]+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_the_traces_are_landed_in_little_memory(root: Path, tmp_path: Path) -> None:
    config = root / "examples" / "h200" / "plumbline.toml"
    shown = subprocess.run(
        [sys.executable, "-c", PEAK, str(config), str(tmp_path)],
        check=True, capture_output=True, text=True, cwd=root,
    ).stdout  # fmt: skip
    rows, kilobytes = (int(word) for word in shown.split())
    assert rows > 50_000
    assert kilobytes < 350 * 1024


def test_collectives_of_the_flight_recorder_are_landed(published: Published) -> None:
    rows = published.rows(
        """
        select job_id, rank, count(*) as n, max(seq) as last
        from collective group by all order by all
        """
    )
    assert [(row["job_id"], row["rank"], row["n"], row["last"]) for row in rows] == [
        ("2001", 0, 2000, 16783), ("2001", 1, 2000, 16783), ("2002", 0, 1615, 1615),
        ("2002", 1, 1615, 1615), ("2003", 0, 2000, 9634), ("2003", 1, 2000, 9634),
    ]  # fmt: skip
