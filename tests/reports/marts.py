"""Published tables of a few made rows, read as the report reads real ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.published import contracts
from warehouse.query import run_query

NOVEMBER = date(2026, 11, 1)
HOUR = 3_600_000_000_000


class Marts:
    """Every published table, empty but for the rows that were put."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contracts = contracts()
        self.files: dict[str, list[str]] = {}

    def put(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Publish rows; columns that they leave out are null."""
        schema = self.contracts[name].schema
        loose = pa.schema([pa.field(f.name, f.type) for f in schema])
        assert {key for row in rows for key in row} <= set(loose.names)
        full = [{key: row.get(key) for key in loose.names} for row in rows]
        path = self.folder / f"{name}.{len(self.files.get(name, []))}.parquet"
        pq.write_table(pa.Table.from_pylist(full, schema=loose), path)
        self.files.setdefault(name, []).append(str(path))

    def put_table(self, name: str, table: pa.Table) -> None:
        """Publish a whole table; columns that it lacks are null."""
        schema = self.contracts[name].schema
        columns = [
            table.column(field.name).cast(field.type) if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in schema
        ]  # fmt: skip
        loose = pa.schema([pa.field(f.name, f.type) for f in schema])
        path = self.folder / f"{name}.parquet"
        pq.write_table(pa.Table.from_arrays(columns, schema=loose), path)
        self.files[name] = [str(path)]

    def query(self, sql: str, *, only: Iterable[str] | None = None) -> pa.Table:
        """Run a SELECT."""
        names = list(self.contracts if only is None else only)
        return run_query(
            {name: self.files.get(name, []) for name in names},
            {name: self.contracts[name].schema for name in names},
            sql,
        )


def bill(marts: Marts, parts: Sequence[Mapping[str, Any]], *, month: date = NOVEMBER) -> None:
    """Publish a bill's tables from its buckets: team, bucket, waste_class, usd and what differs."""
    rows = [
        {
            "month": month, "cause": "own_code", "gpu_ns": HOUR, "evidence_grade": "E2",
            "measured_gpu_ns": HOUR, "measured_share_ratio": 1.0, "share_of_bill_ratio": 0.1,
            **{k: v for k, v in part.items() if k != "usd"},
            "billed_usd": Decimal(part["usd"]), "effective_usd": Decimal(part["usd"]),
        }
        for part in parts
    ]  # fmt: skip
    total = sum((row["effective_usd"] for row in rows), Decimal(0))
    for row in rows:
        row["gpu_hours"] = Decimal(row["gpu_ns"]) / HOUR
        row.setdefault("low_gpu_hours", row["gpu_hours"])
        row.setdefault("high_gpu_hours", row["gpu_hours"])
        row["invoice_effective_usd"] = total
    marts.put("waste_team_month", rows)
    marts.put("class_team_month", _summed(rows, ("month", "team", "waste_class")))
    by_team = _summed(rows, ("month", "team"))
    marts.put("showback_team_month", [
        {
            "month": month, "team": row["team"], "gpu_ns": row["gpu_ns"],
            "billed_usd": row["billed_usd"], "effective_usd": row["effective_usd"],
            "direct_usd": row["billed_usd"], "shared_usd": Decimal(0), "tax_usd": Decimal(0),
            "credit_usd": Decimal(0),
        }
        for row in by_team
    ])  # fmt: skip
    marts.put("invoice_month", [{
        "month": month, "issuer": "Cloud", "invoice_id": "I-1", "charge_category": "Usage",
        "line_count": 1, "billed_usd": total, "allocated_usd": total,
        "difference_usd": Decimal(0), "wrong_lines": 0,
        "billed_gpu_ns": sum(row["gpu_ns"] for row in rows),
        "partitioned_gpu_ns": sum(row["gpu_ns"] for row in rows),
    }])  # fmt: skip


def at(hour: int) -> datetime:
    """A time on the tenth of the month."""
    return datetime(2026, 11, 10, hour, tzinfo=UTC)


def _summed(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[k] for k in keys)
        into = found.setdefault(key, {
            **dict(zip(keys, key, strict=True)), "gpu_ns": 0, "billed_usd": Decimal(0),
            "effective_usd": Decimal(0),
        })  # fmt: skip
        for name in ("gpu_ns", "billed_usd", "effective_usd"):
            into[name] += row[name]
    if "waste_class" not in keys:
        return list(found.values())
    return [{**row, "evidence_grade": "E2", "measured_gpu_ns": row["gpu_ns"]}
            for row in found.values()]  # fmt: skip
