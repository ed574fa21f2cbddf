"""Sampling the GPUs of this host over NVML, as the CSV files that kind `nvml_csv` reads.

For hosts without DCGM. One file a GPU and hour, FOLDER/NODE/GPU-UUID-2026-11-30T21.csv; a line is
written whole and at once, so a crash costs the line that was being written. What a call does not
give is an empty cell: never a zero. GPM's ratios (Hopper and newer) are means over the time since
the line before; where a GPU is split into MIG slices there are none for the whole.

It loads no more than NVML's Python module: it is meant to run always.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from warehouse.errors import ConfigError

#: GPM's numbers of what is sampled, by column.
GPM = {
    "gpm_graphics_util": 1, "gpm_sm_util": 2, "gpm_sm_occupancy": 3, "gpm_any_tensor_util": 5,
    "gpm_dram_bw_util": 10, "gpm_fp64_util": 11, "gpm_fp32_util": 12, "gpm_fp16_util": 13,
    "gpm_pcie_tx_per_sec": 20, "gpm_pcie_rx_per_sec": 21, "gpm_nvlink_total_rx_per_sec": 60,
    "gpm_nvlink_total_tx_per_sec": 61,
}  # fmt: skip
COLUMNS = (
    "ts_ns", "gpu_util_pct", "power_mw", "energy_mj", "sm_clock_mhz", "fb_used_bytes", "temp_c",
    "clocks_event_reasons", "pids", *GPM,
)  # fmt: skip
#: GPM wants so much time between two samples.
LEAST_S = 0.1
_NS = 10**9
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Gpu:
    """One GPU: `read` gives the cells of a line."""

    def __init__(self, nvml: Any, index: int) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = nvml.nvmlDeviceGetUUID(self._handle)
        self.uuid: str = uuid.decode() if isinstance(uuid, bytes) else uuid
        self._before: Any = None
        self._after: Any = None
        if self._get(lambda: nvml.nvmlGpmQueryDeviceSupport(self._handle).isSupportedDevice):
            self._before = self._get(nvml.nvmlGpmSampleAlloc)
            self._after = self._get(nvml.nvmlGpmSampleAlloc)
        self._has_before = self._before is not None and self._taken(self._before)

    def read(self) -> list[object]:
        """The cells of COLUMNS; empty where a call fails."""
        nvml, handle, get = self._nvml, self._handle, self._get
        cells = [
            get(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
            get(lambda: nvml.nvmlDeviceGetPowerUsage(handle)),
            get(lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle)),
            get(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            get(lambda: nvml.nvmlDeviceGetMemoryInfo(handle).used),
            get(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            get(lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
            get(lambda: ";".join(
                str(p.pid) for p in nvml.nvmlDeviceGetComputeRunningProcesses(handle)
            )),
            *self._gpm(),
        ]  # fmt: skip
        # After the readings: a line speaks for the time before it.
        return [time.time_ns(), *("" if cell is None else cell for cell in cells)]

    def _gpm(self) -> list[object]:
        nothing: list[object] = [None] * len(GPM)
        if self._before is None or self._after is None:
            return nothing
        had_before, has_after = self._has_before, self._taken(self._after)
        try:
            return self._metrics() if had_before and has_after else nothing
        except self._nvml.NVMLError:
            return nothing
        finally:
            self._before, self._after = self._after, self._before
            self._has_before = has_after

    def _metrics(self) -> list[object]:
        nvml = self._nvml
        asked = nvml.c_nvmlGpmMetricsGet_t()
        asked.version = nvml.NVML_GPM_METRICS_GET_VERSION
        asked.numMetrics = len(GPM)
        asked.sample1, asked.sample2 = self._before, self._after
        for at, metric in enumerate(GPM.values()):
            asked.metrics[at].metricId = metric
        nvml.nvmlGpmMetricsGet(asked)
        return [
            round(asked.metrics[at].value, 4) if asked.metrics[at].nvmlReturn == 0 else None
            for at in range(len(GPM))
        ]

    def _taken(self, sample: Any) -> bool:
        try:
            self._nvml.nvmlGpmSampleGet(self._handle, sample)
        except self._nvml.NVMLError:
            return False
        return True

    def _get(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (self._nvml.NVMLError, AttributeError):
            # A package older than the driver lacks newer functions.
            return None


class Spool:
    """Where the lines of one GPU go: a file for each hour, appended to."""

    def __init__(self, folder: Path, uuid: str) -> None:
        self._folder, self._uuid = folder, uuid
        self._hour = -1
        self._handle = -1

    def put(self, cells: list[object]) -> None:
        """Write one line; its first cell is the time."""
        hour = int(str(cells[0])) // (3600 * _NS)
        if hour != self._hour:
            self.close()
            self._open(hour)
        os.write(self._handle, (",".join(map(str, cells)) + "\n").encode())

    def close(self) -> None:
        """Close the file, on the disk."""
        if self._handle >= 0:
            os.fsync(self._handle)
            os.close(self._handle)
            self._handle = -1

    def _open(self, hour: int) -> None:
        name = f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m-%dT%H}"
        path = self._folder / f"{self._uuid}-{name}.csv"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(self._handle).st_size
        if not size:
            os.write(self._handle, (",".join(COLUMNS) + "\n").encode())
        elif os.pread(self._handle, 1, size - 1) != b"\n":
            # The machine stopped in the middle of a line.
            os.write(self._handle, b"\n")
        self._hour = hour


def sample(
    folder: Path, *, period_s: float, node: str | None = None, nvml: Any = None,
    ticks: Iterator[None] | None = None,
) -> int:  # fmt: skip
    """Sample every GPU each `period_s` seconds until stopped; how many lines were written.

    `ticks` ends the sampling (default: never); tests give their own and `nvml`. Raises ConfigError
    where the host has no NVIDIA driver or no GPU.
    """
    if period_s < LEAST_S:
        raise ConfigError(f"the period is {period_s} s; expected {LEAST_S} or more")
    nvml = nvml or _nvml()
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise ConfigError(
            f"NVML does not start ({error}); expected a host with an NVIDIA driver and GPUs"
        ) from error
    place = folder / (_UNSAFE.sub("_", node or socket.gethostname()).lstrip(".") or "node")
    count = 0
    try:
        gpus = [Gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount())]
        if not gpus:
            raise ConfigError("this host has no GPU that NVML knows")
        spools = [(gpu, Spool(place, gpu.uuid)) for gpu in gpus]
        try:
            for _ in ticks or every(period_s):
                for gpu, spool in spools:
                    spool.put(gpu.read())
                    count += 1
        finally:
            for _, spool in spools:
                spool.close()
    finally:
        with suppress(nvml.NVMLError):
            nvml.nvmlShutdown()
    return count


def every(period_s: float) -> Iterator[None]:
    """Tick each period; ticks that were missed are left out, not made up for."""
    start, number = time.monotonic(), 0
    while True:
        number = max(number + 1, int((time.monotonic() - start) / period_s))
        time.sleep(max(start + number * period_s - time.monotonic(), 0))
        yield


def _nvml() -> Any:
    return import_module("pynvml")
