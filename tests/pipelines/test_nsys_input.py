"""A month in which Nsight Systems takes the place of PyTorch's profiler: through to the marts."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import load_config
from pipelines.run import run
from tests.ingest.traces.nsys_export import GLOBAL_PID, Cells, export, write
from tests.pipelines.command import CONFIG
from tests.pipelines.published import Published, quiet
from tests.pipelines.tiny_trace import FIRST_NS, SOURCES, trace, traced

NSYS = SOURCES.replace('kind = "kineto"', 'kind = "nsys"').replace('*.json"', '*.sqlite"')
BUSY = ("compute", "copy_exposed", "data_stall", "host_sync", "launch_gap", "gap_unknown")


def as_export(rank: int) -> dict[str, Any]:
    """The events of the mini cluster's trace as Nsight Systems exports them."""
    found = trace(rank, module="Net")
    events = found["traceEvents"]
    names = sorted({event["name"] for event in events})
    ids = {name: number for number, name in enumerate(names, 1)}
    tables: dict[str, list[Cells]] = {"kernel": [], "runtime": [], "nvtx": []}
    for event in events:
        start, args = event["ts"] * 1000, event["args"]
        times = {"start": start, "end": start + event["dur"] * 1000}
        thread = {"globalTid": GLOBAL_PID + 1, **times}
        if event["cat"] == "kernel":
            tables["kernel"].append({
                **times, "globalPid": GLOBAL_PID, "deviceId": 0, "streamId": 7,
                "correlationId": args["correlation"], "demangledName": ids[event["name"]],
            })  # fmt: skip
        elif event["cat"] == "cuda_runtime":
            tables["runtime"].append({
                **thread, "correlationId": args["correlation"], "nameId": ids[event["name"]],
            })  # fmt: skip
        else:
            text = event["name"]
            if event["cat"] == "cpu_op":
                shapes = f", sizes = {args['Input Dims']}" if "Input Dims" in args else ""
                text = f"{text}, op_id = {args['External id']}{shapes}"
            tables["nvtx"].append({**thread, "eventType": 59, "text": text})
    return export(
        **tables,
        StringIds=[{"id": number, "value": name} for name, number in ids.items()],
        TARGET_INFO_SESSION_START_TIME=[{"utcEpochNs": found["baseTimeNanoseconds"]}],
        TARGET_INFO_SYSTEM_ENV=[{"name": "Hostname", "value": "n1"}],
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Published, Published]:
    """The same month by PyTorch's profiler, and by Nsight Systems."""
    kineto = traced(tmp_path_factory.mktemp("kineto"), module="Net")
    nsys = traced(tmp_path_factory.mktemp("nsys"), ranks=(), config=CONFIG + NSYS)
    folder = nsys.parent / "traces" / "job_7"
    folder.mkdir(parents=True)
    for rank in (0, 1):
        write(folder / f"rank{rank}.sqlite", as_export(rank))
    found = []
    for path in (kineto, nsys):
        config = load_config(path)
        outcome = run(config, progress=quiet)
        assert outcome.landed.rejects == 0
        found.append(Published(config.root))
    return found[0], found[1]


def test_traces_are_the_jobs(both: tuple[Published, Published]) -> None:
    sql = """
        select job_id, attempt, rank, found_by, step_count, gpu_count from trace_file order by rank
    """
    assert both[0].rows(sql) == both[1].rows(sql)
    assert both[1].rows(sql)[0] == {
        "job_id": "7", "attempt": 0, "rank": 0, "found_by": "path", "step_count": 3, "gpu_count": 6,
    }  # fmt: skip


def test_steps_are_split_as_by_the_other_profiler(both: tuple[Published, Published]) -> None:
    """Collectives have no number: whom they waited for is not known, so all of it is exposed."""
    parts = ", ".join(f"{part}_ns" for part in BUSY)
    sql = f"""
        select rank, step, {parts}, comm_wait_ns + comm_exposed_ns as comm_ns
        from step_breakdown order by rank, step
    """
    rows = both[1].rows(sql)
    assert rows == both[0].rows(sql)
    assert [(r["rank"], r["compute_ns"], r["comm_ns"]) for r in rows] == [
        (rank, 300_000_000, 600_000_000 - 500_000_000 * rank) for rank in (0, 1) for _ in range(3)
    ]
    assert [row["data_stall_ns"] for row in rows] == [0] * 3 + [500_000_000] * 3
    assert both[1].rows("select sum(comm_wait_ns) as ns from step_breakdown") == [{"ns": 0}]


def test_kernels_are_priced_and_linked(both: tuple[Published, Published]) -> None:
    sql = """
        select kernel_family, op, module, traced_calls, gpu_ns, direct_usd from kernel_cost
        where bucket = 'compute'
    """
    rows = both[1].rows(sql)
    assert rows == both[0].rows(sql)
    (row,) = rows
    assert (row["op"], row["module"], row["traced_calls"]) == ("aten::mm", "Net", 6)
    assert row["direct_usd"] > 0


def test_a_real_export_of_two_ranks_shows_both_gpus_of_the_job(
    shared_data: Path, tmp_path: Path
) -> None:
    """Set to the time of the mini cluster's job, which logs steps of 0.1 s here."""
    config = traced(tmp_path, ranks=(), config=CONFIG + NSYS)
    report = tmp_path / "traces" / "job_7" / "both.sqlite"
    report.parent.mkdir(parents=True)
    shutil.copyfile(shared_data / "nsys" / "nsysai__h100_2gpu_1s.sqlite", report)
    report.chmod(0o644)
    kind = "CUPTI_ACTIVITY_KIND"
    with closing(sqlite3.connect(report)) as plain:
        (first,) = plain.execute("select min(start) from NVTX_EVENTS").fetchone()
        plain.execute(
            "update TARGET_INFO_SESSION_START_TIME set utcEpochNs = ? + systemClockNs",
            [FIRST_NS + 5 * 10**9 - first],
        )
        plain.commit()
        work = plain.execute(
            f"""
            select deviceId, start, "end" from {kind}_KERNEL
            union all select deviceId, start, "end" from {kind}_MEMCPY
            union all select deviceId, start, "end" from {kind}_MEMSET order by 2
            """
        ).fetchall()
    for rank in (0, 1):
        steps = [
            {"job_id": "7", "attempt": 0, "step": n, "start_ns": FIRST_NS + n * 10**8,
             "end_ns": FIRST_NS + (n + 1) * 10**8}
            for n in range(200)
        ]  # fmt: skip
        text = "".join(json.dumps(step) + "\n" for step in steps)
        (tmp_path / f"steps_{rank}.jsonl").write_text(text)
    loaded = load_config(config)
    assert run(loaded, progress=quiet).landed.rejects == 0
    rows = Published(loaded.root).rows(
        """
        select rank, gpu_uuid, count(*) as steps, sum(compute_ns + comm_wait_ns + comm_exposed_ns
            + copy_exposed_ns) as busy_ns
        from step_breakdown group by all order by all
        """
    )
    # The trace covers logged steps 50 to 58 whole: what is busy in them, by an interval union.
    busy, until = [0, 0], [first, first]
    for device, start, end in work:
        start, end = max(start, until[device]), min(end, first + 9 * 10**8)
        if end > start:
            busy[device] += end - start
            until[device] = end
    assert [tuple(row.values()) for row in rows] == [
        (0, "GPU-a", 9, busy[0]), (1, "GPU-b", 9, busy[1]),
    ]  # fmt: skip
