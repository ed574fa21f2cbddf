"""The tables of a report: which columns are shown, in which unit, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports import words

#: As many rows as there are: tables that must be whole to add up.
ALL = 1_000_000


@dataclass(frozen=True)
class Col:
    """A column: its head, the column of the SELECT, and how it is shown.

    Kinds: text, name, class, part, team, job, gpu, flag, usd, hours, seconds, ms, percent, factor,
    count, instant, exact, kwh, bounds, usd_bounds. `summed` columns add up to their total.
    """

    head: str
    key: str
    kind: str = "text"
    summed: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Spec:
    """A table: the published table behind it, its caption, columns, bounds and evidence.

    `first` rows stand on the month's page, `first_of_team` on a team's; None: not cut by team.
    `sheet_rows` are in the workbook; the CSV file has all.
    """

    mart: str
    caption: str
    columns: Sequence[Col]
    first: int = 25
    first_of_team: int | None = 15
    evidence: str = ""
    empty: str = "Nothing was found."
    sheet_rows: int = 5000


_JOB = Col("job", "job_id", "job")
_TEAM = Col("team", "team", "team")
_GPU_HOURS = Col("time", "gpu_ns", "hours", True, "billed GPU-time")
_BILLED = Col("billed", "billed_usd", "usd", True, "what the invoice asks for")
_EFFECTIVE = Col(
    "effective", "effective_usd", "usd", True,
    "a commitment counts when it is used or left unused, not when it is bought",
)  # fmt: skip
_SHARE = Col("share of bill", "share_of_bill_ratio", "percent")
_CLASS = Col("class", "waste_class", "class")
_BUCKET = Col("bucket", "bucket")
_CAUSE = Col("cause", "cause", meaning="whose doing it is; dollars never move between teams")
_MEASURED = Col(
    "measured", "measured_share_ratio", "percent",
    meaning="share of its GPU-time whose low and high bounds equal its point",
)  # fmt: skip
_GRADE = Col("grade", "evidence_grade", "text", meaning="worst evidence grade of the row")
_PARTS = tuple(
    Col(part.replace("_", " "), f"{part}_ns", "ms", meaning=meaning)
    for part, meaning in words.STEP_PARTS.items()
)
_BEHIND = "The rows behind a bucket: plumbline explain --team TEAM --bucket {bucket}"

SPECS: dict[str, Spec] = {
    "invoices": Spec(
        "invoice_month", "Billed against allocated, per invoice and kind of charge",
        (
            Col("issuer", "issuer", "name"), Col("invoice", "invoice_id", "name"),
            Col("charge", "charge_category"), Col("lines", "line_count", "count", True),
            _BILLED, Col("allocated", "allocated_usd", "usd", True),
            Col("difference", "difference_usd", "exact", meaning="exactly 0, to the last digit"),
            Col("billed", "billed_gpu_ns", "hours", True),
            Col("parted", "partitioned_gpu_ns", "hours", True),
            Col("wrong lines", "wrong_lines", "count"),
        ),
        first=60, first_of_team=None, evidence="Each line: table recon_invoice.",
        empty="No invoice has landed.",
    ),
    "lines": Spec(
        "recon_invoice", "Each bill line against its allocation; the dearest first",
        (
            Col("invoice", "invoice_id", "name"), Col("line", "line_id", "name"),
            Col("charge", "charge_category"),
            Col("starts (UTC)", "charge_period_start", "instant"),
            Col("resource", "resource_id", "name"), _BILLED,
            Col("allocated", "allocated_usd", "usd", True),
            Col("difference", "difference_usd", "exact"),
            Col("billed", "billed_gpu_ns", "hours", True),
            Col("parted", "partitioned_gpu_ns", "hours", True),
        ),
        first=30, first_of_team=None,
        evidence="What each line pays: table allocation; the line itself: table bill_line.",
        empty="No bill line has landed.",
    ),
    "classes": Spec(
        "class_team_month", "The bill by class",
        (
            _CLASS, _GPU_HOURS, _EFFECTIVE, _SHARE, _GRADE,
        ),
        first=ALL, first_of_team=None, evidence="Its buckets: table waste_team_month.",
    ),
    "team_classes": Spec(
        "class_team_month", "The bill by class",
        (_CLASS, _GPU_HOURS, _EFFECTIVE, _GRADE),
        first=ALL, first_of_team=ALL, evidence="Its buckets: table waste_team_month.",
    ),
    "showback": Spec(
        "showback_team_month", "Showback: direct + shared + tax + credit = billed",
        (
            _TEAM,
            Col("direct", "direct_usd", "usd", True, "lines that pay a GPU and what goes with it"),
            Col("shared", "shared_usd", "usd", True, "lines that pay no GPU, but tax and credit"),
            Col("tax", "tax_usd", "usd", True), Col("credit", "credit_usd", "usd", True),
            _BILLED, _EFFECTIVE, _GPU_HOURS,
        ),
        first=ALL, first_of_team=ALL, evidence="Each line's split: table allocation.",
    ),
    "buckets": Spec(
        "waste_team_month", "Every bucket of the month, over all teams",
        (
            _CLASS, _BUCKET, _EFFECTIVE, _SHARE, _GPU_HOURS, _CAUSE,
            Col("teams", "team_count", "count"), _GRADE, _MEASURED,
        ),
        first=ALL, first_of_team=None, evidence="Rule and sources of each bucket: waste_evidence.",
    ),
    "waste": Spec(
        "waste_team_month", "Where each team's part of the bill went",
        (
            _TEAM, _CLASS, _BUCKET, _EFFECTIVE, _SHARE, _GPU_HOURS,
            Col("low to high", "low_gpu_hours", "bounds", meaning="bounds of this row alone"),
            _CAUSE, _GRADE, _MEASURED,
        ),
        first=ALL, first_of_team=ALL,
        evidence="Rule, rows and files of each: waste_evidence, or "
        "plumbline explain --team TEAM --bucket BUCKET",
    ),
    "jobs": Spec(
        "job_cost", "The dearest jobs",
        (
            _TEAM, _JOB, Col("name", "job_name", "name"), Col("user", "user_name", "name"),
            Col("state", "state"), Col("GPUs", "gpu_count", "count"), _GPU_HOURS, _BILLED,
            _EFFECTIVE, Col("energy", "energy_kwh", "kwh"),
            Col("MFU", "mfu_ratio", "percent", meaning="over all the time held"),
        ),
        evidence="What each GPU did in each hour: table gpu_hour_state.",
        empty="No job held a billed GPU.",
    ),
    "ladder": Spec(
        "efficiency_ladder", "GPU-Util beside what the GPU did; the longest hold first",
        (
            _TEAM, _JOB, Col("rank", "rank", "count"), Col("name", "job_name", "name"),
            Col("over", "scope"),
            *(Col(head, key, "percent", meaning=meaning)
              for key, (head, meaning) in words.RUNGS.items()),
            Col("GPU-time", "total_ns", "seconds"),
            Col("with readings", "observed_ns", "seconds"),
        ),
        first=40, first_of_team=30, sheet_rows=1000,
        evidence="How far each counter was read: telemetry_coverage.",
        empty="Nothing was read of what the jobs' GPUs did.",
    ),
    "stragglers": Spec(
        "straggler_rank", "Which ranks the others waited for",
        (
            _TEAM, _JOB, Col("rank", "rank", "count"), Col("GPU", "gpu_uuid", "gpu"),
            Col("node", "node", "name"),
            Col("waiting caused", "wait_caused_gpu_ns", "seconds", True),
            Col("its cost", "wait_caused_usd", "usd", True, "paid by those who waited"),
            Col("slowdown", "slowdown_ratio", "factor",
                meaning="its own step time without waiting, against the other ranks'"),
        ),
        first=30, first_of_team=16,
        evidence="A second view of bucket comm_wait, never added to it; its traces: trace_file.",
        empty="No traced job of several ranks.",
    ),
    "rank_steps": Spec(
        "step_breakdown", "Where a traced step goes on average, per rank",
        (
            _TEAM, _JOB, Col("rank", "rank", "count"), Col("GPU", "gpu_uuid", "gpu"),
            Col("steps", "step_count", "count"), Col("step", "step_ns", "ms"),
            Col("normal step", "normal_step_ns", "ms", meaning="untraced, by the job's own log"),
            *_PARTS, Col("unfit", "unfit", "flag",
                meaning="traced steps do not fit the others: wide bounds"),
        ),
        first=40, first_of_team=24, sheet_rows=1000, evidence="The traces: trace_file.",
        empty="No traced step.",
    ),
    "kernels_all": Spec(
        "kernel_cost", "Kernels over all jobs, the dearest first",
        (
            _BUCKET, Col("op", "op", "name"),
            Col("kernel family", "kernel_family", "name"), Col("jobs", "job_count", "count"),
            Col("calls", "calls", "count"), _GPU_HOURS,
            Col("direct", "direct_usd", "usd", True, "billed cost of the kernel's own time"),
            Col("loaded", "loaded_usd", "usd", True,
                "with its part of the job's other buckets; sums to the jobs' cost"),
            Col("bound", "bound", meaning="side of the roofline by its shapes"),
            Col("limiter", "limiter",
                meaning="what it runs at 60 % or more of: compute or memory; else latency"),
        ),
        first_of_team=None, evidence="Per job and module, with bounds: kernel_cost.",
        empty="No job's cost could be put on kernels.",
    ),
    "kernels": Spec(
        "kernel_cost", "Kernels per job, the dearest first",
        (
            _TEAM, Col("job", "job_id", "job"), _BUCKET,
            Col("module", "module", "name"), Col("op", "op", "name"),
            Col("kernel family", "kernel_family", "name"), Col("calls", "calls", "count"),
            _GPU_HOURS,
            Col("direct", "direct_usd", "usd", True, "billed cost of the kernel's own time"),
            Col("low to high", "low_usd", "usd_bounds"),
            Col("loaded", "loaded_usd", "usd", True,
                "with its part of the job's other buckets; sums to the jobs' cost"),
            Col("bound", "bound", meaning="side of the roofline by its shapes"),
            Col("limiter", "limiter",
                meaning="what it runs at 60 % or more of: compute or memory; else latency"),
            Col("achieved", "achieved_ratio", "percent",
                meaning="time that the roofline allows over time taken"),
        ),
        first=15, first_of_team=20, sheet_rows=1000,
        evidence="The traces: trace_file, trace_kernel.",
        empty="No job's cost could be put on kernels.",
    ),
    "split_all": Spec(
        "compute_split", "What compute time was for: its parts sum to the compute row",
        (Col("part", "part", "part"), _GPU_HOURS, _BILLED),
        first=ALL, first_of_team=None, evidence="Per attempt: compute_split.",
        empty="No job has compute time inside steps.",
    ),
    "split": Spec(
        "compute_split", "What compute time was for: its parts sum to the compute row",
        (_TEAM, Col("part", "part", "part"), _GPU_HOURS, _BILLED),
        first=ALL, first_of_team=ALL, evidence="Per attempt: compute_split.",
        empty="No job has compute time inside steps.",
    ),
    "interruptions": Spec(
        "interruptions", "Attempts that ended early, the dearest first",
        (
            _TEAM, _JOB, Col("ended (UTC)", "interrupted_at", "instant"), Col("state", "state"),
            Col("cause", "cause"), Col("restored step", "restored_step", "count"),
            Col("lost time", "lost_gpu_ns", "seconds", True),
            Col("at most", "lost_high_gpu_ns", "seconds"),
            Col("lost money", "lost_usd", "usd", True, "billed cost of the lost work"),
            Col("restart", "restart_gpu_ns", "seconds", True, "startup of the next attempt"),
            Col("found by", "method_id"),
        ),
        evidence=_BEHIND.format(bucket="lost_work"), empty="No attempt ended early.",
    ),
    "idle": Spec(
        "idle_sessions", "A GPU was held and nothing ran",
        (
            _TEAM, _JOB, Col("GPU", "gpu_uuid", "gpu"), Col("from (UTC)", "start", "instant"),
            Col("to (UTC)", "end", "instant"), Col("kind", "sub"),
            _CLASS, Col("billed time", "gpu_ns", "seconds", True),
            _BILLED,
        ),
        evidence=_BEHIND.format(bucket="idle_held"), empty="No idle session.",
    ),
    "unknown": Spec(
        "waste_team_month", "What nothing explains, with its dollars",
        (
            _TEAM, _BUCKET, _EFFECTIVE, _SHARE, _GPU_HOURS, _CAUSE, _GRADE,
        ),
        evidence="What is missing and how to get it: plumbline doctor.",
        empty="Everything on the bill is explained: 0 USD unknown.",
    ),
    "coverage": Spec(
        "telemetry_coverage", "For how much of the time each counter was read",
        (
            Col("cluster", "cluster", "name"), Col("field", "field"),
            Col("GPUs", "gpu_count", "count"), Col("to be had", "expected_ns", "hours"),
            Col("read", "observed_ns", "hours"), Col("no reading", "invalid_ns", "hours",
                meaning="a value was delivered that is no reading"),
            Col("read", "observed_ratio", "percent"),
        ),
        first=40, first_of_team=None, evidence="Per GPU and day: telemetry_coverage.",
        empty="No counter was read.",
    ),
    "traces": Spec(
        "trace_file", "The trace files; those with a fault first",
        (
            _TEAM, Col("file", "source_file", "name"), _JOB, Col("rank", "rank", "count"),
            Col("found by", "found_by"), Col("clock fits", "is_clock_ok", "flag"),
            Col("steps", "step_count", "count"),
            Col("launch known", "launch_linked_ratio", "percent"),
            Col("op known", "op_linked_ratio", "percent"),
            Col("module known", "module_linked_ratio", "percent"),
            Col("collectives matched", "collective_matched_ratio", "percent"),
            Col("traced ÷ normal", "traced_step_ratio", "factor"),
            Col("unfit", "unfit", "flag"), Col("rejects", "reject_count", "count"),
            Col("cut off", "is_truncated", "flag"),
        ),
        evidence="Their GPU work: trace_kernel; what could not be read: reject.",
        empty="No trace was read.",
    ),
    "rejects": Spec(
        "reject", "Records that could not be read",
        (
            Col("source", "source"), Col("file", "file", "name"),
            Col("records", "record_count", "count", True),
            Col("first at", "first_position", "name"), Col("why", "first_reason", "name"),
        ),
        first=20, first_of_team=None, evidence="Each record: table reject.",
        empty="Every record that was delivered could be read.",
    ),
    "evidence": Spec(
        "waste_evidence", "How many rows of how many files stand behind each bucket",
        (
            _TEAM, _BUCKET, Col("rule", "rule_id"),
            Col("source", "source"), Col("rows", "source_rows", "count"),
            Col("files", "source_file_count", "count"),
        ),
        first=30, first_of_team=100, sheet_rows=1000,
        evidence="Each thing with its file: waste_evidence_item.",
    ),
    "rules": Spec(
        "waste_evidence", "The rules that decided the buckets",
        (
            _BUCKET, Col("rule", "rule_id"),
            Col("proof", "proof"), Col("rests on", "sources"),
        ),
        first=ALL, first_of_team=None, evidence="Rows and files: waste_evidence.",
    ),
    "changes": Spec(
        "class_team_month", "This month against the one before, the largest change first",
        (
            _TEAM, _CLASS,
            Col("before", "before_gpu_ns", "hours", True),
            Col("now", "gpu_ns", "hours", True),
            Col("before", "before_usd", "usd", True), Col("now", "effective_usd", "usd", True),
            Col("change", "change_usd", "usd", True),
        ),
        evidence="Its buckets: waste_team_month.",
    ),
    "seen": Spec(
        "seen_not_billed", "Seen, not billed: time that records show and the bill does not pay",
        (_JOB, Col("GPU-time", "gpu_ns", "seconds", True)),
        first=10, first_of_team=None, empty="Everything that was seen is billed.",
    ),
    "unread": Spec("reject", "Records of bills that could not be read", (), first_of_team=None),
    "steps": Spec(
        "step_breakdown", "Traced steps", (), first=4000, first_of_team=600, sheet_rows=1000
    ),
    "step_times": Spec("train_step", "Logged steps", (), first=640, first_of_team=160),
}  # fmt: skip

#: Tables that are written as files, in this order; in a team's report those that are cut by team.
FILES = (
    "invoices", "lines", "showback", "classes", "team_classes", "waste", "buckets", "jobs",
    "ladder", "stragglers", "rank_steps", "steps", "kernels", "kernels_all", "split", "split_all",
    "interruptions", "idle", "unknown", "coverage", "traces", "rejects", "evidence", "rules",
    "changes", "seen",
)  # fmt: skip
