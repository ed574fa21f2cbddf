"""The stage of a random month: machines, what each GPU does, and the rows written so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]

CLUSTER = "c1"
PERIOD_S = 30
MIB = 1 << 20
ACCOUNTS = ("nlp", "vision", "speech", "nobody")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(epoch_s: float) -> datetime:
    """UTC time of epoch seconds, to the microsecond."""
    return EPOCH + timedelta(microseconds=round(epoch_s * 1_000_000))


@dataclass
class Machine:
    """One machine while it was the same machine: a node's name can pass to another one."""

    node: str
    resource_id: str
    uuids: tuple[str, ...]
    start: int
    end: int
    free: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Busy:
    """What one GPU did for a while, on average: engine 0 to 1, bytes/s over PCIe and NVLink."""

    start: float
    end: float
    engine: float
    pcie: int = 0
    nvlink: int = 0


@dataclass
class World:
    """The truth while it is played: rows so far, and what each GPU did."""

    rng: Random
    start: int
    end: int
    tables: Tables = field(default_factory=dict)
    machines: list[Machine] = field(default_factory=list)
    busy: dict[str, list[Busy]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def put(self, table: str, file: str, **values: Any) -> None:
        """Add one row; it takes the next line of its file."""
        self.lines[file] = self.lines.get(file, 1) + 1
        self.tables.setdefault(table, []).append(
            values | {"source_file": file, "source_row": self.lines[file]}
        )

    def cover(self, source: str, file: str, start: float, end: float, **values: Any) -> None:
        """Say for which time a file was read."""
        if end > start:
            self.tables["source_coverage"].append(
                {
                    "source": source, "source_file": file, "source_row": 0, "is_cut": False,
                    "start": time_of(start), "end": time_of(end), **values,
                }
            )  # fmt: skip

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self.rng.random() < probability
