"""The arguments of a framework op as Kineto records them: shapes, number formats, plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

#: Bytes of an element, by the name that a recorded type has.
SIZES = {
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "long int": 8, "long": 8,
    "long long": 8, "int": 4, "short int": 2, "short": 2, "signed char": 1, "unsigned char": 1,
    "char": 1, "bool": 1, "unsigned short": 2, "short unsigned int": 2, "unsigned int": 4,
    "unsigned long": 8, "long unsigned int": 8, "c10::qint8": 1, "c10::quint8": 1,
    "c10::qint32": 4, "c10::complex<float>": 8, "c10::complex<double>": 16,
    "c10::complex<c10::Half>": 4,
}  # fmt: skip
#: Number format that arithmetic on such elements is done in. Whether the matrix units round a
#: float to TF32 first is not known from shapes.
FORMATS = {
    "float": "fp32", "double": "fp64", "c10::Half": "fp16", "c10::BFloat16": "bf16",
    "signed char": "int8", "unsigned char": "int8", "c10::complex<float>": "fp32",
    "c10::complex<double>": "fp64", "c10::complex<c10::Half>": "fp16",
}  # fmt: skip
#: PyTorch's numbers of types, as concrete inputs show them.
TYPE_CODES = {
    "0": "unsigned char", "1": "signed char", "2": "short int", "3": "int", "4": "long int",
    "5": "c10::Half", "6": "float", "7": "double", "8": "c10::complex<c10::Half>",
    "9": "c10::complex<float>", "10": "c10::complex<double>", "11": "bool", "15": "c10::BFloat16",
    "23": "c10::Float8_e5m2", "24": "c10::Float8_e4m3fn", "25": "c10::Float8_e5m2fnuz",
    "26": "c10::Float8_e4m3fnuz",
}  # fmt: skip
_FLOAT8 = "c10::Float8_"
#: Recorded instead of a type where the argument is no tensor.
_PLAIN = frozenset({"", "Scalar", "ScalarList", "GenericList", "Tuple", "Device", "None"})
#: The largest number that a BIGINT holds.
MAX_LONG = 2**63 - 1


class Unclear(Exception):
    """The recorded arguments do not say what the op does."""


def size_of(dtype: str) -> int | None:
    """Bytes of an element, None where the type is not known."""
    return 1 if dtype.startswith(_FLOAT8) else SIZES.get(dtype)


def format_of(dtype: str) -> str | None:
    """Number format of arithmetic on a type, None where it is not known or has no peak."""
    return "fp8" if dtype.startswith(_FLOAT8) else FORMATS.get(dtype)


class Tensor(NamedTuple):
    """A tensor's shape and its type as recorded; "" where the record leaves the type out."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of all elements; Unclear where the type's size is not known."""
        size = size_of(self.dtype)
        if size is None:
            raise Unclear(self.dtype)
        return self.elements * size

    def like(self, shape: tuple[int, ...]) -> Tensor:
        """A tensor of the same type and another shape."""
        return Tensor(shape, self.dtype)


@dataclass(frozen=True)
class Args:
    """An op's arguments by position: a tensor, a list of tensors, or None for plain values."""

    items: tuple[Tensor | tuple[Tensor, ...] | None, ...]
    concrete: tuple[str, ...]

    def tensor(self, at: int) -> Tensor:
        """The tensor at a position; Unclear where none is."""
        found = self.optional(at)
        if found is None:
            raise Unclear(f"no tensor at {at}")
        return found

    def optional(self, at: int) -> Tensor | None:
        """The tensor at a position, None where none was given."""
        found = self.items[at] if at < len(self.items) else None
        return found if isinstance(found, Tensor) else None

    def tensors(self) -> Iterator[Tensor]:
        """All tensors, those in lists too."""
        for item in self.items:
            if isinstance(item, Tensor):
                yield item
            elif item is not None:
                yield from item

    def lists(self) -> Iterator[tuple[Tensor, ...]]:
        """All lists of tensors."""
        for item in self.items:
            if item is not None and not isinstance(item, Tensor):
                yield item

    def listed(self, at: int) -> tuple[Tensor, ...]:
        """The list of tensors at a position; Unclear where none is."""
        found = self.items[at] if at < len(self.items) else None
        if found is None or isinstance(found, Tensor):
            raise Unclear(f"no list of tensors at {at}")
        return found

    def text(self, at: int) -> str:
        """The concrete value at a position as recorded, "" where none is."""
        return self.concrete[at] if at < len(self.concrete) else ""

    def flag(self, at: int) -> bool:
        """A recorded truth value; Unclear where it was not recorded."""
        text = self.text(at)
        if text not in {"True", "False", "1", "0"}:
            raise Unclear(f"no truth value at {at}")
        return text in {"True", "1"}

    def numbers(self, at: int) -> tuple[int, ...]:
        """A recorded number or list of numbers; Unclear where it is neither."""
        try:
            value = json.loads(self.text(at))
        except (ValueError, RecursionError):
            raise Unclear(f"no numbers at {at}") from None
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            raise Unclear(f"no whole numbers at {at}")
        return tuple(values)

    def total(self) -> int:
        """Bytes of all tensors given, each once."""
        return sum(tensor.bytes for tensor in self.tensors())


def decode(dims: object, types: object, concrete: object) -> Args:
    """Args of the three recorded lists; Unclear where they are absent, malformed or at odds."""
    if not isinstance(dims, list) or not isinstance(types, list) or len(dims) != len(types):
        raise Unclear("shapes and types")
    texts = concrete if isinstance(concrete, list) else []
    return Args(
        tuple(_item(shape, dtype) for shape, dtype in zip(dims, types, strict=True)),
        tuple(text if isinstance(text, str) else "" for text in texts),
    )


def _item(shape: object, dtype: object) -> Tensor | tuple[Tensor, ...] | None:
    if not isinstance(shape, list):
        raise Unclear("a shape is no list")
    if isinstance(dtype, list) or any(isinstance(part, list) for part in shape):
        return _list(shape, dtype)
    if not isinstance(dtype, str):
        raise Unclear("a type is no text")
    if dtype == "TensorList":
        # The profiler leaves out the shapes of long lists.
        return None
    if dtype in _PLAIN and not shape:
        return None
    return Tensor(_shape(shape), dtype)


def _list(shapes: list[object], dtype: object) -> tuple[Tensor, ...]:
    types = dtype if isinstance(dtype, list) else [""] * len(shapes)
    if len(types) != len(shapes) or not all(isinstance(t, str) for t in types):
        raise Unclear("types of a list")
    return tuple(Tensor(_shape(s), str(t)) for s, t in zip(shapes, types, strict=True))


def _shape(shape: object) -> tuple[int, ...]:
    if not isinstance(shape, list):
        raise Unclear("a shape is no list")
    for size in shape:
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= MAX_LONG:
            raise Unclear("a dimension is no whole number")
    return tuple(shape)
