"""sacct to job attempts: what the real outputs hold, what a row says, what a bad row costs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.jobs import sacct
from warehouse.errors import ConfigError, SourceError

Tables = dict[str, list[dict[str, Any]]]
ReadBytes = Callable[..., Tables]
SacctRows = Callable[..., bytes]
T0 = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)  # epoch 1700000000


def _at(seconds: int) -> datetime:
    return T0 + timedelta(seconds=seconds)


def _cuts(tables: Tables) -> list[dict[str, Any]]:
    return [row for row in tables["source_coverage"] if row["is_cut"]]


def _covered(tables: Tables) -> list[tuple[Any, ...]]:
    rows = [row for row in tables["source_coverage"] if not row["is_cut"]]
    return [(row["cluster"], row["start"], row["end"]) for row in rows]


@pytest.fixture
def v22(root: Path) -> Path:
    return root / "tests" / "fixtures" / "slurm" / "v22.05"


def test_gpu_seconds_equal_what_slurmdbd_reports(read_bytes: ReadBytes, v22: Path) -> None:
    tables = read_bytes(sacct.read, (v22 / "sacct_DX_epoch.psv").read_bytes(), cluster=None)
    assert len(tables["job_attempt"]) == 51
    assert not tables["reject"]
    hour_end = datetime(2026, 11, 30, 22, tzinfo=UTC)
    used: Counter[tuple[str, str]] = Counter()
    for job in tables["job_attempt"]:
        if job["start"] is not None:
            end = min(job["end"] or hour_end, hour_end)
            seconds = max(int((end - job["start"]).total_seconds()), 0)
            used[job["account"], job["user_name"]] += job["gpu_count"] * seconds
    lines = (v22 / "sreport_gpu.psv").read_text().splitlines()[5:]
    cells = [line.split("|") for line in lines]
    reported = {(row[1], row[2]): int(row[5]) for row in cells if row[2]}
    assert {key: value for key, value in used.items() if value} == reported
    assert sum(used.values()) == 8288


@pytest.mark.parametrize(
    ("file", "rows", "json_file"),
    [
        ("v22.05/sacct_D_ALL.psv", 51, "v22.05/sacct_D.json"),
        ("v22.05/sacct_D_picked.psv", 51, "v22.05/sacct_D.json"),
        ("v22.05/sacct_DX_picked.psv", 51, "v22.05/sacct_D.json"),
        ("v22.05/sacct_DX_picked.at2200.psv", 51, None),
        ("v22.05/running_state/sacct_D_ALL.psv", 51, "v22.05/running_state/sacct_D.json"),
        ("v22.05/running_state/sacct_DX_epoch.psv", 51, "v22.05/running_state/sacct_D.json"),
        ("v22.05/sacct_ALL.psv", 47, None),
        ("v26.05/sacct_D_ALL.psv", 33, "v26.05/sacct_D.json"),
        ("v26.05/sacct_DX_picked.psv", 33, "v26.05/sacct_D.json"),
        ("v26.05/sacct_ALL.psv", 32, None),
    ],
)
def test_real_outputs_equal_their_json(
    read_bytes: ReadBytes, shared_data: Path, file: str, rows: int, json_file: str | None
) -> None:
    folder = shared_data / "slurm"
    tables = read_bytes(sacct.read, (folder / file).read_bytes(), timezone="UTC")
    assert not tables["reject"]
    assert len(tables["job_attempt"]) == rows
    if json_file is None:
        return
    expected = [_of_json(job) for job in json.loads((folder / json_file).read_bytes())["jobs"]]
    found = [_of_row(job) for job in tables["job_attempt"]]
    # 22.05 lost letters of one name to its database in the text only; 26.05 did not.
    if "v22" in file:
        found, expected = ([x for x in rows_ if x[0] != "5"] for rows_ in (found, expected))
    assert sorted(found, key=str) == sorted(expected, key=str)


def _of_json(job: dict[str, Any]) -> tuple[object, ...]:
    time, state = job["time"], job["state"]["current"]
    started = time["start"] if 0 < (time["start"] or 0) < 4294967294 else None
    ended = time["end"] or None if started is not None else None
    gpu = [
        t["count"] for t in job["tres"]["allocated"] if (t["type"], t["name"]) == ("gres", "gpu")
    ]
    state = state if isinstance(state, str) else state[-1]
    return (
        str(job["job_id"]), time["submission"], started, ended, state, job["user"], job["account"],
        sum(gpu) if started is not None else 0, job["name"].rstrip("\n"),
    )  # fmt: skip


def _of_row(job: dict[str, Any]) -> tuple[object, ...]:
    times = [
        None if job[n] is None else int(job[n].timestamp()) for n in ("submit", "start", "end")
    ]
    return (
        job["job_id"], *times, job["state"], job["user_name"], job["account"], job["gpu_count"],
        job["job_name"],
    )  # fmt: skip


def test_every_value_of_a_row(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    data = sacct_rows(
        {"JobIDRaw": "28", "JobID": "13_5", "State": "CANCELLED by 1002", "ExitCode": "1:15",
         "Suspended": "00:00:10", "NodeList": "n[2,1]",
         "AllocTRES": "gres/gpu:h100=2,gres/gpu:a100=4,gres/gpu=6"},
    )  # fmt: skip
    tables = read_bytes(sacct.read, data)
    assert tables["job_attempt"] == [
        {
            "cluster": "main", "job_id": "28", "job_label": "13_5", "submit": _at(0),
            "start": _at(10), "end": _at(110), "state": "CANCELLED", "exit_code": 1, "signal": 15,
            "user_name": "ann", "account": "lab", "partition": "gpu", "qos": "normal",
            "job_name": "train", "gpu_count": 6, "gpu_types": "a100=4,h100=2",
            "nodes": ["n2", "n1"], "suspended_us": 10_000_000, "is_interactive": False,
            "source_file": "export.txt", "source_row": 2,
        }
    ]  # fmt: skip
    assert _covered(tables) == []  # one job proves no stretch of time


def test_what_has_not_started_holds_nothing(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    data = sacct_rows(
        {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "ElapsedRaw": "0"},
        {"JobIDRaw": "8", "JobID": "8", "State": "CANCELLED by 0", "Start": "None",
         "AllocTRES": "", "NodeList": "None assigned", "ElapsedRaw": "0"},
    )  # fmt: skip
    tables = read_bytes(sacct.read, data)
    assert not tables["reject"]
    for job in tables["job_attempt"]:
        assert (job["start"], job["end"], job["gpu_count"], job["nodes"]) == (None, None, 0, [])


def test_a_running_job_has_no_end_and_is_covered_to_the_look(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    tables = read_bytes(sacct.read, sacct_rows({"State": "RUNNING", "End": "Unknown"}))
    assert [(j["start"], j["end"], j["gpu_count"]) for j in tables["job_attempt"]] == [
        (_at(10), None, 2)
    ]
    # A job that ended shows from when on the export was asked; a running one, when it was made.
    ended = {
        "JobIDRaw": "8",
        "JobID": "8",
        "Start": "1700000010",
        "End": "1700000040",
        "ElapsedRaw": "30",
    }
    tables = read_bytes(sacct.read, sacct_rows({"State": "RUNNING", "End": "Unknown"}, ended))
    assert _covered(tables) == [("main", _at(40), _at(110))]


def test_a_job_that_began_long_before_does_not_cover_the_time_between(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    """Asked from a day on, sacct shows what still ran then and nothing else of the time before."""
    tables = read_bytes(
        sacct.read,
        sacct_rows(
            {
                "JobIDRaw": "1",
                "JobID": "1",
                "Start": "1700000010",
                "End": "1700005000",
                "ElapsedRaw": "4990",
            },
            {
                "JobIDRaw": "2",
                "JobID": "2",
                "Start": "1700006000",
                "End": "1700007000",
                "ElapsedRaw": "1000",
            },
        ),
    )
    assert _covered(tables) == [("main", _at(5000), _at(6000))]


def test_steps_only_say_that_an_allocation_is_interactive(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    step = {"User": "", "Partition": "", "QOS": ""}
    data = sacct_rows(
        {"JobIDRaw": "9.interactive", "JobID": "9.interactive", **step},  # before its job
        {"JobIDRaw": "9", "JobID": "9"},
        {"JobIDRaw": "7", "JobID": "7"},
        {"JobIDRaw": "7.extern", "JobID": "7.extern", **step},
        {"JobIDRaw": "7.interactive", "JobID": "7.interactive", **step},
        {"JobIDRaw": "8", "JobID": "8"},
        {"JobIDRaw": "8.batch", "JobID": "8.batch", "State": "garbage", **step},
    )
    tables = read_bytes(sacct.read, data)
    found = {job["job_id"]: job["is_interactive"] for job in tables["job_attempt"]}
    assert found == {"9": True, "7": True, "8": False}
    assert not tables["reject"]


@pytest.mark.parametrize(
    ("change", "reason", "nodes", "start", "end"),
    [
        ({"Start": ""}, "Start blank", ["n1"], None, 110),
        ({"End": ""}, "End blank", ["n1"], 10, None),
        ({"State": ""}, "State blank", None, None, None),
        ({"Submit": "Unknown"}, "Submit is", ["n1"], 10, 110),
        ({"Start": "1700000200"}, "before Start", ["n1"], None, None),
        ({"AllocTRES": ""}, "AllocTRES is blank", ["n1"], 10, 110),
        ({"AllocTRES": "gres/gpu=x"}, "no whole number", ["n1"], 10, 110),
        ({"AllocTRES": "cpu=1,gres/shard=4"}, "shares", ["n1"], 10, 110),
        ({"NodeList": "None assigned"}, "names no node", None, 10, 110),
        ({"NodeList": "n[1-2"}, "node list", None, 10, 110),
        ({"NodeList": "n[1-2]", "ExitCode": "zero"}, "ExitCode", ["n1", "n2"], 10, 110),
        ({"End": "Unknown"}, "without End", ["n1"], 10, None),
        ({"ExitCode": "x", "ElapsedRaw": "y"}, "not of the column's type", None, None, None),
    ],
)
def test_a_bad_row_is_rejected_and_cuts_what_is_sure_of_it(
    read_bytes: ReadBytes, sacct_rows: SacctRows, change: dict[str, str], reason: str,
    nodes: list[str] | None, start: int | None, end: int | None,
) -> None:  # fmt: skip
    good = {"JobIDRaw": "1", "JobID": "1", "Start": "1700000000", "End": "1700000500"}
    tables = read_bytes(sacct.read, sacct_rows(good, change, {"JobIDRaw": "9", "JobID": "9"}))
    assert [job["job_id"] for job in tables["job_attempt"]] == ["1", "9"]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert (reject["position"], reject["source"]) == ("line 3", "sacct")
    low, high = _at(0 if start is None else start), _at(500 if end is None else end)
    found = [(cut["node"], cut["start"], cut["end"]) for cut in _cuts(tables)]
    assert found == [(node, low, high) for node in nodes or [None]]


def test_a_row_with_a_field_too_few_costs_that_row_and_the_whole_span(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    whole = sacct_rows(*({"JobIDRaw": str(i), "JobID": str(i)} for i in range(1, 6))).splitlines()
    for column in range(17):
        lines = list(whole)
        cells = lines[3].split(b"|")
        lines[3] = b"|".join(cells[:column] + cells[column + 1 :])
        tables = read_bytes(sacct.read, b"\n".join(lines) + b"\n")
        assert [job["job_id"] for job in tables["job_attempt"]] == ["1", "2", "4", "5"]
        assert [job["job_name"] for job in tables["job_attempt"]] == ["train"] * 4
        assert [r["position"] for r in tables["reject"]] == ["line 4"]
        cuts = [(c["node"], c["start"], c["end"]) for c in _cuts(tables)]
        assert cuts == [(None, _at(0), _at(110))]


def test_a_file_cut_off_while_written_is_read_to_there(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    data = sacct_rows({}, {"JobIDRaw": "8", "JobID": "8"})
    first = data.index(b"\n8|") + 1
    for length in range(first + 1, len(data) - len("train") - 1):
        tables = read_bytes(sacct.read, data[:length], covers=(0, 10**18))
        assert [(j["job_id"], j["job_name"]) for j in tables["job_attempt"]] == [("7", "train")]
        assert len(tables["reject"]) == 1
        assert len(_cuts(tables)) == 1


def test_coverage_is_what_the_export_was_asked_for(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    covers = (1_600_000_000 * 10**9, 1_700_001_000 * 10**9)
    asked = (datetime.fromtimestamp(1_600_000_000, UTC), _at(1000))
    # A header and no job is an answer too.
    assert _covered(read_bytes(sacct.read, sacct_rows(), covers=covers)) == [("main", *asked)]
    assert _covered(read_bytes(sacct.read, sacct_rows())) == []
    assert _covered(read_bytes(sacct.read, sacct_rows(), covers=covers, cluster=None)) == []
    # A file of other clusters does not speak for the configured one.
    data = sacct_rows({"Cluster": "a"}, {"Cluster": "b", "JobIDRaw": "8", "JobID": "8"})
    tables = read_bytes(sacct.read, data, covers=covers)
    assert _covered(tables) == [("a", *asked), ("b", *asked)]


def test_many_rejects_cut_the_whole_file_at_once(
    read_bytes: ReadBytes, sacct_rows: SacctRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.jobs.coverage.MAX_CUTS", 3)
    rows = [{"JobIDRaw": str(i), "JobID": str(i), "ExitCode": "x"} for i in range(10, 20)]
    tables = read_bytes(sacct.read, sacct_rows({}, *rows))
    assert len(tables["reject"]) == 10
    found = [(c["node"], c["start"], c["end"], c["source_row"]) for c in _cuts(tables)]
    assert found == [(None, _at(0), _at(110), 3)]


def test_users_are_hashed_where_asked(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    data = sacct_rows({}, {"JobIDRaw": "8", "JobID": "8", "ExitCode": "x"})

    def name(**options: object) -> str:
        tables = read_bytes(sacct.read, data, **options)
        if options["hash_users"]:
            assert "ann" not in tables["reject"][0]["raw"]
        return str(tables["job_attempt"][0]["user_name"])

    assert name(hash_users=False) == "ann"
    plain, salted = name(hash_users=True), name(hash_users="pepper")
    assert plain == sacct.hashed_user("ann")
    assert salted == sacct.hashed_user("ann", "pepper") != plain
    assert salted.startswith("u-")
    assert len(salted) == 14


def test_private_text_is_not_landed(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    columns = ("JobID", "Comment", "State", "Submit", "Start", "End", "AllocTRES", "NodeList",
               "WorkDir")  # fmt: skip
    secret = {"Comment": "s3cret", "WorkDir": "/home/s3cret"}
    good, bad = secret, {**secret, "JobID": "8", "State": "?"}
    data = sacct_rows(good, bad, columns=columns) + b"9|s3cret\n"
    tables = read_bytes(sacct.read, data)
    assert len(tables["job_attempt"]) == 1
    assert len(tables["reject"]) == 2
    assert "s3cret" not in str(dict(tables))


def test_a_file_without_any_gpu_is_not_believed_unless_told(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    data = sacct_rows({"AllocTRES": "cpu=1,mem=1G,node=1"})
    tables = read_bytes(sacct.read, data)
    assert [job["gpu_count"] for job in tables["job_attempt"]] == [0]
    assert "AccountingStorageTRES" in tables["reject"][0]["reason"]
    assert [(c["start"], c["end"]) for c in _cuts(tables)] == [(_at(0), _at(110))]
    tables = read_bytes(sacct.read, data, gpus_tracked=True)
    assert not tables["reject"]
    assert not _cuts(tables)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00\x01\x02\xff", b"hello\n", b"JobID,State,Submit\n1,2,3\n", b"sacct: error: x\n"],
)
def test_what_is_no_sacct_output_is_one_error_with_the_command(
    read_bytes: ReadBytes, data: bytes
) -> None:
    with pytest.raises(SourceError, match="sacct --allusers --duplicates"):
        read_bytes(sacct.read, data)


def test_missing_columns_are_named(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    data = sacct_rows({}, columns=("JobID", "State", "Start", "End", "NodeList"))
    with pytest.raises(SourceError, match="no column Submit, AllocTRES"):
        read_bytes(sacct.read, data)


def test_a_cluster_is_needed(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    columns = ("JobIDRaw", "State", "Submit", "Start", "End", "AllocTRES", "NodeList")
    data = sacct_rows({}, columns=columns)
    with pytest.raises(ConfigError, match="cluster ="):
        read_bytes(sacct.read, data, cluster=None)
    (job,) = read_bytes(sacct.read, data, cluster="mine")["job_attempt"]
    assert (job["cluster"], job["job_label"], job["user_name"]) == ("mine", None, None)
    tables = read_bytes(sacct.read, sacct_rows({"Cluster": ""}), cluster=None)
    assert "names no cluster" in tables["reject"][0]["reason"]


@pytest.mark.parametrize(
    "options", [{"hash_users": 3}, {"delimiter": ""}, {"gpus_tracked": "yes"}, {"timezone": "x"}]
)
def test_bad_options_are_configuration_errors(
    read_bytes: ReadBytes, sacct_rows: SacctRows, options: dict[str, object]
) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        read_bytes(sacct.read, sacct_rows({}), **options)


def test_the_export_is_what_the_reader_likes_best() -> None:
    columns = sacct.EXPORT.rpartition("--format=")[2].split(",")
    assert columns[-1] == "JobName"
    assert set(columns) == sacct.GRAMMAR.landed
    assert not sacct.GRAMMAR.free & set(columns[:-1])
