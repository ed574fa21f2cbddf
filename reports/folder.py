"""A folder of files that appears whole: written beside its place, then renamed."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from warehouse.errors import ConfigError

#: What a folder of ours holds at its top; anything else is not ours to replace.
_OURS = re.compile(r"index\.html|summary\.txt|teams|csv|plumbline-\d{4}-\d{2}\.xlsx")


def is_uri(out: str) -> bool:
    """True for a place that names an object store instead of a folder."""
    return "://" in out


class Target(Protocol):
    """Where the files of a report go."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file at a path below the report, with `/` between its parts."""
        ...


class Folder:
    """A target in a folder, for as long as that is being filled."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, path: str, data: bytes) -> None:
        """Write a file."""
        place = self._root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


@contextmanager
def folder(out: Path) -> Iterator[Target]:
    """A target whose files are at `out` when the block ends, and not there at all if it fails.

    A report that is there is replaced. Raises ConfigError where something else is.
    """
    out = out.resolve()
    _refuse(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as work:
        fresh = Path(work) / "new"
        fresh.mkdir()
        yield Folder(fresh)
        if out.exists():
            # Between these two renames there is no report; a reader then finds nothing, not half.
            out.rename(Path(work) / "old")
        fresh.rename(out)
        _sync(out.parent)


def _refuse(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"{out} is no folder. Give --out another name.")
    if not out.exists():
        return
    refuse_others(str(out), (path.name for path in out.iterdir()))


def refuse_others(out: str, names: Iterable[str]) -> None:
    """Raise ConfigError where a place holds, at its top, what is not of a report."""
    other = sorted(name for name in names if not _OURS.fullmatch(name))
    if other:
        raise ConfigError(
            f"{out} holds {other[0]!r}, which is not of a report, and a report replaces its whole "
            "folder. Give --out an empty or a new folder."
        )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
