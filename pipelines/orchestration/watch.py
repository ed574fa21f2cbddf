"""Freshness and volume of what has landed: checks that warn and never stop a month."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta

import dagster as dg

from pipelines.failures import row_text
from pipelines.months import next_month
from pipelines.orchestration import describe
from pipelines.orchestration.partitions import months_between
from pipelines.published import Published

#: A GPU that gave no sample for so many whole hours of the covered time is said to be silent.
SILENT_HOURS = 6
#: A day is thin where it has less than this share of the mean of the days before.
THIN_RATIO = 0.5
#: How many days before a day count for its mean, and how many of them there must be.
DAYS_BEFORE, LEAST_DAYS = 7, 3
#: Means below it tell nothing.
LEAST_MEAN = 10.0

#: A month's bill is expected so long after its end.
BILL_LATE = timedelta(days=3)
_MOST_ROWS = 5

FRESH, VOLUME, READABLE, BILLED = "fresh", "volume", "readable", "billed"


def specs() -> list[dg.AssetCheckSpec]:
    """The checks, none of them blocking."""
    thin = (
        f"No day of the run has less than {THIN_RATIO:.0%} of the mean rows of the "
        f"{DAYS_BEFORE} days before."
    )
    return [
        dg.AssetCheckSpec(
            FRESH, asset="gpu_sample",
            description=f"No GPU is without a sample for {SILENT_HOURS} whole hours of the time "
            "that any source covers.",
        ),
        dg.AssetCheckSpec(VOLUME, asset="gpu_sample", description=thin),
        dg.AssetCheckSpec(VOLUME, asset="bill_line", description=thin),
        dg.AssetCheckSpec(
            BILLED, asset="bill_line",
            description=f"Each month of the run that ended {BILL_LATE.days} days ago has charges.",
        ),
        dg.AssetCheckSpec(
            READABLE, asset="reject", description="Every record of every source file could be read."
        ),
    ]  # fmt: skip


def results(
    published: Published, span: tuple[date, date] | None, *, now: datetime
) -> Iterator[dg.AssetCheckResult]:
    """The checks' results for the days or months of a run (None: all that has landed)."""
    first, end = _window(span, now)
    silent = published.ask("watch_silent", first=first, end=end, hours=SILENT_HOURS)
    yield _result("gpu_sample", FRESH, [row_text(row) for row in silent])
    samples: dict[date, int] = defaultdict(int)
    for entry in published.store.files("gpu_sample", area="landing"):
        if entry.partition:
            samples[date.fromisoformat(entry.partition.removeprefix("day="))] += entry.rows
    lines = {row["day"]: row["row_count"] for row in published.ask("watch_bill_days")}
    for table, by_day in (("gpu_sample", samples), ("bill_line", lines)):
        found = [
            f"{day}: {rows:,} rows, {mean:,.1f} a day before"
            for day, rows, mean in thin_days(by_day, first, min(end, now.date()))
        ]
        yield _result(table, VOLUME, found)
    billed = {day.replace(day=1) for day in lines}
    absent = [
        f"{month:%Y-%m}: no charge has landed"
        for month in _ended(span, now.date() - BILL_LATE)
        if month not in billed
    ]
    yield _result("bill_line", BILLED, absent)
    rejects = published.ask("doctor_rejects")
    yield _result("reject", READABLE, [row_text(row) for row in rejects])


def thin_days(
    rows: Mapping[date, int], first: date, end: date
) -> Iterator[tuple[date, int, float]]:
    """Days of [first, end) with far fewer rows than the mean of the days before: day, rows, mean.

    A day without rows counts where a later day has some; days before the first one do not exist.
    """
    if not rows:
        return
    begin, last = min(rows), max(rows)
    day = max(first, begin + timedelta(days=LEAST_DAYS))
    while day < end and day <= last:
        since = max(begin, day - timedelta(days=DAYS_BEFORE))
        count = (day - since).days
        mean = sum(rows.get(since + timedelta(days=n), 0) for n in range(count)) / count
        if mean >= LEAST_MEAN and rows.get(day, 0) < THIN_RATIO * mean:
            yield day, rows.get(day, 0), mean
        day += timedelta(days=1)


def _ended(span: tuple[date, date] | None, by: date) -> list[date]:
    """The months of a run that had ended by a day."""
    if span is None:
        return []
    return [month for month in months_between(*span) if next_month(month) <= by]


def _window(span: tuple[date, date] | None, now: datetime) -> tuple[date, date]:
    """[first, end) of a run's partitions: days, or whole months where both are firsts of months."""
    if span is None:
        return date(1970, 1, 1), now.astimezone(UTC).date() + timedelta(days=1)
    first, last = span
    if first.day == last.day == 1:
        return first, next_month(last)
    return first, last + timedelta(days=1)


def _result(table: str, check: str, found: list[str]) -> dg.AssetCheckResult:
    metadata: describe.Metadata = {"found": len(found)}
    if found:
        shown = found[:_MOST_ROWS]
        metadata["such_as"] = dg.MetadataValue.md("\n".join(f"- `{text}`" for text in shown))
    return dg.AssetCheckResult(
        passed=not found, asset_key=table, check_name=check, metadata=metadata,
        severity=dg.AssetCheckSeverity.WARN,
    )  # fmt: skip
