"""The report of the recorded example, written once for all tests of this room."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pipelines.config import Config
from pipelines.published import Published as Marts
from pipelines.report_folder import write_folder
from pipelines.run import Outcome
from tests.pipelines.conftest import demo, example, parsed_once, recorded
from tests.pipelines.published import Published
from tests.reports.dom import Page, parse

__all__ = ["demo", "example", "parsed_once", "recorded"]

NOVEMBER = date(2026, 11, 1)


@pytest.fixture(scope="session")
def marts(recorded: tuple[Published, Outcome, Config]) -> Marts:
    """The published tables of the example, as the report reads them."""
    return Marts(recorded[2])


@pytest.fixture(scope="session")
def written(marts: Marts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example's report."""
    out = tmp_path_factory.mktemp("report") / "2026-11"
    write_folder(marts, NOVEMBER, str(out))
    return out


@pytest.fixture(scope="session")
def month(written: Path) -> Page:
    """The month's page."""
    return parse((written / "index.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def teams(written: Path) -> dict[str, Page]:
    """Each team's page."""
    return {
        path.stem: parse(path.read_text(encoding="utf-8"))
        for path in sorted((written / "teams").glob("*.html"))
    }
