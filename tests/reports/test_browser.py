"""The pages in a real browser: nothing is loaded, nothing complains, everything fits and sorts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reports.browser import Browser, browser, found
from tests.reports.test_page import hostile, hostile_marts

__all__ = ["hostile", "hostile_marts"]

COMMAND = found()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMMAND is None, reason="no headless browser on this machine"),
]
SORT = """
(() => {
  const table = document.querySelector('table[data-table=waste]');
  const at = [...table.tHead.rows[0].cells].findIndex(c => c.textContent.includes('effective'));
  const cells = () => [...table.tBodies[0].rows].map(r => parseFloat(r.cells[at].textContent));
  const before = cells();
  table.tHead.rows[0].cells[at].querySelector('button').click();
  const after = cells();
  return {same: before.join() === after.join(),
          sorted: after.every((v, i) => !i || after[i - 1] >= v),
          number: after.length, foot: table.tFoot.rows.length};
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A running browser."""
    assert COMMAND is not None
    with browser(COMMAND, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.mark.parametrize("which", ["written", "hostile"])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_loaded_and_nothing_complains(
    page: Browser, request: pytest.FixtureRequest, which: str, dark: bool, width: int
) -> None:
    out: Path = request.getfixturevalue(which)
    for path in [out / "index.html", next((out / "teams").iterdir())]:
        page.open(path, width=width, dark=dark)
        assert page.said() == []
        assert page.requested() == [path.as_uri()]
        assert page.value("document.querySelectorAll('svg.chart').length") > 0
        assert page.value("getComputedStyle(document.body).backgroundColor") == (
            "rgb(21, 23, 26)" if dark else "rgb(255, 255, 255)"
        )


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_no_wider_than_its_window(page: Browser, written: Path, width: int) -> None:
    page.open(written / "index.html", width=width)
    assert page.value("document.documentElement.scrollWidth") <= width


def test_charts_take_the_page_s_colours(page: Browser, written: Path) -> None:
    bar = "getComputedStyle(document.querySelector('#figure-waterfall .mark-rect path')).fill"
    colours = set()
    for dark in (False, True):
        page.open(written / "index.html", dark=dark)
        colours.add(page.value(bar))
    assert colours == {"rgb(77, 77, 77)", "rgb(201, 201, 201)"}


def test_a_table_is_sorted_by_its_head_and_its_foot_stays(page: Browser, written: Path) -> None:
    page.open(written / "index.html")
    result = page.value(SORT)
    assert not result["same"]
    assert result["sorted"]
    assert result["number"] > 30
    assert result["foot"] == 1


def test_it_can_be_printed(page: Browser, written: Path) -> None:
    page.open(written / "index.html")
    paper = page.pdf()
    assert paper.startswith(b"%PDF")
    assert 3 <= paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") <= 40
