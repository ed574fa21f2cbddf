"""What the charts of a page show: which rows, in which order, under which labels.

Lengths of bars are floats for drawing only; every number that can be read stands in a table too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from reports.amounts import HOUR_NS, SECOND_NS, amount, factor, milliseconds, percent
from reports.charts import Drawing
from reports.data import Data
from reports.listing import Row
from reports.names import cut, plain
from reports.page import Figure
from reports.tables import gpu, job_name
from reports.words import CLASSES, COMPUTE_PARTS, RUNGS, STEP_PARTS

TEAMS, KERNELS, SPLIT_TEAMS = 16, 10, 10
#: Lines of the ladder's picture, on the month's page and on a team's.
LADDER_ROWS, TEAM_LADDER_ROWS = 24, 8
_SHAPES = dict(zip(RUNGS, "●■▲◆▼✚", strict=True))


def waterfall(data: Data, team: str | None) -> Figure:
    """From the bill down to what was useful."""
    classes = data.money.class_totals(team)
    total = sum((usd for usd, _ in classes.values()), Decimal(0))
    rows: list[dict[str, Any]] = []
    if team is None:
        billed = sum(data.money.billed.values(), Decimal(0))
        rows.append(_fall("billed", Decimal(0), billed, "bill"))
        if billed != total:
            rows.append(_fall("commitments", billed, total, "bill"))
    else:
        rows.append(_fall("team's part", Decimal(0), total, "bill"))
    left = total
    for name in ("unknown", "strict", "policy", "overhead", "step"):
        if name in classes:
            rows.append(_fall(name, left, left - classes[name][0], name))
            left -= classes[name][0]
    rows.append(_fall("useful", Decimal(0), left, "useful"))
    whose = "the month" if team is None else "the team"
    described = "; ".join(f"{row['label']} {row['text']} USD" for row in rows)
    drawing = Drawing(
        "waterfall", rows, f"From the bill of {whose} down to what was useful", described
    )
    start = "billed" if team is None else "the team's part"
    return Figure("waterfall", drawing, f"From {start} down to useful, in effective USD")


def _fall(label: str, start: Decimal, end: Decimal, key: str) -> dict[str, Any]:
    return {"label": label, "start": float(start), "end": float(end), "key": key,
            "edge": float(max(start, end)), "text": amount(abs(end - start))}  # fmt: skip


def team_bars(data: Data) -> Figure | None:
    """Each team's part of the bill by class."""
    money = data.money
    if not money.teams:
        return None
    groups = {cut(plain(team), 28): [team] for team in money.teams[:TEAMS]}
    if others := money.teams[TEAMS:]:
        groups[f"{len(others):,} more teams"] = list(others)
    rows = []
    for label, teams in groups.items():
        for at, name in enumerate(CLASSES):
            cells = [money.classes[t, name][0] for t in teams if (t, name) in money.classes]
            if cells and (value := sum(cells, Decimal(0))) > 0:
                rows.append({"label": label, "key": name, "at": at, "value": float(value)})
    drawing = Drawing("team_bars", rows, "Effective cost per team, by class",
        "; ".join(f"{label}: {amount(sum((money.usd[t] for t in teams), Decimal(0)))} USD"
                  for label, teams in groups.items()),
    )  # fmt: skip
    return Figure("team-bars", drawing, "Effective USD per team, by class", key(CLASSES))


def ladder(data: Data, team: str | None) -> Figure | None:
    """GPU-Util and what the GPU did, a line per job; a rank of its own where ranks differ."""
    rows: list[dict[str, Any]] = []
    told: list[str] = []
    most = LADDER_ROWS if team is None else TEAM_LADDER_ROWS
    for row in data.cut("ladder", team).rows:
        values = {key: row[key] for key in RUNGS if row[key] is not None}
        if not values or len(told) >= most:
            continue
        label = cut(plain(f"{job_name(row)} {row['job_name'] or ''}".strip()), 30)
        if row["rank"] is not None:
            label = f"{cut(plain(job_name(row)), 20)} rank {row['rank']}"
        rows += [{"label": label, "key": key, "percent": value * 100}
                 for key, value in values.items()]  # fmt: skip
        told.append(f"{label}: " + ", ".join(
            f"{RUNGS[key][0]} {percent(value)} %" for key, value in values.items()
        ))  # fmt: skip
    if not rows:
        return None
    drawing = Drawing("ladder", rows, "GPU-Util against what the GPU did, per job", "; ".join(told))
    legend = [(f"{_SHAPES[key]} {name}", key) for key, (name, _) in RUNGS.items()]
    return Figure("ladder", drawing, "The ladder: the longest holds first", legend, shaped=True)


def stragglers(data: Data, team: str | None, most: int) -> list[Figure]:
    """Per job whose ranks waited for one another: each rank's mean traced step, by part."""
    ranks = data.cut("rank_steps", team).rows
    found: list[Figure] = []
    for late in data.cut("stragglers", team).rows:
        name = f"straggler-{len(found) + 1}"
        own = [row for row in ranks if _job(row) == _job(late)]
        if len(found) >= most or not own or any(_job(late) == _job(f) for f in _firsts(found)):
            continue
        rows = [
            {"label": f"rank {row['rank']} {gpu(plain(row['gpu_uuid']))}", **part}
            for row in own for part in _parts(row)
        ]  # fmt: skip
        job = plain(job_name(late))
        cause = (
            f"The others waited {_seconds(late['wait_caused_gpu_ns'])} GPU-s for rank "
            f"{late['rank']} on {gpu(plain(late['gpu_uuid']))}; its own work takes "
            f"{factor(late['slowdown_ratio'])} times theirs"
        )
        drawing = Drawing(
            "rank_bars",
            rows,
            f"Ranks of job {job}: a mean traced step",
            f"{cause}. {_described(own)}",
        )
        caption = f"{cut(job, 60)}{_unfit(own)}. {cause}."
        found.append(Figure(name, drawing, caption, about=late))
    return found


def _firsts(figures: Sequence[Figure]) -> list[Mapping[str, Any]]:
    return [figure.about for figure in figures if figure.about is not None]


def steps(data: Data, team: str | None, most: int) -> list[Figure]:
    """Per job: its traced steps by part, the mean over ranks; and all that it logged."""
    found: list[Figure] = []
    jobs: dict[tuple[str, str, int], list[Row]] = {}
    for row in data.cut("steps", team).rows:
        jobs.setdefault(_job(row), []).append(row)
    logged: dict[tuple[str, str, int], list[Row]] = {}
    for row in data.cut("step_times", team).rows:
        logged.setdefault(_job(row), []).append(row)
    for number, (job, own) in enumerate(list(jobs.items())[:most], 1):
        normal = _normal(data, team, job)
        title = cut(plain(f"{job_name(own[0])} {own[0]['job_name'] or ''}".strip()), 60)
        rows = [{**part, "normal": normal} for part in _over_ranks(own)]
        ends = f"the job's normal step takes {normal:,.1f} ms" if normal else "no normal step known"
        drawing = Drawing(
            "traced_steps",
            rows,
            f"Traced steps of {title}, by part",
            f"{ends}{_unfit(own)}. {_described(own)}",
        )
        caption = f"{title}{_unfit(own)}: traced steps" + (
            ", mean over ranks" if len({row["gpu_uuid"] for row in own}) > 1 else ""
        ) + (f"; dashed: the normal step, {normal:,.1f} ms" if normal else "")  # fmt: skip
        beside = None
        if team is None and len(times := logged.get(job, [])) > 1:
            beside = _logged(f"logged-{number}", times)
        found.append(Figure(f"steps-{number}", drawing, caption, beside=beside))
    return found


def _logged(name: str, times: Sequence[Row]) -> Figure:
    rows = [{"step": row["first_step"], "ms": row["step_ns"] / 1e6} for row in times]
    longest, shortest = max(r["ms"] for r in rows), min(r["ms"] for r in rows)
    number = sum(row["step_count"] for row in times)
    job = plain(job_name(times[0]))
    drawing = Drawing(
        "logged_steps", rows, f"Step time of {job} over the job",
        f"{number:,} steps, between {shortest:,.1f} and {longest:,.1f} ms",
    )  # fmt: skip
    return Figure(name, drawing, f"All {number:,} logged steps")


def kernels(data: Data) -> Figure | None:
    """The dearest kernels: their own time's cost, and what they carry of the job's other time."""
    rows: list[dict[str, Any]] = []
    told: list[str] = []
    for row in data.cut("kernels_all").rows[:KERNELS]:
        name = cut(plain(row["kernel_family"] or "–"), 24)
        label = f"{len(told) + 1}. {cut(plain(row['op'] or row['bucket'] or ''), 20)} {name}"
        direct, loaded = row["direct_usd"], row["loaded_usd"]
        rows += [
            {"label": label, "key": "direct", "at": 0, "value": float(direct)},
            {"label": label, "key": "carried", "at": 1, "value": float(max(loaded - direct, 0))},
        ]
        told.append(label)
    if not any(row["value"] for row in rows):
        return None
    drawing = Drawing(
        "kernel_bars", rows, "The dearest kernels, direct and loaded", "; ".join(told)
    )
    legend = [("direct", "direct"), ("carried: its part of the job's other time", "carried")]
    return Figure("kernels", drawing, "The dearest kernels, in billed USD", legend)


def split(data: Data) -> Figure | None:
    """What compute time was for, per team."""
    by_team: dict[str, list[Row]] = {}
    for row in data.cut("split").rows:
        by_team.setdefault(row["team"] or "–", []).append(row)
    order = sorted(by_team, key=lambda team: (-sum(r["gpu_ns"] for r in by_team[team]), team))
    rows = [
        {"label": cut(plain(team), 28), "key": row["part"], "at": at,
         "value": float(row["gpu_ns"]) / HOUR_NS}
        for team in order[:SPLIT_TEAMS] for row in by_team[team]
        for at in [list(COMPUTE_PARTS).index(row["part"]) if row["part"] in COMPUTE_PARTS else 99]
    ]  # fmt: skip
    if not any(row["value"] for row in rows):
        return None
    drawing = Drawing("split_bars", rows, "What compute time was for, per team",
        "; ".join(f"{row['label']}: {row['key']} {row['value']:,.4f} GPU-h" for row in rows),
    )  # fmt: skip
    return Figure("split", drawing, "Compute time per team, by what it was for",
                  key(COMPUTE_PARTS))  # fmt: skip


def _job(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["cluster"], row["job_id"], row["attempt"]


def _parts(row: Row) -> list[dict[str, Any]]:
    return [
        {"key": part, "at": at, "ms": float(row[f"{part}_ns"]) / 1e6}
        for at, part in enumerate(STEP_PARTS)
        if row[f"{part}_ns"]
    ]


def _over_ranks(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The parts of each step, the mean over the ranks that were traced in it."""
    steps: dict[Any, list[Row]] = {}
    for at, row in enumerate(rows):
        steps.setdefault(row["step"] if row["step"] is not None else f"#{at + 1}", []).append(row)
    return [
        {"step": step, "key": part, "at": at,
         "ms": sum(float(row[f"{part}_ns"]) for row in own) / len(own) / 1e6}
        for step, own in sorted(steps.items(), key=lambda item: min(r["start_ns"] for r in item[1]))
        for at, part in enumerate(STEP_PARTS)
        if any(row[f"{part}_ns"] for row in own)
    ]  # fmt: skip


def _normal(data: Data, team: str | None, job: tuple[str, str, int]) -> float | None:
    known = [
        float(row["normal_step_ns"]) / 1e6
        for row in data.cut("rank_steps", team).rows
        if _job(row) == job and row["normal_step_ns"]
    ]
    return sum(known) / len(known) if known else None


def _described(rows: Sequence[Row]) -> str:
    return "; ".join(
        f"rank {row['rank']}" + (f", step {row['step']}" if "step" in row else "") + ": "
        + ", ".join(f"{part.replace('_', ' ')} {milliseconds(row[f'{part}_ns'])} ms"
                    for part in STEP_PARTS if row[f"{part}_ns"])
        for row in rows[:8]
    )  # fmt: skip


def _unfit(rows: Sequence[Row]) -> str:
    return ", unfit" if any(row["unfit"] for row in rows) else ""


def _seconds(value: int) -> str:
    return f"{Decimal(value) / SECOND_NS:,.1f}"


def key(words: Any) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), name) for name in words]
