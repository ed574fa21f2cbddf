"""What a failed month says to the one who has to correct its input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

from warehouse.engines.duckdb import CheckResult

#: Checks and rows of each that are shown: what fails first is nearest to the cause.
MOST_CHECKS = 3
MOST_ROWS = 3
#: Numbers of ns that are told as times, where their column is no length of time.
_FIRST_NS = 946_684_800 * 10**9
_LAST_NS = 4_102_444_800 * 10**9

_TWICE = (
    "The same charge stands in two files of the bill. Remove one of them, or narrow `files` of its "
    "source. They are shown by:",
    '  plumbline sql "select source_file, count(*) as charges from bill_line where line_id in '
    '(select line_id from bill_line group by line_id having count(*) > 1) group by source_file"',
)


def explain(month: date, failed: list[CheckResult]) -> str:
    """The message for the failed blocking checks of a month, given in building order."""
    checks = "1 blocking check" if len(failed) == 1 else f"{len(failed)} blocking checks"
    lines = [
        f"{month:%Y-%m}: {checks} failed; nothing of this month was published and what was "
        "published before stands."
    ]
    for result in failed[:MOST_CHECKS]:
        lines.extend(_check(result))
    if len(failed) > MOST_CHECKS:
        lines.append(f"and {len(failed) - MOST_CHECKS} more that follow from these.")
    lines.append("Correct the source that these rows come from, then run again.")
    return "\n".join(lines)


def row_text(row: Mapping[str, object]) -> str:
    """A row as `key=value, key=value`."""
    return ", ".join(f"{key}={_value(key, value)}" for key, value in row.items())


def _check(result: CheckResult) -> Iterable[str]:
    name = result.model if result.check == result.model else f"{result.model}: {result.check}"
    rows = "1 row" if result.bad_rows == 1 else f"{result.bad_rows:,} rows"
    yield f"- {name}: {rows}{', such as' if result.sample else ''}"
    yield from (f"    {row_text(row)}" for row in result.sample[:MOST_ROWS])
    if (result.model, result.check) == ("stg_bill_line", "unique_key"):
        yield from (f"  {line}" for line in _TWICE)


def _value(key: str, value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value.is_finite() else str(value)
    if isinstance(value, Mapping):
        return f"({row_text(value)})"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(key, item) for item in value)}]"
    if isinstance(value, int) and _is_time(key) and _FIRST_NS <= value < _LAST_NS:
        return f"{value} ({_instant(datetime.fromtimestamp(value // 10**9, UTC))})"
    return str(value)


def _is_time(key: str) -> bool:
    return key.endswith("_ns") and "gpu" not in key


def _instant(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat()
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
