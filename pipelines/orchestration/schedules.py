"""When months are built: each night, and once more when the bill of a month is complete.

Both are stopped until somebody starts them: cron may do the same (docs/scheduling.md).
"""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from pipelines.orchestration import jobs
from pipelines.orchestration.partitions import Calendar

#: After the day has ended in UTC, and exporters had time to write.
NIGHTLY = "0 4 * * *"
#: Providers restate the last days of a month for a day or two.
MONTHLY = "0 6 3 * *"


def nightly(job: dg.UnresolvedAssetJobDefinition, calendar: Calendar) -> dg.ScheduleDefinition:
    """The day before: its month, and every other month that new input touches."""

    @dg.schedule(
        name="nightly", job=job, cron_schedule=NIGHTLY, execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Each night: the month of the day before, and every month that new input "
        "touches. What `plumbline run` from cron does.",
    )  # fmt: skip
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        day = context.scheduled_execution_time.date() - timedelta(days=1)
        if not calendar.has_month(day.replace(day=1), now=context.scheduled_execution_time):
            return dg.SkipReason(f"{day:%Y-%m} is before the first month: see first_day.")
        return jobs.request(
            day.replace(day=1), run_key=f"nightly-{day}", touched=True,
            tags={"plumbline/day": day.isoformat()},
        )  # fmt: skip

    return schedule


def month_close(job: dg.UnresolvedAssetJobDefinition, calendar: Calendar) -> dg.ScheduleDefinition:
    """On the third: the month before."""

    @dg.schedule(
        name="month_close", job=job, cron_schedule=MONTHLY, execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="On the third of each month: the month before, with its complete bill.",
    )  # fmt: skip
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        first = context.scheduled_execution_time.date().replace(day=1)
        month = (first - timedelta(days=1)).replace(day=1)
        if not calendar.has_month(month, now=context.scheduled_execution_time):
            return dg.SkipReason(f"{month:%Y-%m} is before the first month: see first_day.")
        return jobs.request(month, run_key=f"close-{month:%Y-%m}", touched=False)

    return schedule
