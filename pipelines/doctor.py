"""What is missing: by source, and in what was read. How to get it, and what it would prove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from ingest.registry import KINDS, Kind
from pipelines.config import Config
from pipelines.doctor_findings import findings
from pipelines.doctor_sources import source_findings
from pipelines.finding import Finding
from pipelines.init import export_lines
from pipelines.published import Published
from pipelines.terminal import minute, percent, safe, table
from warehouse.store import Unit

#: Lines of an export command, and rows of a finding, that are shown.
EXPORT_LINES, ROWS_SHOWN = 3, 5
#: Tables that speak of files, not of records: they are no rows of a source.
ABOUT_FILES = {"source_coverage", "bill_snapshot"}


@dataclass(frozen=True)
class SourceState:
    """One configured source, or a kind that is not configured (`name` is None).

    `found` files match its patterns, `read` of them have landed with so many `rows` and `rejects`.
    `covers` is the time that they speak for, `read_on` when the last one landed. `problem` is what
    is missing, '' where nothing is.
    """

    kind: Kind
    name: str | None
    found: int
    read: int
    rows: int
    rejects: int
    covers: tuple[datetime | None, datetime | None]
    read_on: datetime | None
    problem: str


@dataclass(frozen=True)
class Diagnosis:
    """What `doctor` found; `published` months are in order, `grades` are of the last one."""

    sources: list[SourceState]
    findings: list[Finding]
    published: list[date]
    grades: list[tuple[str, int]]

    @property
    def missing(self) -> int:
        """How many things are missing: sources with a problem, and findings that are no notes."""
        return sum(bool(source.problem) for source in self.sources) + sum(
            finding.level == "missing" for finding in self.findings
        )


def diagnose(config: Config, *, now: datetime) -> Diagnosis:
    """Look at the configuration and the warehouse; reads no source file."""
    published = Published(config)
    months = published.months
    grades = published.ask("doctor_grades", month=months[-1]) if months else []
    return Diagnosis(
        sources=list(_sources(config, published)),
        findings=[*source_findings(config, published), *findings(published, now=now)],
        published=months,
        grades=[(row["evidence_grade"], row["gpu_ns"]) for row in grades],
    )


def _sources(config: Config, published: Published) -> Iterator[SourceState]:
    store = published.store
    units = store.units("landing")
    covered = {row["source_file"]: row for row in published.ask("doctor_covered")}
    rows: dict[str, int] = {}
    rejects: dict[str, int] = {}
    read_on: dict[str, datetime] = {}
    for table_name in store.tables(area="landing"):
        for entry in store.files(table_name, area="landing"):
            count = rejects if table_name == "reject" else rows
            if table_name not in ABOUT_FILES:
                count[entry.unit] = count.get(entry.unit, 0) + entry.rows
            written = datetime.fromtimestamp(Path(store.path(entry)).stat().st_mtime, UTC)
            read_on[entry.unit] = max(written, read_on.get(entry.unit, written))
    for kind in KINDS.values():
        own = [source for source in config.sources if source.kind == kind.name]
        if not own and _is_asked_for(kind, config):
            problem = "not configured" if kind.is_needed else ""
            yield SourceState(kind, None, 0, 0, 0, 0, (None, None), None, problem)
        for source in own:
            names = {file.name for file in config.files(source)}
            read = {
                key: unit for key, unit in units.items()
                if (unit.meta.get("kind"), unit.meta.get("source")) == (kind.name, source.name)
            }  # fmt: skip
            spans = [covered[name] for name in map(_file, read.values()) if name in covered]
            starts = [row["first_time"] for row in spans if row["first_time"] is not None]
            ends = [row["last_time"] for row in spans if row["last_time"] is not None]
            bad = sum(rejects.get(key, 0) for key in read)
            unread = names - set(map(_file, read.values()))
            yield SourceState(
                kind, source.name, len(names), len(read), sum(rows.get(key, 0) for key in read),
                bad, (min(starts, default=None), max(ends, default=None)),
                max((read_on[key] for key in read if key in read_on), default=None),
                _problem(config.why_none(source) if not names else "", unread, bad),
            )  # fmt: skip


def _is_asked_for(kind: Kind, config: Config) -> bool:
    """Whether a kind without a source is missing: none is that stands in for another, nor one
    that another stands in for."""
    present = {source.kind for source in config.sources}
    stand_ins = {other.name for other in KINDS.values() if other.instead_of == kind.name}
    return kind.instead_of is None and not present & stand_ins


def _problem(why_none: str, unread: set[str], bad: int) -> str:
    if why_none:
        return why_none
    if unread:
        return f"{len(unread):,} files not read yet: plumbline run"
    return f"{bad:,} rejects" if bad else ""


def _file(unit: Unit) -> str:
    return str(unit.meta.get("file"))


def render(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    """The diagnosis as tables and texts."""
    yield _source_table(diagnosis.sources)
    for state in diagnosis.sources:
        if state.problem and not state.found:
            yield _how_to(state)
    more = [state.kind for state in diagnosis.sources if state.name is None and not state.problem]
    if more:
        yield _more(more)
    if diagnosis.grades:
        yield _grades(diagnosis.published[-1], diagnosis.grades)
    else:
        yield Text("No month is published yet: run `plumbline run`, then ask again.")
    for finding in diagnosis.findings:
        yield _finding(finding)
    if diagnosis.missing:
        count = diagnosis.missing
        said = "1 thing is missing." if count == 1 else f"{count:,} things are missing."
        yield Text(said, style="bold yellow")
    else:
        yield Text("Nothing is missing.", style="bold green")


def _source_table(sources: Sequence[SourceState]) -> RenderableType:
    lines = [
        (
            state.kind.name, state.name, f"{state.found:,}", f"{state.read:,}",
            f"{state.rows:,}", f"{state.rejects:,}", minute(state.covers[0]),
            minute(state.covers[1]), minute(state.read_on), state.kind.grade,
            _state(state),
        )
        for state in sources
    ]  # fmt: skip
    return table(
        "Sources (times are UTC; grade: the evidence that the kind makes possible)",
        ("kind", "source", ">files", ">read", ">rows", ">rejects", "speaks from", "to",
         "read on", "grade", "state"),
        lines,
    )  # fmt: skip


def _state(state: SourceState) -> Text:
    if state.problem:
        return Text(safe(state.problem), "yellow")
    return Text("ok", "green") if state.name is not None else Text("optional", "dim")


def _more(kinds: Sequence[Kind]) -> RenderableType:
    """Kinds without a source, of which each would prove more."""
    lines = [
        (
            " or ".join(other.name for other in KINDS.values()
                        if kind.name in (other.name, other.instead_of)),
            kind.grade, kind.gives,
        )
        for kind in kinds
    ]  # fmt: skip
    return table(
        "What more sources would prove (how to export one: plumbline init --kind KIND)",
        ("kind", "grade", "what it gives"), lines,
    )  # fmt: skip


def _how_to(state: SourceState) -> Text:
    lines = export_lines(state.kind)
    found = Text.assemble(
        (f"{state.kind.name}: {safe(state.problem)}\n", "bold"),
        f"  {state.kind.gives} ({state.kind.grade})\n",
    )
    for line in lines[:EXPORT_LINES]:
        found.append(f"    {safe(line)}\n")
    if len(lines) > EXPORT_LINES:
        more = f"{len(lines) - EXPORT_LINES} more lines: plumbline init --kind {state.kind.name}"
        found.append(f"    ... {more}\n")
    found.right_crop(1)
    return found


def _grades(month: date, grades: Sequence[tuple[str, int]]) -> Text:
    whole = sum(gpu_ns for _, gpu_ns in grades)
    parts = ", ".join(
        f"{grade} {percent(gpu_ns / whole if whole else None)} %" for grade, gpu_ns in grades
    )
    return Text(f"Evidence of {month:%Y-%m}, by billed GPU-time: {parts}")


def _finding(finding: Finding) -> Text:
    style = "yellow" if finding.level == "missing" else "cyan"
    found = Text.assemble(
        (f"{finding.level}: ", f"bold {style}"),
        (f"{finding.title} ({len(finding.rows):,})\n", "bold"),
    )
    for subject, detail in finding.rows[:ROWS_SHOWN]:
        found.append(f"    {safe(subject)}: {safe(detail)}\n")
    if len(finding.rows) > ROWS_SHOWN:
        found.append(f"    ... {len(finding.rows) - ROWS_SHOWN:,} more\n")
    found.append(f"  {finding.todo}")
    return found
