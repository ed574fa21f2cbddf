"""Displayed parts sum to the displayed total, and none moves by a whole unit."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.rounding import rounded, shown

MONEY = st.decimals(
    min_value=-(10**12), max_value=10**12, places=12, allow_nan=False, allow_infinity=False
)
PARTS = st.lists(MONEY, max_size=30)


def test_three_thirds_of_a_dollar() -> None:
    third = Decimal("0.333333333333")
    assert shown([third, third, third]) == [Decimal("0.34"), Decimal("0.33"), Decimal("0.33")]


def test_a_credit_is_cut_down_too() -> None:
    parts = [Decimal("10.005"), Decimal("-3.005")]
    assert shown(parts) == [Decimal("10.01"), Decimal("-3.01")]
    assert sum(shown(parts)) == Decimal("7.00")


def test_a_teams_cents_go_over_its_buckets() -> None:
    buckets = [Decimal("1.001"), Decimal("2.002")]
    assert shown(buckets, total=Decimal("3.01")) == [Decimal("1.00"), Decimal("2.01")]


def test_hours_at_four_places() -> None:
    assert shown([Decimal("0.09861"), Decimal("0.04694")], places=4) == [
        Decimal("0.0986"), Decimal("0.0470"),
    ]  # fmt: skip


@pytest.mark.parametrize("total", ["3.02", "2.99", "3.005"])
def test_refuses_a_total_of_something_else(total: str) -> None:
    with pytest.raises(ValueError, match="is not the sum"):
        shown([Decimal("1.001"), Decimal("2.002")], total=Decimal(total))


def test_nothing_sums_to_nothing() -> None:
    assert shown([]) == []
    assert shown([0, 0]) == [Decimal("0.00"), Decimal("0.00")]


@given(PARTS, st.integers(0, 6))
def test_sums_exactly_and_moves_less_than_a_unit(parts: list[Decimal], places: int) -> None:
    found = shown(parts, places=places)
    assert sum(found, Decimal(0)) == rounded(sum(parts, Decimal(0)), places=places)
    unit = Decimal(1).scaleb(-places)
    for part, cell in zip(parts, found, strict=True):
        assert abs(part - cell) < unit
        assert cell % unit == 0


@given(st.lists(PARTS, min_size=1, max_size=8))
def test_top_down_every_level_adds_up(teams: list[list[Decimal]]) -> None:
    sums = [sum(parts, Decimal(0)) for parts in teams]
    cents = shown(sums)
    assert sum(cents) == rounded(sum(sums, Decimal(0)))
    for parts, total in zip(teams, cents, strict=True):
        if parts:
            assert sum(shown(parts, total=total)) == total


@given(st.lists(st.integers(-(10**9), 10**9), max_size=20))
def test_whole_cents_stay(cents: list[int]) -> None:
    parts = [Decimal(c) / 100 for c in cents]
    assert shown(parts) == parts


@given(PARTS)
def test_nothing_gets_no_cent(parts: list[Decimal]) -> None:
    assert shown([Decimal(0), *parts])[0] == 0
