"""A page as its readers' programs see it: its tables, its references, its outline."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser

#: Elements without an end.
VOID = {"meta", "link", "br", "hr", "img", "input", "base"}
_REFERENCES = ("href", "src", "srcset", "action", "data", "poster", "xlink:href", "ping", "style")


@dataclass
class Element:
    """An element with its attributes, its text and its children."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, white space folded."""
        return re.sub(r"\s+", " ", self.raw).strip()

    @property
    def raw(self) -> str:
        """All text inside, as it stands."""
        return "".join(c if isinstance(c, str) else c.raw for c in self.children)

    def all(self, tag: str) -> list[Element]:
        """Every element of that name inside, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                found += ([child] if child.tag == tag else []) + child.all(tag)
        return found

    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())


@dataclass
class Table:
    """A table's texts: heads, rows, and the rest and total of its foot where it has them."""

    name: str
    heads: list[str]
    numeric: list[bool]
    rows: list[list[str]]
    rest: list[str] | None
    total: list[str] | None

    def column(self, head: str) -> list[str]:
        """The cells under a head, without the foot."""
        at = self.heads.index(head)
        return [row[at] for row in self.rows]

    def number(self, head: str) -> Decimal:
        """What a column's total says."""
        assert self.total is not None
        return number(self.total[self.heads.index(head)])


@dataclass
class Page:
    """A parsed page."""

    root: Element
    tables: dict[str, Table]
    references: list[str]
    sql: dict[str, str]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.here = self.root
        self.references: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        assert len(attributes) == len(attrs), f"an attribute twice: {attrs}"
        self.references += [attributes[name] for name in _REFERENCES if name in attributes]
        self.handlers += [name for name in attributes if name.startswith("on")]
        element = Element(tag, attributes, self.here)
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.here.tag == tag, f"<{self.here.tag}> is ended by </{tag}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.children.append(data)


def parse(text: str) -> Page:
    """Parse a page; AssertionError where its elements are not nested."""
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert builder.here is builder.root, f"<{builder.here.tag}> has no end"
    assert builder.handlers == []
    tables = [_table(element) for element in builder.root.all("table")]
    assert len({table.name for table in tables}) == len(tables)
    return Page(
        builder.root, {table.name: table for table in tables}, builder.references,
        _commands(builder.root),
    )  # fmt: skip


def number(text: str) -> Decimal:
    """A shown number."""
    return Decimal(text.replace(",", ""))


def _table(element: Element) -> Table:
    head = element.all("thead")[0].all("th")
    assert all(cell.attributes["scope"] == "col" for cell in head)
    assert element.all("caption")[0].text
    rows = [_cells(row) for row in element.all("tbody")[0].all("tr")]
    assert all(len(row) == len(head) for row in rows)
    foot = {
        next(iter(row.classes())): _cells(row)
        for part in element.all("tfoot") for row in part.all("tr")
    }  # fmt: skip
    return Table(
        element.attributes["data-table"], [cell.text for cell in head],
        ["n" in cell.classes() for cell in head], rows, foot.get("rest"), foot.get("total"),
    )  # fmt: skip


def _cells(row: Element) -> list[str]:
    cells = [c for c in row.children if isinstance(c, Element)]
    assert cells[0].tag == "th"
    assert cells[0].attributes["scope"] == "row"
    return [cell.text for cell in cells]


def _commands(root: Element) -> dict[str, str]:
    """The SQL beside each table, as a shell would hand it over."""
    import shlex

    found: dict[str, str] = {}
    for details in root.all("details"):
        if "from" in details.classes():
            words = shlex.split(details.all("pre")[0].raw)
            assert words[:2] == ["plumbline", "sql"]
            assert len(words) == 3
            found[details.attributes["data-of"]] = words[2]
    return found
