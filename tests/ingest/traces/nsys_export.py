"""What the tests of Nsight Systems exports share: writing an export, and reading it into tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ingest.traces import nsys
from tests.ingest.traces.reading import Tables
from warehouse.contracts import LANDING, SourceFile

#: 10:00:00 UTC on 10 November 2026.
EPOCH = 1_794_304_800_000_000_000
PID, TID = 440, 441
#: As Nsight Systems packs them; the upper bits are the machine's.
GLOBAL_PID = (1 << 48) + (PID << 24)
GLOBAL_TID = GLOBAL_PID + TID
Cells = dict[str, Any]
Rows = Sequence[Cells]

SESSION: Cells = {"utcEpochNs": EPOCH, "systemClockNs": 7 * 10**14}
STRINGS: Rows = [
    {"id": 1, "value": "void at::native::add<4>(int)"},
    {"id": 2, "value": "cudaLaunchKernel_v7000"},
    {"id": 3, "value": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096>)"},
    {"id": 4, "value": "cudaGraphLaunch_v10000"},
    {"id": 5, "value": "step 12"},
]


def kernel(start: Any = 1000, end: Any = 1500, **cells: Any) -> Cells:
    """A row of the kernel table."""
    return {
        "start": start, "end": end, "deviceId": 0, "streamId": 7, "correlationId": 9,
        "globalPid": GLOBAL_PID, "demangledName": 1, "shortName": 1, "mangledName": None,
        "gridX": 3, "gridY": 2, "gridZ": 1, "blockX": 128, "blockY": 1, "blockZ": 1,
        "graphNodeId": None, **cells,
    }  # fmt: skip


def call(start: Any = 900, end: Any = 950, **cells: Any) -> Cells:
    """A row of the runtime table."""
    return {"start": start, "end": end, "globalTid": GLOBAL_TID, "correlationId": 9, "nameId": 2,
            **cells}  # fmt: skip


def span(text: str | None, start: Any = 800, end: Any = 2000, **cells: Any) -> Cells:
    """A row of the NVTX table: a range that was pushed and popped."""
    return {"start": start, "end": end, "eventType": 59, "globalTid": GLOBAL_TID, "text": text,
            "textId": None, "domainId": 0, **cells}  # fmt: skip


def export(**tables: Rows) -> dict[str, Rows]:
    """The tables of an export, by short names: kernel, memcpy, runtime, nvtx, or in full."""
    short = {name: f"CUPTI_ACTIVITY_KIND_{name.upper()}" for name in (
        "kernel", "memcpy", "memset", "graph_trace", "runtime", "synchronization"
    )} | {"nvtx": "NVTX_EVENTS"}  # fmt: skip
    named = {short.get(name, name): rows for name, rows in tables.items()}
    found = {"TARGET_INFO_SESSION_START_TIME": [SESSION], "StringIds": STRINGS, **named}
    return {name: rows for name, rows in found.items() if rows}


def write(path: Path, tables: Mapping[str, Rows], *statements: str) -> Path:
    """Write a sqlite export whose columns are those of each table's first row."""
    with closing(sqlite3.connect(path)) as connection:
        for name, rows in tables.items():
            columns = list(rows[0])
            quoted = ", ".join(f'"{column}"' for column in columns)
            connection.execute(f'create table "{name}" ({quoted})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(
                f'insert into "{name}" values ({marks})',
                [[row.get(column) for column in columns] for row in rows],
            )
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def write_folder(folder: Path, tables: Mapping[str, Rows]) -> Path:
    """Write a parquetdir export; the path of the file that stands for it."""
    folder.mkdir()
    meta = [{"name": "EXPORT_TIME_UTC", "value": "2026-11-10T11:00:00"}]
    for name, rows in {"META_DATA_EXPORT": meta, **tables}.items():
        parquet.write_table(pa.Table.from_pylist(list(rows)), folder / f"{name}.parquet")
    return folder / "META_DATA_EXPORT.parquet"


def read_path(path: Path, name: str | None = None, **options: Any) -> Tables:
    """Read an export; every batch has the contract's schema, every event a number of its own."""
    tables: Tables = {table: [] for table in LANDING}
    file = SourceFile(str(path), name or path.name, "traces", "h200", None, options)
    for batch in nsys.read(file):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    keys = [(r["source"], r["file"], r["position"]) for r in tables["reject"]]
    assert len(keys) == len(set(keys)), "the key of reject"
    events = ("trace_kernel", "trace_launch", "trace_op", "trace_annotation")
    numbers = [row["event_no"] for table in events for row in tables[table]]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    for table in events:
        found = [row["event_no"] for row in tables[table]]
        assert found == sorted(found), f"{table} in the order of its numbers"
    return tables


def read(
    folder: Path, *statements: str, options: Mapping[str, Any] | None = None, **tables: Rows
) -> Tables:
    """Write and read a sqlite export of these tables."""
    path = write(folder / "t.sqlite", export(**tables), *statements)
    return read_path(path, **(options or {}))
