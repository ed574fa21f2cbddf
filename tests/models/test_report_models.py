"""The published sums of marts: an invoice's proof, a team's classes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.models.harness import run_model

NOVEMBER, DECEMBER = "2026-11-01", "2026-12-01"


def line(line_id: str, category: str, billed: str, allocated: str, **more: Any) -> dict[str, Any]:
    """A row of recon_invoice."""
    return {
        "month": NOVEMBER, "line_id": line_id, "issuer": "Cloud", "invoice_id": "I-1",
        "charge_category": category, "billed_usd": billed, "allocated_usd": allocated,
        "difference_usd": str(Decimal(billed) - Decimal(allocated)), "billed_gpu_ns": 0,
        "partitioned_gpu_ns": 0, **more,
    }  # fmt: skip


def test_an_invoice_by_kind_of_charge() -> None:
    rows = run_model(
        "invoice_month",
        {
            "recon_invoice": [
                line("a", "Usage", "10", "10", billed_gpu_ns=7, partitioned_gpu_ns=7),
                line("b", "Usage", "5", "5", billed_gpu_ns=3, partitioned_gpu_ns=3),
                line("c", "Tax", "1.5", "1"),
                line("d", "Usage", "2", "2", invoice_id=None, billed_gpu_ns=5),
                line("e", "Usage", "1", "1", month=DECEMBER),
            ]
        },
    )
    names = (
        "invoice_id", "charge_category", "line_count", "billed_usd", "allocated_usd",
        "difference_usd", "wrong_lines", "billed_gpu_ns", "partitioned_gpu_ns",
    )  # fmt: skip
    assert sorted(
        (str(row["month"]), *map(str, (row[name] for name in names))) for row in rows
    ) == [
        (NOVEMBER, "I-1", "Tax", "1", *usd("1.5", "1", "0.5"), "1", "0", "0"),
        (NOVEMBER, "I-1", "Usage", "2", *usd("15", "15", "0"), "0", "10", "10"),
        (NOVEMBER, "None", "Usage", "1", *usd("2", "2", "0"), "1", "5", "0"),
        (DECEMBER, "I-1", "Usage", "1", *usd("1", "1", "0"), "0", "0", "0"),
    ]


def usd(*values: str) -> list[str]:
    """Dollars as DECIMAL(38,12) shows them."""
    return [str(Decimal(value).quantize(Decimal("1e-12"))) for value in values]


def part(bucket: str, waste_class: str, gpu_ns: int, grade: str, **more: Any) -> dict[str, Any]:
    """A row of waste_team_month: a dollar per ns, half of it billed."""
    return {
        "month": NOVEMBER, "team": "a", "bucket": bucket, "waste_class": waste_class,
        "cause": "own_code", "gpu_ns": gpu_ns, "billed_usd": gpu_ns, "effective_usd": 2 * gpu_ns,
        "evidence_grade": grade, "measured_gpu_ns": gpu_ns, **more,
    }  # fmt: skip


def test_a_team_by_class_carries_the_worst_grade() -> None:
    rows = run_model(
        "class_team_month",
        {
            "waste_team_month": [
                part("idle_held", "strict", 5, "E2"),
                part("unallocated", "strict", 7, "E1", measured_gpu_ns=0),
                part("compute", "useful", 1, "E2"),
                part("idle_held", "strict", 9, "E2", month=DECEMBER),
                part("idle_held", "strict", 3, "E2", team="b"),
            ]
        },
    )
    assert sorted(
        (
            str(row["month"]), row["team"], row["waste_class"], row["gpu_ns"],
            int(row["billed_usd"]), int(row["effective_usd"]), row["evidence_grade"],
            row["measured_gpu_ns"],
        )
        for row in rows
    ) == [
        (NOVEMBER, "a", "strict", 12, 12, 24, "E1", 5),
        (NOVEMBER, "a", "useful", 1, 1, 2, "E2", 1),
        (NOVEMBER, "b", "strict", 3, 3, 6, "E2", 3),
        (DECEMBER, "a", "strict", 9, 9, 18, "E2", 9),
    ]  # fmt: skip
