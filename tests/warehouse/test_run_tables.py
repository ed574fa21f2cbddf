"""The tables that a run binds itself."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from warehouse.run_tables import DEFAULTS, RUN_HOUR, RUN_SETTING, run_hour, run_setting

MINUTE_NS = 60 * 10**9
HOUR_NS = 60 * MINUTE_NS
NOVEMBER = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) * 10**9


def test_settings_are_defaults_and_changes() -> None:
    table = run_setting(1, 2, idle_after_ns=5, energy_usd_per_mj=Decimal("0.00000000002778"))
    (row,) = table.to_pylist()
    assert row.items() >= {
        **DEFAULTS, "window_start_ns": 1, "window_end_ns": 2, "idle_after_ns": 5,
        "energy_usd_per_mj": Decimal("0.00000000002778"),
    }.items()  # fmt: skip
    assert table.schema == RUN_SETTING.schema
    with pytest.raises(KeyError, match="idle_after_s"):
        run_setting(1, 2, idle_after_s=5)


def test_hours_cover_the_window_and_know_their_month() -> None:
    table = run_hour(NOVEMBER - MINUTE_NS, NOVEMBER + HOUR_NS + 1)
    assert table.schema == RUN_HOUR.schema
    assert table.to_pylist() == [
        {"hour_id": NOVEMBER // HOUR_NS + i, "hour": datetime(2026, *when, tzinfo=UTC),
         "month": date(2026, when[0], 1)}
        for i, when in ((-1, (10, 31, 23)), (0, (11, 1, 0)), (1, (11, 1, 1)))
    ]  # fmt: skip
    assert run_hour(NOVEMBER, NOVEMBER + HOUR_NS).num_rows == 1
    assert run_hour(NOVEMBER, NOVEMBER).num_rows == 0
