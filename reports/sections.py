"""The parts of a page, in the order in which a FinOps analyst reads; the same for a team's cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from reports import pictures, words
from reports.amounts import amount
from reports.data import Data
from reports.listing import Cut, Row
from reports.page import Cell, Head, Section, Table
from reports.specs import SPECS
from reports.tables import build, summed, team_cell
from reports.warned import warned_table

#: Rows of buckets that the month's page shows.
WASTE_ROWS = 300
MONTH_STRAGGLERS, TEAM_STRAGGLERS = 6, 1
MONTH_STEPS, TEAM_STEPS = 8, 1


def bill(data: Data) -> Section:
    """The proof and the waterfall of the month."""
    return Section(
        "bill", "The bill, and where it went",
        [
            "Every line of the bill is allocated to the last digit. The waterfall goes from what "
            "was billed, class by class, down to what was useful. Classes part the bill; wastes of "
            "two classes are never added, since each says another thing.",
        ],
        [pictures.waterfall(data, None)],
        [build(data, "invoices"), _classes(data, None)],
        [*words.CLASSES.items()],
    )  # fmt: skip


def team_bill(data: Data, team: str) -> Section:
    """A team's part of the bill."""
    return Section(
        "bill", "The team's part of the bill, and where it went",
        ["Time is the holder's who held it; what nobody held is the platform's, and not in here."],
        [pictures.waterfall(data, team)],
        [_showback(data, team), _classes(data, team)],
        [*words.CLASSES.items()],
    )  # fmt: skip


def waste(data: Data, team: str | None) -> Section:
    """Buckets by team, with class, cause, grade and bounds."""
    tables = [_waste(data, team)]
    if team is None:
        tables.insert(0, _buckets(data))
    return Section(
        "waste", "Waste and use, by bucket",
        [
            "Each billed GPU-second is in exactly one bucket. Low and high bound a row alone and "
            "are not to be added up. An estimate that rests on sampled traces says so by its grade "
            "and by its measured share.",
        ],
        [f for f in [pictures.team_bars(data) if team is None else None] if f],
        tables,
        [*words.GRADES.items()],
    )  # fmt: skip


def showback(data: Data) -> Section:
    """What each team pays."""
    return Section(
        "showback", "Showback per team",
        ["What each team's share of the bill is: shown, not booked. Dollars never move between "
         "teams. A name leads to the team's own page."],
        tables=[_showback(data, None), _matrix(data)],
    )  # fmt: skip


def jobs(data: Data, team: str | None) -> Section:
    """The dearest jobs."""
    return Section("jobs", "Jobs", ["An attempt of a job is one line; #1 is its first requeue."],
                   tables=[build(data, "jobs", team)])  # fmt: skip


def ladder(data: Data, team: str | None) -> Section:
    """GPU-Util against truth."""
    return Section(
        "ladder", "What GPU-Util means: the ladder",
        [
            "GPU-Util says that some kernel was resident. What the GPU did stands to its left: a "
            "long line is a number that flatters. MFU is what is worth money.",
        ],
        [f for f in [pictures.ladder(data, team)] if f],
        [build(data, "ladder", team)],
        [*words.RUNGS.values()],
    )  # fmt: skip


def stragglers(data: Data, team: str | None) -> Section:
    """Which ranks the others wait for."""
    most = MONTH_STRAGGLERS if team is None else TEAM_STRAGGLERS
    return Section(
        "stragglers", "Stragglers",
        ["A rank that waits in a collective reads as busy; the late one reads as idle. The bars "
         "are mean traced steps, cut by what the GPU did."],
        pictures.stragglers(data, team, most),
        [build(data, "stragglers", team)],
        legend=pictures.key(words.STEP_PARTS),
    )  # fmt: skip


def steps(data: Data, team: str | None) -> Section:
    """Where steps go, over time."""
    most = MONTH_STEPS if team is None else TEAM_STEPS
    return Section(
        "steps", "Steps over time",
        ["Traced steps, cut by what the GPU did"
         + (", and beside them all steps that the job logged. " if team is None else ". ")
         + "Unfit says that the profiler changed what it measured: bounds are wide then."],
        pictures.steps(data, team, most),
        [build(data, "rank_steps", team)],
        [(name.replace("_", " "), meaning) for name, meaning in words.STEP_PARTS.items()],
        pictures.key(words.STEP_PARTS),
    )  # fmt: skip


def kernels(data: Data, team: str | None) -> Section:
    """The dearest kernels."""
    tables = [build(data, "kernels", team)]
    if team is None:
        tables.insert(0, build(data, "kernels_all"))
    return Section(
        "kernels", "Kernels",
        ["Direct is the billed cost of a kernel's own time; loaded adds its part of the job's "
         "other time, so that loaded kernels sum to what the job cost."],
        [f for f in [pictures.kernels(data) if team is None else None] if f],
        tables,
    )  # fmt: skip


def split(data: Data, team: str | None) -> Section:
    """What compute time was for."""
    table = build(data, "split_all") if team is None else build(data, "split", team)
    return Section(
        "split", "Inside compute",
        ["Compute time is useful time; how well it was used is another question. Shortfall in here "
         "is no waste and in no sum of waste."],
        [f for f in [pictures.split(data) if team is None else None] if f],
        [table],
        [*words.COMPUTE_PARTS.items()],
    )  # fmt: skip


def interruptions(data: Data, team: str | None) -> Section:
    """Attempts that ended early."""
    return Section("interruptions", "Interruptions",
                   ["What was lost when an attempt ended early, and what starting again cost."],
                   tables=[build(data, "interruptions", team)])  # fmt: skip


def idle(data: Data, team: str | None) -> Section:
    """Idle sessions."""
    return Section("idle", "Idle sessions", ["A job held a GPU, and nothing ran on it."],
                   tables=[build(data, "idle", team)])  # fmt: skip


def coverage(data: Data, team: str | None) -> Section:
    """What is not known, with its dollars."""
    tables = [_unknown(data, team)]
    if data.warnings:
        tables.insert(0, warned_table(data.warnings))
    if team is None:
        tables += [build(data, "coverage"), build(data, "rejects")]
        if data.cut("seen").count:
            tables.append(build(data, "seen"))
    return Section(
        "coverage", "What is not known",
        ["Where evidence is missing the dollars stand here: unknown is never shown as zero, and "
         "never as waste."],
        tables=tables,
    )  # fmt: skip


def traces(data: Data, team: str | None) -> Section:
    """Trace files and their quality."""
    return Section("traces", "Trace files",
                   ["Whose each trace is, how far its work is linked, and what is odd."],
                   tables=[build(data, "traces", team)])  # fmt: skip


def lines(data: Data) -> Section:
    """Reconciliation per invoice line."""
    return Section("lines", "Reconciliation, line by line",
                   ["Billed less allocated is 0 for each line, in dollars and in GPU-time."],
                   tables=[build(data, "lines")])  # fmt: skip


def changes(data: Data, team: str | None) -> Section:
    """What changed since the month before."""
    if data.previous is None:
        return Section("changes", "What changed since last month",
                       ["No earlier month is published: nothing to compare with."])  # fmt: skip
    cut = data.cut("changes", team)
    cells = {
        key: summed(data, next(c for c in SPECS["changes"].columns if c.key == key), cut)
        for key in ("before_usd", "effective_usd")
    }
    change = [
        (now or Decimal(0)) - (before or Decimal(0))
        for before, now in zip(cells["before_usd"], cells["effective_usd"], strict=True)
    ]
    table = build(data, "changes", team, given={**cells, "change_usd": change})
    return Section("changes", "What changed since last month",
                   [f"{data.month:%B %Y} against {data.previous:%B %Y}, effective cost."],
                   tables=[table])  # fmt: skip


def evidence(data: Data, team: str | None) -> Section:
    """The rules and what they rest on."""
    tables = [build(data, "rules")] if team is None else []
    return Section(
        "evidence", "Where the numbers come from",
        ["Each bucket has a rule and rests on rows of files; plumbline explain shows them one by "
         "one."],
        tables=[*tables, build(data, "evidence", team)],
    )  # fmt: skip


def platform(data: Data) -> Section | None:
    """The platform's costs, beside a team's page."""
    team = "platform"
    if team not in data.money.teams:
        return None
    return Section(
        "platform", "Beside: what the platform cost",
        ["Nobody's time and the platform's own costs. None of it is in the team's numbers above."],
        tables=[
            _waste(data, team, "The platform's buckets; in no number of this team", "platform")
        ],
        beside=True,
    )  # fmt: skip


def _classes(data: Data, team: str | None) -> Table:
    name = "classes" if team is None else "team_classes"
    order = list(data.money.class_totals(team))
    found = data.cut(name, team)
    rows = sorted(found.rows, key=lambda row: order.index(row["waste_class"]))
    cells = data.money.class_totals(team)
    return build(
        data, name, team, cut=Cut(rows, found.count, found.totals, found.rests),
        given={
            "effective_usd": [cells[row["waste_class"]][0] for row in rows],
            "gpu_ns": [cells[row["waste_class"]][1] for row in rows],
        },
    )  # fmt: skip


def _showback(data: Data, team: str | None) -> Table:
    cut = data.cut("showback", team)
    money = data.money
    names = [row["team"] for row in cut.rows]
    return build(
        data, "showback", team, cut=cut,
        given={
            **money.parts(cut.rows),
            "billed_usd": [money.billed[name] for name in names],
            "effective_usd": [money.usd[name] for name in names],
            "gpu_ns": [money.hours[name] for name in names],
        },
    )  # fmt: skip


def _buckets(data: Data) -> Table:
    cut = data.cut("buckets")
    cells = data.money.under_classes(list(cut.rows), None)
    return build(data, "buckets", given=_pairs(cells))


def _waste(data: Data, team: str | None, caption: str = "", called: str = "") -> Table:
    teams = data.money.teams if team is None else [team]
    rows: list[Row] = []
    cells: list[tuple[Decimal, Decimal]] = []
    for name in teams:
        own = list(data.cut("waste", name).rows)
        order = list(data.money.class_totals(name))
        own.sort(key=lambda row: order.index(row["waste_class"]))
        rows += own
        cells += data.money.under_classes(own, name)
    whole = data.cut("waste", team)
    if len(rows) > WASTE_ROWS:
        rest = cells[WASTE_ROWS:]
        rows, cells = rows[:WASTE_ROWS], cells[:WASTE_ROWS]
        cells.append((_sum(usd for usd, _ in rest), _sum(hours for _, hours in rest)))
    return build(
        data, "waste", team, cut=Cut(rows, whole.count, whole.totals, whole.rests),
        given=_pairs(cells), caption=caption or ("Where the team's part went" if team else ""),
        called=called,
    )  # fmt: skip


def _unknown(data: Data, team: str | None) -> Table:
    """Its total is the class's, so that it is the same number as above."""
    cut = data.cut("unknown", team)
    usd, hours = data.money.class_totals(team).get("unknown", (Decimal(0), Decimal(0)))
    rows = [{**row, "waste_class": "unknown"} for row in cut.rows]
    if cut.hidden:
        rows.append({**{k: cut.rests[k] for k in ("effective_usd", "gpu_ns")},
                     "waste_class": "unknown"})  # fmt: skip
    if not rows:
        return build(data, "unknown", team)
    cells = data.money.under(rows, usd, hours)
    return build(data, "unknown", team, given=_pairs(cells))


def _matrix(data: Data) -> Table:
    """Teams by classes."""
    money = data.money
    totals = money.class_totals()
    rows = [
        [team_cell(data, team), *(
            Cell(amount(money.classes[team, name][0]) if (team, name) in money.classes else "")
            for name in totals
        ), Cell(amount(money.usd[team]))]
        for team in money.teams
    ]  # fmt: skip
    total = [Cell("all"), *(Cell(amount(usd)) for usd, _ in totals.values()),
             Cell(amount(_sum(money.usd.values())))]  # fmt: skip
    heads = [Head("team"), *(Head(name, "USD", True, True, words.CLASSES.get(name, ""))
                             for name in totals), Head("all", "USD", True, True)]  # fmt: skip
    origin = build(data, "team_classes").origin
    return Table("matrix", "Effective cost by team and class", heads, rows, None,
                 total if len(rows) > 1 else None, origin, count=len(rows))  # fmt: skip


def _pairs(cells: Sequence[tuple[Decimal, Decimal]]) -> dict[str, list[Decimal | None]]:
    return {"effective_usd": [usd for usd, _ in cells], "gpu_ns": [hours for _, hours in cells]}


def _sum(values: Iterable[Decimal]) -> Decimal:
    return sum(values, Decimal(0))
