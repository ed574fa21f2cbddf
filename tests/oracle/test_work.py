"""The oracle of what compute time was for, on shapes worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.oracle.ladder import Held, Step
from tests.oracle.traces import Event, Trace, split
from tests.oracle.work import exclusive, flops_of, work_of

BF16 = "c10::BFloat16"
#: One batch, two heads, lengths of 3 and 5, width 7: 2 matrix products of 2 x 2 x 3 x 5 x 7.
QUERY, KEY = [1, 2, 3, 7], [1, 2, 5, 7]


def op(name: str, dims: list[Any], number: int = 1, concrete: list[str] | None = None) -> Event:
    args = {
        "External id": number, "Input Dims": dims, "Input type": [BF16],
        "Concrete Inputs": concrete or [],
    }  # fmt: skip
    return Event("cpu_op", name, (0, 1), 1, 1, args)


def kernel(start: int, end: int, number: int | None) -> Event:
    args = {} if number is None else {"External id": number}
    return Event("kernel", "k", (start, end), 0, 7, args)


@pytest.mark.parametrize(
    ("name", "dims", "flops"),
    [
        ("aten::mm", [[4, 5], [5, 6]], 2 * 4 * 5 * 6),
        ("aten::addmm", [[6], [4, 5], [5, 6], [], []], 2 * 4 * 5 * 6),
        ("aten::bmm", [[3, 4, 5], [3, 5, 6]], 2 * 3 * 4 * 5 * 6),
        ("aten::add", [[4, 5], [4, 5]], None),
    ],
)
def test_matrix_products(name: str, dims: list[Any], flops: int | None) -> None:
    assert flops_of(op(name, dims)) == flops


@pytest.mark.parametrize(
    ("name", "before", "flag", "flops"),
    [
        ("aten::_cudnn_attention_forward", 0, 10, 840),
        ("aten::_cudnn_attention_backward", 1, 14, 2100),
        ("aten::_efficient_attention_forward", 0, 9, 840),
        ("aten::_efficient_attention_backward", 1, 14, 2100),
    ],
)
def test_attention(name: str, before: int, flag: int, flops: int) -> None:
    def shape(dims: list[int]) -> list[int]:
        return [dims[0], dims[2], dims[1], dims[3]] if "efficient" in name else dims

    dims = [[9, 9, 9, 9]] * before + [shape(QUERY), shape(KEY), shape(KEY)]
    for text, part in (("False", 1), ("True", 2), ("0", 1), ("1", 2)):
        concrete = [""] * 16
        concrete[flag] = text
        assert flops_of(op(name, dims, concrete=concrete)) == Fraction(flops, part)


def test_an_instant_is_shared_and_clipped() -> None:
    spans = [(0, 10), (4, 10), (20, 30), (8, 8)]
    assert exclusive(spans, [(2, 8), (25, 40)]) == [2 + 2, 2, 5, 0]


def test_flops_go_to_kernels_by_time_and_to_steps_by_overlap() -> None:
    events = (
        Event("user_annotation", "ProfilerStep#1", (100, 200), 1, 1, {}),
        op("aten::mm", [[4, 5], [5, 6]], 1),
        op("aten::add", [[4, 5], [4, 5]], 2),
        kernel(90, 110, 1), kernel(120, 130, 1), kernel(130, 150, 2), kernel(150, 155, 3),
        kernel(155, 160, None),
    )  # fmt: skip
    held = Held("m", "1", 0, 0, 0, (0, 1000), False, (Step(1, (100, 200), 0),))
    trace = Trace(held, events, {})
    work = work_of(trace, split(trace))
    assert work.compute_ns == 50
    assert work.math_ns == 20
    assert work.no_op_ns == 10
    assert work.flops == Fraction(240 * 20, 30)
    assert work.peak_ns == work.flops / 989_400_000_000_000 * 10**9
