"""The example's report: what stands on its pages is what the published tables say."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from pathlib import Path

import pytest

from pipelines.published import Published as Marts
from pipelines.report_folder import write_folder
from reports.specs import FILES, SPECS
from tests.reports.conftest import NOVEMBER
from tests.reports.dom import Element, Page, Table, number
from tests.reports.golden import golden

UNIT = Decimal("0.0001")


def test_the_folder_has_its_files(written: Path, marts: Marts) -> None:
    found = {path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file()}
    teams = {row["team"] for row in marts.query("select team from showback_team_month").to_pylist()}
    assert found == {
        "index.html", "summary.txt", "plumbline-2026-11.xlsx",
        *(f"teams/{team}.html" for team in teams),
        *(f"csv/{name}.csv" for name in FILES if name != "changes"),
    }  # fmt: skip


def test_a_second_report_has_equal_bytes(written: Path, marts: Marts, tmp_path: Path) -> None:
    again = tmp_path / "again"
    write_folder(marts, NOVEMBER, str(again))
    for path in written.rglob("*"):
        if path.is_file():
            assert (again / path.relative_to(written)).read_bytes() == path.read_bytes(), path


def test_the_short_text(written: Path) -> None:
    text = (written / "summary.txt").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 25
    golden("summary.txt", text)


def test_the_text_of_the_month(month: Page) -> None:
    golden("month.txt", "\n".join(_walk(month)) + "\n")


def _walk(page: Page) -> list[str]:
    found: list[str] = []

    def go(element: object) -> None:
        assert isinstance(element, Element)
        if element.tag in ("style", "script", "pre", "svg"):
            return
        if element.tag == "tr":
            found.append(" | ".join(c.text for c in element.children if isinstance(c, Element)))
        elif element.tag in ("h1", "h2", "p", "caption", "figcaption", "li", "dt", "dd", "summary"):
            found.append(f"{element.tag}: {element.text}")
        else:
            for child in element.children:
                if not isinstance(child, str):
                    go(child)

    go(page.root.all("body")[0])
    return found


# --- totals are the published ones ----------------------------------------------------------------


def asked(marts: Marts, sql: str) -> Decimal:
    """The one number that `plumbline sql` gives."""
    (row,) = marts.query(sql).to_pylist()
    (value,) = row.values()
    return Decimal(value or 0)


@pytest.mark.parametrize(
    ("table", "head", "sql"),
    [
        ("invoices", "billed USD", "select sum(billed_usd) from recon_invoice"),
        ("invoices", "allocated USD", "select sum(billed_usd) from allocation"),
        ("lines", "billed USD", "select sum(billed_usd) from bill_line"),
        ("showback", "billed USD", "select sum(billed_usd) from showback_team_month"),
        ("showback", "tax USD", "select sum(tax_usd) from showback_team_month"),
        ("matrix", "all USD", "select sum(effective_usd) from allocation"),
        ("matrix", "strict USD",
         "select sum(effective_usd) from allocation where waste_class = 'strict'"),
        ("classes", "effective USD", "select sum(effective_usd) from allocation"),
        ("waste", "effective USD", "select sum(effective_usd) from waste_team_month"),
        ("buckets", "effective USD", "select sum(effective_usd) from gpu_hour_state"),
        ("jobs", "billed USD", "select sum(billed_usd) from job_cost"),
        ("kernels", "loaded USD", "select sum(billed_usd) from job_cost"),
        ("kernels_all", "direct USD", "select sum(direct_usd) from kernel_cost"),
        ("split_all", "billed USD",
         "select sum(billed_usd) from gpu_hour_state where bucket = 'compute'"),
        ("idle", "billed USD",
         "select sum(billed_usd) from gpu_hour_state where bucket = 'idle_held'"),
        ("stragglers", "its cost USD", "select sum(wait_caused_usd) from straggler_rank"),
    ],
)  # fmt: skip
def test_totals_are_what_sql_says(
    month: Page, marts: Marts, table: str, head: str, sql: str
) -> None:
    assert abs(month.tables[table].number(head) - asked(marts, sql)) <= UNIT / 2


@pytest.mark.parametrize("name", ["useful", "step", "overhead", "strict"])
def test_a_class_is_the_same_number_everywhere(month: Page, marts: Marts, name: str) -> None:
    row = next(row for row in month.tables["classes"].rows if row[0] == name)
    shown = number(row[month.tables["classes"].heads.index("effective USD")])
    assert shown == month.tables["matrix"].number(f"{name} USD")
    for table in ("waste", "buckets"):
        of_class = zip(
            month.tables[table].column("class"), month.tables[table].column("effective USD"),
            strict=True,
        )  # fmt: skip
        assert sum(number(cell) for own, cell in of_class if own == name) == shown
    exact = asked(marts, f"select sum(effective_usd) from allocation where waste_class = '{name}'")
    assert abs(shown - exact) < UNIT


def sums_up(table: Table, head: str) -> None:
    at = table.heads.index(head)
    if table.total is None or not table.numeric[at] or not table.total[at]:
        return
    cells = [row[at] for row in [*table.rows, *([table.rest] if table.rest else [])]]
    assert sum(number(cell) for cell in cells if cell not in ("", "–")) == number(table.total[at])


def test_every_total_is_the_sum_of_what_is_shown(month: Page, teams: dict[str, Page]) -> None:
    checked = 0
    for page in (month, *teams.values()):
        for table in page.tables.values():
            for head in table.heads:
                sums_up(table, head)
                checked += table.total is not None and bool(table.total[table.heads.index(head)])
    assert checked > 100


def test_showback_parts_add_up_to_billed(month: Page) -> None:
    table = month.tables["showback"]
    for row in [*table.rows, table.total]:
        assert row is not None
        direct, shared, tax, credit, billed = (number(cell) for cell in row[1:6])
        assert direct + shared + tax + credit == billed


def test_team_pages_add_up_to_the_month(month: Page, teams: dict[str, Page]) -> None:
    shown = dict(zip(month.tables["matrix"].column("team"),
                     month.tables["matrix"].column("all USD"), strict=True))  # fmt: skip
    assert set(shown) == set(teams)
    for team, page in teams.items():
        classes = page.tables["team_classes"]
        cells = classes.column("effective USD")
        assert sum(number(cell) for cell in cells) == number(shown[team])


def test_the_platform_stands_beside_a_team_and_in_none_of_its_numbers(
    month: Page, teams: dict[str, Page]
) -> None:
    for team, page in teams.items():
        beside = [s for s in page.root.all("section") if "beside" in s.classes()]
        assert len(beside) == (0 if team == "platform" else 1)
        own = [row for row in month.tables["waste"].rows if row[0] == team]
        assert [row[1:] for row in own] == page.tables["waste"].rows


# --- each table says how to get the same rows -----------------------------------------------------


def test_the_sql_beside_a_table_gives_its_rows(
    month: Page, teams: dict[str, Page], marts: Marts
) -> None:
    for page in (month, teams["foundation"]):
        assert len(page.sql) > 10
        for name, sql in page.sql.items():
            rows = marts.query(sql)
            if name not in SPECS or name not in page.tables:
                assert name in ("matrix", "platform") or rows.num_rows == 0
                continue
            table = page.tables[name]
            hidden = int(table.rest[0].split()[1].replace(",", "")) if table.rest else 0
            assert rows.num_rows == len(table.rows) + hidden, name
            for col in SPECS[name].columns:
                head = f"{col.head} USD" if col.kind == "usd" else ""
                if head in table.heads and table.total and col.summed:
                    exact = sum((v for v in rows.column(col.key).to_pylist() if v), Decimal(0))
                    assert abs(table.number(head) - exact) < UNIT, (name, head)


def test_csv_holds_the_exact_rows(written: Path, marts: Marts, month: Page) -> None:
    with (written / "csv" / "waste.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(Decimal(row["effective_usd"]) for row in rows) == asked(
        marts, "select sum(effective_usd) from allocation"
    )
    for name in FILES:
        path = written / "csv" / f"{name}.csv"
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                number_of_rows = sum(1 for _ in csv.reader(file)) - 1
            sql = month.sql.get(name)
            if sql is not None:
                assert number_of_rows == marts.query(sql).num_rows


def test_the_page_shows_what_the_recording_is_about(month: Page) -> None:
    late = month.tables["stragglers"].rows[0]
    assert late[1:4] == ["h200/2002", "1", "GPU-d7611478"]
    pictures = [svg.all("title")[0].text for svg in month.root.all("svg")]
    assert any("Ranks of job h200/2002" in title for title in pictures)
    ladder = {row[1]: row for row in month.tables["ladder"].rows if row[2] == "–"}
    spin = ladder["h200/1006"]
    heads = month.tables["ladder"].heads
    assert Decimal(spin[heads.index("GPU-Util %")]) > 95
    assert Decimal(spin[heads.index("SM active %")]) < 1
    unfit = {row[1] for row in month.tables["rank_steps"].rows if row[-1] == "yes"}
    assert unfit == {"h200/1004", "h200/2001", "h200/2003"}
    steps = [f.all("figcaption")[0].text for f in month.root.all("figure")]
    assert any(re.search(r"2001.*unfit.*dashed", text) for text in steps)
