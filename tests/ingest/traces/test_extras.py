"""Flows, changes of memory and Python frames: kept where a source asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.traces.reading import (
    BASE,
    KERNEL,
    OP,
    header,
    raw,
    read,
    read_path,
    trace,
)
from tests.ingest.traces.test_public_traces import FILES
from warehouse.errors import ConfigError

ALL = ["flow", "memory", "python_function"]
START = {"ph": "s", "id": 9, "pid": 440, "tid": 441, "ts": 5217255724890.001, "cat": "ac2g",
         "name": "ac2g"}  # fmt: skip
FINISH = {**START, "ph": "f", "bp": "e", "pid": 0, "tid": "stream 7", "ts": 5217255724893.939}
MEMORY = {
    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 440, "tid": 440,
    "ts": 5217255724885.5, "args": {"Total Reserved": 2097152, "Total Allocated": 512,
    "Bytes": -512, "Addr": 18446744073709551615, "Device Id": 0, "Device Type": 1, "Ev Idx": 4},
}  # fmt: skip
FRAME = {"ph": "X", "cat": "python_function", "name": "train.py(7): step", "pid": 440, "tid": 440,
         "ts": 5217255724870.0, "dur": 40.0, "args": {"Python id": 1}}  # fmt: skip
MODULE = {**FRAME, "name": "nn.Module: Linear_0"}


def test_none_of_them_is_a_row_unless_asked_for(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(OP, START, FINISH, MEMORY, FRAME, MODULE, KERNEL))
    assert not tables["trace_flow"] + tables["trace_memory"] + tables["reject"]
    assert [row["kind"] for row in tables["trace_annotation"]] == ["module"]
    assert header(tables)["event_count"] == 7


def test_each_becomes_its_row(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(OP, START, FINISH, MEMORY, FRAME, MODULE, KERNEL), keep=ALL)
    start, finish = tables["trace_flow"]
    assert start == {
        "source_file": "t.json", "event_no": 2, "pid": 440, "tid": 441, "flow_id": 9,
        "at_ns": BASE + 5_217_255_724_890_001, "end": "start", "category": "ac2g", "name": "ac2g",
    }  # fmt: skip
    assert (finish["end"], finish["pid"], finish["tid"], finish["at_ns"]) == (
        "finish", 0, 7, BASE + 5_217_255_724_893_939,
    )  # fmt: skip
    (memory,) = tables["trace_memory"]
    assert memory == {
        "source_file": "t.json", "event_no": 4, "pid": 440, "tid": 440, "changed_bytes": -512,
        "at_ns": BASE + 5_217_255_724_885_500, "allocated_bytes": 512, "reserved_bytes": 2097152,
        "device_type": 1, "device": 0, "address": "18446744073709551615",
    }  # fmt: skip
    kinds = {row["kind"]: row for row in tables["trace_annotation"]}
    assert kinds.keys() == {"python", "module"}
    assert (kinds["python"]["name"], kinds["python"]["event_no"]) == ("train.py(7): step", 5)
    assert not tables["reject"]


@pytest.mark.parametrize("kept", ALL)
def test_one_alone(tmp_path: Path, kept: str) -> None:
    tables = read(tmp_path, trace(OP, START, FINISH, MEMORY, FRAME, MODULE, KERNEL), keep=[kept])
    counts = len(tables["trace_flow"]), len(tables["trace_memory"])
    assert counts == {"flow": (2, 0), "memory": (0, 1), "python_function": (0, 0)}[kept]
    assert len(tables["trace_annotation"]) == 1 + (kept == "python_function")


@pytest.mark.parametrize("kept", [[], ALL])
def test_times_since_the_epoch_with_decimals(tmp_path: Path, kept: list[str]) -> None:
    """The decimals of a microsecond stay exact, for all that is kept."""
    events = [event | {"ts": 0} for event in (START, MEMORY, FRAME, KERNEL)]
    text = json.dumps(trace(*events, base=None)).replace('"ts": 0', '"ts": 1796074282522146.507')
    tables = read(tmp_path, text.encode(), keep=kept)
    at = 1_796_074_282_522_146_507
    assert [row["start_ns"] for row in tables["trace_kernel"]] == [at]
    for table in ("trace_flow", "trace_memory"):
        assert [row["at_ns"] for row in tables[table]] == ([at] if kept else [])


@pytest.mark.parametrize(
    ("event", "fault"),
    [
        (START | {"id": "x"}, "a flow without id"),
        ({k: v for k, v in START.items() if k != "id"}, "a flow without id"),
        (START | {"ts": -5}, "the profiler lost the time"),
        ({k: v for k, v in START.items() if k != "ts"}, "no ts"),
        (START | {"pid": "Spans"}, "pid 'Spans'"),
        (MEMORY | {"args": {}}, "without Bytes"),
        (MEMORY | {"args": {"Bytes": "many"}}, "without Bytes"),
        ({k: v for k, v in MEMORY.items() if k != "args"}, "without Bytes"),
        (MEMORY | {"tid": None}, "tid None"),
    ],
)
def test_what_cannot_be_read_is_a_reject_with_its_place(
    tmp_path: Path, event: dict[str, Any], fault: str
) -> None:
    content = trace(OP, event, KERNEL)
    tables = read(tmp_path, content, keep=ALL)
    (reject,) = tables["reject"]
    assert fault in reject["reason"]
    place = json.dumps(content).index(json.dumps(event))
    assert reject["position"] == f"event 2, byte {place}"
    assert len(tables["trace_kernel"]) == len(tables["trace_op"]) == 1


def test_text_that_is_not_quite_json(tmp_path: Path) -> None:
    """An event that is read with care has its id and its bytes too."""
    text = json.dumps(trace(START | {"x": "?"}, MEMORY | {"x": "?"}, KERNEL)).replace('"?"', "N/A")
    tables = read(tmp_path, text.encode(), keep=ALL)
    assert [row["flow_id"] for row in tables["trace_flow"]] == [9]
    assert [row["changed_bytes"] for row in tables["trace_memory"]] == [-512]
    assert not tables["reject"]


@pytest.mark.parametrize("keep", ["flow", ["flows"], [1], {"flow": True}])
def test_what_nobody_can_ask_for(tmp_path: Path, keep: object) -> None:
    with pytest.raises(
        ConfigError, match=r"keep is .*; expected a list of 'flow', 'memory', 'pyth"
    ):
        read(tmp_path, trace(OP), keep=keep)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_public_traces(shared_data: Path, name: str) -> None:
    """As many as plain json counts; all else is the same as without them."""
    path = shared_data / "traces" / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    tables, less = read_path(path, keep=ALL), read_path(path)
    events, _ = raw(path)
    flows = [e for e in events if e["ph"] in "stf"]
    memory = [e for e in events if e.get("name") == "[memory]"]
    frames = [e for e in events if e.get("cat") == "python_function"
              and not e["name"].startswith("nn.Module: ")]  # fmt: skip
    assert [r["flow_id"] for r in tables["trace_flow"]] == [int(e["id"]) for e in flows]
    assert [r["changed_bytes"] for r in tables["trace_memory"]] == [
        e["args"]["Bytes"] for e in memory
    ]
    kept = [r for r in tables["trace_annotation"] if r["kind"] != "python"]
    assert len(tables["trace_annotation"]) - len(kept) == len(frames)
    assert _sorted(kept) == _sorted(less["trace_annotation"])
    for table in ("trace_kernel", "trace_launch", "trace_op", "trace_header", "reject"):
        assert tables[table] == less[table]


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["event_no"])
