"""Collecting: what servers have and no file has yet, as files that a run reads.

A file holds the answers for one stretch of time, and is there wholly or not at all: what was
collected before stands whatever happens, and the next time goes on from there. A stretch is asked
for when it is over and five minutes old, since scrapes and replicas come late.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from isal import igzip

from ingest.counters.prometheus_api import Client, Server, server
from pipelines.config import Config
from pipelines.observer import Progress
from pipelines.sources import Source
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

#: A stretch is asked for when it ended so long ago.
LATE_MS = 300_000
_SUFFIX = ".jsonl.gz"
#: Makes the client of a server.
Connect = Callable[[Server], Client]


@dataclass
class Collected:
    """What was collected: files by source, and how many were there already."""

    files: dict[str, list[Path]] = field(default_factory=dict)
    there: int = 0


def collect(
    config: Config, *, only: str | None, now: datetime, progress: Progress,
    connect: Connect = Client,
) -> Collected:  # fmt: skip
    """Ask every source that has a `url` for what is missing, oldest first.

    `only` names one source. Raises ConfigError where no source has a server, SourceError where one
    does not answer.
    """
    asked = [
        (source, found) for source in config.sources
        if only in (None, source.name) and (found := _server(source)) is not None
    ]  # fmt: skip
    if not asked:
        which = "no source" if only is None else f"no source {only!r}"
        raise ConfigError(
            f"{config.path}: {which} of kind prometheus has a `url` to collect from. Add one: "
            "plumbline init --kind prometheus."
        )
    done = Collected()
    for source, found in asked:
        files = done.files.setdefault(source.name, [])
        folder = _folder(config, source)
        client: Client | None = None
        for start_ms, end_ms in stretches(found, int(now.timestamp() * 1000)):
            path = folder / f"{_time(start_ms):%Y-%m-%dT%H%MZ}{_SUFFIX}"
            if path.exists():
                done.there += 1
                continue
            client = client or connect(found)
            progress(f"collect {source.name}: {_time(start_ms):%Y-%m-%d %H:%M} UTC")
            _write(path, client, start_ms, end_ms)
            files.append(path)
    return done


def stretches(found: Server, now_ms: int) -> Iterator[tuple[int, int]]:
    """The stretches of time that are over, epoch ms, oldest first."""
    start = found.since_ms - found.since_ms % found.chunk_ms
    while start + found.chunk_ms + LATE_MS <= now_ms:
        yield start, start + found.chunk_ms
        start += found.chunk_ms


def _server(source: Source) -> Server | None:
    if source.kind != "prometheus":
        return None
    return server(SourceFile("", "", source.name, source.cluster, None, dict(source.options)))


def _folder(config: Config, source: Source) -> Path:
    """Where a source's files go: the folder of its first pattern, which has to read them."""
    pattern = Path(source.patterns[0])
    if any(mark in pattern.parent.as_posix() for mark in "*?[") or not _reads(pattern):
        raise ConfigError(
            f"{config.path}: source {source.name}: files is {source.patterns[0]!r}; expected a "
            f'folder and "*{_SUFFIX}", such as "prometheus/*{_SUFFIX}", to collect into'
        )
    return config.folder / pattern.parent


def _reads(pattern: Path) -> bool:
    return Path(f"2026-11-01T0000Z{_SUFFIX}").match(pattern.name)


def _write(path: Path, client: Client, start_ms: int, end_ms: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with igzip.open(part, "wb", compresslevel=2) as out:  # type: ignore[no-untyped-call]
            head = msgspec.json.encode({"start_ms": start_ms, "end_ms": end_ms})
            out.write(head + b"\n")
            for name in client.names(start_ms, end_ms):
                for body in client.samples(name, start_ms, end_ms):
                    out.write(body + b"\n")
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _time(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC)
