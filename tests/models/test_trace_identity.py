"""Whose trace a file is, which GPU each of its devices is, and that a copy counts once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.harness import Rows, expect, filled, run_model

#: Job 7 of cluster c1: attempt 0 on n1 with two GPUs, then attempt 1; job 8 on n2; job 7 of c2 on
#: n3; and a job without GPUs on both nodes, which no trace of a GPU can be of.
ATTEMPTS = """
    cluster | job_id | attempt | start_ns | end_ns | nodes    | gpu_count
    c1      | 7      | 0       | 10:00    | 11:00  | [n1]     | 2
    c1      | 7      | 1       | 11:00    | 12:00  | [n1]     | 1
    c1      | 8      | 0       | 10:00    | 12:00  | [n2]     | 1
    c1      | 6      | 0       | 10:00    | 12:00  | [n1, n2] | 0
    c2      | 7      | 0       | 10:30    | 11:30  | [n3]     | 1
"""
HOLDS = """
    hold_id | cluster | job_id | attempt | rank | rank_count | gpu_count | gpu_uuid | start_ns | end_ns
    1       | c1      | 7      | 0       | 0    | 2          | 2         | a        | 10:00    | 11:00
    2       | c1      | 7      | 0       | 1    | 2          | 2         | b        | 10:00    | 11:00
    3       | c1      | 7      | 1       | 0    | 1          | 1         | a        | 11:00    | 12:00
    4       | c1      | 8      | 0       | 0    | 1          | 1         | c        | 10:00    | 12:00
    5       | c2      | 7      | 0       | 0    | 1          | 1         | d        | 10:30    | 11:30
"""  # noqa: E501
#: The scheduler was read for the whole day.
READ = filled("start_ns | end_ns\n00:00 | 23:00\n", source="scheduler", is_cut="false")
TRACE = {"cluster": "c1", "start_ns": "10:10", "end_ns": "10:11", "source_file": "f"}


def found(**header: Any) -> dict[str, Any]:
    """int_trace's row of one trace with this header, beside the jobs above."""
    [row] = run_model("int_trace", {
        "stg_trace_header": [{**TRACE, **header}], "int_attempt": ATTEMPTS, "int_hold": HOLDS,
        "stg_source_coverage": READ,
    })  # fmt: skip
    return row


def job(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["cluster"], row["job_id"], row["attempt"], row["found_by"]


# --- int_trace: the job ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ({"meta_job_id": "7"}, ("c1", "7", 0, "metadata")),
        ({"path_job_id": "7"}, ("c1", "7", 0, "path")),
        # Metadata go before the path, and are not given up where they name a job nobody knows.
        ({"meta_job_id": "7", "path_job_id": "8"}, ("c1", "7", 0, "metadata")),
        ({"meta_job_id": "9", "path_job_id": "7"}, (None, None, None, "unmatched")),
        # A name goes before host and time.
        ({"path_job_id": "7", "host_name": "n2"}, ("c1", "7", 0, "path")),
        ({"path_job_id": "9", "host_name": "n2"}, (None, None, None, "unmatched")),
        ({"host_name": "n2"}, ("c1", "8", 0, "host_time")),
        ({"host_name": "n9"}, (None, None, None, "unmatched")),
        ({}, (None, None, None, "unmatched")),
        # The cluster of the configuration bounds the search; without one all are looked at.
        ({"meta_job_id": "7", "cluster": "c2", "start_ns": "10:40", "end_ns": "10:41"},
         ("c2", "7", 0, "metadata")),
        ({"meta_job_id": "8", "cluster": "c2"}, (None, None, None, "unmatched")),
        ({"meta_job_id": "8", "cluster": None}, ("c1", "8", 0, "metadata")),
        ({"host_name": "n3", "cluster": None, "start_ns": "10:40", "end_ns": "10:41"},
         ("c2", "7", 0, "host_time")),
        ({"host_name": "n3", "start_ns": "10:40", "end_ns": "10:41"},
         (None, None, None, "unmatched")),
    ],
)  # fmt: skip
def test_the_job_by_metadata_then_path_then_host_and_time(
    header: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert job(found(**header)) == expected


@pytest.mark.parametrize(
    ("header", "attempt"),
    [
        # Named: it stands even where its time does not fit; clock_ok tells that.
        ({"meta_attempt": 1}, 1),
        ({"path_attempt": 1}, 1),
        ({"meta_attempt": 0, "path_attempt": 1}, 0),
        ({"meta_attempt": 5}, None),
        # Not named: the greatest overlap in time, and some.
        ({"start_ns": "10:50", "end_ns": "11:09"}, 0),
        ({"start_ns": "10:50", "end_ns": "11:11"}, 1),
        ({"start_ns": "10:50", "end_ns": "11:10"}, 0),
        ({"start_ns": "09:00", "end_ns": "10:00"}, None),
        ({"start_ns": "12:00", "end_ns": "12:01"}, None),
        ({"start_ns": "11:59:59", "end_ns": "12:01"}, 1),
    ],
)
def test_the_attempt_by_name_else_by_overlap(header: dict[str, Any], attempt: int | None) -> None:
    row = found(meta_job_id="7", **header)
    assert row["attempt"] == attempt
    assert row["found_by"] == ("unmatched" if attempt is None else "metadata")


@pytest.mark.parametrize(
    ("start", "end", "found_by"),
    [
        ("10:00", "11:00", "host_time"),
        # By host it must lie wholly inside: a process does not outlive its allocation.
        ("09:59:59.999999999", "10:30", "unmatched"),
        ("10:30", "11:00:00.000000001", "unmatched"),
        ("11:00", "12:00", "host_time"),
    ],
)
def test_by_host_the_trace_lies_inside_the_attempt(start: str, end: str, found_by: str) -> None:
    assert found(host_name="n1", start_ns=start, end_ns=end)["found_by"] == found_by


#: Job 8 runs on n1 too, beside attempt 0 of job 7.
SHARED = ATTEMPTS.replace("[n2]     | 1", "[n1, n2] | 2")


def test_two_jobs_on_a_host_at_a_time_are_ambiguous_and_nobodys() -> None:
    tables: dict[str, Rows] = {
        "stg_trace_header": filled(
            """
            source_file | start_ns | end_ns | host_name | path_job_id
            both        | 10:10    | 10:11  | n1        |
            named       | 10:10    | 10:11  | n1        | 8
            alone       | 10:10    | 10:11  | n2        |
            """,
            cluster="c1",
        ),
        "int_attempt": SHARED,
        "stg_source_coverage": READ,
    }
    # Which of the node's GPUs each held is not even asked.
    expect(
        "int_trace",
        tables,
        """
        source_file | found_by  | cluster | job_id | attempt | is_clock_ok | is_host_clash
        both        | ambiguous |         |        |         |             | false
        named       | path      | c1      | 8      | 0       | true        | false
        alone       | host_time | c1      | 8      | 0       | true        | false
        """,
    )


def test_an_ambiguous_trace_has_no_device_and_none_of_its_work_counts() -> None:
    tables: dict[str, Rows] = {
        "stg_trace_header": filled([{"host_name": "n1"}, {"source_file": "g"}], **TRACE),
        "int_attempt": SHARED,
        "int_hold": HOLDS,
        "stg_source_coverage": READ,
        "stg_trace_kernel": filled(
            "source_file | event_no\nf | 1\ng | 1\n", device="0", start_ns="10:10",
            end_ns="10:11", kind="compute",
        ),
    }  # fmt: skip
    expect("int_gpu_work", tables, "trace_no\n")


@pytest.mark.parametrize(
    ("coverage", "found_by"),
    [
        ("c1 | | 00:00 | 23:00 | false", "host_time"),
        (" | | 10:10 | 10:11 | false", "host_time"),
        ("c1 | n2 | 10:10 | 10:11 | false", "host_time"),
        # Not read, read for less, for another node or cluster: another job may have been there.
        ("", "unmatched"),
        ("c1 | | 10:10:01 | 23:00 | false", "unmatched"),
        ("c1 | | 00:00 | 10:10:59 | false", "unmatched"),
        ("c1 | n1 | 00:00 | 23:00 | false", "unmatched"),
        ("c2 | | 00:00 | 23:00 | false", "unmatched"),
        # A record of the scheduler could not be read.
        ("c1 | | 00:00 | 23:00 | false\nc1 | | 10:10:30 | 10:10:31 | true", "unmatched"),
        ("c1 | | 00:00 | 23:00 | false\nc1 | n1 | 00:00 | 23:00 | true", "host_time"),
        ("c1 | | 00:00 | 23:00 | false\nc1 | | 10:11 | 23:00 | true", "host_time"),
    ],
)
def test_by_host_only_where_the_scheduler_would_have_shown_another_job(
    coverage: str, found_by: str
) -> None:
    read = f"cluster | node | start_ns | end_ns | is_cut\n{coverage}\n"
    tables: dict[str, Rows] = {
        "stg_trace_header": [{**TRACE, "host_name": "n2"}],
        "int_attempt": ATTEMPTS,
        "stg_source_coverage": filled(read, source="scheduler"),
    }
    expect("int_trace", tables, f"found_by\n{found_by}\n")


# --- int_trace: the rank, clashes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "rank"),
    [
        ({"meta_rank": 1}, 1),
        ({"path_rank": 1}, 1),
        ({"meta_rank": 0, "path_rank": 1}, 0),
        # Of two ranks nothing tells which; the only rank is rank 0.
        ({}, None),
        ({"meta_attempt": 1}, 0),
        ({"meta_job_id": "8", "cluster": "c1"}, 0),
    ],
)
def test_the_rank_by_metadata_then_path_else_the_only_one(
    header: dict[str, Any], rank: int | None
) -> None:
    assert found(**{"meta_job_id": "7", **header})["rank"] == rank


def test_the_only_known_gpu_of_several_is_not_the_only_rank() -> None:
    tables: dict[str, Rows] = {
        "stg_trace_header": [{**TRACE, "meta_job_id": "8"}], "int_attempt": ATTEMPTS,
        "int_hold": HOLDS.replace("| 0    | 1          | 1         | c", "| 0 | 1 | 2 | c"),
    }  # fmt: skip
    expect("int_trace", tables, "job_id | rank\n8 |\n")


@pytest.mark.parametrize(
    ("header", "clash"),
    [
        ({}, False),
        ({"path_job_id": "7"}, False),
        ({"path_job_id": "8"}, True),
        ({"meta_attempt": 0, "path_attempt": 0}, False),
        ({"meta_attempt": 0, "path_attempt": 1}, True),
        ({"path_attempt": 1}, False),
        ({"meta_rank": 1, "path_rank": 1}, False),
        ({"meta_rank": 1, "path_rank": 0}, True),
        ({"meta_rank": 1}, False),
    ],
)
def test_metadata_and_path_clash_where_both_say_and_differ(
    header: dict[str, Any], clash: bool
) -> None:
    assert found(meta_job_id="7", **header)["is_job_clash"] is clash


@pytest.mark.parametrize(
    ("header", "clash"),
    [
        ({"host_name": "n1"}, False),
        ({"host_name": "n2"}, True),
        ({"host_name": "vm"}, True),
        ({"host_name": None}, False),
        # Nobody's trace clashes with no node.
        ({"host_name": "vm", "meta_job_id": "9"}, False),
    ],
)
def test_the_host_clashes_where_the_attempt_has_no_such_node(
    header: dict[str, Any], clash: bool
) -> None:
    assert found(**{"meta_job_id": "7", **header})["is_host_clash"] is clash


@pytest.mark.parametrize(
    ("start", "end", "ok"),
    [
        ("10:00", "11:00", True),
        ("09:59:59.999999999", "10:30", False),
        ("10:30", "11:00:00.000000001", False),
        ("13:00", "13:01", False),
    ],
)
def test_the_clock_is_right_where_the_trace_lies_inside_the_attempt(
    start: str, end: str, ok: bool
) -> None:
    row = found(meta_job_id="7", meta_attempt=0, start_ns=start, end_ns=end)
    assert row["is_clock_ok"] is ok
    assert found()["is_clock_ok"] is None


# --- stg_trace_header: copies ---------------------------------------------------------------------

HEADER = {
    "trace_id": "t", "start_ns": "10:10", "end_ns": "10:11", "pid": "9", "event_count": "50",
    "gpu_count": "20", "is_truncated": "false", "reject_count": "0", "op_count": "1",
    "step_count": "1", "format": "kineto", "base_ns": "0",
}  # fmt: skip


def test_a_copy_under_another_name_is_the_same_trace() -> None:
    expect(
        "stg_trace_header",
        {"trace_header": filled("source_file\nz/copy\na/first\nm/copy\n", **HEADER)},
        "source_file | copy_count\na/first | 3\n",
    )


@pytest.mark.parametrize(
    "other",
    [
        {"trace_id": "u"}, {"start_ns": "10:09"}, {"end_ns": "10:12"}, {"pid": "8"},
        {"meta_rank": "1"}, {"path_rank": "1"}, {"event_count": "51"}, {"gpu_count": "21"},
        # A copy in the folder of another job must not take the place of the job's own.
        {"path_job_id": "8"}, {"path_attempt": "1"},
    ],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_traces_that_differ_in_what_tells_them_apart_are_two(other: dict[str, str]) -> None:
    rows = [{"source_file": "a", **HEADER}, {"source_file": "b", **HEADER, **other}]
    expect("stg_trace_header", {"trace_header": rows}, "source_file | copy_count\na|1\nb|1\n")


def test_a_copy_without_a_trace_id_is_known_too_and_its_work_counts_once() -> None:
    tables: dict[str, Rows] = {
        "trace_header": filled(
            [{"source_file": "a"}, {"source_file": "b"}],
            meta_job_id="8", **{k: v for k, v in HEADER.items() if k != "trace_id"},
        ),
        "trace_kernel": filled(
            [{"source_file": "a"}, {"source_file": "b"}],
            event_no="1", device="0", start_ns="10:10", end_ns="10:10:01", kind="compute",
            activity="kernel", name="k", family="k", stream="7",
        ),
        "int_attempt": ATTEMPTS,
        "int_hold": HOLDS,
    }  # fmt: skip
    expect("int_gpu_work", tables, "hold_id | start_ns | end_ns\n4 | 10:10 | 10:10:01\n")


# --- int_trace_device -----------------------------------------------------------------------------


def devices(trace: dict[str, Any], work: str, *, holds: str = HOLDS) -> list[tuple[int, int]]:
    """(device, hold) of a trace of job 7, from work rows `device start end`."""
    rows = run_model("int_trace_device", {
        "int_trace": [{
            "trace_no": 1, "source_file": "f", "cluster": "c1", "job_id": "7", "attempt": 0,
            "start_ns": "10:10", "end_ns": "10:11", **trace,
        }],
        "stg_trace_kernel": [
            {"source_file": "f", "event_no": i, "device": d, "start_ns": s, "end_ns": e}
            for i, (d, s, e) in enumerate(line.split() for line in work.split(";"))
        ],
        "int_hold": holds,
    })  # fmt: skip
    return [(row["device"], row["hold_id"]) for row in rows]


def test_a_rank_works_on_the_gpu_of_its_rank_whatever_number_the_device_has() -> None:
    work = "3 10:10:00 10:10:05"
    assert devices({"rank": 0, "world_size": 2}, work) == [(3, 1)]
    assert devices({"rank": 1, "world_size": 2}, work) == [(3, 2)]
    assert devices({"rank": 1}, work) == [(3, 2)]


def test_a_rank_that_also_writes_to_its_peer_is_the_device_that_is_busy_longest() -> None:
    work = "0 10:10:00 10:10:01; 1 10:10:00 10:10:05"
    assert devices({"rank": 1, "world_size": 2}, work) == [(1, 2)]
    assert devices({"rank": 0, "world_size": 2}, work) == [(1, 1)]
    # Equally busy: the first.
    assert devices({"rank": 0, "world_size": 2}, "1 0 5; 0 0 5") == [(0, 1)]


def test_a_process_that_is_the_whole_attempt_has_its_gpus_in_order() -> None:
    work = "4 10:10:00 10:10:01; 2 10:10:00 10:10:05"
    assert devices({"world_size": 1}, work) == [(2, 1), (4, 2)]
    assert devices({}, work) == [(2, 1), (4, 2)]


@pytest.mark.parametrize(
    ("trace", "work"),
    [
        # Of two ranks nobody says which.
        ({"world_size": 2}, "0 0 5"),
        ({}, "0 0 5"),
        # More devices than GPUs: which is which is not known.
        ({"world_size": 1}, "0 0 5; 1 0 5; 2 0 5"),
        ({"rank": 2, "world_size": 3}, "0 0 5"),
        # Not the attempt's time: the named attempt had ended.
        ({"rank": 0, "start_ns": "11:00", "end_ns": "11:01"}, "0 0 5"),
        ({"rank": 0, "start_ns": "09:00", "end_ns": "10:00"}, "0 0 5"),
        ({"rank": 0, "job_id": None, "cluster": None, "attempt": None}, "0 0 5"),
    ],
)
def test_a_device_that_nothing_ties_to_a_gpu_is_nobodys(trace: dict[str, Any], work: str) -> None:
    assert devices(trace, work) == []


def test_where_some_gpus_of_the_attempt_are_unknown_their_order_is_too() -> None:
    holds = HOLDS.replace("| 2         |", "| 3         |")
    assert devices({"world_size": 1}, "0 0 5; 1 0 5", holds=holds) == []


def test_a_gpu_that_was_replaced_is_the_one_that_was_there() -> None:
    holds = """
        hold_id | cluster | job_id | attempt | rank | rank_count | gpu_count | start_ns | end_ns
        1       | c1      | 7      | 0       | 0    | 2          | 2         | 10:00    | 10:05
        2       | c1      | 7      | 0       | 0    | 2          | 2         | 10:05    | 11:00
    """
    assert devices({"rank": 0}, "0 0 5", holds=holds) == [(0, 2)]
