"""The two calendars, in UTC: months, by which bills are divided and published, and days.

What is built is a month, so models and bills are partitioned by month: a partition that is there is
a month that is published. Landing tables that lie in files by day are partitioned by day. The other
landing tables mirror the files that sources name now and have no partitions.
See docs/decisions/0009-months-are-what-is-built.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import dagster as dg

from pipelines.months import next_month
from warehouse.contracts import Contract

BILLS = ("bill_line", "bill_snapshot")


@dataclass(frozen=True)
class Calendar:
    """The partitions that all assets share."""

    days: dg.DailyPartitionsDefinition
    months: dg.MonthlyPartitionsDefinition

    def of_table(self, contract: Contract) -> dg.PartitionsDefinition[str] | None:
        """The partitions of a landing table."""
        if contract.name in BILLS:
            return self.months
        return self.days if contract.time is not None else None

    def has_month(self, month: date, *, now: datetime | None = None) -> bool:
        """True where the month is a partition at this time (default: now)."""
        first = self.months.start.date()
        now = now or datetime.now(UTC)
        end = self.months.end.date() if self.months.end is not None else next_month(now.date())
        return first <= month < end


def calendar(start: date, *, end: date | None = None) -> Calendar:
    """The calendars from the month of `start` on.

    They go on with the clock, the running day and month among them; `end`, exclusive, stops them
    (tests).
    """
    first = datetime(start.year, start.month, 1, tzinfo=UTC)
    if end is None:
        return Calendar(
            dg.DailyPartitionsDefinition(start_date=first, timezone="UTC", end_offset=1),
            dg.MonthlyPartitionsDefinition(start_date=first, timezone="UTC", end_offset=1),
        )
    last = datetime(end.year, end.month, end.day, tzinfo=UTC)
    whole = next_month(end - timedelta(days=1))
    return Calendar(
        dg.DailyPartitionsDefinition(start_date=first, end_date=last, timezone="UTC"),
        dg.MonthlyPartitionsDefinition(
            start_date=first,
            end_date=datetime(whole.year, whole.month, 1, tzinfo=UTC),
            timezone="UTC",
        ),
    )


def keys(context: dg.AssetExecutionContext) -> tuple[date, date] | None:
    """First and last partition of a run, both inclusive, as dates; None for a run without."""
    if context.has_partition_key:
        day = date.fromisoformat(context.partition_key)
        return day, day
    if context.has_partition_key_range:
        found = context.partition_key_range
        return date.fromisoformat(found.start), date.fromisoformat(found.end)
    return None


def months_between(first: date, last: date) -> list[date]:
    """First days of the months from one day's to another's, both inclusive."""
    found = [first.replace(day=1)]
    while next_month(found[-1]) <= last:
        found.append(next_month(found[-1]))
    return found
