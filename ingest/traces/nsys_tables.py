"""The tables of an Nsight Systems export, as columns: of a sqlite file or of a parquetdir folder.

Tables and columns are found by name, since any may be missing and versions differ. Of sqlite only
real tables are read, never views or computed columns: what they run is the file's choice. A part
takes bounded work and memory whatever the file holds.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from pyarrow import parquet

from ingest.text import chunks
from warehouse.contracts import SourceFile
from warehouse.errors import SourceError

#: The table that every export has, and that differs between any two exports.
EXPORT_TABLE = "META_DATA_EXPORT"
PART_ROWS = 16_384
#: A cell above this is no name or payload of a trace.
MAX_CELL_BYTES = 16 << 20
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_CHUNK_BYTES = 1 << 20
#: Steps of sqlite's machine between two looks, and looks within a part before it is given up: a
#: part of whole rows takes ten looks at most.
_STEPS, _LOOKS = 100_000, 2_000


class Part(NamedTuple):
    """Rows that follow each other: where each stands, and the cells of the columns asked for.

    A column that the table lacks is all None.
    """

    rows: Sequence[int]
    columns: Mapping[str, list[Any]]

    def take(self, index: Sequence[int]) -> Part:
        """Those of its rows."""
        columns = {name: [cells[i] for i in index] for name, cells in self.columns.items()}
        return Part([self.rows[i] for i in index], columns)


class Export(Protocol):
    """The tables of one export."""

    #: What a row's number is called: rowid or row.
    row_name: str

    def has(self, table: str) -> bool:
        """Whether the table is there; it may be empty."""
        ...

    def parts(self, table: str, *columns: str) -> Iterator[Part]:
        """Yield a table in parts, nothing where it is missing; SourceError where it is damaged."""
        ...


@contextmanager
def open_export(file: SourceFile) -> Iterator[Export]:
    """Open a sqlite export (also as .gz), or the parquetdir folder that the file stands in.

    Raises SourceError where the file is neither, or is cut.
    """
    path = Path(file.path)
    if path.suffix == ".parquet":
        yield _ParquetFolder(file)
    elif path.suffix == ".gz":
        with TemporaryDirectory(prefix="plumbline-nsys-") as folder:
            plain = Path(folder) / "export.sqlite"
            _unpack(file, plain)
            with closing(_connect(file, plain)) as connection:
                yield _Sqlite(file, connection)
    else:
        with closing(_connect(file, path)) as connection:
            yield _Sqlite(file, connection)


class _Sqlite:
    row_name = "rowid"

    def __init__(self, file: SourceFile, connection: sqlite3.Connection) -> None:
        self._file, self._connection = file, connection
        self._looks = 0
        connection.set_progress_handler(self._look, _STEPS)
        names = (
            "select name from sqlite_master where type = 'table' and rootpage > 0 "
            "and sql not like 'create virtual%'"
        )
        self._tables = {row[0] for row in self._fetch(names)}

    def has(self, table: str) -> bool:
        return table in self._tables

    def parts(self, table: str, *columns: str) -> Iterator[Part]:
        if table not in self._tables:
            return
        # Hidden columns are computed from others.
        stored = {row[1] for row in self._fetch(f'pragma table_xinfo("{table}")') if row[6] == 0}
        found = [name for name in columns if name in stored]
        rowid = "null" if self._is_without_rowid(table) else "rowid"
        texts = ", ".join(f'"{name}"' for name in found)
        first = 1
        query = f'select {rowid}, {texts or "null"} from "{table}"'  # noqa: S608 names of ours
        for rows in self._pages(query):
            numbers, *cells = (list(column) for column in zip(*rows, strict=True))
            if rowid == "null":
                numbers = list(range(first, first + len(rows)))
            first += len(rows)
            by_name = dict(zip(found, cells, strict=False))
            yield Part(numbers, {name: by_name.get(name) or [None] * len(rows) for name in columns})

    def _is_without_rowid(self, table: str) -> bool:
        return any(row[1] == table and row[4] for row in self._fetch("pragma table_list"))

    def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        return [row for rows in self._pages(query) for row in rows]

    def _pages(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        try:
            cursor = self._connection.execute(query)
            while True:
                self._looks = 0
                rows = cursor.fetchmany(PART_ROWS)
                if not rows:
                    return
                yield rows
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _damaged(self._file, str(error)) from error

    def _look(self) -> int:
        """Called now and then while sqlite works; not 0 stops it."""
        self._looks += 1
        return int(self._looks > _LOOKS)


def _connect(file: SourceFile, path: Path) -> sqlite3.Connection:
    """Open a database without writing anything beside it: nothing else writes it now."""
    try:
        with path.open("rb") as handle:
            head = handle.read(_HEADER_BYTES)
        size = path.stat().st_size
    except OSError as error:
        raise SourceError(
            file.name, f"cannot be opened ({error.strerror})",
            expected="a readable file", todo="Check the path and its permissions.",
        ) from error  # fmt: skip
    if not head.startswith(_MAGIC):
        raise SourceError(
            file.name, "is no sqlite database",
            expected="an export of Nsight Systems: .sqlite, .sqlite.gz, or the "
            f"{EXPORT_TABLE}.parquet of a parquetdir",
            todo="Export a report by `nsys export --type=sqlite REPORT.nsys-rep`, and check the "
            "source's `files`.",
        )  # fmt: skip
    if len(head) < _HEADER_BYTES or size < _bytes_by(head):
        raise _damaged(file, f"it has {size} bytes of {_bytes_by(head)}")
    if path.with_name(f"{path.name}-journal").exists():
        raise _damaged(file, "a journal beside it says that its writer has not ended")
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None
    )
    connection.text_factory = _text
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    for setting in ("trusted_schema = off", "cell_size_check = on", "query_only = on"):
        connection.execute(f"pragma {setting}")
    return connection


def _bytes_by(head: bytes) -> int:
    """The size that a database's head says, 0 where it does not."""
    if len(head) < _HEADER_BYTES:
        return _HEADER_BYTES
    (page,), (changes, pages) = struct.unpack(">H", head[16:18]), struct.unpack(">II", head[24:32])
    (changes_then,) = struct.unpack(">I", head[92:96])
    return pages * (65_536 if page == 1 else page) if changes == changes_then else 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _damaged(file: SourceFile, found: str) -> SourceError:
    return SourceError(
        file.name, f"cannot be read to its end: {found}",
        expected="a whole export of Nsight Systems",
        todo="Copy it again, or export the report again: `nsys export --type=sqlite "
        "--force-overwrite=true REPORT.nsys-rep`.",
    )  # fmt: skip


def _unpack(file: SourceFile, target: Path) -> None:
    """Write what a .gz holds; a database that is cut is of no use."""
    with target.open("wb") as handle:
        for data in chunks(file, _CHUNK_BYTES):
            if data is None:
                raise _damaged(file, "the compressed data end early")
            handle.write(data)


class _ParquetFolder:
    row_name = "row"

    def __init__(self, file: SourceFile) -> None:
        path = Path(file.path)
        if path.stem != EXPORT_TABLE:
            raise SourceError(
                file.name, "is one table of a parquetdir export",
                expected=f"its {EXPORT_TABLE}.parquet, which stands for the whole folder",
                todo=f'Let the source\'s `files` end in "/{EXPORT_TABLE}.parquet".',
            )  # fmt: skip
        self._file, self._folder = file, path.parent

    def has(self, table: str) -> bool:
        return self._path(table).is_file()

    def parts(self, table: str, *columns: str) -> Iterator[Part]:
        if not self.has(table):
            return
        first = 1
        try:
            with parquet.ParquetFile(self._path(table)) as tables:
                found = [name for name in columns if name in tables.schema_arrow.names]
                for batch in tables.iter_batches(PART_ROWS, columns=found):
                    cells = {name: _cells(batch.column(name)) for name in found}
                    count = batch.num_rows
                    yield Part(
                        range(first, first + count),
                        {name: cells.get(name) or [None] * count for name in columns},
                    )
                    first += count
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise _damaged(self._file, f"{self._path(table).name}: {error}") from error

    def _path(self, table: str) -> Path:
        return self._folder / f"{table}.parquet"


def _cells(column: pa.Array) -> list[Any]:
    """Python's values of a column; text need not be UTF-8, and binary is written as text."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        raw = column.cast(pa.large_binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "replace") for value in raw]
    if pa.types.is_temporal(kind):
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values
