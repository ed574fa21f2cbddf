"""Checkpoint records: what is durable when, and what a bad record takes away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.rows import ns_of_time
from ingest.steps import checkpoint_log
from ingest.steps.jsonl import ALL_TIME
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import SourceError

T0 = 1_796_074_544_000_000_000
SAVE: dict[str, Any] = {
    "job_id": "1010", "attempt": 0, "event": "save", "step": 40, "start_ns": T0,
    "end_ns": T0 + 1_000_000, "blocking": True,
}  # fmt: skip

Tables = dict[str, list[dict[str, Any]]]
Read = Callable[..., Tables]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(
        records: list[Any], *, covers: tuple[int, int] | None = None, **options: object
    ) -> Tables:
        path = tmp_path / "job_1010.jsonl"
        texts = [r if isinstance(r, str) else json.dumps(r) for r in records]
        path.write_text("".join(f"{text}\n" for text in texts))
        tables: Tables = {name: [] for name in LANDING}
        file = SourceFile(str(path), path.name, "checkpoints", "h200", covers, options)
        for batch in checkpoint_log.read(file):
            assert batch.rows.schema.equals(LANDING[batch.table].schema)
            tables[batch.table] += batch.rows.to_pylist()
        return tables

    return run


def cuts(tables: Tables) -> list[tuple[Any, ...]]:
    return [
        (r["source_row"], r["job_id"], r["attempt"], ns_of_time(r["start"]), ns_of_time(r["end"]))
        for r in tables["source_coverage"] if r["is_cut"]
    ]  # fmt: skip


def test_records_as_written(read: Read) -> None:
    restore = SAVE | {"event": "restore", "attempt": 1, "start_ns": T0 + 10**9,
                      "end_ns": T0 + 2 * 10**9, "blocking": False}  # fmt: skip
    tables = read([SAVE, restore])
    for row, written in zip(tables["checkpoint"], (SAVE, restore), strict=True):
        assert {name: row[name] for name in SAVE} == written
        assert row["cluster"] == "h200"
    (row,) = tables["source_coverage"]
    assert (row["source"], row["job_id"], row["is_cut"]) == ("checkpoints", None, False)
    assert (ns_of_time(row["start"]), ns_of_time(row["end"])) == (T0, T0 + 2 * 10**9)


def test_the_name_may_say_whose_it_is(read: Read) -> None:
    record = {name: value for name, value in SAVE.items() if name != "job_id"}
    assert read([record], pattern="job_{job_id}.jsonl")["checkpoint"][0]["job_id"] == "1010"
    assert "no job_id" in read([SAVE, record])["reject"][0]["reason"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (SAVE | {"event": "load"}, "Invalid enum value 'load'"),
        (SAVE | {"blocking": 1}, "Expected `bool`, got `int`"),
        (SAVE | {"blocking": None}, "Expected `bool`, got `null`"),
        (SAVE | {"attempt": None}, "no attempt"),
        (SAVE | {"step": 40.0}, "Expected `int`, got `float`"),
        (SAVE | {"step": -1}, "step is -1"),
    ],
)
def test_a_bad_record_cuts_its_job_and_time(read: Read, bad: dict[str, Any], reason: str) -> None:
    tables = read([SAVE, bad])
    assert len(tables["checkpoint"]) == 1
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert cuts(tables) == [(2, "1010", bad["attempt"], T0, T0 + 1_000_000)]


def test_a_record_of_which_nothing_is_known_cuts_the_files_span(read: Read) -> None:
    tables = read([SAVE, json.dumps(SAVE)[:60], SAVE | {"end_ns": T0 - 1}, "x"])
    assert len(tables["reject"]) == 3
    assert cuts(tables) == [(2, None, None, T0, T0 + 1_000_000)]
    assert cuts(read(["x"], covers=(T0, T0 + 5000))) == [(1, None, None, T0, T0 + 5000)]
    assert cuts(read(["x"], pattern="job_{job_id}.jsonl")) == [(1, "1010", None, *ALL_TIME)]


def test_a_file_in_which_no_line_is_a_record(read: Read) -> None:
    with pytest.raises(SourceError, match="none of its 1 lines is a checkpoint record"):
        read(["x"])
    assert not any(read([]).values())


longs = st.integers(0, 2**63 - 1)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
@given(
    st.lists(st.tuples(longs, longs, longs, st.booleans(), st.sampled_from(["save", "restore"])))
)
def test_what_is_written_is_read(read: Read, rows: list[tuple[int, int, int, bool, str]]) -> None:
    written = [
        SAVE | {"step": step, "start_ns": min(a, b), "end_ns": max(a, b), "blocking": blocking,
                "event": event}
        for step, a, b, blocking, event in rows
    ]  # fmt: skip
    tables = read(written)
    assert not tables["reject"]
    assert [{name: row[name] for name in SAVE} for row in tables["checkpoint"]] == written
