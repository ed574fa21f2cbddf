"""Traces of a random month: some attempts are profiled, well or badly.

A trace has steps that follow the job's log or not, kernels, copies, collectives of several ranks,
the host's ops and calls, and modules. Its file is found by metadata, path or host, or by nothing;
it names a wrong attempt, lies outside its job, is cut, is there twice, or shows the same work as
another. Ranks number their collectives in the trace, in a recorder, or not at all. As everywhere
here, nothing knows the product's rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.oracle.world import CLUSTER, Row, World

NS = 10**9
HOUR_NS = 3600 * NS
#: The trace tables that hold events; the header is written when a file is done.
EVENTS = ("trace_kernel", "trace_launch", "trace_op", "trace_annotation")
#: Kept on request only, and read by no model: empty here.
KEPT_ON_REQUEST = ("trace_flow", "trace_memory")
TABLES = ("trace_header", *EVENTS, "collective", *KEPT_ON_REQUEST)
OPS = ("aten::mm", "aten::add", "aten::native_layer_norm", "custom::op")
Span = tuple[int, int]


@dataclass(frozen=True)
class Job:
    """One attempt to profile: `steps` are the logged ones by rank, `number -> span`."""

    job_id: str
    attempt: int
    span: Span
    ranks: int
    node: str
    steps: dict[int, dict[int, Span]]


@dataclass(frozen=True)
class Plan:
    """How an attempt is profiled: the traced steps by rank, and what the collectives were."""

    steps: dict[int, list[Span]]
    has_steps: bool
    found_by: str
    numbered: str
    calls: dict[int, list[tuple[int, int, int]]]


@dataclass
class File:
    """A trace while it is written."""

    name: str
    pid: int
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in EVENTS})
    count: int = 0

    def put(self, table: str, start: int, end: int, **values: Any) -> None:
        """Add one event."""
        self.count += 1
        host = {} if table == "trace_kernel" else {"pid": self.pid, "tid": self.pid}
        self.rows[table].append(
            {"event_no": self.count, "start_ns": start, "end_ns": end, **host, **values}
        )


def profile_jobs(world: World) -> None:
    """Profile some of the month's attempts, and write their traces and recorders."""
    for job in _jobs(world):
        for part in range(world.rng.choice((0, 1, 1, 2))):
            _profile(world, job, part)


def _jobs(world: World) -> list[Job]:
    numbers: dict[str, int] = {}
    found = []
    for row in world.tables["job_attempt"]:
        if row["source_file"] != "sacct.psv":
            continue
        number = numbers[row["job_id"]] = numbers.get(row["job_id"], -1) + 1
        end = row["end"].timestamp() if row["end"] else world.end
        steps: dict[int, dict[int, Span]] = {}
        for step in world.tables["train_step"]:
            if (step["job_id"], step["attempt"]) == (row["job_id"], number):
                by_step = steps.setdefault(step["rank"] or 0, {})
                by_step[step["step"]] = (step["start_ns"], step["end_ns"])
        found.append(
            Job(
                row["job_id"], number, (int(row["start"].timestamp()) * NS, int(end) * NS),
                row["gpu_count"], row["nodes"][0], steps,
            )
        )  # fmt: skip
    return found


def _profile(world: World, job: Job, part: int) -> None:
    rng = world.rng
    how = rng.choice(("log", "log", "log", "all", "part", "off", "outside"))
    steps = _steps(world, job, how)
    calls = {} if job.ranks == 1 else _collectives(world, steps)
    # Without steps of the profiler the log's are the windows: they must be what was traced.
    plan = Plan(
        steps, how not in ("log", "all") or world.chance(0.8),
        rng.choice(("metadata", "metadata", "path", "path", "host", "clash", "attempt", "nothing")),
        rng.choice(("trace", "recorder", "order")), calls,
    )  # fmt: skip
    whole = job.ranks > 1 and world.chance(0.1)
    for rank in (0,) if whole else range(job.ranks):
        if world.chance(0.9):
            file = File(f"kineto/{job.job_id}_{job.attempt}_{rank}_{part}.json", 4000 + rank)
            devices = range(job.ranks) if whole else (rank if world.chance(0.5) else 0,)
            for device in devices:
                _events(world, file, job, plan, rank, device, alone=whole)
            _write(world, file, job, plan, rank, alone=whole)


def _steps(world: World, job: Job, how: str) -> dict[int, list[Span]]:
    """Traced steps by rank: logged ones, a little wider; or some time in the job, or beside it."""
    rng, log = world.rng, job.steps.get(0, {})
    if log and how in ("log", "all", "part"):
        numbers = sorted(log)
        first = rng.randrange(len(numbers))
        picked = numbers[:12] if how == "all" else numbers[first : first + rng.randint(1, 3)]
        found: dict[int, list[Span]] = {}
        for rank in range(job.ranks):
            own = job.steps.get(rank, log)
            spans = [own.get(number, log[number]) for number in picked]
            if how == "part":
                spans = [(a + (b - a) // 4, a + (b - a) // 2) for a, b in spans]
            found[rank] = [(a - rng.randrange(5000), b + rng.randrange(5000)) for a, b in spans]
            found[rank] = [
                (max(span[0], before), span[1]) for span, before in
                zip(found[rank], [0, *(b for _, b in found[rank])], strict=False)
            ]  # fmt: skip
        return found
    length = rng.randrange(NS, 40 * NS)
    start = rng.randrange(job.span[0], max(job.span[0] + 1, job.span[1] - 3 * length))
    start += rng.choice((-5 * HOUR_NS, 5 * HOUR_NS)) if how == "outside" else 0
    spans = [(start + i * length, start + (i + 1) * length) for i in range(rng.randint(1, 3))]
    return dict.fromkeys(range(job.ranks), spans)


def _collectives(
    world: World, steps: dict[int, list[Span]]
) -> dict[int, list[tuple[int, int, int]]]:
    """By rank: (number, start, end) of each collective; they end together."""
    rng = world.rng
    found: dict[int, list[tuple[int, int, int]]] = {rank: [] for rank in steps}
    number = rng.randrange(100)
    for a, b in steps[0]:
        for place in sorted(rng.uniform(0.2, 0.8) for _ in range(rng.randint(1, 3))):
            number += 1
            slack = max(1, (b - a) // 20)
            starts = {rank: int(a + (b - a) * place) + rng.randrange(slack) for rank in steps}
            end = max(starts.values()) + rng.randrange(1, slack + 1)
            for rank, start in starts.items():
                found[rank].append((number, start, end))
    return found


def _events(
    world: World, file: File, job: Job, plan: Plan, rank: int, device: int, *, alone: bool
) -> None:
    rng = world.rng
    for number, (start, end) in enumerate(plan.steps[rank]):
        length = end - start
        if plan.has_steps and not (alone and device):
            file.put(
                "trace_annotation", start, end, kind="step", name="ProfilerStep", step_no=number
            )
        if world.chance(0.3):
            load = start + rng.randrange(length)
            name = rng.choice(("load_batch", "pipeline_bubble", "mine"))
            file.put("trace_annotation", load, load + length // 9, kind="user", name=name)
        if world.chance(0.3):
            file.put("trace_annotation", start, end, kind="module", name="Net", module_path="Net")
        busy = rng.choice((0.02, 0.1, 0.3))
        for _ in range(rng.randint(1, 4)):
            begin = start + rng.randrange(-length // 50, length)
            run = rng.randrange(1, max(2, int(length * busy)))
            kind = rng.choice(("compute", "compute", "compute", "copy"))
            _work(world, file, device, kind, begin, begin + run)
        if world.chance(0.3):
            wait = start + rng.randrange(length)
            file.put("trace_launch", wait, wait + length // 7, name="cudaStreamSynchronize")
    for number, start, end in () if alone else plan.calls.get(rank, ()):
        called = start - rng.randrange(1, 10**6)
        file.put(
            "trace_op", called, called + 100, name="record_param_comms",
            external_id=10**6 + number,
        )  # fmt: skip
        file.put(
            "trace_kernel", start, end, device=device, stream=9, activity="kernel", kind="comm",
            name="ncclKernel", family="ncclKernel", collective="allreduce", group_name="0",
            group_ranks=str(list(range(job.ranks))), group_size=job.ranks,
            seq=number if plan.numbered == "trace" else None, in_elements=64,
            external_id=10**6 + number,
        )  # fmt: skip
        if plan.numbered == "recorder":
            recorder = f"nccl/{job.job_id}_{job.attempt}_{rank}.json"
            world.put(
                "collective", recorder, recorder="flight_recorder", job_id=job.job_id, rank=rank,
                cluster=rng.choice((None, CLUSTER)), attempt=rng.choice((None, job.attempt)),
                group_name="0", group_ranks=str(list(range(job.ranks))), seq=number, is_p2p=False,
                name="allreduce", created_ns=called + 50, state="completed",
            )  # fmt: skip


def _work(world: World, file: File, device: int, kind: str, start: int, end: int) -> None:
    """One kernel or copy, mostly with its launch and its op."""
    rng, linked = world.rng, file.count + 1
    called = start - rng.randrange(1, 10**6)
    if world.chance(0.9):
        name = rng.choice(OPS)
        flops = rng.choice((None, 0, rng.randrange(10**15)))
        file.put(
            "trace_op", called - 10, called + 60, name=name,
            external_id=linked if world.chance(0.8) else None, flops=flops,
            bytes=rng.choice((None, rng.randrange(10**12))),
            math_dtype=rng.choice(("bf16", "fp32", "int3")) if flops else None,
            sequence_number=rng.choice((None, 1, 2)), fwd_thread_id=rng.choice((None, 0, 1)),
        )  # fmt: skip
    if world.chance(0.9):
        file.put("trace_launch", called, called + 50, name="cudaLaunchKernel", correlation=linked)
    file.put(
        "trace_kernel", start, end, device=device, stream=7, kind=kind,
        activity="memcpy" if kind == "copy" else "kernel", name=kind, family=rng.choice("abc"),
        correlation=linked, external_id=linked,
        graph_node_id=3 if world.chance(0.1) else None,
    )  # fmt: skip


def _write(world: World, file: File, job: Job, plan: Plan, rank: int, *, alone: bool) -> None:
    """Write the file: whole, cut, twice, or again with a little less."""
    is_cut = world.chance(0.1)
    if is_cut:
        last = world.rng.randrange(1, file.count + 1)
        for table, rows in file.rows.items():
            file.rows[table] = [row for row in rows if row["event_no"] <= last]
    _land(world, file, file.name, job, plan, rank, alone=alone, is_cut=is_cut)
    if world.chance(0.1):
        _land(world, file, f"copy/{file.name}", job, plan, rank, alone=alone, is_cut=is_cut)
    if world.chance(0.05) and len(file.rows["trace_launch"]) > 1:
        file.rows["trace_launch"].pop()
        _land(world, file, f"again/{file.name}", job, plan, rank, alone=alone, is_cut=True)


def _land(
    world: World, file: File, name: str, job: Job, plan: Plan, rank: int, *, alone: bool,
    is_cut: bool,
) -> None:  # fmt: skip
    events = [row for rows in file.rows.values() for row in rows]
    for table, rows in file.rows.items():
        world.tables[table] += [{"source_file": name, **row} for row in rows]
    other = str(int(job.job_id) + 1)
    named: dict[str, dict[str, Any]] = {
        "metadata": {"meta_job_id": job.job_id, "meta_rank": rank},
        "path": {"path_job_id": job.job_id, "path_rank": rank, "path_attempt": job.attempt},
        "host": {"host_name": job.node, "meta_rank": rank},
        "clash": {"meta_job_id": job.job_id, "path_job_id": other, "path_rank": rank},
        "attempt": {"path_job_id": job.job_id, "path_rank": rank, "path_attempt": job.attempt + 1},
        "nothing": {"host_name": "vm"},
    }
    world.tables["trace_header"].append(
        {
            "source_file": name, "format": "kineto", "base_ns": 0, "cluster": CLUSTER,
            "start_ns": min(row["start_ns"] for row in events),
            "end_ns": max(row["end_ns"] for row in events), "pid": file.pid,
            "world_size": None if alone or job.ranks == 1 else job.ranks, "has_stack": False,
            "has_shapes": True, "event_count": len(events),
            "gpu_count": len(file.rows["trace_kernel"]), "op_count": len(file.rows["trace_op"]),
            "step_count": sum(r["kind"] == "step" for r in file.rows["trace_annotation"]),
            "reject_count": 0, "is_truncated": is_cut, **named[plan.found_by],
        }
    )  # fmt: skip
