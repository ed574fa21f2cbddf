"""Recorded traces, ours and public ones: all events, exact times, and cuts anywhere."""

from __future__ import annotations

import gzip
import json
import random
import tarfile
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.traces.reading import Tables, header, read_path

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "h200" / "recordings"
RECORDED = sorted(EXAMPLE.glob("*/job_*/kineto/*.json.gz"))
GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset",
       "Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset"}  # fmt: skip
TABLES = ("trace_kernel", "trace_launch", "trace_op", "trace_annotation")
OPS = {"cpu_op", "Operator"}
LAUNCHES = {"cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime"}


@lru_cache(maxsize=2)
def text_of(path: Path) -> bytes:
    return gzip.open(path).read() if path.suffix == ".gz" else path.read_bytes()


def raw(path: Path) -> tuple[list[dict[str, Any]], int]:
    """A file's events and base, by plain json with decimals."""
    value = json.loads(text_of(path), parse_float=Decimal)
    if isinstance(value, list):
        return value, 0
    return value["traceEvents"], value.get("baseTimeNanoseconds", 0)


def check(path: Path, tables: Tables) -> None:
    """Each event stands in its table under its number, with its exact time."""
    events, base = raw(path)
    row = header(tables)
    assert row["event_count"] == len(events)
    assert not row["is_truncated"]
    timed = {n: e for n, e in enumerate(events, 1) if e["ph"] == "X"}

    def span(event: dict[str, Any]) -> tuple[int, int]:
        start = base + int(event["ts"] * 1000)
        return start, start + int(event["dur"] * 1000)

    for table, cats in (("trace_kernel", set(GPU)), ("trace_launch", LAUNCHES)):
        wanted = {n: (e["name"], *span(e)) for n, e in timed.items() if e.get("cat") in cats}
        got = {r["event_no"]: (r["name"], r["start_ns"], r["end_ns"]) for r in tables[table]}
        assert got == wanted
    steps = {n for n, e in timed.items() if e["name"].startswith("ProfilerStep")}
    wanted = {
        n: (e["name"], *span(e)) for n, e in timed.items()
        if e.get("cat") in OPS and n not in steps
    }  # fmt: skip
    assert wanted == {
        r["event_no"]: (r["name"], r["start_ns"], r["end_ns"]) for r in tables["trace_op"]
    }
    kinds = Counter(r["kind"] for r in tables["trace_annotation"])
    assert kinds["module"] == sum(e["name"].startswith("nn.Module: ") for e in timed.values())
    host_steps = [n for n in steps if timed[n]["cat"] != "gpu_user_annotation"]
    assert row["step_count"] == kinds["step"] == len(host_steps)
    assert row["gpu_count"] == len(tables["trace_kernel"])
    assert row["op_count"] == len(tables["trace_op"])
    for r in tables["trace_kernel"]:
        event = timed[r["event_no"]]
        args = event.get("args", {})
        assert r["activity"] == GPU[event["cat"]]
        assert r["device"] == args.get("device", event["pid"])
        assert r["correlation"] == args.get("correlation")
        assert r["external_id"] == args.get("External id", args.get("external id"))
        assert r["bytes"] == args.get("bytes")
        assert (r["kind"] == "copy") == (r["activity"] != "kernel")
    spans = [span(e) for e in timed.values()]
    assert (row["start_ns"], row["end_ns"]) == (min(s for s, _ in spans), max(e for _, e in spans))


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: f"{p.parts[-3]}-{p.name.split('.')[0]}")
def test_the_recording(path: Path) -> None:
    tables = read_path(path, path.relative_to(EXAMPLE).as_posix(), pattern="job_{job_id}/*/*.json")
    check(path, tables)
    assert not tables["reject"]
    row = header(tables)
    job = path.parts[-3].removeprefix("job_")
    assert row["path_job_id"] == job
    assert (row["device_name"], row["cuda_runtime"]) == ("NVIDIA H200", 13000)
    assert row["has_shapes"]
    if "rank" in path.name:
        assert (row["meta_job_id"], row["world_size"], row["backend"]) == (job, 2, "nccl")
        assert row["meta_rank"] == row["path_rank"]
        assert row["host_name"] == "gpu-node-1"
    else:
        assert (row["host_name"], row["world_size"]) == ("vm", None)


def test_collectives_of_the_recording() -> None:
    """Both ranks ran the same collectives in the same order, with what the profiler says."""
    ranks = []
    for path in sorted(EXAMPLE.glob("two-gpu/job_2001/kineto/*.json.gz")):
        rows = sorted(
            (r for r in read_path(path)["trace_kernel"] if r["kind"] == "comm"),
            key=lambda r: r["start_ns"],
        )
        assert {(r["group_name"], r["group_ranks"], r["group_size"]) for r in rows} == {
            ("0", "[0, 1]", 2)
        }
        assert {r["collective"] for r in rows} == {"allreduce"}
        ranks.append([(r["collective"], r["in_elements"], r["dtype"]) for r in rows])
    assert ranks[0] == ranks[1] != []


def test_modules_of_the_recording() -> None:
    (path,) = EXAMPLE.glob("one-gpu/job_1002/kineto/*.json.gz")
    rows = [r for r in read_path(path)["trace_annotation"] if r["kind"] == "module"]
    paths = Counter(r["module_path"] for r in rows)
    deepest = max(paths, key=lambda p: p.count("/"))
    assert deepest.count("/") >= 2
    for path_ in paths:
        parent = path_.rpartition("/")[0]
        assert not parent or parent in paths


@pytest.mark.parametrize("seed", range(12))
def test_a_recorded_trace_cut_anywhere_keeps_its_whole_events(tmp_path: Path, seed: int) -> None:
    (path,) = EXAMPLE.glob("one-gpu/job_1005/kineto/*.json.gz")
    text = text_of(path)
    events, _ = raw(path)
    ends = event_ends(text)
    assert len(ends) == len(events)
    whole = {r["event_no"] for r in read_path(path)["trace_kernel"]}
    places = random.Random(seed).sample(range(len(text)), 25)
    target = tmp_path / "cut.json"
    for at in places:
        target.write_bytes(text[:at])
        tables = read_path(target, window=[0, 3000][seed % 2])
        kept = sum(end <= at for end in ends)
        assert {r["event_no"] for r in tables["trace_kernel"]} == {n for n in whole if n <= kept}
        if tables["trace_header"]:
            row = header(tables)
            assert row["is_truncated"] == (at <= text.index(b"]", ends[-1]))
            assert row["event_count"] - kept in (0, 1)
        else:
            assert len(tables["reject"]) == 1


def event_ends(text: bytes) -> list[int]:
    """Where each event of a native trace ends."""
    start = text.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    decoder, view, at, ends = json.JSONDecoder(), text.decode("latin-1"), start, []
    while True:
        while view[at] in ", \n":
            at += 1
        if view[at] == "]":
            return ends
        at = decoder.raw_decode(view, at)[1]
        ends.append(at)


def test_a_recorded_gzip_file_cut_anywhere_keeps_whole_events(tmp_path: Path) -> None:
    (path,) = EXAMPLE.glob("one-gpu/job_1001/kineto/*.json.gz")
    packed, whole = path.read_bytes(), read_path(path)
    wanted = [sorted(r["event_no"] for r in whole[table]) for table in TABLES]
    target = tmp_path / "cut.json.gz"
    counts = []
    for part in range(1, 9):
        target.write_bytes(packed[: len(packed) * part // 9])
        tables = read_path(target)
        row = header(tables)
        assert row["is_truncated"]
        counts.append(row["event_count"])
        (reject,) = tables["reject"]
        assert reject["reason"].startswith("the file ends inside this event")
        for table, numbers in zip(TABLES, wanted, strict=True):
            found = sorted(r["event_no"] for r in tables[table])
            assert found == [n for n in numbers if n < row["event_count"]]
    assert counts == sorted(set(counts))
    assert counts[-1] < header(whole)["event_count"]


@pytest.mark.parametrize("window", [3000, 0])
def test_re_serialised_text_gives_the_same_rows(tmp_path: Path, window: int) -> None:
    (path,) = EXAMPLE.glob("one-gpu/job_1005/kineto/*.json.gz")
    wanted = read_path(path, "t.json")
    value = json.loads(text_of(path))
    target = tmp_path / "t.json"
    for indent, separators, is_sorted in ((4, None, False), (None, (",", ":"), True)):
        target.write_text(
            json.dumps(value, indent=indent, separators=separators, sort_keys=is_sorted)
        )
        tables = read_path(target, window=window)
        for name, rows in wanted.items():
            assert sorted(tables[name], key=str) == sorted(rows, key=str)


PUBLIC_REJECTS = {"hta__large_integer_trace": "no baseTimeNanoseconds"}


def test_public_traces(shared_data: Path) -> None:
    folder = shared_data / "traces"
    paths = sorted(folder.glob("*.json*"))
    if not paths:
        pytest.skip(f"no public traces at {folder}")
    comm = Counter[str]()
    for path in paths:
        tables = read_path(path)
        check(path, tables)
        reasons = [row["reason"] for row in tables["reject"]]
        wanted = [r for name, r in PUBLIC_REJECTS.items() if path.name.startswith(name)]
        assert [r[: len(w)] for r, w in zip(reasons, wanted, strict=True)] == wanted, path.name
        comm[path.name.split(".")[0]] = sum(r["kind"] == "comm" for r in tables["trace_kernel"])
    assert comm["hta__nccl_parser_config__nccl_data"] > 0


def test_eight_ranks_of_one_job(shared_data: Path, tmp_path: Path) -> None:
    """The only public set of all ranks: each file is a rank of its own."""
    archive = shared_data / "traces" / "param__et_replay__tests__inputs__dlrm_kineto.tar.gz"
    if not archive.exists():
        pytest.skip(f"no {archive}")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    paths = sorted(p for p in tmp_path.rglob("*") if p.is_file() and ".json" in p.name)
    assert len(paths) == 8
    headers = []
    for path in paths:
        tables = read_path(path)
        check(path, tables)
        headers.append(header(tables))
    assert {row["step_count"] for row in headers} == {1}
    assert sorted(row["meta_rank"] for row in headers) == list(range(8))
