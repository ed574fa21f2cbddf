"""The catalogue of GPU counter fields: DCGM id, every name, unit, valid range, blanks.

A field is known by its numeric DCGM id: DCGM 4.6 renamed most fields and kept the ids. Types that
an exporter announces are not believed (rates come as counters, window counts as counters); the
kind stands here. Units are DCGM's: a ratio is 0 to 1, a rate bytes per second; except that the
bytes, mJ and W of gpu_sample hold where DCGM says MiB.

Sentinels: DCGM writes a blank as a number (the value itself, then +1 not found, +2 not supported,
+3 not permitted). Exporters scale it or pass it through a float. Every one of them lies outside
each field's range, so a reading is judged by range alone: outside, it is no reading, and never 0.
Two of the int32 blanks are possible values of the counters and rates in 64 bits, where DCGM uses
the 64-bit blanks.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from warehouse.contracts import SAMPLE_FIELDS

INT32_BLANKS = tuple(range(2147483632, 2147483636))
INT64_BLANKS = tuple(range(9223372036854775792, 9223372036854775796))
FP64_BLANKS = (140737488355328.0, 140737488355329.0, 140737488355330.0, 140737488355331.0)
#: Blanks that were multiplied by 100, and others seen for a percentage in public reports.
SCALED_BLANKS = (1.40737488355328e16, 9.223372036854776e18, 9.223372036854776e20)
SEEN_BLANKS = (4294967295, 808334905, 686103, 2619)

#: How far a reading may lie over its limit and still be the limit, and not a fault.
PERCENT_SLACK = 0.5
RATIO_SLACK = 0.05

MIB = 1024 * 1024


@dataclass(frozen=True)
class Unit:
    """How a source delivers a field: `scale` makes it gpu_sample's unit; `slack` as delivered.

    `slack` is None where a reading over the limit is a fault at once.
    """

    name: str
    scale: float = 1.0
    slack: float | None = None


PERCENT = Unit("%", 0.01, PERCENT_SLACK)
RATIO = Unit("ratio", 1.0, RATIO_SLACK)
MIB_S = Unit("MiB/s", MIB)
BYTES_S = Unit("B/s")
MILLIWATT = Unit("mW", 0.001)
WATT = Unit("W")
BYTE = Unit("B")
MIBIBYTE = Unit("MiB", MIB)
MILLIJOULE = Unit("mJ")
MEGAHERTZ = Unit("MHz")
CELSIUS = Unit("C")


@dataclass(frozen=True)
class Field:
    """One measured column of gpu_sample; a row of fields.csv, which says what its values mean.

    `low` and `high` are what can be true, in the column's unit. Values of a higher `entity` are
    copied to each MIG slice and must not be summed. `unit` is how DCGM delivers it.
    """

    column: str
    dcgm_id: int
    names: tuple[str, ...]
    unit: Unit
    kind: str
    entity: str
    gpm_metric: int | None
    low: float
    high: float

    @property
    def bit(self) -> int:
        """Its bit in invalid_mask."""
        return 1 << SAMPLE_FIELDS.index(self.column)


_CATALOGUE = Path(__file__).with_name("fields.csv")
_UNITS = {
    unit.name: unit
    for unit in (PERCENT, RATIO, BYTES_S, WATT, MIBIBYTE, MILLIJOULE, MEGAHERTZ, CELSIUS)
}


def _rows() -> list[dict[str, str]]:
    lines = _CATALOGUE.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _field(row: dict[str, str]) -> Field:
    return Field(
        row["column"], int(row["dcgm_id"]), tuple(row["names"].split()), _UNITS[row["unit"]],
        row["kind"], row["entity"], int(row["gpm"]) if row["gpm"] else None, float(row["low"]),
        float(row["high"]),
    )  # fmt: skip


_ALL = _rows()
FIELDS: dict[int, Field] = {
    field.dcgm_id: field for field in (_field(row) for row in _ALL if row["column"])
}
BY_COLUMN: dict[str, Field] = {field.column: field for field in FIELDS.values()}

#: Names as exporters write them, in small letters -> DCGM id of a field that is landed.
BY_NAME: dict[str, int] = {
    name.lower(): field.dcgm_id for field in FIELDS.values() for name in field.names
}
#: The same of fields that are known and not landed.
LEFT: frozenset[str] = frozenset(
    name.lower() for row in _ALL if not row["column"] for name in row["names"].split()
)


def limits(field: Field, unit: Unit) -> tuple[float, float]:
    """The lowest and highest reading as delivered that can be true, slack included.

    DCGM#199: a percentage of 2619 or 4294967295 among good ones; DCGM#152: SM active above 1.
    """
    return field.low / unit.scale, field.high / unit.scale + (unit.slack or 0.0)
