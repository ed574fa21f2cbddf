"""What may be told of a run while it goes on: the seam between the one code path and its callers.

`plumbline run` prints; the scheduler keeps what it is told as the record of its assets and checks.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Protocol

from warehouse.engines.duckdb import CheckResult, DuckEngine
from warehouse.models import Model
from warehouse.store import Unit

#: Called with a short line of what goes on.
Progress = Callable[[str], None]


class Observer(Protocol):
    """Told of each month in turn. What a method raises ends the run; the month is not published."""

    def built(self, month: date, model: Model, engine: DuckEngine) -> None:
        """A model (no check) was built; the engine still holds it."""
        ...

    def checked(self, month: date, result: CheckResult) -> None:
        """A check was run, whether it passed or not."""
        ...

    def published(self, month: date, unit: Unit) -> None:
        """The month's marts are what readers see now."""
        ...

    def unchanged(self, month: date, unit: Unit) -> None:
        """Nothing that the month is made from has changed, so neither has the month."""
        ...


class Silent:
    """An Observer that wants to know nothing."""

    def built(self, month: date, model: Model, engine: DuckEngine) -> None:
        """Nothing."""

    def checked(self, month: date, result: CheckResult) -> None:
        """Nothing."""

    def published(self, month: date, unit: Unit) -> None:
        """Nothing."""

    def unchanged(self, month: date, unit: Unit) -> None:
        """Nothing."""


SILENT = Silent()
