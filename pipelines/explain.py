"""Behind one number: the rule that proves it, the rows that it sums, the bill lines, the files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal

from rich.console import Group, RenderableType
from rich.text import Text

from pipelines.cells import attempt, dollars, more
from pipelines.explain_traces import traced
from pipelines.published import Published, Row, Value
from pipelines.report import HOUR_PLACES
from pipelines.terminal import (
    class_text,
    gpu,
    instant,
    percent,
    safe,
    seconds,
    short_gpus,
    table,
)
from reports.amounts import dollar_places
from reports.rounding import rounded
from warehouse.errors import PlumblineError
from warehouse.seeds import read_seed
from warehouse.shipped import seeds

#: Files of a source that are named; the rest is counted.
FILES_SHOWN = 8


def explain(
    published: Published, team: str, bucket: str, *, month: date | None, top: int
) -> Iterator[RenderableType]:
    """What stands behind a team's bucket in a month (default: the latest), as tables.

    A bucket inside steps goes down to its kernels and trace files. `top` rows at most of each
    table. Raises PlumblineError, with what there is instead, where the team has no such bucket in
    that month.
    """
    chosen = published.month(month)
    keys: dict[str, Value] = {"month": chosen, "team": team, "bucket": bucket}
    number = published.ask("explain_number", **keys)
    if not number:
        raise PlumblineError(missing(published.ask("explain_known"), team, bucket, chosen))
    evidence = published.ask("explain_evidence", **keys)
    places = dollar_places(number[0]["invoice_effective_usd"])
    yield Text(f"\n{safe(team)}, {safe(bucket)}, {chosen:%B %Y}", style="bold underline")
    yield _rule(bucket, evidence)
    yield _number(number, places)
    yield Text(
        "Each cell is rounded by itself here. Reports cut cells so that they add up to the bill: "
        "their last digit may be other by one.",
        "dim",
    )
    yield from _states(published.ask("explain_states", **keys, top=top), top, places)
    if _rules()[bucket][0] == "in_step":
        yield from traced(published, bucket, keys, top=top, places=places)
    yield from _lines(published.ask("explain_lines", **keys, top=top), top, places)
    yield _sources(evidence)


def missing(known: Sequence[Row], team: str, bucket: str, month: date) -> str:
    """Why there is no such number, and which there are; `known` has month, team and bucket."""
    here = [row for row in known if row["month"] == month]
    teams = sorted({row["team"] for row in here})
    own = sorted({row["bucket"] for row in here if row["team"] == team})
    others = sorted(
        {row["month"] for row in known if (row["team"], row["bucket"]) == (team, bucket)}
    )
    if own:
        text = f"team {team!r} has no {bucket!r} in {month:%Y-%m}.{_near(bucket, own)}"
        text += f" Its buckets: {', '.join(own)}."
    else:
        text = f"there is no team {team!r} in {month:%Y-%m}.{_near(team, teams)}"
        text += f" Teams: {', '.join(teams) or 'none'}."
    rules = _rules()
    if bucket not in rules:
        text += f" No rule gives {bucket!r}.{_near(bucket, rules)}"
    if others:
        text += f" It is there in {', '.join(f'{other:%Y-%m}' for other in others)} (--month)."
    return text


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _rules() -> dict[str, tuple[str, ...]]:
    """bucket -> level-1 row, its order, class, rule, version and proof, as the seed has them."""
    return {cells[0]: cells[1:] for _, cells in read_seed(seeds()["waste_rule"]).rows}


def _rule(bucket: str, evidence: Sequence[Row]) -> Text:
    if evidence:
        first = evidence[0]
        rule, version, proof = first["rule_id"], first["rule_version"], first["proof"]
    else:
        *_, rule, version, proof = _rules()[bucket]
    return Text(f"Rule {rule}, version {version}: {safe(proof)}.")


def _number(rows: Sequence[Row], places: int) -> Group:
    lines = [
        (
            class_text(row["waste_class"]), row["cause"], _hours(row["gpu_hours"]),
            f"{_hours(row['low_gpu_hours'])} to {_hours(row['high_gpu_hours'])}",
            dollars(row["billed_usd"], places), dollars(row["effective_usd"], places),
            dollars(row["list_usd"], places), percent(row["share_of_bill_ratio"]),
            row["evidence_grade"], percent(row["measured_share_ratio"]),
        )
        for row in rows
    ]  # fmt: skip
    return table(
        "The number (waste_team_month)",
        ("class", "cause", ">GPU-h", ">low to high", ">billed USD", ">effective USD", ">list USD",
         ">% of bill", "grade", ">% measured"),
        lines,
    )  # fmt: skip


def _states(rows: Sequence[Row], top: int, places: int) -> Iterator[RenderableType]:
    lines = [
        (
            attempt(row), gpu(row["gpu_uuid"]) or row["resource_id"], instant(row["hour"]),
            row["sub"], row["cause"], short_gpus(row["cause_ref"]), seconds(row["gpu_ns"]),
            _bounds(row), dollars(row["effective_usd"], places), row["evidence_grade"],
            row["method_id"],
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "The GPU-hours that it sums (gpu_hour_state)",
        ("job", "GPU", "hour (UTC)", "kind", "cause", "caused by", ">GPU-s", ">low to high",
         ">effective USD", "grade", "method"),
        lines,
    )  # fmt: skip
    yield from more(rows, top)


def _lines(rows: Sequence[Row], top: int, places: int) -> Iterator[RenderableType]:
    lines = [
        (
            row["invoice_id"], row["charge_category"], row["charge_description"],
            instant(row["charge_period_start"]), row["resource_id"], seconds(row["gpu_ns"]),
            dollars(row["effective_usd"], places), dollars(row["line_effective_usd"], places),
            f"{row['source_file']}:{row['source_row']}",
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "The bill lines that pay it (allocation, bill_line)",
        ("invoice", "charge", "description", "from (UTC)", "resource", ">GPU-s", ">its USD",
         ">line's USD", "file:line"),
        lines,
    )  # fmt: skip
    yield from more(rows, top)


def _sources(rows: Sequence[Row]) -> RenderableType:
    if not rows:
        return Text("No source is recorded for it (waste_evidence has no row).")
    lines = [
        (row["source"], f"{row['source_rows']:,}", _files(row["source_files"])) for row in rows
    ]
    return table("What it rests on (waste_evidence)", ("source", ">rows", "files"), lines)


def _files(names: Sequence[str]) -> str:
    shown = ", ".join(names[:FILES_SHOWN])
    more = len(names) - FILES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def _bounds(row: Row) -> str:
    low, high = row["low_gpu_ns"], row["high_gpu_ns"]
    return "exact" if low == high else f"{seconds(low)} to {seconds(high)}"


def _hours(value: Decimal) -> str:
    return f"{rounded(value, places=HOUR_PLACES):,}"
