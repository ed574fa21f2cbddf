"""The sampler: what NVML does not give is empty, a crash costs a line, and what an H200 said."""

from __future__ import annotations

import csv
import itertools
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ingest.counters import nvml_csv, sampler
from ingest.counters.fields import BY_COLUMN
from ingest.counters.sampler import COLUMNS, GPM, Spool, every, sample
from tests.pipelines.command import call
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "sampler"
UUIDS = [f"GPU-7fd4e99f-4580-95f6-963c-c4a48969616{n}" for n in range(2)]
HOUR = 3_600_000_000_000
T0 = 498_924 * HOUR


class Refused(Exception):
    """What this NVML raises."""


class Nvml:
    """NVML as far as the sampler calls it; `without` are functions that fail."""

    NVMLError = Refused
    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0
    NVML_GPM_METRICS_GET_VERSION = 1

    def __init__(self, *, gpus: int = 2, without: tuple[str, ...] = (), bad: tuple[int, ...] = ()):
        self.gpus, self.without, self.bad = gpus, without, bad
        self.taken = 0
        self.is_open = False

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("nvml") and name in super().__getattribute__("without"):

            def refused(*_: object) -> None:
                raise Refused(name)

            return refused
        return super().__getattribute__(name)

    def nvmlInit(self) -> None:
        self.is_open = True

    def nvmlShutdown(self) -> None:
        self.is_open = False

    def nvmlDeviceGetCount(self) -> int:
        return self.gpus

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> bytes | str:
        return UUIDS[handle].encode() if handle else UUIDS[handle]

    def nvmlDeviceGetUtilizationRates(self, _: int) -> Any:
        return SimpleNamespace(gpu=98, memory=1)

    def nvmlDeviceGetPowerUsage(self, _: int) -> int:
        return 512_500

    def nvmlDeviceGetTotalEnergyConsumption(self, _: int) -> int:
        return 21_999_999_999_123

    def nvmlDeviceGetClockInfo(self, _: int, kind: int) -> int:
        return 1980 if kind == 1 else 0

    def nvmlDeviceGetMemoryInfo(self, _: int) -> Any:
        return SimpleNamespace(used=1024**3)

    def nvmlDeviceGetTemperature(self, *_: int) -> int:
        return 61

    def nvmlDeviceGetCurrentClocksEventReasons(self, _: int) -> int:
        return 4

    def nvmlDeviceGetComputeRunningProcesses(self, _: int) -> list[Any]:
        return [SimpleNamespace(pid=7), SimpleNamespace(pid=8)]

    def nvmlGpmQueryDeviceSupport(self, _: int) -> Any:
        return SimpleNamespace(isSupportedDevice=1)

    def nvmlGpmSampleAlloc(self) -> list[int]:
        return [0]

    def nvmlGpmSampleGet(self, _: int, into: list[int]) -> None:
        self.taken += 1
        into[0] = self.taken

    def c_nvmlGpmMetricsGet_t(self) -> Any:
        metrics = [SimpleNamespace(metricId=0, value=0.0, nvmlReturn=999) for _ in range(20)]
        return SimpleNamespace(version=0, numMetrics=0, sample1=None, sample2=None, metrics=metrics)

    def nvmlGpmMetricsGet(self, asked: Any) -> None:
        assert asked.version == 1
        assert asked.sample1[0] < asked.sample2[0], "the earlier sample comes first"
        for metric in asked.metrics[: asked.numMetrics]:
            metric.value = metric.metricId / 2
            metric.nvmlReturn = 13 if metric.metricId in self.bad else 0


def taken(folder: Path, nvml: Nvml, *, lines: int = 3) -> list[dict[str, str]]:
    """What a run of so many lines wrote of the first GPU."""
    count = sample(folder, period_s=1, node="n1", nvml=nvml, ticks=itertools.repeat(None, lines))
    assert count == lines * nvml.gpus
    assert not nvml.is_open
    found = [
        list(csv.DictReader(p.read_text().splitlines()))
        for p in sorted(folder.rglob(f"{UUIDS[0]}*.csv"))
    ]
    return [row for part in found for row in part]


def test_a_line_has_what_the_driver_says(tmp_path: Path) -> None:
    lines = taken(tmp_path, Nvml())
    assert {path.parent.name for path in tmp_path.rglob("*.csv")} == {"n1"}
    times = [int(line["ts_ns"]) for line in lines]
    assert times == sorted(times)
    line = lines[1]
    assert {k: line[k] for k in COLUMNS[1:9]} == {
        "gpu_util_pct": "98", "power_mw": "512500", "energy_mj": "21999999999123",
        "sm_clock_mhz": "1980", "fb_used_bytes": str(1024**3), "temp_c": "61",
        "clocks_event_reasons": "4", "pids": "7;8",
    }  # fmt: skip
    assert {k: float(line[k]) for k in GPM} == {k: number / 2 for k, number in GPM.items()}


def test_each_gpu_has_its_files(tmp_path: Path) -> None:
    taken(tmp_path, Nvml())
    assert {path.name[:40] for path in tmp_path.rglob("*.csv")} == set(UUIDS)


CALLS = {
    "nvmlDeviceGetUtilizationRates": "gpu_util_pct", "nvmlDeviceGetPowerUsage": "power_mw",
    "nvmlDeviceGetTotalEnergyConsumption": "energy_mj", "nvmlDeviceGetClockInfo": "sm_clock_mhz",
    "nvmlDeviceGetMemoryInfo": "fb_used_bytes", "nvmlDeviceGetTemperature": "temp_c",
    "nvmlDeviceGetCurrentClocksEventReasons": "clocks_event_reasons",
    "nvmlDeviceGetComputeRunningProcesses": "pids",
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_fails_is_empty_and_the_rest_is_kept(tmp_path: Path, name: str) -> None:
    for line in taken(tmp_path, Nvml(without=(name,))):
        assert [column for column in COLUMNS if line[column] == ""] == [CALLS[name]]


@pytest.mark.parametrize("name", ["nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc",
                                  "nvmlGpmSampleGet", "nvmlGpmMetricsGet"])  # fmt: skip
def test_without_gpm_there_are_no_ratios(tmp_path: Path, name: str) -> None:
    """Before Hopper, and where the GPU is split: empty, never zero."""
    for line in taken(tmp_path, Nvml(without=(name,))):
        assert [column for column in COLUMNS if line[column] == ""] == list(GPM)


def test_a_metric_that_fails_alone(tmp_path: Path) -> None:
    for line in taken(tmp_path, Nvml(bad=(5,))):
        assert [column for column in COLUMNS if line[column] == ""] == ["gpm_any_tensor_util"]


def test_a_sample_that_failed_is_no_beginning(tmp_path: Path) -> None:
    """The line after one without a sample has no time to be a mean of."""
    nvml = Nvml(gpus=1)
    gpu = sampler.Gpu(nvml, 0)
    first = gpu.read()
    nvml.without = ("nvmlGpmSampleGet",)
    second = gpu.read()
    nvml.without = ()
    third, fourth = gpu.read(), gpu.read()
    assert ["" in cells[9:] for cells in (first, second, third, fourth)] == [
        False, True, True, False,
    ]  # fmt: skip


def test_files_by_the_hour_are_gone_on_with(tmp_path: Path) -> None:
    for times in ((T0 + 1, T0 + 2), (T0 + 3, T0 + HOUR, T0 + HOUR + 1)):
        spool = Spool(tmp_path, "GPU-a")
        for at in times:
            spool.put([at, *[1] * (len(COLUMNS) - 1)])
        spool.close()
    found = {
        p.name: [r["ts_ns"] for r in csv.DictReader(p.read_text().splitlines())]
        for p in tmp_path.iterdir()
    }
    names = [f"GPU-a-{datetime.fromtimestamp((T0 + h * HOUR) / 1e9, UTC):%Y-%m-%dT%H}.csv"
             for h in range(2)]  # fmt: skip
    assert found == {
        names[0]: [str(T0 + n) for n in (1, 2, 3)], names[1]: [str(T0 + HOUR), str(T0 + HOUR + 1)],
    }  # fmt: skip


@pytest.mark.parametrize("cut", range(1, 40, 6))
def test_a_line_that_was_cut_costs_itself_only(tmp_path: Path, cut: int) -> None:
    """The machine stopped while it was written; the next run begins a line of its own."""
    spool = Spool(tmp_path, UUIDS[0])
    for at in range(1, 4):
        spool.put([T0 + at * 10**9, *[1] * (len(COLUMNS) - 1)])
    spool.close()
    (path,) = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - cut)
    again = Spool(tmp_path, UUIDS[0])
    again.put([T0 + 4 * 10**9, *[1] * (len(COLUMNS) - 1)])
    again.close()
    file = SourceFile(str(path), path.name, "s", "c1", None, {"gpu_uuid": UUIDS[0]})
    tables = {batch.table: batch.rows.to_pylist() for batch in nvml_csv.read(file)}
    ends = [row["ts"].timestamp() - T0 / 1e9 for row in tables["gpu_sample"]]
    assert {1.0, 2.0, 4.0} <= set(ends) <= {1.0, 2.0, 3.0, 4.0}
    assert len(ends) + len(tables.get("reject", [])) == 4


@pytest.mark.parametrize(
    ("nvml", "message"),
    [
        (Nvml(without=("nvmlInit",)), "NVML does not start"),
        (Nvml(gpus=0), "no GPU that NVML knows"),
    ],
)
def test_a_host_without_gpus(tmp_path: Path, nvml: Nvml, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        sample(tmp_path, period_s=1, nvml=nvml, ticks=iter(()))
    assert list(tmp_path.iterdir()) == []


def test_a_period_that_gpm_cannot_have(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected 0\.1 or more"):
        sample(tmp_path, period_s=0.05, nvml=Nvml(), ticks=iter(()))
    assert call("sample", "--period", "0.01").exit_code == 2


def test_a_name_of_a_node_is_one_folder(tmp_path: Path) -> None:
    sample(tmp_path, period_s=1, node="../a b/c", nvml=Nvml(gpus=1), ticks=iter([None]))
    (path,) = tmp_path.rglob("*.csv")
    assert path.parent.parent == tmp_path


def test_ticks_that_were_missed_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(round(seconds, 3))
        now += seconds

    monkeypatch.setattr(sampler.time, "monotonic", lambda: now)
    monkeypatch.setattr(sampler.time, "sleep", sleep)
    ticks: Iterator[None] = every(1.0)
    next(ticks)
    now += 0.25
    next(ticks)
    now += 3.5
    next(ticks)
    next(ticks)
    assert slept == [1.0, 0.75, 0.0, 0.5]


@pytest.mark.slow
def test_the_command_says_what_it_needs(tmp_path: Path) -> None:
    """Here is no driver: the real library says so, and nothing is written."""
    command = [sys.executable, "-m", "pipelines.cli", "sample", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode == -signal.SIGKILL or "NVML does not start" not in done.stderr:
        pytest.skip("this host has a driver")
    assert done.returncode == 1
    assert "expected a host with an NVIDIA driver" in done.stderr
    assert not (tmp_path / "out").exists()


# --- a recording of an H200 -----------------------------------------------------------------------

#: Medians by phase: GPU-Util, SM active, tensor active, DRAM active (low, high).
SAID = {
    "idle": ((0, 0), (0, 0.001), (0, 0), (0, 0.001)),
    # One block on one of 132 multiprocessors.
    "spin": ((1, 1), (1 / 132 - 1e-4, 1 / 132 + 1e-4), (0, 0), (0, 0.001)),
    "matmul": ((0.98, 1), (0.95, 0.97), (0.9, 0.95), (0.15, 0.2)),
    "copy": ((0.98, 1), (0.97, 1), (0, 0), (0.85, 0.95)),
    "idle again": ((0, 0), (0, 0.001), (0, 0), (0, 0.001)),
}
DRAM_BIT = BY_COLUMN["dram_active_ratio"].bit
FIELDS = ("gpu_util_ratio", "sm_active_ratio", "tensor_active_ratio", "dram_active_ratio")


@pytest.mark.parametrize(("rate", "period_us"), [("1hz", 1_000_000), ("10hz", 100_000)])
def test_what_an_h200_said_beside_known_work(rate: str, period_us: int) -> None:
    """GPU-Util is 100 % beside a single block; SM activity tells that it is one of 132."""
    (path,) = (RECORDED / rate).rglob("*.csv*")
    name = path.relative_to(RECORDED / rate).as_posix()
    options: dict[str, object] = {"pattern": "{node}/{gpu_uuid}*.csv"}
    samples: list[dict[str, Any]] = []
    for batch in nvml_csv.read(SourceFile(str(path), name, "sampler", "c1", None, options)):
        assert batch.table != "reject"
        if batch.table == "gpu_sample":
            samples += batch.rows.to_pylist()
    assert {row["period_us"] for row in samples} == {period_us}
    # One of the 700 readings of DRAM was nan, with a return code of success.
    odd = [row for row in samples if row["invalid_mask"]]
    assert [row["invalid_mask"] for row in odd] == [DRAM_BIT] * (rate == "10hz")
    assert [row["dram_active_ratio"] for row in odd] == [None] * len(odd)
    phases = list(csv.DictReader((RECORDED / "phases.csv").read_text().splitlines()))
    assert [phase["phase"] for phase in phases] == list(SAID)
    for phase in phases:
        # GPU-Util looks back for up to a second.
        start, end = int(phase["start_ns"]) / 1e9 + 2, int(phase["end_ns"]) / 1e9 - 0.2
        own = [row for row in samples if start < row["ts"].timestamp() < end]
        assert len(own) * period_us > 8_000_000
        for field, (low, high) in zip(FIELDS, SAID[phase["phase"]], strict=True):
            assert low <= statistics.median(row[field] for row in own if row not in odd) <= high, (
                phase,
                field,
            )
