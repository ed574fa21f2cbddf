"""Readers' own SQL over the published tables: one query, read-only, in a sandbox.

Two walls, each of which would do alone for nearly everything: the engine is opened in memory, may
touch no file but the published ones, and its settings are locked; and before that the query's own
syntax tree is looked through, since a file that may be read may also be written (`copy` hides in
a CTE), and settings and file names are nobody's business.
"""

from __future__ import annotations

import difflib
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from warehouse.engines.duckdb import literal_path, select_files
from warehouse.errors import QueryRefused, StoreError
from warehouse.render import render
from warehouse.sqltypes import literal, quoted

__all__ = ["render", "run_query"]

ALLOWED = (
    "Allowed is one statement: SELECT (also WITH, VALUES, DESCRIBE, SUMMARIZE, SHOW TABLES) over "
    "the published tables, or EXPLAIN of one"
)
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_TABLE_FUNCTIONS = {"range", "generate_series", "unnest", "json_each", "json_tree"}
_CATALOG = {"tables", "columns"}
#: They show the machine's or the session's state instead of data.
_SCALARS = {"getenv", "current_setting", "getvariable", "write_log", "nextval", "currval"}
_COMMENT = r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_EXPLAIN = re.compile(
    rf"{_COMMENT}explain\b(?:{_COMMENT}analyze\b)?"
    rf"(?:{_COMMENT}\(\s*(?:analyze|format)\b[^()]*\))?",
    re.IGNORECASE | re.DOTALL,
)


def run_query(
    store_files: Mapping[str, Sequence[str]],
    schemas: Mapping[str, pa.Schema],
    sql: str,
    *,
    memory_limit: str = "1GB",
    timeout_s: float | None = None,
) -> pa.Table:
    """The whole result of one reader's query, as Arrow.

    `store_files` holds the Parquet files of each published table (none: an empty table with the
    columns of `schemas`). Raises QueryRefused for anything but reading these tables, for SQL that
    does not run and when `timeout_s` is over; StoreError where published files cannot be bound.
    Nothing is spilled to disk: a query that needs more than `memory_limit` fails.
    """
    with duckdb.connect(":memory:", config=_config(memory_limit)) as con:
        _inspect(con, sql, set(store_files))
        _bind(con, store_files, schemas)
        timer = threading.Timer(timeout_s, con.interrupt) if timeout_s else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            return _run(con, sql)
        except duckdb.InterruptException as error:
            raise QueryRefused(
                f"the query took more than {timeout_s:g} s and was stopped. Ask for less."
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise QueryRefused(
                f"the query needs more than memory_limit {memory_limit}. Ask for less, or raise it."
            ) from error
        except duckdb.PermissionException as error:
            raise QueryRefused(
                f"the query reaches beyond the tables: {error}. {ALLOWED}."
            ) from error
        except duckdb.Error as error:
            raise QueryRefused(f"the query does not run: {error}") from error
        finally:
            if timer is not None:
                timer.cancel()


def _config(memory_limit: str) -> dict[str, Any]:
    return {
        "memory_limit": memory_limit,
        # Without a folder nothing is spilled, so nothing is left on disk.
        "temp_directory": "",
        # A table name must not fall through to a Python variable of that name.
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }


def _bind(
    con: duckdb.DuckDBPyConnection,
    store_files: Mapping[str, Sequence[str]],
    schemas: Mapping[str, pa.Schema],
) -> None:
    """Create the views, then close the sandbox for good."""
    con.execute("set global TimeZone = 'UTC'")
    paths: set[str] = set()
    for name, files in store_files.items():
        try:
            con.execute(f"create view {quoted(name)} as {select_files(files, schemas[name])}")
        except duckdb.Error as error:
            raise StoreError(
                f"the published files of {name} cannot be bound ({error}). Run `plumbline run`."
            ) from error
        # The engine compares the path as the view writes it, and then the file that it means.
        paths.update(files, map(literal_path, files))
    allowed = ", ".join(literal(path) for path in sorted(paths))
    con.execute(f"set allowed_paths = [{allowed}]")
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")


def _run(con: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    if _kind(_statement(con, sql)) == "EXPLAIN":
        names = ["plan", "text"]
        rows = con.execute(sql).fetchall()
        return pa.table({n: [str(row[i]) for row in rows] for i, n in enumerate(names)})
    return con.sql(sql).to_arrow_table()


def _statement(con: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    try:
        statements = con.extract_statements(sql)
    except duckdb.Error as error:
        raise QueryRefused(f"the SQL cannot be parsed: {error}") from error
    if len(statements) != 1:
        raise QueryRefused(f"found {len(statements)} statements. {ALLOWED}.")
    return statements[0]


def _kind(statement: duckdb.Statement) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # a kind that the client has no name for
        return "this statement"


def _inspect(con: duckdb.DuckDBPyConnection, sql: str, tables: set[str]) -> None:
    statement = _statement(con, sql)
    if _kind(statement) == "EXPLAIN":
        # EXPLAIN ANALYZE runs what it explains, so that has to pass by itself.
        prefix = _EXPLAIN.match(sql)
        if prefix is None:
            raise QueryRefused(f"this form of EXPLAIN is not known. {ALLOWED}.")
        sql = sql[prefix.end() :]
        statement = _statement(con, sql)
    if _kind(statement) != "SELECT":
        raise QueryRefused(f"{_kind(statement)} is refused. {ALLOWED}.")
    (found,) = con.execute("select json_serialize_sql(cast(? as varchar))", [sql]).fetchall()
    try:
        tree = json.loads(found[0])
    except RecursionError as error:
        raise QueryRefused("the query is nested too deeply. Write it flatter.") from error
    if tree["error"]:
        raise QueryRefused(f"{tree['error_message']} {ALLOWED}.")
    nodes = list(_nodes(tree))
    ctes = {str(node["key"]).lower() for node in nodes if "query_node" in _value(node)}
    known = {name.lower() for name in tables} | ctes
    for node in nodes:
        _inspect_node(node, known)


def _inspect_node(node: dict[str, Any], known: set[str]) -> None:
    kind = str(node.get("type", ""))
    function = str(node.get("function_name", "")).lower()
    if kind.endswith("_NODE") and kind not in _NODES:
        what = kind.removesuffix("_NODE").removesuffix("_QUERY")
        raise QueryRefused(f"{what} inside a query is refused. {ALLOWED}.")
    if kind == "BASE_TABLE":
        _inspect_table(node, known)
    elif kind == "TABLE_FUNCTION":
        name = str(node["function"]["function_name"]).lower()
        if name not in _TABLE_FUNCTIONS:
            raise QueryRefused(
                f"the table function {name}() is refused. Use published tables, "
                f"{', '.join(sorted(_TABLE_FUNCTIONS))}."
            )
    elif function in _SCALARS:
        raise QueryRefused(f"the function {function}() is refused. {ALLOWED}.")


def _inspect_table(node: dict[str, Any], known: set[str]) -> None:
    name, schema = str(node["table_name"]).lower(), str(node["schema_name"]).lower()
    if schema == "information_schema" and name in _CATALOG:
        return
    if name not in known or schema not in {"", "main"}:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "SHOW TABLES lists them."
        written = ".".join(part for part in (schema, str(node["table_name"])) if part)
        raise QueryRefused(f"{written!r} is no published table. {hint}")


def _value(node: dict[str, Any]) -> dict[str, Any]:
    value = node.get("value")
    return value if isinstance(value, dict) and "key" in node else {}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object of a JSON tree, without recursion: queries may be deep."""
    left = [tree]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            yield item
            left.extend(item.values())
        elif isinstance(item, list):
            left.extend(item)
