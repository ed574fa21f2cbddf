"""Public traces with damage of every kind, and cut anywhere: whole good events are kept, and the
rest is rejected with its place."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from ingest.traces import kineto
from tests.ingest.traces.reading import text_of
from tests.ingest.traces.test_public_traces import FILES, KEPT, TABLES
from warehouse.contracts import SourceFile

#: Cuts of a file: 100, but no more than that many bytes are read of it.
CUTS, MOST_BYTES = 100, 60_000_000
_LIST = re.compile(r'"traceEvents"\s*:\s*\[')
_PHASE = re.compile(rb'"ph"\s*:\s*"X"')
_CATEGORY = re.compile(rb'"cat"\s*:\s*"([^"]*)"')
_DURATION = re.compile(rb'("dur"\s*:\s*)("?[-0-9.eE+]+"?)')
_NAME = re.compile(rb'("name"\s*:\s*")')
_PID = re.compile(rb'("pid"\s*:\s*)("?[^,"}]+"?)')

Damage = Callable[[bytes], bytes]


def _in(pattern: re.Pattern[bytes], new: bytes) -> Damage:
    return lambda event: pattern.sub(new, event, count=1)


#: Damage of an event's text, and whether an event whose row is kept becomes a reject by it.
KINDS: dict[str, tuple[Damage, bool]] = {
    "NaN": (_in(_DURATION, rb"\1NaN"), True),
    "Infinity": (_in(_DURATION, rb"\1Infinity"), True),
    "negative duration": (_in(_DURATION, rb"\1-5"), True),
    "no duration": (_in(_DURATION, rb'"no_dur": 1'), True),
    "empty duration": (_in(_DURATION, rb"\1"), True),
    "huge integer": (_in(_DURATION, rb"\g<1>1" + b"0" * 40), True),
    # Work of the GPU has its device among its args.
    "huge pid": (_in(_PID, rb"\g<1>1" + b"0" * 40), False),
    "bad UTF-8": (_in(_NAME, b"\\1\xff\xfe"), False),
    "control character": (_in(_NAME, b"\\1\x01\x00"), False),
    "lone surrogate": (_in(_NAME, rb"\1\\ud800"), False),
    "duplicate key": (lambda event: b'{"name": "x", "args": {"a": 1}, ' + event[1:], False),
    "bad escape": (_in(_NAME, rb"\1C:\\qdir"), False),
}  # fmt: skip


@pytest.fixture(scope="module")
def traces(shared_data: Path) -> Path:
    folder = shared_data / "traces"
    if not folder.is_dir():
        pytest.skip(f"no public traces at {folder}")
    return folder


@lru_cache(maxsize=1)
def spans(path: Path) -> list[tuple[int, int]]:
    """Where each event begins and ends in the file's text."""
    import json

    view = text_of(path).decode("latin-1")
    found = _LIST.search(view)
    at = found.end() if found else view.index("[") + 1
    scan, between, events = json.JSONDecoder(strict=False).raw_decode, re.compile(r"[\s,]*"), []
    while view[at := between.match(view, at).end()] != "]":  # type: ignore[union-attr]
        end = scan(view, at)[1]
        events.append((at, end))
        at = end
    return events


class Numbers:
    """What a reading gave: the numbers of the events that are rows, by table, and the rejects."""

    def __init__(self, path: Path, *, window: int = 0) -> None:
        self.rows: dict[str, set[int]] = {table: set() for table in TABLES}
        self.rejects: list[dict[str, str]] = []
        self.header: dict[str, object] = {}
        options = {"window": window} if window else {}
        file = SourceFile(str(path), path.name, "damage", None, None, {})
        for batch in kineto.read(file, **options):
            if batch.table in self.rows:
                self.rows[batch.table].update(batch.rows.column("event_no").to_pylist())
            elif batch.table == "reject":
                self.rejects += batch.rows.to_pylist()
            elif batch.table == "trace_header":
                (self.header,) = batch.rows.to_pylist()

    @property
    def numbers(self) -> set[int]:
        return set().union(*self.rows.values())


@lru_cache(maxsize=1)
def whole(path: Path) -> Numbers:
    return Numbers(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_cut_anywhere(traces: Path, tmp_path: Path, name: str) -> None:
    """What stands whole before the cut is kept; at most the event at the cut is a reject."""
    path = traces / name
    text, events, before = text_of(path), spans(path), whole(path).numbers
    count = min(CUTS, 2 * MOST_BYTES // len(text))
    target = tmp_path / "cut.json"
    for at in random.Random(name).choices(range(len(text)), k=count):
        target.write_bytes(text[:at])
        found = Numbers(target, window=4096 if len(text) < 1_000_000 and at % 2 else 0)
        kept = sum(end <= at for _, end in events)
        assert found.numbers == {number for number in before if number <= kept}, at
        if found.header and events and at <= events[-1][1]:
            assert found.header["is_truncated"], at
            assert found.header["event_count"] in (kept, kept + 1), at
        assert found.header or found.rejects, at


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_damaged_events(traces: Path, tmp_path: Path, name: str) -> None:
    """Each kind of damage, in events all over the file at once."""
    path = traces / name
    text, events, before = text_of(path), spans(path), whole(path)
    timed = [n for n, (at, end) in enumerate(events) if _PHASE.search(text, at, end)]
    chosen = sorted(random.Random(name).sample(timed, k=min(len(timed), 10 * len(KINDS))))
    parts, at, moved = [], 0, {}
    lost, all_kinds = set(), list(KINDS)
    for turn, n in enumerate(chosen):
        start, end = events[n]
        damage, is_lost = KINDS[all_kinds[turn % len(all_kinds)]]
        event = damage(text[start:end])
        parts.append(text[at:start])
        moved[n + 1] = sum(map(len, parts))
        parts.append(event)
        at = end
        category = _CATEGORY.search(text, start, end)
        is_kept = category is not None and category[1].decode() in KEPT
        if is_lost and is_kept and event != text[start:end]:
            lost.add(n + 1)
    target = tmp_path / "damaged.json"
    target.write_bytes(b"".join([*parts, text[at:]]))
    found = Numbers(target)
    if len(lost) == len(events):
        assert not found.header
    else:
        assert found.header["event_count"] == len(events)
    places = [re.fullmatch(r"event (\d+), byte (\d+)", r["position"]) for r in found.rejects]
    rejected = {int(p[1]): int(p[2]) for p in places if p}
    assert rejected.keys() >= lost & before.numbers
    assert rejected.keys() <= moved.keys()
    assert all(moved[number] == offset for number, offset in rejected.items())
    # Modules are rows of what their frames enclose: a frame that is lost lets its like stand.
    assert before.numbers - found.numbers <= rejected.keys() | set(moved)
    untouched = before.numbers - set(moved)
    assert untouched <= found.numbers


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_raw_quote_costs_its_own_event(traces: Path, tmp_path: Path, name: str) -> None:
    """The text around it is found again; no other event is lost."""
    path = traces / name
    text, events = text_of(path), spans(path)
    before = whole(path).numbers
    target = tmp_path / "quote.json"
    for n in random.Random(name).choices(range(len(events)), k=min(6, 60_000_000 // len(text))):
        start, end = events[n]
        if (place := _NAME.search(text, start, end)) is None:
            continue
        target.write_bytes(text[: place.end()] + b'"' + text[place.end() :])
        found = Numbers(target)
        # Behind it numbers may be one higher, where what is left of it counts as an event.
        extra = int(str(found.header["event_count"])) - len(events)
        wanted = {k for k in before if k <= n} | {k + extra for k in before if k > n + 1}
        assert extra in (0, 1), n
        assert wanted <= found.numbers, n
        assert len(found.numbers - wanted) <= 1, n
