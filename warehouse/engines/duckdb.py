# ruff: noqa: S608 - every name is quoted, every value a literal that this module writes.
"""The embedded engine: binds inputs by name, builds models, checks them, streams them out.

One engine is one scratch database in a folder of its own, removed at the end: intermediate tables
may be larger than memory. Nothing in it outlives a run; the store keeps what is published.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse import seeds, sqltypes
from warehouse.contracts import Batch
from warehouse.errors import ModelError, StoreError
from warehouse.models import Model
from warehouse.sqltypes import literal, quoted

#: Rows of a streamed batch: DuckDB's own row group, so that nothing is cut twice.
STREAM_ROWS = 122_880
#: Offending rows that a failed check shows.
SAMPLE_ROWS = 5


@dataclass(frozen=True)
class CheckResult:
    """One check of one model: `bad_rows` is how many rows fail it, `sample` the first few."""

    model: str
    check: str
    level: str
    passed: bool
    bad_rows: int
    sample: list[dict[str, Any]]


class DuckEngine:
    """DuckDB with a scratch database; a context manager, for one thread at a time.

    `scratch` is the folder under which the database lives while the engine is open; what killed
    runs left there is removed. `memory_limit` is DuckDB's (memory of Arrow batches comes on top),
    `threads` defaults to the machine's cores. All faults of SQL are ModelErrors.
    """

    def __init__(
        self, scratch: Path, *, memory_limit: str = "3GB", threads: int | None = None
    ) -> None:
        self._scratch, self._memory_limit, self._threads = scratch, memory_limit, threads

    def __enter__(self) -> Self:
        self._scratch.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(self._scratch)
        self._folder = Path(tempfile.mkdtemp(prefix="engine-", dir=self._scratch))
        self._lock = _locked(self._folder)
        config: dict[str, Any] = {
            "memory_limit": self._memory_limit,
            "temp_directory": str(self._folder / "spill"),
            # Order is asked for where it counts; keeping it elsewhere costs memory.
            "preserve_insertion_order": False,
            # A table name must never fall through to a Python variable of the same name.
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        if self._threads is not None:
            config["threads"] = self._threads
        try:
            self._con = duckdb.connect(self._folder / "scratch.duckdb", config=config)
            # Whatever the machine's zone, days and months are cut in UTC.
            self._con.execute("set global TimeZone = 'UTC'")
        except duckdb.Error as error:
            self._clean()
            raise ModelError(f"the engine does not start: {error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._con.close()
        self._clean()

    def _clean(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()

    # -- inputs -------------------------------------------------------------------------------

    def bind_files(self, name: str, paths: Sequence[str | Path], schema: pa.Schema) -> None:
        """Bind a list of Parquet files as the view `name`; no files give an empty view.

        Only these files are read, whatever lies beside them. Raises StoreError where a file
        cannot be read or has other columns or types than `schema`.
        """
        for path in paths:
            _check_file(name, path, schema)
        query = select_files(paths, schema)
        self._run(f"create or replace view {quoted(name)} as {query}", name)

    def bind_arrow(self, name: str, rows: pa.Table) -> None:
        """Copy an Arrow table into the table `name`; for the small tables of a run."""
        with self._cursor(name) as cursor:
            cursor.register("arrow_rows", rows)
            try:
                cursor.sql(f"create or replace table {quoted(name)} as select * from arrow_rows")
            finally:
                cursor.unregister("arrow_rows")

    def bind_seed(self, name: str, csv_path: Path) -> None:
        """Read a seed into the table `name`.

        A seed is a CSV whose first line is `column:TYPE,...`; lines that begin with # are
        comments (they carry the sources), an empty cell is null. Raises ModelError with file
        and line for a row of another length and for a value that is not of its column's type.
        """
        seed = seeds.read_seed(csv_path)
        columns = seed.columns
        texts = [
            pa.array([cells[i] or None for _, cells in seed.rows], pa.string())
            for i in range(len(columns))
        ]
        lines = pa.array([line for line, _ in seed.rows], pa.int64())
        self.bind_arrow(
            f"seed_text_{name}",
            pa.Table.from_arrays([lines, *texts], ["line number", *(c for c, _ in columns)]),
        )
        text = quoted(f"seed_text_{name}")
        for column, type_ in columns:
            bad = self.rows(
                f'select "line number", {quoted(column)} from {text} '
                f"where {quoted(column)} is not null "
                f'and try_cast({quoted(column)} as {type_}) is null order by "line number" limit 1'
            ).to_pylist()
            if bad:
                raise ModelError(
                    f"{csv_path}:{bad[0]['line number']}: {bad[0][column]!r} is no {type_} "
                    f"({column}). Correct the cell or the type in the first line."
                )
        casts = ", ".join(f"cast({quoted(c)} as {t}) as {quoted(c)}" for c, t in columns)
        self._run(
            f"create or replace table {quoted(name)} as select {casts} from {text}",
            csv_path,
        )
        self._run(f"drop table {text}", csv_path)

    # -- models -------------------------------------------------------------------------------

    def build(self, model: Model) -> None:
        """Build a model: a view in staging, a table elsewhere (of a check: its offending rows).

        Its inputs must be bound or built. Raises ModelError where the SQL does not run, or where
        its columns differ from the header's in name, order or type.
        """
        kind = "view" if model.layer == "staging" else "table"
        self._run(f"create or replace {kind} {quoted(model.name)} as {model.sql}", model.path)
        # What was built is described, not the SELECT: planning that again costs more than small
        # months take to build.
        described = self._columns(model)
        declared = [(c.name, c.type) for c in model.columns]
        if described != declared:
            self._run(f"drop {kind} {quoted(model.name)}", model.path)
            raise ModelError(f"{model.path}: {_difference(declared, described)}")

    def check(self, model: Model) -> list[CheckResult]:
        """Run a built model's checks: unique keys (blocking), then those of its header.

        Nulls in keys compare equal; a check that comes out null has failed. A model of the layer
        checks passes when its table is empty; it is built here.
        """
        if model.layer == "checks":
            self.build(model)
            return [self._offenders(model)]
        return [self._unique_key(model), *self._row_checks(model)]

    def _offenders(self, model: Model) -> CheckResult:
        name = quoted(model.name)
        count = _one(self._read(f"select count(*) as n from {name}", model.path))["n"]
        columns = ", ".join(quoted(c.name) for c in model.columns)
        sample = f"select {columns} from {name} order by all limit {SAMPLE_ROWS}"
        rows = self._read(sample, model.path).to_pylist() if count else []
        return CheckResult(model.name, model.name, model.level or "", count == 0, count, rows)

    def _unique_key(self, model: Model) -> CheckResult:
        keys = ", ".join(quoted(key) for key in model.keys)
        table = quoted(model.name)
        rows = self._read(
            f"select {keys}, row_count, cast(sum(row_count) over () as bigint) as bad_rows from ("
            f"select {keys}, count(*) as row_count from {table} "
            f"group by {keys} having count(*) > 1) order by {keys} limit {SAMPLE_ROWS}",
            model.path,
        ).to_pylist()
        bad = int(rows[0]["bad_rows"]) if rows else 0
        sample = [{k: v for k, v in row.items() if k != "bad_rows"} for row in rows]
        return CheckResult(model.name, "unique_key", "blocking", bad == 0, bad, sample)

    def _row_checks(self, model: Model) -> Iterator[CheckResult]:
        if not model.checks:
            return
        # A line break ends a comment that an expression may carry.
        failing = [f"({check.expression}\n) is not true" for check in model.checks]
        counts = ", ".join(
            f"count(*) filter (where {test}) as {quoted(check.name)}"
            for check, test in zip(model.checks, failing, strict=True)
        )
        table = quoted(model.name)
        found = _one(self._read(f"select {counts} from {table}", model.path))
        order = ", ".join(quoted(name) for name in model.order)
        columns = ", ".join(quoted(c.name) for c in model.columns)
        for check, test in zip(model.checks, failing, strict=True):
            bad = int(found[check.name])
            sample = (
                f"select {columns} from {table} where {test} order by {order} limit {SAMPLE_ROWS}"
            )
            rows = self._read(sample, model.path).to_pylist() if bad else []
            yield CheckResult(model.name, check.name, check.level, bad == 0, bad, rows)

    # -- results ------------------------------------------------------------------------------

    def rows(self, sql: str) -> pa.Table:
        """The whole result of one query over what is bound and built."""
        return self._read(sql, "query")

    def count(self, model: Model) -> int:
        """How many rows a built model has."""
        found = self._read(f"select count(*) as row_count from {quoted(model.name)}", model.path)
        return int(_one(found)["row_count"])

    def stream(self, model: Model, *, where_month: date | None = None) -> Iterator[Batch]:
        """A built model's rows in its publishing order, nulls first, in its contract's schema.

        `where_month` keeps the rows whose column `month` is that date. Sorting spills to disk;
        the reader holds a few batches.
        """
        schema = model.contract().schema
        where = ""
        if where_month is not None:
            if "month" not in schema.names:
                raise ModelError(f"{model.path}: no column month to cut by. Publish it whole.")
            where = f"where month = date '{where_month.isoformat()}'"
        columns = ", ".join(quoted(name) for name in schema.names)
        order = ", ".join(f"{quoted(name)} nulls first" for name in model.order)
        query = f"select {columns} from {quoted(model.name)} {where} order by {order}"
        with (
            self._cursor(model.path) as cursor,
            cursor.sql(query).to_arrow_reader(STREAM_ROWS) as reader,
        ):
            for batch in reader:
                yield Batch(model.name, batch.cast(schema))

    # -- inside -------------------------------------------------------------------------------

    @contextmanager
    def _cursor(self, origin: object) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of its own for one query: an unfinished result blocks its connection."""
        cursor = self._con.cursor()
        try:
            yield cursor
        except duckdb.OutOfMemoryException as error:
            raise ModelError(
                f"{origin}: needs more than memory_limit {self._memory_limit} ({error}). "
                "Raise it, or free disk for spilling."
            ) from error
        except duckdb.Error as error:
            raise ModelError(f"{origin}: {error}") from error
        finally:
            cursor.close()

    def _columns(self, model: Model) -> list[tuple[str, str]]:
        with self._cursor(model.path) as cursor:
            rows = cursor.execute(f"describe {quoted(model.name)}").fetchall()
        return [(str(row[0]), str(row[1])) for row in rows]

    def _run(self, sql: str, origin: object) -> None:
        with self._cursor(origin) as cursor:
            cursor.execute(sql).fetchall()

    def _read(self, sql: str, origin: object) -> pa.Table:
        with self._cursor(origin) as cursor:
            return cursor.sql(sql).to_arrow_table()


def _one(table: pa.Table) -> dict[str, Any]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows[0]


def literal_path(path: str) -> str:
    """A path that DuckDB takes as it is, though it may hold pattern characters."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def select_files(paths: Sequence[str | Path], schema: pa.Schema) -> str:
    """A SELECT of a schema's columns from exactly these Parquet files; of no rows without files."""
    if paths:
        columns = ", ".join(quoted(name) for name in schema.names)
        files = ", ".join(literal(literal_path(str(path))) for path in paths)
        return (
            f"select {columns} from read_parquet([{files}], hive_partitioning = false, "
            "union_by_name = false)"
        )
    casts = ", ".join(
        f"cast(null as {sqltypes.sql_type(field.type)}) as {quoted(field.name)}" for field in schema
    )
    return f"select {casts} where false"


def _check_file(name: str, path: str | Path, schema: pa.Schema) -> None:
    try:
        found = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"{path}: cannot be read as Parquet for {name} ({error}). Ingest its source again."
        ) from error
    have = {field.name: field.type for field in found}
    want = {field.name: field.type for field in schema}
    same = have.keys() == want.keys() and all(
        sqltypes.same_type(have[column], want[column]) for column in want
    )
    if not same:
        declared = [(field.name, str(field.type)) for field in schema]
        present = [(field.name, str(field.type)) for field in found]
        raise StoreError(f"{path}: {_difference(declared, present)} Ingest its source again.")


def _difference(declared: list[tuple[str, str]], found: list[tuple[str, str]]) -> str:
    """Both column lists side by side, with a mark where they differ."""
    wide = max(len(f"{n} {t}") for n, t in declared)
    lines = ["columns differ in name, order or type:", f"    {'declared':<{wide}}   found"]
    for i in range(max(len(declared), len(found))):
        left = " ".join(declared[i]) if i < len(declared) else "-"
        right = " ".join(found[i]) if i < len(found) else "-"
        lines.append(f"  {' ' if left == right else '!'} {left:<{wide}}   {right}".rstrip())
    return "\n".join(lines)


def _locked(folder: Path) -> IO[str] | None:
    """An open, locked file that says that the folder is in use; None where another has it."""
    handle = (folder / "lock").open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        return None
    return handle


def _remove_abandoned(scratch: Path) -> None:
    """Remove what killed runs left: a folder whose lock nobody holds any more."""
    for folder in scratch.glob("engine-*"):
        # Without a lock file another engine may be about to take it.
        if (folder / "lock").exists():
            lock = _locked(folder)
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                lock.close()
