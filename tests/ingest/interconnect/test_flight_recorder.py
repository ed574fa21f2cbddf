"""The flight recorder's dumps: each entry is a row or a reject, whatever the file went through."""

from __future__ import annotations

import gzip
import json
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.interconnect import flight_recorder
from ingest.registry import KINDS
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

T0 = 1_796_074_820_980_950_043
ENTRY: dict[str, Any] = {
    "collective_seq_id": 7635, "input_dtypes": ["BFloat16"], "input_sizes": [[25179136]],
    "is_p2p": False, "op_id": 7635, "output_dtypes": ["BFloat16"], "output_sizes": [[50358272]],
    "p2p_seq_id": 0, "pg_id": 0, "process_group": ["0", "default_pg"],
    "profiling_name": "nccl:_all_gather_base", "record_id": 7634, "retired": True,
    "state": "completed", "time_created_ns": T0, "time_discovered_completed_ns": T0 + 91_973_939,
    "time_discovered_started_ns": 0, "timeout_ms": 600000,
}  # fmt: skip
GROUPS = {"0": {"desc": "default_pg", "name": "0", "ranks": "[0, 1]"}}

Tables = dict[str, list[dict[str, Any]]]
Read = Callable[..., Tables]


def dump(*entries: Any, **other: Any) -> dict[str, Any]:
    """A dump as release 2.11 writes it: keys in order of the alphabet."""
    return {"entries": list(entries), "pg_config": GROUPS, "version": "2.10", **other}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    folder = tmp_path_factory.mktemp("dumps")

    def run(content: Any, name: str = "nccl_rank1.json", **options: object) -> Tables:
        path = folder / name
        data = content if isinstance(content, bytes | str) else json.dumps(content)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return read_path(path, f"job_2002/{name}", **options)

    return run


def read_path(path: Path, name: str, **options: object) -> Tables:
    tables: Tables = {table: [] for table in LANDING}
    file = SourceFile(str(path), name, "recorder", "h200", None, dict(options))
    for batch in flight_recorder.read(file):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    positions = [row["position"] for row in tables["reject"]]
    assert len(positions) == len(set(positions)), "the key of reject"
    return tables


def test_an_entry_as_written(read: Read) -> None:
    tables = read(dump(ENTRY), pattern="job_{job_id}/nccl_rank{rank}.json")
    assert tables["reject"] == []
    assert tables["collective"] == [
        {
            "source_file": "job_2002/nccl_rank1.json", "source_row": 1,
            "recorder": "flight_recorder", "cluster": "h200", "job_id": "2002", "attempt": None,
            "rank": 1, "group_name": "0", "group_ranks": "[0, 1]", "seq": 7635, "is_p2p": False,
            "name": "allgather", "in_elements": 25179136, "out_elements": 50358272,
            "dtype": "BFloat16", "created_ns": T0, "seen_started_ns": None,
            "seen_completed_ns": T0 + 91_973_939, "state": "completed",
            "timeout_ns": 600_000_000_000,
        }
    ]  # fmt: skip


def one(read: Read, **changed: Any) -> dict[str, Any]:
    """The row of an entry with other values; a value of ... takes the key away."""
    entry = {key: value for key, value in (ENTRY | changed).items() if value is not ...}
    tables = read(dump(entry))
    assert tables["reject"] == []
    (row,) = tables["collective"]
    return row


@pytest.mark.parametrize(
    ("changed", "row"),
    [
        ({"process_group": ["7", "tp"]}, {"group_name": "7", "group_ranks": None}),
        ({"process_group": ...}, {"group_name": "0", "group_ranks": "[0, 1]"}),
        ({"process_group": ..., "pg_id": ...}, {"group_name": None, "group_ranks": None}),
        ({"is_p2p": True, "p2p_seq_id": 3, "profiling_name": "nccl:send 0->1"},
         {"is_p2p": True, "seq": 3, "name": "send"}),
        ({"collective_seq_id": ..., "p2p_seq_id": ..., "seq_id": 9}, {"seq": 9}),
        ({"collective_seq_id": ...}, {"seq": None}),
        ({"collective_seq_id": "12"}, {"seq": 12}),
        ({"is_p2p": ...}, {"is_p2p": False, "seq": 7635}),
        ({"input_sizes": [[2, 3], [4]]}, {"in_elements": 10}),
        ({"input_sizes": [[[2, 3]], [[4], [5]]]}, {"in_elements": 15}),
        ({"input_sizes": [[]]}, {"in_elements": 1}),
        ({"input_sizes": []}, {"in_elements": 0}),
        ({"input_sizes": [[2, -3]]}, {"in_elements": None}),
        ({"input_sizes": "[2]", "output_sizes": ...}, {"in_elements": None, "out_elements": None}),
        ({"input_dtypes": [], "output_dtypes": ["Int"]}, {"dtype": "Int"}),
        ({"input_dtypes": ..., "output_dtypes": ...}, {"dtype": None}),
        ({"input_dtypes": "Float"}, {"dtype": "Float"}),
        ({"time_discovered_started_ns": T0 + 5}, {"seen_started_ns": T0 + 5}),
        ({"time_discovered_started_ns": None, "time_discovered_completed_ns": ...,
          "state": "scheduled"},
         {"seen_started_ns": None, "seen_completed_ns": None, "state": "scheduled"}),
        ({"timeout_ms": ...}, {"timeout_ns": None}),
        ({"profiling_name": "nccl:all_reduce_barrier"}, {"name": "barrier"}),
        ({"frames": [{"name": "f", "filename": "a.py", "line": 3}]}, {"seq": 7635}),
    ],
)  # fmt: skip
def test_other_releases_and_absent_keys(
    read: Read, changed: dict[str, Any], row: dict[str, Any]
) -> None:
    assert one(read, **changed).items() >= row.items()


@pytest.mark.parametrize(
    "groups",
    [{"0": {"name": "0", "ranks": [0, 1]}}, {"default": {"name": "0", "ranks": "[0, 1]"}}],
)
def test_ranks_of_a_group_in_other_forms(read: Read, groups: Any) -> None:
    tables = read(dump(ENTRY, pg_config=groups))
    assert tables["collective"][0]["group_ranks"] == "[0, 1]"


@pytest.mark.parametrize("groups", [None, [], "x", {"0": 3}, {"0": {"ranks": 7}}])
def test_groups_that_say_nothing(read: Read, groups: Any) -> None:
    tables = read(dump(ENTRY, pg_config=groups))
    assert tables["collective"][0]["group_ranks"] is None


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (ENTRY | {"state": "hung"}, "state is 'hung'; expected scheduled, started, completed"),
        (ENTRY | {"time_created_ns": None}, "time_created_ns"),
        (ENTRY | {"time_created_ns": -5}, "created_ns is -5"),
        (ENTRY | {"time_created_ns": 2**63}, "created_ns is 9223372036854775808"),
        (ENTRY | {"timeout_ms": 2**62}, "timeout_ns"),
        (ENTRY | {"input_sizes": [[2**40, 2**40]]}, "in_elements"),
        (ENTRY | {"profiling_name": ""}, "profiling_name is empty"),
        ({"state": "completed"}, "no entry of a flight recorder"),
        (7, "no entry of a flight recorder"),
        (None, "no entry of a flight recorder"),
    ],
)
def test_a_bad_entry_is_a_reject_with_its_number(read: Read, bad: Any, reason: str) -> None:
    tables = read(dump(ENTRY, bad, ENTRY | {"collective_seq_id": 7636}))
    assert [row["source_row"] for row in tables["collective"]] == [1, 3]
    (reject,) = tables["reject"]
    assert reject["position"] == "entry 2"
    assert reason in reject["reason"]
    assert (reject["source"], reject["raw"]) == ("flight_recorder", json.dumps(bad)[:500])


def test_a_dump_of_no_entry_gives_nothing(read: Read) -> None:
    assert not any(read(dump()).values())


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_file_is_one_reject(read: Read, content: str) -> None:
    tables = read(content)
    assert tables["collective"] == []
    assert [row["position"] for row in tables["reject"]] == ["file"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_pickle_is_never_opened(read: Read, suffix: str) -> None:
    data = pickle.dumps({"entries": [ENTRY], "version": "2.10"})
    with pytest.raises(SourceError, match=r"is a pickle.*\n?.*_dump_nccl_trace_json"):
        read(gzip.compress(data) if suffix else data, f"nccl_trace_rank_0{suffix}")


@pytest.mark.parametrize("content", ["[]", "{}", '{"entries": 3}', "hello", '{"traceEvents": []}'])
def test_what_is_no_dump_is_refused(read: Read, content: str) -> None:
    with pytest.raises(SourceError, match="has no list of entries"):
        read(content)


def test_a_file_beyond_the_limit_is_refused(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "MAX_BYTES", 300)
    with pytest.raises(SourceError, match="more than 300 bytes"):
        read(dump(ENTRY))


def test_a_pattern_must_fit(read: Read) -> None:
    with pytest.raises(ConfigError, match="does not fit"):
        read(dump(ENTRY), pattern="job_{job_id}/rank{rank}.json")
    with pytest.raises(ConfigError, match="host"):
        read(dump(ENTRY), pattern="{host}.json")


def test_bytes_that_are_no_text_and_numbers_that_are_none(read: Read) -> None:
    """NaN, control characters, bad UTF-8 and half surrogates leave the entries readable."""
    text = json.dumps(dump(ENTRY | {"duration_ms": float("nan")}, ENTRY, ENTRY))
    data = text.encode().replace(b"default_pg", b"\xff\x01", 1)
    data = data.replace(b'"BFloat16"', rb'"\ud800"', 1)
    tables = read(data)
    assert len(tables["collective"]) == 3
    assert tables["collective"][0]["dtype"] == "?"
    assert tables["collective"][0]["group_ranks"] == "[0, 1]"
    assert [row["position"] for row in tables["reject"]] == ["file"]


def test_a_broken_entry_takes_none_of_its_neighbours(read: Read) -> None:
    frames = {"frames": [{"name": "f", "line": 1}, {"name": "g", "line": 2}]}
    entries = [json.dumps(ENTRY | frames | {"collective_seq_id": n}) for n in range(5)]
    entries[2] = entries[2].replace('"state": ', '"state" ')
    text = f'{{"entries": [{", ".join(entries)}], "pg_config": {json.dumps(GROUPS)}}}'
    tables = read(text)
    assert [row["seq"] for row in tables["collective"]] == [0, 1, 3, 4]
    assert [row["source_row"] for row in tables["collective"]] == [1, 2, 4, 5]
    assert {row["group_ranks"] for row in tables["collective"]} == {"[0, 1]"}
    (reject,) = tables["reject"]
    assert reject["position"] == "entry 3"


TEXT = json.dumps(dump(*({**ENTRY, "collective_seq_id": n} for n in range(4)))).encode()


@given(st.integers(0, len(TEXT) - 1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_a_cut_file_keeps_its_whole_entries(read: Read, size: int) -> None:
    try:
        tables = read(TEXT[:size])
    except SourceError:
        # So short that it may be anything.
        assert size < 2
        return
    # An entry is whole where its brace is closed.
    whole = TEXT[:size].count(b'"timeout_ms": 600000}')
    assert [row["seq"] for row in tables["collective"]] == list(range(whole))
    assert len(tables["reject"]) == 1


@given(st.binary(max_size=60), st.integers(0, len(TEXT)), st.integers(0, 60))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_damage_never_gives_an_entry_twice(read: Read, junk: bytes, at: int, lost: int) -> None:
    try:
        tables = read(TEXT[:at] + junk + TEXT[at + lost :])
    except SourceError:
        return
    rows = [row["source_row"] for row in tables["collective"]]
    assert len(rows) == len(set(rows)) <= 5


def test_a_cut_gzip_file_keeps_its_whole_entries(root: Path, tmp_path: Path) -> None:
    path = recordings(root)[0]
    whole = read_path(path, path.name)["collective"]
    cut = tmp_path / "cut.json.gz"
    data = path.read_bytes()
    cut.write_bytes(data[: len(data) // 2])
    tables = read_path(cut, path.name)
    kept = tables["collective"]
    assert 500 < len(kept) < len(whole)
    # What stands behind the entries is lost: the ranks of the groups.
    assert kept == [row | {"group_ranks": None} for row in whole[: len(kept)]]
    assert len(tables["reject"]) == 1


def recordings(root: Path) -> list[Path]:
    folder = root / "examples" / "h200" / "recordings" / "two-gpu"
    return sorted(folder.glob("job_*/nccl_flight_recorder_*.gz"))


def test_the_recorded_dumps_agree_with_their_json(root: Path) -> None:
    """Both ranks of a job enqueued the same collectives, in one order and by the same numbers."""
    paths = recordings(root)
    assert len(paths) == 6
    by_job: dict[str, list[list[dict[str, Any]]]] = {}
    for path in paths:
        name = f"{path.parent.name}/{path.name}"
        pattern = "job_{job_id}/nccl_flight_recorder_rank{rank}.json"
        tables = read_path(path, name, pattern=pattern)
        entries = json.loads(gzip.decompress(path.read_bytes()))["entries"]
        rows = tables["collective"]
        assert (len(rows), tables["reject"]) == (len(entries), [])
        assert [r["created_ns"] for r in rows] == [e["time_created_ns"] for e in entries]
        assert [r["seq"] for r in rows] == [e["collective_seq_id"] for e in entries]
        assert {r["rank"] for r in rows} == {int(path.name[-9])}
        assert {r["group_ranks"] for r in rows} == {"[0, 1]"}
        by_job.setdefault(rows[0]["job_id"], []).append(rows)
    assert sorted(by_job) == ["2001", "2002", "2003"]
    for first, second in by_job.values():
        names = {row["seq"]: (row["name"], row["in_elements"]) for row in first}
        both = [row for row in second if row["seq"] in names]
        assert len(both) > 1500
        assert all(names[row["seq"]] == (row["name"], row["in_elements"]) for row in both)
    kinds = Counter(row["name"] for row in by_job["2003"][0])
    assert kinds == {"allgather": 1279, "reducescatter": 669, "allreduce": 52}


def test_the_registry_knows_the_kind() -> None:
    kind = KINDS["flight_recorder"]
    assert (kind.read, kind.grade) == (flight_recorder.read, "E3")
    assert "TORCH_NCCL_TRACE_BUFFER_SIZE" in kind.export
    assert "_dump_nccl_trace_json" in kind.export
