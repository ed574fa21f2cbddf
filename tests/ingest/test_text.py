"""Text sources: blocks of whole lines in bounded memory, CSV records, times."""

from __future__ import annotations

import csv
import gzip
import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest import text
from ingest.text import blocks, lines, parse_time, records
from warehouse.contracts import SourceFile
from warehouse.errors import SourceError

ANY = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80
)


def source(folder: Path, data: bytes, name: str = "file.txt") -> SourceFile:
    path = folder / name
    path.write_bytes(data)
    return SourceFile(str(path), name, "source", None, None, {})


@ANY
@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 64), st.booleans())
def test_blocks_hold_whole_lines_and_lose_nothing(
    tmp_path: Path, parts: list[bytes], size: int, zipped: bool
) -> None:
    data = b"".join(b"x" + part.replace(b"\n", b"") + b"\n" for part in parts)
    name = "file.txt.gz" if zipped else "file.txt"
    file = source(tmp_path, gzip.compress(data) if zipped else data, name)
    found = list(blocks(file, size=size))
    assert b"".join(block.data for block in found) == data
    line = 1
    for block in found:
        assert (block.line, block.fault) == (line, "")
        assert block.data.endswith(b"\n")
        line += block.data.count(b"\n")
    texts = [piece.removesuffix(b"\r") for piece in data.split(b"\n")[:-1]]
    assert [(number, piece) for number, piece, _ in lines(file)] == list(enumerate(texts, 1))


def test_a_line_that_never_ends_is_a_fault_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "MAX_LINE_BYTES", 100)
    file = source(tmp_path, b"a\n" + b"b" * 5000 + b"\nc\nd")
    found = [
        (number, data)
        for block in blocks(file, size=16)
        for number, data in enumerate(block.data.splitlines(), block.line)
        if not block.fault
    ]
    assert found == [(1, b"a"), (3, b"c"), (4, b"d")]
    (fault,) = [block for block in blocks(file, size=16) if block.fault]
    assert fault.line == 2
    assert "longer than 100 bytes" in fault.fault
    assert len(fault.data) <= 1024


def test_a_file_that_grows_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "MAX_BYTES", 10_000)
    file = source(tmp_path, gzip.compress(b"0\n" * 100_000), "bomb.gz")
    with pytest.raises(SourceError, match="grows beyond 10000 bytes"):
        list(blocks(file, size=512))


@pytest.mark.parametrize("keep", [0, 5, 20, 200, -9, -1])
def test_cut_gzip_gives_what_it_holds(tmp_path: Path, keep: int) -> None:
    data = b"".join(b"%d,%d\n" % (n, n * 7919 % 1009) for n in range(2000))
    whole = gzip.compress(data, mtime=0)
    found = list(blocks(source(tmp_path, whole[:keep], "file.gz")))
    if keep == 0:
        assert found == []
        return
    assert data.startswith(b"".join(block.data for block in found))
    assert "the copy was cut" in found[-1].fault
    assert [bool(block.fault) for block in found] == [False] * (len(found) - 1) + [True]
    if keep in (-9, -1):  # all the data are there, only the checksum is not
        assert b"".join(block.data for block in found) == data


def test_a_file_that_is_no_gzip_or_is_absent(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="compressed data are damaged"):
        list(blocks(source(tmp_path, b"plain text", "file.gz")))
    with pytest.raises(SourceError, match="cannot be opened"):
        list(blocks(SourceFile(str(tmp_path / "none"), "none", "source", None, None, {})))


csv_text = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=8)


@ANY
@given(st.lists(st.lists(csv_text, min_size=3, max_size=3), max_size=10))
def test_records_are_what_a_csv_writer_wrote(tmp_path: Path, rows: list[list[str]]) -> None:
    header = ["a", "b", "c"]
    rows = [row for row in rows if row != header]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    found = list(records(source(tmp_path, out.getvalue().encode())))
    assert [record.cells for record in found] == [header, *rows]
    assert not any(record.fault for record in found)


def test_many_open_quotes_are_read_in_time(tmp_path: Path) -> None:
    """Each line opens a quote: every pair of lines is one bad record, and none is read twice."""
    data = b"a,b\n" + b'x,"y\n' * 3001 + b"1,2\n"
    found = list(records(source(tmp_path, data)))
    assert found[-1].cells == ["1", "2"]
    assert sum(bool(record.fault) for record in found) <= 3001


@ANY
@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)),  # noqa: DTZ001
    st.integers(-14 * 4, 14 * 4),
)
def test_times_come_back_from_any_zone(naive: datetime, quarters: int) -> None:
    time = naive.replace(tzinfo=UTC)
    offset = timedelta(minutes=15 * quarters)
    sign, minutes = ("-", -offset) if quarters < 0 else ("+", offset)
    hours, rest = divmod(int(minutes.total_seconds()) // 60, 60)
    written = f"{(naive + offset).isoformat()}{sign}{hours:02}:{rest:02}"
    assert parse_time(written) == parse_time(time.isoformat()) == time
    assert parse_time(naive.isoformat(" "), assume_utc=True) == time


@pytest.mark.parametrize(
    "bad", ["", "now", "2026-13-01T00:00:00Z", "1796074280", "0001-01-01T00:00:00+14:00"]
)
def test_what_is_no_time(bad: str) -> None:
    with pytest.raises(ValueError, match="is no time; expected ISO 8601"):
        parse_time(bad)
