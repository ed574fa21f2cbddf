"""Where the rows of one unit gather until they are written.

Batches arrive in any order and any split. They gather per (table, partition) in memory and, beyond
SPOOL_BYTES together, in Arrow files of the staging directory. Rows that arrive in their contract's
order (readers of large files see to that) are written as they are read back, a row group at a time.
Others are sorted, which holds their partition in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from warehouse.contracts import Contract
from warehouse.errors import StoreError
from warehouse.parquet import conform, file_schema, groups_of, is_ordered, partitions, sorted_groups
from warehouse.parquet import span_ns as span_of

#: Bytes of rows that gather in memory before they go to the staging directory.
SPOOL_BYTES = 32 * 1024**2


@dataclass
class Part:
    """The rows of one partition of a table."""

    contract: Contract
    partition: str
    row_count: int = 0
    #: Least and greatest epoch ns of the contract's time column.
    span_ns: tuple[int | None, int | None] = (None, None)
    #: Each row came after the one before it.
    is_ordered: bool = True
    _last: tuple[Any, ...] | None = None
    _held: list[pa.RecordBatch] = field(default_factory=list)
    _file: Path | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows of this partition."""
        self._held.append(rows)
        self.row_count += rows.num_rows
        if self.is_ordered:
            self.is_ordered = self._follows(rows)
        low, high = span_of(rows, self.contract)
        if low is not None and high is not None:
            old_low, old_high = self.span_ns
            self.span_ns = (
                low if old_low is None else min(low, old_low),
                high if old_high is None else max(high, old_high),
            )

    def groups(self) -> Iterator[pa.Table]:
        """The rows in their contract's order, as tables of one row group each."""
        if self.is_ordered:
            yield from groups_of(self._batches(in_memory=False))
            return
        rows = pa.Table.from_batches(
            list(self._batches(in_memory=True)), schema=file_schema(self.contract)
        )
        self._held.clear()
        yield from sorted_groups(rows, self.contract.order)

    def spill(self, path: Callable[[], Path]) -> None:
        """Move what is in memory to the end of the partition's file."""
        if not self._held:
            return
        if self._file is None:
            self._file = path()
        # A stream is appended and the file closed again: thousands of partitions must not hold
        # thousands of open files.
        try:
            with (
                self._file.open("ab") as sink,
                pa.ipc.new_stream(sink, self._held[0].schema) as stream,
            ):
                for batch in self._held:
                    stream.write_batch(batch)
        except OSError as error:
            raise StoreError(
                f"{self._file}: cannot gather rows: {error.strerror or error}. What was published "
                "before stands. Free space, then run again."
            ) from error
        self._held.clear()

    def forget(self) -> None:
        """Drop the rows."""
        self._held.clear()
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _follows(self, rows: pa.RecordBatch) -> bool:
        order = self.contract.order
        if not is_ordered(rows, order):
            return False
        first, last = (
            tuple(rows.column(name)[at].as_py() for name in order) for at in (0, rows.num_rows - 1)
        )
        before, self._last = self._last, last
        return before is None or before < first

    def _batches(self, *, in_memory: bool) -> Iterator[pa.RecordBatch]:
        if self._file is not None:
            # Mapped pages belong to the file and can be dropped under memory pressure, but count as
            # ours until then.
            with _opened(self._file, mapped=in_memory) as source:
                while source.tell() < source.size():
                    with pa.ipc.open_stream(source) as stream:
                        yield from stream
        yield from self._held


class Spool:
    """The rows of one unit, gathered per table and partition.

    `scratch` gives a path of the staging directory for a name.
    """

    def __init__(self, scratch: Callable[[str], Path], *, limit: int = SPOOL_BYTES) -> None:
        self._scratch, self._limit = scratch, limit
        self._parts: dict[tuple[str, str], Part] = {}
        self._bytes = 0
        self._files = 0

    def add(self, rows: pa.RecordBatch, contract: Contract) -> None:
        """Take a batch. Raises StoreError where it does not conform to the contract."""
        if not rows.num_rows:
            return
        for partition, own in partitions(conform(rows, contract), contract):
            key = (contract.name, partition)
            if key not in self._parts:
                self._parts[key] = Part(contract, partition)
            self._parts[key].add(own)
            self._bytes += own.nbytes
        if self._bytes > self._limit:
            for part in self._parts.values():
                part.spill(self._path)
            self._bytes = 0

    def drain(self) -> Iterator[Part]:
        """Hand out each table's partitions, by name; each is forgotten when the next is asked."""
        for key in sorted(self._parts):
            part = self._parts.pop(key)
            try:
                yield part
            finally:
                part.forget()

    def close(self) -> None:
        """Forget what was not handed out."""
        for part in self._parts.values():
            part.forget()
        self._parts.clear()

    def _path(self) -> Path:
        self._files += 1
        return self._scratch(f"spool-{id(self):x}/{self._files:06d}.arrows")


@contextmanager
def _opened(path: Path, *, mapped: bool) -> Iterator[pa.NativeFile]:
    with pa.memory_map(str(path)) if mapped else pa.OSFile(str(path)) as source:
        yield source
