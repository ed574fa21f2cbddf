"""The month on the terminal: the proof, who pays, what was wasted on what, and the ladder.

All numbers come from published tables. Only their last digits are decided here: cells that are
shown under a total are cut so that they add up to it, from the invoice down to the bucket
(reports/rounding.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal

from rich.console import Group, RenderableType
from rich.text import Text

from pipelines import terminal
from pipelines.published import Published, Row
from pipelines.terminal import class_text, instant, percent, safe, seconds, table, usd
from reports.amounts import dollar_places
from reports.listing import Cut
from reports.margins import two_way
from reports.rounding import rounded, shown
from reports.warned import warned_text

#: Decimal places of GPU-hours: 0.36 s.
HOUR_PLACES = 4
#: Kernels that are shown, whatever `top`: few of them have most of the dollars.
KERNELS = 8
_HOUR_NS = 3_600_000_000_000
_UNREAD = "plumbline sql \"select * from reject where source = 'focus_csv'\""
_SCOPES = {
    "in_steps": "inside logged steps",
    "first_to_last_step": "from the first step to the last",
    "allocated": "all that the job held",
}

#: (team, class) -> effective USD and GPU-hours as they are shown.
Cells = dict[tuple[str, str], tuple[Decimal, Decimal]]


def report(
    published: Published, month: date, *, top: int, scope: str, ascii_only: bool
) -> Iterator[RenderableType]:
    """The tables of a month, in reading order; `top` rows at most in tables of jobs."""
    invoices = published.listed("invoices", month).rows
    places = dollar_places(sum(_column(invoices, "billed_usd"), Decimal(0)))
    yield Text(f"\n{month:%B %Y}", style="bold underline")
    yield _invoices(invoices, places, published.listed("unread", month).rows[0]["record_count"])
    if warnings := published.warned(month):
        yield Text(f"{warned_text(warnings)}: the sums hold, the evidence may not.", "bold yellow")
        for found in warnings:
            yield Text(f"  {found.name}: {found.rows:,} rows, such as {safe(found.such_as)}")
    teams = published.listed("showback", month).rows
    names = [row["team"] for row in teams]
    effective = dict(zip(names, shown(_column(teams, "effective_usd"), places=places), strict=True))
    hours = dict(zip(names, _hours(_column(teams, "gpu_ns")), strict=True))
    yield _showback(teams, effective, hours, places)
    classes = published.listed("team_classes", month).rows
    cells = _by_class(classes, effective, hours, places)
    if any(row["gpu_ns"] for row in teams):
        yield _bars(teams, classes, hours, ascii_only)
    yield _classes(names, cells)
    yield _waste(published.listed("waste", month).rows, names, cells, places)
    yield from _ladder(
        published.ask("report_ladder", month=month, scope=scope, top=top), top, scope
    )
    yield from _kernels(published.ask("report_kernels", month=month, top=KERNELS), places)
    yield from _stragglers(published.ask("report_stragglers", month=month, top=top), top, places)
    yield from _interruptions(published.listed("interruptions", month, first=top), top, places)
    yield from _idle(published.listed("idle", month, first=top), top, places)
    seen = published.ask("report_seen", month=month)[0]["gpu_ns"]
    if seen:
        yield Text(
            f"Seen but not billed: {seconds(seen)} GPU-s, 0 USD, outside every sum "
            "(table seen_not_billed)."
        )


def _invoices(rows: Sequence[Row], places: int, unread: int) -> Group:
    billed = shown(_column(rows, "billed_usd"), places=places)
    allocated = shown(_column(rows, "allocated_usd"), places=places)
    paid, parted = (_hours(_column(rows, f"{name}_gpu_ns")) for name in ("billed", "partitioned"))
    lines: list[Sequence[object]] = [
        (
            row["issuer"], row["invoice_id"], row["charge_category"], f"{row['line_count']:,}",
            usd(billed[i]), usd(allocated[i]), _exact(row["difference_usd"]),
            f"{paid[i]:,}", f"{parted[i]:,}", f"{row['wrong_lines']:,}",
        )
        for i, row in enumerate(rows)
    ]  # fmt: skip
    lines.append((
        "all", "", "", f"{sum(row['line_count'] for row in rows):,}",
        usd(_sum(billed)), usd(_sum(allocated)), _exact(_sum(_column(rows, "difference_usd"))),
        f"{_sum(paid):,}", f"{_sum(parted):,}", f"{sum(row['wrong_lines'] for row in rows):,}",
    ))  # fmt: skip
    title = "Reconciliation: every line of the bill is allocated to the last digit"
    if unread:
        title = "Reconciliation: every line that was read is allocated to the last digit"
    found = table(
        title,
        ("issuer", "invoice", "charge", ">lines", ">billed USD", ">allocated USD", ">difference",
         ">billed GPU-h", ">parted GPU-h", ">wrong lines"),
        lines, total=True,
    )  # fmt: skip
    if not unread:
        return found
    heading, *rest = found.renderables
    return Group(heading, Text(_unread(unread), style="bold red"), *rest)


def _unread(count: int) -> str:
    records = "1 record" if count == 1 else f"{count:,} records"
    return (
        f"{records} of the bill could not be read ({_UNREAD}): what follows is not the whole "
        "invoice."
    )


def _showback(
    rows: Sequence[Row], effective: Mapping[str, Decimal], hours: Mapping[str, Decimal], places: int
) -> Group:
    billed = shown(_column(rows, "billed_usd"), places=places)
    parts = ("direct_usd", "shared_usd", "tax_usd", "credit_usd")
    split = [
        shown([row[part] for part in parts], places=places, total=billed[i])
        for i, row in enumerate(rows)
    ]
    lines: list[Sequence[object]] = [
        (
            row["team"], *map(usd, split[i]), usd(billed[i]), usd(effective[row["team"]]),
            f"{hours[row['team']]:,}",
        )
        for i, row in enumerate(rows)
    ]  # fmt: skip
    sums = [_sum([cells[k] for cells in split]) for k in range(len(parts))]
    lines.append((
        "all", *map(usd, sums), usd(_sum(billed)), usd(_sum(effective.values())),
        f"{_sum(hours.values()):,}",
    ))  # fmt: skip
    return table(
        "Showback: direct + shared + tax + credit = billed",
        ("team", ">direct USD", ">shared USD", ">tax USD", ">credit USD", ">billed USD",
         ">effective USD", ">GPU-h"),
        lines, total=True,
    )  # fmt: skip


def _by_class(
    rows: Sequence[Row], effective: Mapping[str, Decimal], hours: Mapping[str, Decimal], places: int
) -> Cells:
    """Each team's shown dollars and hours, split over its classes, in the order of CLASSES.

    They add up to the team, and over all teams to the class.
    """
    order = [
        *terminal.CLASSES,
        *sorted({row["waste_class"] for row in rows} - set(terminal.CLASSES)),
    ]
    parts: dict[str, dict[str, tuple[Decimal, Decimal]]] = {team: {} for team in effective}
    for row in sorted(rows, key=lambda row: order.index(row["waste_class"])):
        hours_exact = Decimal(row["gpu_ns"]) / _HOUR_NS
        parts[row["team"]][row["waste_class"]] = (row["effective_usd"], hours_exact)
    dollars, times = (
        two_way(
            [{name: cell[which] for name, cell in own.items()} for own in parts.values()],
            list(totals.values()), places=decimals,
        )
        for which, totals, decimals in ((0, effective, places), (1, hours, HOUR_PLACES))
    )  # fmt: skip
    return {
        (team, name): (dollars[at][name], times[at][name])
        for at, team in enumerate(effective)
        for name in parts[team]
    }


def _bars(
    teams: Sequence[Row], classes: Sequence[Row], hours: Mapping[str, Decimal], ascii_only: bool
) -> Group:
    longest = max(row["gpu_ns"] for row in teams)
    width = max(len(terminal.safe(row["team"])) for row in teams)
    lines: list[RenderableType] = [Text("Billed GPU-hours per team, by class", style="bold")]
    for team in teams:
        own = [row for row in classes if row["team"] == team["team"]]
        lengths = [Decimal(row["gpu_ns"]) * terminal.BAR_WIDTH / longest for row in own]
        cells = {
            row["waste_class"]: int(cell)
            for row, cell in zip(own, shown(lengths, places=0), strict=True)
        }
        line = Text(f"{terminal.safe(team['team']):<{width}}  ")
        line.append_text(terminal.bar(cells, ascii_only=ascii_only))
        line.append(f"  {hours[team['team']]:,}")
        lines.append(line)
    lines.append(terminal.legend(ascii_only=ascii_only))
    return Group(*lines)


def _classes(teams: Sequence[str], cells: Cells) -> Group:
    names = list(
        dict.fromkeys(name for name in terminal.CLASSES for _, own in cells if own == name)
    )
    lines: list[Sequence[object]] = [
        (team, *(usd(cells[team, name][0]) if (team, name) in cells else "" for name in names))
        for team in teams
    ]
    sums = [_sum([cell[0] for (_, own), cell in cells.items() if own == name]) for name in names]
    lines.append(("all", *map(usd, sums)))
    return table(
        "Effective USD by class: the classes part the bill; wastes of two classes are never added",
        ("team", *(f">{name}" for name in names)), lines, total=True,
    )  # fmt: skip


def _waste(rows: Sequence[Row], teams: Sequence[str], cells: Cells, places: int) -> Group:
    lines: list[Sequence[object]] = []
    for team in teams:
        first = True
        for name in [own for owner, own in cells if owner == team]:
            own = [row for row in rows if (row["team"], row["waste_class"]) == (team, name)]
            dollars, hours = cells[team, name]
            usd_cells = shown(_column(own, "effective_usd"), places=places, total=dollars)
            hour_cells = _hours(_column(own, "gpu_ns"), total=hours)
            for row, cell, hour in zip(own, usd_cells, hour_cells, strict=True):
                lines.append((
                    team if first else "", class_text(name), row["bucket"], row["cause"],
                    f"{hour:,}", _bounds(row), usd(cell), percent(row["share_of_bill_ratio"]),
                    row["evidence_grade"], percent(row["measured_share_ratio"]),
                ))  # fmt: skip
                first = False
    return table(
        "Where each team's part of the bill went (plumbline explain --team T --bucket B)",
        ("team", "class", "bucket", "cause", ">GPU-h", ">low to high", ">effective USD",
         ">% of bill", "grade", ">% measured"),
        lines,
    )  # fmt: skip


def _ladder(rows: Sequence[Row], top: int, scope: str) -> Iterator[RenderableType]:
    rungs = ("engine_active_ratio", "gpu_util_ratio", "mfu_ratio")
    if all(row[rung] is None for row in rows for rung in rungs):
        yield Text("No ladder: nothing was read of what the jobs' GPUs did.")
        return
    fallen = any(row["scope"] != scope for row in rows)
    lines: list[Sequence[object]] = []
    for row in rows:
        mark = "" if row["scope"] == scope else " *"
        head: tuple[object, ...] = ("", "", row["rank"], "", "")
        if row["rank"] is None:
            head = (*_job(row), "", f"{row['job_name'] or ''}{mark}", row["team"])
        observed, total = row["observed_ns"], row["total_ns"]
        lines.append((
            *head, percent(row["gpu_util_ratio"]), percent(row["engine_active_ratio"]),
            percent(row["sm_active_ratio"]), percent(row["sm_occupancy_ratio"]),
            percent(row["tensor_active_ratio"]), percent(row["dram_active_ratio"]),
            percent(row["mfu_ratio"]), seconds(total), percent(observed / total if total else None),
        ))  # fmt: skip
    yield table(
        f"What GPU-Util means: one time on every rung, in percent; {_SCOPES[scope]}",
        ("job", ">att", ">rank", "name", "team", ">GPU-Util", ">engine", ">SM", ">occup", ">tensor",
         ">DRAM", ">MFU", ">GPU-s", ">% seen"),
        lines,
    )  # fmt: skip
    if fallen:
        yield Text("* no step of it is known: over all that the job held")
    yield from _more(rows[0]["attempt_count"], top, "efficiency_ladder")


def _kernels(rows: Sequence[Row], places: int) -> Iterator[RenderableType]:
    """Nothing where no trace was read: `doctor` says what is missing."""
    if not rows:
        return
    lines = [
        (
            row["team"], row["bucket"], row["module"], row["op"], row["kernel_family"],
            f"{row['job_count']:,}", seconds(row["gpu_ns"]),
            usd(rounded(row["direct_usd"], places=places)),
            usd(rounded(row["loaded_usd"], places=places)), row["limiter"],
        )
        for row in rows
    ]  # fmt: skip
    part = percent(rows[0]["traced_ns"] / rows[0]["whole_ns"])
    yield table(
        f"The dearest kernels: traces divide {part} % of the time in which kernels ran",
        ("team", "bucket", "module", "op", "kernel family", ">jobs", ">GPU-s", ">billed USD",
         ">loaded USD", "limiter"),
        lines,
    )  # fmt: skip
    count = rows[0]["row_count"]
    if count > KERNELS:
        yield Text(f"{KERNELS} of {count:,}. All: the table kernel_cost with plumbline sql")


def _stragglers(rows: Sequence[Row], top: int, places: int) -> Iterator[RenderableType]:
    """Nothing where no rank waited for another, as far as traces show."""
    if not rows:
        return
    lines = [
        (
            *_job(row), row["rank"], row["team"], terminal.gpu(row["gpu_uuid"]), row["node"],
            seconds(row["wait_caused_gpu_ns"]),
            usd(rounded(row["wait_caused_usd"], places=places)),
            terminal.ratio(row["slowdown_ratio"]), "no" if row["unfit"] else "yes",
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "Stragglers: ranks that others waited for; the time of comm_wait again, by its cause",
        ("job", ">att", ">rank", "team", "GPU", "node", ">others waited GPU-s", ">billed USD",
         ">own step / others'", "traces fit"),
        lines,
    )  # fmt: skip
    yield from _more(rows[0]["row_count"], top, "straggler_rank")


def _interruptions(found: Cut, top: int, places: int) -> Iterator[RenderableType]:
    if not found.rows:
        yield Text("No attempt ended early.")
        return
    lines = [
        (
            *_job(row), row["team"], instant(row["interrupted_at"]), row["state"], row["cause"],
            row["restored_step"], seconds(row["lost_gpu_ns"]), seconds(row["lost_high_gpu_ns"]),
            usd(rounded(row["lost_usd"], places=places)), seconds(row["restart_gpu_ns"]),
        )
        for row in found.rows
    ]  # fmt: skip
    yield table(
        "Interruptions: what was lost, and what starting again cost",
        ("job", ">att", "team", "ended (UTC)", "state", "cause", ">restored step", ">lost GPU-s",
         ">at most", ">lost USD", ">restart GPU-s"),
        lines,
    )  # fmt: skip
    yield from _more(found.count, top, "interruptions")


def _idle(found: Cut, top: int, places: int) -> Iterator[RenderableType]:
    if not found.rows:
        yield Text("No idle session.")
        return
    lines = [
        (
            *_job(row), row["team"], terminal.gpu(row["gpu_uuid"]), instant(row["start"]),
            instant(row["end"]), row["sub"], class_text(row["waste_class"]),
            seconds(row["gpu_ns"]), usd(rounded(row["billed_usd"], places=places)),
        )
        for row in found.rows
    ]  # fmt: skip
    yield table(
        "Idle sessions: a GPU was held and nothing ran",
        ("job", ">att", "team", "GPU", "from (UTC)", "to (UTC)", "kind", "class", ">billed GPU-s",
         ">billed USD"),
        lines,
    )  # fmt: skip
    yield from _more(found.count, top, "idle_sessions")


def _more(count: int, top: int, name: str) -> Iterator[RenderableType]:
    if count > top:
        yield Text(
            f"{top:,} of {count:,}. All: plumbline report --top {count}, or the table {name} with "
            "plumbline sql"
        )


def _column(rows: Iterable[Row], name: str) -> list[Decimal]:
    return [Decimal(row[name]) for row in rows]


def _sum(values: Iterable[Decimal]) -> Decimal:
    return sum(values, Decimal(0))


def _hours(gpu_ns: Sequence[Decimal], *, total: Decimal | None = None) -> list[Decimal]:
    return shown([value / _HOUR_NS for value in gpu_ns], places=HOUR_PLACES, total=total)


def _exact(difference: Decimal) -> Text:
    if difference == 0:
        return Text("0", style="green")
    return Text(f"{difference.normalize():f}", style="bold red")


def _bounds(row: Row) -> str:
    low, high = (
        rounded(row[name], places=HOUR_PLACES) for name in ("low_gpu_hours", "high_gpu_hours")
    )
    return "" if low == high else f"{low:,} to {high:,}"


def _job(row: Row) -> tuple[str, str]:
    return f"{row['cluster']}/{row['job_id']}", str(row["attempt"])
