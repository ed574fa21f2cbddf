"""How rows of an older contract version become rows of the next: what an upgrade does to a store.

The sources are read again after a version changed, so this decides only what stands until then, and
for good where a source file is not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from warehouse.contract import TEXT

#: (table, version it migrates from) -> rows of that version to rows of the next one.
Migrations = Mapping[tuple[str, int], Callable[[pa.Table], pa.Table]]


def _with_unknown(name: str, type_: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    """Add a column of nulls: what was not read is not known."""
    return lambda rows: rows.append_column(name, pa.nulls(len(rows), type_))


MIGRATIONS: Migrations = {
    ("trace_kernel", 1): _with_unknown("comms_id", TEXT),
    ("trace_op", 1): _with_unknown("comms_id", TEXT),
}
