"""The job that schedules and sensors start: land what is new, then build months, in one run."""

from __future__ import annotations

from datetime import date

import dagster as dg

from pipelines.orchestration import model_assets, watch
from pipelines.orchestration.partitions import Calendar
from pipelines.orchestration.report_assets import REPORT
from warehouse.contracts import LANDING
from warehouse.models import Graph

JOB = "month"


def month_job(models: Graph, calendar: Calendar) -> dg.UnresolvedAssetJobDefinition:
    """Everything but the tables that have days: one run has partitions of one calendar.

    Those tables are read by it all the same, and the days that it replaced are recorded.
    """
    landing = [name for name, c in LANDING.items() if calendar.of_table(c) is not calendar.days]
    built = [spec.key.to_user_string() for spec in model_assets.model_specs(models, calendar)]
    watched = [spec.key for spec in watch.specs()]
    return dg.define_asset_job(
        JOB,
        selection=dg.AssetSelection.assets(*landing, *built, REPORT)
        | dg.AssetSelection.checks(*watched),
        description="Read what is new, divide the bill, check the sums and publish, as "
        "`plumbline run` does; then write the month's report.",
    )


def request(
    month: date, *, run_key: str, touched: bool, tags: dict[str, str] | None = None
) -> dg.RunRequest:
    """Ask for a run of a month; `touched` builds every other month that new input touches too."""
    return dg.RunRequest(
        run_key=run_key,
        partition_key=month.isoformat(),
        run_config=dg.RunConfig(
            ops={model_assets.OP: model_assets.BuildConfig(touched=touched)},
        ),
        tags=tags or {},
    )
