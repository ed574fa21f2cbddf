"""Nsight Systems exports that are damaged, hostile or not what they are called."""

from __future__ import annotations

import gzip
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from ingest.traces import nsys_tables
from ingest.traces.nsys_names import Processes, function, op, process, thread
from tests.ingest.traces.nsys_export import (
    EPOCH,
    GLOBAL_TID,
    call,
    export,
    kernel,
    read,
    read_path,
    span,
    write,
    write_folder,
)
from tests.ingest.traces.reading import header
from warehouse.errors import SourceError

GOOD = kernel(10, 20)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"start": "7"}, "start is '7'; expected a whole number"),
        ({"start": 7.5}, "start is 7.5; expected a whole number"),
        ({"start": b"\xff"}, "start is 1 bytes"),
        ({"start": None}, "start is None"),
        ({"end": None}, "no end: it was still open"),
        ({"start": 30, "end": 29}, "end 29 is before start 30"),
        ({"start": -1}, "it runs from -1"),
        ({"start": 0, "end": 2**63 - 1}, "expected ns from 0 to"),
        ({"end": 8 * 86_400 * 10**9}, "never ended"),
        ({"deviceId": None}, "deviceId is None"),
        ({"streamId": "x"}, "streamId is 'x'"),
    ],
)
def test_a_kernel_that_cannot_be_read(cells: dict[str, Any], said: str, tmp_path: Path) -> None:
    tables = read(tmp_path, kernel=[GOOD, kernel(**cells), GOOD], runtime=[call()])
    (reject,) = tables["reject"]
    assert reject["position"] == "CUPTI_ACTIVITY_KIND_KERNEL, rowid 2"
    assert said in reject["reason"]
    assert "correlationId 9" in reject["raw"]
    assert [r["start_ns"] for r in tables["trace_kernel"]] == [EPOCH + 10] * 2
    head = header(tables)
    assert (head["event_count"], head["gpu_count"], head["reject_count"]) == (4, 2, 1)


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        ({"demangledName": 99}, "(unnamed)"),
        ({"demangledName": "x", "shortName": 99, "mangledName": 1}, "void at::native::add<4>(int)"),
    ],
)
def test_names_that_are_not_there(cells: dict[str, Any], kept: str, tmp_path: Path) -> None:
    row = kernel(**{"shortName": 99, **cells})
    tables = read(tmp_path, kernel=[row])
    assert tables["trace_kernel"][0]["name"] == kept
    reasons = [reject["reason"] for reject in tables["reject"]]
    assert len(reasons) == (kept == "(unnamed)")
    assert all("1 events have a name that StringIds lacks" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("cells", "correlation"),
    [({"correlationId": None}, None), ({"correlationId": -1}, None), ({"globalPid": None}, None),
     ({"correlationId": 2**32}, None), ({"correlationId": "9"}, None), ({}, 9)],
)  # fmt: skip
def test_numbers_that_tie_nothing(
    cells: dict[str, Any], correlation: int | None, tmp_path: Path
) -> None:
    (row,) = read(tmp_path, kernel=[kernel(**cells)])["trace_kernel"]
    assert row["correlation"] == correlation


def test_sizes_that_are_none(tmp_path: Path) -> None:
    (row,) = read(tmp_path, kernel=[kernel(gridX="x", blockX=-1)])["trace_kernel"]
    assert (row["blocks"], row["threads"]) == (None, None)


def test_ranges_that_cannot_be_read(tmp_path: Path) -> None:
    tables = read(
        tmp_path,
        nvtx=[
            span("open", 1, None), span("x", eventType="59"), span("y", globalTid=None),
            span(None), span("", textId=77), span("good"),
        ],
    )  # fmt: skip
    assert [r["name"] for r in tables["trace_annotation"]] == ["(unnamed)", "(unnamed)", "good"]
    reasons = sorted(reject["reason"].partition(";")[0] for reject in tables["reject"])
    assert [reason.partition(" ")[0] for reason in reasons] == ["2", "eventType", "globalTid", "no"]
    assert header(tables)["event_count"] == 6


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.sqlite", export(nvtx=[span("a")]),
        "update NVTX_EVENTS set text = cast(x'6162ff63' as text)",
    )  # fmt: skip
    assert read_path(path)["trace_annotation"][0]["name"] == "ab\ufffdc"
    folder = tmp_path / "d"
    meta = write_folder(folder, export(nvtx=[span("a")]))
    table = parquet.read_table(folder / "NVTX_EVENTS.parquet")
    broken = pa.array([b"ab\xffc"], pa.large_binary()).view(pa.large_string())
    at = table.schema.get_field_index("text")
    parquet.write_table(table.set_column(at, "text", broken), folder / "NVTX_EVENTS.parquet")
    assert read_path(meta)["trace_annotation"][0]["name"] == "ab\ufffdc"


def test_an_export_of_almost_nothing(tmp_path: Path) -> None:
    tables = read(tmp_path, kernel=[])
    assert tables["trace_header"] == []
    assert [r["reason"] for r in tables["reject"]] == [
        "no event with a length; expected at least one"
    ]


def test_columns_that_a_version_lacks(tmp_path: Path) -> None:
    rows = [{k: v for k, v in kernel().items() if k in ("start", "end", "deviceId", "streamId")}]
    (row,) = read(tmp_path, kernel=rows, runtime=[{"start": 1, "end": 2, "globalTid": GLOBAL_TID}])[
        "trace_kernel"
    ]
    assert (row["name"], row["correlation"], row["blocks"]) == ("(unnamed)", None, None)


@pytest.mark.parametrize(
    "content", [b"", b"x", b"{}", b"SQLite format 3", b"\x1f\x8b\x08\x00" + bytes(40)]
)
def test_a_file_that_is_no_database(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"is no sqlite database.*nsys export --type=sqlite"):
        read_path(path)


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", {"cats": [{"name": "Tom"}]})
    with pytest.raises(SourceError, match="has no table of Nsight Systems"):
        read_path(path)


def test_a_database_without_tables(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", {}, "create table x (y)", "drop table x")
    with pytest.raises(SourceError, match="has no table of Nsight Systems"):
        read_path(path)


def big(folder: Path) -> Path:
    """An export of some hundred pages."""
    rows = [kernel(n, n + 1, correlationId=n) for n in range(5_000)]
    return write(folder / "t.sqlite", export(kernel=rows))


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_database_that_was_cut(share: float, tmp_path: Path) -> None:
    path = big(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(SourceError, match=r"cannot be read to its end: .*Copy it again"):
        read_path(path)


def test_a_compressed_database_that_was_cut(tmp_path: Path) -> None:
    packed = gzip.compress(big(tmp_path).read_bytes())
    path = tmp_path / "t.sqlite.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(SourceError, match="the compressed data end early"):
        read_path(path)


@pytest.mark.parametrize("last", [4096, None])
def test_bytes_of_a_database_that_are_wrong(last: int | None, tmp_path: Path) -> None:
    """It is read or refused, and never anything else; the schema stands in the first page."""
    path = write(tmp_path / "t.sqlite", export(kernel=[kernel(n, n + 1) for n in range(500)]))
    good = path.read_bytes()
    draw = random.Random(5)
    refused = 0
    for _ in range(60):
        data = bytearray(good)
        for _ in range(draw.choice((1, 3, 30))):
            data[draw.randrange(16, last or len(data))] = draw.randrange(256)
        path.write_bytes(data)
        try:
            read_path(path)
        except SourceError:
            refused += 1
    assert refused


def test_a_database_that_is_still_written(tmp_path: Path) -> None:
    path = big(tmp_path)
    path.with_name("t.sqlite-journal").write_bytes(b"x")
    with pytest.raises(SourceError, match="its writer has not ended"):
        read_path(path)


ENDLESS = """
    with recursive n(i) as (select 1 union all select i + 1 from n) select
    i as start, i as end, 0 as deviceId, 0 as streamId from n
"""


def test_a_view_named_like_a_table_is_not_run(tmp_path: Path) -> None:
    view = f"create view CUPTI_ACTIVITY_KIND_KERNEL as {ENDLESS}"
    tables = read(tmp_path, view, runtime=[call()])
    assert tables["trace_kernel"] == []
    assert len(tables["trace_launch"]) == 1


def test_computed_columns_are_not_run(tmp_path: Path) -> None:
    statement = (
        "create table CUPTI_ACTIVITY_KIND_MEMSET (start, deviceId, streamId, "
        '"end" as (length(zeroblob(900000000))) virtual)'
    )
    row = "insert into CUPTI_ACTIVITY_KIND_MEMSET values (1, 0, 0)"
    tables = read(tmp_path, statement, row, kernel=[kernel()])
    (reject,) = tables["reject"]
    assert reject["reason"].startswith("no end")


def test_a_table_without_rowid(tmp_path: Path) -> None:
    statement = (
        "create table CUPTI_ACTIVITY_KIND_MEMSET (start primary key, "
        '"end", deviceId, streamId) without rowid'
    )
    rows = "insert into CUPTI_ACTIVITY_KIND_MEMSET values (1, 2, 0, 0), (2, null, 0, 0)"
    tables = read(tmp_path, statement, rows, kernel=[kernel()])
    assert [r["position"] for r in tables["reject"]] == ["CUPTI_ACTIVITY_KIND_MEMSET, rowid 2"]
    assert len(tables["trace_kernel"]) == 2


def test_a_cell_that_is_larger_than_any_name(tmp_path: Path) -> None:
    statement = f"insert into StringIds values (50, zeroblob({nsys_tables.MAX_CELL_BYTES + 1}))"
    with pytest.raises(SourceError, match="too big"):
        read(tmp_path, statement, kernel=[kernel()])


def test_work_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsys_tables, "_STEPS", 10)
    monkeypatch.setattr(nsys_tables, "_LOOKS", 5)
    with pytest.raises(SourceError, match="interrupted"):
        read(tmp_path, kernel=[kernel()] * 500)


def test_reading_writes_nothing_beside_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", export(kernel=[kernel()]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    path.chmod(0o444)
    assert len(read_path(path)["trace_kernel"]) == 1
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["a b.sqlite", "a?mode=rw#x.sqlite", "ä%20.sqlite"])
def test_names_with_odd_characters(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.sqlite", export(kernel=[kernel()])).rename(tmp_path / name)
    assert len(read_path(path)["trace_kernel"]) == 1


def test_one_table_of_a_folder_does_not_stand_for_it(tmp_path: Path) -> None:
    write_folder(tmp_path / "d", export(kernel=[kernel()]))
    with pytest.raises(SourceError, match=r"META_DATA_EXPORT\.parquet, which stands for the whole"):
        read_path(tmp_path / "d" / "StringIds.parquet")


def test_bytes_of_a_folder_that_are_wrong(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "d", export(kernel=[kernel(n, n + 1) for n in range(50)]))
    draw = random.Random(5)
    refused = 0
    for _ in range(60):
        table = draw.choice(sorted(path.parent.iterdir()))
        good = table.read_bytes()
        data = bytearray(good)
        for _ in range(draw.choice((1, 3, 30))):
            data[draw.randrange(len(data))] = draw.randrange(256)
        table.write_bytes(data)
        try:
            read_path(path)
        except SourceError:
            refused += 1
        table.write_bytes(good)
    assert refused


def test_a_damaged_table_of_a_folder(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "d", export(kernel=[kernel()]))
    (tmp_path / "d" / "CUPTI_ACTIVITY_KIND_KERNEL.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"CUPTI_ACTIVITY_KIND_KERNEL\.parquet: "):
        read_path(path)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_global_id_is_process_and_thread(number: int) -> None:
    assert 0 <= process(number) < 2**24
    assert number & (2**48 - 1) == process(number) << 24 | thread(number)


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**32 - 1))))
def test_numbers_of_processes_are_one_of_the_file(pairs: list[tuple[int, int]]) -> None:
    processes = Processes()
    found = {(i >> 24, number): processes.unique(i, number) for i, number in pairs}
    assert len(set(found.values())) == len(found)
    assert all(processes.unique(i, number) == found[i >> 24, number] for i, number in pairs)
    assert all(value is not None and 0 <= value < 2**63 for value in found.values())


@given(st.text() | st.from_regex(r"f, seq = \d+, op_id = \d+, sizes = \[.*", fullmatch=True))
def test_any_name_can_be_read(text: str) -> None:
    found = op(text)
    assert found is None or text.startswith(found.name)
    assert function(text) or not text


@given(st.integers(0, 2**61), st.integers(0, 7 * 86_400 * 10**9), st.integers(1, 2**61))
def test_times_are_exact(tmp_path_factory: pytest.TempPathFactory, start: int, length: int,
                         epoch: int) -> None:  # fmt: skip
    end = min(start + length, 2**61)
    folder = tmp_path_factory.mktemp("t")
    session = [{"utcEpochNs": epoch}]
    (row,) = read(folder, kernel=[kernel(start, end)], TARGET_INFO_SESSION_START_TIME=session)[
        "trace_kernel"
    ]
    assert (row["start_ns"], row["end_ns"]) == (epoch + start, epoch + end)
