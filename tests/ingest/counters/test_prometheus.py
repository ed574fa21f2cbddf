"""Answers of Prometheus: each reading once, in its unit, and what is not known never guessed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.counters import prometheus
from ingest.counters.entity import Entity, entity
from ingest.counters.fields import BY_COLUMN, SCALED_BLANKS
from ingest.counters.series import BadAnswer, samples
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

A, B = (f"GPU-0f0e0d0c-1111-2222-3333-44445555666{n}" for n in range(2))
T0 = 1_796_074_230
START = datetime.fromtimestamp(T0, UTC)
Tables = dict[str, list[dict[str, Any]]]


def answer(*series: tuple[Mapping[str, str], Iterable[tuple[float, object]]]) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": dict(labels), "values": [[time, str(value)] for time, value in values]}
        for labels, values in series
    ]}}  # fmt: skip


def labels(name: str, uuid: str = A, **more: str) -> dict[str, str]:
    return {"__name__": name, "UUID": uuid, "gpu": "0", "Hostname": "n1", **more}


def every(values: Iterable[object], *, step: float = 30) -> list[tuple[float, object]]:
    return [(T0 + at * step, value) for at, value in enumerate(values)]


def read(folder: Path, *documents: object, name: str = "a.jsonl", **options: object) -> Tables:
    path = folder / name
    text = "".join(
        f"{d if isinstance(d, str) else json.dumps(d, separators=(',', ':'))}\n" for d in documents
    ).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    tables: Tables = {table: [] for table in LANDING}
    file = SourceFile(str(path), name, "gpus", "c1", None, options)
    for batch in prometheus.read(file):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    return tables


ENGINE, SM, UTIL = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_fields_of_one_scrape_are_one_row_in_our_units(tmp_path: Path, name: str) -> None:
    given = {
        ENGINE: 0.5, SM: 0.25, UTIL: 98, "DCGM_FI_DEV_POWER_USAGE": 512.5,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 21_999_999_999_123, "DCGM_FI_DEV_FB_USED": 1024,
        "DCGM_FI_PROF_PCIE_TX_BYTES": 5_000_000, "DCGM_FI_DEV_SM_CLOCK": 1980,
        "DCGM_FI_DEV_GPU_TEMP": 61, "DCGM_FI_PROF_DRAM_ACTIVE": 1.04,
    }  # fmt: skip
    documents = [answer((labels(field), every([value] * 3))) for field, value in given.items()]
    tables = read(tmp_path, *documents, name=name)
    rows = tables["gpu_sample"]
    assert [row["ts"] for row in rows] == [START + timedelta(seconds=30 * n) for n in range(3)]
    row = rows[1]
    assert {k: row[k] for k in (
        "gpu_uuid", "slice_id", "period_us", "engine_active_ratio", "sm_active_ratio",
        "power_watts", "energy_mj", "fb_used_bytes", "pcie_tx_bytes_s", "sm_clock_mhz", "temp_c",
        "dram_active_ratio", "tensor_active_ratio", "invalid_mask", "source_row",
    )} == {
        "gpu_uuid": A, "slice_id": None, "period_us": 30_000_000, "engine_active_ratio": 0.5,
        "sm_active_ratio": 0.25, "power_watts": 512.5, "energy_mj": 21_999_999_999_123,
        "fb_used_bytes": 1024**3, "pcie_tx_bytes_s": 5_000_000, "sm_clock_mhz": 1980, "temp_c": 61,
        "dram_active_ratio": 1.0, "tensor_active_ratio": None, "invalid_mask": 0, "source_row": 2,
    }  # fmt: skip
    assert row["gpu_util_ratio"] == pytest.approx(0.98)
    assert not tables["reject"]


@pytest.mark.parametrize("name", [
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO",
    "dcgm_fi_prof_gr_engine_active",
])  # fmt: skip
def test_every_name_of_a_field_is_the_field(tmp_path: Path, name: str) -> None:
    """DCGM 4.6 renamed most of them; some collectors write small letters."""
    (row,) = read(tmp_path, answer((labels(name), [(T0, 0.5)])))["gpu_sample"]
    assert row["engine_active_ratio"] == 0.5


BLANKS = [
    "NaN", "+Inf", "-Inf", "-1", "2619", "686103", "808334905", "4294967295", "2147483632",
    "9223372036854775794", "9.223372036854776e+18", "140737488355328", *map(str, SCALED_BLANKS),
]  # fmt: skip


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("field", [UTIL, SM])
def test_a_blank_is_no_reading_and_never_zero(tmp_path: Path, blank: str, field: str) -> None:
    """Reports 1 to 4: sentinels, scaled ones, and single wild values among good ones."""
    (row,) = read(tmp_path, answer((labels(field), [(T0, blank)])))["gpu_sample"]
    column = {UTIL: "gpu_util_ratio", SM: "sm_active_ratio"}[field]
    assert row[column] is None
    assert row["invalid_mask"] == BY_COLUMN[column].bit


def test_a_field_that_is_absent_is_null_and_no_fault(tmp_path: Path) -> None:
    """Report 9: multiplexed counters rotate; rows are sparse and nothing is filled in."""
    tables = read(
        tmp_path,
        answer((labels(ENGINE), every([0.1, 0.2, 0.3]))),
        answer((labels(SM), [(T0 + 30, 0.5)])),
        answer((labels(SM, B), [(T0 + 7, 0.5)])),
    )
    rows = [(r["gpu_uuid"], r["engine_active_ratio"], r["sm_active_ratio"], r["invalid_mask"])
            for r in tables["gpu_sample"]]  # fmt: skip
    assert rows == [
        (A, pytest.approx(0.1), None, 0), (A, pytest.approx(0.2), 0.5, 0),
        (A, pytest.approx(0.3), None, 0), (B, None, 0.5, 0),
    ]  # fmt: skip
    assert [r["period_us"] for r in tables["gpu_sample"]] == [30_000_000] * 3 + [0]


def test_copies_are_one_reading(tmp_path: Path) -> None:
    """Reports 13, 14, 21: pods that share a GPU, two exporters, a replica pair."""
    pods = [{"pod": "a"}, {"pod": "b"}, {"exported_pod": "a", "pod": "exporter"}, {}]
    tables = read(tmp_path, *(answer((labels(ENGINE, **p), every([0.5, 0.25]))) for p in pods))
    assert [r["engine_active_ratio"] for r in tables["gpu_sample"]] == [0.5, 0.25]
    assert not tables["reject"]


def test_copies_that_differ_are_no_reading(tmp_path: Path) -> None:
    tables = read(
        tmp_path,
        answer((labels(ENGINE, pod="a"), every([0.5, 0.25])), (labels(ENGINE), every([0.5, 0.75]))),
        answer((labels(SM), every([0.5, 0.5])), (labels(SM, pod="a"), every(["NaN", "NaN"]))),
    )
    first, second = tables["gpu_sample"]
    assert (first["engine_active_ratio"], second["engine_active_ratio"]) == (0.5, None)
    assert first["sm_active_ratio"] is second["sm_active_ratio"] is None
    sm, engine = BY_COLUMN["sm_active_ratio"].bit, BY_COLUMN["engine_active_ratio"].bit
    assert (first["invalid_mask"], second["invalid_mask"]) == (sm, sm | engine)


def test_slices_are_kept_aside_and_their_gpu_is_read_once(tmp_path: Path) -> None:
    """Reports 12 and 29: power is copied to each GPU_I_ID; activity is the slice's own."""
    slices = [{"GPU_I_ID": "1", "GPU_I_PROFILE": "3g.40gb"}, {"GPU_I_ID": "2"}]
    tables = read(
        tmp_path,
        *(answer((labels("DCGM_FI_DEV_POWER_USAGE", **s), every([300, 310]))) for s in slices),
        *(answer((labels(SM, **s), every([0.5, 0.5]))) for s in slices),
    )
    assert [(r["power_watts"], r["sm_active_ratio"]) for r in tables["gpu_sample"]] == [
        (300, None), (310, None),
    ]  # fmt: skip
    reasons = [reject["reason"] for reject in tables["reject"]]
    assert len(reasons) == 2
    assert all("slices are not divided yet" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"UUID": A}, Entity(A)),
        ({"uuid": A}, Entity(A)),
        ({"gpu_uuid": f" {A} "}, Entity(A)),
        ({"exported_UUID": A, "UUID": ""}, Entity(A)),
        ({"UUID": f"{A}::2"}, Entity(A)),
        ({"UUID": f"{A}/vgpu11"}, Entity(A)),
        ({"UUID": A, "GPU_I_ID": "3"}, Entity(A, "3")),
        ({"UUID": A, "GPU_I_ID": ""}, Entity(A)),
    ],
)
def test_the_gpu_of_a_series(given: dict[str, str], found: Entity) -> None:
    assert entity(given) == found


@pytest.mark.parametrize(
    "given", [{}, {"gpu": "0"}, {"UUID": "0"}, {"UUID": "MIG-1"}, {"UUID": ""}]
)
def test_a_series_of_no_gpu(given: dict[str, str]) -> None:
    assert isinstance(entity(given), str)


def test_what_is_not_known_is_told_once(tmp_path: Path) -> None:
    """An unknown field, and a GPU without a UUID: kept aside, never guessed."""
    unknown = [(labels("DCGM_FI_DEV_SOMETHING", uuid), every([1])) for uuid in (A, B)]
    nameless = [({"__name__": ENGINE, "gpu": str(n)}, every([1])) for n in range(3)]
    tables = read(tmp_path, answer(*unknown, *nameless, (labels(ENGINE), every([0.5]))))
    assert len(tables["gpu_sample"]) == 1
    one, two = tables["reject"]
    assert "'DCGM_FI_DEV_SOMETHING' is not known" in one["reason"]
    assert "no label UUID" in two["reason"]
    assert json.loads(one["raw"])["UUID"] == A


def test_files_that_touch_share_no_sample(tmp_path: Path) -> None:
    """A range selector of older servers has both ends; a file counts after its start."""
    hour = answer((labels(ENGINE), every([0.1, 0.2, 0.3, 0.4])))
    spans = [(T0 - 30, T0 + 30), (T0 + 30, T0 + 90)]
    seen = []
    for number, (start, end) in enumerate(spans):
        head = {"start_ms": start * 1000, "end_ms": end * 1000}
        tables = read(tmp_path, json.dumps(head), hour, name=f"{number}.jsonl")
        seen.append([round(r["engine_active_ratio"], 1) for r in tables["gpu_sample"]])
        (cover,) = tables["source_coverage"]
        assert (cover["source"], cover["cluster"], cover["node"]) == ("telemetry", "c1", None)
        assert (cover["start"].timestamp(), cover["end"].timestamp()) == (start, end)
    assert seen == [[0.1, 0.2], [0.3, 0.4]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"status": "error", "errorType": "bad_data", "error": "too many"}, "bad_data too many"),
        ({"status": "error", "errorType": "422", "error": "cap"}, "422 cap"),
        (answer() | {"warnings": ["store a is down"]}, "partial: store a is down"),
        ("<html>502</html>", "no answer of a query"),
        ("[1,2]", "no answer of a query"),
        ({"metric": {"__name__": ENGINE}, "values": [1], "timestamps": [1, 2]}, "1 values and 2"),
        ('{"status":"success","data":{"result":[{"metric":{},"values":[[1,"x"]]}]}}', "read"),
        ('{"status":"success","data":{"result":[{"metric":{},"values":[[1]]}]}}', "read"),
    ],
)
def test_a_failed_answer_is_a_reject_and_cuts_what_is_covered(
    tmp_path: Path, line: object, message: str
) -> None:
    head = {"start_ms": T0 * 1000 - 1, "end_ms": T0 * 1000 + 60_000}
    tables = read(tmp_path, json.dumps(head), line, answer((labels(ENGINE), every([0.5]))))
    (reject,) = tables["reject"]
    assert message in reject["reason"]
    assert reject["position"] == "line 2"
    assert [c["is_cut"] for c in tables["source_coverage"]] == [False, True]
    assert len(tables["gpu_sample"]) == 1


def test_lines_of_an_export(tmp_path: Path) -> None:
    """VictoriaMetrics writes a series in several lines, and null where it has no value."""
    parts = [([0.5, None], [T0 * 1000, T0 * 1000 + 30_000]), ([0.25], [T0 * 1000 + 60_000])]
    lines = [{"metric": labels(ENGINE), "values": v, "timestamps": at} for v, at in parts]
    rows = read(tmp_path, *lines)["gpu_sample"]
    assert [r["engine_active_ratio"] for r in rows] == [0.5, None, 0.25]
    assert [r["invalid_mask"] for r in rows] == [0, 0, 0]


def test_one_sample_each(tmp_path: Path) -> None:
    """An instant query: `value` and no `values`."""
    text = {"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": labels(ENGINE), "value": [T0 + 0.25, "0.5"]}]}}  # fmt: skip
    (row,) = read(tmp_path, text)["gpu_sample"]
    assert (row["ts"], row["period_us"]) == (START + timedelta(milliseconds=250), 0)


def test_an_answer_with_blanks(tmp_path: Path) -> None:
    """Re-serialised JSON, as jq -c of other tools writes it."""
    text = json.dumps(answer((labels(ENGINE), every([0.5, "+Inf", "NaN"]))))
    rows = read(tmp_path, text)["gpu_sample"]
    assert [r["engine_active_ratio"] for r in rows] == [0.5, None, None]


def test_no_answer_at_all(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no line of it is an answer"):
        read(tmp_path, "<html>", "x")
    with pytest.raises(SourceError, match="line 1 says no time"):
        read(tmp_path, '{"start_ms": "x"}')
    with pytest.raises(ConfigError, match="unknown option 'pattern'"):
        read(tmp_path, answer(), pattern="x")
    assert read(tmp_path, answer())["gpu_sample"] == []


def test_a_copy_that_was_cut(tmp_path: Path) -> None:
    documents = [answer((labels(f), every([0.5] * 500))) for f in (ENGINE, SM)]
    text = "".join(json.dumps(d, separators=(",", ":")) + "\n" for d in documents).encode()
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(gzip.compress(text)[:-40])
    file = SourceFile(str(path), path.name, "gpus", "c1", None, {})
    found = {batch.table: batch.rows for batch in prometheus.read(file)}
    assert found["gpu_sample"].num_rows == 500
    assert found["gpu_sample"]["sm_active_ratio"].null_count == 500
    assert "end early" in found["reject"].to_pylist()[0]["reason"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_against_plain_json(data: st.DataObject) -> None:
    """The quick way and the careful one give what json and float give."""
    number = st.floats(width=32) | st.integers(-(2**63), 2**63).map(float)
    times = st.integers(0, 4_000_000_000_000)
    series = data.draw(st.lists(st.lists(st.tuples(times, number), max_size=6), max_size=5))
    value = answer(*(
        ({"n": str(i)}, [(ms / 1000, repr(v)) for ms, v in own]) for i, own in enumerate(series)
    ))  # fmt: skip
    for separators in ((",", ":"), (", ", ": ")):
        found = samples(json.dumps(value, separators=separators).encode())
        assert [one.size for one in found.series] == [len(own) for own in series]
        assert found.ms.to_pylist() == [ms for own in series for ms, _ in own]
        wanted = [v for own in series for _, v in own]
        assert list(map(repr, found.values.to_pylist())) == list(map(repr, wanted))


def test_brackets_in_labels_are_no_samples() -> None:
    text = answer(({"a": '],["x"]],[['}, every([1, 2]))).copy()
    found = samples(json.dumps(text, separators=(",", ":")).encode())
    assert (found.series[0].size, found.values.to_pylist()) == (2, [1.0, 2.0])


def test_bad_answer_is_told_apart() -> None:
    with pytest.raises(BadAnswer):
        samples(b"{}")
