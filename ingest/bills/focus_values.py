"""The values of a FOCUS charge: exact money, hours out of quantities, what JSON columns say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

#: Wide enough that sums and products of DECIMAL(38,12) are exact.
MONEY_CONTEXT = Context(prec=120, rounding=ROUND_HALF_EVEN)
_PICO = Decimal("1e-12")
_MICRO = Decimal("1e-6")
_LIMIT = Decimal("1e26")
#: No cost is larger: products of money and GPU-time in models stay in DECIMAL(38).
MOST_USD = Decimal("1e12")
#: Decimal() takes more than a bill may say: underscores, other scripts' digits, NaN, infinity.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")

#: Units of time in hours, as numerator and denominator: 1/3600 has no exact decimal.
_UNITS = {
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h", "hour(s)"), (1, 1)),
    **dict.fromkeys(("minute", "minutes", "min", "mins"), (1, 60)),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), (1, 3600)),
    **dict.fromkeys(("day", "days"), (24, 1)),
}
#: What may stand before a unit of time and leaves it the time of a machine or of a GPU. Any other
#: word (GB, vCPU, OCPU, LCU, DPU, ...) makes it an amount of something else.
_MACHINES = ("instance", "node", "vm", "virtual machine", "machine", "server", "host")
_UNIT = re.compile(
    rf"(?:(?P<times>[0-9]{{1,9}}) )?(?:(?P<gpu>gpu) |(?:{'|'.join(_MACHINES)}) )?(?P<unit>\S+)"
)


class BadValue(Exception):
    """A charge cannot be read; the text says which column, what was found and what is expected."""


class Quantity(NamedTuple):
    """A quantity in hours, which one it is, and whether its unit counts GPUs, not machines."""

    hours: Decimal | None
    basis: str | None
    of_gpus: bool


def decimal(text: str, step: Decimal = _PICO) -> Decimal:
    """Read a number exactly, half-even at `step`; ValueError where it is none or too large."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise ValueError(f"{text!r} is no number; expected digits with a decimal point")
    try:
        value = Decimal(stripped).quantize(step, context=MONEY_CONTEXT)
    except InvalidOperation:
        value = _LIMIT
    if abs(value) >= _LIMIT:
        raise ValueError(f"{text!r} is too large; expected less than 1e26")
    return value


def money(values: Mapping[str, str | None], name: str) -> Decimal | None:
    """A cost column in USD; null where the cell is; BadValue where it is no number or too large."""
    text = values.get(name)
    if text is None:
        return None
    try:
        value = decimal(text)
    except ValueError as error:
        raise BadValue(f"{name}: {error}") from None
    if abs(value) > MOST_USD:
        raise BadValue(
            f"{name}: {text!r} is too large; expected at most {MOST_USD:,f} USD either way"
        )
    return value


def share_half_even(part: Decimal, of: Decimal, whole: Decimal) -> Decimal | None:
    """part x of / whole, exact, rounded half to even at 12 decimals; null if it has no place."""
    with localcontext(MONEY_CONTEXT):
        numerator = int(part.scaleb(12)) * int(of.scaleb(12))
        denominator = int(whole.scaleb(12))
        if denominator < 0:
            numerator, denominator = -numerator, -denominator
        value = Decimal(_half_even(numerator, denominator)).scaleb(-12)
        return value if abs(value) <= MOST_USD else None


def _half_even(numerator: int, denominator: int) -> int:
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient % 2 == 1))


def _in_range(value: Decimal) -> Decimal | None:
    return value if abs(value) < _LIMIT else None


def hours(values: Mapping[str, str | None]) -> Quantity:
    """The first of the three quantities whose unit is a time, in hours.

    Order: ConsumedQuantity, CommitmentDiscountQuantity, PricingQuantity (a commitment that nobody
    used has no consumed quantity). Units: hours, minutes, seconds, days, alone or of an instance,
    node, machine or GPU (`Instance-Hours`, `GPU Hours`), in any case, with a block size in front
    where the provider prices blocks (`100 Hours`). A quantity that is no number is passed over:
    the charge's dollars stand without it.
    """
    for basis, quantity, unit in (
        ("consumed", "ConsumedQuantity", "ConsumedUnit"),
        ("commitment", "CommitmentDiscountQuantity", "CommitmentDiscountUnit"),
        ("pricing", "PricingQuantity", "PricingUnit"),
    ):
        amount, scale = values.get(quantity), _hours_per(values.get(unit) or "")
        if amount is None or scale is None:
            continue
        numerator, denominator, of_gpus = scale
        try:
            exact = decimal(amount, Decimal("1e-40"))
        except ValueError:
            continue
        pico = _half_even(int(exact.scaleb(40, MONEY_CONTEXT)) * numerator, denominator * 10**28)
        value = _in_range(Decimal(pico).scaleb(-12, MONEY_CONTEXT))
        if value is not None:
            return Quantity(value, basis, of_gpus)
    return Quantity(None, None, False)


@lru_cache(maxsize=4096)
def _hours_per(unit: str) -> tuple[int, int, bool] | None:
    """One unit in hours as numerator, denominator, and whether it is of GPUs; null: no time."""
    words = " ".join(unit.lower().replace("-", " ").replace("_", " ").split())
    match = _UNIT.fullmatch(words)
    if match is None or match["unit"] not in _UNITS:
        return None
    numerator, denominator = _UNITS[match["unit"]]
    return numerator * int(match["times"] or 1), denominator, match["gpu"] is not None


def json_object(text: str | None) -> dict[str, Any]:
    """A JSON column's object; empty where it is null, malformed or no object."""
    if text is None:
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return {}
    return value if isinstance(value, dict) else {}


def gpu_count(value: object) -> Decimal | None:
    """GpuCount of SkuPriceDetails (a number, or its text), if it is one that may be: 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        count = decimal(str(value), _MICRO)
    except ValueError:
        return None
    return count if 0 <= count < Decimal("1e12") else None


def tag_value(text: str | None, tag: str) -> str | None:
    """The value of a tag: of the key as written, else of the key in another case.

    Where keys differ in case only, and say different things, nobody is named: a guess would move
    dollars from one team to another.
    """
    tags = json_object(text)
    if tag in tags:
        return _tag_text(tags[tag])
    same = {_tag_text(value) for key, value in tags.items() if key.lower() == tag.lower()} - {None}
    return same.pop() if len(same) == 1 else None


def _tag_text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value).strip() or None
