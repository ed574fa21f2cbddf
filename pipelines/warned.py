"""Checks that warned when a month was published: kept with the month, shown by every reader."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache

from pipelines.failures import row_text
from reports.warned import Warned
from warehouse import header
from warehouse.engines.duckdb import CheckResult
from warehouse.shipped import MODELS
from warehouse.store import Unit

#: Where a month's unit keeps them, in its meta.
KEY = "warnings"


def kept(results: Iterable[CheckResult]) -> str:
    """The checks that warned, as text for the meta of a month's unit."""
    return json.dumps([
        (found.model, found.check, found.bad_rows, *map(row_text, found.sample[:1]))
        for found in results
    ])  # fmt: skip


def warned(unit: Unit) -> list[Warned]:
    """The checks that warned when a month was published, in building order."""
    # Before samples were kept an entry had three values.
    found = json.loads(str(unit.meta.get(KEY, "[]")))
    return [
        Warned(model, check, rows, such_as[0] if such_as else "", _means(model, check))
        for model, check, rows, *such_as in found
    ]


@cache
def _means(model: str, check: str) -> str:
    """What a check asks for: a check file's purpose, or the condition of a model's row check."""
    for path in (MODELS / "sql").glob(f"*/{model}.sql"):
        lines, _ = header.split(path.read_text(encoding="utf-8"), path)
        is_check = path.parent.name == "checks"
        head = header.parse(lines, path, is_check=is_check)
        if is_check:
            return head.purpose
        for row_check in head.checks:
            if row_check.name == check:
                return f"in each row of {model}: {row_check.expression}"
    return ""
