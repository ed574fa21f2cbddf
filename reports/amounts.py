"""Numbers as pages show them: their unit, their places, and exact sums under a total."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from reports.rounding import rounded, shown

#: Below it a bill is shown to a hundredth of a cent: cents would hide all its parts.
SMALL_BILL_USD = 100
#: Below it GPU-hours are shown to a ten-thousandth, 0.36 s.
SMALL_HOURS = 1000
HOUR_NS = 3_600_000_000_000
SECOND_NS = 1_000_000_000
MISSING = "–"


def dollar_places(total_usd: Decimal) -> int:
    """Decimal places in which dollars under this total are shown."""
    return 2 if abs(total_usd) >= SMALL_BILL_USD else 4


def hour_places(total_ns: Decimal) -> int:
    """Decimal places in which GPU-hours under this total are shown."""
    return 1 if abs(total_ns) >= SMALL_HOURS * HOUR_NS else 4


def under(
    values: Sequence[Decimal | int | None], places: int, total: Decimal | None = None
) -> list[Decimal | None]:
    """The values cut so that they add up to their total (none given: their rounded sum).

    A value that is missing stays missing and counts as nothing.
    """
    known = [Decimal(0) if value is None else Decimal(value) for value in values]
    cells = shown(known, places=places, total=total)
    return [None if v is None else cell for v, cell in zip(values, cells, strict=True)]


def amount(value: Decimal | None) -> str:
    """A number as it is (cut it first), with thousands apart."""
    return MISSING if value is None else f"{value:,}"


def exact(value: Decimal) -> str:
    """A difference to its last digit: 0 where it is nothing."""
    return "0" if value == 0 else f"{value.normalize():f}"


def percent(value: float | Decimal | None) -> str:
    """A ratio in percent: one decimal, two below one percent, where they tell most."""
    if value is None:
        return MISSING
    share = float(value) * 100
    if share == 0:
        return "0"
    return f"{share:.2f}" if abs(share) < 1 else f"{share:.1f}"


def factor(value: float | None) -> str:
    """A ratio that may be above 1."""
    return MISSING if value is None else f"{value:,.2f}"


def count(value: Decimal | int | None) -> str:
    """A whole number with thousands apart."""
    return MISSING if value is None else f"{int(value):,}"


def milliseconds(value_ns: float | Decimal | None) -> str:
    """A time in ms to the microsecond."""
    return MISSING if value_ns is None else f"{rounded(Decimal(value_ns).scaleb(-6), places=3):,}"


def instant(value: datetime | None) -> str:
    """A time in UTC to the second; the head of the column says UTC."""
    return MISSING if value is None else value.strftime("%Y-%m-%d %H:%M:%S")
