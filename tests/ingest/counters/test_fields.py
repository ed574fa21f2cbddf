"""The catalogue of counter fields agrees with the contract and lets no blank of DCGM through."""

from __future__ import annotations

import pytest

from ingest.counters import fields
from ingest.counters.fields import BY_COLUMN, BY_NAME, FIELDS, LEFT, PERCENT, RATIO, Unit, limits
from ingest.counters.sampler import GPM
from warehouse.contracts import SAMPLE_FIELDS


def test_each_measured_column_has_one_field_in_the_bits_order() -> None:
    assert tuple(BY_COLUMN) == SAMPLE_FIELDS
    assert [field.bit for field in BY_COLUMN.values()] == [
        1 << n for n in range(len(SAMPLE_FIELDS))
    ]
    assert len(FIELDS) == len(SAMPLE_FIELDS)


def test_names_of_before_and_after_dcgm_4_6_lead_to_one_id() -> None:
    assert BY_NAME["dcgm_fi_dev_gpu_util"] == BY_NAME["dcgm_fi_dev_gpu_util_ratio"] == 203
    assert BY_NAME["dcgm_fi_prof_gr_engine_active"] == 1001
    assert BY_NAME["dcgm_fi_prof_gr_engine_util_ratio"] == 1001
    assert BY_NAME["dcgm_fi_prof_pipe_tensor_active"] == BY_NAME["dcgm_fi_prof_tensor_util_ratio"]


def test_a_name_is_of_one_field_and_one_id_is_one_row() -> None:
    rows = fields._rows()
    names = [name.lower() for row in rows for name in row["names"].split()]
    assert len(names) == len(set(names)) == len(BY_NAME) + len(LEFT)
    ids = [row["dcgm_id"] for row in rows if row["dcgm_id"]]
    assert len(ids) == len(set(ids))
    assert {"dcgm_fi_dev_xid_errors", "dcgm_exp_xid_errors_count"} <= LEFT


def test_gpm_gives_what_the_sampler_asks_for() -> None:
    asked = {number for name, number in GPM.items() if not name.startswith("gpm_fp")}
    assert asked <= {field.gpm_metric for field in FIELDS.values()}


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        *((column, Unit("as landed")) for column in SAMPLE_FIELDS),
        *((column, unit) for column in SAMPLE_FIELDS if "_ratio" in column
          for unit in (PERCENT, RATIO)),
    ],
)  # fmt: skip
def test_no_blank_is_a_reading(column: str, unit: Unit) -> None:
    low, high = limits(BY_COLUMN[column], unit)
    blanks: list[float] = [
        *fields.INT64_BLANKS, *(float(b) for b in fields.INT64_BLANKS), *fields.SCALED_BLANKS,
    ]  # fmt: skip
    if BY_COLUMN[column].kind == "gauge" and column != "fb_used_bytes":
        blanks += [*fields.INT32_BLANKS, *fields.FP64_BLANKS]
    if column.endswith("_ratio"):
        blanks += fields.SEEN_BLANKS
    assert not [blank for blank in blanks if low <= blank <= high]
