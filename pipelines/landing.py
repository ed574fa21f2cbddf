"""Ingest: read the source files that are new or changed, and forget those that are gone.

The landing area mirrors the files that the configuration names now. One file is one unit of the
store: it is replaced whole, so reading it twice changes nothing. A file whose size and time are
those of the last run is not opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ingest import policy
from ingest.registry import KINDS
from pipelines.config import Config
from pipelines.observer import Progress
from pipelines.sources import Source
from warehouse.contracts import LANDING, Batch, SourceFile
from warehouse.errors import SourceError
from warehouse.store import Store, Transaction, Unit

#: A commit comes after so many bytes of source files, so that a killed run resumes near its end.
COMMIT_BYTES = 256 * 1024**2


@dataclass
class Landed:
    """What ingest did: files read, left as they were and forgotten; rows and rejects by table.

    `empty` are the sources of which no file is there.
    """

    read: list[str] = field(default_factory=list)
    unchanged: int = 0
    forgotten: list[str] = field(default_factory=list)
    empty: list[Source] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)

    @property
    def rejects(self) -> int:
        """Records that could not be read, of the files read in this run."""
        return self.rows.get("reject", 0)


def land(
    config: Config, store: Store, transaction: Transaction, *, progress: Progress,
    forget: bool = False,
) -> Landed:  # fmt: skip
    """Bring the landing area up to date; commits as it goes.

    SourceError names a bad file, or a source whose files are all gone, unless it may `forget` them.
    """
    done = Landed()
    transaction.migrate("landing", LANDING)
    before = store.units("landing")
    files = list(_files(config, done))
    if not forget:
        _refuse_to_forget(config, done.empty, before)
    wanted: set[str] = set()
    pending = 0
    for key, file, source in files:
        wanted.add(key)
        setup = _setup(file, source)
        stat = Path(file.path).stat()
        old = before.get(key)
        if old is not None and _looks_same(old, setup, stat.st_size, stat.st_mtime_ns):
            done.unchanged += 1
            continue
        digest = _sha256(Path(file.path))
        fingerprint = hashlib.sha256(f"{setup}{digest}".encode()).hexdigest()
        if old is not None and old.fingerprint == fingerprint:
            done.unchanged += 1
            continue
        progress(f"read {file.name}")
        counts = transaction.replace(
            "landing", key, KINDS[source.kind].read(file), fingerprint=fingerprint,
            meta={
                "setup": setup, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns,
                "sha256": digest, "kind": source.kind, "source": source.name, "file": file.name,
            },
            contracts=LANDING,
        )  # fmt: skip
        done.read.append(file.name)
        for table, count in counts.items():
            done.rows[table] = done.rows.get(table, 0) + count
        pending += stat.st_size
        if pending >= COMMIT_BYTES:
            transaction.commit()
            pending = 0
    wanted |= _land_policies(config, transaction, before, done)
    for key in sorted(before.keys() - wanted):
        transaction.remove("landing", key)
        done.forgotten.append(str(before[key].meta.get("file", key)))
    transaction.commit()
    return done


def _files(config: Config, done: Landed) -> Iterator[tuple[str, SourceFile, Source]]:
    for source in config.sources:
        files = config.files(source)
        if not files:
            done.empty.append(source)
        for file in files:
            yield f"{source.kind}/{source.name}/{file.name}", file, source


def _refuse_to_forget(config: Config, empty: list[Source], before: dict[str, Unit]) -> None:
    """SourceError where a source had files at the last run and has none: a sync that failed, or a
    folder that is not mounted, must not take what is published with it."""
    for source in empty:
        own = (source.kind, source.name)
        known = sum((u.meta.get("kind"), u.meta.get("source")) == own for u in before.values())
        if known:
            raise SourceError(
                config.path,
                f"source {source.name}: {config.why_none(source)}, and {known:,} of its files "
                f"{'is' if known == 1 else 'are'} in use",
                expected="at least one file, as at the last run",
                todo="Nothing was changed. Bring the files back, or let go what came from them "
                "with `plumbline run --forget`.",
            )


def _land_policies(
    config: Config, transaction: Transaction, before: dict[str, Unit], done: Landed
) -> set[str]:
    """The [[policy]] entries of the configuration are a unit of their own."""
    key = "policy/policy/toml"
    if not config.policies:
        return set()
    text = json.dumps(config.policies, default=str, sort_keys=True)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    if key in before and before[key].fingerprint == fingerprint:
        return {key}

    def batches() -> Iterator[Batch]:
        yield from policy.windows(list(config.policies), config.policy_file())

    counts = transaction.replace(
        "landing", key, batches(), fingerprint=fingerprint,
        meta={"kind": "policy", "source": "policy", "file": config.path.name}, contracts=LANDING,
    )  # fmt: skip
    done.read.append(f"{config.path.name} [[policy]]")
    for table, count in counts.items():
        done.rows[table] = done.rows.get(table, 0) + count
    return {key}


def _setup(file: SourceFile, source: Source) -> str:
    """All that decides a file's rows besides its bytes."""
    kind = KINDS[source.kind]
    parts = [kind.name, kind.version, file.name, file.source, file.cluster, file.covers]
    versions = {name: contract.version for name, contract in LANDING.items()}
    text = json.dumps([parts, file.options, versions], default=str, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _looks_same(old: Unit, setup: str, size: int, mtime_ns: int) -> bool:
    meta = old.meta
    return (meta.get("setup"), meta.get("size"), meta.get("mtime_ns")) == (setup, size, mtime_ns)


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
