"""The landing tables as assets: one op that reads what is new, as `plumbline run` does."""

# No postponed annotations here: Dagster looks at those of an op as they are.

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow.parquet as pq

from pipelines.landing import land
from pipelines.orchestration import describe, watch
from pipelines.orchestration.deployment import Deployment
from pipelines.orchestration.partitions import Calendar, keys
from pipelines.orchestration.telling import POOL, as_failure
from pipelines.published import Published
from pipelines.run import publishing
from pipelines.writing import WAIT_S
from warehouse.contracts import LANDING
from warehouse.models import Graph
from warehouse.store import FileEntry, Store

OP = "land"
#: Days of a table that one run records one by one; of a first landing the oldest are left out.
MOST_DAYS = 100
Files = dict[str, FileEntry]


def landing_specs(calendar: Calendar) -> list[dg.AssetSpec]:
    """A spec for each landing table."""
    return [
        dg.AssetSpec(
            name,
            description=describe.of_contract(contract),
            group_name="landing",
            kinds={"python", "parquet"},
            code_version=str(contract.version),
            partitions_def=calendar.of_table(contract),
            metadata={
                "dagster/column_schema": describe.columns_of_contract(contract),
                "grain": contract.grain,
                "keys": ", ".join(contract.key),
            },
        )
        for name, contract in LANDING.items()
    ]


def landing_assets(models: Graph, calendar: Calendar) -> dg.AssetsDefinition:
    """All landing tables, read by one op. A table that is chosen alone is read with all others.

    A file may fill several tables, and which files are new is known only by looking at all.
    """

    @dg.multi_asset(
        name=OP,
        specs=landing_specs(calendar),
        check_specs=watch.specs(),
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=POOL,
    )
    def land_files(
        context: dg.AssetExecutionContext, deployment: Deployment
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        with as_failure():
            config = deployment.load()
            say = context.log.info
            with publishing(config, models, progress=say, wait_s=WAIT_S) as (store, transaction):
                before = _files(store)
                landed = land(config, store, transaction, progress=say)
                after = _files(store)
            for source in landed.empty:
                say(f"source {source.name}: no file fits {', '.join(source.patterns)}")
            for name in landed.forgotten:
                say(f"forgotten, since no source names it: {name}")
            chosen = {key.to_user_string() for key in context.selected_asset_keys}
            for table in LANDING:
                if table in chosen:
                    yield dg.MaterializeResult(
                        asset_key=table,
                        metadata=_metadata(table, after.values(), landed.rows.get(table, 0)),
                    )
            _log_changes(context, calendar, store, before, after, chosen)
            published = Published(config)
            for result in watch.results(published, keys(context), now=datetime.now(UTC)):
                key = dg.AssetCheckKey(result.asset_key, result.check_name)  # type: ignore[arg-type]
                if key in context.selected_asset_check_keys:
                    yield result

    return land_files


def _files(store: Store) -> Files:
    return {entry.path: entry for entry in store.state().files if entry.area == "landing"}


def _metadata(table: str, files: Iterable[FileEntry], read: int) -> describe.Metadata:
    """What a landing table holds now, and what this run read of it."""
    every = list(files)
    own = [entry for entry in every if entry.table == table]
    units = {entry.unit for entry in own}
    rejects = sum(entry.rows for entry in every if entry.table == "reject" and entry.unit in units)
    found: describe.Metadata = {
        "dagster/row_count": sum(entry.rows for entry in own),
        "rows_read": read,
        "rejects": rejects,
        "files": len(own),
        "source_files": len(units),
        "bytes": sum(entry.bytes for entry in own),
    }
    first = [entry.min_ns for entry in own if entry.min_ns is not None]
    last = [entry.max_ns for entry in own if entry.max_ns is not None]
    if first and last:
        found["window"] = f"{_instant(min(first))} to {_instant(max(last))}"
    return found


def _log_changes(
    context: dg.AssetExecutionContext,
    calendar: Calendar,
    store: Store,
    before: Files,
    after: Files,
    chosen: set[str],
) -> None:
    """Record the partitions that this run replaced without their being an output of it."""
    changed = [{**before, **after}[path] for path in sorted(before.keys() ^ after.keys())]
    for table in LANDING:
        if table in chosen:
            continue
        entries = [entry for entry in changed if entry.table == table]
        partitions = calendar.of_table(LANDING[table])
        if not entries:
            continue
        if partitions is None:
            wanted: list[str | None] = [None]
        elif partitions is calendar.days:
            days = sorted({e.partition.removeprefix("day=") for e in entries if e.partition})
            if len(days) > MOST_DAYS:
                context.log.info(
                    f"{table}: {len(days)} days changed; the last {MOST_DAYS} are recorded"
                )
            wanted = [*days[-MOST_DAYS:]]
        else:
            wanted = [*_bill_months(store, entries, after)]
        for partition in wanted:
            own = [
                entry for entry in after.values()
                if entry.table == "reject" or partition is None or partitions is calendar.months
                or entry.partition == f"day={partition}"
            ]  # fmt: skip
            read = sum(entry.rows for entry in entries if entry.path in after and entry in own)
            context.log_event(
                dg.AssetMaterialization(
                    table, partition=partition, metadata=_metadata(table, own, read)
                )
            )


def _bill_months(store: Store, entries: Iterable[FileEntry], after: Files) -> list[str]:
    """The months that the new files of a bill touch."""
    found: set[str] = set()
    units = {entry.unit for entry in entries}
    for entry in after.values():
        if entry.table == "bill_line" and entry.unit in units:
            column = pq.read_table(
                store.path(entry), columns=["charge_period_start"], partitioning=None
            ).column(0)
            found |= {f"{time:%Y-%m}-01" for time in set(column.to_pylist())}
    return sorted(found)


def _instant(time_ns: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
    return f"{moment:%Y-%m-%d %H:%M:%S}"
