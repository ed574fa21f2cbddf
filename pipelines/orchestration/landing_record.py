"""What a run did to the landing tables, as the scheduler keeps it: rows, rejects, partitions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow.parquet as pq

from pipelines.orchestration import describe
from pipelines.orchestration.partitions import Calendar, keys
from warehouse.contracts import LANDING
from warehouse.store import FileEntry, Store

#: Partitions of a table that one run records besides its own, the latest ones: an event is dear.
MOST = 100

Files = dict[str, FileEntry]


def files(store: Store) -> Files:
    """The landing files that count now, by path."""
    return {entry.path: entry for entry in store.state().files if entry.area == "landing"}


def metadata(table: str, entries: Iterable[FileEntry], *, read: int) -> describe.Metadata:
    """What these files hold of a landing table, and the rows that this run read of it.

    `rejects` are the records that could not be read of the source files that its rows come from.
    """
    every = list(entries)
    own = [entry for entry in every if entry.table == table]
    units = {entry.unit for entry in own}
    found: describe.Metadata = {
        "dagster/row_count": sum(entry.rows for entry in own),
        "rows_read": read,
        "rejects": sum(e.rows for e in every if e.table == "reject" and e.unit in units),
        "files": len(own),
        "source_files": len(units),
        "bytes": sum(entry.bytes for entry in own),
    }
    first = [entry.min_ns for entry in own if entry.min_ns is not None]
    last = [entry.max_ns for entry in own if entry.max_ns is not None]
    if first and last:
        found["window"] = f"{_instant(min(first))} to {_instant(max(last))}"
    return found


def log(
    context: dg.AssetExecutionContext, calendar: Calendar, store: Store, before: Files, after: Files
) -> None:
    """Record the partitions that this run replaced without their being its output.

    So are those that landed when the scheduler was not there, by `plumbline run`.
    """
    chosen = {key.to_user_string() for key in context.selected_asset_keys}
    span = keys(context)
    paths = before.keys() ^ after.keys()
    for table in LANDING:
        partitions = calendar.of_table(LANDING[table])
        changed = [e for p, e in (before | after).items() if p in paths and e.table == table]
        there = [entry for entry in after.values() if entry.table == table]
        if partitions is None:
            if changed and table not in chosen:
                _log(context, table, None, after.values(), paths)
            continue
        known = {*context.instance.get_materialized_partitions(dg.AssetKey(table))}
        wanted = _partitions(store, table, changed) | (_partitions(store, table, there) - known)
        if table in chosen and span is not None:
            wanted = {key for key in wanted if not str(span[0]) <= key <= str(span[1])}
        wanted = {key for key in wanted if partitions.has_partition_key(key)}
        if len(wanted) > MOST:
            context.log.info(f"{table}: {len(wanted)} partitions; the last {MOST} are recorded")
        for key in sorted(wanted)[-MOST:]:
            days = partitions is calendar.days
            part = [
                entry for entry in after.values()
                if not days or entry.table == "reject" or entry.partition == f"day={key}"
            ]  # fmt: skip
            _log(context, table, key, part, paths)


def _log(
    context: dg.AssetExecutionContext,
    table: str,
    partition: str | None,
    entries: Iterable[FileEntry],
    paths: set[str],
) -> None:
    every = list(entries)
    read = sum(entry.rows for entry in every if entry.table == table and entry.path in paths)
    context.log_event(
        dg.AssetMaterialization(
            table, partition=partition, metadata=metadata(table, every, read=read)
        )
    )


def _partitions(store: Store, table: str, entries: Iterable[FileEntry]) -> set[str]:
    """The days of files that lie by day, or the months of the charges in a bill's files."""
    if LANDING[table].time is not None:
        return {e.partition.removeprefix("day=") for e in entries if e.partition}
    found: set[str] = set()
    units = {entry.unit for entry in entries}
    for entry in store.files("bill_line", area="landing"):
        if entry.unit in units:
            times = pq.read_table(
                store.path(entry), columns=["charge_period_start"], partitioning=None
            ).column(0)
            found |= {f"{time:%Y-%m}-01" for time in set(times.to_pylist())}
    return found


def _instant(time_ns: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
    return f"{moment:%Y-%m-%d %H:%M:%S}"
