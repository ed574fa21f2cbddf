"""Which GPU (or MIG slice) was where, and paid by which resource, as CSV -> gpu_inventory.

Header: the contract's column names. One row per time in which a GPU was the same thing in the same
place: a new machine under an old host name, or another MIG layout, is a new row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ingest.columns import BadRow, Row, interval, overlaps, rows, text
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, Rejects, Rows
from warehouse.contracts import Batch, SourceFile

KIND = "gpu_inventory"

EXPORT = """\
A CSV that you keep, a row per GPU and time (slice_id, pci_bus_id, gpu_model, mig_profile may lack):
  gpu_uuid,slice_id,resource_id,cluster,node,gpu_index,pci_bus_id,gpu_model,mig_profile,start,end
Each node prints its GPUs, once after each boot:
  nvidia-smi --query-gpu=uuid,index,pci.bus_id,name --format=csv,noheader
resource_id is the bill's ResourceId: on AWS the instance id, on the node itself
  curl -s http://169.254.169.254/latest/meta-data/instance-id
start and end with a zone (2026-11-30T21:30:00Z); an empty end is still there.
"""

#: It has no options of its own.
OPTIONS: dict[str, str] = {}

_REQUIRED = ("gpu_uuid", "resource_id", "node", "gpu_index", "start", "end")
_OPTIONAL = ("slice_id", "pci_bus_id", "gpu_model", "mig_profile")
_Interval = tuple[datetime, datetime | None]
_Place = tuple[str | None, str, int]


def read(file: SourceFile) -> Iterator[Batch]:
    """Read an inventory.

    A row whose GPU or slice is said to be elsewhere at the same time, or whose place holds another
    GPU then, is a reject: the earlier row stands. An empty cluster is the source's. Raises
    SourceError where a column is missing.
    """
    required = _REQUIRED if file.cluster else (*_REQUIRED, "cluster")
    inventory, rejects = Rows("gpu_inventory", file), Rejects(file, KIND)
    held: dict[tuple[str, str | None], list[_Interval]] = defaultdict(list)
    placed: dict[_Place, list[tuple[_Interval, str]]] = defaultdict(list)
    read_options(file)
    for row in rows(file, required, what="a GPU inventory"):
        try:
            inventory.add(**_values(row, file, held, placed), source_row=row.line)
        except BadRow as error:
            rejects.put(f"line {row.line}", str(error), row.raw)
        yield from inventory.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
    yield from inventory.flush()
    yield from rejects.flush()


def read_options(file: SourceFile) -> None:
    """ConfigError where the source has an option."""
    check_options(file, OPTIONS)


def _values(
    row: Row, file: SourceFile, held: dict[tuple[str, str | None], list[_Interval]],
    placed: dict[_Place, list[tuple[_Interval, str]]],
) -> dict[str, Any]:  # fmt: skip
    """A row's columns; BadRow where it cannot be read or contradicts an earlier row."""
    if row.fault:
        raise BadRow(row.fault)
    gpu_uuid, span = text(row, "gpu_uuid"), interval(row, "start", "end")
    cluster, node, index = row.cells.get("cluster") or file.cluster, row.cells["node"], _index(row)
    key = gpu_uuid, row.cells.get("slice_id")
    if any(overlaps(span, other) for other in held[key]):
        raise BadRow(f"{gpu_uuid} has an earlier row for a part of this time; expected one place")
    if node is not None and index is not None:
        place = cluster, node, index
        for other, uuid in placed[place]:
            if uuid != gpu_uuid and overlaps(span, other):
                raise BadRow(f"index {index} of {node} is {uuid} for a part of this time")
        placed[place].append((span, gpu_uuid))
    held[key].append(span)
    return {
        "gpu_uuid": gpu_uuid, "resource_id": row.cells["resource_id"], "cluster": cluster,
        "node": node, "gpu_index": index, "start": span[0], "end": span[1],
        **{name: row.cells.get(name) for name in _OPTIONAL},
    }  # fmt: skip


def _index(row: Row) -> int | None:
    value = row.cells["gpu_index"]
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 6:
        raise BadRow(f"gpu_index is {value!r}; expected a whole number of 0 or more")
    return int(value)
