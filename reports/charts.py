"""The charts of a page, as Vega-Lite; each is built once by Altair and then filled with rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from reports.colours import stand_in
from reports.words import CLASSES, COMPUTE_PARTS, RUNGS, STEP_PARTS

WIDTH = 430
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")

Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Drawing:
    """A chart to be drawn: its Vega-Lite, and what it shows in words."""

    spec: dict[str, Any]
    title: str
    description: str


def waterfall(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: label, start, end, key, text; from the bill down to what was useful."""
    top = max((max(row["start"], row["end"]) for row in rows), default=1) or 1
    marked = [{**row, "edge": max(row["start"], row["end"])} for row in rows]
    return _filled(_waterfall, marked, title, description, top=float(top) * 1.22)


def team_bars(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: label, key (class), at (its place in the bar), value in USD."""
    return _filled(_team_bars, rows, title, description)


def ladder(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: label, key (rung), percent."""
    return _filled(_ladder, rows, title, description)


def rank_bars(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: label, key (part of a step), at, ms."""
    return _filled(_rank_bars, rows, title, description)


def traced_steps(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: step, key (part of a step), at, ms, normal (ms of a normal step: a line there)."""
    return _filled(_traced_steps, rows, title, description)


def logged_steps(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: step, ms."""
    return _filled(_logged_steps, rows, title, description)


def kernel_bars(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: label, key (direct or carried), at, value in USD."""
    return _filled(_kernel_bars, rows, title, description)


def split_bars(rows: Rows, title: str, description: str) -> Drawing:
    """Rows: label, key (part of compute), at, value in GPU-hours."""
    return _filled(_split_bars, rows, title, description)


def _filled(
    template: Callable[[], dict[str, Any]], rows: Rows, title: str, description: str, **params: Any
) -> Drawing:
    spec = copy.deepcopy(template())
    spec["datasets"] = {"rows": list(rows)}
    for param in spec.get("params", []):
        param["value"] = params[param["name"]]
    return Drawing(spec, title, description)


def _altair() -> Any:
    import altair

    return altair


def _colour(keys: Sequence[str]) -> Any:
    alt = _altair()
    scale = alt.Scale(domain=list(keys), range=[stand_in(key) for key in keys])
    return alt.Color("key:N", scale=scale, legend=None)


def _finished(chart: Any, height: Any = None, width: Any = WIDTH) -> dict[str, Any]:
    alt = _altair()
    chart = chart.properties(width=width, height=alt.Step(26) if height is None else height)
    chart = chart.configure(
        # Readers' fonts are wider than the one that the drawing is measured with.
        background="transparent", aria=False,
        padding={"left": 26, "right": 14, "top": 4, "bottom": 2},
    )  # fmt: skip
    chart = chart.configure_view(stroke=None)
    chart = chart.configure_axis(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelLimit=200, tickSize=3,
        labelColor="#111", titleColor="#111",
    ).configure_axisY(ticks=False, labelPadding=6)  # fmt: skip
    found: dict[str, Any] = chart.to_dict()
    return found


def _rows() -> Any:
    alt = _altair()
    return alt.Chart(alt.NamedData("rows"))


def _labels() -> Any:
    alt = _altair()
    return alt.Y("label:N", sort=None, title=None, axis=alt.Axis(domain=False))


def _amount(field: str, title: str, **more: Any) -> Any:
    alt = _altair()
    return alt.X(field, title=title, axis=alt.Axis(format=",.12~g", tickCount=5, domain=False),
                 **more)  # fmt: skip


@cache
def _waterfall() -> dict[str, Any]:
    alt = _altair()
    top = alt.param(name="top", value=1.0)
    y = _labels()
    keys = ("bill", *CLASSES)
    scale = alt.Scale(domainMax=alt.ExprRef("top"), zero=True, nice=False)
    bars = (
        _rows()
        .mark_bar(size=17)
        .encode(y=y, x=_amount("start:Q", "USD", scale=scale), x2="end:Q", color=_colour(keys))
    )
    text = _rows().mark_text(align="left", dx=4, fontSize=12).encode(y=y, x="edge:Q", text="text:N")
    return _finished(alt.layer(bars, text).add_params(top))


@cache
def _team_bars() -> dict[str, Any]:
    return _stacked(tuple(CLASSES), "value:Q", "effective USD")


@cache
def _rank_bars() -> dict[str, Any]:
    return _stacked(tuple(STEP_PARTS), "ms:Q", "ms of a mean traced step")


@cache
def _kernel_bars() -> dict[str, Any]:
    return _stacked(("direct", "carried"), "value:Q", "billed USD", limit=250, width=350)


@cache
def _split_bars() -> dict[str, Any]:
    return _stacked(tuple(COMPUTE_PARTS), "value:Q", "GPU-hours")


def _stacked(
    keys: Sequence[str], field: str, title: str, *, limit: int = 200, width: int = WIDTH
) -> dict[str, Any]:
    alt = _altair()
    bars = _rows().mark_bar(size=17).encode(
        y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(domain=False, labelLimit=limit)),
        x=_amount(field, title, stack="zero"), color=_colour(keys), order="at:Q",
    )  # fmt: skip
    return _finished(bars, width=width)


@cache
def _ladder() -> dict[str, Any]:
    alt = _altair()
    x = alt.X(
        "percent:Q", title="percent of the time, or of the peak",
        scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5, domain=False),
    )  # fmt: skip
    span = (
        _rows()
        .mark_line(color=stand_in("range"), strokeWidth=2)
        .encode(y=_labels(), x=x, detail="label:N")
    )
    keys = list(RUNGS)
    points = _rows().mark_point(size=70, strokeWidth=2, filled=True, opacity=1).encode(
        y=_labels(), x=x, color=_colour(keys),
        shape=alt.Shape("key:N", scale=alt.Scale(domain=keys, range=list(_SHAPES)), legend=None),
    )  # fmt: skip
    return _finished(alt.layer(span, points))


@cache
def _traced_steps() -> dict[str, Any]:
    alt = _altair()
    bars = _rows().mark_bar().encode(
        x=alt.X("step:O", title="traced step", sort=None,
                axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("ms:Q", title="ms", stack="zero", axis=alt.Axis(tickCount=4, domain=False)),
        color=_colour(tuple(STEP_PARTS)), order="at:Q",
    )  # fmt: skip
    line = _rows().transform_filter("isValid(datum.normal)").mark_rule(
        strokeDash=[5, 3], strokeWidth=2, color=stand_in("bill")
    ).encode(y=alt.Y("mean(normal):Q", title="ms"))  # fmt: skip
    return _finished(alt.layer(bars, line), height=150, width=210)


@cache
def _logged_steps() -> dict[str, Any]:
    alt = _altair()
    line = _rows().mark_line(strokeWidth=2, color=stand_in("compute"), point=False).encode(
        x=alt.X("step:Q", title="step, all that were logged",
                axis=alt.Axis(tickCount=4, tickMinStep=1, grid=False), scale=alt.Scale(nice=False)),
        y=alt.Y("ms:Q", title="ms", axis=alt.Axis(tickCount=4, domain=False),
                scale=alt.Scale(zero=True)),
    )  # fmt: skip
    return _finished(line, height=150, width=210)
