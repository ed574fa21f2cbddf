"""The catalogue of GPU counter fields: DCGM id, every name, unit, valid range, blanks.

A field is known by its numeric DCGM id: DCGM 4.6 renamed most fields and kept the ids. Types that
an exporter announces are not believed (rates come as counters, window counts as counters); the
kind stands here. Units are DCGM's: a ratio is 0 to 1, a rate bytes per second; except that the
bytes, mJ and W of gpu_sample hold where DCGM says MiB.

Sentinels: DCGM writes a blank as a number (the value itself, then +1 not found, +2 not supported,
+3 not permitted). Exporters scale it or pass it through a float. Every one of them lies outside
each field's range, so a reading is judged by range alone: outside, it is no reading, and never 0.
Two of the int32 blanks are possible values of the counters and rates in 64 bits, where DCGM uses
the 64-bit blanks.
"""

from __future__ import annotations

from dataclasses import dataclass

from warehouse.contracts import SAMPLE_FIELDS

INT32_BLANKS = tuple(range(2147483632, 2147483636))
INT64_BLANKS = tuple(range(9223372036854775792, 9223372036854775796))
FP64_BLANKS = (140737488355328.0, 140737488355329.0, 140737488355330.0, 140737488355331.0)
#: Blanks that were multiplied by 100, and others seen for a percentage in public reports.
SCALED_BLANKS = (1.40737488355328e16, 9.223372036854776e18, 9.223372036854776e20)
SEEN_BLANKS = (4294967295, 808334905, 686103, 2619)

#: How far a reading may lie over its limit and still be the limit, and not a fault.
PERCENT_SLACK = 0.5
RATIO_SLACK = 0.05

MIB = 1024 * 1024


@dataclass(frozen=True)
class Unit:
    """How a source delivers a field: `scale` makes it gpu_sample's unit; `slack` as delivered.

    `slack` is None where a reading over the limit is a fault at once.
    """

    name: str
    scale: float = 1.0
    slack: float | None = None


PERCENT = Unit("%", 0.01, PERCENT_SLACK)
RATIO = Unit("ratio", 1.0, RATIO_SLACK)
MIB_S = Unit("MiB/s", MIB)
BYTES_S = Unit("B/s")
MILLIWATT = Unit("mW", 0.001)
WATT = Unit("W")
BYTE = Unit("B")
MIBIBYTE = Unit("MiB", MIB)
MILLIJOULE = Unit("mJ")
MEGAHERTZ = Unit("MHz")
CELSIUS = Unit("C")


@dataclass(frozen=True)
class Field:
    """One measured column of gpu_sample.

    `low` and `high` are what can be true, in the column's unit. `entity` is the level at which
    the driver counts (GPU; GI and CI are MIG's GPU and compute instance): values of a higher level
    are copied to each slice and must not be summed. `kind`: gauge, rate or counter.
    """

    column: str
    dcgm_id: int
    name: str
    name_4_6: str
    gpm_metric: int | None
    kind: str
    entity: str
    low: float
    high: float

    @property
    def bit(self) -> int:
        """Its bit in invalid_mask."""
        return 1 << SAMPLE_FIELDS.index(self.column)


def _ratio(
    column: str, dcgm_id: int, name: str, name_4_6: str, gpm: int | None, entity: str
) -> Field:
    return Field(column, dcgm_id, name, name_4_6, gpm, "gauge", entity, 0, 1)


#: No link moves that much: PCIe 7.0 x16 is 0.24 TB/s, NVLink 5 is 0.9 TB/s a direction.
_PCIE_LIMIT, _NVLINK_LIMIT = 1e12, 1e13

FIELDS: dict[int, Field] = {
    field.dcgm_id: field
    for field in (
        _ratio("gpu_util_ratio", 203, "DEV_GPU_UTIL", "DEV_GPU_UTIL_RATIO", None, "GPU"),
        _ratio("engine_active_ratio", 1001, "PROF_GR_ENGINE_ACTIVE", "PROF_GR_ENGINE_UTIL_RATIO", 1,
               "CI"),
        _ratio("sm_active_ratio", 1002, "PROF_SM_ACTIVE", "PROF_SM_UTIL_RATIO", 2, "CI"),
        _ratio("sm_occupancy_ratio", 1003, "PROF_SM_OCCUPANCY", "PROF_SM_OCCUPANCY_RATIO", 3, "CI"),
        _ratio("tensor_active_ratio", 1004, "PROF_PIPE_TENSOR_ACTIVE", "PROF_TENSOR_UTIL_RATIO", 5,
               "CI"),
        _ratio("dram_active_ratio", 1005, "PROF_DRAM_ACTIVE", "PROF_DRAM_UTIL_RATIO", 10, "GI"),
        _ratio("fp64_active_ratio", 1006, "PROF_PIPE_FP64_ACTIVE", "PROF_FP64_UTIL_RATIO", 11,
               "CI"),
        _ratio("fp32_active_ratio", 1007, "PROF_PIPE_FP32_ACTIVE", "PROF_FP32_UTIL_RATIO", 12,
               "CI"),
        _ratio("fp16_active_ratio", 1008, "PROF_PIPE_FP16_ACTIVE", "PROF_FP16_UTIL_RATIO", 13,
               "CI"),
        Field("pcie_tx_bytes_s", 1009, "PROF_PCIE_TX_BYTES", "PROF_PCIE_TX_BYTES", 20, "rate",
              "GPU", 0, _PCIE_LIMIT),
        Field("pcie_rx_bytes_s", 1010, "PROF_PCIE_RX_BYTES", "PROF_PCIE_RX_BYTES", 21, "rate",
              "GPU", 0, _PCIE_LIMIT),
        # NVML's GPM numbers them the other way round: 60 is received, 61 is sent.
        Field("nvlink_tx_bytes_s", 1011, "PROF_NVLINK_TX_BYTES", "PROF_NVLINK_TX_BYTES", 61, "rate",
              "GPU", 0, _NVLINK_LIMIT),
        Field("nvlink_rx_bytes_s", 1012, "PROF_NVLINK_RX_BYTES", "PROF_NVLINK_RX_BYTES", 60, "rate",
              "GPU", 0, _NVLINK_LIMIT),
        Field("power_watts", 155, "DEV_POWER_USAGE", "DEV_BOARD_POWER_WATTS", None, "gauge", "GPU",
              0, 5_000),
        # Since the driver was loaded; a reload sets it back to 0. A century at 1 kW is 3e15.
        Field("energy_mj", 156, "DEV_TOTAL_ENERGY_CONSUMPTION", "DEV_TOTAL_ENERGY_CONSUMPTION",
              None, "counter", "GPU", 0, 1e16),
        Field("fb_used_bytes", 252, "DEV_FB_USED", "DEV_FB_USED", None, "gauge", "GI", 0, 1e13),
        Field("sm_clock_mhz", 100, "DEV_SM_CLOCK", "DEV_SM_CLOCK", None, "gauge", "GPU", 0, 10_000),
        Field("temp_c", 150, "DEV_GPU_TEMP", "DEV_GPU_TEMP", None, "gauge", "GPU", -60, 200),
    )
}  # fmt: skip

#: How DCGM and its exporter deliver a field that is no ratio; they say MiB where they mean it.
_DCGM_UNITS = {
    "gpu_util_ratio": PERCENT, "power_watts": WATT, "energy_mj": MILLIJOULE,
    "fb_used_bytes": MIBIBYTE, "sm_clock_mhz": MEGAHERTZ, "temp_c": CELSIUS,
}  # fmt: skip
#: Names of the exporter's first series (1.x) of the fields that it had in today's units.
_NAMES_1 = {
    "dcgm_gpu_utilization": 203, "dcgm_power_usage": 155, "dcgm_total_energy_consumption": 156,
    "dcgm_fb_used": 252, "dcgm_sm_clock": 100, "dcgm_gpu_temp": 150,
}  # fmt: skip

BY_COLUMN: dict[str, Field] = {field.column: field for field in FIELDS.values()}

#: Aliases as exporters write them, such as DCGM_FI_PROF_SM_ACTIVE, in lower case -> DCGM id.
BY_NAME: dict[str, int] = {
    f"dcgm_fi_{name}".lower(): field.dcgm_id
    for field in FIELDS.values()
    for name in (field.name, field.name_4_6)
} | _NAMES_1


def dcgm_unit(field: Field) -> Unit:
    """The unit in which DCGM delivers a field."""
    if field.kind == "rate":
        return BYTES_S
    return _DCGM_UNITS.get(field.column, RATIO)


def limits(field: Field, unit: Unit) -> tuple[float, float]:
    """The lowest and highest reading as delivered that can be true, slack included.

    DCGM#199: a percentage of 2619 or 4294967295 among good ones; DCGM#152: SM active above 1.
    """
    return field.low / unit.scale, field.high / unit.scale + (unit.slack or 0.0)
