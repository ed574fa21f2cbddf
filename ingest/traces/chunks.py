"""Finding the events of a trace in bounded memory.

A trace is one JSON text: an object with a list `traceEvents`, or the bare list. The text is read
in windows. A window is cut where one event seems to end and the next to begin, and the cut is
proved by decoding what stands before it as a closed list: text cut at a wrong place is no JSON.
Where that fails, the window is read event by event, and what is no event becomes a Fault.

Offsets count bytes of the decompressed text, from 0; events are numbered from 1, faults as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import msgspec

from ingest.text import chunks
from ingest.traces.events import Event, Unreadable
from warehouse.contracts import SourceFile
from warehouse.errors import SourceError

#: A window's size: larger ones are hardly faster, and hold more events in memory.
WINDOW_BYTES = 1 << 20
#: What is no event within so many bytes is given up as one fault.
MAX_EVENT_BYTES = 16 << 20
#: A text without end: so many bytes without an event are no trace.
MAX_LOST_BYTES = 256 << 20
#: Metadata beyond so many bytes on either side of the events are passed over.
MAX_META_BYTES = 4 << 20
_TRIES = 1000
_LIST = re.compile(rb'(?<!\\)"traceEvents"\s*:\s*\[')
_OVERLAP = 1024
#: Where an event that cannot be decoded seems to end: behind it stands an object with a `ph`.
_NEXT = re.compile(rb'\}\s*,\s*(?=\{[^{}]{0,400}"ph"\s*:\s*"[A-Za-z]")')
_OBJECT = re.compile(r'\{\s*"')
#: The end of the list behind an event that cannot be decoded.
_END = re.compile(rb'\}\s*(\])\s*(?:,\s*"[^"\\]*"\s*:|\}\s*\Z|\Z)')
#: What may follow the list: metadata, the end of the object, the end of the file.
_AFTER = r'\s*+(?:,\s*+"|\}\s*+(?!,)|\Z)'
_CLOSE = re.compile(r"\]" + _AFTER)
_LAST = re.compile(rf"\}}\s*+(\])(?={_AFTER})".encode())
_BETWEEN = b", \t\r\n"
#: Of what JSON has besides numbers and text: false, or an escape.
_LONGEST_WORD = 7
_SEPARATOR = re.compile(r"[, \t\r\n]*")
_scan = json.JSONDecoder(strict=False).raw_decode


class Decoder(Protocol):
    """Reads what stands in the list."""

    def events(self, data: bytes) -> list[Event]:
        """Read a closed list of events; a MsgspecError or RecursionError where it is none."""

    def event(self, data: bytes) -> Event:
        """Read one event as well as it can be read; Unreadable says why it cannot."""


class Piece(NamedTuple):
    """Events that follow one another; `first` is the number of the first.

    `text` is where they stand, from byte `offset` of the file's text on; those that were read one
    by one come with their own texts, in `read`.
    """

    first: int
    events: list[Event]
    text: bytes = b""
    offset: int = 0
    read: list[tuple[int, bytes]] | None = None

    def texts(self) -> list[tuple[int, bytes]]:
        """Each event's offset in the file's text, and its own text: for those that are rejected."""
        if self.read is not None:
            return self.read
        found: list[tuple[int, bytes]] = []
        at = 0
        for raw in msgspec.json.decode(b"[%b]" % self.text, type=list[msgspec.Raw]):
            at = self.text.index(raw, at)
            found.append((self.offset + at, bytes(raw)))
            at += len(raw)
        return found


class Fault(NamedTuple):
    """A stretch of the list that is no event, in the place of one."""

    number: int
    offset: int
    raw: bytes
    reason: str
    #: It is sound JSON, but no event.
    is_json: bool


class Text:
    """A file's decompressed text, read from the front: `data` is what is not yet taken."""

    def __init__(self, file: SourceFile, size: int) -> None:
        self._parts = chunks(file, size)
        self.data = b""
        self.offset = 0
        self.is_end = False
        #: The compressed data end early.
        self.is_cut = False

    def fill(self, size: int) -> None:
        """Read on until `data` has so many bytes, or to the end."""
        have, parts = len(self.data), [self.data]
        while have < size and not self.is_end:
            part = next(self._parts, b"")
            if part:
                parts.append(part)
                have += len(part)
            else:
                self.is_end, self.is_cut = True, part is None
        self.data = b"".join(parts)

    def drop(self, size: int) -> None:
        """Take so many bytes off the front."""
        self.data = self.data[size:]
        self.offset += size


class EventList:
    """The list of events of one file: `open`, then `pieces`, then `head` and `tail` tell the rest.

    `is_truncated` says that the text ends inside the list.
    """

    def __init__(self, file: SourceFile, *, size: int = WINDOW_BYTES) -> None:
        self._file = file
        self._text = Text(file, size)
        self._size = size
        self._lost = 0
        self._wanted = 0
        self._number = 1
        self._is_done = False
        self.is_bare = False
        self.is_truncated = False
        #: Behind the list stand more events: of another trace, or of this one by a stray bracket.
        self.has_more = False
        self.head = b""
        self.tail = b""

    def open(self) -> bool:
        """Find the list; False where there is none: then `head` is the text, as far as kept.

        Raises SourceError where the file cannot be read, or has too much text before a list.
        """
        text = self._text
        text.fill(_OVERLAP)
        while not (start := text.data.lstrip()) and not text.is_end:
            text.drop(len(text.data))
            text.fill(_OVERLAP)
        if start.startswith(b"["):
            self.is_bare = True
            text.drop(len(text.data) - len(start) + 1)
            return True
        while (found := _LIST.search(text.data)) is None:
            # All but what may be the beginning of a match has been looked at.
            done = len(text.data) if text.is_end else max(len(text.data) - _OVERLAP, 0)
            self._keep_head(text.data[:done])
            text.drop(done)
            if text.is_end:
                return False
            self._give_up_if_lost(done, text.offset - done)
            text.fill(_OVERLAP + self._size)
        self._keep_head(text.data[: found.end()])
        text.drop(found.end())
        self._lost = 0
        return True

    def peek(self, size: int) -> bytes:
        """The first bytes of the list, not taken."""
        self._text.fill(size)
        return self._text.data[:size]

    def pieces(self, decoder: Decoder) -> Iterator[Piece | Fault]:
        """Yield all events and faults in order.

        Raises SourceError where the file is damaged, or has too much text that is no event.
        """
        text = self._text
        while not self._is_done:
            text.fill(max(self._size, self._wanted))
            if not text.data.startswith(b"{"):
                text.drop(len(text.data) - len(text.data.lstrip(_BETWEEN)))
            if (piece := self._whole(decoder)) is None:
                yield from self._one_by_one(decoder)
            elif piece.events:
                yield piece
            # Events are freed fast while they are in the processor's cache: before the next come.
            del piece
        self._keep_tail()

    def _keep_head(self, data: bytes) -> None:
        self.head += data[: MAX_META_BYTES - len(self.head)]

    def _keep_tail(self) -> None:
        text = self._text
        parts, kept, rest = [], 0, b""
        while text.data or not text.is_end:
            part = text.data[: MAX_META_BYTES - kept]
            parts.append(part)
            kept += len(part)
            window = rest + text.data
            self.has_more |= _LIST.search(window) is not None or _NEXT.search(window) is not None
            rest = text.data[-_OVERLAP:]
            text.drop(len(text.data))
            text.fill(self._size)
        self.tail = b"".join(parts)

    def _piece(self, events: list[Event], **place: Any) -> Piece:
        self._number += len(events)
        return Piece(self._number - len(events), events, **place)

    def _whole(self, decoder: Decoder) -> Piece | None:
        """The window's events up to a proven cut or to the list's end; None where none is found."""
        data = self._text.data
        if not self._text.is_end:
            cuts = [found] if (found := _cut(data)) else []
        else:
            # Lists of objects in the metadata behind the events end like the list of events.
            cuts = [(m.start(1), m.end()) for m in _LAST.finditer(data)][:-5:-1]
        for end, after in cuts:
            with suppress(msgspec.MsgspecError, RecursionError):
                events = decoder.events(b"[%b]" % data[:end])
                piece = self._piece(events, text=data[:end], offset=self._text.offset)
                self._text.drop(after)
                self._is_done = self._text.is_end
                return piece
        return None

    def _one_by_one(self, decoder: Decoder) -> Iterator[Piece | Fault]:
        """Read the window event by event, as far as it goes."""
        text = self._text
        # One byte is one character here, so that places in it are offsets.
        view = text.data.decode("latin-1")
        run: list[Event] = []
        read: list[tuple[int, bytes]] = []
        at = 0
        while (at := _skip(view, at)) < len(view):
            self._is_done = self._closes(view, at)
            extent = None if self._is_done else self._extent(view, at)
            if extent is None:
                break
            raw, fault = text.data[at : at + extent.size], extent.fault
            try:
                run.append(decoder.event(raw))
                read.append((text.offset + at, raw))
                self._lost = 0
            except Unreadable as error:
                self._give_up_if_lost(extent.size, text.offset + at)
                if run:
                    yield self._piece(run, read=read)
                    run, read = [], []
                yield Fault(self._number, text.offset + at, raw, fault or str(error), not fault)
                self._number += 1
            at += extent.size
        if run:
            yield self._piece(run, read=read)
        if self._is_done:
            at += 1
        elif text.is_end:
            self._is_done = True
            self.is_truncated |= text.is_cut or not self.is_bare
        # What is left is the beginning of an event: more of it must come.
        self._wanted = len(view) - at + self._size
        text.drop(at)

    def _give_up_if_lost(self, size: int, offset: int) -> None:
        self._lost += size
        if self._lost > MAX_LOST_BYTES:
            raise SourceError(
                self._file.name,
                f"has no event in {self._lost:,} bytes before byte {offset + size:,}",
                expected="events of a few kB",
                todo="Look at that place; delete the file if it is damaged, or leave it out of the "
                "source's `files`.",
            )

    def _closes(self, view: str, at: int) -> bool:
        """Whether the list ends here: a bracket, and behind it what may follow the list."""
        if view[at] != "]" or not (self._text.is_end or view[at + 1 :].strip(" \t\r\n}")):
            return False
        return _CLOSE.match(view, at) is not None

    def _extent(self, view: str, at: int) -> _Extent | None:
        """How far the element at a place reaches; None where only more text can say it."""
        text = self._text
        if not text.is_end and view[at] == "]" and not view[at + 1 :].strip(" \t\r\n}"):
            return None
        fault, is_open = "", False
        try:
            end = _scan(view, at)[1]
        except json.JSONDecodeError as error:
            fault = f"no JSON ({error.msg}); expected an event"
            # What is cut fails at its end.
            is_open = error.msg.startswith("Unterminated") or error.pos > len(view) - _LONGEST_WORD
        except (ValueError, RecursionError) as error:
            fault = f"no JSON ({error}); expected an event"
        else:
            # A number may go on in the next window.
            may_go_on = end == len(view) and view[at] not in '{["' and not text.is_end
            return None if may_go_on else _Extent(end - at, "")
        if (start := _next_start(text.data, view, at)) is not None:
            return _Extent(len(view[at:start].rstrip(", \t\r\n")), fault)
        if not text.is_end:
            is_long = len(view) - at > MAX_EVENT_BYTES
            return _Extent(len(view) - at, fault) if is_long else None
        if not is_open and (close := _END.search(text.data, at)) is not None:
            return _Extent(close.start(1) - at, fault)
        self.is_truncated = True
        return _Extent(len(view) - at, "the file ends inside this event; expected the whole of it")


class _Extent(NamedTuple):
    """The length of an element in bytes; `fault` where it is no JSON."""

    size: int
    fault: str


def _skip(view: str, at: int) -> int:
    match = _SEPARATOR.match(view, at)
    return match.end() if match else at


def _cut(data: bytes) -> tuple[int, int] | None:
    """The last place between two events by their look: where one ends and the next begins."""
    start = len(data)
    for _ in range(_TRIES):
        start = data.rfind(b"{", 0, start)
        if start <= 0:
            return None
        begin = max(start - _OVERLAP, 0)
        before = data[begin:start].rstrip()
        if before.endswith(b",") and (before := before[:-1].rstrip()).endswith(b"}"):
            return begin + len(before), start
    return None


def _next_start(data: bytes, view: str, at: int) -> int | None:
    """Where the next event begins after one that is no JSON."""
    boundary = _NEXT.search(data, at + 1)
    limit = boundary.end() if boundary else len(data)
    for tries, found in enumerate(_OBJECT.finditer(view, at + 1, limit)):
        if tries == _TRIES:
            break
        with suppress(ValueError, RecursionError):
            value = _scan(view, found.start())[0]
            if isinstance(value, dict) and "ph" in value and "name" in value:
                return found.start()
    return boundary.end() if boundary else None
