"""Finding events: any white space, any order of keys, any window, any cut."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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

QUICK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
ROWS = ("trace_kernel", "trace_launch", "trace_op", "trace_annotation")


def kept(tables: Tables) -> list[int]:
    """The numbers of the events that became rows."""
    return sorted(row["event_no"] for table in ROWS for row in tables[table])


def without_fill(tables: Tables) -> Tables:
    """Tables whose rows do not depend on the order of batches."""
    return {name: sorted(rows, key=str) for name, rows in tables.items()}


FORMS: dict[str, Any] = {
    "native": lambda t: json.dumps(t, indent=2),
    "indent 4": lambda t: json.dumps(t, indent=4),
    "minified": lambda t: json.dumps(t, separators=(",", ":")),
    "one line": json.dumps,
    "sorted": lambda t: json.dumps(t, sort_keys=True),
    "windows": lambda t: json.dumps(t, indent=1).replace("\n", "\r\n"),
    "events first": lambda t: json.dumps(dict(sorted(t.items(), reverse=True))),
    "marked": lambda t: "\ufeff" + json.dumps(t),
    "bare": lambda t: json.dumps(t["traceEvents"], indent=2),
    "bare, never closed": lambda t: json.dumps(t["traceEvents"], indent=2)[:-1],
    "bare, open comma": lambda t: json.dumps(t["traceEvents"])[:-1] + ",\n",
    "a comma too many": lambda t: json.dumps(t)[:-2] + ",\n]}",
    "no commas": lambda t: json.dumps(t).replace('}, {"ph"', '}\n{"ph"'),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("window", [16, 300, 0])
def test_the_same_events_in_other_text(tmp_path: Path, form: str, window: int) -> None:
    events = [STEP, OP, LAUNCH, KERNEL | {"args": {"occupancy": [{"a": 1}, {"b": [2]}]}}]
    is_bare = form.startswith("bare")
    if is_bare:
        # Without a base only times since the epoch can be placed.
        events = [e | {"ts": 1_712_195_495_519_689} for e in events]
    tables = read(tmp_path, FORMS[form](trace(*events)), window=window)
    assert kept(tables) == [1, 2, 3, 4]
    assert not tables["reject"]
    assert header(tables)["event_count"] == 4
    assert not header(tables)["is_truncated"]
    assert header(tables)["base_ns"] == (0 if is_bare else BASE)


@pytest.mark.parametrize("window", [16, 100, 0])
@pytest.mark.parametrize(
    "tail",
    [
        {"traceName": "/tmp/a[1].json", "displayTimeUnit": "ms"},
        {"distributedInfo": {"rank": 3, "pg_config": [{"pg_name": "0"}, {"pg_name": "1"}]}},
        {"deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}]},
        {"INFO": ["}, {", "}]", '"traceEvents": []'], "ERROR": [], "x": [[{}], {}]},
        {},
    ],
)
def test_metadata_behind_the_events_are_no_events(
    tmp_path: Path, tail: dict[str, Any], window: int
) -> None:
    text = json.dumps(trace(OP, KERNEL) | tail, indent=2)
    tables = read(tmp_path, text, window=window)
    assert kept(tables) == [1, 2]
    assert not tables["reject"]
    row = header(tables)
    assert (row["event_count"], row["is_truncated"]) == (2, False)
    assert row["meta_rank"] == (3 if "distributedInfo" in tail else None)
    assert row["device_count"] == (2 if "deviceProperties" in tail else None)


@pytest.mark.parametrize("window", [16, 0])
def test_a_log_with_bare_quotes_behind_the_events(tmp_path: Path, window: int) -> None:
    tail = ',\n "WARNING": ["no "device"}, {"ph": found", "]"],\n "distributedInfo": {"rank": 2},\n'
    text = json.dumps(trace(OP, KERNEL))[:-1] + tail + '"traceName": "x"}'
    tables = read(tmp_path, text, window=window)
    assert kept(tables) == [1, 2]
    assert not tables["reject"]
    assert header(tables)["meta_rank"] == 2


def test_names_that_look_like_cuts(tmp_path: Path) -> None:
    names = ["a},{b", 'x": [}, {"ph": "X"', "}], ", '"traceEvents": [', "\\", "{" * 50, "]}"]
    events = [OP | {"name": name} for name in names]
    for window in (16, 64, 200, 0):
        tables = read(tmp_path, trace(*events), window=window)
        assert [row["name"] for row in tables["trace_op"]] == names
        assert not tables["reject"]


def test_an_event_larger_than_the_window(tmp_path: Path) -> None:
    stack = "frame;\n" * 5000
    tables = read(tmp_path, trace(OP, KERNEL | {"args": {"Call stack": stack}}, STEP), window=1000)
    assert kept(tables) == [1, 2, 3]


scalars = st.one_of(
    st.integers(-(2**70), 2**70), st.booleans(), st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["}, {", "}]", "[{", '"', "\\", "},\n  {\n"]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip
microseconds = st.integers(1, 7_889_238_000_000_000).map(lambda n: n / 1000)
events_ = st.fixed_dictionaries(
    {
        "ph": st.sampled_from(["X", "X", "X", "s", "f", "M", "i"]),
        "cat": st.sampled_from(["kernel", "cpu_op", "cuda_runtime", "user_annotation", "ac2g"]),
        "name": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        "pid": st.integers(0, 9),
        "tid": st.integers(0, 9) | st.sampled_from(["stream 7", "12"]),
        "ts": microseconds,
        "dur": st.integers(0, 10**9).map(lambda n: n / 1000),
    },
    optional={"args": st.dictionaries(st.text(max_size=5), values, max_size=4), "id": values},
)
spaces = st.sampled_from(["", " ", "\n  ", "\r\n\t", " " * 70])


@st.composite
def texts(draw: Any) -> tuple[str, list[dict[str, Any]], list[tuple[int, int]]]:
    """A trace's text in random dress, its events, and where each stands in the bytes."""
    events = draw(st.lists(events_, min_size=1, max_size=7))
    metadata = {"schemaVersion": 1, "baseTimeNanoseconds": BASE}
    behind = draw(st.dictionaries(st.sampled_from(["traceName", "INFO", "pg"]), values, max_size=2))
    space = draw(spaces)
    if draw(st.booleans()):
        metadata, behind = behind, behind | metadata
        metadata = {}
    text = "{" + "".join(f'{space}"{k}":{json.dumps(v)},' for k, v in metadata.items())
    text += f'"traceEvents"{space}:{space}['
    places = []
    for number, event in enumerate(events):
        text += f"{space},{draw(spaces)}" if number else draw(spaces)
        keys = draw(st.permutations(list(event)))
        part = json.dumps(
            {key: event[key] for key in keys}, ensure_ascii=draw(st.booleans()),
            indent=draw(st.sampled_from([None, 2])),
        )  # fmt: skip
        start = len(text.encode())
        text += part
        places.append((start, len(text.encode())))
    text += f"{space}]" + "".join(f',{space}"{k}":{json.dumps(v)}' for k, v in behind.items())
    return text + space + "}", events, places


def expected(events: list[dict[str, Any]]) -> list[int]:
    return [n for n, e in enumerate(events, 1) if e["ph"] == "X" and e["cat"] != "ac2g"]


@QUICK
@given(texts(), st.integers(1, 400))
def test_the_rows_do_not_depend_on_the_window(
    tmp_path: Path, made: tuple[str, Any, Any], window: int
) -> None:
    text, events, _ = made
    whole = read(tmp_path, text)
    assert kept(whole) == expected(events)
    has_time = any(event["ph"] == "X" for event in events)
    assert [row["position"] for row in whole["reject"]] == ([] if has_time else ["file"])
    if has_time:
        assert header(whole)["event_count"] == len(events)
        assert not header(whole)["is_truncated"]
    assert without_fill(read(tmp_path, text, window=window)) == without_fill(whole)


@QUICK
@given(texts(), st.data())
def test_a_cut_text_keeps_its_whole_events(
    tmp_path: Path, made: tuple[str, Any, list[tuple[int, int]]], data: Any
) -> None:
    text, events, places = made
    raw = text.encode()
    at = data.draw(st.integers(places[0][0], places[-1][1] - 1), "cut at")
    tables = read(tmp_path, raw[:at], window=data.draw(st.sampled_from([0, 50])))
    whole = [e for e, (_, end) in zip(events, places, strict=True) if end <= at]
    assert kept(tables) == expected(whole)
    in_event = any(start < at < end for start, end in places)
    reasons = [row["reason"] for row in tables["reject"] if row["position"].startswith("event")]
    assert len(reasons) == in_event
    for row in tables["trace_header"]:
        assert row["is_truncated"]
        assert row["event_count"] == len(whole) + in_event


@QUICK
@given(texts(), st.data())
def test_a_cut_gzip_keeps_whole_events(
    tmp_path: Path, made: tuple[str, Any, list[tuple[int, int]]], data: Any
) -> None:
    text, events, _ = made
    packed = gzip.compress(text.encode(), mtime=0)
    at = data.draw(st.integers(20, len(packed) - 1), "cut at")
    path = tmp_path / "t.json.gz"
    path.write_bytes(packed[:at])
    tables = read_path(path)
    numbers = kept(tables)
    assert numbers == expected(events)[: len(numbers)]
    assert tables["trace_header"] or tables["reject"]
