"""Runs of the scheduler: the bytes of `plumbline run`, months that fail, what is recorded."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import dagster as dg
import pytest

from pipelines.config import Config, load_config
from pipelines.orchestration import report_assets
from pipelines.orchestration.partitions import BILLS
from pipelines.run import Outcome, open_store, run
from tests.pipelines.command import cluster
from tests.pipelines.orchestrated import checked, materialized, run_months
from tests.pipelines.published import Published, quiet, snapshot
from warehouse.errors import ConfigError

OCTOBER = {
    "ChargePeriodStart": "2026-10-10T10:00:00Z", "ChargePeriodEnd": "2026-10-10T11:00:00Z",
    "BillingPeriodStart": "2026-10-01T00:00:00Z", "BillingPeriodEnd": "2026-11-01T00:00:00Z",
}  # fmt: skip
LINES = [{}, OCTOBER]
TWICE = [{}, {"JobIDRaw": "8", "JobID": "8"}]  # two jobs on both GPUs at the same time


def tables(root: Path) -> dict[str, bytes]:
    """The bytes of all tables; the catalog holds the paths of its own warehouse."""
    kept = ("landing/", "mart/", "manifest.json")
    return {name: data for name, data in snapshot(root).items() if name.startswith(kept)}


def absent() -> None:
    raise ConfigError("charts need a package.")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dg.ExecuteInProcessResult]:
    """A cluster with two billed months, run by the scheduler over ninety days."""
    config = cluster(tmp_path_factory.mktemp("ran"), lines=LINES, jobs=[{}, {"Start": "soon"}])
    with pytest.MonkeyPatch.context() as patch:
        # The charts are tested where they are drawn; without their packages it is quicker.
        patch.setattr(report_assets, "require_packages", absent)
        return config, run_months(config, "2026-09-01", "2026-11-01")


def test_a_range_gives_the_bytes_of_the_command(
    ran: tuple[Path, dg.ExecuteInProcessResult], tmp_path: Path
) -> None:
    config, result = ran
    assert result.success
    outcome = run(replace(load_config(config), root=tmp_path), progress=quiet)
    assert outcome.built == [date(2026, 10, 1), date(2026, 11, 1)]
    assert tables(config.parent / "out") == tables(tmp_path) != {}


def test_ninety_days_are_one_run_of_the_months_that_they_touch(
    ran: tuple[Path, dg.ExecuteInProcessResult],
) -> None:
    found = materialized(ran[1])
    months = ["2026-09-01", "2026-10-01", "2026-11-01"]
    assert [p for name, p in found if name == "waste_team_month"] == months
    states = [found["int_state", month]["state"] for month in months]
    assert states == ["no bill line touches this month", *["built and published"] * 2]


def test_materialisations_say_rows_bytes_files_and_window(
    ran: tuple[Path, dg.ExecuteInProcessResult],
) -> None:
    config, result = ran
    found = materialized(result)
    published = Published(config.parent / "out")
    for name in ("allocation", "showback_team_month", "gpu_hour_state"):
        [row] = published.rows(f"select count(*) as n from {name} where month = '2026-11-01'")
        assert found[name, "2026-11-01"]["dagster/row_count"] == row["n"] > 0
    november = found["allocation", "2026-11-01"]
    assert november["window"] == "2026-11-01 to 2026-12-01, exclusive, UTC"
    assert november["files"] == 1
    assert november["bytes"] == Path(str(november["path"])).stat().st_size
    assert len(str(november["sql_hash"])) == 16
    assert found["int_state", "2026-11-01"]["dagster/row_count"] > 0  # type: ignore[operator]
    bills, jobs = found["bill_line", "2026-11-01"], found["job_attempt", None]
    assert (bills["dagster/row_count"], bills["rows_read"], bills["rejects"]) == (2, 2, 0)
    assert (jobs["dagster/row_count"], jobs["rejects"], jobs["source_files"]) == (1, 1, 1)
    assert found["reject", None]["dagster/row_count"] == 1


def test_each_published_month_has_its_report(ran: tuple[Path, dg.ExecuteInProcessResult]) -> None:
    config, result = ran
    found = materialized(result)
    assert found["report", "2026-09-01"] == {"state": "this month is not published"}
    folder = config.parent / "out" / "reports"
    assert sorted(path.name for path in folder.iterdir()) == ["2026-10", "2026-11"]
    november = found["report", "2026-11-01"]
    assert november["path"] == str(folder / "2026-11" / "index.html")
    assert november["files"] == sum(p.is_file() for p in (folder / "2026-11").rglob("*"))


def test_every_check_is_evaluated_and_warnings_warn(
    ran: tuple[Path, dg.ExecuteInProcessResult],
) -> None:
    found = checked(ran[1])
    bad = {key: value for key, value in found.items() if not value.passed}
    assert bad.keys() == {("bill_line", "billed"), ("reject", "readable")}
    assert {value.severity for value in bad.values()} == {dg.AssetCheckSeverity.WARN}
    assert "2026-09: no charge" in str(bad["bill_line", "billed"].metadata["such_as"].value)
    assert "sacct.psv" in str(bad["reject", "readable"].metadata["such_as"].value)
    assert found["gpu_sample", "fresh"].passed
    unique = found["allocation", "unique_key"]
    assert unique.blocking
    assert unique.metadata["months"].value == "2026-10, 2026-11"


def test_a_second_run_builds_nothing_and_still_knows(
    ran: tuple[Path, dg.ExecuteInProcessResult],
) -> None:
    config, _ = ran
    before = tables(config.parent / "out")
    only = ("bill_line", "stg_bill_line", "allocation")
    result = run_months(config, "2026-11-01", "2026-11-01", only=only)
    assert result.success
    assert tables(config.parent / "out") == before
    found = materialized(result)
    assert str(found["allocation", "2026-11-01"]["state"]).startswith("unchanged")
    assert found["allocation", "2026-11-01"]["dagster/row_count"]
    assert found["bill_line", "2026-11-01"]["rows_read"] == 0
    unique = checked(result)["allocation", "unique_key"]
    assert unique.passed
    assert "nothing that it was made from has changed" in str(unique.metadata["known_from"].value)


def test_a_blocking_check_stops_all_that_comes_after_it(
    ran: tuple[Path, dg.ExecuteInProcessResult], tmp_path: Path
) -> None:
    assert materialized(ran[1])["report", "2026-11-01"]["files"]
    config = cluster(tmp_path)
    run(load_config(config), progress=quiet)
    before = Published(tmp_path / "out").rows("select * from allocation order by all")
    marts = {k: v for k, v in tables(tmp_path / "out").items() if k.startswith("mart/")}
    cluster(tmp_path, jobs=TWICE)
    only = ("job_attempt", "stg_job_attempt", "int_hold", "showback_team_month", "report")
    result = run_months(config, "2026-11-01", "2026-11-01", only=only)
    assert not result.success
    assert {name for name, _ in materialized(result)} == {"job_attempt", *BILLS}
    assert not (tmp_path / "out" / "reports").exists()
    assert [key for key, value in checked(result).items() if not value.passed] == [
        ("int_hold", "chk_one_job_per_gpu")
    ]
    error = result.failure_data_for_node("build")
    assert error is not None
    assert "nothing of this month was published" in str(error.error)
    # the month is the old one, to the byte, and the catalog still answers
    assert marts == {k: v for k, v in tables(tmp_path / "out").items() if k.startswith("mart/")}
    assert Published(tmp_path / "out").rows("select * from allocation order by all") == before


def test_a_part_is_built_with_all_others_and_so_is_what_else_is_touched(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=LINES)
    only = ("team_map", "stg_team_map", "allocation")
    result = run_months(config, "2026-11-01", "2026-11-01", only=only, touched=True)
    assert [*open_store(load_config(config)).units("mart")] == ["month=2026-10", "month=2026-11"]
    found = materialized(result)
    # what was not chosen is recorded too
    for name in ("allocation", "int_state", "bill_line"):
        assert {p for n, p in found if n == name} == {"2026-10-01", "2026-11-01"}
    assert {name for name, _ in checked(result)} == {"allocation", "stg_team_map"}
    # without `touched` a run leaves other months alone, as `plumbline run --month` does
    cluster(tmp_path, lines=LINES, jobs=[{"Account": "sound"}])
    again = run_months(config, "2026-09-01", "2026-09-01", only=("job_attempt", "stg_job_attempt"))
    assert {name for name, _ in materialized(again)} == {"job_attempt", *BILLS}


def test_a_run_without_a_configuration_says_how_to_name_one() -> None:
    result = run_months("", "2026-11-01", "2026-11-01")
    assert not result.success
    error = result.failure_data_for_node("land")
    assert error is not None
    assert "PLUMBLINE_CONFIG=FILE" in str(error.error)


@pytest.mark.slow
def test_the_example_gives_the_bytes_of_the_command(
    demo: Path, recorded: tuple[Published, Outcome, Config], tmp_path: Path
) -> None:
    config = tmp_path / "home" / "plumbline.toml"
    shutil.copytree(demo.parent, config.parent, symlinks=True)
    line = next(line for line in demo.read_text().splitlines() if line.startswith("root ="))
    config.write_text(demo.read_text().replace(line, 'root = "../out"'))
    result = run_months(config, "2026-11-01", "2026-11-01")
    assert result.success
    assert tables(tmp_path / "out") == tables(recorded[2].root)
    assert [key for key, value in checked(result).items() if not value.passed] == []
