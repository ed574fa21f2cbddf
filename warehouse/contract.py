"""What a landing table is: its columns with type, unit and meaning, its grain, keys and order."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TIME = pa.timestamp("us", tz="UTC")
MONEY = pa.decimal128(38, 12)
TEXT = pa.string()
LONG = pa.int64()
RATIO = pa.float32()
BOOL = pa.bool_()
TEXTS = pa.list_(pa.string())


@dataclass(frozen=True)
class Column:
    """One column: Arrow type, unit ('' where none applies), meaning, whether null is allowed."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    nullable: bool = True


@dataclass(frozen=True)
class Contract:
    """One landing table.

    `key` identifies a row within the table. `time` names the column whose UTC day decides the
    partition of a row (None: one partition for the whole source file). `order` is the sort order
    of each file; it ends in a unique key, so that equal input gives equal bytes.
    """

    name: str
    version: int
    grain: str
    key: tuple[str, ...]
    order: tuple[str, ...]
    columns: tuple[Column, ...]
    time: str | None = None

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, in declared order, with units and meanings as field metadata."""
        return pa.schema(
            [
                pa.field(c.name, c.type, c.nullable, {"unit": c.unit, "meaning": c.meaning})
                for c in self.columns
            ]
        )


def optional(name: str, type_: pa.DataType, unit: str, meaning: str) -> Column:
    """A column that may be null."""
    return Column(name, type_, unit, meaning)


def required(name: str, type_: pa.DataType, unit: str, meaning: str) -> Column:
    """A column that is never null."""
    return Column(name, type_, unit, meaning, nullable=False)


FILE = required("source_file", TEXT, "", "path of the source file, relative to the configuration")
ROW = required("source_row", LONG, "", "line (text) or record number in the file, from 1")
