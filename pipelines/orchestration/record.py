"""What a run did, as the scheduler keeps it: an observer of the one code path, and its metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

import dagster as dg

from pipelines.months import next_month, unit_key
from pipelines.orchestration import checks, describe
from pipelines.warned import warned
from warehouse.engines.duckdb import CheckResult, DuckEngine
from warehouse.models import Graph, Model
from warehouse.store import Store, Unit


@dataclass
class Record:
    """An Observer that keeps row counts by model and month, check results, and units."""

    rows: dict[str, dict[date, int]] = field(default_factory=dict)
    results: list[tuple[date, CheckResult]] = field(default_factory=list)
    units: dict[date, Unit] = field(default_factory=dict)
    same: dict[date, Unit] = field(default_factory=dict)

    def built(self, month: date, model: Model, engine: DuckEngine) -> None:
        """Count the rows while the engine holds them."""
        self.rows.setdefault(model.name, {})[month] = engine.count(model)

    def checked(self, month: date, result: CheckResult) -> None:
        """Keep the result."""
        self.results.append((month, result))

    def published(self, month: date, unit: Unit) -> None:
        """Keep the unit that readers see."""
        self.units[month] = unit

    def unchanged(self, month: date, unit: Unit) -> None:
        """Keep the unit, and that it was there before."""
        self.units[month] = self.same[month] = unit

    @property
    def months(self) -> list[date]:
        """The months that are published as this run would build them."""
        return sorted(self.units)

    def check_results(self, models: Graph) -> Iterator[dg.AssetCheckResult]:
        """The results of all checks of the months that were looked at."""
        remembered = [
            (month, result)
            for month, unit in self.same.items()
            for result in _remembered(models, unit)
        ]
        yield from checks.results(models, self.results, remembered)

    def metadata(self, model: Model, store: Store, month: date) -> describe.Metadata:
        """The metadata of a model's materialisation of one month."""
        found: describe.Metadata = {
            "state": self._state(month),
            "window": f"{month} to {next_month(month)}, exclusive, UTC",
            "sql_hash": describe.sql_hash(model),
        }
        if model.layer in ("marts", "reports"):
            unit = unit_key(month)
            files = [e for e in store.files(model.name, area="mart") if e.unit == unit]
            found["dagster/row_count"] = sum(entry.rows for entry in files)
            found["bytes"] = sum(entry.bytes for entry in files)
            found["files"] = len(files)
            if len(files) == 1:
                found["path"] = dg.MetadataValue.path(store.path(files[0]))
        elif month in self.rows.get(model.name, {}):
            # A build looks beyond its month, so these rows may be of the months around it too.
            found["dagster/row_count"] = self.rows[model.name][month]
        return found

    def _state(self, month: date) -> str:
        if month not in self.units:
            return "no bill line touches this month"
        if month in self.same:
            return "unchanged: what it was published from is the same"
        return "built and published"


def _remembered(models: Graph, unit: Unit) -> Iterator[CheckResult]:
    """The results that a month was published with: blocking checks passed, else it would not be."""
    bad = {(found.model, found.check): found.rows for found in warned(unit)}
    for name in models.order:
        model = models.models[name]
        if model.layer == "checks":
            named = [(name, model.level or "")]
        else:
            named = [(checks.UNIQUE, "blocking"), *((c.name, c.level) for c in model.checks)]
        for check, level in named:
            rows = bad.get((name, check), 0)
            yield CheckResult(name, check, level, rows == 0, rows, [])
