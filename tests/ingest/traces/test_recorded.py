"""Our recorded traces: all events, exact times, and cuts anywhere."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.ingest.traces.reading import check, header, raw, read_path, text_of

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "h200" / "recordings"
RECORDED = sorted(EXAMPLE.glob("*/job_*/kineto/*.json.gz"))
TABLES = ("trace_kernel", "trace_launch", "trace_op", "trace_annotation")


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
