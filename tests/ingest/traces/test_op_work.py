"""What an op has to do, against numbers worked by hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.traces.op_math import MATH
from ingest.traces.op_moves import MOVES
from ingest.traces.op_work import UNKNOWN, Work, work

BF16, F32, F64, LONG, HALF = "c10::BFloat16", "float", "double", "long int", "c10::Half"
FP8 = "c10::Float8_e4m3fn"
NONE: list[Any] = []


def tensors(name: str, *given: tuple[list[int], str], **at: str) -> Work:
    """Work of an op with such tensors first, then plain values at the places p5="..."."""
    values = {int(place[1:]): text for place, text in at.items()}
    count = max([len(given), *(place + 1 for place in values)])
    dims = [list(given[i][0]) if i < len(given) else [] for i in range(count)]
    types = [given[i][1] if i < len(given) else "Scalar" for i in range(count)]
    return work(name, dims, types, [values.get(i, "") for i in range(count)])


def test_a_training_product_in_bf16() -> None:
    """16 x 2048 tokens through 2048 x 8192: far above the ridge of any GPU."""
    found = tensors("aten::mm", ([32768, 2048], BF16), ([2048, 8192], BF16))
    assert found == Work(
        flops=2 * 32768 * 2048 * 8192,
        bytes=2 * (32768 * 2048 + 2048 * 8192 + 32768 * 8192),
        math_dtype="bf16",
    )
    assert found.flops is not None
    assert found.bytes is not None
    assert found.flops / found.bytes > 1000


def test_a_decode_product_at_batch_1_reads_its_weights_for_one_token() -> None:
    found = tensors("aten::linear", ([1, 4096], BF16), ([12288, 4096], BF16))
    assert found == Work(2 * 4096 * 12288, 2 * (4096 + 12288 * 4096 + 12288), "bf16")
    assert found.flops is not None
    assert found.bytes is not None
    assert found.flops / found.bytes < 1.01


def test_an_elementwise_add_and_a_layer_norm_only_move_data() -> None:
    shape = [4, 1024, 2048]
    size = 4 * 1024 * 2048 * 2
    assert tensors("aten::add", (shape, BF16), (shape, BF16), p2="1") == Work(0, 3 * size, None)
    norm = work(
        "aten::native_layer_norm", [shape, [], [2048], [2048], []],
        [BF16, "ScalarList", BF16, BF16, "Scalar"], ["", "[2048]", "", "", "1e-05"],
    )  # fmt: skip
    assert norm == Work(0, 2 * size + 2 * 2048 * 2, None)


@pytest.mark.parametrize(
    ("name", "given", "flops", "size", "dtype"),
    [
        # bias, a, b: the bias is read at its own size, the product written in the type of a.
        ("aten::addmm", [([10], F32), ([32, 128], F32), ([128, 10], F32)],
         2 * 32 * 128 * 10, 4 * (10 + 32 * 128 + 128 * 10 + 320), "fp32"),
        ("aten::bmm", [([3, 4, 5], HALF), ([3, 5, 6], HALF)],
         2 * 3 * 4 * 5 * 6, 2 * (60 + 90 + 72), "fp16"),
        ("aten::baddbmm", [([3, 1, 6], F64), ([3, 4, 5], F64), ([3, 5, 6], F64)],
         2 * 3 * 4 * 5 * 6, 8 * (18 + 60 + 90 + 72), "fp64"),
        ("aten::matmul", [([2, 1, 4, 5], F32), ([3, 5, 6], F32)],
         2 * 2 * 3 * 4 * 5 * 6, 4 * (40 + 90 + 144), "fp32"),
        ("aten::matmul", [([5], F32), ([5, 6], F32)], 60, 4 * (5 + 30 + 6), "fp32"),
        ("aten::linear", [([7, 5], F32), ([6, 5], F32), ([6], F32)],
         2 * 7 * 5 * 6, 4 * (35 + 30 + 6 + 42), "fp32"),
        ("aten::mv", [([4, 5], F32), ([5], F32)], 40, 4 * (20 + 5 + 4), "fp32"),
        ("aten::addmv", [([4], F32), ([4, 5], F32), ([5], F32)], 40, 4 * (4 + 20 + 5 + 4), "fp32"),
        ("aten::dot", [([9], F32), ([9], F32)], 18, 4 * 19, "fp32"),
        ("aten::_int_mm", [([32, 64], "signed char"), ([64, 16], "signed char")],
         2 * 32 * 64 * 16, 32 * 64 + 64 * 16 + 4 * 32 * 16, "int8"),
        ("aten::mm", [([2, 3], "c10::complex<float>"), ([3, 4], "c10::complex<float>")],
         8 * 24, 8 * (6 + 12 + 8), "fp32"),
        # A third tensor of mm is the one that it writes into: it is not read.
        ("aten::mm", [([2, 3], F32), ([3, 4], F32), ([2, 4], F32)], 48, 4 * (6 + 12 + 8), "fp32"),
        # A type that nobody knows: the FLOPs stand.
        ("aten::mm", [([2, 3], "c10::New"), ([3, 4], "c10::New")], 48, None, None),
        ("aten::mm", [([0, 3], F32), ([3, 4], F32)], 0, 48, "fp32"),
    ],
)  # fmt: skip
def test_products(
    name: str, given: list[tuple[list[int], str]], flops: int, size: int | None, dtype: str | None
) -> None:
    assert tensors(name, *given) == Work(flops, size, dtype)


def test_a_scaled_product_writes_in_the_type_that_it_is_asked_for() -> None:
    found = work(
        "aten::_scaled_mm", [[16, 32], [32, 64], [], [], [], [], [], []],
        [FP8, FP8, F32, F32, "", "", "Scalar", "Scalar"], ["", "", "", "", "", "", "15", "True"],
    )  # fmt: skip
    assert found == Work(2 * 16 * 32 * 64, 16 * 32 + 32 * 64 + 4 + 4 + 2 * 16 * 64, "fp8")


def test_a_grouped_product_is_all_its_rows() -> None:
    """Eight experts share 4096 rows: each row meets one of them."""
    given = [[4096, 512], [8, 512, 1024], [8], [], []]
    found = work("aten::_grouped_mm", given, [BF16, BF16, "int", "", ""], ["", "", "", "", ""])
    assert found.flops == 2 * 4096 * 512 * 1024
    assert found.bytes == 2 * (4096 * 512 + 8 * 512 * 1024 + 4096 * 1024) + 8 * 4


def test_an_einsum_of_two_operands() -> None:
    def einsum(equation: str, *shapes: list[int]) -> Work:
        return work(
            "aten::einsum", [[], list(shapes), []], ["", "TensorList", ""], [equation, "", ""]
        )

    assert einsum("bij,bjk->bik", [2, 3, 4], [2, 4, 5]).flops == 2 * 2 * 3 * 4 * 5
    assert einsum("bij, bjk -> bik", [2, 3, 4], [2, 4, 5]).flops == 240
    for equation in ("ii,ij->j", "...ij,jk->ik", "ij,jk", "ij,jk->ijk", "ij,k->k", "ij,kj->zi"):
        assert einsum(equation, [3, 3], [3, 3]) == UNKNOWN


SDPA = [[2, 8, 1024, 64], [2, 2, 1024, 64], [2, 2, 1024, 128]]
Q = 2 * 8 * 1024 * 64


def test_attention_counts_both_products_and_half_of_them_where_it_is_causal() -> None:
    """Heads of keys may be fewer than heads of queries, and values wider."""

    def sdpa(causal: str) -> Work:
        return tensors("aten::scaled_dot_product_attention", *[(s, BF16) for s in SDPA], p5=causal)

    full = 2 * 2 * 8 * 1024 * 1024 * (64 + 128)
    read = 2 * (Q + 2 * 2 * 1024 * 64 + 2 * 2 * 1024 * 128)
    assert sdpa("False") == Work(full, read + 2 * 2 * 8 * 1024 * 128, "bf16")
    assert sdpa("True").flops == full // 2
    assert sdpa("") == UNKNOWN


@pytest.mark.parametrize(
    ("name", "heads_first", "causal", "last"),
    [
        ("aten::_scaled_dot_product_flash_attention", True, 4, 6),
        ("aten::_scaled_dot_product_efficient_attention", True, 6, 7),
        ("aten::_scaled_dot_product_cudnn_attention", True, 6, 8),
        ("aten::_cudnn_attention_forward", True, 10, 12),
        ("aten::_flash_attention_forward", False, 8, 14),
        ("aten::_efficient_attention_forward", False, 9, 13),
        ("flash_attn::_flash_attn_forward", False, 5, 10),
    ],
)
def test_each_attention_has_its_own_order(
    name: str, heads_first: bool, causal: int, last: int
) -> None:
    shape = [3, 4, 128, 64] if heads_first else [3, 128, 4, 64]
    given = [(shape, HALF)] * 3
    full = 4 * 3 * 4 * 128 * 128 * 64
    yes, no = ("1", "0") if "efficient_attention_forward" in name else ("True", "False")
    end = {f"p{last}": ""}
    assert tensors(name, *given, **{f"p{causal}": no}, **end).flops == full
    assert tensors(name, *given, **{f"p{causal}": yes}, **end).flops == full // 2


def test_a_causal_mask_over_unequal_lengths_starts_where_the_op_starts_it() -> None:
    def flash(queries: int, keys: int) -> int | None:
        q, k = [1, queries, 1, 64], [1, keys, 1, 64]
        given = [(q, BF16), (k, BF16), (k, BF16)]
        return tensors("aten::_flash_attention_forward", *given, p8="True", p14="").flops

    def efficient(queries: int, keys: int, mask: str) -> int | None:
        q, k = [1, queries, 1, 64], [1, keys, 1, 64]
        given = [(q, BF16), (k, BF16), (k, BF16)]
        return tensors("aten::_efficient_attention_forward", *given, p9=mask, p13="").flops

    pair = 4 * 64
    # The one query of a decode step sees all keys, less the half pair of the convention.
    assert flash(1, 1000) == pair * (2 * 1000 - 1) // 2
    assert flash(1000, 10) == pair * 10 * 10 // 2
    assert efficient(10, 1000, "1") == pair * 10 * 10 // 2
    assert efficient(10, 1000, "2") == pair * 10 * (2 * 1000 - 10) // 2
    assert efficient(1000, 10, "1") == pair * 10 * (2 * 1000 - 10) // 2


def test_attention_over_packed_or_windowed_sequences_is_not_known() -> None:
    given = [([1, 4096, 8, 64], BF16)] * 3
    dims = [*[list(s) for s, _ in given], [5], [5], [], [], [], [], []]
    types = [BF16, BF16, BF16, "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"]
    concrete = ["", "", "", "", "", "1024", "1024", "0.", "True", "False"]
    assert work("aten::_flash_attention_forward", dims, types, concrete) == UNKNOWN
    windowed = tensors("flash_attn::_flash_attn_forward", *given, p5="True", p6="256", p7="0")
    assert windowed == UNKNOWN


def test_attention_backward_is_five_products() -> None:
    """The recorded forms of the two libraries; both are causal."""
    shape, rest = [16, 16, 2048, 128], [16, 16, 2048, 1]
    dims = [[*shape]] * 5 + [rest, [], [], [], [], [], [], [], [], [], []]
    types = [*[BF16] * 5, F32, LONG, LONG, "", "", "", *["Scalar"] * 4, ""]
    concrete = ["", "", "", "", "", "", "", "", "", "", "", "2048", "2048", "0.", "True", ""]
    cudnn = work("aten::_cudnn_attention_backward", dims, types, concrete)
    forward = 4 * 16 * 16 * 2048 * 2048 * 128 // 2
    size = 16 * 16 * 2048 * 128 * 2
    assert cudnn == Work(forward * 5 // 2, 8 * size + 16 * 16 * 2048 * 4 + 16, "bf16")
    shape, rest = [4, 1024, 16, 64], [4, 16, 1024]
    dims = [shape, shape, shape, shape, [], shape, *[[]] * 4, rest, *[[]] * 9]
    types = [F32, F32, F32, F32, "", F32, "", "", "Scalar", "Scalar", F32, *["Scalar"] * 9]
    concrete = [*[""] * 8, "16", "16", "", "0.", "", "", "1", "False", *[""] * 4]
    efficient = work("aten::_efficient_attention_backward", dims, types, concrete)
    assert efficient.flops == 10 * 4 * 16 * 1024 * 1024 * 64 // 2
    assert efficient.math_dtype == "fp32"


def test_a_convolution_and_its_backward() -> None:
    """The first layer of a ResNet: 7 x 7 over 224 x 224, every second place."""
    x, w = [32, 3, 224, 224], [64, 3, 7, 7]
    values = {
        "p3": "[2, 2]",
        "p4": "[3, 3]",
        "p5": "[1, 1]",
        "p6": "False",
        "p7": "[0, 0]",
        "p8": "1",
    }
    once = 2 * 32 * 112 * 112 * 64 * 3 * 7 * 7
    size = 4 * (32 * 3 * 224 * 224 + 64 * 3 * 7 * 7)
    forward = tensors("aten::convolution", (x, F32), (w, F32), **values)
    assert forward == Work(once, size + 4 * 32 * 64 * 112 * 112, "fp32")
    cudnn = {"p2": "[3, 3]", "p3": "[2, 2]", "p4": "[1, 1]", "p5": "1"}
    assert tensors("aten::cudnn_convolution", (x, F32), (w, F32), **cudnn) == forward
    plain = {"p3": "[2, 2]", "p4": "[3, 3]", "p5": "[1, 1]", "p6": "1"}
    assert tensors("aten::conv2d", (x, F32), (w, F32), **plain) == forward
    one = {"p3": "2", "p4": "3", "p5": "1", "p6": "1"}
    assert tensors("aten::conv2d", (x, F32), (w, F32), **one).flops == once

    def backward(mask: str) -> Work:
        given = [([32, 64, 112, 112], F32), (x, F32), (w, F32)]
        return tensors("aten::convolution_backward", *given, p7="False", p10=mask)

    assert backward("[False, True, False]").flops == once
    assert backward("[True, True, True]").flops == 2 * once
    assert backward("[True, True, True]").bytes == 2 * size + 4 * 32 * 64 * 112 * 112
    assert backward("") == UNKNOWN


def test_a_transposed_and_a_grouped_convolution() -> None:
    up = {"p3": "[2, 2]", "p4": "[1, 1]", "p5": "[0, 0]", "p6": "1", "p7": "[1, 1]"}
    found = tensors("aten::conv_transpose2d", ([8, 16, 10, 10], F32), ([16, 4, 4, 4], F32), **up)
    out = 8 * 4 * 20 * 20
    assert found == Work(2 * 8 * 100 * 16 * 4 * 16, 4 * (8 * 16 * 100 + 16 * 4 * 16 + out), "fp32")
    depth = {"p3": "1", "p4": "same", "p5": "1", "p6": "32"}
    each = tensors("aten::conv1d", ([4, 32, 100], HALF), ([32, 1, 5], HALF), **depth)
    assert each.flops == 2 * 4 * 100 * 32 * 5


@pytest.mark.parametrize(
    ("name", "given", "at", "size"),
    [
        # A broadcast input counts at its own size.
        ("aten::mul", [([8, 1024], F32), ([1024], F32)], {}, 4 * (8192 + 1024 + 8192)),
        # A single number does not widen the result.
        ("aten::mul", [([8, 1024], BF16), ([], F64)], {}, 2 * 8192 + 8 + 2 * 8192),
        ("aten::mul_", [([8, 1024], BF16), ([], F64)], {}, 2 * 8192 + 8 + 2 * 8192),
        # Written into a tensor that was given.
        ("aten::mul", [([8], BF16), ([], F64), ([8], BF16)], {}, 16 + 8 + 16),
        ("aten::masked_fill", [([4, 4], F32), ([4, 4], "bool"), ([], F32)], {}, 64 + 16 + 4 + 64),
        ("aten::add", [([8], LONG), ([8], BF16)], {}, 64 + 16 + 16),
        ("aten::eq", [([8], LONG), ([8], LONG)], {}, 64 + 64 + 8),
        ("aten::gelu", [([8], BF16)], {"p1": ""}, 32),
        ("aten::gelu_backward", [([8], BF16), ([8], BF16)], {}, 48),
        ("aten::where", [([8], "bool"), ([8], F32), ([], F32)], {}, 8 + 32 + 4 + 32),
        # The gradient squared: the factors may be one tensor.
        ("aten::addcmul_", [([8], F32), ([8], F32), ([8], F32)], {}, 3 * 32),
        ("aten::addcmul_", [([8], F32), ([8], F32), ([1], F32)], {}, 3 * 32 + 4),
        ("aten::addcdiv_", [([8], F32), ([8], F32), ([8], F32)], {}, 4 * 32),
        ("aten::copy_", [([8], F32), ([8], BF16)], {"p2": "False"}, 48),
        ("aten::fill_", [([8], F32)], {"p1": "1."}, 32),
        ("aten::zero_", [([8], BF16)], {}, 16),
        ("aten::_to_copy", [([8], BF16)], {"p1": "6", "p6": ""}, 16 + 32),
        ("aten::to", [([8], F32)], {"p2": "15", "p5": ""}, 32 + 16),
        ("aten::to", [([8], F32)], {"p1": "15", "p4": ""}, 32 + 16),
        ("aten::sum", [([4096, 6144], BF16)], {"p1": "[0]", "p3": ""}, 2 * (4096 * 6144 + 6144)),
        ("aten::sum", [([16, 8], F32)], {"p1": "[-1]", "p3": ""}, 4 * (128 + 16)),
        ("aten::mean", [([16, 8], F32)], {"p1": "[]", "p3": ""}, 4 * 129),
        ("aten::sum", [([16, 8], F32)], {"p1": "6"}, 4 * 129),
        ("aten::max", [([16, 8], F32)], {}, 4 * 129),
        ("aten::linalg_vector_norm", [([16, 8], F32)], {"p1": "2", "p2": "[1]", "p4": ""}, 4 * 144),
        ("aten::_softmax", [([16, 8], BF16)], {"p1": "-1", "p2": "False"}, 512),
        ("aten::_log_softmax", [([16, 8], BF16)], {"p1": "1", "p2": "True"}, 256 + 512),
        ("aten::_log_softmax_backward_data", [([16, 8], F32), ([16, 8], F32)], {}, 3 * 512),
        ("aten::nll_loss_forward", [([16, 8], F32), ([16], LONG)], {}, 16 * 8 + 16 * 4 + 4),
        ("aten::nll_loss_backward", [([], F32), ([16, 8], F32), ([16], LONG)], {}, 4 + 128 + 64),
        ("aten::native_dropout", [([16, 8], BF16)], {"p1": "0.1"}, 256 + 256 + 128),
        # Rows that are looked up, at most the table; then they are written.
        ("aten::embedding", [([100, 8], BF16), ([4, 5], LONG)], {}, 160 + 20 * 16 + 20 * 16),
        ("aten::embedding", [([10, 8], BF16), ([4, 5], LONG)], {}, 160 + 10 * 16 + 20 * 16),
        ("aten::embedding_dense_backward", [([4, 5, 8], F32), ([4, 5], LONG)], {"p2": "100"},
         640 + 160 + 20 * 32),
        ("aten::_embedding_bag_forward_only", [([1000, 8], F32), ([64], LONG), ([16], LONG)], {},
         512 + 128 + 64 * 32 + 16 * 32),
        ("aten::index_select", [([100, 8], BF16), ([], "Scalar"), ([20], LONG)], {"p1": "0"},
         160 + 320 + 320),
        ("aten::gather", [([100, 8], BF16), ([], "Scalar"), ([20, 8], LONG)], {"p1": "0"},
         320 + 320),
        ("aten::scatter_add_",
         [([100, 8], F32), ([], "Scalar"), ([20, 8], LONG), ([20, 8], F32)], {},
         160 * 8 + 640 + 2 * 640),
        ("triton_poi_fused_add_3", [([8], BF16), ([8], F32), ([], F32)], {"p3": "8"}, 16 + 32 + 4),
        # Four by two places: of the table eight numbers are read.
        ("triton_per_fused_gather_1", [([1000, 8], BF16), ([8], F32)], {"p2": "4", "p3": "2"},
         16 + 32),
        ("triton_poi_fused_add_4", [([8], BF16), ([8], F32)], {}, 16 + 32),
        ("_C::silu_and_mul", [([16, 8], BF16), ([16, 16], BF16)], {}, 256 + 512),
    ],
)  # fmt: skip
def test_what_only_moves_data(
    name: str, given: list[tuple[list[int], str]], at: dict[str, str], size: int
) -> None:
    assert tensors(name, *given, **at) == Work(0, size, None)


def test_lists_of_tensors_have_no_types_in_the_record() -> None:
    """That they do no arithmetic is known; how much they move only where a type is."""
    adam = work("aten::_fused_adamw_", [[]] * 7, ["TensorList"] * 6 + ["Scalar"], [""] * 7)
    assert adam == Work(0, None, None)
    assert work("aten::cat", [[[4], [4]], []], ["TensorList", "Scalar"], ["", "0"]).flops == 0
    assert work("aten::_foreach_add_", [[], []], ["TensorList", "Scalar"], ["", "1"]).flops == 0
    split = work(
        "aten::split_with_sizes_copy", [[2, 6], [], [], [[2, 2], [2, 4]]],
        [BF16, "ScalarList", "Scalar", "TensorList"], ["", "[2, 4]", "1", ""],
    )  # fmt: skip
    assert split == Work(0, 2 * 12 * 2, None)
    typed = work("aten::_fused_adam_", [[[4]]] * 4, [[F32]] * 4, [""] * 4)
    assert typed == Work(0, 16 * (4 + 3), None)
    assert work("aten::cat", [[[4], [4]], []], [[F32, F32], "Scalar"], ["", "0"]).bytes == 64


@pytest.mark.parametrize(
    ("name", "dims", "types"),
    [
        ("my::op", [[4]], [F32]),
        ("aten::view", [[4]], [F32]),
        ("aten::mm", None, None),
        ("aten::mm", [[2, 3], [3, 4]], None),
        ("aten::mm", [[2, 3], [3, 4]], [F32]),
        ("aten::mm", [[2, 3], [4, 4]], [F32, F32]),
        ("aten::mm", [[2, -3], [-3, 4]], [F32, F32]),
        ("aten::mm", [[2, 3.0], [3, 4]], [F32, F32]),
        ("aten::mm", [[2, True], [1, 4]], [F32, F32]),
        ("aten::mm", ["[2, 3]", "[3, 4]"], [F32, F32]),
        ("aten::mm", [[2, 3], [[3, 4]]], [F32, F32]),
        ("aten::mm", [[[2, [3]]], [3, 4]], [F32, F32]),
        ("aten::mm", [2, 3], [F32, F32]),
        ("aten::mm", [[2, 3], [3, 4]], [7, 8]),
        ("aten::mm", {"a": 1}, "float"),
        ("aten::add", [[], []], ["", "Scalar"]),
        ("aten::mv", [[], []], [F32, F32]),
        ("aten::linear", [[], [4, 4]], [F32, F32]),
        ("triton_tem_fused_mm_0", [[4, 4], [4, 4]], [F32, F32]),
        ("triton_red_fused_mv_1", [[4, 4], [4]], [F32, F32]),
        ("aten::zeros", [[], []], ["ScalarList", "Scalar"]),
    ],
)
def test_what_is_unknown_or_malformed_is_never_0(name: str, dims: object, types: object) -> None:
    assert work(name, dims, types, ["", ""]) == UNKNOWN


def test_shapes_that_do_not_fit_an_op_without_arithmetic_leave_the_bytes_open() -> None:
    no_dims = tensors("aten::embedding_bag", ([], BF16), ([], LONG), ([], LONG))
    assert no_dims == Work(0, None, None)
    assert tensors("aten::add", ([3], F32), ([4], F32)) == Work(0, None, None)


def test_numbers_that_no_bigint_holds_are_not_known() -> None:
    big = 2**40
    found = tensors("aten::mm", ([big, big], F32), ([big, big], F32))
    assert found == Work(None, None, "fp32")
    assert tensors("aten::add", ([2**62, 4], F32), ([4], F32)) == Work(0, None, None)
    assert tensors("aten::add", ([2**63], F32), ([4], F32)) == UNKNOWN


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**64) | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)
SHAPES = st.lists(st.integers(0, 9), max_size=5)
TYPES = st.sampled_from([BF16, F32, LONG, "bool", "", "Scalar", "ScalarList", "TensorList", FP8])
TEXTS = st.sampled_from(["", "True", "False", "0", "1", "2", "[1, 1]", "[0]", "[true]", "6", "x"])
NAMES = st.sampled_from([*sorted({*MATH, *MOVES}), "triton_poi_fused_0", "aten::_foreach_mul_"])


@given(NAMES, VALUES, VALUES, VALUES)
def test_malformed_records_never_raise(
    name: str, dims: object, types: object, concrete: object
) -> None:
    assert isinstance(work(name, dims, types, concrete), Work)


@given(NAMES, st.lists(st.tuples(SHAPES | st.lists(SHAPES, max_size=2), TYPES, TEXTS), max_size=19))
def test_any_shapes_give_whole_numbers_or_nothing(
    name: str, arguments: list[tuple[list[Any], str, str]]
) -> None:
    dims, types, concrete = ([argument[i] for argument in arguments] for i in range(3))
    found = work(name, dims, types, concrete)
    assert found == work(name, dims, types, concrete)
    for value in (found.flops, found.bytes):
        assert value is None or (type(value) is int and 0 <= value < 2**63)
    assert found.math_dtype in {None, "bf16", "fp32", "fp8"}
    if found.math_dtype is not None:
        assert found.flops is not None


def _ops_of_kernels(path: Path) -> Iterator[dict[str, Any]]:
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    used = {e["args"].get("External id") for e in events if e.get("cat") == "kernel"}
    for event in events:
        if event.get("cat") == "cpu_op" and event.get("args", {}).get("External id") in used:
            yield event


@pytest.mark.slow
def test_no_recorded_op_is_faster_than_its_bytes_allow(root: Path) -> None:
    """Bytes are the least that an op moves: at 4.8 TB/s they take no longer than its kernels did.

    Tensors that fit the 60 MB of cache may be read faster.
    """
    folder = root / "examples" / "h200" / "recordings"
    checked = 0
    for path in sorted(folder.glob("*/job_*/kineto/*.json.gz")):
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        seconds: dict[int, float] = {}
        for event in events:
            if event.get("cat") == "kernel":
                op = event["args"].get("External id")
                seconds[op] = seconds.get(op, 0) + event["dur"] * 1e-6
        for event in events:
            recorded = event.get("args", {})
            if event.get("cat") != "cpu_op" or recorded.get("External id") not in seconds:
                continue
            dims, concrete = recorded.get("Input Dims"), recorded.get("Concrete Inputs")
            found = work(event["name"], dims, recorded.get("Input type"), concrete)
            if found.bytes is not None and found.bytes > 60_000_000:
                checked += 1
                assert found.bytes / 4.8e12 <= seconds[recorded["External id"]], event["name"]
            if found.flops:
                peak = {"bf16": 989.4e12, "fp32": 66.9e12}[str(found.math_dtype)]
                assert found.flops / peak <= seconds[recorded["External id"]], event["name"]
    assert checked > 1000


@pytest.mark.parametrize(
    ("job", "steps", "vectors"),
    [
        # Norms of two vectors each: 12 layers have two, and one follows.
        ("one-gpu/job_1001", 3, 25 * 2 * 2048),
        ("one-gpu/job_1002", 2, 17 * 2 * 1024),
        ("one-gpu/job_1003", 3, 17 * 2 * 1024),
        # Norms, biases of the four products of a layer, bias of the head.
        ("two-gpu/job_2002", 3, 8 * (4 + 3 + 1 + 4 + 1) * 1536 + 32000),
        ("two-gpu/job_2003", 3, 12 * (4 + 3 + 1 + 4 + 1) * 2048 + 32000),
    ],
)
def test_the_work_of_recorded_steps_is_the_models(
    root: Path, job: str, steps: int, vectors: int
) -> None:
    """FLOPs by shapes are those that the job logged for its model, but for what is known to differ.

    The log counts attention at three times its forward pass; the kernels go back at 2.5 times it,
    since they calculate the scores again. And it counts 6 FLOPs a token for each parameter, the
    vectors that no product has among them. Together 0.3 to 1.2 %.
    """
    folder = root / "examples" / "h200" / "recordings" / job
    trace = sorted((folder / "kineto").glob("*.json.gz"))[0]
    log = json.loads(sorted(folder.glob("steps_*.jsonl"))[0].read_text().splitlines()[0])
    forward = total = 0
    for op in _ops_of_kernels(trace):
        recorded = op["args"]
        dims, concrete = recorded.get("Input Dims"), recorded.get("Concrete Inputs")
        flops = work(op["name"], dims, recorded.get("Input type"), concrete).flops or 0
        total += flops
        forward += flops if "attention_forward" in op["name"] else 0
    again = forward // 2
    assert total - again == steps * (log["model_flops"] - 6 * log["tokens"] * vectors)
    assert total == pytest.approx(steps * log["model_flops"], rel=0.02)
