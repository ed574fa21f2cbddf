"""Checks that warned when a month was published, as its report shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.page import Cell, Head, Table


@dataclass(frozen=True)
class Warned:
    """A check that found `rows` rows: `such_as` is the first, `means` what the check asks for."""

    model: str
    check: str
    rows: int
    such_as: str
    means: str

    @property
    def name(self) -> str:
        """The check as people are told of it; a check file is its own."""
        return self.model if self.check == self.model else f"{self.model}: {self.check}"


def warned_text(warnings: Sequence[Warned]) -> str:
    """How many checks warn, '' where none does."""
    if not warnings:
        return ""
    return "1 check warns" if len(warnings) == 1 else f"{len(warnings):,} checks warn"


def warned_table(warnings: Sequence[Warned]) -> Table:
    """The checks that warned, one a row; they were run when the month was published."""
    heads = [Head("check"), Head("rows", "", True), Head("such as"), Head("what it asks for")]
    rows = [
        [Cell(w.name), Cell(f"{w.rows:,}"), Cell(w.such_as, name=True), Cell(w.means)]
        for w in warnings
    ]
    return Table(
        "warned", "Checks that warn: the sums hold, the evidence may not", heads, rows,
        empty="None.", count=len(rows),
    )  # fmt: skip
