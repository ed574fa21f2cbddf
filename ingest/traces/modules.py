"""Module frames: which module of the network a thread was in, and the modules around it.

The profiler writes a frame `nn.Module: Linear_3` for each call of a module: its class and the
number of the instance. Frames come in no order, so they are kept to the end of the file, as
columns; a thread's frames then nest by time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.rows import BATCH_ROWS

PREFIX = "nn.Module: "
_INSTANCE = re.compile(r"_[0-9]+\Z")
_NAMES = ("pid", "tid", "start_ns", "end_ns", "event_no", "name")
_ORDER = [
    ("pid", "ascending"), ("tid", "ascending"), ("start_ns", "ascending"),
    ("end_ns", "descending"), ("event_no", "ascending"),
]  # fmt: skip


class Frames:
    """The module frames of a file: about 60 bytes each."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def add(self, columns: dict[str, Sequence[Any] | pa.Array]) -> None:
        """Add frames: pid, tid, start_ns, end_ns, event_no, name."""
        arrays = [columns[name] for name in _NAMES]
        self._batches.append(pa.RecordBatch.from_arrays(
            [a if isinstance(a, pa.Array) else pa.array(a) for a in arrays], names=list(_NAMES)
        ))  # fmt: skip

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield columns of trace_annotation for all frames, with the number of rows."""
        if not self._batches:
            return
        table = pa.Table.from_batches(self._batches)
        self._batches = []
        order = pc.sort_indices(table, sort_keys=_ORDER)
        thread: tuple[int, int] | None = None
        stack: list[tuple[int, str]] = []
        for at in range(0, len(order), BATCH_ROWS):
            part = table.take(order[at : at + BATCH_ROWS]).combine_chunks()
            columns = {name: part.column(name).to_pylist() for name in _NAMES}
            paths = []
            for pid, tid, start, end, _, name in zip(*columns.values(), strict=True):
                if (pid, tid) != thread:
                    thread, stack = (pid, tid), []
                while stack and stack[-1][0] <= start:
                    stack.pop()
                kind = _INSTANCE.sub("", name) or name
                path = f"{stack[-1][1]}/{kind}" if stack else kind
                stack.append((end, path))
                paths.append(path)
            columns["module_path"] = paths
            columns["kind"] = ["module"] * len(paths)
            yield len(paths), columns
