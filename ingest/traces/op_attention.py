"""FLOPs of attention, from the shapes of queries, keys and values."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ingest.traces.op_args import Args, Unclear
from ingest.traces.op_rule import Math, Rule


class _Attention(NamedTuple):
    """Where an attention op keeps what: positions of its arguments."""

    query: int
    causal: int
    #: Batch, heads, length, width; else batch, length, heads, width.
    heads_first: bool
    #: Tensors that say that sequences of several lengths are packed into one.
    packed: tuple[int, ...] = ()
    windows: tuple[int, ...] = ()
    #: The causal mask starts in the bottom right corner where the lengths differ.
    from_end: bool = False


def _attention(args: Args, *, at: _Attention, is_backward: bool) -> Math:
    q, k, v = (args.tensor(at.query + i) for i in range(3))
    if any(len(t.shape) != 4 for t in (q, k, v)) or k.shape[0] != q.shape[0]:
        raise Unclear("attention")
    if any(args.optional(i) is not None for i in at.packed):
        raise Unclear("packed sequences")
    if any(args.text(i) not in {"", "-1", "None"} for i in at.windows):
        raise Unclear("a window")
    length = 2 if at.heads_first else 1
    heads = q.shape[0] * q.shape[3 - length]
    pairs = _twice_pairs(q.shape[length], k.shape[length], _corner(args, at))
    qk, pv = q.shape[3], v.shape[3]
    if k.shape[3] != qk or v.shape[length] != k.shape[length]:
        raise Unclear("attention")
    if is_backward:
        # Scores again, then the gradients of the probabilities, values, queries and keys.
        return Math(heads * pairs * (3 * qk + 2 * pv), q, (q, k, v))
    return Math(heads * pairs * (qk + pv), q, (q.like((*q.shape[:3], pv)),))


def _corner(args: Args, at: _Attention) -> str:
    """ "" without a causal mask, else the corner that the mask starts in."""
    text = args.text(at.causal)
    if text == "2":
        return "end"
    return "" if not args.flag(at.causal) else ("end" if at.from_end else "start")


def _twice_pairs(queries: int, keys: int, corner: str) -> int:
    """Twice the pairs of query and key that meet; a causal mask hides half of a square."""
    if not corner:
        return 2 * queries * keys
    if corner == "end":
        return queries * (2 * keys - queries) if queries <= keys else keys * keys
    return queries * queries if queries <= keys else keys * (2 * queries - keys)


def _rules() -> dict[str, Rule]:
    start = {
        "aten::scaled_dot_product_attention": _Attention(0, 5, True),
        "aten::_scaled_dot_product_flash_attention": _Attention(0, 4, True, from_end=True),
        "aten::_scaled_dot_product_efficient_attention": _Attention(0, 6, True),
        "aten::_scaled_dot_product_cudnn_attention": _Attention(0, 6, True),
        "aten::_scaled_dot_product_fused_attention_overrideable": _Attention(0, 5, True),
        "aten::_cudnn_attention_forward": _Attention(0, 10, True, (4, 5)),
        "aten::_flash_attention_forward": _Attention(0, 8, False, (3, 4), (11, 12), True),
        "aten::_efficient_attention_forward": _Attention(0, 9, False, (4, 5), (13,)),
        "flash_attn::_flash_attn_forward": _Attention(0, 5, False, (), (6, 7), True),
    }
    back = {
        "aten::_scaled_dot_product_flash_attention_backward":
            _Attention(1, 11, True, (6, 7), (), True),
        "aten::_scaled_dot_product_efficient_attention_backward": _Attention(1, 11, True),
        "aten::_scaled_dot_product_cudnn_attention_backward": _Attention(1, 14, True, (9, 10)),
        "aten::_cudnn_attention_backward": _Attention(1, 14, True, (9, 10)),
        "aten::_flash_attention_backward": _Attention(1, 11, False, (6, 7), (15, 16), True),
        "aten::_efficient_attention_backward": _Attention(1, 14, False, (6, 7), (18,)),
        "flash_attn::_flash_attn_backward": _Attention(1, 11, False, (), (12, 13), True),
    }  # fmt: skip
    return {
        **{name: partial(_attention, at=at, is_backward=False) for name, at in start.items()},
        **{name: partial(_attention, at=at, is_backward=True) for name, at in back.items()},
    }


#: Rules of all attention ops, by the op's name.
ATTENTION: dict[str, Rule] = _rules()
