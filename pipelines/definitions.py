"""The scheduler's definitions, assembled: `dagster-webserver -m pipelines.definitions` and alike.

Assets, checks, schedules and sensors are in pipelines/orchestration, one concern a module.
"""

from __future__ import annotations

from datetime import date

import dagster as dg

from pipelines.orchestration import jobs, schedules, sensors
from pipelines.orchestration.deployment import Deployment, config_path, first_day
from pipelines.orchestration.landing_assets import landing_assets
from pipelines.orchestration.model_assets import model_assets, seed_specs
from pipelines.orchestration.partitions import calendar
from pipelines.orchestration.report_assets import report_assets
from warehouse.shipped import graph


def assemble(config: str, *, start: date | None = None, end: date | None = None) -> dg.Definitions:
    """The definitions for a configuration ('' where there is none).

    `start` and `end` (exclusive) replace the days that follow from the configuration and the clock.
    """
    models = graph()
    days = calendar(start or first_day(config), end=end)
    job = jobs.month_job(models, days)
    return dg.Definitions(
        assets=[
            landing_assets(models, days),
            model_assets(models, days),
            report_assets(models, days),
            *seed_specs(models),
        ],
        jobs=[job],
        schedules=[schedules.nightly(job, days), schedules.month_close(job, days)],
        sensors=[
            sensors.arrivals(job, name="bills_arrived", room="bills", what="bills"),
            sensors.arrivals(job, name="traces_arrived", room="traces", what="traces"),
        ],
        resources={"deployment": Deployment(config=config)},
        # The engine uses all cores, and a process for each step costs more than most of them.
        executor=dg.in_process_executor,
    )


defs = assemble(config_path())
