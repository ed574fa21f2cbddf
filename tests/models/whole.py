"""Build the whole graph on a handful of landing rows, as a run does, and read what comes out."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from warehouse.contracts import LANDING
from warehouse.engines.duckdb import CheckResult, DuckEngine
from warehouse.models import Graph
from warehouse.run_tables import run_hour, run_setting
from warehouse.shipped import graph, seeds

Landing = Mapping[str, Sequence[Mapping[str, Any]] | pa.Table]


@cache
def shipped() -> Graph:
    """The graph, loaded once."""
    return graph()


class Whole:
    """A built graph: rows of any model or mart, and the results of all checks."""

    def __init__(self, engine: DuckEngine, checks: list[CheckResult]) -> None:
        self._engine, self.checks = engine, checks

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Rows of a query over models and inputs."""
        found: list[dict[str, Any]] = self._engine.rows(sql).to_pylist()
        return found

    def failed(self) -> list[str]:
        """Blocking checks that failed, with their first rows."""
        return [
            f"{c.model}.{c.check}: {c.bad_rows} rows, {c.sample[:2]}"
            for c in self.checks
            if not c.passed and c.level == "blocking"
        ]

    def strict_ns(self) -> int:
        """GPU-time of class strict, over all months."""
        return int(self.rows(
            "select coalesce(sum(gpu_ns), 0) as ns from gpu_hour_state where waste_class = 'strict'"
        )[0]["ns"])  # fmt: skip

    def buckets(self) -> dict[str, int]:
        """GPU-time by bucket."""
        rows = self.rows("select bucket, sum(gpu_ns) as ns from gpu_hour_state group by bucket")
        return {row["bucket"]: int(row["ns"]) for row in rows}


@contextmanager
def whole(
    landing: Landing, window: tuple[int, int], **settings: int | str | Decimal | None
) -> Iterator[Whole]:
    """Bind landing rows, build every model, run every check."""
    models = shipped()
    with (
        tempfile.TemporaryDirectory() as folder,
        DuckEngine(Path(folder), memory_limit="1GB", threads=1) as engine,
    ):
        for name, contract in LANDING.items():
            engine.bind_arrow(name, _table(name, landing.get(name, ()), contract.schema))
        for name, path in seeds().items():
            engine.bind_seed(name, path)
        engine.bind_arrow("run_setting", run_setting(*window, **settings))
        engine.bind_arrow("run_hour", run_hour(*window))
        checks = []
        for name in models.order:
            engine.build(models.models[name])
            checks.extend(engine.check(models.models[name]))
        yield Whole(engine, checks)


def _table(name: str, rows: Sequence[Mapping[str, Any]] | pa.Table, schema: pa.Schema) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    unknown = {column for row in rows for column in row} - set(schema.names)
    if unknown:
        raise KeyError(f"{name} has no column {sorted(unknown)}")
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def digest(rows: Sequence[Mapping[str, Any]]) -> str:
    """A hash of rows, to compare whole tables."""
    return hashlib.sha256(repr([sorted(r.items()) for r in rows]).encode()).hexdigest()
