"""Text sources in bounded memory: blocks of whole lines, lines, CSV records, times.

Line numbers count from 1. What cannot be read is handed on with a `fault`, never dropped, so that
the reader can keep it as a reject. UTF-8, with or without a byte order mark; bytes that are not
UTF-8 become U+FFFD in CSV cells.
"""

from __future__ import annotations

import csv
import gzip
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple, cast

from isal import igzip_lib

from ingest.rows import MAX_BYTES, open_source
from warehouse.contracts import SourceFile
from warehouse.errors import SourceError

BLOCK_BYTES = 1 << 20
#: A line longer than this is no record of any format that we read.
MAX_LINE_BYTES = 1 << 20
_QUOTE = b'"'
#: The type stubs call IsalError an exception, not a class of them.
_DAMAGED: tuple[type[Exception], ...] = (OSError, cast("type[Exception]", igzip_lib.IsalError))


class Block(NamedTuple):
    """Whole lines; only the file's last may lack its line feed. `fault` names what is broken."""

    line: int
    data: bytes
    fault: str = ""


class Line(NamedTuple):
    """One line without its line ending; where `fault` is not '' the text is what could be saved."""

    number: int
    text: bytes
    fault: str = ""


class Record(NamedTuple):
    """One CSV record and the number of its first line; `cells` is empty where there is a fault."""

    line: int
    cells: list[str]
    raw: str
    fault: str = ""


def blocks(file: SourceFile, *, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield a file as blocks of whole lines; memory is bounded by `size` plus one line.

    A line over MAX_LINE_BYTES, and compressed data that end early (a copy that was cut), become a
    block with a fault. Raises SourceError where the file is damaged, in another encoding,
    or larger than MAX_BYTES.
    """
    rest, line, skipping = b"", 1, False
    for data in chunks(file, size):
        if data is None:
            # What came before stands; the line in which the data end does not.
            yield Block(line, rest, "the compressed data end early: the copy was cut")
            return
        if skipping:
            end = data.find(b"\n")
            if end < 0:
                continue
            data, skipping, line = data[end + 1 :], False, line + 1
        data = rest + data
        end = data.rfind(b"\n") + 1
        whole, rest = data[:end], data[end:]
        if whole:
            yield Block(line, whole)
            line += whole.count(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            yield Block(line, rest[:1024], f"the line is longer than {MAX_LINE_BYTES} bytes")
            rest, skipping = b"", True
    if rest:
        yield Block(line, rest)


def chunks(file: SourceFile, size: int) -> Iterator[bytes | None]:
    """Yield a file's bytes; a None at the end says that its compressed data end early.

    Raises SourceError where the file is damaged, in another encoding, or larger than MAX_BYTES.
    """
    total = 0
    with open_source(file) as handle:
        # `read` would lose what it has when the compressed data end early.
        read = getattr(handle, "read1", handle.read)
        is_cut = False
        while not is_cut:
            try:
                data = read(size)
            except EOFError:
                data, is_cut = _salvage(file, total), True
            except _DAMAGED as error:
                raise SourceError(
                    file.name, f"the compressed data are damaged ({error})",
                    expected="a gzip file whose checksum agrees", todo="Copy or export it again.",
                ) from error  # fmt: skip
            if total == 0:
                data = _without_mark(data, file)
            if not data and not is_cut:
                return
            total += len(data)
            if total > MAX_BYTES:
                raise SourceError(
                    file.name, f"grows beyond {MAX_BYTES} bytes when it is opened",
                    expected="a file of that size or less", todo="Export it in several parts.",
                )  # fmt: skip
            yield data
    yield None


def _salvage(file: SourceFile, start: int) -> bytes:
    """What a cut gzip file holds from byte `start` on: igzip throws its last buffer away."""
    saved = bytearray()
    # What is left is at most what igzip buffers.
    with gzip.open(file.path, "rb") as handle, suppress(EOFError, *_DAMAGED):
        while data := handle.read1(BLOCK_BYTES):
            saved += data[max(start, 0) :]
            start -= min(start, len(data))
    return bytes(saved)


def _without_mark(data: bytes, file: SourceFile) -> bytes:
    """Take the UTF-8 mark off the first block; raise SourceError for what is no such text."""
    if data.startswith(b"\x1f\x8b"):
        raise SourceError(
            file.name, "is compressed by gzip", expected="a name that ends in .gz for such a file",
            todo="Rename it, or decompress it.",
        )  # fmt: skip
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(
            file.name, "is UTF-16 text", expected="UTF-8",
            todo="Convert it: iconv -f UTF-16 -t UTF-8 FILE.",
        )  # fmt: skip
    return data.removeprefix(b"\xef\xbb\xbf")


def documents(file: SourceFile, *, most: int) -> Iterator[Line]:
    """Yield a file's lines, however long up to `most` bytes: each is a document by itself.

    A longer one, and compressed data that end early, have a fault and the first of their bytes.
    Raises SourceError as `chunks` does.
    """
    parts: list[bytes] = []
    size, number = 0, 1
    for data in chunks(file, BLOCK_BYTES):
        if data is None:
            yield Line(number, b"".join(parts)[:1024], "the compressed data end early")
            return
        *ended, rest = data.split(b"\n")
        for end in ended:
            text = b"".join([*parts, end])
            fault = f"the line is longer than {most} bytes" if size + len(end) > most else ""
            yield Line(number, text[:1024] if fault else text.strip(), fault)
            parts, size, number = [], 0, number + 1
        size += len(rest)
        # What is too long already is only counted.
        if size <= most or not parts:
            parts.append(rest)
    if size:
        fault = f"the line is longer than {most} bytes" if size > most else ""
        text = b"".join(parts)
        yield Line(number, text[:1024] if fault else text.strip(), fault)


def lines(file: SourceFile) -> Iterator[Line]:
    """Yield a file's lines, without line endings. Raises what `blocks` raises."""
    for block in blocks(file):
        if block.fault:
            yield Line(block.line, block.data, block.fault)
            continue
        texts = block.data.split(b"\n")
        if not texts[-1]:
            texts.pop()
        for number, text in enumerate(texts, block.line):
            yield Line(number, text.removesuffix(b"\r"))


def records(file: SourceFile) -> Iterator[Record]:
    """Yield a file's CSV records; the first is the header, and its width binds all others.

    Cells may hold line feeds inside quotes. A record that does not parse costs its own line only:
    when a quote is never closed, the lines that it seemed to swallow are read anew. Blank lines
    and repeated headers (files put one behind the other) are passed over.
    """
    waiting: deque[Line] = deque()
    source = lines(file)
    header: list[str] = []

    def take() -> Line | None:
        return waiting.popleft() if waiting else next(source, None)

    while (first := take()) is not None:
        if first.fault:
            yield Record(first.number, [], first.text.decode("utf-8", "replace"), first.fault)
            continue
        if not first.text.strip():
            continue
        chunk, is_open, size = [first], first.text.count(_QUOTE) % 2 == 1, len(first.text)
        while is_open and size <= MAX_LINE_BYTES and (more := take()) is not None:
            chunk.append(more)
            if more.fault:
                break
            is_open ^= more.text.count(_QUOTE) % 2 == 1
            size += len(more.text)
        text = b"\n".join(line.text for line in chunk).decode("utf-8", "replace")
        cells, fault = ([], "a quote is never closed") if is_open else _cells(text)
        if not fault and header and len(cells) != len(header):
            fault = f"{len(cells)} cells; expected {len(header)} as in the header"
        if fault:
            waiting.extendleft(reversed(chunk[1:]))
            raw = first.text.decode("utf-8", "replace")
            yield Record(first.number, [], raw, fault)
        elif cells != header:
            header = header or cells
            yield Record(first.number, cells, text)


def _cells(text: str) -> tuple[list[str], str]:
    """The cells of one record, or what is wrong with it."""
    try:
        return next(csv.reader((text,), strict=True)), ""
    except csv.Error as error:
        return [], f"no CSV record ({error})"


@lru_cache(maxsize=65_536)
def parse_time(text: str, *, assume_utc: bool = False) -> datetime:
    """Read an ISO 8601 time as UTC, to the microsecond.

    A time without a zone raises ValueError unless `assume_utc` (FOCUS says that all its times
    are UTC; other sources must say what they mean).
    """
    stripped = text.strip()
    # BigQuery prints "2026-05-01 00:00:00 UTC".
    plain = stripped[:-4] + "+00:00" if stripped.endswith(" UTC") else stripped
    try:
        time = datetime.fromisoformat(plain)
        if time.tzinfo is None:
            if not assume_utc:
                raise ValueError(
                    f"time {text!r} has no zone; expected ISO 8601 with one, such as "
                    f"2026-11-30T21:30:00Z"
                )
            return time.replace(tzinfo=UTC)
        return time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        if "has no zone" in str(error):
            raise
        raise ValueError(
            f"{text!r} is no time; expected ISO 8601, such as 2026-11-30T21:30:00Z"
        ) from None
