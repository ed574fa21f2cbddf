"""Busy, idle, exposed and overlapped time of public traces, beside HolisticTraceAnalysis.

HTA rounds each activity inward to whole microseconds, so it loses up to 2 us of each. Whatever else
differs is one of the three things that `as_hta` does to our rows: with them, our models give HTA's
very numbers for every file. docs/traces.md has the table.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ingest.traces import kineto
from tests.models.harness import run_model
from warehouse.contracts import SourceFile

FOUND: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "hta" / "found.json").read_text()
)
ARCHIVE = "param__et_replay__tests__inputs__dlrm_kineto.tar.gz"
TRACE = {"trace_no": "1", "source_file": "f", "cluster": "c1", "job_id": "7", "attempt": "0"}


class Work(NamedTuple):
    """An activity of a GPU; ns since the file's base."""

    kind: str
    name: str
    start: int
    end: int
    correlation: int | None


class Times(NamedTuple):
    """What is said of one file, in ns."""

    span: int
    idle: int
    compute: int
    exposed: int
    overlap: int


class Trace(NamedTuple):
    """What we read of a file; ns since its base."""

    work: list[Work]
    #: Start by correlation of the host's calls.
    calls: dict[int, int]
    #: Name and end of each step.
    steps: dict[str, int]


@pytest.fixture(scope="module")
def paths(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each public trace by its name; members of the archive too."""
    folder = shared_data / "traces"
    if not (folder / ARCHIVE).exists():
        pytest.skip(f"no public traces at {folder}")
    unpacked = tmp_path_factory.mktemp("dlrm")
    with tarfile.open(folder / ARCHIVE) as archive:
        archive.extractall(unpacked, filter="data")
    return {path.name: path for path in [*folder.iterdir(), *unpacked.rglob("*.json")]}


def read(path: Path) -> Trace:
    """A file's work, calls and steps, as they land."""
    rows: dict[str, list[dict[str, Any]]] = {}
    wanted = {"kind", "name", "start_ns", "end_ns", "correlation", "base_ns"}
    for batch in kineto.read(SourceFile(str(path), path.name, "traces", "c1", None, {})):
        columns = sorted(wanted.intersection(batch.rows.schema.names))
        rows.setdefault(batch.table, []).extend(batch.rows.select(columns).to_pylist())
    base = rows["trace_header"][0]["base_ns"]
    return Trace(
        [
            Work(r["kind"], r["name"], r["start_ns"] - base, r["end_ns"] - base, r["correlation"])
            for r in rows.get("trace_kernel", [])
        ],
        {r["correlation"]: r["start_ns"] - base for r in rows.get("trace_launch", [])},
        {
            r["name"]: r["end_ns"] - base
            for r in rows.get("trace_annotation", []) if r["kind"] == "step"
        },
    )  # fmt: skip


def buckets(work: list[Work], window: tuple[int, int]) -> dict[str, int]:
    """What our models divide this window into."""
    tables = {
        "int_trace": [TRACE],
        "int_trace_step": [
            {"window_id": 1, "trace_no": 1, "hold_id": 4,
             "start_ns": window[0], "end_ns": window[1]}
        ],
        "int_gpu_work": [
            {"event_no": n, "trace_no": 1, "hold_id": 4, "kind": w.kind, "start_ns": w.start,
             "end_ns": w.end}
            for n, w in enumerate(work)
        ],
    }  # fmt: skip
    return {row["bucket"]: row["traced_ns"] for row in run_model("int_trace_bucket", tables)}


def times(work: Iterable[Work]) -> Times:
    """What our models make of this work, from its first activity to its last."""
    work = [w for w in work if w.end > w.start]
    window = min(w.start for w in work), max(w.end for w in work)
    found = buckets(work, window)
    assert sum(found.values()) == window[1] - window[0]
    comm = [w for w in work if w.kind == "comm"]
    all_comm = buckets(comm, window)["comm_exposed"] if comm else 0
    exposed = found.get("comm_exposed", 0)
    return Times(
        window[1] - window[0], found.get("gap_unknown", 0), found.get("compute", 0),
        exposed, all_comm - exposed,
    )  # fmt: skip


def theirs(found: dict[str, Any]) -> Times:
    """What HTA found, in ns."""
    exposed = overlap = 0
    for kinds, time in found["kinds_us"].items():
        if "communication" in kinds:
            if "computation" in kinds:
                overlap += time
            else:
                exposed += time
    us = found["kernel_time_us"], found["idle_time_us"], found["compute_time_us"], exposed, overlap
    return Times(*(1000 * time for time in us))


def as_hta(trace: Trace, path: Path) -> list[Work]:
    """The work that HTA takes, as it takes it."""
    # Whatever has a stream: waits, events of other accelerators, an op that names one.
    work = [*trace.work, *others(path)]
    # Of several steps, only work whose launch is in the file and before the last one's end.
    if len(trace.steps) > 1:
        last = max(trace.steps.values())
        work = [w for w in work if trace.calls.get(w.correlation or -1, last + 1) <= last]
    return [rounded(w._replace(kind=kind_by_name(w.name))) for w in work]


def others(path: Path) -> list[Work]:
    """Events that have a stream and are no work of a GPU."""
    data = path.read_bytes()
    value = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return [
        Work("", e["name"], round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000),
             e["args"].get("correlation"))
        for e in value["traceEvents"]
        if e.get("dur") is not None and isinstance(stream := e.get("args", {}).get("stream"), int)
        and stream != -1
        and e["cat"].lower() not in {"kernel", "memcpy", "memset", "gpu_memcpy", "gpu_memset"}
    ]  # fmt: skip


def kind_by_name(name: str) -> str:
    """Our word for the kind that HTA sees in a name."""
    if re.match(r"nccl.*Kernel", name):
        return "comm"
    return "copy" if re.match(r"Memcpy|Memset|dma|.*(Memcpy|Sync)", name) else "compute"


def rounded(work: Work) -> Work:
    """The same inward to whole microseconds, by the floats that HTA has."""
    start, length = work.start / 1000, (work.end - work.start) / 1000
    return work._replace(start=math.ceil(start) * 1000, end=math.floor(start + length) * 1000)


#: Why HTA counts other work than we do.
WAITS = "HTA counts waits between streams as work of the GPU"
UNLAUNCHED = "HTA leaves out the 11 % of the work whose launch is not in the file"
AN_OP = "HTA counts an op of the CPU that names a stream"
MULTIMEM = "HTA knows collectives by `nccl` only, not `multimem_all_reduce_kernel`; " + AN_OP[4:]
OTHER_CHIP = "HTA counts MTIA's events as work of a GPU"
NO_GPU = "HTA stops: there is no work of a GPU"
NO_STREAM = "HTA stops: its one kernel names no stream"
NEGATIVE = "HTA stops: rounded inward, 20 ns are less than nothing"
WHY = {
    "hta__critical_path": WAITS, "hta__negative_queue": UNLAUNCHED, "hta__triton": AN_OP,
    "tracelens__b200": MULTIMEM, "hta__mtia": OTHER_CHIP, "hta__cpu_only": NO_GPU,
    "hta__rank_unavailable": NO_GPU, "hta__large_integer": NO_STREAM,
    "kineto__docs": NEGATIVE,
}  # fmt: skip


def why(name: str) -> str:
    """Why HTA's numbers differ by more than its rounding; '' where they do not."""
    return next((reason for start, reason in WHY.items() if name.startswith(start)), "")


@pytest.mark.parametrize("name", sorted(FOUND))
def test_what_hta_gives_is_what_we_give(paths: dict[str, Path], root: Path, name: str) -> None:
    found, trace = FOUND[name], read(paths[name])
    ours = times(trace.work) if trace.work else None
    hta = None if "error" in found else theirs(found)
    assert table_line(name, ours, hta) in (root / "docs" / "traces.md").read_text().splitlines()
    if hta is None:
        assert why(name).startswith("HTA stops")
        return
    work = as_hta(trace, paths[name])
    # What is rounded to less than nothing bends HTA's sums by a microsecond each.
    bent = 1000 * sum(w.end < w.start for w in work)
    for same, other in zip(times(work), hta, strict=True):
        assert abs(same - other) <= bent
    if not why(name):
        assert ours is not None
        # Each activity loses up to 2 us.
        for mine, other in zip(ours, hta, strict=True):
            assert abs(mine - other) <= 2000 * len(trace.work)


def table_line(name: str, ours: Times | None, hta: Times | None) -> str:
    """The line of docs/traces.md for a file, in us."""
    short = name.removesuffix(".gz").removesuffix(".json").removesuffix(".pt.trace")
    cells = [f"`{short[:60]}`"]
    for field in Times._fields[1:]:
        mine = "-" if ours is None else f"{getattr(ours, field) / 1000:.0f}"
        cells.append(f"{mine} / {'-' if hta is None else getattr(hta, field) // 1000}")
    busy = ["-" if t is None else f"{(t.span - t.idle) / 1000:.0f}" for t in (ours, hta)]
    cells.insert(1, " / ".join(busy))
    return f"| {' | '.join(cells)} | {why(name)} |".replace("|  |", "| |")
