"""The few SQL types that models may have, their Arrow counterparts, and how SQL writes names.

A closed list: each of them survives DuckDB, Parquet and Spark unchanged. HUGEINT, for one, does
not: Parquet gets it as a rounded DOUBLE, without a warning.
"""

from __future__ import annotations

import re

import pyarrow as pa

_PLAIN: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")

#: What a header may say, for messages.
ALLOWED = ", ".join([*_PLAIN, "DECIMAL(p,s)"])


def normal(sql_type: str) -> str:
    """A type as DuckDB's DESCRIBE spells it: upper case, single blanks, none inside brackets."""
    words = " ".join(sql_type.upper().split())
    return re.sub(r"\s*([(),\[\]])\s*", r"\1", words)


def arrow_type(sql_type: str) -> pa.DataType:
    """The Arrow type of a model's SQL type; ValueError where models may not have it."""
    found = _PLAIN.get(sql_type)
    if found is not None:
        return found
    decimal = _DECIMAL.fullmatch(sql_type)
    if decimal:
        precision, scale = int(decimal[1]), int(decimal[2])
        if 1 <= precision <= 38 and scale <= precision:
            return pa.decimal128(precision, scale)
    raise ValueError(f"type {sql_type!r} is none of {ALLOWED}")


def sql_type(arrow: pa.DataType) -> str:
    """The SQL type of a contract's Arrow type; ValueError where contracts may not have it.

    Landing tables may hold FLOAT, which models cast to DOUBLE.
    """
    if pa.types.is_float32(arrow):
        return "FLOAT"
    if pa.types.is_decimal128(arrow):
        return f"DECIMAL({arrow.precision},{arrow.scale})"
    for name, plain in _PLAIN.items():
        if same_type(arrow, plain):
            return name
    raise ValueError(f"Arrow type {arrow} has no SQL type among {ALLOWED}, FLOAT")


def same_type(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether two Arrow types hold the same values, whatever list items and UTC are called."""
    if pa.types.is_list(left) and pa.types.is_list(right):
        return same_type(left.value_type, right.value_type)
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return left.unit == right.unit and _zone(left.tz) == _zone(right.tz)
    return bool(left == right)


def _zone(name: str | None) -> str | None:
    return "UTC" if name in {"UTC", "Etc/UTC", "+00:00"} else name


def quoted(name: str) -> str:
    """A name as a SQL identifier, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a SQL string, whatever it holds."""
    return "'" + text.replace("'", "''") + "'"
