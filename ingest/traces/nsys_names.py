"""What ids and names in an Nsight Systems export say: processes, threads, ops, steps, modules."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

_MASK = 0xFFFFFF
#: Numbers of a process are below this, so that number and process fit one BIGINT.
_NUMBERS = 2**32
#: Calls of the CUDA API: the version of the function, and how it takes the default stream.
_VERSION = re.compile(r"(?:_pt(?:ds|sz))?(?:_v[0-9]+)?\Z")
_OP_END = re.compile(
    r"(?:, seq = (?P<seq>[0-9]{1,18}))?(?:, op_id = (?P<op>[0-9]{1,18}))?"
    r"(?:, sizes = (?P<sizes>\[[^()]*\]))?(?:, input_op_ids = .*)?\Z",
    re.DOTALL,
)
STEP = (
    r"(?i:profilerstep|(?:(?:train|training|global|optimizer)[ _-]?)?(?:step|iteration|iter))"
    r"\s*[#:=_ -]?\s*(?P<number>[0-9]{1,18})"
)
MODULE = r"nn\.Module: (?P<name>.+)"


class Op(NamedTuple):
    """A framework op as PyTorch's emit_nvtx writes it."""

    name: str
    sequence_number: int | None
    dims: str | None


def process(global_id: int) -> int:
    """The process of a globalPid or globalTid."""
    return global_id >> 24 & _MASK


def thread(global_id: int) -> int:
    """The thread of a globalTid."""
    return global_id & _MASK


class Processes:
    """Numbers of processes made one of the file: the processes of an export count each for itself.

    A number of the first process stays as it is; one of the process k is k * 2**32 higher.
    """

    def __init__(self) -> None:
        self._place: dict[int, int] = {}

    def unique(self, global_id: object, number: object) -> int | None:
        """The file's number for a process's; None where either is unknown.

        Ids of machines and hardware count too: a process is one of its machine.
        """
        if type(global_id) is not int or type(number) is not int or not 0 <= number < _NUMBERS:
            return None
        return self._place.setdefault(global_id >> 24, len(self._place)) * _NUMBERS + number


@lru_cache(maxsize=4096)
def function(name: str) -> str:
    """The function that a call's name says: cudaLaunchKernel of cudaLaunchKernel_v7000."""
    return _VERSION.sub("", name, count=1) or name


def op(text: str) -> Op | None:
    """Read a range as an op; None where it is another range."""
    at = text.find(", seq = ")
    if at <= 0:
        at = text.find(", op_id = ")
    if at <= 0 or (end := _OP_END.match(text, at)) is None:
        return None
    sequence = end["seq"]
    return Op(text[:at], int(sequence) if sequence else None, _dims(end["sizes"]))


def _dims(text: str | None) -> str | None:
    """The shapes of an op's inputs as compact JSON."""
    if not text:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return msgspec.json.encode(value).decode() if isinstance(value, list) else None
