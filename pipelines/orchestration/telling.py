"""How a run's messages and errors reach the scheduler's log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

from warehouse.errors import PlumblineError

#: Ops that write to the warehouse are in this pool: dagster.yaml lets one of them run at a time.
POOL = "duckdb"


def once_a_month(say: Callable[[str], None]) -> Callable[[str], None]:
    """A Progress that says once that a month is built, not each of its models.

    Every line is a record in the scheduler's database.
    """
    said = ""

    def progress(message: str) -> None:
        nonlocal said
        month, model, _ = message.partition(": model ")
        line = f"build {month}" if model else message
        if line != said:
            said = line
            say(line)

    return progress


@contextmanager
def as_failure() -> Iterator[None]:
    """Show an error on purpose as its message alone, and do not try the step again."""
    try:
        yield
    except PlumblineError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
