"""Module frames: each has the path of the modules around it, on its own thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.traces import modules
from tests.ingest.traces.reading import BASE, STEP, header, read, trace


def frame(name: str, start: float, end: float, tid: int = 1) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "python_function", "name": name, "pid": 440, "tid": tid,
        "ts": start, "dur": end - start, "args": {"Python id": 1, "Python module id": 0},
    }  # fmt: skip


def module(name: str, start: float, end: float, tid: int = 1) -> dict[str, Any]:
    return frame(f"nn.Module: {name}", start, end, tid)


def paths(folder: Path, *events: dict[str, Any]) -> dict[str, str]:
    tables = read(folder, trace(*events))
    rows = tables["trace_annotation"]
    assert {row["kind"] for row in rows} <= {"module"}
    return {row["name"]: row["module_path"] for row in rows}


def test_modules_nest_by_time(tmp_path: Path) -> None:
    found = paths(
        tmp_path,
        module("Linear_1", 13, 14),
        module("Block_1", 15, 19),
        frame("train.py(3): step", 1, 30),
        module("Linear_0", 11, 13),
        module("GPT_0", 10, 20),
        module("Block_0", 11, 15),
        frame("nn.py(9): forward", 11, 12),
        module("Norm_0", 15, 19),
        module("Loss_0", 20, 21),
    )
    assert found == {
        "GPT_0": "GPT", "Block_0": "GPT/Block", "Linear_0": "GPT/Block/Linear",
        "Linear_1": "GPT/Block/Linear", "Block_1": "GPT/Block", "Norm_0": "GPT/Block/Norm",
        "Loss_0": "Loss",
    }  # fmt: skip


def test_threads_have_nothing_to_do_with_one_another(tmp_path: Path) -> None:
    found = paths(tmp_path, module("A_0", 10, 20), module("B_0", 11, 12, tid=2))
    assert found == {"A_0": "A", "B_0": "B"}


@pytest.mark.parametrize(
    ("name", "path"),
    [("Conv2d_0", "Conv2d"), ("Block", "Block"), ("Layer_2_10", "Layer_2"), ("_3", "_3")],
)
def test_the_number_of_the_instance_goes(tmp_path: Path, name: str, path: str) -> None:
    assert paths(tmp_path, module(name, 1, 2)) == {name: path}


def test_a_row_of_a_module(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(frame("a", 1, 9), module("A_0", 10.5, 20), STEP))
    step, row = sorted(tables["trace_annotation"], key=lambda r: r["kind"], reverse=True)
    assert (step["kind"], step["module_path"]) == ("step", None)
    assert row == {
        "source_file": "t.json", "event_no": 2, "pid": 440, "tid": 1, "start_ns": BASE + 10_500,
        "end_ns": BASE + 20_000, "kind": "module", "name": "A_0", "step_no": None,
        "module_path": "A",
    }  # fmt: skip
    assert header(tables)["has_stack"]
    assert header(tables)["step_count"] == 1


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.data())
def test_a_tree_of_calls_is_found_again(tmp_path: Path, data: Any) -> None:
    """Calls that nest, in any order in the file, with the paths that they were made with."""
    calls: list[tuple[dict[str, Any], str]] = []
    clock = 1

    def call(path: str, depth: int) -> None:
        nonlocal clock
        start = clock
        clock += data.draw(st.integers(0, 1))
        name = data.draw(st.sampled_from("ABC"))
        inner = f"{path}/{name}" if path else name
        for _ in range(data.draw(st.integers(0, 2 if depth else 0))):
            call(inner, depth - 1)
        clock += 1
        calls.append((module(f"{name}_{len(calls)}", start, clock), inner))

    for _ in range(data.draw(st.integers(1, 3))):
        call("", 3)
    # Of two calls that begin and end together the profiler writes the outer one first.
    calls.reverse()
    outer_first = data.draw(st.permutations(calls))
    spans = [(e["ts"], e["dur"]) for e, _ in calls]
    if len(set(spans)) < len(spans):
        outer_first = calls
    found = paths(tmp_path, *(event for event, _ in outer_first))
    assert found == {e["name"].removeprefix("nn.Module: "): path for e, path in calls}


def test_more_frames_than_a_batch_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "BATCH_ROWS", 3)
    events = [module("A_0", 1, 100), *(module(f"B_{n}", n, n + 1) for n in range(2, 20))]
    found = paths(tmp_path, *events)
    assert found == {"A_0": "A", **{f"B_{n}": "A/B" for n in range(2, 20)}}
