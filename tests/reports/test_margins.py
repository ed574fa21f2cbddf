"""Rounding under two totals: rows and columns both add up."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from reports.margins import two_way
from reports.rounding import shown

CENT = Decimal("0.01")
cells = st.integers(0, 10**9).map(lambda n: Decimal(n) / 10**5)
tables = st.lists(
    st.dictionaries(st.sampled_from("abcdef"), cells, min_size=1), min_size=1, max_size=30
)


def total_of(rows: list[dict[str, Decimal]], column: str) -> Decimal:
    return sum((row[column] for row in rows if column in row), Decimal(0))


def rounded_rows(rows: list[dict[str, Decimal]]) -> list[Decimal]:
    return shown([sum(row.values(), Decimal(0)) for row in rows])


@settings(deadline=None)
@given(tables)
def test_rows_add_up_and_no_cell_moves_by_a_unit(rows: list[dict[str, Decimal]]) -> None:
    totals = rounded_rows(rows)
    found = two_way(rows, totals, places=2)
    assert [sum(row.values(), Decimal(0)) for row in found] == totals
    for row, own in zip(rows, found, strict=True):
        assert list(row) == list(own)
        assert all(abs(own[name] - row[name]) < CENT for name in row)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, cells, cells), min_size=12, max_size=60))
def test_columns_add_up_too_where_rows_leave_a_choice(rows: list[tuple[Decimal, ...]]) -> None:
    # A third of a cent in each cell: every cell may go either way.
    named = [
        {name: v.quantize(CENT) + CENT / 3 for name, v in zip("abc", row, strict=True)}
        for row in rows
    ]
    found = two_way(named, rounded_rows(named), places=2)
    wanted = shown([total_of(named, c) for c in "abc"], total=sum(rounded_rows(named), Decimal(0)))
    assert [total_of(found, column) for column in "abc"] == wanted


def test_many_teams_miss_no_class_by_cents() -> None:
    # Alone, each row would round its largest remainder up: `a` would be 67 cents too high.
    rows = [{"a": Decimal("1.006"), "b": Decimal("1.002"), "c": Decimal("1.002")}] * 167
    totals = rounded_rows(rows)
    assert total_of([dict(row) for row in rows], "a") == Decimal("168.002")
    assert total_of(two_way(rows, totals, places=2), "a") == Decimal("168.00")


def test_rows_win_where_both_cannot() -> None:
    rows = [{"a": Decimal("0.005")}, {"b": Decimal("0.005")}]
    found = two_way(rows, [Decimal("0.01"), Decimal("0.00")], places=2)
    assert found == [{"a": Decimal("0.01")}, {"b": Decimal("0.00")}]
