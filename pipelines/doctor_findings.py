"""What the published tables themselves say is missing or odd: a question each, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise

from pipelines.doctor_traces import trace_findings
from pipelines.finding import Finding, Pair
from pipelines.months import next_month
from pipelines.published import Published, Row
from pipelines.terminal import instant
from warehouse.run_tables import DEFAULTS
from warehouse.seeds import read_seed
from warehouse.shipped import seeds

#: A policy window is shown when it ends within so long of now, before or after.
POLICY_NOTICE = timedelta(days=30)


def findings(published: Published, *, now: datetime) -> list[Finding]:
    """All findings that have rows, what is missing first."""
    found = [finding for finding in _all(published, now) if finding.rows]
    return sorted(found, key=lambda finding: finding.level)


def _all(published: Published, now: datetime) -> Iterator[Finding]:
    def ask(question: str, **values: date) -> list[Pair]:
        return [_pair(row) for row in published.ask(question, **values)]

    yield Finding(
        "bill lines whose GPU count, time or resource is unknown", "missing",
        ask("doctor_gpu_count"),
        "Their dollars stand in billed_not_seen. Export ResourceId, SkuPriceDetails with GpuCount "
        "and a quantity in hours, or add the type to the seed instance_type.",
    )  # fmt: skip
    yield from _warned(published)
    # Where nothing of a kind was read at all, the table of sources says so once.
    has = {name: any(published.store.files(name, area="landing"))
           for name in ("gpu_inventory", "gpu_sample")}  # fmt: skip
    if has["gpu_inventory"]:
        yield from _places(ask, has_samples=has["gpu_sample"])
    yield Finding(
        "rejected records, by file", "missing", ask("doctor_rejects"),
        "Export these files again, or correct the records: plumbline sql \"select * from reject\". "
        "Until then their time proves nothing.",
    )  # fmt: skip
    yield Finding(
        "accounts and tags that map to no team", "missing", ask("doctor_unmapped"),
        "Add rows to the team map (kind account or bill_tag) that count at that time.",
    )  # fmt: skip
    yield from _months(published)
    yield from trace_findings(published)
    yield Finding(
        "GPU models without a dense peak: no MFU", "missing",
        _without(ask("doctor_models"), _peaks(published)),
        "Add the model, as the driver names it, to the seed gpu_peak.",
    )  # fmt: skip
    yield Finding(
        "instance types that the seed does not know", "note",
        _without(ask("doctor_instance_types"), _seed_keys("instance_type", 0)),
        "If they have GPUs, add them to the seed instance_type; types without GPUs are fine.",
    )  # fmt: skip
    yield Finding(
        "policy windows that ended lately or end soon", "note",
        policies(published.ask("doctor_policies"), now),
        "Extend what still holds ([[policy]] in the configuration): after its end it is strict "
        "waste again.",
    )  # fmt: skip
    if published.months:
        yield Finding(
            f"GPU-time of {published.months[-1]:%Y-%m} that nothing explains", "note",
            ask("doctor_unknown", month=published.months[-1]),
            "More sources, or a longer time asked for in their exports (`covers`), explain it.",
        )  # fmt: skip


def _places(ask: Callable[[str], list[Pair]], *, has_samples: bool) -> Iterator[Finding]:
    yield Finding(
        "billed resources that no inventory row names", "missing", ask("doctor_resources"),
        "Add their GPUs to the inventory with this resource_id: until then all of it is "
        "billed_not_seen.",
    )  # fmt: skip
    if has_samples:
        yield Finding(
            "GPUs that inventory and samples do not agree on", "missing", ask("doctor_samples"),
            "Sample every GPU of the inventory, and list every GPU that is sampled: held time "
            "without samples is not_observed.",
        )  # fmt: skip
    yield Finding(
        "jobs of which not every GPU is known", "missing", ask("doctor_short_jobs"),
        "Keep `scontrol show job --details` of every start (kind scontrol_job), and check the "
        "inventory's nodes, times and resource ids.",
    )  # fmt: skip


def _warned(published: Published) -> Iterator[Finding]:
    for month in published.months:
        yield Finding(
            f"checks that warn in {month:%Y-%m}: the sums hold, the evidence may not", "missing",
            [
                (found.name, f"{found.rows:,} rows, such as {found.such_as}: {found.means}")
                for found in published.warned(month)
            ],
            "Look at the rows, correct the export or the configuration that they come from, run "
            "again.",
        )  # fmt: skip


def _months(published: Published) -> Iterator[Finding]:
    billed: list[date] = [row["month"] for row in published.ask("doctor_bill_months")]
    there = set(published.months)
    yield Finding(
        "months without a bill between others", "missing",
        [(f"{month:%Y-%m}", "no bill line begins in it") for month in gaps(billed)],
        "Export the bill of these months.",
    )  # fmt: skip
    yield Finding(
        "months that are read but not published", "missing",
        [(f"{month:%Y-%m}", "has bill lines") for month in billed if month not in there],
        "Run `plumbline run`.",
    )  # fmt: skip


def gaps(months: Sequence[date]) -> list[date]:
    """The months that are missing between the first and the last of these (first days, sorted)."""
    missing: list[date] = []
    for before, after in pairwise(months):
        month = next_month(before)
        while month < after:
            missing.append(month)
            month = next_month(month)
    return missing


def policies(rows: Sequence[Row], now: datetime) -> list[Pair]:
    """The windows that end within POLICY_NOTICE of now; rows have subject and end."""
    return [
        (row["subject"], f"{'ended' if row['end'] <= now else 'ends'} {instant(row['end'])} UTC")
        for row in rows
        if abs(row["end"] - now) <= POLICY_NOTICE
    ]


def _without(rows: Sequence[Pair], known: set[str]) -> list[Pair]:
    return [(subject, detail) for subject, detail in rows if subject not in known]


def _peaks(published: Published) -> set[str]:
    dtype = published.config.settings.get("mfu_dtype") or DEFAULTS["mfu_dtype"]
    return _seed_keys("gpu_peak", 0, where=lambda cells: cells[1] == dtype)


def _seed_keys(
    name: str, column: int, *, where: Callable[[Sequence[str]], bool] = lambda _: True
) -> set[str]:
    return {cells[column] for _, cells in read_seed(seeds()[name]).rows if where(cells)}


def _pair(row: Row) -> Pair:
    return str(row["subject"]), str(row["detail"])
