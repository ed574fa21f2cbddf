"""Writing a report: the month's page and one per team, CSV, XLSX and the short text."""

from __future__ import annotations

from datetime import date

from reports import drawing, exports, html, pages
from reports.data import Data
from reports.folder import Target
from reports.listing import Reader
from reports.names import file_name
from reports.page import Page
from reports.specs import SPECS
from reports.summary import summary
from warehouse.errors import ConfigError

_PIP = "pip install 'plumbline[report]'"


def write_report(
    reader: Reader, month: date, target: Target, *, previous: date | None = None,
    team: str | None = None, plain: bool = False,
) -> Data:  # fmt: skip
    """Write a month's report, or (`team`) one team's part of it, as its own report.

    `previous` is the month to compare with. `plain` leaves out what needs further packages: charts
    and XLSX. Raises ConfigError for a team that has no part of the bill, and where a package is
    missing.
    """
    if not plain:
        require_packages()
    data = Data(reader, month, previous)
    if team is not None:
        require_team(data, team)
    made = _pages(data, team)
    figures = [f for page in made.values() for section in page.sections for f in section.figures]
    drawn = {} if plain else drawing.draw(figure.drawing for figure in figures)
    for path, page in made.items():
        text = html.render(page, drawn, home="../" if "/" in path else "")
        target.put(path, text.encode("utf-8"))
    tables = {name: data.everything(name, team) for name in data.files(team)}
    for name, table in tables.items():
        target.put(f"csv/{name}.csv", exports.to_csv(table))
    if not plain:
        sheets = [(name, SPECS[name].caption, table) for name, table in tables.items()]
        target.put(f"plumbline-{month:%Y-%m}.xlsx", exports.to_xlsx(sheets, month=month))
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
            f"charts and XLSX need {', '.join(missing)}, which is not installed. Run "
            f"`{_PIP}`, or give --plain for a report without them."
        )


def _pages(data: Data, team: str | None) -> dict[str, Page]:
    if team is not None:
        return {"index.html": pages.team_page(data, team)}
    return {
        "index.html": pages.month_page(data),
        **{f"teams/{file_name(name)}.html": pages.team_page(data, name)
           for name in data.money.teams},
    }  # fmt: skip
