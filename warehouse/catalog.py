"""`plumbline.duckdb`: the published tables for BI tools and the duckdb command line.

The file holds views only, each over the explicit files that the manifest names, so it is small and
can be rebuilt at any time. It is written in an old storage format, since BI drivers lag behind, and
under another name first: who has the old one open goes on with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from warehouse.contracts import Contract
from warehouse.errors import StoreError
from warehouse.manifest import FileEntry
from warehouse.sqltypes import sql_type
from warehouse.store import Store

CATALOG = "plumbline.duckdb"
#: Readable by every DuckDB from 1.2 on.
STORAGE_VERSION = "v1.2.0"


def write_catalog(store: Store, path: str | Path, contracts: Mapping[str, Contract]) -> bool:
    """Write the catalog of these tables; False where the one that is there says the same.

    A view has the contract's columns, its grain as comment and each column's meaning and unit; a
    table without files is an empty view of the right types. Call it inside the transaction, after
    the commit: then its files exist, and the replaced ones still do. Raises StoreError where a file
    has another version than its contract (`Transaction.migrate` comes first).
    """
    path = Path(path).resolve()
    fresh = path.with_name(f".{path.name}.tmp")
    statements = [s for c in contracts.values() for s in _statements(store, c)]
    _remove(fresh)  # of a killed run
    try:
        with duckdb.connect() as connection:
            _attach(connection, fresh, f"storage_version {_text(STORAGE_VERSION)}")
            connection.execute("use catalog")
            # Together: on their own, hundreds of comments take twice as long.
            connection.execute("begin")
            for statement in statements:
                connection.execute(statement)
            connection.execute("commit")
            _detach(connection)
            # both as they are read back: a view that was just made is spelled otherwise
            content = _content_of(connection, fresh)
            if content and path.exists() and content == _content_of(connection, path):
                return False
        _publish(fresh, path)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"{path}: cannot write the catalog: {error}. The published tables stand; check free "
            "space and permissions, then run again."
        ) from error
    finally:
        _remove(fresh)
    return True


def _scan(store: Store, files: Iterable[FileEntry]) -> str:
    """A SQL table expression over exactly these files; there must be at least one.

    Hive partitioning is off: it would put the text of a folder `month=2026-11` in the place of the
    column `month`. Names are taken literally, though DuckDB reads them as patterns.
    """
    paths = (re.sub(r"([*?\[])", r"[\1]", store.path(entry)) for entry in files)
    return f"read_parquet([{', '.join(map(_text, paths))}], hive_partitioning = false)"


def _statements(store: Store, contract: Contract) -> list[str]:
    files = store.files(contract.name)
    other = [f for f in files if f.version != contract.version]
    if other:
        raise StoreError(
            f"{store.root}/{other[0].path} has version {other[0].version} of table "
            f"{contract.name}; expected {contract.version}. Migrate the warehouse first."
        )
    view = _name(contract.name)
    if files:
        columns = ", ".join(_name(c.name) for c in contract.columns)
        body = f"select {columns} from {_scan(store, files)}"  # noqa: S608 - quoted throughout
    else:
        nulls = (f"cast(null as {sql_type(c.type)}) as {_name(c.name)}" for c in contract.columns)
        body = f"select {', '.join(nulls)} where false"
    return [
        f"create view {view} as {body}",
        f"comment on view {view} is {_text(contract.grain)}",
        *(
            f"comment on column {view}.{_name(c.name)} is "
            + _text(f"{c.meaning} [{c.unit}]" if c.unit else c.meaning)
            for c in contract.columns
        ),
    ]


def _attach(connection: duckdb.DuckDBPyConnection, path: Path, options: str) -> None:
    connection.execute(f"attach {_text(str(path))} as catalog ({options})")


def _detach(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("use memory")
    connection.execute("detach catalog")


def _content_of(
    connection: duckdb.DuckDBPyConnection, path: Path
) -> list[tuple[object, ...]] | None:
    """All that a catalog says: its views, their columns and comments; None where it is damaged."""
    try:
        _attach(connection, path, "read_only")
        views = connection.execute(
            "select view_name, sql, comment from duckdb_views() "
            "where database_name = 'catalog' and not internal order by view_name"
        ).fetchall()
        columns = connection.execute(
            "select table_name, column_name, data_type, comment from duckdb_columns() "
            "where database_name = 'catalog' and not internal order by table_name, column_index"
        ).fetchall()
        _detach(connection)
    except duckdb.Error:
        return None
    return [*views, *columns]


def _publish(fresh: Path, path: Path) -> None:
    for step in (fresh, path.parent):
        handle = os.open(step, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if step is fresh:
            fresh.replace(path)


def _remove(fresh: Path) -> None:
    fresh.unlink(missing_ok=True)
    fresh.with_name(f"{fresh.name}.wal").unlink(missing_ok=True)


def _name(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
