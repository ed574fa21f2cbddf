"""The [[source]] tables of plumbline.toml, checked when they are loaded: no file is read for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from ingest.options import COMMON, did_you_mean
from ingest.registry import KINDS
from ingest.rows import ns_of_time
from pipelines.toml_values import no_placeholder, shown, text
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError


@dataclass(frozen=True)
class Source:
    """One [[source]]: its kind, its name in tables, its file patterns and its reader's options.

    `covers` is the time, epoch ns [start, end), for which its exports were asked. Its end may lie
    ahead: a file speaks until it was written at most (`until_written`).
    """

    kind: str
    name: str
    patterns: tuple[str, ...]
    cluster: str | None
    covers: tuple[int, int] | None
    options: dict[str, object]


def read_sources(raw: list[dict[str, Any]], path: Path) -> tuple[Source, ...]:
    """All sources, in order; ConfigError says which is wrong and what to write."""
    sources = tuple(_source(table, number, path) for number, table in enumerate(raw, 1))
    names = [source.name for source in sources]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigError(f"{path}: two sources are called {twice[0]}. Give each its own `name`.")
    return sources


def _source(raw: dict[str, Any], number: int, path: Path) -> Source:
    where = f"{path} [[source]] number {number}"
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(
            f"{where}: kind is {shown(kind)}{did_you_mean(kind, KINDS)}; kinds are "
            f"{', '.join(KINDS)}."
        )
    name = text(raw.get("name", kind), where, "name", kind)
    cluster = raw.get("cluster")
    if cluster is not None:
        cluster = text(cluster, f"{where} ({name})", "cluster", "CLUSTER")
    files = raw.get("files")
    if not isinstance(files, list) or not files or not all(map(_is_pattern, files)):
        raise ConfigError(
            f'{where} ({name}): files is {shown(files)}; write `files = ["PATTERN", ...]`, each '
            "pattern the path of a file."
        )
    source = Source(
        kind=kind,
        name=name,
        patterns=tuple(files),
        cluster=cluster,
        covers=_covers(raw.get("covers"), f"{where} ({name})"),
        options={key: _plain(value) for key, value in raw.items() if key not in COMMON},
    )
    no_placeholder(raw, f"{where} ({name})")
    try:
        KINDS[kind].check(SourceFile("", "", name, cluster, source.covers, source.options))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    return source


def until_written(covers: tuple[int, int] | None, path: Path) -> tuple[int, int] | None:
    """The time that a file can speak for: an export says nothing of what came after it."""
    if covers is None:
        return None
    end = min(covers[1], path.stat().st_mtime_ns)
    return (covers[0], end) if covers[0] < end else None


def _covers(raw: object, where: str) -> tuple[int, int] | None:
    if raw is None:
        return None
    if isinstance(raw, list) and len(raw) == 2:
        times = [_time(value) for value in raw]
        if times[0] is not None and times[1] is not None and times[0] < times[1]:
            return times[0], times[1]
    raise ConfigError(
        f"{where}: covers is {raw!r}; write the time that the export was asked for, with a zone: "
        '`covers = ["2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"]`.'
    )


def _time(raw: object) -> int | None:
    if isinstance(raw, str):
        try:
            raw = datetime.fromisoformat(raw)
        except ValueError:
            return None
    if isinstance(raw, datetime) and raw.tzinfo is not None:
        return ns_of_time(raw.astimezone(UTC))
    return None


def _is_pattern(value: object) -> bool:
    """True for a text that names something below a folder, which "", "." and "/" do not."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        return False
    path = Path(value)
    return bool(path.relative_to(path.anchor).parts)


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value
