"""Times are exact to the nanosecond, in each way that profilers have written them."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ingest.traces.reading import BASE, KERNEL, OP, STEP, header, read, trace

#: A quarter of a mean year: what a base is a multiple of.
QUARTER_NS = 7_889_238 * 10**9


def with_times(*times: tuple[str, str], base: int | None) -> str:
    """A trace of kernels whose ts and dur are these texts."""
    events = [
        json.dumps(KERNEL | {"ts": "@", "dur": "#"}).replace('"@"', ts).replace('"#"', dur)
        for ts, dur in times
    ]
    return json.dumps(trace(base=base)).replace("[]", f"[{', '.join(events)}]")


def found(folder: Path, text: str) -> list[tuple[int, int]]:
    tables = read(folder, text)
    assert [row["position"] for row in tables["reject"]] in ([], ["file"])
    return [(row["start_ns"], row["end_ns"]) for row in tables["trace_kernel"]]


def micro(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


QUICK = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150
)
lengths = st.integers(0, 600_000 * 10**9)


@QUICK
@given(st.lists(st.tuples(st.integers(1, QUARTER_NS), lengths), min_size=1, max_size=9))
def test_relative_to_a_base(tmp_path: Path, times: list[tuple[int, int]]) -> None:
    text = with_times(*((micro(start), micro(length)) for start, length in times), base=BASE)
    assert found(tmp_path, text) == [(BASE + s, BASE + s + d) for s, d in times]


@QUICK
@given(st.lists(st.tuples(st.integers(10**18, 2 * 10**18), lengths), min_size=1, max_size=9))
def test_since_the_epoch_with_decimals(tmp_path: Path, times: list[tuple[int, int]]) -> None:
    """19 digits, of which a float keeps 16."""
    text = with_times(*((micro(start), micro(length)) for start, length in times), base=None)
    assert found(tmp_path, text) == [(s, s + d) for s, d in times]


@QUICK
@given(st.lists(st.tuples(st.integers(10**15, 2 * 10**15), st.integers(0, 10**9)), min_size=1))
def test_since_the_epoch_in_whole_microseconds(
    tmp_path: Path, times: list[tuple[int, int]]
) -> None:
    text = with_times(*((str(ts), str(dur)) for ts, dur in times), base=None)
    assert found(tmp_path, text) == [(1000 * ts, 1000 * (ts + dur)) for ts, dur in times]


@QUICK
@given(
    st.decimals("0.001", "8e12", allow_nan=False, places=3),
    st.decimals("0", "6e11", allow_nan=False, places=3),
    st.sampled_from(["{}", "{:e}", '"{}"']),
)
def test_any_way_to_write_a_number(tmp_path: Path, ts: Decimal, dur: Decimal, form: str) -> None:
    text = with_times((form.format(ts), form.format(dur)), base=BASE)
    start = BASE + int(ts * 1000)
    assert found(tmp_path, text) == [(start, start + int(dur * 1000))]


def test_where_a_float_times_1000_is_wrong(tmp_path: Path) -> None:
    """From 2**42 us to 2**52 ns each hundredth product rounds to the wrong nanosecond."""
    starts = [4_458_676_896_954_809 + 7919 * n for n in range(300)]
    assert any(round(float(micro(s)) * 1000) != s for s in starts)
    text = with_times(*((micro(s), "0.001") for s in starts), base=BASE)
    assert found(tmp_path, text) == [(BASE + s, BASE + s + 1) for s in starts]


def test_a_process_that_lives_longer_than_its_base_lasts(tmp_path: Path) -> None:
    """Beyond 102 days after the base floats no longer tell nanoseconds apart."""
    times = [(10**16 + n, 1) for n in range(2001, 2010)]
    text = with_times(*((micro(s), micro(d)) for s, d in times), base=BASE)
    assert found(tmp_path, text) == [(BASE + s, BASE + s + d) for s, d in times]


@pytest.mark.parametrize(
    "odd", ['"NaN"', '"sNaN"', '"-Infinity"', "NaN", "1e999999999", "null", "1e400"]
)
@pytest.mark.parametrize("place", [0, 1])
def test_no_number_among_decimals(tmp_path: Path, odd: str, place: int) -> None:
    good = ("1712195495519689.123", "1.5")
    bad = (odd, "1.5") if place == 0 else (good[0], odd)
    text = with_times(good, bad, good, base=None)
    tables = read(tmp_path, text)
    assert [row["event_no"] for row in tables["trace_kernel"]] == [1, 3]
    (reject,) = tables["reject"]
    begins = [at for at in range(len(text)) if text.startswith('{"ph"', at)]
    assert reject["position"] == f"event 2, byte {begins[1]}"
    assert "expected" in reject["reason"]


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("window", [50, 0])
def test_the_base_before_and_behind_the_events(tmp_path: Path, behind: bool, window: int) -> None:
    made = trace(OP, KERNEL, base=None)
    base = {"baseTimeNanoseconds": BASE}
    text = json.dumps(made | base if behind else base | made)
    row = header(read(tmp_path, text, window=window))
    assert row["base_ns"] == BASE
    assert row["start_ns"] == BASE + int(Decimal(str(OP["ts"])) * 1000)


@pytest.mark.parametrize("digits", [1, 18, 19])
def test_a_base_at_the_edge_of_a_block(tmp_path: Path, digits: int) -> None:
    """The base behind the events is found by looking through the file block by block."""
    base = int("1790857026000000000"[:digits])
    for fill in range(2**20 - 90, 2**20 + 10, 7):
        made: dict[str, Any] = {"traceEvents": [KERNEL], "traceName": ""}
        size = len(json.dumps(made))
        made["traceName"] = "x" * (fill - size)
        text = json.dumps(made | {"baseTimeNanoseconds": base})
        assert header(read(tmp_path, text))["base_ns"] == base


def test_a_base_is_not_added_to_times_since_the_epoch(tmp_path: Path) -> None:
    text = with_times(("1712195495519689.253", "1.5"), base=BASE)
    start = 1_712_195_495_519_689_253
    assert found(tmp_path, text) == [(start, start + 1500)]
    assert header(read(tmp_path, text))["base_ns"] == 0


def test_the_first_time_may_be_a_lost_one(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(KERNEL | {"ts": 0}, KERNEL))
    assert header(tables)["base_ns"] == BASE
    assert len(tables["trace_kernel"]) == 1


def test_a_file_that_lost_its_base_says_so(tmp_path: Path) -> None:
    tables = read(tmp_path, trace(OP, KERNEL, base=None))
    assert len(tables["trace_kernel"]) == 1
    assert header(tables)["base_ns"] == 0
    (reject,) = tables["reject"]
    assert "no baseTimeNanoseconds" in reject["reason"]


def test_the_span_is_that_of_all_events_with_a_time(tmp_path: Path) -> None:
    span = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
            "tid": "PyTorch Profiler", "ts": 5217255723000.5, "dur": 9000000.001}  # fmt: skip
    row = header(read(tmp_path, trace(STEP, KERNEL, span)))
    assert row["start_ns"] == BASE + 5_217_255_723_000_500
    assert row["end_ns"] == BASE + 5_217_264_723_000_501
