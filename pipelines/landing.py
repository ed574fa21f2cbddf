"""Ingest: read the source files that are new or changed, and forget those that are gone.

The landing area mirrors the files that the configuration names now. One file is one unit of the
store: it is replaced whole, so reading it twice changes nothing. A file whose size and time are
those of the last run is not opened.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ingest import policy
from ingest.registry import KINDS
from pipelines.config import Config
from pipelines.observer import Progress
from pipelines.sources import Source
from warehouse.contracts import LANDING, Batch, SourceFile
from warehouse.errors import SourceError, StoreError
from warehouse.manifest import FileEntry, Scalar
from warehouse.memory import use_steady_pool
from warehouse.objects import Objects
from warehouse.store import Store, Transaction, Unit
from warehouse.unit_files import write_unit
from warehouse.workers import workers

#: A commit comes after so many bytes of source files, so that a killed run resumes near its end.
COMMIT_BYTES = 256 * 1024**2


#: From so many bytes of source files on, they are read by several processes.
MUCH_BYTES = 16 * 1024**2
#: Files that are handed out before the first of them is done.
UNDER_WAY = 64


class New(NamedTuple):
    """A file that is new or changed, and what the store will remember of it."""

    key: str
    file: SourceFile
    kind: str
    size: int
    fingerprint: str
    meta: dict[str, Scalar]


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
    new: list[New] = []
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
        new.append(New(key, file, source.kind, stat.st_size, fingerprint, {
            "setup": setup, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns,
            "sha256": digest, "kind": source.kind, "source": source.name, "file": file.name,
        }))  # fmt: skip
    _read_all(config, store, transaction, new, done, progress)
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


def _read_all(
    config: Config, store: Store, transaction: Transaction, new: list[New], done: Landed,
    progress: Progress,
) -> None:  # fmt: skip
    """Read files, several at a time where they are large; commits as it goes, in their order."""
    whole = sum(file.size for file in new)
    is_much = store.objects.is_shared and whole >= MUCH_BYTES
    with workers(
        len(new), is_much=is_much, most=config.threads, prepare=use_steady_pool
    ) as pool:  # fmt: skip
        try:
            pending = 0
            for one, entries in _results(pool, store.objects, new, progress):
                counts = transaction.adopt(
                    "landing", one.key, entries, fingerprint=one.fingerprint, meta=one.meta
                )
                done.read.append(one.file.name)
                for table, count in counts.items():
                    done.rows[table] = done.rows.get(table, 0) + count
                pending += one.size
                if pending >= COMMIT_BYTES:
                    transaction.commit()
                    pending = 0
        except BrokenExecutor as error:
            raise StoreError(
                f"{store.root}: a process that read source files was killed, most likely for want "
                "of memory; expected some 300 MB for each. What was read before stands. Set "
                "`threads` under [warehouse] to fewer, then run again."
            ) from error
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _results(
    pool: Executor, objects: Objects, new: list[New], progress: Progress
) -> Iterator[tuple[New, list[FileEntry]]]:
    """What was written of each file, in order; a few files are under way at a time."""
    waiting: deque[tuple[New, Future[list[FileEntry]]]] = deque()
    for one in new:
        progress(f"read {one.file.name}")
        waiting.append((one, pool.submit(read_file, objects, one)))
        # What is done at once is handed on at once: it may be committed before the next is read.
        while waiting and (waiting[0][1].done() or len(waiting) > UNDER_WAY):
            first, result = waiting.popleft()
            yield first, result.result()
    for first, result in waiting:
        yield first, result.result()


def read_file(objects: Objects, new: New) -> list[FileEntry]:
    """Read one source file and put its rows into the store's place, for a transaction to adopt."""
    batches = KINDS[new.kind].read(new.file)
    return write_unit(objects, "landing", new.key, batches, LANDING)


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
