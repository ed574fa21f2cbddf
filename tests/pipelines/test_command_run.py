"""`plumbline run`: what it says about what it did."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from pipelines.commands.run import summary
from pipelines.config import load_config
from pipelines.landing import Landed
from pipelines.run import Outcome
from tests.pipelines.command import call, cluster, done, failed
from tests.pipelines.tiny_trace import FIRST_NS, put, trace, traced
from warehouse.engines.duckdb import CheckResult

DECEMBER = {
    "ChargePeriodStart": "2026-12-10T10:00:00Z", "ChargePeriodEnd": "2026-12-10T11:00:00Z",
    "BillingPeriodStart": "2026-12-01T00:00:00Z", "BillingPeriodEnd": "2027-01-01T00:00:00Z",
}  # fmt: skip


def test_what_is_new_is_read_once(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    first = call("run", config=config)
    assert "files: 4 files read (" in first.stdout
    assert "months: 2026-11 built, none unchanged" in first.stdout
    assert f"published: {tmp_path / 'out' / 'plumbline.duckdb'}" in first.stdout
    assert first.stderr.splitlines() == [
        "read bill.csv", "read inventory.csv", "read sacct.psv", "read teams.csv", "build 2026-11",
    ]  # fmt: skip
    second = call("run", config=config)
    assert "nothing new: no source file was read, no month rebuilt" in second.stdout
    assert second.stderr == ""


def test_a_second_run_of_the_recording_reads_nothing(demo: Path) -> None:
    assert "nothing new: no source file was read, no month rebuilt" in done("run", config=demo)


def test_only_what_is_touched_is_built(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=[{}, DECEMBER])
    assert "months: 2026-11, 2026-12 built, none" in done("run", config=config)
    cluster(tmp_path, lines=[{}, {**DECEMBER, "BilledCost": "21"}])
    text = done("run", "--month", "2026-12", config=config)
    assert "files: 1 file read (" in text
    assert ", 3 unchanged" in text
    assert "months: 2026-12 built, none unchanged" in text


def test_a_new_trace_builds_the_months_that_it_touches(tmp_path: Path) -> None:
    config = traced(tmp_path, lines=[{}, DECEMBER])
    assert "months: 2026-11, 2026-12 built, none" in done("run", config=config)
    put(tmp_path, "job_7/rank0_again.json", trace(rank=0, steps=(15, 16)))
    assert "months: 2026-11 built, 2026-12 unchanged" in done("run", config=config)
    put(tmp_path, "other.json", trace(at_ns=FIRST_NS + 30 * 86_400 * 10**9))
    assert "months: 2026-12 built, 2026-11 unchanged" in done("run", config=config)


def test_rejects_are_counted_with_the_way_to_see_them(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=[{}, {"BilledCost": "many"}])
    text = done("run", config=config)
    assert "rejects: 1 record could not be read" in text
    shown = done("sql", "select * from reject", config=config)
    assert "bill.csv" in shown
    assert "many" in shown


def test_a_bill_that_is_gone_takes_nothing_with_it_unless_told_to(tmp_path: Path) -> None:
    """A sync that failed leaves an empty folder: what is published must stand."""
    config = cluster(tmp_path)
    done("run", config=config)
    before = done("sql", "select * from gpu_hour_state", config=config)
    bill = (tmp_path / "bill.csv").read_bytes()
    (tmp_path / "bill.csv").unlink()
    for _ in range(2):
        error = failed("run", code=1, config=config)
        assert "source focus_csv: no file fits bill*.csv, and 1 of its files is in use" in error
        assert "plumbline run --forget" in error
        assert done("sql", "select * from gpu_hour_state", config=config) == before
    (tmp_path / "bill.csv").write_bytes(bill)
    assert "nothing new" in done("run", config=config)
    (tmp_path / "bill.csv").unlink()
    text = done("run", "--forget", config=config)
    assert "forgotten, since it is gone or no source names it: bill.csv" in text
    assert "removed, since no bill line touches it: month=2026-11" in text
    assert "no month is published: no bill line touches one" in text
    assert "plumbline.duckdb" not in text


def test_a_published_month_stays_while_its_bill_alone_is_gone(tmp_path: Path) -> None:
    """Another month's bill is there, so the source has files; December must not go silently."""
    config = cluster(tmp_path, lines=(DECEMBER,))
    (tmp_path / "bill.csv").rename(tmp_path / "bill-12.csv")
    cluster(tmp_path)
    assert "2026-11, 2026-12 built" in done("run", config=config)
    (tmp_path / "bill-12.csv").unlink()
    for _ in range(2):
        error = failed("run", code=1, config=config)
        assert "no bill line touches month=2026-12 any more, and it is published" in error
    months = "select distinct month from waste_team_month"
    assert "2026-12" in done("sql", months, config=config)
    text = done("run", "--forget", config=config)
    assert "removed, since no bill line touches it: month=2026-12" in text
    assert "2026-12" not in done("sql", months, config=config)


def test_a_folder_given_as_a_pattern(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    (tmp_path / "aws").mkdir()
    more = '[[source]]\nkind = "focus_csv"\nname = "aws"\nfiles = ["aws"]\n'
    config.write_text(config.read_text() + more)
    said = '"aws" is a folder; write files = ["aws/*"]'
    assert f"source aws: {said}" in done("run", config=config).splitlines()
    assert said in done("doctor", config=config)


def test_an_export_does_not_speak_of_what_came_after_it(tmp_path: Path) -> None:
    """`covers` may run ahead, so that nobody has to move it: a file speaks until it was written."""
    config = cluster(tmp_path)
    written = datetime(2026, 11, 10, 10, 45, tzinfo=UTC)
    os.utime(tmp_path / "sacct.psv", (written.timestamp(), written.timestamp()))
    done("run", config=config)
    ask = "select max(\"end\") as until from source_coverage where source = 'scheduler'"
    assert "10:45:00" in done("sql", ask, config=config)
    bucket = "select bucket, sum(gpu_ns) / 6e10 as minutes from gpu_hour_state group by 1"
    assert " 30.0" in done("sql", bucket, config=config).split("unallocated")[1].splitlines()[0]
    os.utime(tmp_path / "sacct.psv", (written.timestamp(), written.timestamp() + 86_400))
    assert "1 file read" in done("run", config=config)
    assert " 60.0" in done("sql", bucket, config=config).split("unallocated")[1].splitlines()[0]


def test_a_month_without_a_bill_is_an_error(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    error = failed("run", "--month", "2026-10", code=1, config=config)
    assert "no bill line touches 2026-10" in error
    assert "2026-11 built" in done("run", config=config)


def test_a_source_without_a_file_is_said(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    more = '[[source]]\nkind = "focus_csv"\nname = "aws"\nfiles = ["aws/*.csv", "a.csv"]\n'
    config.write_text(config.read_text() + more)
    first, second = done("run", config=config), done("run", config=config)
    for text in (first, second):
        assert "source aws: no file fits aws/*.csv, a.csv" in text.splitlines()
        assert text.count("no file fits") == 1


def test_warnings_are_said(tmp_path: Path) -> None:
    config = load_config(cluster(tmp_path))
    warning = CheckResult("efficiency_ladder", "ratios", "warning", False, 2, [{"team": "a"}])
    outcome = Outcome(Landed(read=["a"], rows={"bill_line": 1}), warnings=[warning])
    assert "warning: efficiency_ladder: ratios: 2 rows, such as team=a" in summary(outcome, config)
