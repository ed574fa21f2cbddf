"""What the tests of traces share: building a trace's text, and reading it into tables."""

from __future__ import annotations

import gzip
import json
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
