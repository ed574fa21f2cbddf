"""Traces of PyTorch's profiler: which event becomes which row."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from ingest.registry import KINDS
from tests.ingest.traces.reading import BASE, KERNEL, LAUNCH, OP, STEP, header, read, trace


def test_the_registry_knows_the_kind() -> None:
    kind = KINDS["kineto"]
    assert kind.grade == "E3"
    assert kind.read is importlib.import_module("ingest.traces.kineto").read
    assert "tensorboard_trace_handler" in kind.export


def test_each_event_becomes_its_row(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(STEP, OP, LAUNCH, KERNEL))
    (kernel,) = tables["trace_kernel"]
    start = BASE + 5_217_255_724_893_939
    assert {k: v for k, v in kernel.items() if v is not None} == {
        "source_file": "t.json", "event_no": 4, "device": 0, "stream": 7,
        "start_ns": start, "end_ns": start + 10_640, "activity": "kernel", "kind": "compute",
        "name": KERNEL["name"], "family": kernel["family"], "correlation": 9, "external_id": 5,
        "blocks": 6, "threads": 128, "occupancy_percent": 63,
    }  # fmt: skip
    (launch,) = tables["trace_launch"]
    assert (launch["event_no"], launch["pid"], launch["tid"]) == (3, 440, 440)
    assert (launch["name"], launch["correlation"], launch["external_id"]) == (
        "cudaLaunchKernel", 9, 5,
    )  # fmt: skip
    (op,) = tables["trace_op"]
    assert (op["input_dims"], op["input_types"]) == ("[[2,3],[]]", '["float","Scalar"]')
    assert (op["sequence_number"], op["fwd_thread_id"], op["external_id"]) == (3, 0, 5)
    (step,) = tables["trace_annotation"]
    assert (step["kind"], step["name"], step["step_no"]) == ("step", "ProfilerStep#5", 5)
    assert header(tables)["start_ns"] == step["start_ns"] == BASE + 5_217_255_724_000_000
    assert header(tables)["end_ns"] == step["end_ns"]
    assert not tables["reject"]


@pytest.mark.parametrize("number", [7, 2**63, 10159970886766084423, 2**64 - 1, "0xabc"])
def test_the_number_of_a_communicator_is_text(tmp_path: Path, number: object) -> None:
    """Half of the numbers of 64 bits do not fit a BIGINT."""
    given = [event | {"args": event["args"] | {"Comms Id": number}} for event in (OP, KERNEL)]
    tables = read(tmp_path, trace(*given, OP, KERNEL))
    for table in ("trace_op", "trace_kernel"):
        assert [row["comms_id"] for row in tables[table]] == [str(number), None]
    assert not tables["reject"]


@pytest.mark.parametrize(
    ("name", "kind", "number"),
    [
        ("ProfilerStep#17", "step", 17),
        ("profilerstep#17", "step", 17),
        ("ProfilerStep*", "step", None),
        ("ProfilerStep", "step", None),
        ("ProfilerStepper", "user", None),
        ("load_batch", "user", None),
    ],
)
def test_steps_and_annotations(tmp_path: Path, name: str, kind: str, number: int | None) -> None:
    # In 2021 steps were ops by their category.
    for cat in ("user_annotation", "Operator"):
        tables = read(tmp_path, trace(STEP | {"name": name, "cat": cat}))
        found = [(r["kind"], r["name"], r["step_no"]) for r in tables["trace_annotation"]]
        is_op = cat == "Operator" and kind == "user"
        assert found == [] if is_op else [(kind, name, number)]
        assert len(tables["trace_op"]) == is_op
        assert header(tables)["step_count"] == (kind == "step")
