"""`plumbline doctor`: each thing that may be missing, how it is said, and the exit code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.registry import KINDS
from pipelines.config import Config, load_config
from pipelines.doctor import Diagnosis, diagnose, render
from pipelines.doctor_findings import gaps, policies
from pipelines.terminal import console, write
from tests.pipelines.command import CONFIG, call, cluster, done, failed
from tests.pipelines.test_command_run import DECEMBER

NOW = datetime(2026, 12, 1, tzinfo=UTC)
COUNTERS = """
[[source]]
kind = "nvml_csv"
cluster = "c1"
node = "n1"
gpu_uuid = "GPU-a"
files = ["counters.csv"]
"""
STEP = (
    '{"job_id": "7", "attempt": 0, "rank": 0, "step": 1, "start_ns": 1794304900000000000, '
    '"end_ns": 1794304901000000000}\n'
)
POLICY = """
[[policy]]
kind = "reserve"
owner = "ann"
node = "n1"
start = 2026-11-01T00:00:00Z
end = 2026-12-01T00:00:00Z
"""

Diagnose = Callable[..., Diagnosis]


@pytest.fixture
def diagnosed(tmp_path: Path) -> Diagnose:
    """Write a cluster, run it, diagnose it."""

    def run(files: Mapping[str, str] | None = None, **parts: Any) -> Diagnosis:
        for name, text in (files or {}).items():
            (tmp_path / name).write_text(text)
        path = cluster(tmp_path, **parts)
        done("run", config=path)
        return diagnose(load_config(path), now=NOW)

    return run


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The mini cluster as it is, after a run."""
    path = cluster(tmp_path_factory.mktemp("plain"))
    done("run", config=path)
    return load_config(path)


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """A second instance that nobody can count, bad lines, and names that map to nothing."""
    path = cluster(
        tmp_path_factory.mktemp("messy"),
        lines=[
            {},
            {"ResourceId": "i-2", "SkuPriceDetails": '{"InstanceType": "x9.huge"}'},
            {"ResourceId": "", "SkuPriceDetails": '{"InstanceType": "p5.48xlarge"}'},
            {"ResourceId": "", "SkuPriceDetails": "", "Tags": '{"team": "[b]ghost"}'},
            {"BilledCost": "many"},
            {"BilledCost": "[red]"},
        ],
        gpus=[
            {},
            {"gpu_uuid": "GPU-b", "gpu_index": "1"},
            {"gpu_uuid": "GPU-c", "resource_id": "i-2", "node": "n2", "gpu_model": "NVIDIA X9"},
        ],
        jobs=[{"Account": "[red]x[/red]\x1b[31m"}],
        teams=[],
        config=CONFIG + POLICY,
    )
    done("run", config=path)
    return diagnose(load_config(path), now=NOW)


def rows(diagnosis: Diagnosis, title: str) -> list[tuple[str, str]]:
    """The rows of the findings whose title has these words."""
    return [row for finding in diagnosis.findings if title in finding.title for row in finding.rows]


def test_nothing_is_missing_of_the_recording(demo: Path) -> None:
    text = done("doctor", "--strict", config=demo)
    assert "Nothing is missing." in text
    assert "not configured" not in text
    assert "Evidence of 2026-11, by billed GPU-time: E0 " in text
    states = {state.name: state for state in diagnose(load_config(demo), now=NOW).sources}
    assert states.keys() >= {"bill", "slurm", "steps", "counters-two-1"}
    steps, counters, slurm = states["steps"], states["counters-two-1"], states["slurm"]
    assert (steps.found, steps.read, steps.rows, steps.rejects) == (19, 19, 9495, 0)
    assert counters.rows == 1685
    assert slurm.covers == (
        datetime(2026, 11, 30, 21, 30, tzinfo=UTC), datetime(2026, 11, 30, 21, 45, tzinfo=UTC),
    )  # fmt: skip
    assert all(state.read_on is not None for state in states.values())


def test_before_anything_is_configured(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    path.write_text('[warehouse]\nroot = "out"\n')
    text = done("doctor", config=path)
    needed = [kind for kind in KINDS.values() if kind.is_needed]
    assert [kind.name for kind in needed] == ["focus_csv", "gpu_inventory", "sacct", "team_map"]
    for kind in needed:
        assert f"{kind.name}: not configured" in text
        assert kind.export.strip().splitlines()[0].split()[0] in text
    for kind in KINDS.values():
        if kind.instead_of is None:
            assert " ".join(kind.gives.split()) in " ".join(text.split())
            assert (f"{kind.name}: not configured" in text) == kind.is_needed
    assert "No month is published yet: run `plumbline run`" in text
    assert "kineto or nsys" in text
    assert f"{len(needed)} things are missing" in text
    assert call("doctor", "--strict", config=path).exit_code == 1
    assert not (tmp_path / "out").exists()


def test_a_kind_is_not_missing_where_another_stands_in_for_it(plain: Config) -> None:
    def unconfigured(config: Config) -> set[str]:
        return {s.kind.name for s in diagnose(config, now=NOW).sources if s.name is None}

    assert "kineto" in unconfigured(plain)
    assert "nsys" not in unconfigured(plain)
    source = replace(plain.sources[0], name="nsight", kind="nsys", patterns=("*.sqlite",))
    config = replace(plain, sources=(*plain.sources, source))
    assert unconfigured(plain) - unconfigured(config) == {"kineto"}


def test_files_that_are_not_there_or_not_read(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    (tmp_path / "teams.csv").unlink()
    states = {s.kind.name: s.problem for s in diagnose(load_config(config), now=NOW).sources}
    assert states["focus_csv"] == "1 files not read yet: plumbline run"
    assert states["team_map"] == "no file fits teams.csv"
    assert states["nvml_csv"] == ""
    assert "team_map: no file fits teams.csv" in done("doctor", config=config)


def test_without_an_inventory_one_thing_is_missing(diagnosed: Diagnose) -> None:
    """Not also each resource and each job that it would name."""
    config = CONFIG.replace('kind = "gpu_inventory"\nfiles = ["inventory.csv"]', "", 1)
    config = config.replace("[[source]]\n\n", "", 1)
    found = diagnosed(config=config)
    assert found.missing == 1
    assert [s.kind.name for s in found.sources if s.problem] == ["gpu_inventory"]


def test_a_scheduler_export_without_covers_is_told(diagnosed: Diagnose) -> None:
    config = CONFIG.replace("covers =", "#covers =")
    (row,) = rows(diagnosed(config=config), "do not say for which time")
    assert row == ("sacct", "no covers, so it speaks for no time at all: its rows prove none")
    jobs = [{}, {"JobIDRaw": "8", "JobID": "8", "Start": "1794307200", "End": "1794308400"}]
    (row,) = rows(diagnosed(config=config, jobs=jobs), "do not say for which time")
    assert row[1].endswith("speaks for 2026-11-10 10:30:00 to 2026-11-10 10:40:00 UTC, "
                           "which its rows prove")  # fmt: skip


def test_an_export_that_is_older_than_its_covers_is_told(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    assert not rows(diagnose(load_config(config), now=NOW), "older than the end of")
    at = datetime(2026, 11, 10, 11, tzinfo=UTC).timestamp()
    os.utime(tmp_path / "sacct.psv", (at, at))
    (row,) = rows(diagnose(load_config(config), now=NOW), "older than the end of")
    assert row == ("sacct", "covers ends 2026-11-11 00:00:00 UTC, its newest file was written "
                            "2026-11-10 11:00:00 UTC")  # fmt: skip


def test_checks_that_warned_are_told(diagnosed: Diagnose) -> None:
    """A step log under a misspelt cluster proves nothing; the sums hold all the same."""
    steps = '\n[[source]]\nkind = "step_log"\ncluster = "C1"\nfiles = ["steps.jsonl"]\n'
    found = diagnosed(config=CONFIG + steps, files={"steps.jsonl": STEP})
    (row,) = rows(found, "checks that warn in 2026-11")
    assert row[0] == "chk_step_has_attempt"
    assert row[1].startswith("1 rows, such as cluster=C1, job_id=7, step_count=1: a job that logs")
    assert found.missing == 1


def test_what_is_read_and_what_it_speaks_for(plain: Config) -> None:
    states = {state.kind.name: state for state in diagnose(plain, now=NOW).sources}
    assert (states["sacct"].rows, states["sacct"].problem) == (1, "")
    assert states["sacct"].covers == (
        datetime(2026, 11, 10, tzinfo=UTC), datetime(2026, 11, 11, tzinfo=UTC),
    )  # fmt: skip
    assert states["gpu_inventory"].covers == (None, None)


def test_what_is_well_is_not_said(plain: Config) -> None:
    titles = [finding.title for finding in diagnose(plain, now=NOW).findings]
    assert titles == ["GPU-time of 2026-11 that nothing explains"]


def test_a_gpu_count_that_nobody_knows(messy: Diagnosis) -> None:
    assert rows(messy, "GPU count") == [
        ("p5.48xlarge on no resource", "1 lines, 20.00 USD"),
        ("x9.huge on i-2", "1 lines, 20.00 USD"),
    ]


def test_instance_types_that_the_seed_does_not_know(messy: Diagnosis) -> None:
    assert rows(messy, "instance types") == [("x9.huge", "1 lines, 20.00 USD")]


def test_rejects_by_file_with_their_first_reason(messy: Diagnosis) -> None:
    ((file, detail),) = rows(messy, "rejected records")
    assert file == "bill.csv"
    assert detail.startswith("2 records, the first at line 6: ")
    (bill,) = [s for s in messy.sources if s.kind.name == "focus_csv"]
    assert (bill.rejects, bill.problem) == (2, "2 rejects")


def test_accounts_and_tags_without_a_team(messy: Diagnosis) -> None:
    found = dict(rows(messy, "map to no team"))
    assert found.keys() == {"account [red]x[/red]\x1b[31m", "bill tag [b]ghost"}
    assert found["bill tag [b]ghost"] == "1 lines, 20.00 USD"
    assert found["account [red]x[/red]\x1b[31m"].startswith("1 attempts, ")


def test_a_model_without_a_peak(messy: Diagnosis, plain: Config) -> None:
    assert rows(messy, "dense peak") == [("NVIDIA X9", "1 GPUs")]
    fp4 = diagnose(replace(plain, settings={"mfu_dtype": "fp4"}), now=NOW)
    assert rows(fp4, "dense peak") == [("NVIDIA H200", "2 GPUs")]


def test_names_are_shown_as_they_are(messy: Diagnosis, capsys: pytest.CaptureFixture[str]) -> None:
    write(console(), render(messy))
    text = capsys.readouterr().out
    assert "account [red]x[/red]\\u001b[31m: 1 attempts" in text
    assert "bill tag [b]ghost" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (datetime(2026, 11, 20, tzinfo=UTC), [("reserve of ann on n1", "ends 2026-12-01")]),
        (datetime(2026, 12, 20, tzinfo=UTC), [("reserve of ann on n1", "ended 2026-12-01")]),
        (datetime(2026, 10, 1, tzinfo=UTC), []),
        (datetime(2027, 3, 1, tzinfo=UTC), []),
    ],
)
def test_policies_about_to_end(now: datetime, said: list[tuple[str, str]]) -> None:
    end = datetime(2026, 12, 1, tzinfo=UTC)
    found = policies([{"subject": "reserve of ann on n1", "end": end}], now)
    assert found == [(subject, f"{detail} 00:00:00 UTC") for subject, detail in said]


def test_a_policy_of_the_configuration_is_found(messy: Diagnosis) -> None:
    assert rows(messy, "policy") == [("reserve of ann on n1", "ended 2026-12-01 00:00:00 UTC")]


def test_gpus_without_samples_and_samples_without_gpus(diagnosed: Diagnose, tmp_path: Path) -> None:
    lines = [f"{1794304800_000000000 + i * 10**9},50,50" for i in range(60)]
    (tmp_path / "counters.csv").write_text(
        "\n".join(["ts_ns,gpu_util_pct,gpm_graphics_util", *lines]) + "\n"
    )
    diagnosis = diagnosed(
        config=CONFIG + COUNTERS, gpus=[{"gpu_uuid": "GPU-b"}, {"gpu_uuid": "GPU-c",
                                                               "gpu_index": "1"}],
    )  # fmt: skip
    assert rows(diagnosis, "inventory and samples") == [
        ("GPU-a", "has samples, but is not in the inventory"),
        ("GPU-b", "is in the inventory (n1), but has no sample"),
        ("GPU-c", "is in the inventory (n1), but has no sample"),
    ]


def test_jobs_of_which_not_every_gpu_is_known(diagnosed: Diagnose) -> None:
    half = diagnosed(jobs=[{"AllocTRES": "gres/gpu=1"}])
    assert rows(half, "not every GPU") == [("c1/7", "held 1 GPUs, of which 0 are known and billed")]
    more = diagnosed(jobs=[{"AllocTRES": "gres/gpu=4", "NodeList": "n[1-2]"}])
    ((job, detail),) = rows(more, "not every GPU")
    assert job.startswith("c1/7")
    assert detail.startswith("held 4 GPUs")
    pending = diagnosed(jobs=[{"State": "PENDING", "Start": "Unknown", "End": "Unknown"}])
    assert rows(pending, "not every GPU") == []


def test_months_without_a_bill(diagnosed: Diagnose) -> None:
    october = {name: value.replace("2026-12", "2026-09").replace("2027-01", "2026-10")
               for name, value in DECEMBER.items()}  # fmt: skip
    diagnosis = diagnosed(lines=[october, {}])
    assert rows(diagnosis, "months without a bill") == [("2026-10", "no bill line begins in it")]
    assert diagnosis.published == [date(2026, 9, 1), date(2026, 11, 1)]


def test_months_that_are_read_but_not_published(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=[{}, DECEMBER])
    done("run", "--month", "2026-11", config=config)
    diagnosis = diagnose(load_config(config), now=NOW)
    assert rows(diagnosis, "not published") == [("2026-12", "has bill lines")]


def test_time_that_nothing_explains(plain: Config) -> None:
    (note,) = [f for f in diagnose(plain, now=NOW).findings if "nothing explains" in f.title]
    assert note.rows == [("not_observed, cause telemetry", "1.0000 GPU-h, 10.00 USD")]
    assert note.level == "note"


def test_strict_fails_for_what_is_missing_not_for_notes(plain: Config, tmp_path: Path) -> None:
    """Nor for sources that would only prove more."""
    diagnosis = diagnose(plain, now=NOW)
    assert [finding.level for finding in diagnosis.findings] == ["note"]
    assert diagnosis.missing == 0
    assert "Nothing is missing." in done("doctor", "--strict", config=plain.path)
    less = cluster(tmp_path, teams=[])
    done("run", config=less)
    assert "1 thing is missing." in done("doctor", config=less)
    assert call("doctor", "--strict", config=less).exit_code == 1


def test_it_reads_no_source_and_writes_nothing(plain: Config, tmp_path: Path) -> None:
    shutil.copytree(plain.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "sacct.psv").write_bytes(b"\xff\xfe")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done("doctor", config=tmp_path / "plumbline.toml")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_damaged_warehouse_is_one_message(plain: Config, tmp_path: Path) -> None:
    shutil.copytree(plain.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out" / "manifest.json").write_text("{")
    error = failed("doctor", code=1, config=tmp_path / "plumbline.toml")
    assert "manifest.json is damaged" in error


@pytest.mark.parametrize(
    ("months", "missing"),
    [
        ([], []),
        ([(2026, 1)], []),
        ([(2026, 1), (2026, 2)], []),
        ([(2025, 11), (2026, 2), (2026, 4)], [(2025, 12), (2026, 1), (2026, 3)]),
    ],
)
def test_gaps(months: list[tuple[int, int]], missing: list[tuple[int, int]]) -> None:
    assert gaps([date(y, m, 1) for y, m in months]) == [date(y, m, 1) for y, m in missing]
