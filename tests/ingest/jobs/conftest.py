"""Running a reader on a text or a file, and rows of sacct to run it on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from warehouse.contracts import LANDING, Batch, SourceFile

Read = Callable[[SourceFile], Iterator[Batch]]
Tables = dict[str, list[dict[str, Any]]]
COLUMNS = (
    "JobIDRaw", "JobID", "Cluster", "User", "Account", "Partition", "QOS", "State", "ExitCode",
    "Submit", "Start", "End", "ElapsedRaw", "Suspended", "AllocTRES", "NodeList", "JobName",
)  # fmt: skip
#: An ordinary job; times are seconds of 2023-11-14, 22:13 UTC.
JOB = {
    "JobIDRaw": "7", "JobID": "7", "Cluster": "main", "User": "ann", "Account": "lab",
    "Partition": "gpu", "QOS": "normal", "State": "COMPLETED", "ExitCode": "0:0",
    "Submit": "1700000000", "Start": "1700000010", "End": "1700000110", "ElapsedRaw": "100",
    "Suspended": "00:00:00", "AllocTRES": "cpu=1,gres/gpu:h100=2,gres/gpu=2,mem=1G,node=1",
    "NodeList": "n1", "JobName": "train",
}  # fmt: skip


@pytest.fixture
def read_bytes(tmp_path: Path) -> Callable[..., Tables]:
    """Read one file with these bytes; rows by table, checked against the contracts' schemas."""

    def run(
        read: Read, data: bytes, *, cluster: str | None = "main",
        covers: tuple[int, int] | None = None, name: str = "export.txt", **options: object,
    ) -> Tables:  # fmt: skip
        path = tmp_path / name
        path.write_bytes(data)
        file = SourceFile(str(path), name, "slurm", cluster, covers, dict(options))
        tables: Tables = defaultdict(list)
        for batch in read(file):
            assert batch.rows.schema == LANDING[batch.table].schema
            batch.rows.validate(full=True)
            tables[batch.table] += batch.rows.to_pylist()
        for table, rows in tables.items():
            keys = [tuple(str(row[k]) for k in LANDING[table].key) for row in rows]
            assert len(set(keys)) == len(keys), f"{table}: a key stands twice"
        return tables

    return run


def sacct_text(
    *rows: dict[str, str], columns: tuple[str, ...] = COLUMNS, delimiter: str = "|"
) -> bytes:
    """sacct output of rows that differ from JOB in these columns."""
    lines = [columns, *([{**JOB, **row}[name] for name in columns] for row in rows)]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


@pytest.fixture
def sacct_rows() -> Callable[..., bytes]:
    """The function sacct_text (tests have no package to import it from)."""
    return sacct_text
