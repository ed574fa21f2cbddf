"""`plumbline explain`: the rule, the number, its rows, its bill lines and its files."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from pipelines.explain import missing
from pipelines.explain_traces import remarks
from tests.pipelines.command import call, cluster, done, failed
from tests.pipelines.published import Published
from tests.pipelines.test_command_run import DECEMBER
from tests.pipelines.tiny_trace import TRACED, traced


def test_idle_time_of_the_recorded_notebooks(demo: Path) -> None:
    text = done("explain", "--team", "research", "--bucket", "idle_held", config=demo)
    assert "research, idle_held, November 2026" in text
    assert "Rule W08, version 1: a run of samples without engine" in text
    for job in ("h200/1009 attempt 0", "h200/2005 attempt 0"):
        assert job in " ".join(text.split())
    assert "bill/focus_2026-11.csv:2" in text
    assert "recordings/one-gpu/nvml.csv" in text
    assert "slurm/sacct.psv" in text


def test_every_number_of_the_month_can_be_explained(
    demo: Path, recorded: tuple[Published, object, object]
) -> None:
    rows = recorded[0].rows(
        "select team, bucket, sum(gpu_ns) as gpu_ns from waste_team_month group by all order by all"
    )
    assert len(rows) > 20
    for row in rows[::4]:
        text = done("explain", "--team", row["team"], "--bucket", row["bucket"], config=demo)
        assert "Rule W" in text
        assert "bill/focus_2026-11.csv" in text
        assert "waste_evidence" in text


def test_only_the_top_rows_and_how_to_see_all(demo: Path) -> None:
    words = ("explain", "--team", "foundation", "--bucket", "startup", "--month", "2026-11")
    text = done(*words, "--top", 1, config=demo)
    assert "1 of 8 rows; all: --top 8" in text
    assert "rows; all" not in done(*words, "--top", 8, config=demo)


@pytest.mark.parametrize(
    ("team", "bucket", "said"),
    [
        ("reserch", "idle_held", ["no team 'reserch'", "Did you mean 'research'?", "applied, "]),
        ("research", "idle", ["no 'idle' in 2026-11", "mean 'idle_held'?", "No rule gives 'idle'"]),
        ("research", "lost_work", ["no 'lost_work'", "Its buckets: between_steps, compute"]),
        ("'; drop", "idle_held", ["there is no team"]),
    ],
)
def test_what_is_not_there(demo: Path, team: str, bucket: str, said: list[str]) -> None:
    error = failed("explain", "--team", team, "--bucket", bucket, code=1, config=demo)
    assert all(part in error for part in said)


def test_another_month(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=[{}, DECEMBER])
    done("run", config=config)
    words = ("explain", "--team", "vision", "--bucket", "not_observed")
    error = failed(*words, code=1, config=config)
    assert "in 2026-12" in error
    assert "It is there in 2026-11 (--month)" in error
    text = done(*words, "--month", "2026-11", config=config)
    assert "c1/7 attempt 0" in text
    assert "bill.csv:2" in text
    error = failed(*words, "--month", "2026-10", code=1, config=config)
    assert "2026-10 is not published; published are 2026-11, 2026-12" in error


def test_an_unknown_rule_and_another_month_are_both_said() -> None:
    known = [{"month": date(2026, 10, 1), "team": "a", "bucket": "b"}]
    text = missing(known, "a", "b", date(2026, 11, 1))
    assert text == (
        "there is no team 'a' in 2026-11. Teams: none. No rule gives 'b'. "
        "It is there in 2026-10 (--month)."
    )


@pytest.mark.parametrize("words", [(), ("--team", "research"), ("--bucket", "idle_held")])
def test_team_and_bucket_are_needed(demo: Path, words: tuple[str, ...]) -> None:
    assert "Missing option" in failed("explain", *words, code=2, config=demo)


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    team = "[red]o'b\\oss[/red]\x1b[31m"
    config = cluster(tmp_path, teams=[{"team": team}], jobs=[{"NodeList": "n1"}])
    done("run", config=config)
    result = call("explain", "--team", team, "--bucket", "not_observed", config=config)
    assert result.exit_code == 0
    assert "[red]o'b\\oss[/red]\\u001b[31m, not_observed" in result.stdout
    assert "\x1b" not in result.output


# --- down to the traces ---------------------------------------------------------------------------


def explained(config: Path, bucket: str, *words: object) -> str:
    """What is said of the tiny job's bucket, each run of blanks as one."""
    text = done("explain", "--team", "vision", "--bucket", bucket, *words, config=config)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny traced job, published."""
    path = traced(tmp_path_factory.mktemp("tiny"), module="Net")
    done("run", config=path)
    return path


def test_waiting_names_steps_kernels_the_straggler_and_the_traces(tiny: Path) -> None:
    text = explained(tiny, "comm_wait")
    assert "c1/7 0 0 GPU-a 11 2026-11-10 10:00:21.000000 1,000.000 500.000 50.0" in text
    assert "c1/7 - record_param_comms nccl AllReduce 3 20 10.000 0.0278" in text
    assert "roofline" not in text
    # rank 1 made rank 0 wait half of each of its twenty seconds; 0.8 s of its own against 0.4 s
    assert "c1/7 0 1 GPU-b n1 10.000 0.0278 2.25" in text
    assert "c1/7 0 0 GPU-a n1 0.000 0.0000 0.44" in text
    assert "c1/7 0 1 path 3 100.0 100.0 50.0 100.0 1.00 yes traces/job_7/rank1.json" in text
    assert "Unfit" not in text
    assert text.index("gpu_hour_state") < text.index("step_breakdown") < text.index("kernel_cost")
    assert text.index("straggler_rank") < text.index("trace_file") < text.index("allocation")


def test_computing_names_its_module_and_what_it_was_for(tiny: Path) -> None:
    text = explained(tiny, "compute")
    assert "c1/7 Net aten::mm sm90_xmma_gemm_bf16bf16_bf16f32_f32 6 40 12.000 0.0333" in text
    assert "compute_split" in text
    assert "straggler_rank" not in text
    ((head, *parts),) = [
        block.splitlines()[1:]
        for block in text.split("\n\n")
        if block.startswith("What the computing was for")
    ]
    assert head == "part GPU-s % billed USD method"
    shares = [float(line.split()[2]) for line in parts[1:]]
    assert sum(shares) == pytest.approx(100, abs=0.2)


def test_a_gap_has_steps_and_traces_but_no_kernels(tiny: Path) -> None:
    text = explained(tiny, "data_stall")
    assert "c1/7 0 1 GPU-b 12 2026-11-10 10:00:22.000000 1,000.000 500.000 50.0" in text
    assert "kernel_cost" not in text
    assert "trace_file" in text
    assert "3 of" not in text
    assert "1 of 3 rows; all: --top 3" in explained(tiny, "data_stall", "--top", 1)


def test_a_bucket_outside_steps_has_no_traces(tiny: Path) -> None:
    text = explained(tiny, "startup")
    assert "trace_file" not in text
    assert "None of its jobs was traced" not in text


def test_jobs_without_traces_say_so(tmp_path: Path) -> None:
    path = traced(tmp_path, ranks=())
    done("run", config=path)
    text = explained(path, "step_unsplit")
    assert "None of its jobs was traced" in text
    assert "trace_file" not in text


def test_an_unfit_job_is_called_so(tmp_path: Path) -> None:
    path = traced(tmp_path)
    log = tmp_path / "steps_1.jsonl"
    # Its other steps are said to take half as long as the traced ones.
    steps = [json.loads(line) for line in log.read_text().splitlines()]
    for step in steps:
        if step["step"] not in TRACED:
            step["end_ns"] -= 5 * 10**8
    log.write_text("".join(json.dumps(step) + "\n" for step in steps))
    done("run", config=path)
    text = explained(path, "compute")
    assert "Unfit: c1/7 attempt 0. The traced steps do not fit the other steps" in text
    assert "c1/7 0 1 path 3 100.0 100.0 0.00 100.0 2.00 no traces/job_7/rank1.json" in text


def test_names_out_of_traces_are_shown_as_they_are(tmp_path: Path) -> None:
    path = traced(
        tmp_path, ranks=(0,), matmul="[red]k\x1b[31m\u202e", module="[link=http://x]M\x07"
    )
    trace = tmp_path / "traces" / "job_7" / "rank0.json"
    trace.rename(trace.with_name("rank0[bold].json"))
    done("run", config=path)
    for words in (("explain", "--team", "vision", "--bucket", "compute"), ("report",), ("doctor",)):
        result = call(*words, config=path)
        assert result.exit_code == 0
        assert not set("\x1b\x07\u202e") & set(result.output)
        text = "".join(result.stdout.split())
        if "doctor" not in words:
            assert "[red]k[31m\\u202e" in text  # a kernel's family has no control characters
            assert "[link=http://x]M\\u0007" in text
        if "report" not in words:
            assert "rank0[bold].json" in text


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"is_job_clash": True}, "file and path name two jobs or ranks"),
        ({"is_host_clash": True}, "its host is no node of the job"),
        ({"is_clock_ok": False}, "not wholly inside the attempt"),
        ({"is_truncated": True, "reject_count": 2}, "cut; 2 rejects"),
        ({"graph_count": 1200, "copy_count": 3}, "1,200 replayed by graphs; 3 copies"),
    ],
)
def test_what_is_odd_about_a_trace(other: dict[str, object], said: str) -> None:
    row: dict[str, object] = {
        "is_job_clash": False, "is_host_clash": False, "is_clock_ok": None, "is_truncated": False,
        "reject_count": 0, "graph_count": 0, "copy_count": 1, **other,
    }  # fmt: skip
    assert remarks(row) == said


# --- the recording --------------------------------------------------------------------------------


def test_the_straggler_of_the_recording(demo: Path) -> None:
    words = ("explain", "--team", "foundation", "--bucket", "comm_wait")
    text = done(*words, config=demo)
    late = text.split("straggler_rank")[1].split("trace_file")[0]
    first = next(line.split() for line in late.splitlines() if line.startswith("h200/"))
    assert first[:5] == ["h200/2002", "0", "1", "GPU-d7611478", "gpu-node-1"]
    assert 11 < float(first[5]) < 14
    assert "Unfit: h200/2001 attempt 0." in text
    assert "gpu-node-1_rank0" in text


def test_a_kernel_of_the_recording_reaches_its_module(demo: Path) -> None:
    text = done("explain", "--team", "applied", "--bucket", "compute", "--top", 3, config=demo)
    kernels = text.split("kernel_cost")[1].split("compute_split")[0]
    assert "GPT/Block/" in kernels
    assert "aten::mm" in kernels
    assert "h200/1002" in kernels
