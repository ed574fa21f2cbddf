"""GPU counters: units, blanks that pose as readings, and holes that must stay holes."""

from __future__ import annotations

import csv
import gzip
import math
import statistics
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.counters import nvml_csv
from ingest.counters.fields import BY_COLUMN, MIB
from warehouse.contracts import LANDING, SAMPLE_FIELDS, SourceFile
from warehouse.errors import ConfigError, SourceError

START = 1_796_074_239_000_000_000
STEP = 100_000_000
HEAD = "ts_ns,gpu_util_pct,power_mw,pids,gpm_graphics_util,gpm_pcie_tx_per_sec"
T0 = datetime(2026, 11, 30, 21, 30, 39, tzinfo=UTC)

Read = Callable[..., dict[str, list[dict[str, Any]]]]


def line(number: int, *cells: object) -> str:
    """The sample at START + number * 100 ms."""
    return ",".join(map(str, (START + number * STEP, *cells)))


def good(number: int) -> str:
    return line(number, 50, 300_000, "7;8", 12.5, 1.0)


def read_path(
    path: Path, *, covers: tuple[int, int] | None = None, **options: object
) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in LANDING}
    options = {"gpu_uuid": "GPU-1", **options}
    for batch in nvml_csv.read(SourceFile(str(path), path.name, "gpus", "h200", covers, options)):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    return tables


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(
        lines: list[str] | bytes, *, name: str = "nvml.csv", **options: Any
    ) -> dict[str, list[dict[str, Any]]]:
        path = tmp_path / name
        path.write_bytes(
            lines if isinstance(lines, bytes) else "".join(f"{x}\n" for x in lines).encode()
        )
        return read_path(path, **options)

    return run


def cuts(tables: dict[str, list[dict[str, Any]]]) -> list[tuple[int, float, float]]:
    """Line, and start and end in steps after T0, of each cut."""
    step = timedelta(microseconds=STEP // 1000)
    return [
        (row["source_row"], (row["start"] - T0) / step, (row["end"] - T0) / step)
        for row in tables["source_coverage"] if row["is_cut"]
    ]  # fmt: skip


def test_units_become_those_of_dcgm(read: Read) -> None:
    tables = read([HEAD, good(0), good(1)], slice_id="2", node="gpu-node-0")
    sample = tables["gpu_sample"][0]
    assert sample["ts"] == T0
    assert (sample["gpu_uuid"], sample["slice_id"], sample["period_us"]) == ("GPU-1", "2", 100_000)
    assert (sample["gpu_util_ratio"], sample["engine_active_ratio"]) == (0.5, 0.125)
    assert (sample["power_watts"], sample["pcie_tx_bytes_s"]) == (300.0, 1_048_576)
    assert (sample["source_row"], sample["invalid_mask"]) == (2, 0)
    # Columns that this sampler does not have were never delivered: null, and no bit.
    assert sample["sm_active_ratio"] is sample["energy_mj"] is None
    (coverage,) = tables["source_coverage"]
    assert (coverage["source"], coverage["cluster"], coverage["node"]) == (
        "telemetry", "h200", "gpu-node-0",
    )  # fmt: skip
    # A sample speaks for the time before it.
    assert coverage["start"] == T0 - timedelta(milliseconds=100)
    assert coverage["end"] == T0 + timedelta(milliseconds=100)


BLANKS = [
    # gpu-monitoring-tools#92, #152; slurm-job-exporter#30, #53; DCGM#199, dcgm-exporter#418
    "9223372036854775794", "9223372036854776000", "140737488355328.0", "1.40737488355328e16",
    "2619", "686103", "808334905", "4294967295", "2147483632", "100.51", "-0.1", "-1",
    # i3pystatus#776, netdata#4892: what tools print instead of a number
    "nan", "inf", "-inf", "[Not Supported]", "N/A", "[Unknown Error]", "-", "0x10", "1_0", "١",
]  # fmt: skip


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("column", ["gpu_util_pct", "gpm_graphics_util", "gpm_sm_util"])
def test_a_blank_is_null_with_its_bit_and_the_other_fields_stand(
    read: Read, column: str, blank: str
) -> None:
    tables = read([f"ts_ns,{column},power_mw", line(0, blank, 69_000), line(1, 3, 69_000)])
    first, second = tables["gpu_sample"]
    field = nvml_csv.COLUMNS[column].field
    assert first[field.column] is None
    assert first["invalid_mask"] == 1 << SAMPLE_FIELDS.index(field.column)
    assert first["power_watts"] == 69.0
    assert (second[field.column], second["invalid_mask"]) == (pytest.approx(0.03), 0)
    assert not tables["reject"]


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        ("gpm_sm_util", "100.4", 1.0),  # DCGM#152: over the limit by a rounding: the limit
        ("gpm_sm_util", "-0.0", 0.0),
        ("gpm_sm_util", "1e-3", 0.00001),
        ("energy_mj", "22000000000001", 22_000_000_000_001),  # 700 W for a year
        ("energy_mj", "2147483632", 2_147_483_632),  # a blank of 32 bits is possible in 64
        ("energy_mj", "9223372036854775792", None),
        ("energy_mj", "18446744073709551615", None),
        ("energy_mj", "4415.0", 4415),
        ("fb_used_bytes", "35999580160", 35_999_580_160),
        ("fb_used_bytes", "-1", None),
        ("temp_c", "-5", -5),
        ("temp_c", "2147483632", None),
        ("sm_clock_mhz", "1980", 1980),
        ("power_mw", "140737488355328000", None),
        ("gpm_nvlink_total_rx_per_sec", "54912.717238410376", 57_580_157_391),
        ("gpm_pcie_rx_per_sec", "9223372036854775792", None),
        ("gpm_pcie_tx_per_sec", "1.9", 1_992_294),  # 1,992,294.4
    ],
)
def test_values(read: Read, column: str, text: str, value: float | None) -> None:
    tables = read([f"ts_ns,{column}", line(0, text), line(1, 0)])
    field = nvml_csv.COLUMNS[column].field
    sample = tables["gpu_sample"][0]
    assert sample[field.column] == (None if value is None else pytest.approx(value, rel=1e-7))
    if value is not None and pa.types.is_integer(
        LANDING["gpu_sample"].schema.field(field.column).type
    ):
        assert sample[field.column] == value
    assert sample["invalid_mask"] == (field.bit if value is None else 0)


def test_an_empty_cell_was_not_delivered_and_sets_no_bit(read: Read) -> None:
    """DCGM#244: rotating fields leave sparse rows; nothing is filled with 0."""
    tables = read([HEAD, line(0, "", "", "", "", ""), good(1)])
    sample = tables["gpu_sample"][0]
    assert {sample[name] for name in SAMPLE_FIELDS} == {None}
    assert sample["invalid_mask"] == 0


def test_a_duplicate_or_backward_time_keeps_the_first(read: Read) -> None:
    tables = read([HEAD, good(0), good(2), line(2, 1, 1, "", 1, 1), good(1), good(3)])
    assert [sample["source_row"] for sample in tables["gpu_sample"]] == [2, 3, 6]
    assert [
        (reject["position"], reject["reason"].split(";")[0]) for reject in tables["reject"]
    ] == [
        ("line 4", "has the time of the sample before"),
        ("line 5", "goes back in time"),
    ]
    assert cuts(tables) == [(4, 2, 3)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("1796,1", "2 cells; expected 6"),
        (good(1) + ",9", "7 cells; expected 6"),
        ("soon,1,1,,1,1", "ts_ns is 'soon'"),
        (",1,1,,1,1", "ts_ns is ''"),
        ("-5,1,1,,1,1", "ts_ns is '-5'"),
        ("99999999999999999999,1,1,,1,1", "ts_ns is"),
        ("1.796e18,1,1,,1,1", "ts_ns is"),
        ("\x00\x01", "1 cells"),
    ],
)
def test_a_bad_line_cuts_between_its_neighbours(read: Read, bad: str, reason: str) -> None:
    tables = read([HEAD, good(0), bad, good(2), good(3)])
    assert [sample["source_row"] for sample in tables["gpu_sample"]] == [2, 4, 5]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert reject["raw"] == bad
    assert reject["position"] == "line 3"
    assert cuts(tables) == [(3, 0, 2)]


def test_cuts_at_the_ends_reach_as_far_as_the_file_may(read: Read) -> None:
    lines = [HEAD, "x", good(1), good(2), "y", "z"]
    assert cuts(read(lines)) == [(2, -1, 1), (5, 2, 4)]
    covers = (START - 10 * STEP, START + 10 * STEP)
    assert cuts(read(lines, covers=covers)) == [(2, -10, 1), (5, 2, 10)]
    assert cuts(read([HEAD, "x"], covers=covers)) == [(2, -10, 10)]
    only_bad = read([HEAD, "x"])
    assert not only_bad["gpu_sample"]
    assert not only_bad["source_coverage"]
    assert len(only_bad["reject"]) == 1


def test_a_half_written_last_line_is_a_reject(read: Read) -> None:
    text = "\n".join([HEAD, good(0), good(1), good(2)[:-7]]).encode()
    tables = read(text)
    assert len(tables["gpu_sample"]) == 2
    assert [reject["position"] for reject in tables["reject"]] == ["line 4"]
    assert cuts(tables) == [(4, 1, 3)]


def test_the_last_cell_of_a_last_line_without_line_feed_may_be_cut(read: Read) -> None:
    text = "\n".join([HEAD, good(0), line(1, 50, 300_000, "", 12.5, "54861.367")])
    tables = read(text.encode()[:-6])
    last = tables["gpu_sample"][-1]
    assert last["engine_active_ratio"] == 0.125
    assert last["pcie_tx_bytes_s"] is None
    assert last["invalid_mask"] == BY_COLUMN["pcie_tx_bytes_s"].bit
    assert not tables["reject"]


def test_a_compressed_file_that_was_cut(read: Read) -> None:
    lines = [
        HEAD,
        *(line(n, n % 101, n * 7919 % 1000, "", n % 97, n * 31 % 89) for n in range(4000)),
    ]
    whole = gzip.compress("".join(f"{x}\n" for x in lines).encode(), mtime=0)
    tables = read(whole[: len(whole) // 2], name="nvml.csv.gz")
    count = len(tables["gpu_sample"])
    assert 1000 < count < 3000
    assert tables["reject"][0]["position"] == f"line {count + 2}"
    assert cuts(tables) == [(count + 2, count - 1, count + 1)]


def test_columns_may_stand_in_any_order_and_more_may_stand_beside(read: Read) -> None:
    tables = read(["new, power_mw ,ts_ns", f"a,69000,{START}", f",70000,{START + STEP}"])
    assert [sample["power_watts"] for sample in tables["gpu_sample"]] == [69.0, 70.0]


def test_blank_lines_repeated_headers_and_windows_lines_are_no_records(read: Read) -> None:
    lines = [HEAD, good(0), "", good(1), HEAD, good(2), ""]
    for feed in ("\n", "\r\n"):
        tables = read(feed.join(lines).encode())
        assert [sample["source_row"] for sample in tables["gpu_sample"]] == [2, 4, 6]
        assert not tables["reject"]


def test_another_header_inside_is_refused(read: Read) -> None:
    with pytest.raises(SourceError, match="line 3 is another header"):
        read([HEAD, good(0), "ts_ns,gpm_sm_util"])


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"job_id,attempt\n1,2\n", b"ts_ns\n1\n", b"ts_ns,ts_ns,power_mw\n", b"\xff\x00"],
)
def test_a_file_that_is_no_such_csv(read: Read, data: bytes) -> None:
    with pytest.raises(SourceError, match="its first line is"):
        read(data)


def test_the_gpu_must_be_named(read: Read) -> None:
    with pytest.raises(ConfigError, match="needs the GPU that a file speaks for"):
        read([HEAD], gpu_uuid=None)


def test_node_and_gpu_of_a_path(tmp_path: Path) -> None:
    """One source reads the counters of every node and GPU."""
    uuids = [f"GPU-5c0a1de3-0a4d-4d9e-8f3e-2f1d3c4b5a6{gpu}" for gpu in range(2)]
    seen = []
    for node, uuid in zip(("n1", "n2"), uuids, strict=True):
        path = tmp_path / f"{uuid}-2026-11.csv"
        path.write_text("".join(f"{x}\n" for x in (HEAD, good(0), good(1))))
        file = SourceFile(
            str(path), f"counters/{node}/{path.name}", "gpus", "h200", None,
            {"pattern": "{node}/{gpu_uuid}*.csv"},
        )  # fmt: skip
        rows = {batch.table: batch.rows.to_pylist() for batch in nvml_csv.read(file)}
        seen.append((rows["gpu_sample"][0]["gpu_uuid"], rows["source_coverage"][0]["node"]))
    assert seen == [(uuids[0], "n1"), (uuids[1], "n2")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "{node}.csv"}, "needs the GPU"),
        ({"pattern": ["{gpu_uuid}.csv", "{node}.csv"]}, "needs the GPU"),
        ({"pattern": []}, "needs the GPU"),
        ({"pattern": "{gpu_uuid}.csv", "gpu_uuid": "GPU-1"}, "gpu_uuid is an option and a mark"),
        ({"pattern": "{rank}.csv"}, r"expected \{node\}, \{gpu_uuid\}, \{slice_id\}"),
        ({"pattern": "{gpu_uuid}.csv"}, r"does not fit the file nvml\.csv"),
        ({"gpu_uuid": ""}, "gpu_uuid is ''"),
        ({"gpu_uuid": "GPU-1", "nodes": "n1"}, r"'nodes' \(did you mean 'node'\?\); .* covers"),
    ],
)
def test_options_that_name_no_gpu(read: Read, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read([HEAD], **{"gpu_uuid": None, **options})
    with pytest.raises(ConfigError, match="slice_id is 3"):
        read([HEAD], slice_id=3)


def test_a_sample_alone_speaks_for_no_time(read: Read) -> None:
    tables = read([HEAD, good(0)])
    assert tables["gpu_sample"][0]["period_us"] == 0
    assert not tables["source_coverage"]


def test_the_period_is_the_median_to_the_millisecond(read: Read) -> None:
    times = [0, 30_000_400_000, 60_000_000_000, 90_000_300_000, 400_000_000_000]
    tables = read(["ts_ns,power_mw", *(f"{START + t},1" for t in times)])
    assert {sample["period_us"] for sample in tables["gpu_sample"]} == {30_000_000}


def test_a_large_file_is_read_in_parts_that_join(read: Read, monkeypatch: Any) -> None:
    lines = [HEAD, *(good(n) for n in range(3000))]
    lines[1500] = "bad"
    whole = read(lines)
    monkeypatch.setattr(nvml_csv, "_BLOCK_BYTES", 4096)
    monkeypatch.setattr(nvml_csv, "BATCH_ROWS", 512)
    assert read(lines) == whole
    assert cuts(whole) == [(1501, 1498, 1500)]


cells = st.one_of(
    st.just(""),
    st.floats(-10, 110, allow_nan=False).map(repr),
    st.integers(-5, 105).map(str),
    st.sampled_from([blank for blank in BLANKS if blank not in ("0x10",)]),
    st.text("0123456789.eE+-nainf[]/ ", max_size=6),
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=10))
def test_both_ways_of_reading_agree(
    read: Read, monkeypatch: Any, rows: list[tuple[str, str, str]]
) -> None:
    """Whole columns at once, or line by line: the same samples, by the same rule for each cell."""
    lines = ["ts_ns,gpm_sm_util,gpm_pcie_tx_per_sec,temp_c"]
    lines += [line(number, *row) for number, row in enumerate(rows)]
    quick = read(lines)
    with monkeypatch.context() as patch:
        patch.setattr(nvml_csv, "_quick", lambda *_: None)
        assert read(lines) == quick
    assert not quick["reject"]
    for sample, row in zip(quick["gpu_sample"], rows, strict=True):
        for column, text in zip(("sm_active_ratio", "pcie_tx_bytes_s", "temp_c"), row, strict=True):
            has_bit = bool(sample["invalid_mask"] & BY_COLUMN[column].bit)
            assert has_bit == (text.strip() != "" and sample[column] is None)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100
)
@given(st.binary(max_size=200), st.integers(0, 500))
def test_noise_costs_only_lines(read: Read, noise: bytes, at: int) -> None:
    lines = [HEAD, *(good(n) for n in range(6))]
    data = "".join(f"{x}\n" for x in lines).encode()
    head = len(HEAD) + 1
    place = head + at % (len(data) - head)
    tables = read(data[:place] + noise + data[place:])
    times = [sample["ts"] for sample in tables["gpu_sample"]]
    assert times == sorted(set(times))
    assert len(times) >= 1
    if tables["reject"]:
        assert len(times) < 2 or cuts(tables)


RECORDINGS = ["one-gpu/nvml.csv", "two-gpu/nvml_gpu0.csv", "two-gpu/nvml_gpu1.csv"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings_of_real_gpus(shared_data: Path, name: str) -> None:
    path = shared_data / "recordings" / name
    if not path.exists():
        pytest.skip(f"no {path}")
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    tables = read_path(path)
    samples = tables["gpu_sample"]
    assert not tables["reject"]
    assert len(samples) == len(rows)
    assert {sample["period_us"] for sample in samples} == {100_000}
    dram = BY_COLUMN["dram_active_ratio"]
    for sample, row in zip(samples, rows, strict=True):
        assert sample["ts"] == datetime.fromtimestamp(0, UTC) + timedelta(
            microseconds=int(row["ts_ns"]) // 1000
        )
        is_nan = math.isnan(float(row["gpm_dram_bw_util"]))
        assert sample["invalid_mask"] == (dram.bit if is_nan else 0)
        assert (sample["dram_active_ratio"] is None) == is_nan
        assert sample["energy_mj"] == int(row["energy_mj"])
        assert sample["pcie_rx_bytes_s"] == round(float(row["gpm_pcie_rx_per_sec"]) * MIB)
    assert sum(sample["invalid_mask"] != 0 for sample in samples) in (32, 26, 20)
    for column, text in [
        ("gpu_util_ratio", "gpu_util_pct"), ("engine_active_ratio", "gpm_graphics_util"),
        ("tensor_active_ratio", "gpm_any_tensor_util"), ("sm_active_ratio", "gpm_sm_util"),
    ]:  # fmt: skip
        mean = statistics.fmean(sample[column] for sample in samples)
        assert mean == pytest.approx(statistics.fmean(float(row[text]) for row in rows) / 100)


def test_counters_that_cannot_be_true_are_no_readings(read: Read) -> None:
    """A minute of engine 0 beside GPU-Util 99, and one of energy that stands still."""
    head = "ts_ns,gpu_util_pct,energy_mj,gpm_graphics_util,gpm_sm_util"
    stuck = [line(n, 99, n * 7000, 0, 0) for n in range(700)]
    hung = [line(n, 0, 5_000_000, 0, 0) for n in range(700, 1400)]
    tables = read([head, *stuck, *hung, line(1400, 50, 5_000_001, 50, 50)])
    samples = tables["gpu_sample"]
    assert {row["engine_active_ratio"] for row in samples[:700]} == {None}
    assert [row["gpu_util_ratio"] for row in samples[:700]] == [pytest.approx(0.99)] * 700
    assert samples[700]["engine_active_ratio"] == 0, "the first was a reading"
    assert {row["gpu_util_ratio"] for row in samples[701:1400]} == {None}
    assert samples[1400]["engine_active_ratio"] == 0.5
    reasons = [row["reason"] for row in tables["reject"]]
    assert ["stands still" in reason for reason in reasons] == [True, False]
    assert ["counters are stuck" in reason for reason in reasons] == [False, True]
