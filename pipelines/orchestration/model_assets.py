"""The models as assets: one op that builds, checks and publishes, as `plumbline run` does."""

# No postponed annotations here: Dagster looks at those of an op as they are.

from collections.abc import Collection, Iterator, Sequence
from datetime import date

import dagster as dg

from pipelines.landing import Landed
from pipelines.orchestration import checks, describe
from pipelines.orchestration.deployment import Deployment
from pipelines.orchestration.partitions import Calendar, keys, months_between
from pipelines.orchestration.record import Record
from pipelines.orchestration.telling import POOL, as_failure, once_a_month
from pipelines.run import Outcome, Work, build, publishing
from pipelines.writing import WAIT_S
from warehouse.contracts import LANDING
from warehouse.errors import PlumblineError
from warehouse.models import Graph, Model
from warehouse.shipped import seeds
from warehouse.store import Store

OP = "build"


class BuildConfig(dg.Config):
    """What a run builds besides the months of its partitions.

    `touched`: every other month that new input touches too, as `plumbline run` does.
    """

    touched: bool = False


def model_specs(models: Graph, calendar: Calendar) -> list[dg.AssetSpec]:
    """A spec for each model that is no check, in building order."""
    return [
        _spec(models.models[name], calendar)
        for name in models.order
        if models.models[name].layer != "checks"
    ]


def seed_specs(models: Graph) -> list[dg.AssetSpec]:
    """The seeds that models read: they ship with Plumbline, no run makes them."""
    read = {name for model in models.models.values() for name in model.inputs}
    return [
        dg.AssetSpec(
            name, group_name="seeds", kinds={"csv"},
            description=f"Dated facts with their sources: models/seeds/{path.name}.",
        )
        for name, path in seeds().items()
        if name in read
    ]  # fmt: skip


def model_assets(models: Graph, calendar: Calendar) -> dg.AssetsDefinition:
    """All models, built by one op. A model that is chosen alone is built with all others."""

    @dg.multi_asset(
        name=OP,
        specs=model_specs(models, calendar),
        check_specs=checks.specs(models),
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.single_run(),
        pool=POOL,
    )
    def build_months(
        context: dg.AssetExecutionContext, config: BuildConfig, deployment: Deployment
    ) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        span = keys(context)
        window = None if span is None else months_between(*span)
        record = Record()
        with as_failure():
            settings, wanted = deployment.load(), None if config.touched else window
            with publishing(
                settings, models, progress=context.log.info, wait_s=WAIT_S, complete=wanted is None
            ) as (store, transaction):  # fmt: skip
                work = Work(
                    settings, store, transaction, models, Outcome(Landed()),
                    once_a_month(context.log.info), record,
                )  # fmt: skip
                try:
                    build(work, wanted=wanted)
                except PlumblineError:
                    yield from _chosen_checks(context, models, record)
                    _log(context, models, calendar, record, store, record.months)
                    raise
            _say(context, work.outcome, window)
            chosen = {key.to_user_string() for key in context.selected_asset_keys}
            inside = record.months if window is None else window
            if set(inside) & set(record.months):
                for name in [name for name in models.order if name in chosen]:
                    model = models.models[name]
                    for month in window or ():
                        context.add_asset_metadata(
                            record.metadata(model, store, month),
                            asset_key=name,
                            partition_key=month.isoformat(),
                        )
                    yield dg.MaterializeResult(asset_key=name)
            outside = [month for month in record.months if month not in inside]
            _log(context, models, calendar, record, store, outside)
            _log(context, models, calendar, record, store, inside, except_=chosen)
            yield from _chosen_checks(context, models, record)

    return build_months


def _spec(model: Model, calendar: Calendar) -> dg.AssetSpec:
    published = model.layer in ("marts", "reports")
    known = {*LANDING, *seeds()}
    return dg.AssetSpec(
        model.name,
        deps=[name for name in model.inputs if name in known or not name.startswith("run_")],
        description=describe.of_model(model),
        group_name=model.layer,
        kinds={"sql", "duckdb", "parquet"} if published else {"sql", "duckdb"},
        code_version=describe.sql_hash(model),
        partitions_def=calendar.months,
        metadata={
            "dagster/column_schema": describe.columns_of_model(model),
            "grain": model.grain,
            "keys": ", ".join(model.keys),
            "published": published,
        },
    )


def _chosen_checks(
    context: dg.AssetExecutionContext, models: Graph, record: Record
) -> Iterator[dg.AssetCheckResult]:
    chosen = context.selected_asset_check_keys
    for result in record.check_results(models):
        if dg.AssetCheckKey(result.asset_key, result.check_name) in chosen:  # type: ignore[arg-type]
            yield result


def _log(
    context: dg.AssetExecutionContext,
    models: Graph,
    calendar: Calendar,
    record: Record,
    store: Store,
    months: Sequence[date],
    *,
    except_: Collection[str] = (),
) -> None:
    """Record what was published without being an output of this run.

    Months that did not change are recorded where the scheduler was not there when they were built.
    """
    names = [spec.key for spec in model_specs(models, calendar)]
    known = {*context.instance.get_materialized_partitions(names[-1])}
    for month in months:
        key = month.isoformat()
        if month not in record.units or not calendar.has_month(month):
            continue
        if month in record.same and key in known:
            continue
        for name in names:
            if name.to_user_string() not in except_:
                metadata = record.metadata(models.models[name.to_user_string()], store, month)
                context.log_event(dg.AssetMaterialization(name, partition=key, metadata=metadata))


def _say(
    context: dg.AssetExecutionContext, outcome: Outcome, window: Sequence[date] | None
) -> None:
    looked = {*outcome.built, *outcome.unchanged}
    for key in outcome.removed:
        context.log.info(f"removed, since no bill line touches it: {key}")
    for month in window or ():
        if month not in looked:
            context.log.info(f"no bill line touches {month:%Y-%m}: nothing to build")
    for result in outcome.warnings:
        context.log.warning(f"{result.model}: {result.check}: {result.bad_rows} rows")
