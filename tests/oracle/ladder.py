"""The recording's truth, computed from its raw files by other means than the product.

Plain Python over the recorded csv and jsonl files, exact integers in nanoseconds, no import of the
product, no SQL and no Parquet: slow and meant to be read. Two answers:

- `ladder`: the mean of each counter per job, attempt, rank and scope, weighted by the time that
  each sample covers, and MFU;
- `level1`: waste-model section 2 for each GPU of each attempt, by asking at every instant between
  two boundaries which rule comes first.

`basis` says whose job times count: "scheduler" cuts the driver's times to whole seconds, as the
written sacct rows do, and "driver" takes them as recorded.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Span = tuple[int, int]
NS = 1_000_000_000
PERIOD_NS = 100_000_000
#: Dense BF16 peak of an H200, FLOP/s.
PEAK = 989.4e12
IDLE_ENGINE_PCT, IDLE_PCIE_MIB, IDLE_NVLINK_MIB = 1.0, 50.0, 1.0
#: Whole seconds that each machine was up, which are what the bill is written for.
UP_S = {"one-gpu": 355, "two-gpu": 169}
#: Output name of each mean and the counter that it is made of (all in percent).
COUNTERS = {
    "gpu_util_ratio": "gpu_util_pct",
    "engine_active_ratio": "gpm_graphics_util",
    "sm_active_ratio": "gpm_sm_util",
    "sm_occupancy_ratio": "gpm_sm_occupancy",
    "tensor_active_ratio": "gpm_any_tensor_util",
    "dram_active_ratio": "gpm_dram_bw_util",
}
SCOPES = ("allocated", "first_to_last_step", "in_steps")
BUCKETS = (
    "lost_work", "never_touched", "startup", "idle_held", "recovery_checkpoint", "in_step",
    "not_observed", "between_steps",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """One line of a counter file: it speaks for `span`, the time since the line before it."""

    span: Span
    values: dict[str, float]


@dataclass(frozen=True)
class Step:
    """One logged step of one rank."""

    number: int
    span: Span
    model_flops: int


@dataclass(frozen=True)
class Held:
    """One GPU that one attempt held, with the steps of the rank that ran on it."""

    machine: str
    job_id: str
    attempt: int
    rank: int
    gpu: int
    span: Span
    failed: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Recording:
    """Both machines: what was held, the samples of each GPU, and the checkpoint records."""

    held: tuple[Held, ...]
    samples: dict[tuple[str, int], tuple[Sample, ...]]
    blocked: dict[tuple[str, int], tuple[Span, ...]] = field(default_factory=dict)


# --- reading ------------------------------------------------------------------------------------


def read(example: Path, *, basis: str = "scheduler") -> Recording:
    """Everything below an example's folder that the two answers need."""
    held: list[Held] = []
    samples: dict[tuple[str, int], tuple[Sample, ...]] = {}
    for machine, files in {
        "one-gpu": ("nvml.csv",), "two-gpu": ("nvml_gpu0.csv", "nvml_gpu1.csv"),
    }.items():  # fmt: skip
        folder = example / "recordings" / machine
        for gpu, name in enumerate(files):
            samples[machine, gpu] = tuple(_samples(folder / name))
        with (folder / "jobs.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                held += _held(folder, row, basis)
    blocked: dict[tuple[str, int], tuple[Span, ...]] = {}
    records = example / "checkpoints.jsonl"
    if records.exists():
        for line in records.read_text().splitlines():
            r = json.loads(line)
            key = (r["job_id"], r["attempt"])
            if r["blocking"]:
                blocked[key] = (*blocked.get(key, ()), (r["start_ns"], r["end_ns"]))
    return Recording(tuple(held), samples, blocked)


def _samples(path: Path) -> Iterable[Sample]:
    before = None
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            at = int(row["ts_ns"])
            # After a hole a sample speaks for its own period only.
            since = at - PERIOD_NS if before is None or at - before > 2 * PERIOD_NS else before
            yield Sample(
                (since, at), {k: float(v) for k, v in row.items() if k not in ("ts_ns", "pids")}
            )
            before = at


def _held(folder: Path, row: dict[str, str], basis: str) -> Iterable[Held]:
    start, end = int(row["start_ns"]), int(row["end_ns"])
    if basis == "scheduler":
        start, end = start // NS * NS, end // NS * NS
    first, _, last = row.get("gpus", "0").partition("-")
    job, attempt = row["job_id"], int(row.get("attempt", "0"))
    for rank, gpu in enumerate(range(int(first), int(last or first) + 1)):
        name = f"steps_rank{rank}.jsonl" if last else f"steps_{attempt}.jsonl"
        log = (folder / f"job_{job}" / name).read_text()
        steps = [json.loads(line) for line in log.splitlines()]
        yield Held(
            machine=folder.name, job_id=job, attempt=attempt, rank=rank, gpu=gpu,
            span=(start, end), failed=row["exit_code"] != "0",
            steps=tuple(
                Step(s["step"], (s["start_ns"], s["end_ns"]), s["model_flops"]) for s in steps
            ),
        )  # fmt: skip


# --- the ladder ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rung:
    """Means of one scope; `weights` are the ns in which each counter was observed."""

    ratios: dict[str, float]
    weights: dict[str, int]
    mfu_ratio: float
    total_ns: int
    model_flops: int


def scope_spans(held: Held, scope: str) -> list[Span]:
    """The time that a scope means, for one rank."""
    if scope == "allocated":
        return [held.span]
    if scope == "first_to_last_step":
        spans = [(held.steps[0].span[0], held.steps[-1].span[1])]
    else:
        spans = [step.span for step in held.steps]
    # The scheduler's whole second ends the hold, and with it what is left of a last step.
    start, end = held.span
    return [(max(a, start), min(b, end)) for a, b in spans if a < end and b > start]


def ladder(recording: Recording) -> dict[tuple[str, int, int | None, str], Rung]:
    """By (job, attempt, rank, scope); rank None is the whole job, all its ranks' time together."""
    found: dict[tuple[str, int, int | None, str], Rung] = {}
    for scope in SCOPES:
        jobs: dict[tuple[str, int], list[Held]] = defaultdict(list)
        for held in recording.held:
            found[held.job_id, held.attempt, held.rank, scope] = _rung(recording, [held], scope)
            jobs[held.job_id, held.attempt].append(held)
        for (job, attempt), ranks in jobs.items():
            found[job, attempt, None, scope] = _rung(recording, ranks, scope)
    return found


def _rung(recording: Recording, ranks: Sequence[Held], scope: str) -> Rung:
    sums: dict[str, list[float]] = {name: [] for name in COUNTERS}
    weights = dict.fromkeys(COUNTERS, 0)
    total = flops = 0
    for held in ranks:
        spans = scope_spans(held, scope)
        total += sum(end - start for start, end in spans)
        flops += sum(step.model_flops for step in held.steps)
        for sample, weight in weighted(recording.samples[held.machine, held.gpu], spans):
            for name, counter in COUNTERS.items():
                value = sample.values[counter]
                if not math.isnan(value):
                    sums[name].append(weight * value / 100)
                    weights[name] += weight
    ratios = {name: math.fsum(sums[name]) / weights[name] for name in COUNTERS}
    return Rung(ratios, weights, flops / (total / NS * PEAK), total, flops)


def weighted(samples: Sequence[Sample], spans: Sequence[Span]) -> Iterable[tuple[Sample, int]]:
    """Each sample with the ns that its time shares with the spans (both in order of time)."""
    first = 0
    for sample in samples:
        since, until = sample.span
        while first < len(spans) and spans[first][1] <= since:
            first += 1
        weight, i = 0, first
        while i < len(spans) and spans[i][0] < until:
            weight += max(0, min(until, spans[i][1]) - max(since, spans[i][0]))
            i += 1
        if weight:
            yield sample, weight


# --- one bucket for each instant ----------------------------------------------------------------


def idle_runs(recording: Recording, held: Held, *, idle_after_s: int) -> list[Span]:
    """Runs of quiet samples of the attempt, from this length on; a hole or a nan ends a run."""
    runs: list[Span] = []
    start = end = None
    for sample in (*recording.samples[held.machine, held.gpu], None):
        if sample is not None:
            since, until = max(sample.span[0], held.span[0]), min(sample.span[1], held.span[1])
            if since >= until:
                continue
            if _quiet(sample):
                if start is None or since != end:
                    _keep(runs, start, end, idle_after_s)
                    start = since
                end = until
                continue
        _keep(runs, start, end, idle_after_s)
        start = end = None
    return runs


def _keep(runs: list[Span], start: int | None, end: int | None, idle_after_s: int) -> None:
    if start is not None and end is not None and end - start >= idle_after_s * NS:
        runs.append((start, end))


def _quiet(sample: Sample) -> bool:
    # A comparison with nan is false, so a value that was not observed is not quiet.
    v = sample.values
    return (
        v["gpm_graphics_util"] <= IDLE_ENGINE_PCT
        and v["gpm_pcie_tx_per_sec"] + v["gpm_pcie_rx_per_sec"] < IDLE_PCIE_MIB
        and v["gpm_nvlink_total_tx_per_sec"] + v["gpm_nvlink_total_rx_per_sec"] < IDLE_NVLINK_MIB
    )


def lost_spans(recording: Recording, held: Held) -> list[Span]:
    """From the end of the step at which the next attempt begins to this attempt's end."""
    later = [
        other for other in recording.held
        if (other.job_id, other.rank, other.attempt) == (held.job_id, held.rank, held.attempt + 1)
    ]  # fmt: skip
    if not held.failed or not later:
        return []
    resumed = later[0].steps[0].number
    [kept] = [step for step in held.steps if step.number == resumed]
    return [(kept.span[1], held.span[1])]


def level1(
    recording: Recording, *, idle_after_s: int = 5
) -> dict[tuple[str, int, int], dict[str, int]]:
    """Nanoseconds of each bucket by (job, attempt, rank); they sum to the time held."""
    return {
        (held.job_id, held.attempt, held.rank): _sweep(recording, held, idle_after_s)
        for held in recording.held
    }


def proofs(
    recording: Recording, held: Held, *, idle_after_s: int = 5
) -> list[tuple[str, list[Span]]]:
    """(bucket, spans that prove it), in the order in which the first match wins."""
    samples = [s for s in recording.samples[held.machine, held.gpu] if shared(s.span, held.span)]
    engine = [s for s in samples if not math.isnan(s.values["gpm_graphics_util"])]
    seen = sum(shared(held.span, s.span) for s in engine)
    never = seen == held.span[1] - held.span[0] and not any(
        s.values["gpm_graphics_util"] > IDLE_ENGINE_PCT for s in engine
    )
    return [
        ("lost_work", lost_spans(recording, held)),
        ("never_touched", [held.span] if never else []),
        ("startup", [(held.span[0], held.steps[0].span[0])]),
        ("idle_held", idle_runs(recording, held, idle_after_s=idle_after_s)),
        ("recovery_checkpoint", list(recording.blocked.get((held.job_id, held.attempt), ()))),
        ("in_step", [step.span for step in held.steps]),
    ]


def _sweep(recording: Recording, held: Held, idle_after_s: int) -> dict[str, int]:
    ranked = proofs(recording, held, idle_after_s=idle_after_s)
    observed = [
        s.span for s in recording.samples[held.machine, held.gpu]
        if not math.isnan(s.values["gpm_graphics_util"]) and shared(s.span, held.span)
    ]  # fmt: skip
    # Each boundary switches one proof on or off; between two boundaries nothing changes.
    edges: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for bucket, spans in [*ranked, ("observed", observed), ("held", [held.span])]:
        for start, end in spans:
            if end > start:
                edges[start].append((bucket, 1))
                edges[end].append((bucket, -1))
    on: dict[str, int] = defaultdict(int)
    result = dict.fromkeys(BUCKETS, 0)
    before = held.span[0]
    for at in sorted(edges):
        if on["held"]:
            first = next((bucket for bucket, _ in ranked if on[bucket]), None)
            rest = "between_steps" if on["observed"] else "not_observed"
            result[first or rest] += at - before
        for bucket, change in edges[at]:
            on[bucket] += change
        before = at
    return result


def shared(a: Span, b: Span) -> int:
    """Nanoseconds that two spans have in common."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def unallocated(recording: Recording) -> dict[tuple[str, int], int]:
    """Nanoseconds by (machine, GPU) that were billed while nobody held the GPU."""
    free = {key: UP_S[key[0]] * NS for key in recording.samples}
    for held in recording.held:
        free[held.machine, held.gpu] -= held.span[1] - held.span[0]
    return free
