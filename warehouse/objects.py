"""Where the store's bytes live: a small seam, and the local directory behind it.

A file becomes visible in steps that are each safe to be killed at: it is *staged* on the same
filesystem, flushed to the disk (fsync), renamed to its final name, and its directory is flushed.
Final names are content names, so a name never changes its bytes; only the manifest is replaced, and
that one rename is the commit. Each step calls `fault` with the name of the point that it has
reached, which lets tests stop a run everywhere.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from warehouse.errors import ConfigError, StoreBusy, StoreError

MANIFEST = "manifest.json"
LOCK = ".lock"
STAGING = ".staging"

#: The points at which a fault can be injected, in the order in which one file passes them; the
#: manifest passes all of them, the others stand between its `before_manifest` and `after_manifest`.
FAULT_POINTS = (
    "before_manifest",
    "before_stage",
    "after_stage",
    "before_fsync",
    "after_fsync",
    "before_rename",
    "after_rename",
    "after_manifest",
)

#: Called with the name of each fault point as it is passed.
Fault = Callable[[str], None]

#: The environment variable that stops a process at a fault point: `before_rename:3`.
FAULT_VARIABLE = "PLUMBLINE_FAULT"


def no_fault(point: str) -> None:
    """Pass every point."""


def fault_from_env(environ: Mapping[str, str] | None = None) -> Fault:
    """The fault that PLUMBLINE_FAULT asks for, `POINT:PASS`, such as `before_rename:3`.

    At that pass (from 1) the process ends at once with status 137, as if it were killed: nothing is
    flushed and no handler runs. Without the variable every point is passed. Raises ConfigError
    where the value is malformed.
    """
    text = (os.environ if environ is None else environ).get(FAULT_VARIABLE, "")
    if not text:
        return no_fault
    wanted, _, number = text.partition(":")
    if wanted not in FAULT_POINTS or not re.fullmatch("[1-9][0-9]*", number):
        raise ConfigError(
            f"{FAULT_VARIABLE}={text!r}: expected POINT:PASS, such as before_rename:3, with a "
            f"POINT of {', '.join(FAULT_POINTS)}. Unset it for an ordinary run."
        )
    left = int(number)

    def fault(point: str) -> None:
        nonlocal left
        if point == wanted:
            left -= 1
            if left == 0:
                os._exit(137)

    return fault


class Objects(Protocol):
    """Named immutable files and one replaceable manifest.

    Names are relative and use `/`. An object store puts a staged file with one PUT and replaces the
    manifest with one conditional PUT; nothing here asks for more than that.
    """

    def uri(self, name: str) -> str:
        """Where another program opens the file: an absolute path or an URI."""
        ...

    def stage(self, write: Callable[[Path], None]) -> Path:
        """Let `write` make a local file that `put` can take; nobody else sees it."""
        ...

    def scratch(self, name: str) -> Path:
        """A local path for intermediate data; `tidy` removes what is left of it."""
        ...

    def put(self, name: str, staged: Path) -> None:
        """Make a staged file visible under its name: wholly, durably, or not at all."""
        ...

    def get(self, name: str) -> BinaryIO:
        """Open a file for reading, seekable. Raises FileNotFoundError."""
        ...

    def delete(self, name: str) -> None:
        """Remove a file; one that is gone already is no error."""
        ...

    def list(self, prefix: str) -> dict[str, int]:
        """Bytes of each file whose name starts with the folder `prefix`, by name."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other processes may put files beside this one, with a copy of this object."""
        ...

    def replace_manifest(self, data: bytes) -> None:
        """Replace the manifest: the commit point."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the store for writing. Raises StoreBusy, naming the holder, where it is held."""
        ...

    def tidy(self) -> None:
        """Remove what a killed run may have left that is no file of the store."""
        ...


class LocalObjects:
    """A directory on one filesystem.

    The filesystem must rename atomically and honour fsync and flock, as ext4, xfs and NFSv4 do.
    """

    def __init__(self, root: Path, *, fault: Fault = no_fault) -> None:
        # resolve() once: the catalog's readers have other working directories
        self.root = root.resolve()
        self._fault = fault
        self._staged = 0

    def uri(self, name: str) -> str:
        """The absolute path."""
        return str(self.root / name)

    def stage(self, write: Callable[[Path], None]) -> Path:
        """Let `write` make a file in `.staging/`."""
        self._fault("before_stage")
        self._staged += 1
        path = self.scratch(f"{self._staged:06d}")
        with _explained(self.root, "stage a file"):
            write(path)
        self._fault("after_stage")
        return path

    def scratch(self, name: str) -> Path:
        """A path in `.staging/`, in a folder of this process; `name` may have folders."""
        path = self.root / STAGING / str(os.getpid()) / name
        with _explained(self.root, "stage a file"):
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def put(self, name: str, staged: Path) -> None:
        """fsync, rename, fsync the directory."""
        target = self.root / name
        with _explained(self.root, f"publish {name}"):
            _make_folder(target.parent)
            self._fault("before_fsync")
            _fsync(staged)
            self._fault("after_fsync")
            self._fault("before_rename")
            staged.replace(target)
            self._fault("after_rename")
            _fsync(target.parent)

    def get(self, name: str) -> BinaryIO:
        """Open for reading."""
        try:
            return (self.root / name).open("rb")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"{self.root / name}: cannot be read: {error.strerror}. Check that {self.root} is "
                "a directory that this user may read."
            ) from error

    def delete(self, name: str) -> None:
        """Unlink. Not flushed: a file that comes back after a crash is collected again."""
        with _explained(self.root, f"delete {name}"):
            (self.root / name).unlink(missing_ok=True)

    @property
    def is_shared(self) -> bool:
        """All but one whose faults are injected: they count passes in one process."""
        return self._fault is no_fault

    def list(self, prefix: str) -> dict[str, int]:
        """Walk the folder."""
        found: dict[str, int] = {}
        folders = [prefix]
        while folders:
            folder = folders.pop()
            with suppress(FileNotFoundError), os.scandir(self.root / folder) as children:
                for child in children:
                    name = f"{folder}/{child.name}"
                    if child.is_dir(follow_symlinks=False):
                        folders.append(name)
                    else:
                        # a file may go while a reader walks: the writer has collected it
                        with suppress(FileNotFoundError):
                            found[name] = child.stat().st_size
        return found

    def replace_manifest(self, data: bytes) -> None:
        """Stage the bytes and rename them over the manifest."""
        self._fault("before_manifest")

        def write(path: Path) -> None:
            path.write_bytes(data)

        self.put(MANIFEST, self.stage(write))
        self._fault("after_manifest")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """flock on `.lock`, which the system frees when the process dies, however it dies."""
        with _explained(self.root, "lock the warehouse"):
            _make_folder(self.root)
            handle = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pid = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
                holder = f"process {pid}" if pid else "another process"
                raise StoreBusy(
                    f"{self.root}: {holder} is writing to this warehouse; expected one writer at a "
                    "time. Wait until it has ended, then run again."
                ) from None
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
            try:
                yield
            finally:
                # empty again, so that equal input leaves equal bytes in the whole directory
                os.ftruncate(handle, 0)
        finally:
            os.close(handle)

    def tidy(self) -> None:
        """Remove `.staging/`, and folders without files."""
        with _explained(self.root, "clean up"):
            if (self.root / STAGING).exists():
                shutil.rmtree(self.root / STAGING)
            for area in ("landing", "mart"):
                for folder, _, _ in os.walk(self.root / area, topdown=False):
                    with suppress(OSError):  # not empty: somebody's files
                        Path(folder).rmdir()


@contextmanager
def _explained(root: Path, doing: str) -> Iterator[None]:
    """Say what the operating system refused, in our words."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{root}: cannot {doing}: {error.strerror or error}. What was published before stands. "
            "Check free space and permissions of the directory, then run again."
        ) from error


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents so that they survive a power loss: flush each one's parent."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for new in reversed(missing):
        new.mkdir(exist_ok=True)
        _fsync(new.parent)
