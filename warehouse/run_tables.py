"""The tables that a run itself binds, beside landing tables and seeds: their names start with run_.

Only numbers that models compare with stand here; what a person writes in the configuration
(seconds, ratios) is turned into these units once, by whoever binds the table.
"""

from __future__ import annotations

import pyarrow as pa

from warehouse.contracts import LONG, Column, Contract


def _c(name: str, unit: str, meaning: str) -> Column:
    return Column(name, LONG, unit, meaning, nullable=False)


RUN_SETTING = Contract(
    "run_setting",
    1,
    "one row: the thresholds and the time window of this run",
    ("window_start_ns",),
    ("window_start_ns",),
    (
        _c("window_start_ns", "ns", "start of the time that the run decides about, epoch"),
        _c("window_end_ns", "ns", "its end, exclusive, epoch"),
        _c("idle_after_ns", "ns", "a run of quiet samples is idle from this length on"),
        _c("startup_allowance_ns", "ns", "startup beyond it is startup_excess"),
        _c("sustained_work_ns", "ns", "GPU work of this length ends a startup without a step log"),
        _c("engine_idle_ppm", "1e-6", "engine active up to this counts as quiet"),
        _c("pcie_quiet_bytes_s", "B/s", "PCIe traffic, both ways, below this counts as quiet"),
        _c("nvlink_quiet_bytes_s", "B/s", "NVLink traffic, both ways, below this counts as quiet"),
        _c("memory_held_bytes", "B", "idle with this much frame buffer in use is memory_held"),
    ),
)

RUN: dict[str, Contract] = {RUN_SETTING.name: RUN_SETTING}

_SECOND = 1_000_000_000
#: What a run takes where the configuration says nothing (waste model, level 1).
DEFAULTS: dict[str, int] = {
    "idle_after_ns": 300 * _SECOND,
    "startup_allowance_ns": 600 * _SECOND,
    "sustained_work_ns": _SECOND,
    "engine_idle_ppm": 10_000,
    "pcie_quiet_bytes_s": 50 * 1024**2,
    "nvlink_quiet_bytes_s": 1024**2,
    "memory_held_bytes": 1024**3,
}


def run_setting(window_start_ns: int, window_end_ns: int, **settings: int) -> pa.Table:
    """The one row of run_setting: the defaults, changed by `settings` of the same names.

    A KeyError says that there is no such setting.
    """
    unknown = settings.keys() - DEFAULTS.keys()
    if unknown:
        raise KeyError(f"run_setting has no {sorted(unknown)}")
    row = {
        "window_start_ns": window_start_ns,
        "window_end_ns": window_end_ns,
        **DEFAULTS,
        **settings,
    }
    return pa.Table.from_pylist([row], schema=RUN_SETTING.schema)
