"""What a page is made of, before it is HTML, a sheet or a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.charts import Drawing


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and what goes with it.

    `name` marks a foreign name, `key` what has a colour in the charts, `link` a page of the same
    report.
    """

    text: str
    title: str = ""
    name: bool = False
    key: str = ""
    link: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column: its text, its unit, and whether it holds numbers that are added up."""

    text: str
    unit: str = ""
    numeric: bool = False
    summed: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Origin:
    """Where a table's numbers come from: the published table, the SQL, what stands behind it."""

    mart: str
    sql: str
    evidence: str = ""
    file: str = ""


@dataclass(frozen=True)
class Table:
    """A table: `rest` stands for the rows that are not shown, `total` for all."""

    name: str
    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    rest: Sequence[Cell] | None = None
    total: Sequence[Cell] | None = None
    origin: Origin | None = None
    empty: str = "Nothing."
    count: int = 0


@dataclass(frozen=True)
class Figure:
    """A chart, what it shows, and its key of colours (text, colour).

    `beside` stands at its side where there is room; `shaped` ones have marks in their key; `about`
    is the row that a chart is the picture of.
    """

    name: str
    drawing: Drawing
    caption: str
    legend: Sequence[tuple[str, str]] = ()
    beside: Figure | None = None
    shaped: bool = False
    about: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading; `legend` is the key of all its figures."""

    name: str
    title: str
    intro: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    words: Sequence[tuple[str, str]] = ()
    legend: Sequence[tuple[str, str]] = ()
    beside: bool = False


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    lead: str
    facts: Sequence[tuple[str, str, str]]
    badge: tuple[str, bool]
    sections: Sequence[Section]
    links: Sequence[tuple[str, str]] = ()
