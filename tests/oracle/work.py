"""What the compute time of a trace was for, from the shapes in the raw JSON.

Only what the recorded jobs run: matrix products and causal attention. An op's FLOPs go to its
kernels by their time, and count for a step as far as that time lies inside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from tests.oracle.ladder import Span, shared
from tests.oracle.traces import Event, Trace, TracedStep

#: Dense peaks of an H200 by the type of the first matrix, FLOP/s.
PEAKS = {"c10::BFloat16": 989_400_000_000_000, "float": 66_900_000_000_000}
#: Place of the causal flag or of the mask's type, of the query, and FLOPs by those of the forward.
ATTENTION = {
    "aten::_cudnn_attention_forward": (10, 0, Fraction(1)),
    "aten::_cudnn_attention_backward": (14, 1, Fraction(5, 2)),
    "aten::_efficient_attention_forward": (9, 0, Fraction(1)),
    "aten::_efficient_attention_backward": (14, 1, Fraction(5, 2)),
}
MATRICES = {"aten::mm": 0, "aten::addmm": 1, "aten::bmm": 0}


def flops_of(op: Event) -> Fraction | None:
    """FLOPs of an op; None where it is no matrix product and no attention."""
    dims: list[Any] = op.args.get("Input Dims", [])
    if op.name in MATRICES:
        at = MATRICES[op.name]
        return Fraction(2 * prod(dims[at]) * int(dims[at + 1][-1]))
    if op.name in ATTENTION:
        flag, query, factor = ATTENTION[op.name]
        q, k = dims[query], dims[query + 1]
        # The efficient kernels take batch, length, heads, width; cuDNN's batch, heads, length.
        length = 1 if "efficient" in op.name else 2
        pairs = Fraction(q[length] * k[length])
        if op.args["Concrete Inputs"][flag] in ("True", "1"):
            pairs /= 2
        return 4 * factor * pairs * int(q[0] * q[3 - length] * q[3])
    return None


@dataclass(frozen=True)
class Work:
    """Sums over the traced steps, clipped to the logged ones; times are exclusive, ns."""

    compute_ns: Fraction
    #: Of kernels whose op has FLOPs.
    math_ns: Fraction
    #: Of kernels that no op or module is known for.
    no_op_ns: Fraction
    flops: Fraction
    #: The FLOPs at the dense peak of their type.
    peak_ns: Fraction


def work_of(trace: Trace, steps: Sequence[TracedStep]) -> Work:
    """How much of the compute time is math, and how long that takes at peak."""
    ops = {
        e.args["External id"]: e
        for e in trace.events if e.category == "cpu_op" and "External id" in e.args
    }  # fmt: skip
    compute = [e for e in trace.events if e.category == "kernel" and e.kind == "compute"]
    by_op: dict[int, int] = defaultdict(int)
    for e in compute:
        by_op[e.args.get("External id", -1)] += e.span[1] - e.span[0]
    windows = [
        (max(s.span[0], s.step.span[0]), min(s.span[1], s.step.span[1])) for s in steps
    ]  # fmt: skip
    total = math = unknown = flops = peak = Fraction(0)
    for e, own in zip(compute, exclusive([e.span for e in compute], windows), strict=True):
        total += own
        op = ops.get(e.args.get("External id"))
        if op is None:
            unknown += own
            continue
        done = flops_of(op)
        if done is not None:
            math += own
            inside = sum(shared(e.span, window) for window in windows)
            part = done * inside / by_op[e.args["External id"]]
            flops += part
            peak += part / PEAKS[first_type(op)] * 10**9
    return Work(total, math, unknown, flops, peak)


def first_type(op: Event) -> str:
    """Number format of an op's first tensor."""
    types: list[str] = op.args["Input type"]
    return next(t for t in types if t in PEAKS)


def exclusive(spans: Sequence[Span], windows: Sequence[Span]) -> list[Fraction]:
    """Time of each span inside the windows; an instant that k of them share counts 1/k."""
    found = [Fraction(0)] * len(spans)
    edges: list[tuple[int, int, int]] = []
    for i, (start, end) in enumerate(spans):
        if end > start:
            edges += [(start, 1, i), (end, 0, i)]
    on: set[int] = set()
    before = 0
    for at, begins, i in sorted(edges):
        if on and at > before:
            inside = sum(shared((before, at), window) for window in windows)
            for j in on:
                found[j] += Fraction(inside, len(on))
        if begins:
            on.add(i)
        else:
            on.discard(i)
        before = at
    return found
