"""Step logs: exact numbers, whose log it is, and what a reject takes away."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ingest.rows import ns_of_time
from ingest.steps import step_log
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

T0 = 1_796_074_280_469_223_697
STEP: dict[str, Any] = {
    "job_id": "1001", "attempt": 0, "rank": 0, "step": 0, "start_ns": T0, "end_ns": T0 + 1_000_000,
    "tokens": 32768, "model_flops": 141_547_894_996_992, "loss": 10.5, "dtype": "bf16",
}  # fmt: skip

Tables = dict[str, list[dict[str, Any]]]
Read = Callable[..., Tables]


def read_path(
    path: Path, name: str, *, covers: tuple[int, int] | None = None, **options: object
) -> Tables:
    tables: Tables = {name: [] for name in LANDING}
    file = SourceFile(str(path), name, "steps", "h200", covers, options)
    for batch in step_log.read(file):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        tables[batch.table] += batch.rows.to_pylist()
    rows = [row["source_row"] for row in tables["source_coverage"]]
    assert len(rows) == len(set(rows)), "the key of source_coverage"
    return tables


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(records: Any, *, name: str = "steps.jsonl", **options: Any) -> Tables:
        if isinstance(records, list):
            texts = [r if isinstance(r, str) else json.dumps(r) for r in records]
            records = "".join(f"{text}\n" for text in texts).encode()
        path = tmp_path / ("x.gz" if name.endswith(".gz") else "x")
        path.write_bytes(records)
        return read_path(path, name, **options)

    return run


def coverage(tables: Tables) -> list[tuple[Any, ...]]:
    return [
        (r["job_id"], r["attempt"], r["is_cut"], ns_of_time(r["start"]), ns_of_time(r["end"]))
        for r in tables["source_coverage"]
    ]


def floor(ns: int) -> int:
    return ns // 1000 * 1000


def ceil(ns: int) -> int:
    return -(-ns // 1000) * 1000


def test_a_step_as_written(read: Read) -> None:
    tables = read([STEP])
    (step,) = tables["train_step"]
    assert {name: step[name] for name in STEP} == STEP | {
        "model_flops": Decimal(STEP["model_flops"])
    }
    assert (step["cluster"], step["source_file"], step["source_row"]) == ("h200", "steps.jsonl", 1)
    assert coverage(tables) == [("1001", 0, False, floor(T0), ceil(T0 + 1_000_000))]


def test_what_is_not_logged_is_null_and_other_fields_are_passed_over(read: Read) -> None:
    (step,) = read([{"job_id": 7, "step": 1, "start_ns": 5, "end_ns": 5, "lr": 0.1}])["train_step"]
    assert step["job_id"] == "7"
    for name in ("attempt", "rank", "tokens", "model_flops", "loss", "dtype"):
        assert step[name] is None


def test_whole_numbers_beyond_two_to_the_53_are_exact(read: Read) -> None:
    exact = {"tokens": 2**63 - 1, "model_flops": 10**38 - 1, "start_ns": 2**53 + 1}
    (step,) = read([STEP | exact])["train_step"]
    assert {name: int(step[name]) for name in exact} == exact


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (STEP | {"step": 1.0}, "Expected `int`, got `float` - at `$.step`"),
        (STEP | {"tokens": "1"}, "Expected `int | null`, got `str`"),
        (STEP | {"step": True}, "got `bool`"),
        (STEP | {"step": None}, "got `null`"),
        (STEP | {"end_ns": T0 - 1}, "is before start_ns"),
        (STEP | {"step": -1}, "step is -1; expected 0"),
        (STEP | {"tokens": -1}, "tokens is -1"),
        (STEP | {"model_flops": -1}, "model_flops is -1"),
        (STEP | {"model_flops": 10**38}, "model_flops is 1"),
        (STEP | {"end_ns": 2**63}, "end_ns is"),
        (STEP | {"start_ns": -1}, "start_ns is -1"),
        (STEP | {"job_id": ""}, "no job_id"),
        (STEP | {"job_id": True}, "job_id"),
        ({"job_id": "1001", "attempt": 0, "step": 1}, "missing required field"),
        (json.dumps(STEP)[:50], "no JSON object in one line"),
        ("[1, 2]", "Expected `object`, got `array`"),
        ("[" * 100_000, "Expected `object`, got `array`"),
        ("nonsense", "no JSON object in one line"),
        (json.dumps(STEP)[:-1] + ', "x": ' + "[" * 9000, "no JSON object in one line"),
        ("NaN", "Expected `object`"),
    ],
)
def test_a_bad_record_is_a_reject_and_cuts_the_whole_log(read: Read, bad: Any, reason: str) -> None:
    later = STEP | {"step": 9, "start_ns": T0 + 10**9, "end_ns": T0 + 2 * 10**9}
    tables = read([STEP, bad, later])
    assert [step["step"] for step in tables["train_step"]] == [0, 9]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert (reject["source"], reject["position"]) == ("step_log", "line 2")
    span = floor(T0), ceil(T0 + 2 * 10**9)
    assert coverage(tables) == [("1001", 0, False, *span), ("1001", 0, True, *span)]


def test_a_half_written_last_line(read: Read) -> None:
    data = "\n".join(json.dumps(STEP | {"step": n}) for n in range(3)).encode()
    assert len(read(data)["train_step"]) == 3
    tables = read(data[:-1])
    assert len(tables["train_step"]) == 2
    assert [reject["position"] for reject in tables["reject"]] == ["line 3"]
    assert ("1001", 0, True) in [row[:3] for row in coverage(tables)]


def test_a_loss_that_has_diverged_is_no_reason_to_lose_the_step(read: Read) -> None:
    tables = read([STEP | {"loss": loss} for loss in (float("nan"), float("inf"), 1)])
    assert [step["loss"] for step in tables["train_step"]] == [None, None, 1.0]
    assert not tables["reject"]


@pytest.mark.parametrize(
    ("pattern", "name", "job", "attempt", "rank"),
    [
        ("job_{job_id}/steps_rank{rank}.jsonl", "a/job_2002/steps_rank1.jsonl", "2002", None, 1),
        ("job_{job_id}/steps_{attempt}.jsonl", "job_1010/steps_1.jsonl", "1010", 1, None),
        (["{job_id}.log", "job_{job_id}/steps_{attempt}.jsonl"], "x/job_13_5/steps_0.jsonl",
         "13_5", 0, None),
        ("{job_id}-{attempt}-{rank}.jsonl", "7-0-12.jsonl.gz", "7", 0, 12),
    ],
)  # fmt: skip
def test_the_name_says_what_the_record_does_not(
    read: Read, pattern: Any, name: str, job: str, attempt: int | None, rank: int | None
) -> None:
    record = {"step": 1, "start_ns": T0, "end_ns": T0 + 5}
    data = json.dumps(record).encode()
    data = gzip.compress(data) if name.endswith(".gz") else data
    (step,) = read(data, name=name, pattern=pattern)["train_step"]
    assert (step["job_id"], step["attempt"], step["rank"]) == (job, attempt, rank)


def test_a_record_that_contradicts_the_name_is_a_reject(read: Read) -> None:
    options = {"name": "job_1001/steps_0.jsonl", "pattern": "job_{job_id}/steps_{attempt}.jsonl"}
    tables = read([STEP, STEP | {"attempt": 1}, STEP | {"job_id": "9"}], **options)
    assert len(tables["train_step"]) == 1
    assert [reject["reason"] for reject in tables["reject"]] == [
        "attempt is 1, but the file's name says 0",
        "job_id is '9', but the file's name says '1001'",
    ]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("run_{job_id}.jsonl", "does not fit the file steps.jsonl"),
        ("teps.jsonl", "does not fit"),  # the end of a path, in whole names
        ("{node}.jsonl", "has the mark {node}"),
        ("{rank}{rank}", "each at most once"),
        (7, "pattern is 7"),
        ("", "pattern is ''"),
    ],
)
def test_a_wrong_pattern(read: Read, pattern: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read([STEP], pattern=pattern)


def test_several_jobs_in_one_log_are_covered_and_cut_each(read: Read) -> None:
    other = STEP | {"job_id": "2", "start_ns": T0 + 10**6, "end_ns": T0 + 2 * 10**6}
    third = STEP | {"job_id": "3"}
    assert [row[:3] for row in coverage(read([STEP, other, STEP]))] == [
        ("1001", 0, False), ("2", 0, False),
    ]  # fmt: skip
    tables = read([STEP, other, "x", STEP, third | {"step": -1}])
    span = floor(T0), ceil(T0 + 2 * 10**6)
    cut = [row for row in coverage(tables) if row[2]]
    assert cut == [(job, 0, True, *span) for job in ("1001", "2", "3")]


def test_a_log_of_rejects_alone_cuts_its_job_for_all_time_or_for_what_it_covers(
    read: Read,
) -> None:
    name = {"name": "job_5/steps_2.jsonl", "pattern": "job_{job_id}/steps_{attempt}.jsonl"}
    ((job, attempt, is_cut, start, end),) = coverage(read(["x"], **name))
    assert (job, attempt, is_cut, start) == ("5", 2, True, 0)
    assert end > T0
    covers = (T0 // 1000 * 1000, T0 // 1000 * 1000 + 10**9)
    assert coverage(read(["x"], covers=covers, **name)) == [("5", 2, True, *covers)]
    assert coverage(read(["x"], covers=covers)) == [(None, None, True, *covers)]


def test_a_file_in_which_no_line_is_a_step(read: Read) -> None:
    with pytest.raises(SourceError, match="none of its 2 lines is a step"):
        read(["job_id,attempt", "1001,0"])


def test_an_empty_log_says_nothing(read: Read) -> None:
    tables = read([])
    assert not any(tables.values())


def test_a_compressed_log_that_was_cut(read: Read) -> None:
    data = "".join(json.dumps(STEP | {"step": n, "loss": n * 0.37}) + "\n" for n in range(3000))
    tables = read(gzip.compress(data.encode(), mtime=0)[:-500], name="steps.jsonl.gz")
    assert 0 < len(tables["train_step"]) < 3000
    assert [step["step"] for step in tables["train_step"]] == list(range(len(tables["train_step"])))
    assert len(tables["reject"]) == 1
    assert any(row[2] for row in coverage(tables))


longs = st.integers(0, 2**63 - 1)
log_records = st.fixed_dictionaries(
    {"job_id": st.sampled_from(["1", "2_3"]), "step": longs},
    optional={
        "attempt": longs, "rank": longs, "tokens": longs, "model_flops": st.integers(0, 10**38 - 1),
        "loss": st.floats(allow_nan=False, allow_infinity=False),
        "dtype": st.text(st.characters(exclude_categories=["Cs"])),
    },
)  # fmt: skip


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.lists(st.tuples(log_records, longs, longs), max_size=8))
def test_what_is_written_is_read(read: Read, rows: list[tuple[dict[str, Any], int, int]]) -> None:
    written = [r | {"start_ns": min(a, b), "end_ns": max(a, b)} for r, a, b in rows]
    tables = read(written)
    assert not tables["reject"]
    found = [
        {name: value for name, value in step.items() if value is not None and name in STEP}
        for step in tables["train_step"]
    ]
    assert found == written


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100
)
@given(st.binary(max_size=200), st.integers(0, 2000))
def test_noise_costs_only_lines_and_always_cuts(read: Read, noise: bytes, at: int) -> None:
    data = "".join(json.dumps(STEP | {"step": n}) + "\n" for n in range(4)).encode()
    place = at % len(data)
    # Such a start is another kind of file, not noise in this one.
    assume(place or not noise.startswith((b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff")))
    tables = read(data[:place] + noise + data[place:])
    assert len(tables["train_step"]) >= 3
    if tables["reject"]:
        assert ("1001", 0, True) in [row[:3] for row in coverage(tables)]


def test_recorded_logs(shared_data: Path) -> None:
    folder = shared_data / "recordings"
    paths = sorted(folder.glob("*/job_*/steps_*.jsonl"))
    if not paths:
        pytest.skip(f"no recordings at {folder}")
    pattern = ["job_{job_id}/steps_rank{rank}.jsonl", "job_{job_id}/steps_{attempt}.jsonl"]
    total = 0
    for path in paths:
        name = path.relative_to(folder).as_posix()
        tables = read_path(path, name, pattern=pattern)
        raw = [json.loads(line) for line in path.read_text().splitlines()]
        steps = tables["train_step"]
        assert not tables["reject"]
        assert [s["start_ns"] for s in steps] == [r["start_ns"] for r in raw]
        assert sum(s["model_flops"] for s in steps) == sum(r["model_flops"] for r in raw)
        assert {s["job_id"] for s in steps} == {path.parent.name.removeprefix("job_")}
        assert len({s["rank"] for s in steps}) == len({s["attempt"] for s in steps}) == 1
        (row,) = coverage(tables)
        assert row[3] <= raw[0]["start_ns"] < raw[-1]["end_ns"] <= row[4]
        total += len(steps)
    assert total == 9495
