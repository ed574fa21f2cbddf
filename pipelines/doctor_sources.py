"""What the configured sources themselves leave open: the time for which their exports speak."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from pipelines.config import Config
from pipelines.finding import Finding, Pair
from pipelines.published import Published
from pipelines.terminal import instant

#: Kinds in whose exports the absence of a record proves something.
PROVE_ABSENCE = ("sacct", "sacctmgr_event")


def source_findings(config: Config, published: Published) -> list[Finding]:
    """The findings that have rows."""
    return [finding for finding in _all(config, published) if finding.rows]


def _all(config: Config, published: Published) -> Iterator[Finding]:
    yield Finding(
        "exports that do not say for which time they were asked", "note",
        list(_without_covers(config, published)),
        "Write `covers` at these sources: only then does the absence of a job or an event prove "
        "anything, such as that a GPU was unallocated.",
    )  # fmt: skip
    yield Finding(
        "exports that are older than the end of their `covers`", "note", list(_old(config)),
        "Export them again, or end `covers` where they end: a file says nothing of what came after "
        "it was written, so that time is unknown.",
    )  # fmt: skip


def _without_covers(config: Config, published: Published) -> Iterator[Pair]:
    spans = {row["source_file"]: row for row in published.ask("doctor_covered")}
    for source in config.sources:
        if source.kind not in PROVE_ABSENCE or source.covers is not None:
            continue
        own = [spans[file.name] for file in config.files(source) if file.name in spans]
        starts = [row["first_time"] for row in own if row["first_time"] is not None]
        ends = [row["last_time"] for row in own if row["last_time"] is not None]
        if starts and ends:
            said = f"{instant(min(starts))} to {instant(max(ends))} UTC, which its rows prove"
        else:
            said = "no time at all: its rows prove none"
        yield source.name, f"no covers, so it speaks for {said}"


def _old(config: Config) -> Iterator[Pair]:
    for source in config.sources:
        written = [Path(file.path).stat().st_mtime_ns for file in config.files(source)]
        if source.covers is not None and written and max(written) < source.covers[1]:
            yield (
                source.name,
                (
                    f"covers ends {_instant(source.covers[1])}, its newest file was written "
                    f"{_instant(max(written))}"
                ),
            )


def _instant(time_ns: int) -> str:
    return f"{instant(datetime.fromtimestamp(time_ns // 10**9, UTC))} UTC"
