"""Whose trace it is: by its metadata, by its file's name, by the pattern."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.traces.identity import FileName, file_name, metadata
from tests.ingest.traces.reading import KERNEL, LAUNCH, OP, header, read, trace


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a/vm_440.1796074282522146507.pt.trace.json.gz", FileName("vm", 440)),
        ("gpu_node_3_17.1623212756351.pt.trace.json", FileName("gpu_node_3", 17)),
        ("gpu-node-1_rank0.1796074736179397168.pt.trace.json.gz", FileName("gpu-node-1", rank=0)),
        ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", FileName(None, 1074, 34)),
        ("set__rank-0.Apr_03_18_51_38.1102.pt.trace.json", FileName(None, 1102, 0)),
        ("libkineto_activities_1074.json", FileName(None, 1074)),
        ("dp0_pp0_tp1_dcp0_ep1_rank1.17960742825221465.pt.trace.json.gz", FileName(rank=1)),
        ("sampled_rank-1.json.gz", FileName(rank=1)),
        ("rank12.json", FileName(rank=12)),
        ("trace_Rank_3.json", FileName(rank=3)),
        ("1796074282-TP-1.trace.json.gz", FileName()),
        ("1796074282-TP-1-DP-0-EP-1.trace.json.gz", FileName()),
        ("worker0.1623212756351.pt.trace.json.gz", FileName()),
        ("rank0_of_rank8.json", FileName()),
        ("frank5.json", FileName()),
        ("rank5b.json", FileName()),
        ("trace.json", FileName()),
        ("job_7/rank3/trace.json", FileName()),
    ],
)
def test_names_of_files(name: str, found: FileName) -> None:
    assert file_name(name) == found


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"slurm_job_id": "2001"}, {"meta_job_id": "2001"}),
        ({"SLURM_JOB_ID": 2001}, {"meta_job_id": "2001"}),
        ({"job_id": "a", "slurm_job_id": "b"}, {"meta_job_id": "b"}),
        ({"slurm_job_id": "", "PT_PROFILER_JOB_NAME": "train-7"}, {"meta_job_id": "train-7"}),
        ({"slurm_job_id": None, "slurm_restart_count": "2"}, {"meta_attempt": 2}),
        ({"PT_PROFILER_JOB_ATTEMPT_INDEX": 1}, {"meta_attempt": 1}),
        ({"slurm_restart_count": "-1"}, {"meta_attempt": None}),
        ({"slurm_restart_count": True}, {"meta_attempt": None}),
        (
            {"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}},
            {"meta_rank": 3, "world_size": 8, "backend": "nccl"},
        ),
        ({"distributedInfo": {"rank": 3}, "RANK": 5}, {"meta_rank": 3}),
        ({"distributedInfo": {"backend": "nccl"}, "RANK": "5"}, {"meta_rank": 5}),
        ({"SLURM_PROCID": "6"}, {"meta_rank": 6}),
        ({"distributedInfo": "none"}, {"meta_rank": None, "world_size": None}),
        ({"host_name": "node-4"}, {"host_name": "node-4"}),
        ({"trace_id": "1BD1"}, {"trace_id": "1BD1"}),
        (
            {"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}, {"id": 1, "name": "x"}]},
            {"device_name": "NVIDIA H200", "device_count": 2},
        ),
        ({"deviceProperties": []}, {"device_name": None, "device_count": 0}),
        ({"deviceProperties": 7}, {"device_name": None, "device_count": None}),
        (
            {"cuda_runtime_version": 12090, "cuda_driver_version": "13000"},
            {"cuda_runtime": 12090, "cuda_driver": 13000},
        ),
        ({"record_shapes": 1, "with_stack": 1}, {"has_shapes": True, "has_stack": True}),
        ({"record_shapes": 0, "with_stack": 0}, {"has_shapes": False, "has_stack": False}),
    ],
)
def test_metadata_before_and_behind_the_events(
    tmp_path: Path, said: dict[str, Any], wanted: dict[str, Any]
) -> None:
    for made in (said | trace(KERNEL), trace(KERNEL) | said):
        row = header(read(tmp_path, made))
        assert {name: row[name] for name in wanted} == wanted


def test_metadata_that_are_no_json_are_searched() -> None:
    head = (
        b'{"schemaVersion": 1, "x": ,\n "slurm_job_id": "7", "deviceProperties": [{"name": "A"}],'
    )
    tail = b', "INFO": ["a "b" c"], "distributedInfo": {"rank": 2}, "record_shapes": 1}'
    found = metadata(head + b' "traceEvents": [', b"]" + tail)
    assert (found.job_id, found.rank, found.device_name) == ("7", 2, "A")
    assert found.has_shapes


def test_metadata_that_are_cut_are_searched() -> None:
    found = metadata(b'{"baseTimeNanoseconds": 5, "traceEvents": [', b"")
    assert found.base_ns == 5
    assert metadata(b'{"distributedInfo": {"rank": 2, "wor').rank == 2


def test_the_pattern_says_what_the_path_says(tmp_path: Path) -> None:
    name = "runs/job_1001/try2/n3-77-rank5.json.gz"
    pattern = ["other_{job_id}/x", "job_{job_id}/try{attempt}/{host}-{pid}-rank{rank}.json"]
    row = header(read(tmp_path, trace(OP, slurm_job_id="9"), name, pattern=pattern))
    assert (row["path_job_id"], row["path_attempt"], row["path_rank"]) == ("1001", 2, 5)
    assert (row["host_name"], row["pid"]) == ("n3", 77)
    assert row["meta_job_id"] == "9"
    assert row["cluster"] == "h200"


def test_a_file_that_fits_no_pattern_is_read(tmp_path: Path) -> None:
    row = header(read(tmp_path, trace(OP), "x/t.json", pattern="job_{job_id}/*.json"))
    assert row["path_job_id"] is None


def test_the_process_is_that_of_the_host_rows_where_there_is_one(tmp_path: Path) -> None:
    assert header(read(tmp_path, trace(OP, LAUNCH, KERNEL)))["pid"] == 440
    assert header(read(tmp_path, trace(OP, LAUNCH | {"pid": 5})))["pid"] is None
    assert header(read(tmp_path, trace(KERNEL)))["pid"] is None
    name = "vm_7.1796074282522146507.pt.trace.json"
    row = header(read(tmp_path, trace(OP), name))
    assert (row["pid"], row["host_name"]) == (7, "vm")


def test_what_the_metadata_say_of_the_host_counts_first(tmp_path: Path) -> None:
    name = "vm_7.1796074282522146507.pt.trace.json"
    text = json.dumps(trace(OP, host_name="node-9"))
    assert header(read(tmp_path, text, name))["host_name"] == "node-9"
