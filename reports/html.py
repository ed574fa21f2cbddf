"""A page as one HTML file: no request to anywhere, readable in light and dark, on paper, by ear."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports import colours, drawing
from reports.chart_numbers import numbers
from reports.names import KEPT, SHOWN, cut, plain
from reports.page import Cell, Figure, Head, Page

#: From so many letters on a cell may break its line.
_WIDE = 28
TEMPLATES = Path(__file__).resolve().parent / "templates"


def render(page: Page, *, charts: bool = True, home: str = "") -> str:
    """The HTML of a page, with its charts drawn or without them.

    `home` leads from this file to the report's folder: empty, or `../`.
    """
    style, script = _style(), _script()
    found = _environment().get_template("page.html.j2").render(
        page=page, home=home, style=Markup(style), script=Markup(script),  # noqa: S704 - our files
        policy=_policy(style, script), cells=lambda row, heads: _cells(row, heads, home),
        name=_name, picture=_picture, numbers=numbers, drawn=charts,
    )  # fmt: skip
    return found + "\n"


def encoded(page: Page, *, charts: bool = True, home: str = "") -> bytes:
    """The HTML of a page as the bytes of its file."""
    return render(page, charts=charts, home=home).encode("utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


@cache
def _style() -> str:
    text = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    return colours.style() + "".join(line.strip() for line in text.splitlines())


@cache
def _script() -> str:
    return (TEMPLATES / "sort.js").read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Only this style and this script, and nothing from anywhere."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _name(text: str) -> Markup:
    """A foreign name: kept apart from its neighbours' direction, long ones cut in the middle."""
    whole = plain(text)
    short = cut(whole, SHOWN)
    if short == whole:
        return Markup("<bdi>{}</bdi>").format(whole)
    return Markup('<bdi title="{}">{}</bdi>').format(cut(whole, KEPT), short)


def _cells(row: Sequence[Cell], heads: Sequence[Head], home: str) -> Markup:
    """The cells of a row; in Python, since most of a page are these and a template is slower."""
    found = []
    for at, (cell, head) in enumerate(zip(row, heads, strict=True)):
        tag = "td" if at else "th"
        start = 'th scope="row"' if not at else "td"
        kind = ' class="n"' if head.numeric else ' class="nm"' if len(cell.text) > _WIDE else ""
        found.append(f"<{start}{kind}>{_cell(cell, home)}</{tag}>")
    return Markup("".join(found))  # noqa: S704 - each cell is escaped by _cell


def _cell(cell: Cell, home: str) -> Markup:
    text = _name(cell.text) if cell.name else escape(plain(cell.text))
    if not (cell.link or cell.key or cell.title):
        return text
    if cell.link:
        return Markup('<a href="{}">{}</a>').format(home + cell.link, text)
    if cell.key in colours.COLOURS:
        return Markup('<span class="key k-{}">{}</span>').format(cell.key, text)
    if cell.title:
        return Markup('<span title="{}">{}</span>').format(cut(plain(cell.title), KEPT), text)
    return text


def _picture(figure: Figure) -> Markup:
    svg = drawing.draw(figure.drawing, f"c-{figure.name}")
    return Markup(svg)  # noqa: S704 - drawing.draw lets nothing but shapes and escaped text pass
