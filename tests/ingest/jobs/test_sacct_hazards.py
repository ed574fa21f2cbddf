"""Free text in `--parsable2`: delimiters, newlines, bytes that are no text; times at DST."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.jobs import sacct

Tables = dict[str, list[dict[str, Any]]]
ReadBytes = Callable[..., Tables]
SacctRows = Callable[..., bytes]

NAMES = st.text(st.sampled_from("|\nab1 é_.:=-0日\t\r\x1f\x85\u2028"), max_size=14)
#: A line of a name that begins like a record is one, as far as anyone can tell (module parsable).
_LIKE_A_RECORD = re.compile(r"\d+\|")


def _is_fair(name: str) -> bool:
    return not any(
        _LIKE_A_RECORD.match(line) or line.count("|") >= 4 for line in name.split("\n")[1:]
    )


FAIR_NAMES = NAMES.filter(_is_fair)
_PROPERTY = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
)


@st.composite
def jobs(draw: st.DrawFn) -> list[dict[str, str]]:
    rows = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        start = draw(st.integers(0, 10**6))
        held, suspended = draw(st.integers(0, 10**5)), draw(st.integers(0, 59))
        count = draw(st.integers(1, 16))
        rows.append({
            "JobIDRaw": str(number), "JobID": draw(st.sampled_from([str(number), f"9_{number}"])),
            "Submit": str(1700000000), "Start": str(1700000000 + start),
            "End": str(1700000000 + start + held + suspended), "ElapsedRaw": str(held),
            "Suspended": f"00:00:{suspended:02}", "State": draw(st.sampled_from(
                ["COMPLETED", "CANCELLED by 7", "NODE_FAIL", "NEW_STATE"])),
            "AllocTRES": f"gres/gpu={count},gres/gpu:h100={count}", "NodeList": "gpu[001-002]",
            "JobName": draw(FAIR_NAMES), "Comment": draw(FAIR_NAMES),
        })  # fmt: skip
    return rows


def _same(job: dict[str, Any], row: dict[str, str]) -> bool:
    suspended = int(row["Suspended"][-2:])
    return (
        job["job_id"], job["job_label"], (job["job_name"] or "").rstrip("\n"), job["state"],
        int(job["submit"].timestamp()), int(job["start"].timestamp()),
        int(job["end"].timestamp()), job["suspended_us"], job["gpu_types"], job["nodes"],
    ) == (
        row["JobIDRaw"], row["JobID"], row["JobName"].rstrip("\n"), row["State"].split()[0],
        int(row["Submit"]), int(row["Start"]), int(row["End"]), suspended * 1_000_000,
        row["AllocTRES"].rpartition(":")[2], ["gpu001", "gpu002"],
    )  # fmt: skip


@_PROPERTY
@given(rows=jobs())
def test_the_export_round_trips_any_name(
    read_bytes: ReadBytes, sacct_rows: SacctRows, rows: list[dict[str, str]]
) -> None:
    tables = read_bytes(sacct.read, sacct_rows(*rows))
    assert not tables["reject"]
    found = tables["job_attempt"]
    assert len(found) == len(rows)
    assert all(map(_same, found, rows))


@_PROPERTY
@given(rows=jobs())
def test_a_name_in_the_middle_is_read_right_or_rejected(
    read_bytes: ReadBytes, sacct_rows: SacctRows, rows: list[dict[str, str]]
) -> None:
    columns = (
        "JobID", "JobIDRaw", "JobName", "User", "Account", "State", "ExitCode", "Submit", "Start",
        "End", "ElapsedRaw", "Suspended", "Comment", "AllocTRES", "NodeList", "Cluster",
    )  # fmt: skip
    tables = read_bytes(sacct.read, sacct_rows(*rows, columns=columns))
    by_id = {row["JobIDRaw"]: row for row in rows}
    for job in tables["job_attempt"]:
        row = by_id[job["job_id"]]
        assert _same(job, row)
        assert (job["job_name"] or "") == row["JobName"]
    assert len(tables["job_attempt"]) + len(tables["reject"]) == len(rows)
    assert not tables["reject"] or any("|" in row["JobName"] + row["Comment"] for row in rows)


@_PROPERTY
@given(rows=jobs(), columns=st.permutations(("JobID", "JobName", "Comment", "State", "Submit",
       "Start", "End", "AllocTRES", "NodeList", "ElapsedRaw", "Suspended", "Account")))  # fmt: skip
def test_no_order_of_columns_makes_up_gpu_time(
    read_bytes: ReadBytes,
    sacct_rows: SacctRows,
    rows: list[dict[str, str]],
    columns: list[str],
) -> None:
    tables = read_bytes(sacct.read, sacct_rows(*rows, columns=tuple(columns)))
    truth = {(row["JobID"], int(row["Start"]), int(row["End"])) for row in rows}
    for job in tables["job_attempt"]:
        key = (job["job_id"], int(job["start"].timestamp()), int(job["end"].timestamp()))
        assert key in truth
    if len(tables["job_attempt"]) < len(rows):
        assert tables["reject"]


@given(data=st.binary(max_size=400))
@_PROPERTY
def test_any_bytes_after_a_header_are_rows_or_rejects(
    read_bytes: ReadBytes, sacct_rows: SacctRows, data: bytes
) -> None:
    tables = read_bytes(sacct.read, sacct_rows() + data, covers=(0, 10**18))
    lines = [line for line in data.split(b"\n") if line]
    assert bool(tables["reject"]) == bool(lines)
    assert not tables["job_attempt"]


def test_two_readings_of_a_row_are_not_guessed_at(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    columns = ("JobID", "JobName", "Comment", "State", "Submit", "Start", "End", "AllocTRES",
               "NodeList")  # fmt: skip
    row = {"JobName": "a|b", "Comment": "c"}
    tables = read_bytes(sacct.read, sacct_rows(row, {"Comment": ""}, columns=columns))
    assert [job["source_row"] for job in tables["job_attempt"]] == [3]
    assert "more than one way" in tables["reject"][0]["reason"]
    # Where it makes no difference to what is landed, it is no reason to lose GPU time.
    columns = ("JobID", "WorkDir", "Comment", *columns[3:])
    tables = read_bytes(sacct.read, sacct_rows({"WorkDir": "a|b", "Comment": "c"}, columns=columns))
    assert len(tables["job_attempt"]) == 1


def test_a_made_up_row_inside_a_name_is_rejected_with_its_row(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    forged = "x|eve|lab|COMPLETED|1700000000|1700000000|1700000100|gres/gpu=1|n1"
    columns = ("JobID", "JobName", "User", "Account", "State", "Submit", "Start", "End",
               "AllocTRES", "NodeList", "Comment")  # fmt: skip
    tables = read_bytes(sacct.read, sacct_rows({"JobName": forged, "Comment": ""}, columns=columns))
    assert not tables["job_attempt"]
    assert len(tables["reject"]) == 1


def test_several_exports_in_one_file_and_carriage_returns(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    one, two = sacct_rows({}), sacct_rows({"JobIDRaw": "8", "JobID": "8", "JobName": "a\nb"})
    for data in (one + two, (one + two).replace(b"\n", b"\r\n"), one + b"\n\n" + two):
        tables = read_bytes(sacct.read, data)
        assert [j["job_name"] for j in tables["job_attempt"]] == ["train", "a\nb"]
        assert not tables["reject"]


def test_a_trailing_delimiter_is_no_column(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    # That is `sacct --parsable`.
    data = sacct_rows({"JobName": "a|b"}).replace(b"\n", b"|\n")
    (job,) = read_bytes(sacct.read, data)["job_attempt"]
    assert job["job_name"] == "a|b"


def test_the_unit_separator_as_delimiter(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    data = sacct_rows({"JobName": "a|b\nc|d"}, delimiter="\x1f")
    (job,) = read_bytes(sacct.read, data, delimiter="\x1f")["job_attempt"]
    assert job["job_name"] == "a|b\nc|d"


def test_bytes_that_are_no_utf8_are_replaced(read_bytes: ReadBytes, sacct_rows: SacctRows) -> None:
    data = sacct_rows({"JobName": "xyz"}).replace(b"xyz", b"\xffy\xe9")
    (job,) = read_bytes(sacct.read, data)["job_attempt"]
    assert job["job_name"] == "\ufffdy\ufffd"


def test_real_names_of_26_05(read_bytes: ReadBytes, root: Path) -> None:
    path = root / "tests" / "fixtures" / "slurm" / "v26.05" / "sacct_DX_picked.psv"
    tables = read_bytes(sacct.read, path.read_bytes(), timezone="UTC")
    assert not tables["reject"]
    names = {job["job_id"]: job["job_name"] for job in tables["job_attempt"]}
    assert names["3"] == "name with | pipe"
    assert names["5"] == "étude-日本-😀"
    assert names["6"] == "line1\nline2"
    # The same id twice: an incarnation that was requeued, and the next one.
    assert len(tables["job_attempt"]) == 33 == len(names) + 1


@pytest.mark.parametrize(
    ("file", "ids", "rejects"),
    [
        ("sample-sacct-fake-line-break.txt", 2, 0),
        ("sample-sacct-multiple-multiline.txt", 4, 0),
        ("sample-sacct-output-invalid-utf8.txt", 2, 0),
    ],
)
def test_public_hard_outputs(
    read_bytes: ReadBytes, shared_data: Path, file: str, ids: int, rejects: int
) -> None:
    data = (shared_data / "slurm" / "public" / file).read_bytes()
    delimiter = "|#" if b"|#" in data.split(b"\n")[0] else "|"
    tables = read_bytes(sacct.read, data, timezone="UTC", delimiter=delimiter)
    assert (len(tables["job_attempt"]), len(tables["reject"])) == (ids, rejects)
    for job in tables["job_attempt"]:
        assert job["gpu_count"] > 0
        assert job["end"] > job["start"]


def _section(path: Path, zone: str) -> list[dict[str, str]]:
    text = path.read_text().split(f"TZ={zone}\n", 1)[1].split("TZ=", 1)[0]
    header, *lines = text.splitlines()
    rows = []
    for line in lines:
        if line.startswith("JobID"):
            break
        rows.append(dict(zip(header.split("|"), line.split("|"), strict=True)))
    return rows


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_an_hour_is_an_hour_on_both_days_of_dst(
    read_bytes: ReadBytes, sacct_rows: SacctRows, root: Path, zone: str
) -> None:
    path = root / "tests" / "fixtures" / "slurm" / "v22.05" / "dst_and_clock_fixture.psv"
    rows = [{**row, "JobIDRaw": row["JobID"]} for row in _section(path, zone)]
    assert len(rows) == 4
    tables = read_bytes(sacct.read, sacct_rows(*rows), timezone=zone)
    assert not tables["reject"]
    found = [(j["job_id"], int(j["start"].timestamp()), int(j["end"].timestamp()))
             for j in tables["job_attempt"]]  # fmt: skip
    assert found[:2] == [("2", 1762061400, 1762065000), ("10", 1772951400, 1772955000)]
    # The clock ran backwards: sacct prints Start = End, and nothing was held.
    assert [end - start for _, start, end in found[2:]] == [0, 0]


def test_a_time_that_dst_leaves_open_is_rejected_and_cuts_both_hours(
    read_bytes: ReadBytes, sacct_rows: SacctRows
) -> None:
    row = {"Submit": "2025-11-01T12:00:00", "Start": "2025-11-02T01:10:00",
           "End": "2025-11-02T01:20:00", "ElapsedRaw": "600"}  # fmt: skip
    data = sacct_rows({"Submit": "2025-11-01T12:00:00", "Start": "2025-11-01T12:00:00",
                       "End": "2025-11-03T00:00:00", "ElapsedRaw": "133200"}, row)  # fmt: skip
    tables = read_bytes(sacct.read, data, timezone="America/New_York")
    assert len(tables["job_attempt"]) == 1
    assert "SLURM_TIME_FORMAT=%s" in tables["reject"][0]["reason"]
    (cut,) = [c for c in tables["source_coverage"] if c["is_cut"]]
    assert (cut["node"], cut["start"], cut["end"]) == (
        "n1", datetime(2025, 11, 2, 5, 10, tzinfo=UTC), datetime(2025, 11, 2, 6, 20, tzinfo=UTC)
    )  # fmt: skip
