"""What is missing or odd about traces and recorders: what each finding means, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.finding import Finding, Level
from pipelines.published import Published

#: Finding of the questions -> title, level, what to do.
_FINDINGS: dict[str, tuple[str, Level, str]] = {
    "no_job": (
        "traces whose job is not known", "missing",
        "Let the job write its id into the trace (the export of kind kineto shows how), or name it "
        "in the path (`pattern`). Host and time alone do only where the scheduler's export says "
        "what time it `covers`. Where a job is named, the trace lies outside its attempts: check "
        "the clocks, and that the path is the trace's own. Until then its steps prove nothing.",
    ),
    "no_gpu": (
        "traces of which no GPU is known", "missing",
        "A trace of one rank of several needs its rank: from torch.distributed, or as {rank} in "
        "`pattern`. Check the job's GPUs too (kind scontrol_job). Until then it divides nothing.",
    ),
    "two_names": (
        "traces whose metadata and path name two jobs, attempts or ranks", "missing",
        "The metadata were believed. Correct `pattern`, or the folder that the job writes to.",
    ),
    "clock": (
        "traces that do not lie inside their attempt", "missing",
        "Check that job and attempt are the trace's own, and the clocks of the node and of the "
        "scheduler. What lies outside the attempt proves nothing.",
    ),
    "cut": (
        "traces that end inside their events", "missing",
        "The job ended while the trace was written, or its copy is not whole: copy it again, or "
        "let the profiler finish. Its events are kept, but it shows no steps: what was lost would "
        "read as gaps.",
    ),
    "lost": (
        "traces that show no work for some of their launches", "missing",
        "The profiler lost kernels: trace fewer steps, after more warm-up, without other "
        "profilers. What it lost looks like gaps, so such a job is unfit.",
    ),
    "unfit": (
        "jobs whose traced steps do not fit their other steps", "note",
        "Their parts inside steps may be anything from 0 to all of it. Trace with less (no stacks, "
        "memory or shapes) and after more warm-up, so that a traced step is as long as any other.",
    ),
    "some_ranks": (
        "jobs of several GPUs of which only some are traced", "note",
        "Trace the same steps on every rank: without a trace a rank that waits looks busy "
        "(busy_unsplit), and nobody can be said to wait for it.",
    ),
    "collectives": (
        "traces with collectives of which not every participant is known", "note",
        "Trace the same steps on every rank, and keep each rank's recorder (kind flight_recorder). "
        "Until then that time is comm_exposed, and no straggler is named.",
    ),
    "no_steps": (
        "traces without a step", "note",
        "Give the profiler a schedule and call prof.step() after each step, or let the job log its "
        "steps (kind step_log). Without a step a trace divides nothing.",
    ),
    "no_op": (
        "traces in which much of the GPU's work has no op", "note",
        "Record ProfilerActivity.CPU too, and begin at a step's start. Work launched outside "
        "ops has none. Such kernels are priced, but without op and module.",
    ),
    "no_module": (
        "traces that name no module", "note",
        "with_stack=True on a window now and then shows which module launched what; it slows the "
        "host, so not on each.",
    ),
    "host": (
        "traces from a host that the scheduler calls otherwise", "note",
        "Right for a container with a host name of its own; else `pattern` names the wrong job. "
        "The host was not used.",
    ),
    "twice": (
        "traces of a rank at a time that another trace shows better", "note",
        "They were set aside, so that nothing counts twice. Remove what is cut or old; if they are "
        "other ranks', let path or metadata say so.",
    ),
    "copies": (
        "traces that stand in several files", "note",
        "They count once. Narrow `files`, or remove the copies.",
    ),
}  # fmt: skip


def trace_findings(published: Published) -> Iterator[Finding]:
    """The findings about traces and recorders, those without rows among them."""
    rows: dict[str, list[tuple[str, str]]] = {name: [] for name in _FINDINGS}
    for question in ("doctor_traces", "doctor_traced_jobs"):
        for row in published.ask(question):
            rows[row["finding"]].append((row["subject"], row["detail"]))
    for name, (title, level, todo) in _FINDINGS.items():
        yield Finding(title, level, rows[name], todo)
    yield Finding(
        "traces of a time that is not published", "note", _pairs(published, "doctor_trace_months"),
        "They divide nothing: the bill of their month is missing, or their clock is wrong.",
    )  # fmt: skip
    yield Finding(
        "recorder dumps whose job or rank is not known", "missing",
        _pairs(published, "doctor_recorders"),
        "Name both in the path (`pattern`: job_{job_id}/...rank{rank}...). Until then their "
        "collectives match nothing.",
    )  # fmt: skip


def _pairs(published: Published, question: str) -> list[tuple[str, str]]:
    return [(str(row["subject"]), str(row["detail"])) for row in published.ask(question)]
