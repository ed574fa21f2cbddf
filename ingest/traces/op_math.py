"""FLOPs of matrix products and convolutions, from the shapes of their inputs."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import NamedTuple

from ingest.traces.op_args import TYPE_CODES, Args, Tensor, Unclear
from ingest.traces.op_attention import ATTENTION
from ingest.traces.op_rule import Math, Rule


def _product(args: Args, a: Tensor, b: Tensor, out: tuple[int, ...], dtype_at: int = -1) -> Math:
    """A product whose last dimension of `a` is summed over."""
    summed = a.shape[-1] if a.shape else 1
    dtype = TYPE_CODES.get(args.text(dtype_at), a.dtype) if dtype_at >= 0 else a.dtype
    # A complex multiply and add are eight real FLOPs.
    each = 8 if "complex" in a.dtype else 2
    return Math(each * prod(out) * summed, a, (Tensor(out, dtype),))


def _mm(args: Args, at: int = 0, dtype_at: int = -1) -> Math:
    a, b = args.tensor(at), args.tensor(at + 1)
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        raise Unclear("mm")
    return _product(args, a, b, (a.shape[0], b.shape[1]), dtype_at)


def _int_mm(args: Args) -> Math:
    found = _mm(args)
    return found._replace(out=(Tensor(found.out[0].shape, "int"),))


def _bmm(args: Args, at: int = 0) -> Math:
    a, b = args.tensor(at), args.tensor(at + 1)
    if len(a.shape) != 3 or len(b.shape) != 3 or a.shape[::2] != (b.shape[0], b.shape[1]):
        raise Unclear("bmm")
    return _product(args, a, b, (*a.shape[:2], b.shape[2]))


def _matmul(args: Args) -> Math:
    """Broadcast batches; a vector on the left is a row, on the right a column."""
    a, b = args.tensor(0), args.tensor(1)
    if not a.shape or not b.shape:
        raise Unclear("matmul")
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if left[-1] != right[-2]:
        raise Unclear("matmul")
    out = (*broadcast(left[:-2], right[:-2]), left[-2], right[-1])
    return _product(args, a, b, out)


def _linear(args: Args) -> Math:
    x, weight = args.tensor(0), args.tensor(1)
    if not x.shape or not 1 <= len(weight.shape) <= 2 or x.shape[-1] != weight.shape[-1]:
        raise Unclear("linear")
    return _product(args, x, weight, (*x.shape[:-1], *weight.shape[:-1]))


def _mv(args: Args, at: int = 0) -> Math:
    a, v = args.tensor(at), args.tensor(at + 1)
    if len(a.shape) != 2 or v.shape != a.shape[1:]:
        raise Unclear("mv")
    return _product(args, a, v, a.shape[:1])


def _dot(args: Args) -> Math:
    a, b = args.tensor(0), args.tensor(1)
    if len(a.shape) != 1 or a.shape != b.shape:
        raise Unclear("dot")
    return _product(args, a, b, ())


def _grouped(args: Args, offsets_at: int, dtype_at: int) -> Math:
    """Groups of rows, of columns or of the summed dimension; together they are the whole of it."""
    a, b = args.tensor(0), args.tensor(1)
    rank = len(a.shape), len(b.shape)
    if rank == (2, 3) and a.shape[1] == b.shape[1]:
        out: tuple[int, ...] = (a.shape[0], b.shape[2])
    elif rank == (3, 2) and a.shape[2] == b.shape[0]:
        out = (a.shape[1], b.shape[1])
    elif rank == (3, 3) and a.shape[::2] == b.shape[:2]:
        out = (*a.shape[:2], b.shape[2])
    elif rank == (2, 2) and a.shape[1] == b.shape[0]:
        whole = _product(args, a, b, (a.shape[0], b.shape[1]), dtype_at)
        groups = args.tensor(offsets_at).elements
        return whole._replace(out=(whole.out[0].like((groups, *whole.out[0].shape)),))
    else:
        raise Unclear("grouped mm")
    return _product(args, a, b, out, dtype_at)


def _einsum(args: Args) -> Math:
    """Two operands in plain letters: each pair of elements that meet is a multiply and an add."""
    equation = args.text(0).replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    names = inputs.split(",")
    operands = args.listed(1)
    if not arrow or len(names) != 2 or len(operands) != 2:
        raise Unclear("einsum")
    sizes: dict[str, int] = {}
    for letters, tensor in zip(names, operands, strict=True):
        if not letters.isalpha() or len(set(letters)) != len(letters):
            raise Unclear("einsum")
        if len(letters) != len(tensor.shape):
            raise Unclear("einsum")
        for letter, size in zip(letters, tensor.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise Unclear("einsum")
    # What is summed must stand in both, or it is summed before it is multiplied.
    summed = set(sizes) - set(result)
    if not set(result) <= set(sizes) or not summed or not summed <= set(names[0]) & set(names[1]):
        raise Unclear("einsum")
    out = operands[0].like(tuple(sizes[letter] for letter in result))
    return Math(2 * prod(sizes.values()), operands[0], (out,))


class _Conv(NamedTuple):
    """Positions of a convolution's arguments; -1 where it has none."""

    stride: int
    padding: int
    dilation: int
    groups: int = -1
    transposed: int = -1
    output_padding: int = -1
    is_transposed: bool = False


def _conv(args: Args, *, at: _Conv) -> Math:
    x, weight = args.tensor(0), args.tensor(1)
    rank = len(weight.shape) - 2
    if rank < 1 or len(x.shape) not in {rank + 1, rank + 2}:
        raise Unclear("convolution")
    transposed = args.flag(at.transposed) if at.transposed >= 0 else at.is_transposed
    space = x.shape[-rank:]
    batch = x.shape[:-rank][:-1]
    stride, dilation = _each(args, at.stride, rank, 1), _each(args, at.dilation, rank, 1)
    kernel = weight.shape[2:]
    if args.text(at.padding) in {"same", "valid"}:
        same = args.text(at.padding) == "same"
        out = tuple(
            -(-n // s) if same else (n - d * (k - 1) - 1) // s + 1
            for n, k, s, d in zip(space, kernel, stride, dilation, strict=True)
        )
    else:
        padding = _each(args, at.padding, rank, 0)
        if transposed:
            extra = _each(args, at.output_padding, rank, 0)
            out = tuple(
                (n - 1) * s - 2 * p + d * (k - 1) + e + 1
                for n, k, s, p, d, e in zip(
                    space, kernel, stride, padding, dilation, extra, strict=True
                )
            )
        else:
            out = tuple(
                (n + 2 * p - d * (k - 1) - 1) // s + 1
                for n, k, s, p, d in zip(space, kernel, stride, padding, dilation, strict=True)
            )
    if any(n < 0 for n in out):
        raise Unclear("convolution")
    # Each weight meets each place of the output, or of the input where it is transposed.
    places = prod(batch) * prod(space if transposed else out)
    groups = _each(args, at.groups, 1, 1)[0]
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    return Math(2 * places * weight.elements, x, (x.like((*batch, channels, *out)),))


def _conv_backward(args: Args) -> Math:
    """One product each for the gradients of the input and of the weight, as far as asked for."""
    grad, x, weight = args.tensor(0), args.tensor(1), args.tensor(2)
    rank = len(weight.shape) - 2
    if rank < 1 or len(grad.shape) <= rank + 1 or len(x.shape) <= rank + 1:
        raise Unclear("convolution")
    over = x if args.flag(7) else grad
    asked = args.text(10).strip("[]").replace(" ", "").split(",")
    if len(asked) != 3 or not set(asked) <= {"True", "False", "1", "0"}:
        raise Unclear("output_mask")
    wanted = [text in {"True", "1"} for text in asked]
    once = 2 * over.shape[0] * prod(over.shape[-rank:]) * weight.elements
    out = [t for t, is_asked in zip((x, weight), wanted, strict=False) if is_asked]
    return Math(once * len(out), x, tuple(out))


def _each(args: Args, at: int, rank: int, absent: int) -> tuple[int, ...]:
    """One number for each dimension; one number alone is for all."""
    if at < 0 or not args.text(at):
        return (absent,) * rank
    found = args.numbers(at)
    if len(found) == 1:
        found *= rank
    if len(found) != rank or any(n < (1 if absent else 0) for n in found):
        raise Unclear("numbers of a convolution")
    return found


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to; Unclear where they do not fit."""
    rank = max((len(shape) for shape in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, start=rank - len(shape)):
            if size != 1 and out[at] not in {1, size}:
                raise Unclear("shapes do not broadcast")
            out[at] = size if size != 1 else out[at]
    return tuple(out)


def _convolutions() -> dict[str, Rule]:
    plain, library = _Conv(3, 4, 5), _Conv(3, 2, 4)
    found = {
        "aten::convolution": _Conv(3, 4, 5, 8, transposed=6, output_padding=7),
        "aten::_convolution": _Conv(3, 4, 5, 8, transposed=6, output_padding=7),
        "aten::cudnn_convolution": library,
        "aten::miopen_convolution": _Conv(4, 3, 5),
        "aten::miopen_depthwise_convolution": _Conv(4, 3, 5),
        "aten::mkldnn_convolution": _Conv(4, 3, 5),
        "aten::cudnn_convolution_relu": plain,
        "aten::cudnn_convolution_transpose":
            _Conv(4, 2, 5, 6, output_padding=3, is_transposed=True),
        "aten::thnn_conv2d": _Conv(4, 5, -1),
        "aten::_slow_conv2d_forward": _Conv(4, 5, -1),
        "aten::_conv_depthwise2d": _Conv(4, 5, 6),
    }  # fmt: skip
    for rank in "123":
        found[f"aten::conv{rank}d"] = plain
        found[f"aten::conv_transpose{rank}d"] = _Conv(
            3, 4, 7, 6, output_padding=5, is_transposed=True
        )
    return {name: partial(_conv, at=at) for name, at in found.items()}


#: Rules of all ops that do arithmetic on matrices, by the op's name.
MATH: dict[str, Rule] = {
    "aten::mm": partial(_mm, dtype_at=2),
    "aten::addmm": partial(_mm, at=1),
    "aten::_addmm_activation": partial(_mm, at=1),
    "aten::_scaled_mm": partial(_mm, dtype_at=6),
    "aten::_int_mm": _int_mm,
    "aten::bmm": _bmm,
    "aten::baddbmm": partial(_bmm, at=1),
    "aten::matmul": _matmul,
    "aten::linear": _linear,
    "vllm::rocm_unquantized_gemm": _linear,
    "aten::mv": _mv,
    "aten::addmv": partial(_mv, at=1),
    "aten::dot": _dot,
    "aten::vdot": _dot,
    "aten::einsum": _einsum,
    "aten::_grouped_mm": partial(_grouped, offsets_at=2, dtype_at=4),
    "aten::_scaled_grouped_mm": partial(_grouped, offsets_at=4, dtype_at=7),
    "aten::convolution_backward": _conv_backward,
    **ATTENTION,
    **_convolutions(),
}
#: Where tensors that an op writes into stand among its inputs: they are not read.
WRITTEN: dict[str, tuple[int, ...]] = {
    "aten::mm": (2,),
    "aten::addmm": (5,),
    "aten::_addmm_activation": (6,),
    "aten::_scaled_mm": (8,),
    "aten::_int_mm": (2,),
    "aten::bmm": (2,),
    "aten::baddbmm": (5,),
    "aten::matmul": (2,),
    "aten::mv": (2,),
    "aten::addmv": (5,),
    "aten::dot": (2,),
    "aten::vdot": (2,),
    "flash_attn::_flash_attn_backward": (6, 7, 8),
}
