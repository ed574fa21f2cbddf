"""The pages of a report: the month, and each team's cut of it."""

from __future__ import annotations

from decimal import Decimal

from reports import sections
from reports.amounts import amount, exact, percent
from reports.data import Data
from reports.names import file_name, plain
from reports.page import Page, Section
from reports.warned import warned_text
from reports.words import CLASSES

#: Classes that are told where they have no dollars too.
_ALWAYS = ("useful", "strict", "unknown")


def month_page(data: Data) -> Page:
    """The month over all teams."""
    parts = [
        sections.bill(data), sections.waste(data, None), sections.showback(data),
        sections.ladder(data, None), sections.stragglers(data, None), sections.steps(data, None),
        sections.kernels(data, None), sections.split(data, None),
        sections.interruptions(data, None), sections.idle(data, None), sections.jobs(data, None),
        sections.coverage(data, None), sections.traces(data, None), sections.lines(data),
        sections.changes(data, None), sections.evidence(data, None),
    ]  # fmt: skip
    links = [(team, f"teams/{file_name(team)}.html") for team in data.money.teams]
    return Page(
        f"GPU bill of {data.month:%B %Y}", headline(data, None), _facts(data, None), badge(data),
        parts, links,
    )  # fmt: skip


def team_page(data: Data, team: str) -> Page:
    """A team's cut of the month, with the platform's costs beside it."""
    parts: list[Section | None] = [
        sections.team_bill(data, team), sections.waste(data, team), sections.jobs(data, team),
        sections.ladder(data, team), sections.stragglers(data, team), sections.steps(data, team),
        sections.kernels(data, team), sections.split(data, team),
        sections.interruptions(data, team), sections.idle(data, team),
        sections.coverage(data, team), sections.traces(data, team),
        sections.changes(data, team), sections.evidence(data, team),
        sections.platform(data) if team != "platform" else None,
    ]  # fmt: skip
    return Page(
        f"GPU bill of {plain(team)}, {data.month:%B %Y}", headline(data, team), _facts(data, team),
        badge(data), [part for part in parts if part is not None],
    )  # fmt: skip


def headline(data: Data, team: str | None) -> str:
    """The month, or a team's part of it, in one sentence."""
    money = data.money
    classes = money.class_totals(team)
    total = sum((usd for usd, _ in classes.values()), Decimal(0))
    unknown = classes.get("unknown", (Decimal(0), Decimal(0)))[0]
    strict = classes.get("strict", (Decimal(0), Decimal(0)))[0]
    if team is None:
        billed = sum(money.billed.values(), Decimal(0))
        start = f"{amount(billed)} USD were billed"
        if billed != total:
            start += f", {amount(total)} USD by use (commitments counted when used)"
    else:
        start = f"{amount(money.billed[team])} USD of the bill are the team's"
        if money.billed[team] != total:
            start += f", {amount(total)} USD by use (commitments counted when used)"
    return (
        f"{start}: {amount(total - unknown)} USD are explained, of which {amount(strict)} USD "
        f"({_share(strict, total)} %) are strict waste; {amount(unknown)} USD "
        f"({_share(unknown, total)} %) are unknown."
    )


def badge(data: Data) -> tuple[str, bool]:
    """What the proof says, and whether it holds, the bill was read whole and no check warns."""
    totals = data.cut("invoices").totals
    difference = totals.get("difference_usd", Decimal(0))
    wrong = int(totals.get("wrong_lines", 0))
    unread = int(data.cut("unread").totals["record_count"])
    if difference or wrong:
        return f"Does not reconcile: {exact(difference)} USD, wrong lines {wrong:,}", False
    if unread:
        records = "1 record" if unread == 1 else f"{unread:,} records"
        return f"Difference 0, but {records} of the bill could not be read", False
    if data.warnings:
        return f"Difference 0, but {warned_text(data.warnings)}: see what is not known", False
    return "Reconciled: billed − allocated = 0", True


def _facts(data: Data, team: str | None) -> list[tuple[str, str, str]]:
    money = data.money
    classes = money.class_totals(team)
    hours = sum((hours for _, hours in classes.values()), Decimal(0))
    billed = sum(money.billed.values(), Decimal(0)) if team is None else money.billed[team]
    found = [("billed", f"{amount(billed)} USD", ""), ("GPU-hours", amount(hours), "")]
    # All classes that have dollars, so that they add up to what is billed by use.
    spent = {name: classes.get(name, (Decimal(0), Decimal(0)))[0] for name in CLASSES}
    spent = {name: usd for name, usd in spent.items() if usd or name in _ALWAYS}
    for name, usd in spent.items():
        share = _share(usd, sum(spent.values(), Decimal(0)))
        found.append((name, f"{amount(usd)} USD", f"{share} %"))
    return found


def _share(part: Decimal, total: Decimal) -> str:
    return percent(part / total) if part and total else "0"
