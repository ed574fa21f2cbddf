"""The landing tables as assets: one op that reads what is new, as `plumbline run` does."""

# No postponed annotations here: Dagster looks at those of an op as they are.

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from pipelines.landing import land
from pipelines.orchestration import describe, landing_record, watch
from pipelines.orchestration.deployment import Deployment
from pipelines.orchestration.partitions import Calendar, keys
from pipelines.orchestration.telling import POOL, as_failure
from pipelines.published import Published
from pipelines.run import publishing
from pipelines.writing import WAIT_S
from warehouse.contracts import LANDING
from warehouse.models import Graph

OP = "land"


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
            with publishing(
                config, models, progress=say, wait_s=WAIT_S, complete=False
            ) as (store, transaction):  # fmt: skip
                before = landing_record.files(store)
                landed = land(config, store, transaction, progress=say)
                after = landing_record.files(store)
            for source in landed.empty:
                say(f"source {source.name}: {config.why_none(source)}")
            for name in landed.forgotten:
                say(f"forgotten, since it is gone or no source names it: {name}")
            chosen = {key.to_user_string() for key in context.selected_asset_keys}
            for table in LANDING:
                if table in chosen:
                    yield dg.MaterializeResult(
                        asset_key=table,
                        metadata=landing_record.metadata(
                            table, after.values(), read=landed.rows.get(table, 0)
                        ),
                    )
            landing_record.log(context, calendar, store, before, after)
            published = Published(config)
            for result in watch.results(published, keys(context), now=datetime.now(UTC)):
                key = dg.AssetCheckKey(result.asset_key, result.check_name)  # type: ignore[arg-type]
                if key in context.selected_asset_check_keys:
                    yield result

    return land_files
