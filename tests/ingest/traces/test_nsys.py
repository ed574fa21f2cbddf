"""Nsight Systems exports: what each table gives, and the public exports by independent sums."""

from __future__ import annotations

import gzip
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ingest.traces.nsys_names import function, op
from tests.ingest.traces.nsys_export import (
    EPOCH,
    GLOBAL_PID,
    GLOBAL_TID,
    PID,
    SESSION,
    TID,
    call,
    export,
    kernel,
    read,
    read_path,
    span,
    write,
    write_folder,
)
from tests.ingest.traces.reading import header
from warehouse.errors import ConfigError

PUBLIC = ("nsysai__h100_2gpu_1s.sqlite", "nsysai__mfu_2gpu_before.sqlite")
OTHER_PID = GLOBAL_PID + (1 << 24)


def test_a_kernel_and_its_launch(tmp_path: Path) -> None:
    tables = read(tmp_path, kernel=[kernel()], runtime=[call()])
    (row,) = tables["trace_kernel"]
    assert (row["start_ns"], row["end_ns"]) == (EPOCH + 1000, EPOCH + 1500)
    assert (row["device"], row["stream"], row["correlation"]) == (0, 7, 9)
    assert (row["name"], row["family"]) == ("void at::native::add<4>(int)", "add")
    assert (row["activity"], row["kind"], row["collective"]) == ("kernel", "compute", None)
    assert (row["blocks"], row["threads"], row["graph_node_id"]) == (6, 128, None)
    (launch,) = tables["trace_launch"]
    assert (launch["name"], launch["correlation"]) == ("cudaLaunchKernel", 9)
    assert (launch["pid"], launch["tid"]) == (PID, TID)
    head = header(tables)
    assert (head["start_ns"], head["end_ns"]) == (EPOCH + 900, EPOCH + 1500)
    assert (head["format"], head["base_ns"], head["pid"]) == ("nsys", EPOCH, PID)
    assert (head["event_count"], head["gpu_count"], head["reject_count"]) == (2, 1, 0)
    assert tables["reject"] == []


def test_a_communication_kernel_names_its_collective(tmp_path: Path) -> None:
    (row,) = read(tmp_path, kernel=[kernel(demangledName=3)])["trace_kernel"]
    assert (row["kind"], row["collective"], row["family"]) == (
        "comm", "allreduce", "nccl AllReduce"
    )  # fmt: skip


def test_copies_and_fills(tmp_path: Path) -> None:
    place = {"deviceId": 1, "streamId": 2, "globalPid": GLOBAL_PID, "correlationId": 3}
    tables = read(
        tmp_path,
        memcpy=[
            {"start": 5, "end": 9, **place, "bytes": 4096, "copyKind": 1},
            {"start": 9, "end": 9, **place, "bytes": -1, "copyKind": 77},
        ],
        memset=[{"start": 1, "end": 2, **place, "bytes": 16}],
    )
    found = [(r["activity"], r["kind"], r["name"], r["bytes"]) for r in tables["trace_kernel"]]
    assert found == [
        ("memcpy", "copy", "Memcpy HtoD", 4096), ("memcpy", "copy", "Memcpy unknown", None),
        ("memset", "copy", "Memset", 16),
    ]  # fmt: skip


def test_a_graph_is_one_activity_where_its_kernels_are_not_recorded(tmp_path: Path) -> None:
    graph = {"deviceId": 0, "streamId": 7, "globalPid": GLOBAL_PID, "graphId": 5}
    tables = read(
        tmp_path,
        kernel=[kernel(correlationId=20, graphNodeId=3)],
        graph_trace=[
            {"start": 10, "end": 90, **graph, "correlationId": 20},
            {"start": 100, "end": 190, **graph, "correlationId": 21},
        ],
        runtime=[call(correlationId=21, nameId=4)],
    )
    inside, whole = tables["trace_kernel"]
    assert (inside["graph_node_id"], inside["correlation"]) == (3, 20)
    assert (whole["name"], whole["family"], whole["kind"]) == (
        "CUDA graph 5", "CUDA graph", "compute"
    )  # fmt: skip
    assert (whole["graph_node_id"], whole["correlation"]) == (5, 21)
    assert tables["trace_launch"][0]["name"] == "cudaGraphLaunch"
    assert header(tables)["event_count"] == 4


def test_a_wait_is_kept_where_its_call_is_not_recorded(tmp_path: Path) -> None:
    wait = {"start": 10, "end": 90, "globalPid": GLOBAL_PID, "syncType": 3}
    tables = read(
        tmp_path,
        runtime=[call(correlationId=1)],
        synchronization=[
            {**wait, "correlationId": 1}, {**wait, "correlationId": 2},
            {**wait, "correlationId": 3, "syncType": 2},
        ],
    )  # fmt: skip
    found = [(r["name"], r["correlation"], r["pid"], r["tid"]) for r in tables["trace_launch"]]
    assert found == [("cudaLaunchKernel", 1, PID, TID), ("cudaStreamSynchronize", 2, PID, 0)]


def test_ranges_are_steps_modules_ops_and_the_users_own(tmp_path: Path) -> None:
    tables = read(
        tmp_path,
        nvtx=[
            span("step 12", 0, 900),
            span("nn.Module: GPT_0", 10, 90),
            span("nn.Module: Linear_3", 20, 80),
            span("aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]]", 30, 40),
            span("load_batch", 50, 60),
            span("checkpoint", 60, 70, eventType=60),
            span(None, 70, 80, textId=5),
            span("a mark", 5, None, eventType=34),
        ],
    )
    (mm,) = tables["trace_op"]
    assert (mm["name"], mm["sequence_number"], mm["input_dims"], mm["flops"]) == (
        "aten::mm", 7, "[[2,3],[3,4]]", 48
    )  # fmt: skip
    found = [(r["kind"], r["name"], r["step_no"]) for r in tables["trace_annotation"]]
    assert found == [
        ("step", "step 12", 12), ("user", "load_batch", None), ("user", "checkpoint", None),
        ("step", "step 12", 12), ("module", "GPT_0", None), ("module", "Linear_3", None),
    ]  # fmt: skip
    paths = [r["module_path"] for r in tables["trace_annotation"]][-2:]
    assert paths == ["GPT", "GPT/Linear"]
    head = header(tables)
    assert (head["event_count"], head["step_count"], head["op_count"]) == (8, 2, 1)
    assert head["has_shapes"]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("step 12", 12), ("step_7", 7), ("Step#3", 3), ("iteration=5", 5), ("iter 1", 1),
        ("train_step: 40", 40), ("ProfilerStep#9", 9), ("global_step=2", 2),
        ("ProfilerStep#9, op_id = 4", 9), ("stepper 1", None), ("step", None),
        ("step 1 of 2", None), ("forward", None), ("step " + "9" * 30, None),
    ],
)  # fmt: skip
def test_names_of_steps(name: str, number: int | None, tmp_path: Path) -> None:
    tables = read(tmp_path, nvtx=[span(name)])
    (row,) = tables["trace_annotation"]
    assert (row["kind"], row["step_no"]) == ("user" if number is None else "step", number)


def test_names_of_steps_and_modules_by_option(tmp_path: Path) -> None:
    options = {"step": r"batch (?P<number>\d+)", "module": r"layer/(\w+)"}
    tables = read(
        tmp_path, options=options, nvtx=[span("batch 4"), span("layer/mlp"), span("step 3")]
    )
    found = [(r["kind"], r["name"], r["step_no"]) for r in tables["trace_annotation"]]
    assert found == [
        ("step", "batch 4", 4), ("user", "step 3", None), ("module", "layer/mlp", None)
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["(", "", 5])
def test_an_option_that_is_no_expression(value: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"step is .*; expected a regular expression"):
        read(tmp_path, options={"step": value}, nvtx=[span("x")])


@pytest.mark.parametrize(
    ("text", "name", "sequence", "dims"),
    [
        ("aten::mm, seq = 12", "aten::mm", 12, None),
        ("aten::mm, op_id = 5", "aten::mm", None, None),
        ("f, seq = 1, op_id = 2, sizes = [[1], []], input_op_ids = [(1,0)]", "f", 1, "[[1],[]]"),
        ("f, op_id = 2, sizes = [[1", "", None, None),
        ("load_batch", "", None, None),
        (", seq = 1", "", None, None),
        ("f, seq = -1", "", None, None),
    ],
)
def test_ops_by_name(text: str, name: str, sequence: int | None, dims: str | None) -> None:
    found = op(text)
    assert (found or ("", None, None)) == (name, sequence, dims)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaMemcpyAsync_ptsz_v7000", "cudaMemcpyAsync"),
        ("cuLaunchKernelEx", "cuLaunchKernelEx"), ("cuMemcpyAsync_v2", "cuMemcpyAsync"),
    ],
)  # fmt: skip
def test_functions_of_calls(name: str, said: str) -> None:
    assert function(name) == said


def test_correlations_of_two_processes_do_not_meet(tmp_path: Path) -> None:
    tables = read(
        tmp_path,
        kernel=[kernel(), kernel(globalPid=OTHER_PID, deviceId=1)],
        runtime=[call(globalTid=OTHER_PID + 5), call()],
    )
    here, there = (row["correlation"] for row in tables["trace_kernel"])
    assert here == 9
    assert there == 2**32 + 9
    assert [r["correlation"] for r in tables["trace_launch"]] == [there, here]
    assert header(tables)["pid"] is None


def test_two_processes_that_call_their_gpu_0_are_told_apart_by_the_export(tmp_path: Path) -> None:
    kernels = [kernel(), kernel(globalPid=OTHER_PID)]
    known = [{"pid": PID, "cudaId": 0, "gpuId": 2}, {"pid": PID + 1, "cudaId": 0, "gpuId": 3}]
    (tmp_path / "b").mkdir()
    tables = read(tmp_path, kernel=kernels, TARGET_INFO_CUDA_DEVICE=known)
    assert [row["device"] for row in tables["trace_kernel"]] == [2, 3]
    # Unknown for one of them: nothing is guessed.
    tables = read(tmp_path / "b", kernel=kernels, TARGET_INFO_CUDA_DEVICE=known[:1])
    assert [row["device"] for row in tables["trace_kernel"]] == [0, 0]


def test_one_process_keeps_its_own_ordinals(tmp_path: Path) -> None:
    known = [{"pid": PID, "cudaId": 0, "gpuId": 2}]
    tables = read(tmp_path, kernel=[kernel()], TARGET_INFO_CUDA_DEVICE=known)
    assert tables["trace_kernel"][0]["device"] == 0


def test_what_the_environment_says_of_the_job(tmp_path: Path) -> None:
    env = "A=1;SLURM_JOB_ID=77;SLURM_PROCID=3;SLURM_RESTART_COUNT=1;SLURM_NTASKS=8;B=x=y;C"
    said = [
        {"name": "Hostname", "value": "n1"}, {"name": "DeviceEnvironment", "value": env},
        {"name": "CudaDriverVersion", "value": "13000"},
    ]  # fmt: skip
    gpus = [{"id": 0, "name": "NVIDIA H200", "uuid": "aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb"}]
    tables = read(tmp_path, kernel=[kernel()], TARGET_INFO_SYSTEM_ENV=said, TARGET_INFO_GPU=gpus)
    head = header(tables)
    assert (head["meta_job_id"], head["meta_attempt"], head["meta_rank"]) == ("77", 1, 3)
    assert (head["world_size"], head["host_name"], head["cuda_driver"]) == (8, "n1", 13000)
    assert (head["device_name"], head["device_count"]) == ("NVIDIA H200", 1)
    (tmp_path / "b").mkdir()
    both = [kernel(), kernel(globalPid=OTHER_PID)]
    head = header(read(tmp_path / "b", kernel=both, TARGET_INFO_SYSTEM_ENV=said))
    # The profiler started several ranks: its own number is none of theirs.
    assert (head["meta_job_id"], head["meta_rank"], head["world_size"]) == ("77", None, None)


def test_what_the_path_says(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", export(kernel=[kernel()]))
    name, pattern = "traces/job_7/rank1.sqlite", "job_{job_id}/rank{rank}.sqlite"
    head = header(read_path(path, name, pattern=pattern))
    assert (head["path_job_id"], head["path_rank"]) == ("7", 1)


def test_times_of_an_export_that_was_normalised(tmp_path: Path) -> None:
    said = [
        {"name": "EXPORT_PARAM_TIME_NORMALIZE", "value": "true"},
        {"name": "EXPORT_PARAM_TIME_SHIFT", "value": "-500"},
    ]
    tables = read(
        tmp_path, kernel=[kernel(EPOCH - 500, EPOCH + 7)], META_DATA_EXPORT=said,
        TARGET_INFO_SESSION_START_TIME=[],
    )  # fmt: skip
    (row,) = tables["trace_kernel"]
    assert (row["start_ns"], row["end_ns"]) == (EPOCH, EPOCH + 507)
    assert tables["reject"] == []


def test_times_that_count_from_the_start_of_the_machine(tmp_path: Path) -> None:
    session = [{"utcEpochNs": EPOCH, "systemClockNs": 400}]
    said: dict[str, Any] = {
        "TARGET_INFO_SESSION_START_TIME": session,
        "ANALYSIS_DETAILS": [{"startTime": 400}],
    }
    for name, start, expected in (("after", 1000, EPOCH + 600), ("before", 300, EPOCH + 300)):
        (tmp_path / name).mkdir()
        (row,) = read(tmp_path / name, kernel=[kernel(start)], **said)["trace_kernel"]
        assert row["start_ns"] == expected, name


@pytest.mark.parametrize(
    "session", [[], [{"utcEpochNs": None}], [{"utcEpochNs": "x"}], [SESSION, {"utcEpochNs": 5}]]
)
def test_without_a_session_start_when_it_ran_is_not_known(
    session: list[dict[str, Any]], tmp_path: Path
) -> None:
    tables = read(tmp_path, kernel=[kernel()], TARGET_INFO_SESSION_START_TIME=session)
    (reject,) = tables["reject"]
    assert "when it ran is not known" in reject["reason"]
    assert (header(tables)["base_ns"], tables["trace_kernel"][0]["start_ns"]) == (0, 1000)


def test_only_warnings_that_events_are_missing_are_kept(tmp_path: Path) -> None:
    said = [
        {"severity": 2, "text": "Some events were dropped."}, {"severity": 1, "text": "dropped"},
        {"severity": 2, "text": "Python is old."}, {"severity": 3, "text": "buffers were LOST"},
    ]  # fmt: skip
    tables = read(tmp_path, kernel=[kernel()], DIAGNOSTIC_EVENT=said)
    found = [(r["position"], r["raw"]) for r in tables["reject"]]
    assert found == [
        ("DIAGNOSTIC_EVENT, rowid 1", "Some events were dropped."),
        ("DIAGNOSTIC_EVENT, rowid 4", "buffers were LOST"),
    ]
    assert (header(tables)["reject_count"], header(tables)["is_truncated"]) == (2, True)
    (tmp_path / "whole").mkdir()
    whole = read(tmp_path / "whole", kernel=[kernel()], DIAGNOSTIC_EVENT=said[1:3])
    assert (header(whole)["reject_count"], header(whole)["is_truncated"]) == (0, False)


def test_compressed_and_as_a_folder_it_is_the_same(tmp_path: Path) -> None:
    tables = export(kernel=[kernel()], runtime=[call()], nvtx=[span("aten::mm, op_id = 1")])
    plain = write(tmp_path / "t.sqlite", tables)
    packed = tmp_path / "t.sqlite.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    expected = read_path(plain, "x")
    assert read_path(packed, "x") == expected
    assert read_path(write_folder(tmp_path / "d", tables), "x") == expected


@pytest.mark.parametrize("name", PUBLIC)
def test_public_exports_by_independent_sums(name: str, shared_data: Path) -> None:
    path = shared_data / "nsys" / name
    tables = read_path(path)
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as plain:
        kind = "CUPTI_ACTIVITY_KIND"
        streams = plain.execute(
            f"""
            select deviceId, streamId, sum("end" - start), count(*) from (
                select deviceId, streamId, start, "end" from {kind}_KERNEL
                union all select deviceId, streamId, start, "end" from {kind}_MEMCPY
                union all select deviceId, streamId, start, "end" from {kind}_MEMSET
            ) group by 1, 2
            """
        ).fetchall()
        calls = plain.execute(
            f"""
            select value, count(*)
            from {kind}_RUNTIME join StringIds on id = nameId group by 1
            """
        ).fetchall()
        (ops,) = plain.execute(
            "select count(*) from NVTX_EVENTS where text like '%op_id = %'"
        ).fetchone()
        (ranges,) = plain.execute("select count(*) from NVTX_EVENTS").fetchone()
        linked = plain.execute(
            f"""
            select r.globalTid & 16777215, count(*) from {kind}_KERNEL as k
            join {kind}_RUNTIME as r on r.correlationId = k.correlationId
                and r.globalTid >> 24 = k.globalPid >> 24
            group by 1
            """
        ).fetchall()
        (syncs,) = plain.execute(f"select count(*) from {kind}_SYNCHRONIZATION").fetchone()
    busy: Counter[tuple[int, int]] = Counter()
    number: Counter[tuple[int, int]] = Counter()
    for row in tables["trace_kernel"]:
        busy[row["device"], row["stream"]] += row["end_ns"] - row["start_ns"]
        number[row["device"], row["stream"]] += 1
    assert {(d, s): (ns, n) for d, s, ns, n in streams} == {
        key: (busy[key], number[key]) for key in busy
    }
    assert {name.rpartition("_v")[0] or name: count for name, count in calls} == Counter(
        row["name"] for row in tables["trace_launch"]
    )
    assert ops == len(tables["trace_op"]) > 10_000
    assert ranges == ops + len(tables["trace_annotation"])
    threads = {row["correlation"]: row["tid"] for row in tables["trace_launch"]}
    found = Counter(
        threads[row["correlation"]]
        for row in tables["trace_kernel"]
        if row["activity"] == "kernel" and row["correlation"] in threads
    )
    assert found == dict(linked)
    head = header(tables)
    assert head["reject_count"] == 0 == len(tables["reject"])
    launches = len(tables["trace_launch"])
    assert head["event_count"] == sum(number.values()) + launches + ranges + syncs
    assert head["host_name"] == "modal"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_exports_lie_in_the_time_of_their_recording(name: str, shared_data: Path) -> None:
    path = shared_data / "nsys" / name
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as plain:
        (start,) = plain.execute("select utcEpochNs from TARGET_INFO_SESSION_START_TIME").fetchone()
        (duration,) = plain.execute("select duration from ANALYSIS_DETAILS").fetchone()
    head = header(read_path(path))
    assert start <= head["start_ns"] < head["end_ns"] <= start + duration


def test_thread_ids_of_a_process(tmp_path: Path) -> None:
    (row,) = read(tmp_path, runtime=[call(globalTid=GLOBAL_TID | 0x7F << 56)])["trace_launch"]
    assert (row["pid"], row["tid"]) == (PID, TID)
