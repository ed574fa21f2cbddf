"""scontrol to GPU indices of running jobs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.jobs import scontrol
from warehouse.errors import ConfigError, SourceError

Tables = dict[str, list[dict[str, Any]]]
ReadBytes = Callable[..., Tables]


def _record(
    *nodes: str, job: str = "7", name: str = "train", state: str = "RUNNING",
    start: str = "1700000010", tail: str = "",
) -> str:  # fmt: skip
    lines = [
        f"JobId={job} JobName={name}",
        "   UserId=ann(1) GroupId=lab(1) MCS_label=N/A",
        f"   JobState={state} Reason=None Dependency=(null)",
        f"   StartTime={start} EndTime=1700003610 Deadline=N/A",
        "   JOB_GRES=gpu:8",
        *(f"     Nodes={text}" for text in nodes),
        "   MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0",
        f"   Command=(null){tail}",
    ]
    return "\n".join(lines) + "\n\n"


def _held(tables: Tables) -> list[tuple[object, ...]]:
    return [(r["job_id"], r["node"], r["gpu_index"], r["gpu_type"]) for r in tables["job_gpu"]]


@pytest.mark.parametrize("form", ["running", "running.oneline"])
def test_real_snapshots_in_both_forms(read_bytes: ReadBytes, root: Path, form: str) -> None:
    path = root / "tests" / "fixtures" / "slurm" / "v22.05" / f"scontrol_show_job_d.{form}.txt"
    tables = read_bytes(scontrol.read, path.read_bytes(), timezone="UTC")
    assert not tables["reject"]
    assert _held(tables) == [
        ("30", "gpu001", 5, "h100"),  # task 1 of the array 15
        ("20", "gpu002", 3, "h100"),
        ("23", "rack2-gpu-11", 0, "a100"),
        ("38", "gpu001", 2, "h100"),
        ("38", "gpu001", 3, "h100"),
        ("38", "gpu003", 0, "a100"),
        ("38", "gpu003", 1, "a100"),
        ("38", "rack2-gpu-11", 1, "a100"),
        ("38", "rack2-gpu-11", 2, "a100"),
        ("42", "gpu002", 0, "h100"),
        ("42", "gpu002", 1, "h100"),
        ("42", "gpu002", 2, "h100"),
        ("42", "gpu002", 4, "h100"),
        ("42", "gpu002", 5, "h100"),
    ]
    starts = {row["job_id"]: row["start"] for row in tables["job_gpu"]}
    assert starts["38"] == datetime(2026, 11, 30, 21, 44, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("file", "count", "jobs"),
    [
        ("v22.05/scontrol_show_job_d.running.txt", 21, 11),
        ("v22.05/scontrol_show_job_d.running.oneline.txt", 21, 11),
        ("v22.05/scontrol_show_job_d.txt", 1, 1),
        ("v26.05/scontrol_show_job_d.running.txt", 14, 8),
        ("v26.05/scontrol_show_job_d.txt", 4, 4),
    ],
)
def test_whole_real_outputs(
    read_bytes: ReadBytes, shared_data: Path, file: str, count: int, jobs: int
) -> None:
    data = (shared_data / "slurm" / file).read_bytes()
    tables = read_bytes(scontrol.read, data, timezone="UTC")
    assert not tables["reject"]
    assert len(tables["job_gpu"]) == count
    assert len({row["job_id"] for row in tables["job_gpu"]}) == jobs
    # At one time no GPU is held twice.
    assert len({(row["node"], row["gpu_index"]) for row in tables["job_gpu"]}) == count


def test_indices_are_those_that_the_nodes_report(read_bytes: ReadBytes, shared_data: Path) -> None:
    folder = shared_data / "slurm" / "v22.05"
    data = (folder / "scontrol_show_job_d.running.txt").read_bytes()
    used: dict[str, set[int]] = {}
    for row in read_bytes(scontrol.read, data, timezone="UTC")["job_gpu"]:
        used.setdefault(row["node"], set()).add(row["gpu_index"])
    text = (folder / "scontrol_show_node_d.running.txt").read_text()
    pattern = r"NodeName=(\S+)(?:(?!NodeName=).)*?GresUsed=gpu:\w+:\d+\(IDX:0-(\d+)\)"
    reported = {
        node: set(range(int(last) + 1)) for node, last in re.findall(pattern, text, re.DOTALL)
    }
    assert len(reported) == 5
    assert used == reported


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (["n[1-2] CPU_IDs=0-3 Mem=1 GRES=gpu:h100:2(IDX:2-3)"],
         [("7", "n1", 2, "h100"), ("7", "n1", 3, "h100"),
          ("7", "n2", 2, "h100"), ("7", "n2", 3, "h100")]),
        (["n1 CPU_IDs=0 Mem=1 GRES=gpu:h100:2(IDX:2,5),gpu:a100:1(IDX:7)"],
         [("7", "n1", 2, "h100"), ("7", "n1", 5, "h100"), ("7", "n1", 7, "a100")]),
        (["n1 CPU_IDs=0 Mem=1 GRES=shard:h100:4(IDX:0),gpu:2(IDX:0-1)"],
         [("7", "n1", 0, None), ("7", "n1", 1, None)]),
        (["n1 CPU_IDs=0 Mem=1 GRES=gpu:1g.10gb:1(IDX:3)"], [("7", "n1", 3, "1g.10gb")]),
        (["n1 CPU_IDs=0 Mem=1 GRES=gpu:8(S:0-3)"], []),
        (["n1 CPU_IDs=0 Mem=1 GRES=gpu:8(IDX:N/A)"], []),
        (["n1 CPU_IDs=0 Mem=1 GRES="], []),
        (["n1 CPU_IDs=0 Mem=1 GRES=(null)"], []),
        ([], []),
    ],
)  # fmt: skip
def test_lines_of_nodes(
    read_bytes: ReadBytes, nodes: list[str], expected: list[tuple[object, ...]]
) -> None:
    tables = read_bytes(scontrol.read, _record(*nodes).encode())
    assert _held(tables) == expected
    assert not tables["reject"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(
    held=st.dictionaries(
        st.sampled_from(["n1", "n2", "rack2-gpu-10"]),
        st.dictionaries(st.sampled_from(["h100", "a100", "1g.10gb"]), st.sets(st.integers(0, 15),
                        min_size=1), min_size=1),
    ),
    oneliner=st.booleans(),
)  # fmt: skip
def test_any_indices_round_trip(
    read_bytes: ReadBytes, held: dict[str, dict[str, set[int]]], oneliner: bool
) -> None:
    # A GPU has one type: an index of a second type moves out of the first's way.
    types = {"h100": 0, "a100": 100, "1g.10gb": 200}
    expected = set()
    nodes = []
    for node, gres in held.items():
        parts = []
        for kind, numbers in gres.items():
            moved = sorted(number + types[kind] for number in numbers)
            parts.append(f"gpu:{kind}:{len(moved)}(IDX:{','.join(map(str, moved))})")
            expected |= {("7", node, number, kind) for number in moved}
        nodes.append(f"{node} CPU_IDs=0 Mem=1 GRES={','.join(parts)}")
    text = _record(*nodes)
    if oneliner:
        text = " ".join(line.strip() for line in text.splitlines()) + "\n"
    tables = read_bytes(scontrol.read, text.encode())
    assert set(_held(tables)) == expected
    assert not tables["reject"]


def test_snapshots_one_after_the_other_are_one_row_per_gpu(read_bytes: ReadBytes) -> None:
    one = _record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)")
    later = _record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:1)", start="1700009999")
    pending = _record(state="PENDING", start="1700099999")
    tables = read_bytes(scontrol.read, (one + one + pending + later).encode())
    assert [(r["gpu_index"], r["source_row"]) for r in tables["job_gpu"]] == [(0, 1), (1, 27)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:2(IDX:0)"), "1 indices for 2 GPUs"),
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:2(IDX:0-x)"), "index list"),
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:2(IDX:0-1"), "parenthesis"),
        (_record("n[1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)"), "node list"),
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)", start="Unknown"), "is no time"),
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)", start="soon"), "is no time"),
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)", job="x"), "JobId="),
        (_record(name="a JobState=RUNNING Reason=x"), "stands 2 times"),
        (_record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)").partition("   MinCPUsNode")[0],
         "ends early"),
        ("JobId=7 JobName=cut\n", "stands 0 times"),
    ],
)  # fmt: skip
def test_a_bad_record_is_rejected_whole_and_the_rest_is_read(
    read_bytes: ReadBytes, record: str, reason: str
) -> None:
    good = _record("n9 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:4)", job="9")
    tables = read_bytes(scontrol.read, (good + record + good.replace("n9", "n8")).encode())
    assert _held(tables) == [("9", "n9", 4, None), ("9", "n8", 4, None)]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert reject["position"] == "line 10"
    assert "ann" not in reject["raw"]


def test_free_text_does_not_make_gpus(read_bytes: ReadBytes) -> None:
    fake = "\n     Nodes=n5 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:5)"
    record = _record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)", name=f"a{fake}", tail=fake)
    assert _held(read_bytes(scontrol.read, record.encode())) == [("7", "n1", 0, None)]


def test_files_without_jobs_and_files_that_are_none(read_bytes: ReadBytes) -> None:
    assert not read_bytes(scontrol.read, b"No jobs in the system\n")
    assert not read_bytes(scontrol.read, b"\n")
    for data in (b"slurm_load_jobs error: Unable to contact slurm controller\n", b"\x00\xff"):
        with pytest.raises(SourceError, match="scontrol show job --details"):
            read_bytes(scontrol.read, data)


def test_what_the_configuration_must_say(read_bytes: ReadBytes) -> None:
    record = _record("n1 CPU_IDs=0 Mem=1 GRES=gpu:1(IDX:0)", start="2026-11-30T21:41:06").encode()
    with pytest.raises(ConfigError, match="SLURM_TIME_FORMAT=%s scontrol"):
        read_bytes(scontrol.read, record)
    with pytest.raises(ConfigError, match="cluster ="):
        read_bytes(scontrol.read, record, cluster=None, timezone="UTC")
    tables = read_bytes(
        scontrol.read, record.replace(b"11-30T21:41", b"11-01T01:30"), timezone="America/New_York"
    )
    assert "occurs twice" in tables["reject"][0]["reason"]
