"""The bill of a random month: nearly right, as bills are."""

from __future__ import annotations

from datetime import timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from tests.oracle.world import Machine, Row, World, time_of


def write_bill(world: World) -> None:
    """Write the charges of all machines, and those that no machine has."""
    rng = world.rng
    committed = Decimal(0)
    for machine in world.machines:
        committed += _machine_lines(world, machine)
    if world.chance(0.2):
        # Nobody knows this resource: it is billed and was never seen.
        _line(world, world.start, "Usage", Decimal("7.25"), resource_id="i-unknown",
              sku_gpu_count=Decimal(rng.choice((1, 8))), quantity_hours=_hours(3600),
              quantity_basis="consumed")  # fmt: skip
    if world.chance(0.5):
        unused = _hours(rng.randrange(30, 3600))
        accrued = (unused * Decimal("7.30555")).quantize(Decimal("1e-12"))
        committed += accrued
        _line(world, world.end, "Usage", Decimal(0), accrued, resource_id="cud-1",
              commitment_discount_id="cud-1", commitment_discount_status="Unused",
              sku_gpu_count=Decimal(rng.choice((1, 2))), quantity_hours=unused,
              quantity_basis="commitment")  # fmt: skip
    if committed:
        _line(
            world,
            world.end,
            "Purchase",
            committed,
            Decimal(0),
            resource_id="cud-1",
            commitment_discount_id="cud-1",
            list_usd=Decimal(0),
            list_basis="covered_purchase",
        )
    for category, sign in (("Tax", 1), ("Credit", -1), ("Purchase", 1), ("Usage", 1)):
        if world.chance(0.6):
            amount = sign * Decimal(rng.randrange(10**12)).scaleb(-12)
            basis = {"Tax": "tax", "Credit": "credit"}.get(category, "delivered")
            credited = category == "Credit" and world.chance(0.5)
            service = "Networking" if category == "Usage" else "Other"
            _line(world, rng.randrange(world.start, world.end), category, amount,
                  list_basis=basis, service_category=service,
                  resource_id=rng.choice(world.machines).resource_id if credited else None,
                  bill_team=rng.choice((None, "tagged")))  # fmt: skip
    lines = world.tables["bill_line"]
    periods = sorted({(row["billing_period_start"], row["billing_period_end"]) for row in lines})
    world.tables["bill_snapshot"].append(
        {
            "source": "bill", "source_file": "bill.csv", "sha256": "0" * 64,
            "row_count": len(lines), "reject_count": 0, "focus_version": "1.2",
            "billing_period_start": periods[0][0], "billing_period_end": periods[-1][1],
            "billed_usd": sum((row["billed_usd"] for row in lines), Decimal(0)),
        }
    )  # fmt: skip
    world.tables["source_coverage"].append(
        {
            "source": "bill", "source_file": "bill.csv", "source_row": 0, "is_cut": False,
            "start": periods[0][0], "end": periods[-1][1],
        }
    )  # fmt: skip


def _machine_lines(world: World, machine: Machine) -> Decimal:
    """Lines of one machine; returns what a commitment accrued for it."""
    rng, gpus = world.rng, len(machine.uuids)
    start, end = machine.start, machine.end
    how = rng.choice(("exact", "exact", "padded", "short", "long"))
    if how == "padded":
        start, end = start // 3600 * 3600, -(-end // 3600) * 3600
    elif how == "short":
        end -= rng.randrange(1, max(2, (end - start) // 3))
    size = rng.choice((3600, 3600, 86_400))
    rate = Decimal(rng.randrange(10_000, 120_000)).scaleb(-4) * gpus
    known, tag = world.chance(0.9), rng.choice((None, None, "tagged", "other"))
    covered = world.chance(0.2)
    accrued = left = Decimal(0)
    whole = _hours(end - start)
    for period in range(start // size * size, end, size):
        seconds = min(end, period + size) - max(start, period)
        hours = _hours(seconds)
        if how == "exact":
            # The last line takes the remainder of the rounding.
            hours = whole - left if period + size >= end else hours
            left += hours
        elif how == "long":
            hours += _hours(rng.randrange(0, 120))
        shared: Row = {
            "resource_id": machine.resource_id, "size": size, "quantity_basis": "consumed",
            "sku_gpu_count": Decimal(gpus) if known else None, "bill_team": tag,
            "service_category": "Compute", "instance_type": None,
        }  # fmt: skip
        used = (hours / 2).quantize(Decimal("1e-6"), ROUND_HALF_EVEN) if covered else Decimal(0)
        if used:
            cost = rate * used
            accrued += cost
            _line(
                world,
                period,
                "Usage",
                Decimal(0),
                cost,
                quantity_hours=used,
                commitment_discount_id="cud-1",
                commitment_discount_status="Used",
                **shared,
            )
        _line(world, period, "Usage", rate * (hours - used), quantity_hours=hours - used, **shared)
    if world.chance(0.6):
        for period in range(start // 86_400 * 86_400, end, 86_400):
            _line(world, period, "Usage", Decimal(rng.randrange(1, 10**11)).scaleb(-12),
                  size=86_400, resource_id=machine.resource_id, service_category="Storage",
                  bill_team=tag)  # fmt: skip
    return accrued


def _hours(seconds: int) -> Decimal:
    return (Decimal(seconds) / 3600).quantize(Decimal("1e-6"), ROUND_HALF_EVEN)


def _line(
    world: World, at: int, category: str, billed: Decimal, effective: Decimal | None = None,
    *, size: int = 3600, **values: Any,
) -> None:  # fmt: skip
    """One charge of the hour (or day) that holds `at`; effective and list are as billed if open."""
    start = time_of(at // size * size)
    month = start.replace(day=1, hour=0)
    number = len(world.tables["bill_line"])
    world.put(
        "bill_line", "bill.csv",
        **(
            {
                "line_id": f"line-{number:04d}", "source": "bill", "issuer": "Example Cloud",
                "invoice_id": f"INV-{month:%Y-%m}", "billing_period_start": month,
                "billing_period_end": (month + timedelta(days=32)).replace(day=1),
                "charge_period_start": start, "charge_period_end": start + timedelta(seconds=size),
                "charge_category": category, "billed_usd": billed,
                "effective_usd": billed if effective is None else effective,
                "list_usd": billed if effective is None else max(billed, effective),
                "list_basis": "delivered",
            }
            | values
        ),
    )  # fmt: skip
