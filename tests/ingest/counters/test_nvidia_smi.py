"""nvidia-smi's table: units in cells, words instead of numbers, and local times."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.counters import nvidia_smi
from ingest.counters.fields import BY_COLUMN
from tests.ingest.counters.test_prometheus import A, B, Tables
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

HEAD = ("timestamp, index, uuid, utilization.gpu [%], power.draw [W], memory.used [MiB], "
        "temperature.gpu, clocks.current.sm [MHz]")  # fmt: skip


def line(second: int, uuid: str = A, **cells: str) -> str:
    given = {"util": "98 %", "power": "512.50 W", "memory": "1024 MiB", "temp": "61",
             "clock": "1980 MHz", **cells}  # fmt: skip
    return ", ".join([f"2026/11/30 21:30:{second:02d}.125", "0", uuid, *given.values()])


def read(folder: Path, *rows: str, **options: object) -> Tables:
    path = folder / "smi.csv"
    path.write_text("".join(f"{row}\n" for row in rows))
    options = {"timezone": "UTC", **options}
    tables: Tables = {table: [] for table in LANDING}
    for batch in nvidia_smi.read(SourceFile(str(path), path.name, "smi", "c1", None, options)):
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    return tables


def test_two_gpus_in_our_units(tmp_path: Path) -> None:
    rows = [line(second, uuid) for second in (0, 30) for uuid in (A, B)]
    tables = read(tmp_path, HEAD, *rows)
    assert not tables["reject"]
    row = tables["gpu_sample"][1]
    assert {k: row[k] for k in ("gpu_uuid", "ts", "period_us", "power_watts", "fb_used_bytes",
                                "temp_c", "sm_clock_mhz", "invalid_mask")} == {
        "gpu_uuid": A, "ts": datetime(2026, 11, 30, 21, 30, 30, 125_000, UTC),
        "period_us": 30_000_000, "power_watts": 512.5, "fb_used_bytes": 1024**3, "temp_c": 61,
        "sm_clock_mhz": 1980, "invalid_mask": 0,
    }  # fmt: skip
    assert row["gpu_util_ratio"] == pytest.approx(0.98)
    assert row["engine_active_ratio"] is row["sm_active_ratio"] is None, "it does not say"
    (cover,) = tables["source_coverage"]
    assert (cover["end"] - cover["start"]).total_seconds() == 30


@pytest.mark.parametrize(
    "word",
    ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[GPU requires reset]",
     "[Insufficient Permissions]", ""],
)  # fmt: skip
def test_a_word_is_nothing_that_was_delivered(tmp_path: Path, word: str) -> None:
    """Report 38: each driver has its own; none is zero."""
    (row,) = read(tmp_path, HEAD, line(0, util=word))["gpu_sample"]
    assert (row["gpu_util_ratio"], row["invalid_mask"], row["temp_c"]) == (None, 0, 61)


@pytest.mark.parametrize("cell", ["many", "101 %", "-1 %", "98 W", "4294967295 %"])
def test_what_cannot_be_is_no_reading(tmp_path: Path, cell: str) -> None:
    (row,) = read(tmp_path, HEAD, line(0, util=cell))["gpu_sample"]
    assert row["gpu_util_ratio"] is None
    assert row["invalid_mask"] == BY_COLUMN["gpu_util_ratio"].bit


def test_without_units_in_another_order_and_run_twice(tmp_path: Path) -> None:
    """nounits; a second run appends its header; columns that nobody knows are passed over."""
    head = "uuid, fan.speed, power.draw.average, timestamp"
    rows = [f"{A}, 30, 300.5, 2026/11/30 21:30:0{n}.000" for n in range(2)]
    tables = read(tmp_path, head, rows[0], head, rows[1])
    assert [r["power_watts"] for r in tables["gpu_sample"]] == [300.5, 300.5]
    assert not tables["reject"]


def test_local_times(tmp_path: Path) -> None:
    """The hour that autumn repeats is nobody's; the hour before is."""

    def at(time: str) -> str:
        return line(0).replace("2026/11/30 21:30:00.125", time)

    tables = read(
        tmp_path, HEAD, at("2026/10/25 01:59:59.000"), at("2026/10/25 02:30:00.000"),
        at("2026/03/29 02:30:00.000"), at("2026/10/25 03:00:00.000"), timezone="Europe/Berlin",
    )  # fmt: skip
    assert [r["ts"] for r in tables["gpu_sample"]] == [
        datetime(2026, 10, 24, 23, 59, 59, tzinfo=UTC), datetime(2026, 10, 25, 2, tzinfo=UTC),
    ]  # fmt: skip
    reasons = [r["reason"] for r in tables["reject"]]
    assert ["is twice in Europe/Berlin" in reasons[0], "does not exist" in reasons[1]] == [True] * 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (line(0).replace("2026/11/30", "30.11.2026"), "expected YYYY/MM/DD"),
        (line(0, "GPU 0"), "UUID is 'GPU 0'"),
        (f"{line(0)}, more", "9 cells; expected 8"),
        ("Unable to determine the device handle for GPU 0000:1A:00.0", "1 cells; expected 8"),
    ],
)
def test_a_bad_line_costs_itself(tmp_path: Path, row: str, reason: str) -> None:
    tables = read(tmp_path, HEAD, line(0), row, line(2))
    assert len(tables["gpu_sample"]) == 2
    assert reason in tables["reject"][0]["reason"]


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("a, b", "its first line is"),
        (HEAD.replace("uuid, ", ""), "its first line is"),
        (HEAD.replace("timestamp", "time"), "its first line is"),
        ("timestamp, uuid, name", "its first line is"),
        (HEAD.replace("[MiB]", "[kB]"), "memory.used is in kB; expected memory.used in MiB"),
    ],
)
def test_what_is_no_such_table(tmp_path: Path, head: str, found: str) -> None:
    with pytest.raises(SourceError, match=found.replace(".", r"\.")):
        read(tmp_path, head, line(0))


@pytest.mark.parametrize(("zone", "message"), [(None, "needs timezone|so the source needs"),
                                               ("Mars", "no IANA time zone")])  # fmt: skip
def test_the_zone_is_needed(tmp_path: Path, zone: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, HEAD, timezone=zone)
