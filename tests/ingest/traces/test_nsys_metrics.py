"""GPU metrics of Nsight Systems exports as samples of GPUs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.counters.fields import BY_COLUMN
from tests.ingest.traces.nsys_export import export, kernel, read, read_path, write_folder

AT = datetime(2026, 11, 10, 10, tzinfo=UTC)
UUID = "GPU-aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb"
#: Type ids: the GPU's number is the low byte.
ZERO, ONE = 1 << 48, (1 << 48) + 1
NAMES = {
    1: "GR Active [Throughput %]", 2: "SMs Active [Throughput %]", 3: "Tensor Active",
    4: "DRAM Read Bandwidth [Throughput %]", 5: "DRAM Write Bandwidth [Throughput %]",
    6: "PCIe RX Throughput [Throughput %]",
}  # fmt: skip
MS = 1_000_000


def tables(*values: tuple[Any, int, int, Any], gpus: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """An export with these values: time, type id, metric id, value."""
    return {
        "TARGET_INFO_GPU": [
            {"id": gpu, "uuid": UUID[:-1] + str(gpu), "name": "NVIDIA H200"} for gpu in gpus
        ],
        "TARGET_INFO_GPU_METRICS": [
            {"typeId": type_id, "metricId": metric, "metricName": name}
            for type_id in (ZERO, ONE)
            for metric, name in NAMES.items()
        ],
        "GPU_METRICS": [
            {"timestamp": time, "typeId": type_id, "metricId": metric, "value": value}
            for time, type_id, metric, value in values
        ],
    }


def test_percent_of_an_interval_is_a_ratio_at_its_end(tmp_path: Path) -> None:
    found = read(tmp_path, kernel=[kernel()], **tables(
        (0, ZERO, 1, 90), (0, ZERO, 2, 80), (0, ZERO, 3, 70), (0, ZERO, 4, 40), (0, ZERO, 5, 15),
        (0, ZERO, 6, 99), (100 * MS, ZERO, 2, 0), (200 * MS, ZERO, 2, 100),
    ))  # fmt: skip
    first, second, third = found["gpu_sample"]
    assert first["ts"] == AT + timedelta(milliseconds=100)
    assert (first["gpu_uuid"], first["period_us"]) == (UUID[:-1] + "0", 100_000)
    ratios = [first[f"{name}_active_ratio"] for name in ("engine", "sm", "tensor", "dram")]
    assert ratios == pytest.approx([0.9, 0.8, 0.7, 0.55])
    assert (first["pcie_rx_bytes_s"], first["invalid_mask"], first["source_row"]) == (None, 0, 1)
    assert (second["sm_active_ratio"], second["dram_active_ratio"]) == (0.0, None)
    assert (third["ts"], third["sm_active_ratio"]) == (AT + timedelta(milliseconds=300), 1.0)
    assert found["reject"] == []


@pytest.mark.parametrize(
    ("reads", "writes", "ratio"),
    [(60, 41, 1.0), (60, 40, 1.0), (60, 42, None), (-1, 5, None), (2619, 5, None)],
)
def test_reads_and_writes_share_the_memory(
    reads: int, writes: int, ratio: float | None, tmp_path: Path
) -> None:
    (row,) = read(tmp_path, kernel=[kernel()], **tables((0, ZERO, 4, reads), (0, ZERO, 5, writes)))[
        "gpu_sample"
    ]
    assert row["dram_active_ratio"] == ratio
    assert row["invalid_mask"] == (BY_COLUMN["dram_active_ratio"].bit if ratio is None else 0)
    assert row["period_us"] == 0


def test_one_direction_alone_is_not_what_the_memory_did(tmp_path: Path) -> None:
    (row,) = read(tmp_path, kernel=[kernel()], **tables((0, ZERO, 4, 30)))["gpu_sample"]
    assert (row["dram_active_ratio"], row["invalid_mask"]) == (None, 0)


def test_a_value_out_of_range_is_no_reading(tmp_path: Path) -> None:
    (row,) = read(tmp_path, kernel=[kernel()], **tables((0, ZERO, 2, 2619), (0, ZERO, 1, 25)))[
        "gpu_sample"
    ]
    assert (row["sm_active_ratio"], row["engine_active_ratio"]) == (None, 0.25)
    assert row["invalid_mask"] == BY_COLUMN["sm_active_ratio"].bit


def test_gpus_are_told_apart_and_one_without_uuid_is_not_guessed(tmp_path: Path) -> None:
    values = [(n * MS, type_id, 2, 10 + n) for n in range(3) for type_id in (ZERO, ONE)]
    found = read(tmp_path, kernel=[kernel()], **tables(*values, gpus=(1,)))
    assert {row["gpu_uuid"] for row in found["gpu_sample"]} == {UUID[:-1] + "1"}
    ratios = [row["sm_active_ratio"] for row in found["gpu_sample"]]
    assert ratios == pytest.approx([0.10, 0.11, 0.12])
    (reject,) = found["reject"]
    assert reject["position"] == "GPU_METRICS, GPU 0"
    assert reject["reason"].startswith("3 values of a GPU without a UUID")


def test_values_that_cannot_be_read(tmp_path: Path) -> None:
    found = read(tmp_path, kernel=[kernel()], **tables(
        (0, ZERO, 2, 10), ("x", ZERO, 2, 10), (5 * MS, ZERO, 2, None), (10 * MS, ZERO, 2, 20),
        (3 * MS, ZERO, 2, 30), (20 * MS, ZERO, 2, 40),
    ))  # fmt: skip
    ratios = [row["sm_active_ratio"] for row in found["gpu_sample"]]
    assert ratios == pytest.approx([0.1, 0.2, 0.4])
    assert [row["position"] for row in found["reject"]] == [
        f"GPU_METRICS, rowid {row}" for row in (2, 3, 5)
    ]


def test_without_a_clock_no_sample_is_dated(tmp_path: Path) -> None:
    said = {**tables((0, ZERO, 2, 10)), "TARGET_INFO_SESSION_START_TIME": []}
    assert read(tmp_path, kernel=[kernel()], **said)["gpu_sample"] == []


def test_raw_timestamps_of_older_versions_and_of_a_folder(tmp_path: Path) -> None:
    said = tables((0, ZERO, 2, 10), (MS, ZERO, 2, 20))
    said["GPU_METRICS"] = [
        {"rawTimestamp" if k == "timestamp" else k: v for k, v in row.items()}
        for row in said["GPU_METRICS"]
    ]
    expected = read(tmp_path, kernel=[kernel()], **said)["gpu_sample"]
    assert [row["period_us"] for row in expected] == [1000, 1000]
    folder = write_folder(tmp_path / "d", export(kernel=[kernel()], **said))
    assert read_path(folder, "t.sqlite")["gpu_sample"] == expected
