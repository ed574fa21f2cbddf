"""Traces that are not as they should be: what is kept, what is a reject, and what it says."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ingest.rows import RAW_CHARS
from ingest.traces import chunks
from tests.ingest.traces.reading import (
    BASE,
    KERNEL,
    LAUNCH,
    OP,
    STEP,
    Tables,
    header,
    read,
    read_path,
    trace,
)
from warehouse.errors import ConfigError, SourceError

WINDOWS = (40, 0)


def around(bad: str | bytes) -> bytes:
    """A trace in which a piece of text stands between good events."""
    good = [json.dumps(event).encode() for event in (STEP, OP, LAUNCH, KERNEL)]
    text = bad.encode() if isinstance(bad, str) else bad
    events = b",\n".join([*good[:2], text, *good[2:]])
    return b'{"baseTimeNanoseconds": %d, "traceEvents": [%b],\n"traceName": "x]"}' % (BASE, events)


def kernel(**changes: Any) -> str:
    return json.dumps(KERNEL | changes)


def is_whole(tables: Tables) -> None:
    """The good events are there and no other."""
    found = [
        len(tables[name])
        for name in ("trace_annotation", "trace_op", "trace_launch", "trace_kernel")
    ]
    assert found == [1, 1, 1, 1]
    assert header(tables)["event_count"] == 5
    assert header(tables)["reject_count"] == len(tables["reject"])
    assert not header(tables)["is_truncated"]


UNREADABLE: dict[str, str | bytes] = {
    "bare quotes in a name": kernel(name="a").replace('"a"', '"<frozen "os">"'),
    "a quote too few": kernel(name="a").replace('"a"', '"a'),
    "a key without its quote": kernel().replace('"pid"', 'pid"'),
    "cut short": kernel()[:60],
    "cut short by another writer": kernel()[:100] + '{"ph": "M"',
    "no text at all": b"\x00\x01\x02",
    "an event without ph": json.dumps({k: v for k, v in KERNEL.items() if k != "ph"}),
    "a ph that is no text": kernel(ph=7),
    "null": "null",
    "a number": "17",
    "a text": '"X"',
    "a list": "[1, 2]",
    "very deep": "[" * 100_000,
    "a number without end": kernel(pid=1).replace('"pid": 1', '"pid": ' + "1" * 5000),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("case", UNREADABLE)
def test_an_event_that_cannot_be_read_costs_itself_only(
    tmp_path: Path, case: str, window: int
) -> None:
    text = around(UNREADABLE[case])
    tables = read(tmp_path, text, window=window)
    is_whole(tables)
    (reject,) = tables["reject"]
    raw = UNREADABLE[case]
    bad = raw.encode() if isinstance(raw, str) else raw
    offset = text.index(b",\n" + bad) + 2
    assert reject["position"] == f"event 3, byte {offset}"
    assert reject["source"] == "kineto"
    assert "expected" in reject["reason"]
    assert bad.decode("utf-8", "replace")[:RAW_CHARS].startswith(reject["raw"][:400])


@pytest.mark.parametrize("window", WINDOWS)
def test_bad_events_that_follow_one_another_are_counted_one_by_one(
    tmp_path: Path, window: int
) -> None:
    bad = kernel(name="a").replace('"a"', '"<frozen "os">"')
    tables = read(tmp_path, around(",\n".join([bad] * 3)), window=window)
    assert [row["position"].split(",")[0] for row in tables["reject"]] == [
        "event 3", "event 4", "event 5",
    ]  # fmt: skip
    assert [row["event_no"] for row in tables["trace_kernel"]] == [7]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_bad_event_at_either_end(tmp_path: Path, place: int, window: int) -> None:
    events = [json.dumps(OP), json.dumps(KERNEL)]
    events.insert(2 * place, kernel(name="a").replace('"a"', '"b" c"'))
    text = json.dumps(trace()).replace("[]", f"[{', '.join(events)}]")
    text = text[:-1] + ', "distributedInfo": {"rank": 1, "pg_config": [{"n": 1}, {"n": 2}]}}'
    tables = read(tmp_path, text, window=window)
    assert len(tables["reject"]) == len(tables["trace_op"]) == len(tables["trace_kernel"]) == 1
    assert header(tables)["meta_rank"] == 1
    assert not header(tables)["is_truncated"]


ODD: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "NaN": (kernel().replace('"context": 1', '"memory bandwidth": NaN'), {}),
    "Infinity": (kernel().replace('"context": 1', '"x": -Infinity'), {}),
    "control characters": (kernel(name="a").replace('"a"', '"a\x01\tb\n"'), {"name": "a\x01\tb\n"}),
    "bytes that are not UTF-8": (
        kernel(name="a").encode().replace(b'"a"', b'"a\xff\xc3"'), {"name": "a\ufffd\ufffd"},
    ),
    "a backslash that escapes nothing": (
        kernel(name="a").replace('"a"', r'"C:\python\"x\u00e9\\"'), {"name": 'C:\\python"x\xe9\\'},
    ),
    "an empty value": (kernel().replace('"stream": 7', '"Process Group Description": '), {}),
    "an empty value at the end": (kernel().replace('"dur": 10.64, ', '"id": , "dur": 10.64, '), {}),
    "a bare N/A": (kernel().replace('"context": 1', '"bytes": N/A'), {"bytes": None}),
    "a bare nan": (kernel().replace('"context": 1', '"bytes": -nan'), {"bytes": None}),
    "half a surrogate pair": (kernel(name="a\ud800b"), {"name": "a\ufffdb"}),
    "a key twice": (kernel(name="a").replace('"name"', '"name": "b", "name"'), {"name": "a"}),
    "ts as text": (kernel(ts="5217255724893.939"), {}),
    "dur as text": (kernel(dur="10.64"), {}),
    "pid as text": (kernel(pid="0", args={}), {"device": 0}),
    "tid as text": (kernel(tid="stream 9", args={}), {"stream": 9}),
    "correlation as text": (kernel(args={"correlation": "12"}), {"correlation": 12}),
    "correlation of 64 bits": (kernel(args={"correlation": 2**64 - 1}), {"correlation": None}),
    "correlation as a float": (kernel(args={"correlation": 12.0}), {"correlation": 12}),
    "Comms Id of 64 bits": (kernel(args={"Comms Id": 10159970886766084423}), {}),
    "a name that is a number": (kernel(name=5), {"name": "5"}),
    "a name that is null": (kernel(name=None), {"name": ""}),
    "args that are a list": (kernel(args=[1]), {"correlation": None, "device": 0, "stream": 7}),
    "args that are null": (kernel(args=None), {"device": 0, "stream": 7}),
    "grid as text": (kernel(args={"grid": "grid(100,)"}), {"blocks": None}),
    "grid of floats": (kernel(args={"grid": [1.5, 1, 1], "block": [2, 2]}), {"threads": 4}),
    "a grid beyond reason": (kernel(args={"grid": [2**40, 2**40]}), {"blocks": None}),
    "an exponent": (kernel(args={"bytes": 1e3}), {"bytes": 1000}),
    "an exponent beyond reason": (kernel().replace('"context": 1', '"bytes": 1e400'), {}),
    "a collective name that is a number": (
        kernel(args={"Collective name": 7, "Process Group Name": 0}), {"group_name": "0"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("case", ODD)
def test_an_odd_event_is_read_all_the_same(tmp_path: Path, case: str, window: int) -> None:
    text, wanted = ODD[case]
    tables = read(tmp_path, around(text), window=window)
    assert not tables["reject"]
    odd, good = sorted(tables["trace_kernel"], key=lambda row: row["event_no"])
    assert (odd["event_no"], good["event_no"]) == (3, 5)
    assert {name: odd[name] for name in wanted} == wanted
    assert (odd["start_ns"], odd["end_ns"]) == (good["start_ns"], good["end_ns"])
    assert header(tables)["event_count"] == 5


BAD_TIMES: dict[str, tuple[dict[str, Any], str]] = {
    "a negative length": ({"dur": -0.001}, "dur is -0.001 us"),
    "a length of eight days": ({"dur": 8 * 86_400e6}, "never ended"),
    "no length": ({"dur": None}, "no dur"),
    "no time": ({"ts": None}, "no ts"),
    "a time that is no number": ({"ts": "soon"}, "no ts"),
    "a lost time": ({"ts": 0}, "lost the time"),
    "a lost time with decimals": ({"ts": 0.0}, "lost the time"),
    "a negative time": ({"ts": -5}, "lost the time"),
    "a time beyond a BIGINT": ({"ts": 10**30}, "before 2116"),
    "a time as text beyond reason": ({"ts": "1e999999999"}, "no ts"),
    "no thread": ({"pid": "Spans", "tid": "x", "args": {}}, "pid 'Spans'"),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("case", BAD_TIMES)
@pytest.mark.parametrize("event", [KERNEL, OP, LAUNCH, STEP], ids=lambda event: event["cat"])
def test_a_time_or_place_that_cannot_be(
    tmp_path: Path, event: dict[str, Any], case: str, window: int
) -> None:
    changes, reason = BAD_TIMES[case]
    bad = json.dumps(event | changes)
    tables = read(tmp_path, around(bad), window=window)
    is_whole(tables)
    (reject,) = tables["reject"]
    assert reject["position"] == f"event 3, byte {around(bad).index(bad.encode())}"
    assert reason in reject["reason"]
    assert "expected" in reject["reason"]


def test_a_rejected_event_is_kept_as_it_stands(tmp_path: Path) -> None:
    """Also one whose text cannot be encoded again: half of a surrogate pair."""
    bad = kernel().replace('"dur": 10.64', '"dur": -1').replace("at::native", "\\ud800::native")
    assert bad != kernel()
    for window in (0, 64):
        tables = read(tmp_path, around(bad), window=window)
        (row,) = tables["reject"]
        assert row["raw"] == bad[:RAW_CHARS]
        assert len(tables["trace_launch"]) == 1


def test_a_bad_time_of_what_is_not_kept_is_no_matter(tmp_path: Path) -> None:
    odd = [
        {"ph": "X", "cat": "overhead", "name": "x", "pid": -1, "tid": 0, "ts": 0, "dur": 1},
        {"ph": "X", "cat": "python_function", "name": "a.py(1): f", "pid": 1, "tid": 1, "ts": 9e11,
         "dur": -1},
        {"ph": "X", "cat": "Trace", "name": "x", "pid": "Spans", "tid": "P", "ts": 1e12},
        {"ph": "f", "cat": "ac2g", "id": 1, "name": "ac2g", "pid": 0, "tid": 7, "ts": "none"},
    ]  # fmt: skip
    tables = read(tmp_path, trace(*odd, KERNEL))
    assert not tables["reject"]
    row = header(tables)
    assert row["start_ns"] == tables["trace_kernel"][0]["start_ns"]
    assert row["end_ns"] == tables["trace_kernel"][0]["end_ns"]
    assert row["has_stack"]


def test_zero_is_a_time_where_there_is_no_base(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(KERNEL | {"ts": 0}, base=None))
    assert tables["trace_kernel"][0]["start_ns"] == 0
    (reject,) = tables["reject"]
    assert (reject["position"], reject["reason"][:22]) == ("file", "no baseTimeNanoseconds")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b" \n\t ", "an empty file"),
        (b"\xef\xbb\xbf", "an empty file"),
        (b"{", "ends before its events"),
        (b'{\n  "schemaVersion": 1,\n  "deviceProp', "ends before its events"),
        (b'{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name"', "ends before its events"),
        (b'{"schemaVersion": 1, "traceEvents": ', "ends before its events"),
        (b'{"schemaVersion": 1, "traceEvents": []}', "no event with a time"),
        (b'{"traceEvents": [', "no event with a time"),
        (b"[]", "no event with a time"),
        (b"[", "no event with a time"),
        (b'[{"ph": "M", "name": "process_name"}]', "no event with a time"),
        (b'{"traceEvents": [{"ph": "X", "cat"', "ends inside this event"),
    ],
)
def test_a_file_without_a_timed_event_is_one_reject(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    for name in ("t.json", "t.json.gz"):
        tables = read(tmp_path, content, name)
        (reject,) = tables["reject"]
        assert reason in reject["reason"]
        assert not tables["trace_header"]


def test_an_empty_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(b"")
    (reject,) = read_path(path)["reject"]
    assert reject["reason"].startswith("an empty file")


@pytest.mark.parametrize(
    "content",
    [
        b'{"name": "not a trace"}',
        b'{"traceEvents": {"a": 1}}',
        b'{"traceEvents": null}',
        b'{"note": "\\"traceEvents\\": []"}',
        b'{"a": 1}\n{"a": 2}\n',
        b"ts_ns,gpu_util_pct\n1,2\n",
        b"17",
        b'{"a": [}',
        b"[1, 2, 3]",
        b'[{"name": "a"}, {"name": "b"}]',
        b'{"a": ' + b"[" * 100_000,
        b"\x80\x04\x95pickle",
    ],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SourceError, match="is no trace") as caught:
        read(tmp_path, content)
    assert caught.value.expected
    assert "`files`" in caught.value.todo


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("t.json", gzip.compress(b"{}", mtime=0), "is compressed by gzip"),
        ("t.json", '{"traceEvents": []}'.encode("utf-16"), "is UTF-16 text"),
    ],
)
def test_what_is_another_encoding(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    with pytest.raises(SourceError, match=found):
        read(tmp_path, content, name)


def test_damage_within_a_gzip_file(tmp_path: Path) -> None:
    events = [KERNEL | {"ts": n * 7919 % 10007 + 1, "dur": n} for n in range(2000)]
    data = bytearray(gzip.compress(json.dumps(trace(*events)).encode(), mtime=0))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "t.json.gz"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="damaged"):
        read_path(path)


def test_an_unknown_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown option 'patern'"):
        read(tmp_path, trace(KERNEL), patern="x")


def test_two_traces_in_one_file(tmp_path: Path) -> None:
    text = json.dumps(trace(KERNEL)) + json.dumps(trace(OP))
    tables = read(tmp_path, text)
    assert len(tables["trace_kernel"]) == 1
    (reject,) = tables["reject"]
    assert reject["position"] == "end"
    assert "more events behind the end" in reject["reason"]


def test_interleaved_writers(tmp_path: Path) -> None:
    """Two ranks that write into one file: what is whole is kept."""
    text = json.dumps(trace(KERNEL, OP, LAUNCH), indent=2)
    at = text.index('"cpu_op"')
    tables = read(tmp_path, text[:at] + text[text.index("[") + 1 :])
    assert len(tables["trace_kernel"]) == 2
    assert len(tables["trace_op"]) == len(tables["trace_launch"]) == 1
    (reject,) = tables["reject"]
    assert reject["position"].startswith("event 2, byte ")


@pytest.mark.parametrize("damage", [0, 1, 40])
def test_noise_longer_than_any_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: int
) -> None:
    monkeypatch.setattr(chunks, "MAX_EVENT_BYTES", 1000)
    noise = "x" * 5000 + '{"a": ' * damage
    tables = read(tmp_path, around(noise), window=200)
    assert len(tables["trace_kernel"]) == len(tables["trace_launch"]) == 1
    assert tables["reject"]
    assert not header(tables)["is_truncated"]


def test_a_text_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_EVENT_BYTES", 1000)
    monkeypatch.setattr(chunks, "MAX_LOST_BYTES", 4000)
    with pytest.raises(SourceError, match=r"has no event in [\d,]+ bytes before byte [\d,]+"):
        read(tmp_path, around(f'{{"name": "{"x" * 9000}"'), window=200)
    # Nor is a text in which no list begins, whatever it is; metadata before one may be long.
    for noise in ("\0" * 9000, " x" * 4500, '{"a": "' + "y" * 9000):
        with pytest.raises(SourceError, match="has no event in"):
            read(tmp_path, noise.encode(), "noise.json")
    assert read(tmp_path, trace(KERNEL, note="z" * 3000))["trace_kernel"]
    # As much in all, with events between, is not.
    good = json.dumps(KERNEL)
    parts = [f"{'x' * 900},\n{good}" for _ in range(9)]
    tables = read(tmp_path, around(",\n".join(parts)), window=200)
    assert len(tables["trace_kernel"]) == 10
    assert len(tables["reject"]) == 9


@pytest.mark.parametrize("place", range(0, 100, 7))
def test_metadata_that_are_cut_or_broken(tmp_path: Path, place: int) -> None:
    head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
            "distributedInfo": {"rank": 1, "world_size": 2}}  # fmt: skip
    text = json.dumps(trace(KERNEL, **head))
    broken = text[:place] + '"' + text[place:]
    tables = read(tmp_path, broken)
    assert len(tables["trace_kernel"]) == 1
    assert header(tables)["base_ns"] == BASE


MESSES: list[Callable[[bytes, int], bytes]] = [
    lambda data, at: data[:at] + b"\xff" + data[at + 1 :],
    lambda data, at: data[:at] + b'"' + data[at:],
    lambda data, at: data[:at] + b"\\" + data[at:],
    lambda data, at: data[:at] + data[at + 1 :],
    lambda data, at: data[:at] + b"}]" + data[at:],
]


@pytest.mark.parametrize("mess", MESSES)
def test_one_damaged_byte_costs_one_event(
    tmp_path: Path, mess: Callable[[bytes, int], bytes]
) -> None:
    """At every place of an event: no other event is lost without a word."""
    text = around(kernel())
    start = text.index(kernel().encode())
    for at in range(start + 1, start + len(kernel()) - 1):
        tables = read(tmp_path, mess(text, at), window=64)
        if any(row["position"] == "end" for row in tables["reject"]):
            # What stands there now ends the list, as metadata behind it do.
            assert b'}], "' in mess(text, at)[at:]
            continue
        numbers = {row["event_no"] for row in tables["trace_kernel"]} - {3}
        # What is left of the damaged event may count as one more.
        assert numbers in ({5}, {6}), at
        assert len(tables["trace_launch"]) == len(tables["trace_op"]) == 1
        assert header(tables)["event_count"] == max(numbers)
