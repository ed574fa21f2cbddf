"""`plumbline doctor` on traces: what each finding says, and that nothing is said of good ones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import load_config
from pipelines.doctor import diagnose, render
from pipelines.doctor_traces import trace_findings
from pipelines.finding import Finding
from pipelines.published import Published
from pipelines.terminal import console, write
from tests.pipelines.asked import asked
from tests.pipelines.command import done
from tests.pipelines.tiny_trace import FIRST_NS, put, trace, traced

NOW = datetime(2026, 12, 1, tzinfo=UTC)
#: A trace with nothing odd about it.
GOOD: dict[str, Any] = {
    "source_file": "t", "cluster": "c1", "job_id": "7", "attempt": 0, "rank": 0,
    "gpu_uuid": "GPU-a", "found_by": "path", "is_job_clash": False, "is_host_clash": False,
    "is_clock_ok": True, "start_ns": FIRST_NS, "end_ns": FIRST_NS + 10**9, "step_count": 3,
    "event_count": 500, "gpu_count": 100, "launch_linked_ratio": 1.0, "op_linked_ratio": 1.0,
    "module_linked_ratio": 1.0, "launch_lost_ratio": 0.01, "graph_count": 0, "collective_count": 10,
    "collective_matched_ratio": 1.0, "traced_step_ratio": 1.0, "unfit": False, "reject_count": 0,
    "is_truncated": False, "copy_count": 1,
}  # fmt: skip
HEADER: dict[str, Any] = {"source_file": "t", "meta_job_id": "7", "host_name": "n1"}


def found(**other: Any) -> list[tuple[str, str]]:
    """What is said of one trace that differs from a good one."""
    rows = asked("doctor_traces", {"trace_file": [{**GOOD, **other}], "trace_header": [HEADER]})
    assert all(row["subject"] == "t" for row in rows)
    return [(row["finding"], row["detail"]) for row in rows]


def test_nothing_is_said_of_a_good_trace() -> None:
    assert found() == []
    assert found(collective_count=0, collective_matched_ratio=None) == []
    assert found(gpu_count=0, op_linked_ratio=None, module_linked_ratio=None) == []


SPAN = "from 2026-11-10 10:00:10 to 2026-11-10 10:00:11 UTC"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"job_id": None, "gpu_uuid": None, "is_clock_ok": None, "found_by": "unmatched"},
         ("no_job", f"no attempt fits: names job 7, host n1, {SPAN}")),
        ({"job_id": None, "gpu_uuid": None, "is_clock_ok": None, "found_by": "ambiguous"},
         ("no_job", f"several attempts fit: names job 7, host n1, {SPAN}")),
        ({"launch_lost_ratio": 0.203}, ("lost", "c1/7 attempt 0, 21 % of its launches")),
        ({"gpu_uuid": None, "rank": None}, ("no_gpu", "c1/7 attempt 0, no rank")),
        ({"gpu_uuid": None, "rank": 5},
         ("no_gpu", "c1/7 attempt 0, rank 5, which has no GPU there")),
        ({"is_job_clash": True}, ("two_names", "taken for c1/7 attempt 0 rank 0")),
        ({"is_job_clash": True, "rank": None}, ("two_names", "taken for c1/7 attempt 0")),
        ({"is_clock_ok": False}, ("clock", f"c1/7 attempt 0, {SPAN}")),
        ({"is_clock_ok": False, "gpu_uuid": None}, ("clock", f"c1/7 attempt 0, {SPAN}")),
        ({"is_truncated": True}, ("cut", "500 events are kept")),
        ({"is_host_clash": True}, ("host", "host n1, c1/7 attempt 0 by path")),
        ({"step_count": 0}, ("no_steps", "c1/7 attempt 0, 100 GPU activities")),
        ({"op_linked_ratio": 0.89}, ("no_op", "11 of 100 GPU activities outside graphs")),
        ({"op_linked_ratio": 0.44, "graph_count": 50},
         ("no_op", "6 of 50 GPU activities outside graphs")),
        ({"module_linked_ratio": 0.0}, ("no_module", "c1/7 attempt 0, 100 GPU activities")),
        ({"collective_matched_ratio": 0.8},
         ("collectives", "c1/7 attempt 0, 2 of 10 collectives")),
        ({"copy_count": 3}, ("copies", "in 3 files")),
    ],
)  # fmt: skip
def test_each_finding(other: dict[str, Any], said: tuple[str, str]) -> None:
    assert found(**other) == [said]


@pytest.mark.parametrize(
    "other",
    [
        {"op_linked_ratio": 0.9},
        {"op_linked_ratio": 0.45, "graph_count": 50},
        {"op_linked_ratio": 0.0, "graph_count": 100},
        {"module_linked_ratio": 0.01},
    ],
)  # fmt: skip
def test_what_graphs_replay_needs_no_op_and_a_few_modules_are_modules(
    other: dict[str, Any],
) -> None:
    assert found(**other) == []


def test_files_are_named_worst_first() -> None:
    files = [
        {**GOOD, "source_file": name, "copy_count": copies}
        for name, copies in (("a", 2), ("b", 5), ("c", 2))
    ]
    headers = [{**HEADER, "source_file": name} for name in "abc"]
    rows = asked("doctor_traces", {"trace_file": files, "trace_header": headers})
    assert [row["subject"] for row in rows] == ["b", "a", "c"]


def jobs(files: list[dict[str, Any]], states: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    held = {"cluster": "c1", "job_id": "7", "attempt": 0, "effective_usd": Decimal(0)}
    rows = asked(
        "doctor_traced_jobs",
        {"trace_file": files, "gpu_hour_state": [{**held, **state} for state in states]},
    )
    return [(row["finding"], row["subject"], row["detail"]) for row in rows]


def test_unfit_jobs_with_what_is_at_stake() -> None:
    states = [
        {"gpu_uuid": "GPU-a", "method_id": "in_step_trace_unfit", "effective_usd": Decimal("1.5")},
        {"gpu_uuid": "GPU-a", "method_id": "in_step_trace_unfit", "effective_usd": Decimal("2")},
        {"gpu_uuid": "GPU-a", "method_id": "startup_first_step", "effective_usd": Decimal("9")},
    ]
    assert jobs([GOOD], states) == []
    assert jobs([{**GOOD, "unfit": True, "traced_step_ratio": 1.414}], states) == [
        ("unfit", "c1/7 attempt 0",
         "traced steps take 1.41 of a normal step, 3.50 USD inside steps"),
    ]  # fmt: skip
    ((_, _, detail),) = jobs([{**GOOD, "unfit": True, "traced_step_ratio": None}], states)
    assert detail == "no normal step is known, 3.50 USD inside steps"


def test_jobs_of_which_only_some_gpus_are_traced() -> None:
    states = [
        {"gpu_uuid": "GPU-a", "bucket": "compute", "effective_usd": Decimal(3)},
        {"gpu_uuid": "GPU-b", "bucket": "busy_unsplit", "effective_usd": Decimal(2)},
    ]
    said = ("some_ranks", "c1/7 attempt 0", "1 of 2 GPUs, 2.00 USD in busy_unsplit")
    assert jobs([GOOD], states) == [said]
    other = {**GOOD, "source_file": "u", "rank": 1, "gpu_uuid": "GPU-b"}
    assert jobs([GOOD, {**other, "step_count": 0}], states) == [said]
    assert jobs([GOOD, other], states) == []
    assert jobs([], states) == []
    assert jobs([{**GOOD, "step_count": 0}], states) == []


def test_traces_of_months_that_are_not_published() -> None:
    headers = [
        {"source_file": "in", "start_ns": FIRST_NS},
        {"source_file": "late", "start_ns": FIRST_NS + 30 * 86_400 * 10**9},
    ]
    rows = asked(
        "doctor_trace_months",
        {"trace_header": headers, "gpu_hour_state": [{"month": date(2026, 11, 1)}]},
    )
    assert rows == [{"subject": "late", "detail": "begins 2026-12-10 10:00:10 UTC"}]


def test_recorder_dumps_that_belong_to_nobody() -> None:
    kept = [
        {"source_file": "a", "job_id": "7", "rank": 0},
        {"source_file": "b", "job_id": None, "rank": 0},
        {"source_file": "c", "job_id": "8", "rank": 0},
        {"source_file": "c", "job_id": "8", "rank": 0},
        {"source_file": "d", "job_id": "7", "rank": None},
    ]
    rows = asked("doctor_recorders", {"collective": kept, "job_attempt": [{"job_id": "7"}] * 2})
    assert [(row["subject"], row["detail"]) for row in rows] == [
        ("b", "names no job, 1 collectives"),
        ("c", "names job 8, which the scheduler does not know, 2 collectives"),
        ("d", "names no rank, 1 collectives"),
    ]


# --- through a whole run --------------------------------------------------------------------------


def findings(path: Path) -> dict[str, Finding]:
    """The findings about traces that have rows, by title."""
    published = Published(load_config(path))
    return {finding.title: finding for finding in trace_findings(published) if finding.rows}


def test_a_job_whose_ranks_are_all_traced(tmp_path: Path) -> None:
    path = traced(tmp_path, module="Net")
    done("run", config=path)
    assert findings(path) == {}


def test_traces_of_all_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = traced(tmp_path, ranks=(0,))
    put(tmp_path, "job_99/rank0.json", trace(rank=0, steps=(3, 4)))
    put(tmp_path, "job_7/rank1[red].json", trace(rank=1, host="elsewhere", slurm_job_id="98"))
    put(tmp_path, "job_7/copy_rank0.json", (tmp_path / "traces/job_7/rank0.json").read_text())
    put(tmp_path, "job_7/stray.json", trace(steps=(1, 2), has_ops=False))
    text = (tmp_path / "traces/job_7/rank0.json").read_text()
    late = trace(rank=0, at_ns=FIRST_NS + 4000 * 10**9, slurm_restart_count="0")
    put(tmp_path, "job_7/rank0_late.json", late)
    put(tmp_path, "job_7/rank0_cut.json", text[: len(text) // 2])
    done("run", config=path)
    said = findings(path)
    subjects = {title: [subject for subject, _ in f.rows] for title, f in said.items()}
    assert subjects["traces whose job is not known"] == [
        "traces/job_7/rank1[red].json",
        "traces/job_99/rank0.json",
    ]
    assert subjects["traces of which no GPU is known"] == ["traces/job_7/stray.json"]
    assert subjects["traces that do not lie inside their attempt"] == [
        "traces/job_7/rank0_late.json"
    ]
    ((taken, copies),) = said["traces that stand in several files"].rows
    assert copies == "in 2 files"
    assert subjects["traces that end inside their events"] == ["traces/job_7/rank0_cut.json"]
    assert subjects["jobs of several GPUs of which only some are traced"] == ["c1/7 attempt 0"]
    assert taken in subjects["traces with collectives of which not every participant is known"]
    better = said["traces of a rank at a time that another trace shows better"].rows
    assert ("traces/job_7/rank0_cut.json", f"taken instead: {taken}") in better
    assert all(finding.todo for finding in said.values())

    write(console(), render(diagnose(load_config(path), now=NOW)))
    text = capsys.readouterr().out
    assert "traces/job_7/rank1[red].json: no attempt fits: names job 98, host elsewhere" in text
    assert "missing: traces whose job is not known (2)" in text


def test_without_traces_nothing_is_said_but_what_they_would_give(tmp_path: Path) -> None:
    path = traced(tmp_path, ranks=())
    done("run", config=path)
    assert findings(path) == {}
    text = " ".join(done("doctor", config=path).split())
    assert "kineto: no file fits traces/**/*.json" in text
    assert "without it in_step is not split, nor kernels priced" in text
