"""Writing the rows of one unit as files of a store, under names that say their content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping
from typing import BinaryIO

from warehouse import parquet
from warehouse.contracts import Batch, Contract
from warehouse.errors import StoreError
from warehouse.manifest import FileEntry
from warehouse.objects import Objects
from warehouse.spool import Part, Spool

#: Digits of hashes in file names: of the unit's key, and of the file's bytes.
UNIT_DIGITS, CONTENT_DIGITS = 12, 16


def write_unit(
    objects: Objects,
    area: str,
    key: str,
    tables: Iterable[Batch],
    contracts: Mapping[str, Contract],
    *,
    there: Container[str] = (),
) -> list[FileEntry]:
    """Put a unit's rows into the store; they count when a manifest names what is returned.

    Batches may be of several tables, in any order and of any size; files that are `there` are not
    put again. Raises StoreError where rows do not conform to their contract.
    """
    spool = Spool(objects.scratch)
    try:
        for batch in tables:
            contract = contracts.get(batch.table)
            if contract is None or contract.name != batch.table or not _is_name(batch.table):
                raise StoreError(
                    f"unit {key!r}: rows of table {batch.table!r}; expected a table that has a "
                    "contract, with a name of a-z, 0-9 and _. Mend what makes these rows."
                )
            spool.add(batch.rows, contract)
        return [_file(objects, area, key, part, there) for part in spool.drain()]
    finally:
        spool.close()


def _file(objects: Objects, area: str, key: str, part: Part, there: Container[str]) -> FileEntry:
    contract, partition = part.contract, part.partition
    staged = objects.stage(lambda path: parquet.write(path, part.groups(), contract))
    with staged.open("rb") as handle:
        digest = sha256_of(handle)
    folder = [area, contract.name, *([slug(key)] if area == "mart" else [])]
    unit = hashlib.sha256(key.encode()).hexdigest()[:UNIT_DIGITS]
    name = f"{slug(key)}-{unit}-{digest[:CONTENT_DIGITS]}.parquet"
    low, high = part.span_ns
    entry = FileEntry(
        path="/".join([*folder, *([partition] if partition else []), name]),
        area=area, table=contract.name, unit=key, partition=partition, rows=part.row_count,
        bytes=staged.stat().st_size, sha256=digest, min_ns=low, max_ns=high,
        version=contract.version,
    )  # fmt: skip
    if entry.path in there:
        staged.unlink()
    else:
        objects.put(entry.path, staged)
    return entry


def slug(key: str) -> str:
    """The part of a name that people read: harmless in paths, URIs and globs, 48 characters."""
    return re.sub(r"[^A-Za-z0-9=_.+-]+", "_", key, flags=re.ASCII)[-48:].lstrip(".") or "_"


def sha256_of(handle: BinaryIO) -> str:
    """SHA-256 of what is left of a file, in hex."""
    digest = hashlib.sha256()
    while block := handle.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _is_name(table: str) -> bool:
    return re.fullmatch(r"[a-z][a-z0-9_]*", table) is not None
