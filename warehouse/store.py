"""The store: Parquet files named by content, and one manifest that says which of them count.

    landing/<table>/[day=2026-11-30/]<unit>-<hash>-<content>.parquet    a unit per source file
    mart/<table>/<unit>/<unit>-<hash>-<content>.parquet                 a unit per month
    manifest.json                                                       which files count

A *unit* is replaced whole, in all its tables. Files are put under names that did not exist before,
so nothing that readers see changes until the manifest is replaced by a rename: the commit. A run
that is killed anywhere leaves the old state or the new one; files that no manifest names are
collected by the next transaction. Equal input gives equal bytes in the whole directory.
See docs/decisions/0001-content-named-files-and-one-manifest.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse import parquet
from warehouse.contracts import LANDING, Batch, Contract
from warehouse.errors import StoreError
from warehouse.manifest import AREAS, FileEntry, Scalar, State, Unit, damaged, decode, encode
from warehouse.memory import use_steady_pool
from warehouse.migrations import MIGRATIONS, Migrations
from warehouse.objects import MANIFEST, Fault, LocalObjects, Objects, no_fault
from warehouse.unit_files import CONTENT_DIGITS, UNIT_DIGITS, sha256_of, write_unit

__all__ = ["FileEntry", "Store", "Transaction", "Unit"]

#: What the store itself wrote; only such files are ever collected.
_OURS = re.compile(rf"-[0-9a-f]{{{UNIT_DIGITS}}}-[0-9a-f]{{{CONTENT_DIGITS}}}\.parquet$")


class Store:
    """A warehouse directory.

    Any number of processes may read, one at a time may hold a transaction. `contracts` are the
    tables that this code knows with their newest versions, `migrations` how rows of an older
    version become rows of the next. `objects` is where the bytes live (default: the directory
    `root`), `fault` is called at each point of `warehouse.objects.FAULT_POINTS`.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        fault: Fault = no_fault,
        contracts: Mapping[str, Contract] = LANDING,
        migrations: Migrations = MIGRATIONS,
        objects: Objects | None = None,
    ) -> None:
        self.objects: Objects = objects or LocalObjects(Path(root), fault=fault)
        self.root = self.objects.uri("").rstrip("/")
        self.contracts = contracts
        self.migrations = migrations
        self._seen: tuple[bytes, State] | None = None

    def files(self, table: str, *, area: str | None = None) -> list[FileEntry]:
        """The files of a table that count now, sorted by path.

        Raises StoreError where the manifest is damaged or names a file that is not there.
        """
        return [
            f for f in self.state().files if f.table == table and (area is None or f.area == area)
        ]

    def tables(self, *, area: str | None = None) -> list[str]:
        """Names of the tables that have files, sorted."""
        return sorted({f.table for f in self.state().files if area is None or f.area == area})

    def path(self, entry: FileEntry) -> str:
        """Where another program opens the file: absolute path or URI.

        Folders such as `month=2026-11` are names, not columns: read with hive partitioning off.
        """
        return self.objects.uri(entry.path)

    def units(self, area: str) -> dict[str, Unit]:
        """The units of an area by key, sorted."""
        units = self.state().units
        return {key: units[a, key] for a, key in sorted(units) if a == area}

    def open(self, entry: FileEntry, *, contract: Contract | None = None) -> pa.Table:
        """The rows of a file, brought to the version of `contract` (default: the store's).

        A table that neither names is given as it stands. Raises StoreError where the file is
        newer than the code, or where no migration leads to the code's version.
        """
        contract = contract or self.contracts.get(entry.table)
        try:
            with self.objects.get(entry.path) as handle, pq.ParquetFile(handle) as file:
                version = (file.metadata.metadata or {}).get(parquet.VERSION_KEY)
                rows = file.read()
        except (OSError, pa.ArrowInvalid) as error:
            raise damaged(self.root, f"names {entry.path}, which cannot be read") from error
        if version != str(entry.version).encode():
            raise damaged(
                self.root, f"says version {entry.version} of {entry.path}, not {version!r}"
            )
        return rows if contract is None else self._migrated(rows, entry, contract)

    def verify(self) -> list[str]:
        """Read every file that counts; the paths of those whose bytes are not what was written."""
        wrong = []
        for entry in self.state().files:
            with self.objects.get(entry.path) as handle:
                if sha256_of(handle) != entry.sha256:
                    wrong.append(entry.path)
        return wrong

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Hold the store for writing; what is not committed in the block did not happen.

        From then on the process's Arrow memory comes from a steadier pool (warehouse.memory).
        Starting and ending it collect files that no manifest names. Raises StoreBusy where
        another process holds it.
        """
        use_steady_pool()
        with self.objects.exclusive():
            self._seen = None  # trust nothing that was read without the lock
            state = self.state()
            if self._manifest() is None:
                # from now on files without a manifest mean that it was lost, not that the store
                # is new: collecting them would delete what cannot be told from data
                self.objects.replace_manifest(encode(state))
            self._collect()
            transaction = Transaction(self, state)
            # A kill is no Exception and leaves everything as it is, as a real one does; the next
            # transaction cleans up.
            try:
                yield transaction
            except Exception:
                transaction.close()
                self._collect()
                raise
            transaction.close()
            self._collect()

    def state(self) -> State:
        """What the manifest says now, checked against the files that are there."""
        while True:
            data = self._manifest()
            if data is not None and self._seen is not None and self._seen[0] == data:
                return self._seen[1]
            present = self._present()
            if data is None:
                if not any(_OURS.search(name) for name in present):
                    return State()
                problem = damaged(self.root, "is missing although the warehouse has files")
            else:
                state = decode(data, self.root)
                absent = [f.path for f in state.files if present.get(f.path) != f.bytes]
                if not absent:
                    self._seen = data, state
                    return state
                problem = damaged(
                    self.root,
                    f"names {absent[0]}, which is absent or has another size "
                    f"({len(absent)} of {len(state.files)} files)",
                )
            # A writer may have committed and collected between our two looks: then the manifest
            # is another one now, and we look again.
            if self._manifest() == data:
                raise problem

    def _manifest(self) -> bytes | None:
        try:
            with self.objects.get(MANIFEST) as handle:
                return handle.read()
        except FileNotFoundError:
            return None

    def _present(self) -> dict[str, int]:
        return {name: size for area in AREAS for name, size in self.objects.list(area).items()}

    def _collect(self) -> None:
        counted = {f.path for f in self.state().files}
        for name in sorted(self._present().keys() - counted):
            if _OURS.search(name):
                self.objects.delete(name)
        self.objects.tidy()

    def _migrated(self, rows: pa.Table, entry: FileEntry, contract: Contract) -> pa.Table:
        if entry.version > contract.version:
            raise StoreError(
                f"{self.root}/{entry.path} has version {entry.version} of table {entry.table}; "
                f"expected at most {contract.version}, which this Plumbline knows. Use the newer "
                "Plumbline that wrote it."
            )
        for version in range(entry.version, contract.version):
            step = self.migrations.get((entry.table, version))
            if step is None:
                raise StoreError(
                    f"{self.root}/{entry.path} has version {entry.version} of table {entry.table}; "
                    f"expected {contract.version}, and nothing leads from {version} to "
                    f"{version + 1}. Delete {self.root} and run again to make it from the sources."
                )
            rows = step(rows)
        return pa.Table.from_batches(
            [parquet.conform(batch, contract) for batch in rows.to_batches()],
            schema=parquet.file_schema(contract),
        )


class Transaction:
    """Changes to a store that become visible together, with `commit`.

    Only `Store.transaction` makes one.
    """

    def __init__(self, store: Store, state: State) -> None:
        self._store = store
        self._units = dict(state.units)
        self._files: dict[tuple[str, str], list[FileEntry]] = {key: [] for key in state.units}
        for entry in state.files:
            self._files[entry.area, entry.unit].append(entry)
        self._there = {entry.path for entry in state.files}
        self._open = True

    def replace(
        self,
        area: str,
        unit_key: str,
        tables: Iterable[Batch],
        *,
        fingerprint: str,
        meta: Mapping[str, Scalar],
        contracts: Mapping[str, Contract],
    ) -> dict[str, int]:
        """Put a unit's rows in place of everything that it had in this area; rows per table.

        Batches may be of several tables, in any order and of any size. Where reading them raises,
        the unit stays as it was and the transaction can go on. Raises StoreError where rows do not
        conform to their contract.
        """
        self._check(area)
        _checked(Unit(area, unit_key, fingerprint, dict(meta)))
        entries = self._write(area, unit_key, tables, contracts)
        return self.adopt(area, unit_key, entries, fingerprint=fingerprint, meta=meta)

    def adopt(
        self,
        area: str,
        unit_key: str,
        entries: list[FileEntry],
        *,
        fingerprint: str,
        meta: Mapping[str, Scalar],
    ) -> dict[str, int]:
        """Take files that `write_unit` put here, in this process or another, as a unit's; rows per
        table."""
        self._check(area)
        self._units[area, unit_key] = _checked(Unit(area, unit_key, fingerprint, dict(meta)))
        self._files[area, unit_key] = entries
        self._there.update(entry.path for entry in entries)
        counts: dict[str, int] = {}
        for entry in entries:
            counts[entry.table] = counts.get(entry.table, 0) + entry.rows
        return counts

    def remove(self, area: str, unit_key: str) -> None:
        """Drop a unit with all its rows; one that is not there is no error."""
        self._check(area)
        self._units.pop((area, unit_key), None)
        self._files.pop((area, unit_key), None)

    def migrate(self, area: str, contracts: Mapping[str, Contract]) -> int:
        """Rewrite the files of an area that have an older version of a contract; how many.

        Engines bind files as they are, so this comes before them after an upgrade. Raises
        StoreError where no migration leads to the contract's version, or a file is newer.
        """
        self._check(area)
        count = 0
        for (unit_area, key), entries in self._files.items():
            outdated = [
                e for e in entries if e.table in contracts
                and e.version != contracts[e.table].version
            ]  # fmt: skip
            if unit_area == area and outdated:
                fresh = self._write(area, key, self._read(outdated, contracts), contracts)
                kept = [e for e in entries if e not in outdated]
                self._files[area, key] = kept + fresh
                count += len(outdated)
        return count

    def commit(self) -> bool:
        """Make everything so far visible; False where it is what was published already.

        The block may go on and commit again. Files that no longer count go when it ends, so that
        what depends on the manifest, such as the catalog, can be renewed before.
        """
        self._check_open()
        files = sorted((f for group in self._files.values() for f in group), key=lambda f: f.path)
        data = encode(State(tuple(files), self._units))
        if data == self._store._manifest():
            return False
        self._store.objects.replace_manifest(data)
        return True

    def close(self) -> None:
        """End it: no more changes."""
        self._open = False

    def _read(
        self, entries: Iterable[FileEntry], contracts: Mapping[str, Contract]
    ) -> Iterator[Batch]:
        for entry in entries:
            rows = self._store.open(entry, contract=contracts[entry.table])
            for batch in rows.to_batches():
                yield Batch(entry.table, batch)

    def _write(
        self, area: str, key: str, tables: Iterable[Batch], contracts: Mapping[str, Contract]
    ) -> list[FileEntry]:
        entries = write_unit(
            self._store.objects, area, key, tables, contracts, there=self._there
        )  # fmt: skip
        self._there.update(entry.path for entry in entries)
        return entries

    def _check(self, area: str) -> None:
        self._check_open()
        if area not in AREAS:
            raise StoreError(f"area {area!r}; expected one of {', '.join(AREAS)}.")

    def _check_open(self) -> None:
        if not self._open:
            raise StoreError("the transaction has ended; expected changes inside its block only.")


def _checked(unit: Unit) -> Unit:
    """The unit, if the manifest would give it back: no commit may write what it cannot read."""
    try:
        same = decode(encode(State((), {(unit.area, unit.key): unit})), "").units
    except (StoreError, ValueError, TypeError) as error:
        same, reason = {}, str(error)
    else:
        reason = "a value changed"
    if same != {(unit.area, unit.key): unit}:
        raise StoreError(
            f"unit {unit.key!r} cannot be written to the manifest ({reason}); expected a key and "
            "a fingerprint of valid Unicode, and meta of text, numbers, booleans and None."
        )
    return unit
