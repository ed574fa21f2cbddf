"""A month of 200 teams and 5,000 jobs: its report stays small and is made in good time."""

from __future__ import annotations

import resource
from decimal import Decimal
from pathlib import Path

import pytest

from reports.folder import folder
from reports.write import write_report
from tests.reports.dom import Page, Table, number, parse
from tests.reports.fleet import fleet
from tests.reports.marts import NOVEMBER, Marts

pytestmark = pytest.mark.slow

TEAMS, JOBS = 200, 5000
#: Two cores have 40 s of CPU in the 20 s that bench/report.py compares with. A core that is shared
#: with other work counts more, and this is no benchmark: it finds what has become much slower.
CPU_S = 80
MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def marts(tmp_path_factory: pytest.TempPathFactory) -> Marts:
    """The month's published tables."""
    return fleet(tmp_path_factory.mktemp("fleet"), teams=TEAMS, jobs=JOBS)


@pytest.fixture(scope="module")
def made(marts: Marts, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The report's folder, and the CPU seconds that it took with its helpers."""
    out = tmp_path_factory.mktemp("fleet-report") / "report"
    before = _cpu()
    with folder(out) as target:
        write_report(marts, NOVEMBER, target)
    return out, _cpu() - before


@pytest.fixture(scope="module")
def month(made: tuple[Path, float]) -> Page:
    """The month's page."""
    return parse((made[0] / "index.html").read_text(encoding="utf-8"))


def _cpu() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    helpers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + helpers.ru_utime + helpers.ru_stime


def test_it_has_not_become_much_slower(made: tuple[Path, float]) -> None:
    assert made[1] <= CPU_S


def test_every_page_stays_small(made: tuple[Path, float]) -> None:
    sizes = {path.name: path.stat().st_size for path in made[0].rglob("*.html")}
    assert len(sizes) == TEAMS + 1
    assert max(sizes.values()) < MOST_BYTES


def test_what_is_hidden_is_counted_and_adds_up(month: Page, marts: Marts) -> None:
    hidden = 0
    for table in month.tables.values():
        if table.rest is None:
            continue
        left = int(table.rest[0].split()[1].replace(",", ""))
        (row,) = marts.query(f"select count(*) as n from ({month.sql[table.name]})").to_pylist()
        assert len(table.rows) + left == row["n"], table.name
        hidden += left
        for at, cell in enumerate(table.total or []):
            if table.numeric[at] and cell:
                cells = [*(r[at] for r in table.rows), table.rest[at]]
                assert sum(number(c) for c in cells if c not in ("", "–")) == number(cell)
    assert hidden > 200_000


def test_classes_are_what_sql_says_to_the_cent(month: Page, marts: Marts) -> None:
    rows = marts.query(
        "select waste_class, sum(effective_usd) as usd from waste_team_month group by 1"
    ).to_pylist()
    shown = _column(month.tables["classes"], "class", "effective USD")
    for row in rows:
        assert abs(shown[row["waste_class"]] - row["usd"]) < Decimal("0.01")
        assert (
            month.tables["matrix"].number(f"{row['waste_class']} USD")
            == (shown[row["waste_class"]])
        )


def _column(table: Table, key: str, head: str) -> dict[str, Decimal]:
    cells = zip(table.column(key), table.column(head), strict=True)
    return {name: number(cell) for name, cell in cells}
