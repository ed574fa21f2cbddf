"""Bytes that ops without matrix arithmetic move at least: inputs read and outputs written, once.

What a cache could save is not counted, and a broadcast input counts at its own size. Small
by-products (means, random states) are left out where they are less than a hundredth.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from ingest.traces.op_args import TYPE_CODES, Args, Tensor, Unclear, size_of
from ingest.traces.op_math import broadcast

Rule = Callable[[Args], int]

_BOOL = "bool"
#: Ops of one, two and three tensors whose result has the shape that these broadcast to.
_ELEMENTWISE: dict[int, str] = {
    1: "abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos"
    " atan sinh cosh tanh sigmoid relu relu6 gelu silu mish elu selu celu leaky_relu hardtanh"
    " hardswish hardsigmoid softplus log_sigmoid_forward erf erfc erfinv floor ceil round trunc"
    " frac sign square clamp_min clamp_max bitwise_not nan_to_num clone cumsum cumprod flip roll"
    " triu tril threshold positive contiguous",
    2: "add sub rsub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin"
    " atan2 bitwise_and bitwise_or bitwise_xor gelu_backward sigmoid_backward tanh_backward"
    " silu_backward threshold_backward elu_backward leaky_relu_backward hardtanh_backward"
    " softplus_backward hardswish_backward hardsigmoid_backward masked_fill xlogy hypot copysign"
    " native_dropout_backward logit_backward mish_backward",
    3: "addcdiv lerp clamp",
}
_COMPARISONS = "eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf"
_REDUCTIONS = (
    "sum mean prod amax amin max min argmax argmin any all std var logsumexp nansum"
    " count_nonzero std_mean var_mean"
)
#: Normalisations and softmaxes: all tensors are read, and one like the first is written.
_LIKE_FIRST = (
    "layer_norm native_layer_norm rms_norm _fused_rms_norm group_norm native_group_norm batch_norm"
    " native_batch_norm cudnn_batch_norm miopen_batch_norm _native_batch_norm_legit"
    " _batch_norm_with_update instance_norm softmax _softmax log_softmax _log_softmax"
    " _softmax_backward_data _log_softmax_backward_data native_layer_norm_backward"
    " _fused_rms_norm_backward native_group_norm_backward native_batch_norm_backward"
    " cudnn_batch_norm_backward miopen_batch_norm_backward batch_norm_backward"
)
#: Only written: what the tensor held before does not matter.
_FILLS = (
    "fill_ zero_ normal_ uniform_ random_ bernoulli_ exponential_ ones_like zeros_like full_like"
    " rand_like randn_like"
)
_TRITON = re.compile(r"triton_(?:poi|per|red|for|split_scan)_")
#: A small matrix product may be fused into a kernel: then its FLOPs are not known from its inputs.
_TRITON_MATH = re.compile(r"_(?:mm|bmm|addmm|baddbmm|mv|dot|matmul|linear|convolution)(?:_|$)")
_FOREACH = re.compile(r"aten::_foreach_\w+")
_FUSED = re.compile(r"aten::_fused_(?:adamw?|sgd|adagrad)_?")


def _elementwise(args: Args, *, arity: int, in_place: bool, dtype: str = "") -> int:
    read = list(args.tensors())
    if not read:
        raise Unclear("no tensor")
    if in_place:
        return sum(t.bytes for t in read) + read[0].bytes
    shape = broadcast(*(t.shape for t in read[:arity]))
    if len(read) == arity + 1 and read[-1].shape == shape:
        # The op writes into a tensor that it was given.
        return sum(t.bytes for t in read)
    return sum(t.bytes for t in read) + Tensor(shape, dtype or _widest(read[:arity])).bytes


def _widest(tensors: list[Tensor]) -> str:
    """The type that a result has: a single number does not widen a tensor."""
    ranked = [t for t in tensors if t.shape] or tensors
    real = [t for t in ranked if _is_real(t.dtype)] or ranked
    return max(real, key=lambda t: size_of(t.dtype) or 0).dtype


def _is_real(dtype: str) -> bool:
    return dtype in {"float", "double"} or dtype.startswith("c10::")


def _addcmul(args: Args) -> int:
    """The factors may be one tensor: Adam multiplies the gradient by itself."""
    x, first, second = args.tensor(0), args.tensor(1), args.tensor(2)
    out = x.like(broadcast(x.shape, first.shape, second.shape))
    factors = first.bytes if first == second else first.bytes + second.bytes
    return x.bytes + factors + out.bytes


def _where(args: Args) -> int:
    condition, yes, no = args.tensor(0), args.tensor(1), args.tensor(2)
    out = Tensor(broadcast(condition.shape, yes.shape, no.shape), _widest([yes, no]))
    return condition.bytes + yes.bytes + no.bytes + out.bytes


def _copy(args: Args) -> int:
    target, source = args.tensor(0), args.tensor(1)
    return target.bytes + source.bytes


def _cast(args: Args) -> int:
    """A copy in another type, where the type is recorded; else in its own."""
    x = args.tensor(0)
    # Of the forms of `to`, one of six arguments has the device before the type.
    at = 2 if len(args.items) == 6 else 1
    return x.bytes + Tensor(x.shape, TYPE_CODES.get(args.text(at), x.dtype)).bytes


def _fill(args: Args) -> int:
    return args.tensor(0).bytes


def _reduction(args: Args, *, at: int = 1) -> int:
    """The result has one element for each place in the dimensions that stay."""
    x = args.tensor(0)
    if args.optional(1) is not None:
        raise Unclear("two tensors")
    # Forms of one or two arguments reduce everything, and so does an empty list.
    if len(args.items) < at + 2 or args.text(at) in {"", "[]"}:
        return x.bytes + x.like(()).bytes
    kept = list(x.shape)
    for dim in args.numbers(at):
        if not -len(kept) <= dim < len(kept):
            raise Unclear("a dimension")
        kept[dim] = 1
    return x.bytes + x.like(tuple(kept)).bytes


def _like_first(args: Args) -> int:
    return args.total() + args.tensor(0).bytes


def _softmax_to(args: Args) -> int:
    """A softmax of half floats may be asked for in floats."""
    x = args.tensor(0)
    wide = args.text(2) in {"True", "6"}
    return x.bytes + (x.elements * 4 if wide else x.bytes)


def _dropout(args: Args) -> int:
    x = args.tensor(0)
    return 2 * x.bytes + x.elements


def _nll_forward(args: Args) -> int:
    """One score of each row is read."""
    scores, target = args.tensor(0), args.tensor(1)
    picked = scores.like(target.shape)
    return target.bytes + picked.bytes + scores.like(()).bytes


def _nll_backward(args: Args) -> int:
    """One place of each row is written; an op of its own has filled the gradient with zeros."""
    scores, target = args.tensor(1), args.tensor(2)
    return args.tensor(0).bytes + target.bytes + scores.like(target.shape).bytes


def _cross_entropy(args: Args) -> int:
    return args.tensor(0).bytes + args.tensor(1).bytes + args.tensor(0).like(()).bytes


def _loss(args: Args) -> int:
    x, y = args.tensor(0), args.tensor(1)
    return x.bytes + y.bytes + x.like(()).bytes


def _rows_read(table: Tensor, picks: Tensor) -> int:
    """Bytes of the rows that are looked up, at most the whole table."""
    if not table.shape:
        raise Unclear("a table")
    width = Tensor(table.shape[1:], table.dtype).bytes
    return min(picks.elements, table.shape[0]) * width


def _embedding(args: Args) -> int:
    table, picks = args.tensor(0), args.tensor(1)
    out = table.like((*picks.shape, *table.shape[1:]))
    return picks.bytes + _rows_read(table, picks) + out.bytes


def _embedding_backward(args: Args) -> int:
    grad, picks = args.tensor(0), args.tensor(1)
    rows = args.numbers(2)
    if len(rows) != 1 or not grad.shape or rows[0] < 0:
        raise Unclear("rows of a table")
    # Only rows that were looked up: an op of its own has filled the table with zeros.
    table = grad.like((rows[0], grad.shape[-1]))
    return grad.bytes + picks.bytes + _rows_read(table, picks)


def _embedding_bag(args: Args) -> int:
    table, picks, offsets = args.tensor(0), args.tensor(1), args.tensor(2)
    bags = offsets.elements if len(picks.shape) == 1 else picks.shape[0]
    out = table.like((bags, *table.shape[1:]))
    return picks.bytes + offsets.bytes + _rows_read(table, picks) + out.bytes


def _index_select(args: Args) -> int:
    x, index = args.tensor(0), args.tensor(2)
    (dim,) = args.numbers(1)[:1] or (0,)
    if not x.shape or not -len(x.shape) <= dim < len(x.shape):
        raise Unclear("a dimension")
    rest = x.elements // x.shape[dim] if x.shape[dim] else 0
    picked, whole = rest * index.elements, x.elements
    size = x.like(()).bytes
    return index.bytes + (min(picked, whole) + picked) * size


def _gather(args: Args) -> int:
    """What is picked, read and written; the index is often one number spread over a row."""
    x, index = args.tensor(0), args.tensor(2)
    return 2 * x.like(index.shape).bytes


def _scatter(args: Args, *, adds: bool) -> int:
    """The places named are written, and read first where something is added to them."""
    x, index = args.tensor(0), args.tensor(2)
    source = args.optional(3)
    written = x.like(index.shape if source is None else source.shape)
    given = source.bytes if source is not None else 0
    return index.bytes + given + written.bytes * (2 if adds else 1)


def _list_and_tensor(args: Args) -> int:
    """A tensor is cut into a list, or a list put into a tensor, of one type."""
    types = {t.dtype for t in args.tensors() if t.dtype}
    parts = [part for parts in args.lists() for part in parts]
    if len(types) != 1 or not parts:
        raise Unclear("types of a list")
    return 2 * sum(Tensor(part.shape, min(types)).bytes for part in parts)


def _cat(args: Args) -> int:
    parts = args.listed(0)
    return 2 * sum(part.bytes for part in parts)


def _foreach(args: Args) -> int:
    """Lists are read; one like the first is written."""
    return args.total() + sum(tensor.bytes for tensor in args.listed(0))


def _fused(args: Args) -> int:
    """An optimizer reads parameters, gradients and states, and writes all but the gradients."""
    sizes = [sum(part.bytes for part in parts) for parts in args.lists()]
    if len(sizes) < 2:
        raise Unclear("no lists")
    return 2 * sum(sizes) - sizes[1]


def _add_norm(args: Args) -> int:
    """Input and residual are read and written in place."""
    return args.total() + args.tensor(0).bytes + args.tensor(1).bytes


def _triton(args: Args) -> int:
    """Each argument once, but no more of it than the kernel has places to work on.

    The plain numbers are the sizes of its loops; a kernel that looks rows up reads a part only.
    """
    places = 1
    for at, item in enumerate(args.items):
        text = args.text(at)
        if item is None and text.isascii() and text.isdigit() and len(text) < 20:
            places *= max(int(text), 1)
    has_sizes = any(args.text(at) for at, item in enumerate(args.items) if item is None)
    return sum(
        min(tensor.elements, places) * tensor.like(()).bytes if has_sizes else tensor.bytes
        for tensor in args.tensors()
    )


def _unknown(args: Args) -> int:
    """What the op moves depends on what the record leaves out."""
    raise Unclear("types of lists")


def _named(names: str, rule: Rule) -> dict[str, Rule]:
    return {f"aten::{name}": rule for name in names.split()}


def _elementwise_rules() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for arity, names in _ELEMENTWISE.items():
        for name in names.split():
            found[f"aten::{name}"] = partial(_elementwise, arity=arity, in_place=False)
            found[f"aten::{name}_"] = partial(_elementwise, arity=arity, in_place=True)
    for name in _COMPARISONS.split():
        found[f"aten::{name}"] = partial(_elementwise, arity=2, in_place=False, dtype=_BOOL)
    return found


MOVES: dict[str, Rule] = {
    **_elementwise_rules(),
    **_named(_REDUCTIONS, _reduction),
    **_named("norm linalg_vector_norm", partial(_reduction, at=2)),
    **_named(_LIKE_FIRST, _like_first),
    **_named("softmax _softmax log_softmax _log_softmax", _softmax_to),
    **_named(_FILLS, _fill),
    **_named("to _to_copy", _cast),
    **_named("where", _where),
    **_named("addcmul addcmul_", _addcmul),
    **_named("copy_ _copy_from", _copy),
    **_named("native_dropout _fused_dropout", _dropout),
    **_named("nll_loss nll_loss_forward nll_loss_nd", _nll_forward),
    **_named("nll_loss_backward", _nll_backward),
    **_named("cross_entropy_loss", _cross_entropy),
    **_named("mse_loss l1_loss smooth_l1_loss binary_cross_entropy"
             " binary_cross_entropy_with_logits", _loss),
    **_named("embedding", _embedding),
    **_named("embedding_dense_backward embedding_backward", _embedding_backward),
    **_named("embedding_bag _embedding_bag _embedding_bag_forward_only", _embedding_bag),
    **_named("index_select", _index_select),
    **_named("gather", _gather),
    **_named("scatter scatter_", partial(_scatter, adds=False)),
    **_named("scatter_add scatter_add_ index_add index_add_ scatter_reduce_",
             partial(_scatter, adds=True)),
    **_named("cat stack", _cat),
    "aten::split_with_sizes_copy": _list_and_tensor,
    "fsdp::split_with_sizes_copy": _list_and_tensor,
    "fsdp::all_gather_copy_in": _list_and_tensor,
    **_named("_chunk_cat index index_put_ _index_put_impl_ masked_select", _unknown),
    "fsdp::chunk_cat": _unknown,
    # These get the tensors that they write among their inputs.
    **_named("_foreach_copy_ _foreach_zero_", Args.total),
    "_C::rms_norm": Args.total,
    "_C::silu_and_mul": Args.total,
    "_C::gelu_and_mul": Args.total,
    "_C::fused_add_rms_norm": _add_norm,
}  # fmt: skip


def rule_of(name: str) -> Rule | None:
    """The rule for an op that only moves data, None where the op is not known to be one."""
    found = MOVES.get(name)
    if found is not None:
        return found
    if _TRITON.match(name):
        return None if _TRITON_MATH.search(name) else _triton
    if _FOREACH.fullmatch(name):
        return _foreach
    if _FUSED.fullmatch(name):
        return _fused
    return None
