"""Rounding for display: parts that are shown add up to the total that is shown.

No number that is stored, exported or compared goes through here. Cents exist only on a page that
people read, and there a column that misses its own total by a cent costs more trust than the cent.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

# Far beyond DECIMAL(38,12): nothing here may round but the last step.
_EXACT = Context(prec=100)


def rounded(value: Decimal | int, *, places: int = 2) -> Decimal:
    """The value at so many decimal places, half to even."""
    return _cut(Decimal(value), Decimal(1).scaleb(-places), ROUND_HALF_EVEN)


def shown(
    parts: Sequence[Decimal | int], *, places: int = 2, total: Decimal | None = None
) -> list[Decimal]:
    """The parts at so many decimal places, such that they sum to `total`, by largest remainder.

    Each part is cut down to a whole unit of its last place, and the units that are then missing
    from `total` go to the parts that lost most, the first of equals first: no part moves by a unit
    or more. `total` is the rounded sum of the parts where none is given; it must have `places`
    decimals at most and lie less than one unit from the exact sum (so a team's cents can be split
    over its buckets). Raises ValueError otherwise.
    """
    unit = Decimal(1).scaleb(-places)
    exact = [Decimal(part) for part in parts]
    whole = Decimal(0)
    for part in exact:
        whole = _EXACT.add(whole, part)
    target = rounded(whole, places=places) if total is None else total
    if abs(_EXACT.subtract(target, whole)) >= unit or _EXACT.remainder(target, unit) != 0:
        raise ValueError(f"{target} is not the sum of the parts ({whole}) at {places} places")
    cells = [_cut(part, unit, ROUND_FLOOR) for part in exact]
    left = target
    for cell in cells:
        left = _EXACT.subtract(left, cell)
    lost = [_EXACT.subtract(part, cell) for part, cell in zip(exact, cells, strict=True)]
    order = sorted(range(len(exact)), key=lambda i: (-lost[i], i))
    for i in order[: int(_EXACT.divide(left, unit))]:
        cells[i] = _EXACT.add(cells[i], unit)
    return cells


def _cut(value: Decimal, unit: Decimal, how: str) -> Decimal:
    return value.quantize(unit, rounding=how, context=_EXACT)
