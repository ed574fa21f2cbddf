"""What one framework op has to do, from the shapes of its inputs: FLOPs, bytes, number format."""

from __future__ import annotations

from typing import NamedTuple

from ingest.traces.op_args import MAX_LONG, Args, Tensor, Unclear, decode, format_of
from ingest.traces.op_math import MATH, WRITTEN
from ingest.traces.op_moves import rule_of


class Work(NamedTuple):
    """FLOPs, least bytes to move, and the number format of the FLOPs; None where not known.

    FLOPs of 0 say that an op is known to do no matrix arithmetic.
    """

    flops: int | None
    bytes: int | None
    math_dtype: str | None


UNKNOWN = Work(None, None, None)
#: A shape with fewer dimensions than a rule takes does not fit the op either.
_MISFITS = (Unclear, IndexError)


def work(name: str, dims: object, types: object, concrete: object) -> Work:
    """Return what the op `name` has to do, from its recorded Input Dims, types and values.

    All three are None for an op that no rule knows, and where shapes are absent, malformed or do
    not fit the op. Numbers that do not fit a BIGINT are None. Never raises.
    """
    rule, moves = MATH.get(name), rule_of(name)
    if rule is None and moves is None:
        return UNKNOWN
    try:
        args = decode(dims, types, concrete)
        if rule is not None:
            found = rule(args)
            moved = _moved(args, WRITTEN.get(name, ()), found.out)
            return Work(_long(found.flops), moved, format_of(found.operand.dtype))
    except _MISFITS:
        return UNKNOWN
    has_list = isinstance(types, list) and "TensorList" in types
    if moves is None or not (has_list or any(True for _ in args.tensors())):
        return UNKNOWN
    try:
        return Work(0, _long(moves(args)), None)
    except _MISFITS:
        # That it does no matrix arithmetic is known all the same.
        return Work(0, None, None)


def _moved(args: Args, written: tuple[int, ...], out: tuple[Tensor, ...]) -> int | None:
    """Bytes of what is read and of what is written; None where a type's size is not known."""
    given = [tensor for at in written if (tensor := args.optional(at)) is not None]
    try:
        read = args.total() - sum(tensor.bytes for tensor in given)
        return _long(read + sum(tensor.bytes for tensor in out))
    except Unclear:
        return None


def _long(value: int) -> int | None:
    return value if 0 <= value <= MAX_LONG else None
