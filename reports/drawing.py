"""Drawing charts: Vega to SVG that stands inside a page, takes its colours and loads nothing.

The drawing library comes with the extra `report`.
"""

from __future__ import annotations

import re
from html import escape

from reports.charts import Drawing, filled
from reports.colours import variables

_OPENING = re.compile(r"<svg\b[^>]*>")
_VIEW = re.compile(r'\bviewBox="([^"]*)"')
_BACKGROUND = re.compile(r'<rect width="[\d.]+" height="[\d.]+" fill="(?:transparent|white)"/>')
#: What a drawing has for the sake of scripts, and what the page's own style decides.
_NEEDLESS = re.compile(
    r' (?:role|aria-[a-z]+|pointer-events|font-family|font-weight|opacity="1|stroke-width="1)'
    r'(?:="[^"]*)?"| fill="#111"|<path class="(?:background|foreground)"[^>]*/>'
)
_TAG = re.compile(r"(<[^>]*>)")
_LONG = re.compile(r"\b(\d+\.\d\d)\d+")
_OUTSIDE = re.compile(r"(?:href|src)\s*=|url\((?!#)|<script|<style|<foreignObject|\son\w+=", re.I)


def draw(drawing: Drawing, ident: str) -> str:
    """The SVG of a chart for a page, where `ident` names it; ValueError where it would load a file.

    It has a title and a description for those who do not see it.
    """
    import vl_convert

    svg = vl_convert.vega_to_svg(filled(drawing.kind, drawing.rows), allowed_base_urls=[])
    opening = _OPENING.match(svg)
    view = _VIEW.search(svg)
    if opening is None or view is None:
        raise ValueError(f"chart {ident}: the drawing library gave no SVG")
    body = _BACKGROUND.sub("", svg[opening.end() :], count=1)
    # Tags at odd places, all at once: a chart has hundreds. No XML has a NUL.
    parts = _TAG.split(body)
    parts[1::2] = _lean("\0".join(parts[1::2]), ident).split("\0")
    body = "".join(parts)
    width = view[1].split()[2]
    return (
        f'<svg class="chart" viewBox="{view[1]}" width="{width}" role="img" '
        f'aria-labelledby="{ident}-t {ident}-d"><title id="{ident}-t">{escape(drawing.title)}'
        f'</title><desc id="{ident}-d">{escape(drawing.description)}</desc>{body}'
    )


def _lean(tags: str, ident: str) -> str:
    """Tags without what nobody needs, their names made those of this chart alone."""
    if found := _OUTSIDE.search(tags):
        near = tags[max(found.start() - 40, 0) : found.start() + 40]
        raise ValueError(f"chart {ident}: the drawing refers to something outside: {near}")
    tags = _LONG.sub(r"\1", _NEEDLESS.sub("", tags))
    tags = re.sub(r'\bid="([\w-]+)"', rf'id="{ident}-\1"', tags)
    return variables(re.sub(r"url\(#([\w-]+)\)", rf"url(#{ident}-\1)", tags))
