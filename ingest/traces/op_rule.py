"""What a rule of arithmetic says of an op."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ingest.traces.op_args import Args, Tensor


class Math(NamedTuple):
    """What an op calculates, a multiply and an add being two FLOPs, and what it writes.

    `operand` has the type that the arithmetic is done in. What an op reads are its inputs.
    """

    flops: int
    operand: Tensor
    out: tuple[Tensor, ...]


Rule = Callable[[Args], Math]
