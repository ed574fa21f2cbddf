"""A report's folder appears whole or not at all, and replaces nothing but a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.published import Published as Marts
from pipelines.report_folder import write_folder
from reports.folder import folder
from tests.pipelines.command import call, done, failed
from tests.reports.conftest import NOVEMBER
from tests.reports.marts import Marts as Made
from tests.reports.marts import bill
from warehouse.errors import ConfigError


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def test_files_are_there_at_the_end_only(tmp_path: Path) -> None:
    out = tmp_path / "a" / "report"
    with folder(out) as target:
        target.put("index.html", b"1")
        target.put("csv/x.csv", b"2")
        assert not out.exists()
    assert files(out) == {"index.html": b"1", "csv/x.csv": b"2"}
    assert [p.name for p in out.parent.iterdir()] == ["report"]


def test_a_failure_leaves_the_old_report(tmp_path: Path) -> None:
    out = tmp_path / "report"
    with folder(out) as target:
        target.put("index.html", b"old")

    def fail() -> None:
        with folder(out) as target:
            target.put("index.html", b"new")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert files(out) == {"index.html": b"old"}
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def test_a_report_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "report"
    for name in ("teams/gone.html", "teams/there.html"):
        with folder(out) as target:
            target.put(name, b"x")
    assert set(files(out)) == {"teams/there.html"}


def test_a_folder_of_others_stays(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"thesis\.tex"), folder(tmp_path):
        raise AssertionError("not reached")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with pytest.raises(ConfigError, match="is no folder"), folder(tmp_path / "x"):
        raise AssertionError("not reached")


# --- the command ----------------------------------------------------------------------------------


def test_the_command_writes_and_says_where(demo: Path, tmp_path: Path, written: Path) -> None:
    out = tmp_path / "out"
    assert done("report", "--out", out, config=demo) == f"report: {out}/index.html\n"
    assert files(out) == files(written)


def test_a_team_s_report_is_its_own(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "serving"
    done("report", "--team", "serving", "--out", out, config=demo)
    found = files(out)
    assert "teams/serving.html" not in found
    assert b"GPU bill of serving" in found["index.html"]
    for name, data in found.items():
        if name.startswith("csv/"):
            assert b"foundation" not in data
            assert b"recsys" not in data
    assert b"foundation" not in found["index.html"]
    assert done("report", "--team", "serving", config=demo) == found["summary.txt"].decode()


def test_an_unknown_team_is_an_error_and_writes_nothing(demo: Path, tmp_path: Path) -> None:
    said = failed("report", "--team", "nobody", "--out", tmp_path / "o", code=1, config=demo)
    assert "team 'nobody' has no part of the bill of 2026-11; teams are foundation" in said
    assert list(tmp_path.iterdir()) == []


def test_plain_needs_no_further_package(
    marts: Marts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[report\]'.*--plain"):
        write_folder(marts, NOVEMBER, str(tmp_path / "a"))
    write_folder(marts, NOVEMBER, str(tmp_path / "b"), plain=True)
    found = files(tmp_path / "b")
    assert "index.html" in found
    assert not any(name.endswith(".xlsx") for name in found)
    assert b"<svg" not in found["index.html"]
    assert b'data-table="waste"' in found["index.html"]


def test_plain_says_how_out_writes(demo: Path) -> None:
    assert call("report", "--plain", config=demo).exit_code == 2


def test_the_month_before_is_compared_with(tmp_path: Path) -> None:
    from datetime import date

    from reports.write import write_report
    from tests.reports.dom import parse

    marts = Made(tmp_path)
    part = {"team": "a", "bucket": "compute", "waste_class": "useful"}
    bill(marts, [{**part, "usd": "110.25"}, {**part, "team": "b", "usd": "7"}])
    bill(marts, [{**part, "usd": "100"}, {**part, "team": "c", "usd": "9.5"}],
         month=date(2026, 10, 1))  # fmt: skip
    out = tmp_path / "report"
    with folder(out) as target:
        write_report(marts, NOVEMBER, target, previous=date(2026, 10, 1), plain=True)
    table = parse((out / "index.html").read_text()).tables["changes"]
    assert table.heads[-3:] == ["before USD", "now USD", "change USD"]
    assert [[row[0], *row[-3:]] for row in table.rows] == [
        ["a", "100.00", "110.25", "10.25"], ["c", "9.50", "0.00", "-9.50"],
        ["b", "0.00", "7.00", "7.00"],
    ]  # fmt: skip
    assert table.total is not None
    assert table.total[-3:] == ["109.50", "117.25", "7.75"]
    assert (out / "csv" / "changes.csv").read_text().splitlines()[1].endswith("10.250000000000")
