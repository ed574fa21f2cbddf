"""What a failed month says."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from pipelines.failures import explain, row_text
from warehouse.engines.duckdb import CheckResult


def test_a_row_is_plain_text() -> None:
    row = {
        "line_id": "ab", "usd": Decimal("1E+3"), "cost": Decimal("0.500000000000"),
        "at": datetime(2026, 11, 10, 10, tzinfo=UTC), "month": date(2026, 11, 1),
        "start_ns": 1794304800 * 10**9, "lost_gpu_ns": 1794304800 * 10**9, "took_ns": 5,
        "team": None, "ok": True, "gpus": ["a", "b"],
    }  # fmt: skip
    assert row_text(row) == (
        "line_id=ab, usd=1000, cost=0.5, at=2026-11-10T10:00:00Z, month=2026-11-01, "
        "start_ns=1794304800000000000 (2026-11-10T10:00:00Z), lost_gpu_ns=1794304800000000000, "
        "took_ns=5, team=null, ok=true, gpus=[a, b]"
    )


def test_three_checks_are_shown_in_their_order() -> None:
    failed = [CheckResult(f"m{n}", "c", "blocking", False, 1, [{"a": n}]) for n in (5, 3, 4, 1, 2)]
    assert explain(date(2026, 11, 1), failed).splitlines() == [
        "2026-11: 5 blocking checks failed; nothing of this month was published and what was "
        "published before stands.",
        "- m5: c: 1 row, such as", "    a=5", "- m3: c: 1 row, such as", "    a=3",
        "- m4: c: 1 row, such as", "    a=4", "and 2 more that follow from these.",
        "Correct the source that these rows come from, then run again.",
    ]  # fmt: skip
    assert "follow" not in explain(date(2026, 11, 1), failed[:3])
