"""The charts of a page: each kind is built once by Altair, compiled, and then filled with rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from reports.colours import stand_in
from reports.words import CLASSES, COMPUTE_PARTS, RUNGS, STEP_PARTS

WIDTH = 430
#: Readers' fonts are wider than the one that charts are measured with.
_PADDING = {"left": 26, "right": 14, "top": 4, "bottom": 2}
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


@dataclass(frozen=True)
class Drawing:
    """A chart to be drawn: its kind, its rows, and what it shows in words.

    Kinds and the fields of their rows, in the order in which they are drawn:
    waterfall: label, start, end, key, text, edge (the larger of both ends)
    team_bars, kernel_bars, split_bars: label, key, at (place in the bar), value
    ladder: label, key (a rung), percent
    rank_bars: label, key (part of a step), at, ms
    traced_steps: step, key (part of a step), at, ms, normal (ms, a line there)
    logged_steps: step, ms
    """

    kind: str
    rows: Sequence[dict[str, Any]]
    title: str
    description: str


def filled(kind: str, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The Vega of a chart with these rows; KeyError for a kind that there is not."""
    vega = _compiled(kind)
    data = [{**d, "values": rows} if d["name"] == "rows" else d for d in vega["data"]]
    return {**vega, "data": data}


def compiled() -> dict[str, dict[str, Any]]:
    """Every kind of chart as Vega without rows, for `adopt` in another process."""
    return {kind: _compiled(kind) for kind in _KINDS}


def adopt(charts: dict[str, dict[str, Any]]) -> None:
    """Take charts that another process has compiled, instead of compiling them here."""
    _adopted.update(charts)


_adopted: dict[str, dict[str, Any]] = {}


@cache
def _compiled(kind: str) -> dict[str, Any]:
    if kind in _adopted:
        return _adopted[kind]
    import vl_convert

    found: dict[str, Any] = vl_convert.vegalite_to_vega(_KINDS[kind]())
    return found


def _altair() -> Any:
    import altair

    return altair


def _colour(keys: Sequence[str]) -> Any:
    alt = _altair()
    scale = alt.Scale(domain=list(keys), range=[stand_in(key) for key in keys])
    return alt.Color("key:N", scale=scale, legend=None)


def _finished(
    chart: Any, height: Any = None, width: Any = WIDTH, right: int = 14
) -> dict[str, Any]:
    alt = _altair()
    chart = chart.properties(width=width, height=alt.Step(26) if height is None else height)
    chart = chart.configure(
        background="transparent", aria=False, padding={**_PADDING, "right": right}
    )  # fmt: skip
    chart = chart.configure_view(stroke=None)
    # Limits and overlaps of labels are not looked at: measuring them takes half of the time.
    chart = chart.configure_axis(
        labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelLimit=0,
        labelOverlap=False, tickSize=3, labelColor="#111", titleColor="#111",
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


def _waterfall() -> dict[str, Any]:
    alt = _altair()
    bars = _rows().mark_bar(size=17).encode(
        y=_labels(), x=_amount("start:Q", "USD"), x2="end:Q", color=_colour(("bill", *CLASSES))
    )  # fmt: skip
    text = _rows().mark_text(align="left", dx=4, fontSize=12).encode(
        y=_labels(), x="edge:Q", text="text:N"
    )  # fmt: skip
    # Room for the text of the longest bar.
    return _finished(alt.layer(bars, text), width=WIDTH - 50, right=90)


def _team_bars() -> dict[str, Any]:
    return _stacked(tuple(CLASSES), "value:Q", "effective USD")


def _rank_bars() -> dict[str, Any]:
    return _stacked(tuple(STEP_PARTS), "ms:Q", "ms of a mean traced step")


def _kernel_bars() -> dict[str, Any]:
    return _stacked(("direct", "carried"), "value:Q", "billed USD", width=350)


def _split_bars() -> dict[str, Any]:
    return _stacked(tuple(COMPUTE_PARTS), "value:Q", "GPU-hours")


def _stacked(keys: Sequence[str], field: str, title: str, *, width: int = WIDTH) -> dict[str, Any]:
    bars = _rows().mark_bar(size=17).encode(
        y=_labels(),
        x=_amount(field, title, stack="zero"), color=_colour(keys), order="at:Q",
    )  # fmt: skip
    return _finished(bars, width=width)


def _ladder() -> dict[str, Any]:
    alt = _altair()
    x = alt.X(
        "percent:Q", title="percent of the time, or of the peak",
        scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(tickCount=5, domain=False),
    )  # fmt: skip
    # A rule with both ends: a line for each label would be a facet, at twice the time.
    span = _rows().mark_rule(color=stand_in("range"), strokeWidth=2).encode(
        y=_labels(), x=alt.X("min(percent):Q"), x2=alt.X2("max(percent):Q")
    )  # fmt: skip
    keys = list(RUNGS)
    points = _rows().mark_point(size=70, strokeWidth=2, filled=True, opacity=1).encode(
        y=_labels(), x=x, color=_colour(keys),
        shape=alt.Shape("key:N", scale=alt.Scale(domain=keys, range=list(_SHAPES)), legend=None),
    )  # fmt: skip
    return _finished(alt.layer(span, points))


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


def _logged_steps() -> dict[str, Any]:
    alt = _altair()
    line = _rows().mark_line(strokeWidth=2, color=stand_in("compute"), point=False).encode(
        x=alt.X("step:Q", title="step, all that were logged",
                axis=alt.Axis(tickCount=4, tickMinStep=1, grid=False), scale=alt.Scale(nice=False)),
        y=alt.Y("ms:Q", title="ms", axis=alt.Axis(tickCount=4, domain=False),
                scale=alt.Scale(zero=True)),
    )  # fmt: skip
    return _finished(line, height=150, width=210)


_KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "waterfall": _waterfall, "team_bars": _team_bars, "ladder": _ladder, "rank_bars": _rank_bars,
    "traced_steps": _traced_steps, "logged_steps": _logged_steps, "kernel_bars": _kernel_bars,
    "split_bars": _split_bars,
}  # fmt: skip
