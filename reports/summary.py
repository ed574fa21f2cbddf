"""The report as a short text, for mail or chat."""

from __future__ import annotations

from decimal import Decimal

from reports.amounts import amount, percent
from reports.data import Data
from reports.names import cut, plain
from reports.pages import badge, headline
from reports.tables import gpu, job_name

#: Lines at most.
MOST_LINES = 24
_BUCKETS = 5


def summary(data: Data, team: str | None) -> str:
    """The month, or a team's part of it, in fewer than 25 lines."""
    whose = "" if team is None else f" of {cut(plain(team), 60)}"
    proof, holds = badge(data)
    lines = [
        f"GPU bill{whose}, {data.month:%B %Y}",
        headline(data, team),
        f"{'OK' if holds else 'ATTENTION'}: {proof}.",
        "",
        *_classes(data, team),
        "",
        *_buckets(data, team),
        *_stragglers(data, team),
        *_counted(data, team),
    ]
    return "\n".join(lines[:MOST_LINES]).rstrip() + "\n"


def _classes(data: Data, team: str | None) -> list[str]:
    classes = data.money.class_totals(team)
    total = sum((usd for usd, _ in classes.values()), Decimal(0))
    width = max((len(amount(usd)) for usd, _ in classes.values()), default=0)
    return [
        f"  {name:<9} {amount(usd):>{width}} USD  {percent(usd / total) if total else '0':>5} %"
        for name, (usd, _) in classes.items()
    ]


def _buckets(data: Data, team: str | None) -> list[str]:
    rows = data.cut("buckets" if team is None else "waste", team).rows
    money = data.money.under_classes(rows, team)
    named = [
        f"  {row['bucket']} ({row['waste_class']}, cause {row['cause']}): {amount(usd)} USD, "
        f"{row['evidence_grade']}"
        for row, (usd, _) in zip(rows, money, strict=True)
        if row["waste_class"] in ("strict", "step", "unknown") and usd > 0
    ]
    return ["Largest waste and unknown:", *named[:_BUCKETS], ""] if named else []


def _stragglers(data: Data, team: str | None) -> list[str]:
    rows = [row for row in data.cut("stragglers", team).rows if row["wait_caused_gpu_ns"] > 0]
    if not rows:
        return []
    late = rows[0]
    return [
        f"Straggler: rank {late['rank']} of {cut(plain(job_name(late)), 60)} on "
        f"{gpu(plain(late['gpu_uuid']))} ({cut(plain(late['node'] or 'no node'), 40)}); the others "
        f"waited {amount(Decimal(late['wait_caused_gpu_ns'] // 100_000_000).scaleb(-1))} GPU-s."
    ]


def _counted(data: Data, team: str | None) -> list[str]:
    found = []
    for name, one, many in (
        ("interruptions", "attempt ended early", "attempts ended early"),
        ("idle", "idle session", "idle sessions"),
    ):
        if number := data.cut(name, team).count:
            found.append(f"{number:,} {one if number == 1 else many}")
    return [f"{'; '.join(found)}."] if found else []
