"""A report below a prefix of an object store: s3://, gs://, abfs:// and what else pyarrow reaches.

An object store renames nothing. So the report is whole on disk before anything is sent, pages and
files go first and `index.html` last, and what the report before had more goes after that: until
then the old index stands, and what it links to exists.

Credentials come by the SDK's own chain (environment, profile, instance role) and never in the URI.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pyarrow import fs

from reports.folder import Folder, Target, refuse_others
from warehouse.errors import ConfigError, StoreError

_TYPES = {
    ".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}  # fmt: skip
_INDEX = "index.html"
#: Options of a URI whose values nobody may read in a log.
_SECRET = re.compile(r"secret|password|token|key|signature|\bsig\b", re.IGNORECASE)
#: Files that are sent at once: each waits for the network, not for us.
_AT_ONCE = 8


@contextmanager
def bucket(uri: str) -> Iterator[Target]:
    """A target whose files are below `uri` when the block ends, as they were before if it fails.

    A report that is there is replaced. Raises ConfigError where something else is or credentials
    stand in the URI, StoreError where the store cannot be reached or refuses.
    """
    shown = safe(uri)
    if shown != uri:
        raise ConfigError(
            f"{shown}: a URI holds no credentials here, since it would be logged. Give them by the "
            "environment, a profile or a role, as the SDK of the store says."
        )
    system, root = _open(uri)
    before = _files(system, root, uri)
    refuse_others(uri, {PurePosixPath(path).parts[0] for path in before})
    with tempfile.TemporaryDirectory(prefix="plumbline-report-") as work:
        local = Path(work)
        yield Folder(local)
        fresh = sorted(p.relative_to(local).as_posix() for p in local.rglob("*") if p.is_file())
        try:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                sent = [
                    pool.submit(_send, system, f"{root}/{path}", local / path)
                    for path in fresh if path != _INDEX
                ]  # fmt: skip
                for each in sent:
                    each.result()
            if _INDEX in fresh:
                _send(system, f"{root}/{_INDEX}", local / _INDEX)
            for path in sorted(before - set(fresh)):
                system.delete_file(f"{root}/{path}")
        except OSError as error:
            raise _refused(uri, "cannot be written", error) from error


def safe(uri: str) -> str:
    """The URI without user, password and options that are secrets, for messages."""
    parts = urlsplit(uri)
    options = [pair for pair in parts.query.split("&") if not _SECRET.search(pair.split("=")[0])]
    uri = uri.replace(parts.netloc, parts.netloc.rpartition("@")[2], 1)
    place, mark, _ = uri.partition("?")
    return f"{place}{mark}{'&'.join(options)}" if options else place


def _open(uri: str) -> tuple[fs.FileSystem, str]:
    try:
        system, root = fs.FileSystem.from_uri(uri)
    except (OSError, ValueError, NotImplementedError) as error:
        raise _refused(uri, "cannot be opened", error) from error
    root = str(root).strip("/")
    if not root:
        raise StoreError(f"{safe(uri)} names no bucket; expected SCHEME://BUCKET/PREFIX.")
    return system, root


def _files(system: fs.FileSystem, root: str, uri: str) -> set[str]:
    """Paths of the files below the root, relative to it."""
    try:
        found = system.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    except OSError as error:
        raise _refused(uri, "cannot be read", error) from error
    return {info.path.removeprefix(f"{root}/") for info in found if info.type == fs.FileType.File}


def _send(system: fs.FileSystem, path: str, local: Path) -> None:
    kind = _TYPES.get(local.suffix, "application/octet-stream")
    with system.open_output_stream(path, metadata={"Content-Type": kind}) as out:
        out.write(local.read_bytes())


def _refused(uri: str, what: str, error: Exception) -> StoreError:
    return StoreError(
        f"{safe(uri)}: {what}: {str(error).splitlines()[0]}. Check that the bucket exists and that "
        "your credentials may list, write and delete there."
    )
