"""Bugs that were reported to other readers of Slurm's accounting, each as a case of ours.

The number in a test's name counts these reports; the docstring names where they stand.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.jobs import sacct, scontrol
from ingest.jobs.slurm_text import duration_us, gpus, hosts
from warehouse.errors import ConfigError, SourceError

Tables = dict[str, list[dict[str, Any]]]
ReadBytes = Callable[..., Tables]
SacctRows = Callable[..., bytes]


def _jobs(tables: Tables) -> list[dict[str, Any]]:
    assert not tables["reject"]
    return tables["job_attempt"]


def test_01_only_typed_gpus_are_tracked(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """PrincetonUniversity/jobstats#53."""
    (job,) = _jobs(read_bytes(sacct.read, sacct_rows({"AllocTRES": "cpu=1,gres/gpu:a100=1"})))
    assert (job["gpu_count"], job["gpu_types"]) == (1, "a100=1")


def test_02_exclusive_jobs_hold_gpus_that_they_did_not_ask_for(
    read_bytes: ReadBytes, root: Path
) -> None:
    """PrincetonUniversity/jobstats#6, #14: ReqTRES has no GPU, AllocTRES has."""
    path = root / "tests" / "fixtures" / "slurm" / "v22.05" / "sacct_DX_epoch.psv"
    jobs = _jobs(read_bytes(sacct.read, path.read_bytes()))
    assert [job["gpu_count"] for job in jobs if job["job_name"] == "excl"] == [4]


def test_04_gpus_that_are_not_tracked_are_not_zero(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    """skypilot-org/skypilot#10285, #10319: no gres/gpu in AccountingStorageTRES."""
    tables = read_bytes(sacct.read, sacct_rows({"AllocTRES": "cpu=1,mem=1G"}))
    assert "gres/gpu" in tables["reject"][0]["reason"]
    assert any(row["is_cut"] for row in tables["source_coverage"])


def test_05_every_incarnation_of_a_requeued_job_is_kept(read_bytes: ReadBytes, root: Path) -> None:
    """troycomi/reportseff#25."""
    path = root / "tests" / "fixtures" / "slurm" / "v22.05" / "sacct_DX_epoch.psv"
    jobs = [j for j in _jobs(read_bytes(sacct.read, path.read_bytes())) if j["job_id"] == "23"]
    assert [job["state"] for job in jobs] == ["REQUEUED", "REQUEUED", "COMPLETED"]
    assert [int((j["end"] - j["start"]).total_seconds()) for j in jobs] == [25, 220, 2]
    assert len({job["submit"] for job in jobs}) == 3


def test_06_newlines_and_delimiters_lose_no_row(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    """troycomi/reportseff#63, eth-cscs/firecrest-v2#148."""
    columns = ("JobID", "JobName", "State", "Submit", "Start", "End", "SubmitLine", "AllocTRES",
               "NodeList")  # fmt: skip
    row = {"JobName": "a|b", "SubmitLine": "sbatch \\\n  --wrap 'x | y\n | z'"}
    jobs = _jobs(read_bytes(sacct.read, sacct_rows(row, {"SubmitLine": ""}, columns=columns)))
    assert [job["job_name"] for job in jobs] == ["a|b", "train"]


@pytest.mark.parametrize(
    "job_id",
    ["123456_[9201-10000%500]", "5_[60-89,91-94]", "5_[1%1]", "5_[4,6,8,10%2]", "5_[1-3,...]"],
)
def test_07_08_09_pending_arrays_hold_nothing(
    read_bytes: ReadBytes, sacct_rows: SacctRows, job_id: str
) -> None:
    """ycrc/seff-array#15, vpenso/prometheus-slurm-exporter#16, TUM-DAML/seml#28, reframe#3707."""
    row = {"JobIDRaw": "5", "JobID": job_id, "State": "PENDING", "Start": "Unknown",
           "End": "Unknown", "ElapsedRaw": "0", "NodeList": "None assigned"}  # fmt: skip
    (job,) = _jobs(read_bytes(sacct.read, sacct_rows(row)))
    assert (job["job_label"], job["gpu_count"], job["start"]) == (job_id, 0, None)


def test_10_het_jobs_and_interactive_steps(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """ALU-Schumacher/AUDITOR#1966, #1976: ids with +, an .interactive step without user."""
    data = sacct_rows(
        {"JobIDRaw": "16", "JobID": "16+0"},
        {"JobIDRaw": "16.interactive", "JobID": "16+0.interactive", "User": ""},
        {"JobIDRaw": "17", "JobID": "16+1"},
    )
    jobs = _jobs(read_bytes(sacct.read, data))
    assert [(j["job_id"], j["job_label"], j["is_interactive"]) for j in jobs] == [
        ("16", "16+0", True), ("17", "16+1", False),
    ]  # fmt: skip


def test_11_raw_ids_and_cancelled_by(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """snakemake/snakemake#2036, #2167."""
    data = sacct_rows({"JobIDRaw": "31", "JobID": "13_2", "State": "CANCELLED by 123"})
    (job,) = _jobs(read_bytes(sacct.read, data))
    assert (job["job_id"], job["job_label"], job["state"]) == ("31", "13_2", "CANCELLED")


def test_12_an_end_that_is_none(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """neilmunday/slurm-mail#62."""
    for word in ("None", "Unknown", "4294967294"):
        row = {"State": "RUNNING", "End": word}
        (job,) = _jobs(read_bytes(sacct.read, sacct_rows(row)))
        assert job["end"] is None


def test_13_14_times_without_a_zone_are_not_guessed(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    """ceems-dev/ceems#432, princeton-ddss/blackfish#487: local time read as UTC or as zero."""
    data = sacct_rows({"Submit": "2026-11-30T21:41:06", "Start": "Unknown", "End": "Unknown"})
    with pytest.raises(ConfigError, match="SLURM_TIME_FORMAT=%s sacct"):
        read_bytes(sacct.read, data)
    (job,) = _jobs(read_bytes(sacct.read, data, timezone="Europe/Helsinki"))
    assert job["submit"] == datetime(2026, 11, 30, 19, 41, 6, tzinfo=UTC)
    assert sacct.EXPORT.startswith("TZ=UTC SLURM_TIME_FORMAT=%s ")


def test_14_a_recycled_id_is_another_job(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """princeton-ddss/blackfish#484."""
    later = {"Submit": "1750000000", "Start": "1750000000", "End": "1750000100", "User": "bob"}
    jobs = _jobs(read_bytes(sacct.read, sacct_rows({}, later)))
    assert [(job["job_id"], job["user_name"]) for job in jobs] == [("7", "ann"), ("7", "bob")]


def test_15_a_job_across_midnight_is_whole(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """reframe-hpc/reframe#1083."""
    row = {"Submit": "2026-11-30T23:00:00", "Start": "2026-11-30T23:30:00",
           "End": "2026-12-01T00:30:00", "ElapsedRaw": "3600"}  # fmt: skip
    (job,) = _jobs(read_bytes(sacct.read, sacct_rows(row), timezone="Europe/Helsinki"))
    assert (job["end"] - job["start"]).total_seconds() == 3600


def test_16_new_states_and_lost_columns(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """ubccr/xdmod#1362 and OSC/ondemand#938: a state of tomorrow, a field that went away."""
    (job,) = _jobs(read_bytes(sacct.read, sacct_rows({"State": "EXPEDITING"})))
    assert job["state"] == "EXPEDITING"
    needed = ("JobID", "State", "Submit", "Start", "End", "AllocTRES", "NodeList")
    assert len(_jobs(read_bytes(sacct.read, sacct_rows({}, columns=needed)))) == 1
    with pytest.raises(SourceError, match="no column NodeList"):
        read_bytes(sacct.read, sacct_rows({}, columns=needed[:-1]))


def test_17_sockets_behind_a_count(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """basnijholt/slurm-usage#11: gpu:8(S:0-3) is 8."""
    assert gpus("gpu:8(S:0-3)").count == 8
    (job,) = _jobs(read_bytes(sacct.read, sacct_rows({"AllocTRES": "gpu:8(S:0-3)"})))
    assert job["gpu_count"] == 8


def test_18_ranges_with_commas() -> None:
    """soravux/scoop#26."""
    assert hosts("nodes[006,011]") == ["nodes006", "nodes011"]


def test_20_three_forms_of_a_duration() -> None:
    """apel/apel#160."""
    assert [duration_us(text) for text in ("1-02:03:04", "02:03:04", "03:04.5")] == [
        93_784_000_000, 7_384_000_000, 184_500_000,
    ]  # fmt: skip


def test_21_names_in_other_encodings(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    """OSC/ood_core#838."""
    data = sacct_rows({"JobName": "XX"}).replace(b"XX", "é".encode("latin-1"))
    assert _jobs(read_bytes(sacct.read, data))[0]["job_name"] == "\ufffd"


def test_22_23_steps_that_end_after_their_job_change_nothing(
    read_bytes: ReadBytes, sacct_rows: SacctRows, shared_data: Path
) -> None:
    """olcf/olcf-test-harness#252, and the midnight fixture of facebookresearch/gcm."""
    text = (shared_data / "slurm/public/sample-sacct-output-midnight-edge-case.txt").read_text()
    lines = [line.split("|") for line in text.splitlines()[1:]]
    rows = [
        {"JobID": i, "State": state, "Submit": start, "Start": start, "End": end}
        for i, state, start, end in lines
    ]
    columns = ("JobID", "State", "Submit", "Start", "End", "AllocTRES", "NodeList")
    data = sacct_rows(*rows, columns=columns)
    jobs = _jobs(read_bytes(sacct.read, data, timezone="America/Los_Angeles"))
    expected = [line for line in lines if "." not in line[0]]
    assert len(jobs) == len(expected) > 200
    assert jobs[0]["end"] == datetime(2021, 4, 8, 6, 59, 38, tzinfo=UTC)


def test_a_file_of_the_other_command_is_refused(read_bytes: ReadBytes) -> None:
    with pytest.raises(SourceError, match="names no column"):
        read_bytes(sacct.read, b"JobId=7 JobName=train\n")
    with pytest.raises(SourceError, match="JobId="):
        read_bytes(scontrol.read, b"JobID|State\n")
