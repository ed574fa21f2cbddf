"""Traces of a random month: a few steps of some attempts, as the rows that a reader would land.

Ranks of an attempt play one script, so that their collectives match; each is a little late in its
own way. A trace may be named by its metadata, by its path or by its host alone, may be cut, may lie
a little outside its attempt, and may have steps where the job logs none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.oracle.world import CLUSTER, Machine, Row, World

NS = 10**9
#: What a script is made of; some of it needs several ranks.
KINDS = ("compute", "compute", "copy", "gap", "data", "sync")
TABLES = ("trace_header", "trace_kernel", "trace_launch", "trace_op", "trace_annotation")


@dataclass(frozen=True)
class Played:
    """An attempt as it was played: its GPUs by rank, its time in seconds, its steps."""

    job_id: str
    attempt: int
    places: tuple[tuple[Machine, int], ...]
    span: tuple[int, int]
    steps: tuple[tuple[float, float], ...]


@dataclass
class _File:
    """One trace as it is written; times in epoch ns."""

    name: str
    pid: int
    rows: dict[str, list[Row]] = field(default_factory=lambda: {table: [] for table in TABLES})
    count: int = 0

    def put(self, table: str, start: int, end: int, **values: Any) -> None:
        self.count += 1
        row = {"source_file": self.name, "event_no": self.count, "start_ns": start, "end_ns": end}
        if table != "trace_kernel":
            row |= {"pid": self.pid, "tid": 1}
        self.rows[table].append(row | values)


def write_traces(world: World, played: list[Played]) -> None:
    """Add traces and collectives, with dice of their own: the rest of the month stays as it is."""
    rng = Random(f"{world.start} {world.end} {len(played)}")
    for attempt in played:
        if rng.random() < 0.5:
            _trace_attempt(world, rng, attempt)


def _trace_attempt(world: World, rng: Random, attempt: Played) -> None:
    windows = _windows(rng, attempt)
    ranks = len(attempt.places)
    kinds = (*KINDS, "comm", "comm") if ranks > 1 else KINDS
    scripts = [
        [(rng.choice(kinds), rng.uniform(0.2, 1)) for _ in range(rng.randrange(2, 9))]
        for _ in windows
    ]
    named = rng.choice(("metadata", "path", "host"))
    for rank, (machine, _) in enumerate(attempt.places):
        if rng.random() < 0.1:
            continue
        file = _File(f"traces/{attempt.job_id}_{attempt.attempt}_{rank}.json", 1000 + rank)
        for number, (window, script) in enumerate(zip(windows, scripts, strict=True)):
            _step(file, rng, window, script, number, ranks)
        identity: Row = {"host_name": machine.node, "pid": file.pid}
        if named != "host":
            prefix = "meta" if named == "metadata" else "path"
            identity |= {f"{prefix}_job_id": attempt.job_id, f"{prefix}_rank": rank}
            if rng.random() < 0.5:
                identity[f"{prefix}_attempt"] = attempt.attempt
        _close(world, rng, file, identity, ranks)
        _recorder(world, file, attempt, rank)


def _windows(rng: Random, attempt: Played) -> list[tuple[int, int]]:
    """Up to three steps in a row that the job had, or some that only the profiler knows."""
    if attempt.steps and rng.random() < 0.9:
        first = rng.randrange(len(attempt.steps))
        chosen = list(attempt.steps[first : first + rng.randrange(1, 4)])
    else:
        at, chosen = rng.uniform(*attempt.span), []
        for _ in range(rng.randrange(1, 4)):
            end = at + rng.uniform(1, 60)
            chosen.append((at, end))
            at = end + rng.choice((0.0, 0.01))
    return [(int(start * NS), int(end * NS)) for start, end in chosen]


def _step(
    file: _File, rng: Random, window: tuple[int, int], script: list[tuple[str, float]],
    number: int, ranks: int,
) -> None:  # fmt: skip
    start, end = window
    file.put(
        "trace_annotation", start, end, kind="step", name=f"ProfilerStep#{number + 3}",
        step_no=number + 3,
    )  # fmt: skip
    unit = (end - start) // (len(script) + 1)
    for place, (kind, share) in enumerate(script):
        begin, late = start + place * unit, int(rng.uniform(0, 0.3) * unit)
        until = begin + int(share * unit)
        if kind == "data":
            file.put("trace_annotation", begin, until, kind="user", name="load_batch")
        elif kind == "sync":
            file.put("trace_launch", begin, until, name="cudaStreamSynchronize")
        elif kind != "gap":
            _work(file, kind, min(begin + late, until), until, ranks)


def _work(file: _File, kind: str, start: int, end: int, ranks: int) -> None:
    """An op, its launch and what the GPU does of it."""
    link = 10 * file.count
    file.put(
        "trace_op", start, start + 30_000, name="aten::mm" if kind == "compute" else "other",
        external_id=link, flops=10**12 if kind == "compute" else None,
        bytes=10**9 if kind == "compute" else None,
        math_dtype="bf16" if kind == "compute" else None,
    )  # fmt: skip
    file.put(
        "trace_launch", start + 10_000, start + 20_000, name="cudaLaunchKernel",
        correlation=link, external_id=link,
    )  # fmt: skip
    values: Row = {
        "device": 0, "stream": 7, "activity": "memcpy" if kind == "copy" else "kernel",
        "kind": kind, "name": f"{kind}_kernel", "family": kind, "correlation": link,
        "external_id": link,
    }  # fmt: skip
    if kind == "comm":
        values |= {
            "collective": "allreduce", "group_name": "0", "group_size": ranks, "in_elements": 8,
            "group_ranks": str(list(range(ranks))), "dtype": "float",
        }  # fmt: skip
    file.put("trace_kernel", start + 15_000, max(end, start + 15_000), **values)


def _close(world: World, rng: Random, file: _File, identity: Row, ranks: int) -> None:
    """The file's header, and its rows into the month."""
    events = [row for table in TABLES for row in file.rows[table]]
    world.tables["trace_header"].append(
        {
            "source_file": file.name, "format": "kineto", "base_ns": 0, "cluster": CLUSTER,
            "start_ns": min(row["start_ns"] for row in events),
            "end_ns": max(row["end_ns"] for row in events), "world_size": ranks,
            "device_name": "NVIDIA H200", "has_stack": False, "has_shapes": True,
            "event_count": len(events), "gpu_count": len(file.rows["trace_kernel"]),
            "op_count": len(file.rows["trace_op"]), "reject_count": 0,
            "step_count": sum(row.get("kind") == "step" for row in events),
            "is_truncated": rng.random() < 0.1, **identity,
        }
    )  # fmt: skip
    for table in TABLES[1:]:
        world.tables[table] += file.rows[table]


def _recorder(world: World, file: _File, attempt: Played, rank: int) -> None:
    """What the rank's flight recorder kept of the same collectives."""
    calls = [row for row in file.rows["trace_kernel"] if row["kind"] == "comm"]
    for number, row in enumerate(calls, 1):
        world.put(
            "collective", f"recorder/{attempt.job_id}_{attempt.attempt}_{rank}.json",
            recorder="flight_recorder", cluster=CLUSTER, job_id=attempt.job_id, rank=rank,
            group_name="0", seq=number, is_p2p=False, name="allreduce", in_elements=8,
            created_ns=row["start_ns"], state="completed",
        )  # fmt: skip
