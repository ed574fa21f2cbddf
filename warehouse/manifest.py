"""The manifest: the one file that says which files of the store count.

It is JSON with sorted keys, and its bytes depend on what the store holds alone: no clock, no
counter. So "nothing changed" and "the same bytes" are one thing. Reading it checks it whole, since
everything else trusts it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath

import msgspec

from warehouse.errors import StoreError
from warehouse.objects import MANIFEST

#: Raised when a reader of the old form could misread the new one.
FORMAT = 1

#: landing: what ingest wrote, a unit per source file. mart: what was published, a unit per month.
AREAS = ("landing", "mart")

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class FileEntry:
    """One Parquet file that counts.

    `path` is relative to the store's root. `unit` is what it is replaced with. `partition` is
    `day=2026-11-30` (UTC) or ''. `min_ns` and `max_ns` are the least and greatest time (epoch ns)
    of the contract's time column, None where it has none. `version` is the contract's.
    """

    path: str
    area: str
    table: str
    unit: str
    partition: str
    rows: int
    bytes: int
    sha256: str
    min_ns: int | None
    max_ns: int | None
    version: int


@dataclass(frozen=True)
class Unit:
    """What is replaced as one: the rows of one source file, or of one published month.

    `key` names it within its area. `fingerprint` is the caller's proof of what it was made from:
    an equal one needs no new reading. `meta` is the caller's, kept as it is.
    """

    area: str
    key: str
    fingerprint: str
    meta: dict[str, Scalar]


@dataclass(frozen=True)
class State:
    """What the store holds: files sorted by path, and units by area and key."""

    files: tuple[FileEntry, ...] = ()
    units: Mapping[tuple[str, str], Unit] = field(default_factory=dict)


@dataclass(frozen=True)
class _Unit:
    fingerprint: str
    meta: dict[str, Scalar]


@dataclass(frozen=True)
class _Manifest:
    files: list[FileEntry]
    units: dict[str, dict[str, _Unit]]


def encode(state: State) -> bytes:
    """The manifest's bytes, the same for the same state."""
    units: dict[str, dict[str, object]] = {area: {} for area in AREAS}
    for unit in state.units.values():
        units[unit.area][unit.key] = {"fingerprint": unit.fingerprint, "meta": unit.meta}
    content = {"format": FORMAT, "files": [asdict(f) for f in state.files], "units": units}
    return (json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n").encode()


def decode(data: bytes, root: str) -> State:
    """Read a manifest. Raises StoreError, with what to do, where it is not as `encode` makes it."""
    try:
        content = msgspec.json.decode(data)
        found = content["format"]
        if found == FORMAT:
            manifest = msgspec.convert(content, _Manifest)
    except (msgspec.DecodeError, msgspec.ValidationError, KeyError, TypeError) as error:
        reason = f"has no {error}" if isinstance(error, KeyError) else str(error)
        raise damaged(root, f"is damaged ({reason})") from error
    if found != FORMAT:
        raise StoreError(
            f"{root}/{MANIFEST} has format {found!r}; expected {FORMAT}. It was written by another "
            "version of Plumbline: use that version, or name another warehouse directory."
        )
    units = {
        (area, key): Unit(area, key, unit.fingerprint, unit.meta)
        for area, group in manifest.units.items()
        for key, unit in group.items()
    }
    for entry in manifest.files:
        if (entry.area, entry.unit) not in units:
            raise damaged(root, f"names {entry.path} of a unit that it does not have")
        if not _is_inside(entry):
            raise damaged(root, f"names {entry.path!r}, which is no path of a {entry.area} file")
    paths = [entry.path for entry in manifest.files]
    if any(area not in AREAS for area, _ in units) or paths != sorted(set(paths)):
        raise damaged(root, "is damaged (unknown area, or files out of order)")
    return State(tuple(manifest.files), units)


def damaged(root: str, what: str) -> StoreError:
    """The error for a warehouse that cannot be trusted."""
    return StoreError(
        f"{root}/{MANIFEST} {what}; expected it as Plumbline wrote it last. Restore the warehouse "
        f"from a backup, or delete {root} and run again: everything in it is made from the sources."
    )


def _is_inside(entry: FileEntry) -> bool:
    path = PurePosixPath(entry.path)
    return (
        path.parts[:2] == (entry.area, entry.table)
        and ".." not in path.parts
        and str(path) == entry.path
        and re.fullmatch(r"[\w=.+/-]+\.parquet", entry.path, re.ASCII) is not None
    )
