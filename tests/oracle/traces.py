"""What the recorded traces say, computed from the raw JSON by other means than the product.

Plain Python over the profiler's files and the step logs, exact integers in nanoseconds, no import
of the product, no SQL and no Parquet: slow and meant to be read. For each trace:

- `split`: which part each instant of each traced step belongs to, by waste-model section 3;
- `whole_job`: the traced means carried over to all logged steps, and whether the trace is fit for
  that;
- `kernels`: the exclusive time of each kernel name in each busy part (an instant that k kernels of
  the part share counts 1/k to each).

`python -m tests.oracle.traces` prints it all as a table.
"""

from __future__ import annotations

import gzip
import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.oracle.ladder import Held, Recording, Span, Step, proofs, read, shared, weighted

BUSY = ("compute", "comm_wait", "comm_exposed", "copy_exposed")
GAPS = ("data_stall", "host_sync", "launch_gap", "gap_unknown")
PARTS = (*BUSY, *GAPS)
#: A thread inside one of these waits for its data.
DATA_NAMES = ("enumerate(DataLoader)#*.__next__", "load_batch")
#: Calls and ops in which the host waits for the GPU; a cudaMemcpyAsync is none of them.
SYNC_NAMES = frozenset(
    {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
     "aten::item"}
)  # fmt: skip
HOST_CATEGORIES = frozenset({"cpu_op", "cuda_runtime", "cuda_driver"})
GPU_CATEGORIES = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
#: A host that pauses no longer than this between two events counts as running.
REST_NS = 100_000
#: Buckets of level 1 that come before in_step.
EARLIER = ("lost_work", "never_touched", "startup", "idle_held", "recovery_checkpoint")
#: The rule for traces that are unfit to stand for the whole job.
BUSY_LIMIT, SLOW_LIMIT, SHARE_LIMIT = 1.02, 1.10, 0.05


@dataclass(frozen=True)
class Event:
    """One event with a length, in epoch ns."""

    category: str
    name: str
    span: Span
    pid: object
    tid: object
    args: dict[str, Any]

    @property
    def kind(self) -> str:
        """What a GPU event's time counts as: compute, comm or copy."""
        if self.category != "kernel":
            return "copy"
        return "comm" if self.name.lower().startswith("nccl") else "compute"


@dataclass(frozen=True)
class Trace:
    """One trace file and the GPU of the attempt that it belongs to."""

    held: Held
    events: tuple[Event, ...]
    #: Start of the last participant of a collective, by its kernel's place in `events`; kernels
    #: whose partners are not known are absent.
    last_start: dict[int, int]

    @cached_property
    def span(self) -> Span:
        """From the start of the first event to the end of the last."""
        return min(e.span[0] for e in self.events), max(e.span[1] for e in self.events)

    @property
    def profiler_steps(self) -> list[Event]:
        """The host's steps of the profiler, in order of time."""
        found = [
            e for e in self.events
            if e.category == "user_annotation" and re.fullmatch(r"ProfilerStep#\d+", e.name)
        ]  # fmt: skip
        return sorted(found, key=lambda e: e.span)


# --- reading ------------------------------------------------------------------------------------


def events_of(text: bytes) -> tuple[Event, ...]:
    """The events with a length of one trace, exact to the nanosecond."""
    trace = json.loads(text, parse_float=Decimal)
    base = int(trace.get("baseTimeNanoseconds", 0))
    return tuple(
        Event(
            e.get("cat", ""), e["name"],
            (base + _ns(e["ts"]), base + _ns(e["ts"]) + _ns(e["dur"])),
            e["pid"], e["tid"], e.get("args", {}),
        )
        for e in trace["traceEvents"] if e["ph"] == "X"
    )  # fmt: skip


def _ns(us: Decimal | int) -> int:
    exact = Decimal(us) * 1000
    assert exact == int(exact), f"{us} us is no whole number of nanoseconds"
    return int(exact)


def read_traces(example: Path, recording: Recording) -> list[Trace]:
    """Every trace below an example's folder, ranks of one job matched with each other."""
    jobs: dict[tuple[str, int], list[tuple[Held, tuple[Event, ...]]]] = defaultdict(list)
    for path in sorted(example.glob("recordings/*/job_*/kineto/*.pt.trace.json.gz")):
        job = path.parent.parent.name.removeprefix("job_")
        named = re.search(r"_rank(\d+)\.", path.name)
        rank = int(named[1]) if named else 0
        events = events_of(gzip.decompress(path.read_bytes()))
        at = events[len(events) // 2].span[0]
        [held] = [
            h for h in recording.held
            if (h.job_id, h.rank) == (job, rank) and h.span[0] <= at < h.span[1]
        ]  # fmt: skip
        jobs[job, held.attempt].append((held, events))
    found = []
    for ranks in jobs.values():
        starts = last_starts([events for _, events in ranks])
        found += [
            Trace(held, events, start) for (held, events), start in zip(ranks, starts, strict=True)
        ]
    return found


def last_starts(ranks: Sequence[Sequence[Event]]) -> list[dict[int, int]]:
    """For each rank: collective kernel's place in its events -> start of its last participant.

    The n-th collective of a group and an operation on one rank belongs to the n-th on the others.
    Only where all ranks of the group are there and count as many of them is anything known.
    """
    calls: list[dict[tuple[str, str], list[int]]] = []
    for events in ranks:
        own: dict[tuple[str, str], list[int]] = defaultdict(list)
        for i in sorted(range(len(events)), key=lambda i: events[i].span):
            args = events[i].args
            if events[i].category == "kernel" and events[i].kind == "comm":
                own[str(args.get("Process Group Name")), str(args.get("Collective name"))].append(i)
        calls.append(own)
    found: list[dict[int, int]] = [{} for _ in ranks]
    for key in {key for own in calls for key in own}:
        members = [own.get(key, []) for own in calls]
        size = ranks[0][calls[0][key][0]].args["Group size"] if calls[0].get(key) else None
        if size != len(ranks) or len({len(m) for m in members}) != 1:
            continue
        for same in zip(*members, strict=True):
            elements = {
                events[i].args["In msg nelems"] for events, i in zip(ranks, same, strict=True)
            }
            assert len(elements) == 1, f"{key}: partners of different sizes {elements}"
            last = max(events[i].span[0] for events, i in zip(ranks, same, strict=True))
            for rank, i in enumerate(same):
                found[rank][i] = last
    return found


# --- intervals ----------------------------------------------------------------------------------


def union(spans: Iterable[Span], *, join_ns: int = 0) -> list[Span]:
    """Spans that touch or lie at most `join_ns` apart as one; empty ones are left out."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] <= join_ns:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > start:
            found.append((start, end))
    return found


def clip(spans: Iterable[Span], window: Span) -> list[Span]:
    """What of the spans lies inside the window."""
    inside = [(max(a, window[0]), min(b, window[1])) for a, b in spans]
    return [(a, b) for a, b in inside if a < b]


def gaps_between(runs: Sequence[Span], window: Span) -> list[Span]:
    """The rest of a window."""
    found, at = [], window[0]
    for start, end in clip(runs, window):
        if start > at:
            found.append((at, start))
        at = end
    if at < window[1]:
        found.append((at, window[1]))
    return found


def run_at(runs: Sequence[Span], at: int) -> Span | None:
    """The run of a union that an instant lies in."""
    i = bisect_right(runs, at, key=lambda run: run[0]) - 1
    return runs[i] if i >= 0 and at < runs[i][1] else None


# --- one part for each instant ------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """Some ns in which nothing changes: the part they belong to, and the kernels that share it."""

    span: Span
    part: str
    names: tuple[str, ...] = ()

    @property
    def ns(self) -> int:
        """Length."""
        return self.span[1] - self.span[0]


def pieces(trace: Trace) -> Iterator[Piece]:
    """The whole span of a trace, cut where something begins or ends."""
    gpu = [e for e in trace.events if e.category in GPU_CATEGORIES]
    waits = [
        (e.span[0], min(e.span[1], trace.last_start[i]))
        for i, e in enumerate(trace.events) if i in trace.last_start
    ]  # fmt: skip
    transfers = [
        (max(e.span[0], trace.last_start.get(i, e.span[0])), e.span[1])
        for i, e in enumerate(trace.events) if e.category == "kernel" and e.kind == "comm"
    ]  # fmt: skip
    marks: list[tuple[Span, str, str]] = [(e.span, e.kind, e.name) for e in gpu]
    marks += [(span, "waiting", "") for span in waits]
    marks += [(span, "moving", "") for span in transfers]
    marks += [(span, part, "") for part, span in _evidence(trace, union(e.span for e in gpu))]
    edges: dict[int, list[tuple[str, str, int]]] = defaultdict(list)
    for (start, end), kind, name in marks:
        if end > start:
            edges[start].append((kind, name, 1))
            edges[end].append((kind, name, -1))
    for at in trace.span:
        edges[at] += []
    on: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    before = min(edges)
    for at in sorted(edges):
        if at > before:
            yield _piece((before, at), on)
        for kind, name, change in edges[at]:
            on[kind][name] += change
            if not on[kind][name]:
                del on[kind][name]
        before = at


def _piece(span: Span, on: dict[str, dict[str, int]]) -> Piece:
    def names(kind: str) -> tuple[str, ...]:
        return tuple(name for name, count in on[kind].items() for _ in range(count))

    if on["compute"]:
        return Piece(span, "compute", names("compute"))
    if on["comm"]:
        # While any of the running collectives has all its ranks, bytes are on their way.
        return Piece(span, "comm_exposed" if on["moving"] else "comm_wait", names("comm"))
    if on["copy"]:
        return Piece(span, "copy_exposed", names("copy"))
    return Piece(span, next((part for part in GAPS if on[part]), "gap_unknown"))


def _evidence(trace: Trace, busy: Sequence[Span]) -> Iterator[tuple[str, Span]]:
    """What the host proves about gaps, as (part, span); it may reach over what is no gap."""
    threads = {(e.pid, e.tid) for e in trace.profiler_steps}
    for e in trace.events:
        on_thread = (e.pid, e.tid) in threads and e.category in ("user_annotation", "cpu_op")
        if on_thread and any(fnmatchcase(e.name, name) for name in DATA_NAMES):
            yield "data_stall", e.span
    host = [e for e in trace.events if e.category in HOST_CATEGORIES]
    runs = union((e.span for e in host), join_ns=REST_NS)
    yield from (("launch_gap", run) for run in runs)
    launched = {
        e.args["correlation"]: e.span[0]
        for e in host if e.category != "cpu_op" and "correlation" in e.args
    }  # fmt: skip
    next_launch: dict[int, int] = {}
    for e in trace.events:
        if e.category in GPU_CATEGORIES and e.args.get("correlation") in launched:
            start = launched[e.args["correlation"]]
            next_launch[e.span[0]] = min(start, next_launch.get(e.span[0], start))
    syncs = union(e.span for e in host if e.name in SYNC_NAMES)
    for start, end in gaps_between(busy, trace.span):
        if run_at(syncs, start):
            run = run_at(runs, start)
            assert run is not None, "a wait is a host event, so a run of the host covers it"
            yield "host_sync", (start, min(end, run[1]))
        if end in next_launch:
            yield "launch_gap", (max(start, next_launch[end]), end)


# --- the traced steps ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TracedStep:
    """One step of the profiler, split; `ns` sums to its length."""

    profiler_step: int
    step: Step
    span: Span
    ns: dict[str, int]
    #: The same inside the logged step only.
    logged_ns: dict[str, int]
    #: (part, kernel name) -> exclusive ns.
    kernels: dict[tuple[str, str], Fraction]
    #: The same inside the logged step only.
    logged_kernels: dict[tuple[str, str], Fraction]


def split(trace: Trace) -> list[TracedStep]:
    """Every traced step; the job's own step is the one that shares most time with it."""
    cut = list(pieces(trace))
    found = []
    for event in trace.profiler_steps:
        step = max(trace.held.steps, key=lambda s: (shared(s.span, event.span), -s.number))
        assert shared(step.span, event.span), f"{event.name} meets no logged step"
        both = (max(step.span[0], event.span[0]), min(step.span[1], event.span[1]))
        ns, kernels = _sums(cut, event.span)
        logged_ns, logged_kernels = _sums(cut, both)
        assert sum(ns.values()) == event.span[1] - event.span[0]
        found.append(
            TracedStep(
                int(event.name.split("#")[1]), step, event.span, ns, logged_ns, kernels,
                logged_kernels,
            )
        )  # fmt: skip
    return found


def _sums(
    cut: Sequence[Piece], window: Span
) -> tuple[dict[str, int], dict[tuple[str, str], Fraction]]:
    ns = dict.fromkeys(PARTS, 0)
    kernels: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for piece in cut[max(0, bisect_right(cut, window[0], key=lambda p: p.span[0]) - 1) :]:
        if piece.span[0] >= window[1]:
            break
        length = shared(piece.span, window)
        ns[piece.part] += length
        for name in piece.names:
            kernels[piece.part, name] += Fraction(length, len(piece.names))
    return ns, dict(kernels)


# --- the whole job ------------------------------------------------------------------------------


@dataclass(frozen=True)
class WholeJob:
    """What a trace says of all steps of its rank."""

    held: Held
    steps: tuple[TracedStep, ...]
    #: Mean length of the steps that were not traced, ns, the first left out.
    normal_ns: Fraction
    #: Mean length of the traced steps, by the profiler, ns.
    traced_ns: Fraction
    #: Relative weight of each part in a normal step, ns.
    weights: dict[str, Fraction]
    in_step_ns: int
    #: Engine-busy ns from the first to the last step by the ns of logged steps.
    counters_share: float

    @property
    def busy_share(self) -> float:
        """Mean busy time of a traced step by a normal step."""
        return float(sum(self.weights[part] for part in BUSY) / self.normal_ns)

    @property
    def slowdown(self) -> float:
        """Traced step by normal step."""
        return float(self.traced_ns / self.normal_ns)

    @property
    def unfit(self) -> bool:
        """The trace must not stand for the whole job."""
        off = abs(self.busy_share - self.counters_share) > SHARE_LIMIT
        return self.busy_share > BUSY_LIMIT or (self.slowdown > SLOW_LIMIT and off)

    def in_step(self) -> dict[str, Fraction]:
        """The in_step ns split by the weights; the parts sum to it."""
        total = sum(self.weights.values())
        return {part: self.in_step_ns * weight / total for part, weight in self.weights.items()}


def working_steps(
    recording: Recording, held: Held, *, without: tuple[str, ...]
) -> dict[int, list[Span]]:
    """By logged step: what of it none of these buckets of level 1 takes."""
    earlier = [span for name, spans in proofs(recording, held) if name in without for span in spans]
    free = gaps_between(union(earlier), held.span)
    return {step.number: clip(free, step.span) for step in held.steps}


def whole_job(recording: Recording, trace: Trace) -> WholeJob:
    """The traced means on the job's normal step: busy as traced, gaps as what is left of it."""
    held, steps = trace.held, split(trace)
    # A lost step lasted as long as any other: what was lost is its outcome.
    by_step = working_steps(recording, held, without=("idle_held", "recovery_checkpoint"))
    plain = [
        sum(b - a for a, b in spans)
        for number, spans in by_step.items()
        if number != held.steps[0].number and spans
        and not any(shared(span, trace.span) for span in spans)
    ]  # fmt: skip
    normal = Fraction(sum(plain), len(plain))
    busy = {part: Fraction(sum(s.logged_ns[part] for s in steps), len(steps)) for part in BUSY}
    gaps = {part: Fraction(sum(s.logged_ns[part] for s in steps), len(steps)) for part in GAPS}
    rest = max(normal - sum(busy.values()), Fraction(0))
    all_gaps = sum(gaps.values())
    gaps = {part: rest * ns / all_gaps if all_gaps else Fraction(0) for part, ns in gaps.items()}
    logged = sum(b - a for spans in by_step.values() for a, b in spans)
    kept = working_steps(recording, held, without=EARLIER)
    in_step = sum(b - a for spans in kept.values() for a, b in spans)
    ends = clip([(held.steps[0].span[0], held.steps[-1].span[1])], held.span)
    engine = sum(
        weight * sample.values["gpm_graphics_util"] / 100
        for sample, weight in weighted(recording.samples[held.machine, held.gpu], ends)
    )
    return WholeJob(
        held, tuple(steps), normal,
        Fraction(sum(s.span[1] - s.span[0] for s in steps), len(steps)),
        busy | gaps, in_step, engine / logged,
    )  # fmt: skip


def unfit_jobs(jobs: Iterable[WholeJob]) -> list[str]:
    """Jobs of which at least one rank's trace is unfit."""
    return sorted({job.held.job_id for job in jobs if job.unfit})


def table(example: Path) -> Iterator[str]:
    """The answer as text: sums over the traced steps in ms, and the whole job's figures."""
    recording = read(example)
    jobs = [whole_job(recording, trace) for trace in read_traces(example, recording)]
    yield (
        f"{'job':<9}{'n':>2}{'step_ms':>10}" + "".join(f"{part:>13}" for part in PARTS)
        + f"{'normal_ms':>10}{'slowdown':>9}{'busy':>7}{'counters':>9} unfit"
    )  # fmt: skip
    for job in jobs:
        ms = {part: sum(s.ns[part] for s in job.steps) / 1e6 for part in PARTS}
        yield (
            f"{job.held.job_id}.{job.held.attempt}.{job.held.rank:<3}{len(job.steps):>2}"
            f"{sum(ms.values()):>10.3f}" + "".join(f"{ms[part]:>13.3f}" for part in PARTS)
            + f"{float(job.normal_ns) / 1e6:>10.3f}{job.slowdown:>9.3f}{job.busy_share:>7.3f}"
            f"{job.counters_share:>9.3f} {'UNFIT' if job.unfit else ''}"
            f"  steps {', '.join(f'#{s.profiler_step}={s.step.number}' for s in job.steps)}"
        )  # fmt: skip
    yield f"unfit jobs: {', '.join(unfit_jobs(jobs))}"


if __name__ == "__main__":
    for line in table(Path(__file__).resolve().parents[2] / "examples" / "h200"):
        print(line)
