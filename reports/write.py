"""Writing a report: the month's page and one per team, CSV, XLSX and the short text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from datetime import date

from reports import exports, html, pages
from reports.charts import adopt, compiled
from reports.data import Data
from reports.folder import Target
from reports.listing import Reader
from reports.names import file_name
from reports.page import Page
from reports.specs import SPECS
from reports.summary import summary
from reports.warned import Warned
from warehouse.errors import ConfigError
from warehouse.workers import workers

#: From so many pages on, starting processes costs less than it saves.
MANY_PAGES = 12
_PIP = "pip install '.[report]'"


def write_report(
    reader: Reader, month: date, target: Target, *, previous: date | None = None,
    warnings: Sequence[Warned] = (), team: str | None = None, plain: bool = False,
) -> Data:  # fmt: skip
    """Write a month's report, or (`team`) one team's part of it, as its own report.

    `previous` is the month to compare with, `warnings` are checks that warned when the month was
    published. `plain` leaves out what needs further packages: charts
    and XLSX. Raises ConfigError for a team that has no part of the bill, and where a package is
    missing.
    """
    if not plain:
        require_packages()
    data = Data(reader, month, previous, warnings)
    if team is not None:
        require_team(data, team)
    teams = [] if team is not None else data.money.teams
    is_much = not plain and len(teams) >= MANY_PAGES
    charts = compiled() if is_much else {}
    with workers(len(teams), is_much=is_much, prepare=adopt, given=(charts,)) as pool:
        # Files and pages are made while the next page is put together, the files first: they need
        # no more than their table, and pages come one by one.
        tables = {name: data.everything(name, team) for name in data.files(team)}
        made: dict[str, Future[bytes]] = {
            f"csv/{name}.csv": pool.submit(exports.to_csv, table) for name, table in tables.items()
        }
        if not plain:
            sheets = [(name, SPECS[name], table) for name, table in tables.items()]
            made[f"plumbline-{month:%Y-%m}.xlsx"] = pool.submit(
                exports.to_xlsx, sheets, month=month
            )
        del tables
        for path, page, home in _pages(data, team, teams):
            made[path] = pool.submit(html.encoded, page, charts=not plain, home=home)
        for path, content in made.items():
            target.put(path, content.result())
    target.put("summary.txt", summary(data, team).encode("utf-8"))
    return data


def require_team(data: Data, team: str) -> None:
    """Raise ConfigError where the team has no part of the month's bill."""
    if team not in data.money.teams:
        raise ConfigError(
            f"team {team!r} has no part of the bill of {data.month:%Y-%m}; teams are "
            f"{', '.join(data.money.teams)}."
        )


def require_packages() -> None:
    """Raise ConfigError where the packages for charts and XLSX are not installed."""
    from importlib.util import find_spec

    missing = [name for name in ("altair", "vl_convert", "xlsxwriter") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"charts and XLSX need {', '.join(missing)}, which {_be(missing)} not installed. Run "
            f"`{_PIP}` in the checkout, or give --plain for a report without them."
        )


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _pages(data: Data, team: str | None, teams: Sequence[str]) -> Iterator[tuple[str, Page, str]]:
    """Each page with its path, and the way from there to the report's folder."""
    if team is not None:
        yield "index.html", pages.team_page(data, team), ""
        return
    yield "index.html", pages.month_page(data), ""
    for name in teams:
        yield f"teams/{file_name(name)}.html", pages.team_page(data, name), "../"
