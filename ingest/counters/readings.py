"""From what a source delivers to a column of gpu_sample: units, ranges, and what is no reading."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ingest.counters.fields import Field, Unit, limits
from warehouse.contracts import GPU_SAMPLE

_WHOLE = pa.int64()


def readings(field: Field, unit: Unit, delivered: pa.Array) -> tuple[pa.Array, pa.Array]:
    """A field's values in gpu_sample's unit and type, and its bit of invalid_mask where one is set.

    What was not delivered is null. What was and cannot be true (out of range, a blank of the
    driver, NaN) is null too, with the bit. A reading in the slack over its limit is the limit.
    """
    low, high = limits(field, unit)
    if pa.types.is_integer(delivered.type):
        low, high = int(low), int(high)
    # NaN is in no range; a null stays null in both.
    is_valid = pc.and_(pc.greater_equal(delivered, low), pc.less_equal(delivered, high))
    bits = pc.if_else(pc.fill_null(is_valid, True), 0, field.bit).cast(_WHOLE)
    value = pc.if_else(is_valid, delivered, pa.scalar(None, delivered.type))
    if unit.scale != 1:
        value = pc.multiply(value, unit.scale)
    if unit.slack is not None:
        value = pc.if_else(pc.greater(value, field.high), field.high, value)
    type_ = GPU_SAMPLE.schema.field(field.column).type
    if pa.types.is_integer(type_) and pa.types.is_floating(value.type):
        value = pc.round(value, round_mode="half_to_even")
    return value.cast(type_), bits
