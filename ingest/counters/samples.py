"""Samples that come one by one: gathered by field, and the time that they span."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pyarrow as pa

from ingest.counters.wide import Wide
from ingest.rows import Rows, cover
from warehouse.contracts import Batch, SourceFile

#: Samples that gather before they become columns.
MANY = 262_144


class Samples:
    """The samples of one file, on their way into its rows."""

    def __init__(self, wide: Wide) -> None:
        self._wide = wide
        self._columns: dict[int, tuple[list[int], list[int], list[float]]] = defaultdict(
            lambda: ([], [], [])
        )
        self._count = 0
        self._first: int | None = None
        self._last: int | None = None

    def put(self, dcgm_id: int, code: int, ms: int, value: float) -> None:
        """Add one: the field, the GPU's code, epoch ms, and the value as DCGM delivers it."""
        codes, times, values = self._columns[dcgm_id]
        codes.append(code)
        times.append(ms)
        values.append(value)
        self._count += 1
        if self._count >= MANY:
            self.empty()

    def see(self, ms: int) -> None:
        """Let the file speak for a time."""
        self._first = ms if self._first is None else min(ms, self._first)
        self._last = ms if self._last is None else max(ms, self._last)

    def empty(self) -> None:
        """Hand on what has gathered."""
        for dcgm_id, (codes, times, values) in self._columns.items():
            self._wide.add(
                dcgm_id, pa.array(codes, pa.int64()), pa.array(times, pa.int64()),
                pa.array(values, pa.float64()),
            )  # fmt: skip
        self._columns.clear()
        self._count = 0

    def coverage(self, file: SourceFile) -> Iterator[Batch]:
        """The time that the file speaks for: what was asked for, else what its samples span."""
        rows = Rows("source_coverage", file)
        span = None
        if self._first is not None and self._last is not None:
            span = self._first * 1_000_000, self._last * 1_000_000
        cover(rows, "telemetry", file, span)
        yield from rows.flush()
