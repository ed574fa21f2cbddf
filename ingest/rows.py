"""What every reader shares: opening a file, gathering rows of a contract, keeping rejects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
from isal import igzip

from warehouse.contracts import LANDING, Batch, SourceFile
from warehouse.errors import SourceError

#: A batch is handed on when it has this many rows, so that memory stays bounded.
BATCH_ROWS = 65_536
#: A compressed file may not grow beyond this many bytes when it is opened (zip bombs).
MAX_BYTES = 64 * 1024**3
RAW_CHARS = 500
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def open_source(file: SourceFile) -> Iterator[IO[bytes]]:
    """Open a source file for reading bytes; `.gz` is decompressed.

    Raises SourceError where it cannot be opened.
    """
    path = Path(file.path)
    try:
        is_gz = path.suffix == ".gz"
        handle: IO[bytes] = igzip.open(path) if is_gz else path.open("rb")  # type: ignore[no-untyped-call]
    except OSError as error:
        raise SourceError(
            file.name, f"cannot be opened ({error.strerror})",
            expected="a readable file", todo="Check the path and its permissions.",
        ) from error  # fmt: skip
    with handle:
        yield handle


class Rows:
    """Rows of one landing table, handed on as batches in the contract's schema.

    Values go in by column name; a column left out is null. `source_file` is filled in.
    """

    def __init__(self, table: str, file: SourceFile) -> None:
        self.table = table
        self._schema = LANDING[table].schema
        self._has_file = "source_file" in self._schema.names
        self._file = file
        self._rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, **values: Any) -> None:
        """Add one row; a KeyError says that the contract has no such column."""
        unknown = values.keys() - set(self._schema.names)
        if unknown:
            raise KeyError(f"{self.table} has no column {sorted(unknown)}")
        if self._has_file:
            values["source_file"] = self._file.name
        self._rows.append(values)

    def flush(self, *, at_least: int = 1) -> Iterator[Batch]:
        """Yield what has gathered, if it is at least so many rows, and forget it."""
        if len(self._rows) >= max(at_least, 1):
            batch = pa.RecordBatch.from_pylist(self._rows, schema=self._schema)
            self._rows = []
            yield Batch(self.table, batch)


class Columns:
    """Rows of one landing table that come as columns: for readers of many rows at a time.

    A column left out is null. `source_file` is filled in.
    """

    def __init__(self, table: str, file: SourceFile) -> None:
        self.table = table
        self.count = 0
        self._schema = LANDING[table].schema
        self._file = pa.scalar(file.name, pa.string())
        self._parts: list[tuple[int, dict[str, pa.Array]]] = []
        self._waiting = 0

    def add(self, count: int, columns: Mapping[str, Sequence[Any] | pa.Array]) -> None:
        """Add so many rows; a KeyError says that the contract has no such column."""
        unknown = columns.keys() - set(self._schema.names)
        if unknown:
            raise KeyError(f"{self.table} has no column {sorted(unknown)}")
        if not count:
            return
        self._parts.append((count, {
            name: values if isinstance(values, pa.Array)
            else pa.array(values, self._schema.field(name).type)
            for name, values in columns.items()
        }))  # fmt: skip
        self._waiting += count
        self.count += count

    def flush(self, *, at_least: int = 1) -> Iterator[Batch]:
        """Yield what has gathered, if it is at least so many rows, and forget it."""
        if self._waiting >= max(at_least, 1):
            columns = [self._column(field) for field in self._schema]
            self._parts, self._waiting = [], 0
            yield Batch(self.table, pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def _column(self, field: pa.Field) -> pa.Array:
        if field.name == "source_file":
            return pa.repeat(self._file, self._waiting)
        if not any(field.name in columns for _, columns in self._parts):
            return pa.nulls(self._waiting, field.type)
        return pa.concat_arrays([
            columns[field.name] if field.name in columns else pa.nulls(count, field.type)
            for count, columns in self._parts
        ])  # fmt: skip


class Rejects(Rows):
    """Records that could not be read, with where and why."""

    def __init__(self, file: SourceFile, kind: str) -> None:
        super().__init__("reject", file)
        self._kind = kind
        self.count = 0

    def put(self, position: str, reason: str, raw: str | bytes) -> None:
        """Keep one bad record: where it stands, what was found and expected, and its text."""
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        self.count += 1
        self.add(
            source=self._kind, file=self._file.name, position=position, reason=reason,
            raw=text.rstrip("\n")[:RAW_CHARS],
        )  # fmt: skip


def time_of_ns(epoch_ns: int) -> datetime:
    """UTC time of epoch nanoseconds, to the microsecond below."""
    return _EPOCH + timedelta(microseconds=epoch_ns // 1000)


def ns_of_time(time: datetime) -> int:
    """Epoch nanoseconds of an aware time, exact."""
    delta = time - _EPOCH
    return ((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds) * 1000


def content_hash(*parts: str) -> str:
    """A stable 24-digit hash of some texts, for ids of records that have none."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
    return digest[:24]


def cover(rows: Rows, source: str, file: SourceFile, span: tuple[int, int] | None) -> None:
    """Say for which time the file was read: what its export was asked for, else `span`.

    `span` is the time that the file's own records show, as epoch ns [start, end). Where neither
    is known nothing is claimed: without coverage, absence means nothing.
    """
    covers = file.covers or span
    if covers is not None and covers[1] > covers[0]:
        rows.add(
            source=source, cluster=file.cluster, start=time_of_ns(covers[0]),
            end=time_of_ns(covers[1]), is_cut=False, source_row=0,
        )  # fmt: skip
