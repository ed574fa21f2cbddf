"""What the tests of traces share: building a trace's text, and reading it into tables."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from ingest.traces import kineto
from warehouse.contracts import LANDING, SourceFile

BASE = 1_790_857_026_000_000_000
Tables = dict[str, list[dict[str, Any]]]
Event = dict[str, Any]

KERNEL: Event = {
    "ph": "X", "cat": "kernel", "name": "void at::native::add<4>(int)", "pid": 0, "tid": 7,
    "ts": 5217255724893.939, "dur": 10.640,
    "args": {"External id": 5, "device": 0, "stream": 7, "correlation": 9, "context": 1,
             "grid": [3, 2, 1], "block": [128, 1, 1], "est. achieved occupancy %": 63},
}  # fmt: skip
LAUNCH: Event = {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 440, "tid": 440,
    "ts": 5217255724890.001, "dur": 2.5, "args": {"External id": 5, "cbid": 211, "correlation": 9},
}  # fmt: skip
OP: Event = {
    "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 440, "tid": 440,
    "ts": 5217255724880.000, "dur": 20.0,
    "args": {"External id": 5, "Sequence number": 3, "Fwd thread id": 0, "Input Dims": [[2, 3], []],
             "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "1"]},
}  # fmt: skip
STEP: Event = {
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#5", "pid": 440, "tid": 440,
    "ts": 5217255724000.000, "dur": 2000.0, "args": {"External id": 1},
}  # fmt: skip


def trace(*events: Any, base: int | None = BASE, **metadata: Any) -> dict[str, Any]:
    """A trace as an object, metadata first."""
    head = {} if base is None else {"baseTimeNanoseconds": base}
    return {"schemaVersion": 1, **metadata, **head, "traceEvents": list(events)}


def read_path(path: Path, name: str | None = None, *, window: int = 0, **options: Any) -> Tables:
    """Read a file; every batch has the contract's schema."""
    tables: Tables = {table: [] for table in LANDING}
    file = SourceFile(str(path), name or path.name, "traces", "h200", None, options)
    for batch in kineto.read(file, window=window or kineto.WINDOW_BYTES):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    keys = [(r["source"], r["file"], r["position"]) for r in tables["reject"]]
    assert len(keys) == len(set(keys)), "the key of reject"
    return tables


def read(folder: Path, content: Any, name: str = "t.json", **options: Any) -> Tables:
    """Read a trace given as an object, text or bytes."""
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    data = content.encode() if isinstance(content, str) else content
    path = folder / Path(name).name
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return read_path(path, name, **options)


def header(tables: Tables) -> dict[str, Any]:
    """The one row of trace_header."""
    (row,) = tables["trace_header"]
    return row


#: By category, here and below: written down anew, not taken from what is tested.
GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset",
       "Kernel": "kernel", "Memcpy": "memcpy", "Memset": "memset"}  # fmt: skip
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
