"""The tables that a run itself binds, beside landing tables and seeds: their names start with run_.

Only values that models compare with stand here; what a person writes in the configuration
(seconds, ratios, a price per kWh) is turned into these units once, by whoever binds the table.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa

from warehouse.contracts import LONG, TEXT, TIME, Column, Contract

_HOUR_NS = 3_600_000_000_000


def _c(name: str, type_: pa.DataType, unit: str, meaning: str) -> Column:
    return Column(name, type_, unit, meaning, nullable=False)


RUN_SETTING = Contract(
    "run_setting",
    1,
    "one row: the thresholds and the time window of this run",
    ("window_start_ns",),
    ("window_start_ns",),
    (
        _c("window_start_ns", LONG, "ns", "start of the time that the run decides about, epoch"),
        _c("window_end_ns", LONG, "ns", "its end, exclusive, epoch"),
        _c("billed_start_ns", LONG, "ns", "start of the time whose bill lines count, epoch"),
        _c("billed_end_ns", LONG, "ns", "its end, exclusive, epoch"),
        _c("idle_after_ns", LONG, "ns", "a run of quiet samples is idle from this length on"),
        _c("startup_allowance_ns", LONG, "ns", "startup beyond it is startup_excess"),
        _c("sustained_work_ns", LONG, "ns", "GPU work of this length ends a startup without steps"),
        _c("engine_idle_ppm", LONG, "1e-6", "engine active up to this counts as quiet"),
        _c("pcie_quiet_bytes_s", LONG, "B/s", "PCIe both ways below this counts as quiet"),
        _c("nvlink_quiet_bytes_s", LONG, "B/s", "NVLink both ways below this counts as quiet"),
        _c("memory_held_bytes", LONG, "B", "idle with this much frame buffer is memory_held"),
        _c("mfu_dtype", TEXT, "", "number format whose peak counts where the log names none"),
        Column("energy_usd_per_mj", pa.decimal128(30, 24), "USD/mJ", "price; null: not known"),
    ),
)

RUN_HOUR = Contract(
    "run_hour",
    1,
    "one row per hour that the window touches",
    ("hour_id",),
    ("hour_id",),
    (
        _c("hour_id", LONG, "h", "hours since the epoch: epoch ns // 3600000000000"),
        _c("hour", TIME, "UTC", "start of the hour"),
        _c("month", pa.date32(), "", "first day of its month"),
    ),
)

RUN: dict[str, Contract] = {c.name: c for c in (RUN_SETTING, RUN_HOUR)}

_SECOND_NS = 1_000_000_000
#: What a run takes where the configuration says nothing (waste model, level 1).
DEFAULTS: dict[str, int | str | Decimal | None] = {
    "idle_after_ns": 300 * _SECOND_NS,
    "startup_allowance_ns": 600 * _SECOND_NS,
    "sustained_work_ns": _SECOND_NS,
    "engine_idle_ppm": 10_000,
    "pcie_quiet_bytes_s": 50 * 1024**2,
    "nvlink_quiet_bytes_s": 1024**2,
    "memory_held_bytes": 1024**3,
    "mfu_dtype": "bf16",
    "energy_usd_per_mj": None,
}


def run_setting(
    window_start_ns: int,
    window_end_ns: int,
    *,
    billed: tuple[int, int] | None = None,
    **settings: int | str | Decimal | None,
) -> pa.Table:
    """The one row of run_setting: the defaults, changed by `settings` of the same names.

    `billed` is the time whose bill lines count, epoch ns [start, end); default: the
    window. A KeyError says that there is no such setting.
    """
    unknown = settings.keys() - DEFAULTS.keys()
    if unknown:
        raise KeyError(f"run_setting has no {sorted(unknown)}")
    billed = billed or (window_start_ns, window_end_ns)
    window = {
        "window_start_ns": window_start_ns, "window_end_ns": window_end_ns,
        "billed_start_ns": billed[0], "billed_end_ns": billed[1],
    }  # fmt: skip
    row = {**window, **DEFAULTS, **settings}
    return pa.Table.from_pylist([row], schema=RUN_SETTING.schema)


def run_hour(window_start_ns: int, window_end_ns: int) -> pa.Table:
    """The rows of run_hour for a window of epoch ns [start, end); hours are whole, in UTC."""
    hours = range(window_start_ns // _HOUR_NS, -(-window_end_ns // _HOUR_NS))
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    starts = [epoch + timedelta(hours=hour) for hour in hours]
    return pa.table(
        {
            "hour_id": pa.array(hours, LONG),
            "hour": pa.array(starts, TIME),
            "month": pa.array([start.date().replace(day=1) for start in starts], pa.date32()),
        },
        schema=RUN_HOUR.schema,
    )
