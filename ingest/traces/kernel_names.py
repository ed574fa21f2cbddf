"""What a GPU kernel's name says: whether it communicates, which collective, and its family.

Names come from compilers and from whoever wrote the kernel: every length and every byte occurs.
Only the first NAME_CHARS characters are read, each a small fixed number of times.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ingest.traces.kernel_syntax import NAME_CHARS, Function, parse, snake

#: A family is at most this long.
FAMILY_CHARS = 200
_CACHED = 4096
_ROUNDS = 16

#: Markers of communication, looked for in the function's own path, never in its arguments: there
#: they only say whose types it takes.
_COMM = re.compile(
    r"^(?:nccl|rccl|msccl|oneccl|hccl)"
    r"|(?:^|::)(?:mscclpp|nvshmem\w*|rocshmem\w*|deep_ep|mori|quickreduce|symmetric_memory)::"
    r"|^nvshmem|^rocshmem|^deep_ep|quick_?reduce"
    r"|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|all2all|a2a(?:dispatch|combine)"
    r"|send_?recv|multimem|cross_device|lamport|userbuffers|moe_?comm"
    r"|put_signal_kernel|wait_signal_kernel"
    r"|(?:^|::)barrier_kernel$|(?:^|::)ep_?(?:dispatch|combine)"
)
#: Work on one GPU though the name has such a word: code fused by a compiler around a collective,
#: counting before a dispatch, a matrix product that moves its parts while it computes.
_LOCAL = re.compile(
    r"^triton_(?:poi|per|red|tem|for|split_scan|mm)(?:_|$)|deep_ep::layout|get_dispatch_layout"
    r"|(?:block|warp)_?all_?reduce|gemm|matmul"
)
_COLLECTIVES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("allreduce", re.compile(
        r"allreduce|crossdevicereduce|quickreduce|multimemreduce|oneshot|twoshot|lamport")),
    ("reducescatter", re.compile(r"reducescatter")),
    ("allgather", re.compile(r"allgather")),
    ("alltoall", re.compile(r"alltoall|all2all|a2a|dispatch|combine|moecomm")),
    ("broadcast", re.compile(r"broadcast")),
    ("sendrecv", re.compile(r"sendrecv|putsignal|waitsignal|pushsend|pushrecv")),
    ("barrier", re.compile(r"barrier")),
)  # fmt: skip
#: Only a communication library's own names say these alone: tensors are reduced and gathered too.
_LIBRARY_ONLY = ("reduce", "gather", "scatter")
_LIBRARY = re.compile(r"^(?:nccl|rccl|msccl|oneccl|hccl)")

_COPY = re.compile(r"(?:Memcpy [A-Za-z0-9]+|Memset)(?=$| )")
#: Where a library's name turns from what is computed to how it is cut into tiles.
_TILE = re.compile(r"_t?\d+x\d+|_tilesize|_knob_|_stages?_?\d|_warpgroupsize|_cga\d|_align[a-z]?\d")
_LAYOUT = re.compile(r"[nt]{1,2}|n[hc][a-z]*")
_INSTRUCTION = re.compile(r"_s\d+x\d+x\d+")
_GENERATED = re.compile(r"_0d1[0-9dce]*$")
_VERSION = re.compile(r"_v\d+$")
_LAST_HASH = re.compile(r"_(?=[a-f]*[0-9])[0-9a-f]{8,64}$")
_LAST_NUMBER = re.compile(r"_\d+$")
_TENSILE = re.compile(r"Cijk_A[a-z]{2,4}_B[a-z]{2,4}(?:_[A-Z]{1,4}(?![A-Za-z0-9]))*")
_ELEMENTWISE = re.compile(r"elementwise_(?:grid_stride_)?kernel")


def kind_of(name: str) -> str:
    """Return "comm" for a kernel that moves data between GPUs for a collective, else "compute".

    Copies and fills are no kernels: the category of their event tells them.
    """
    return _kind(name[:NAME_CHARS])


def collective_of(name: str) -> str | None:
    """Return which collective a communication kernel works for, in `collective_name`'s words.

    None where the kernel computes, and where its name leaves it open (generic kernels of NCCL).
    """
    if kind_of(name) != "comm":
        return None
    text = parse(name).path.lower().replace("_", "")
    return _collective(text, is_library=bool(_LIBRARY.match(text)))


def collective_name(label: str) -> str:
    """Return a collective's one name for what profilers and recorders write of it.

    `nccl:all_reduce_barrier`, `_allgather_base` and `ALLREDUCE` are `barrier`, `allgather` and
    `allreduce`; `nccl:send 0->1` is `send`. A label without a known word comes back in small
    letters without underscores.
    """
    text = label.lower().rpartition(":")[2].replace("_", "").strip()
    if "barrier" in text:
        return "barrier"
    if text.startswith(("send ", "recv ")):
        # A recorder writes the peers behind it.
        return text[:4]
    return _collective(text, is_library=True) or text[:FAMILY_CHARS]


def family(name: str) -> str:
    """Return a short, stable family of a kernel's name: what it does, without how it is cut.

    Template arguments, parameters, tiles, stages, layouts, hashes and running numbers go; where
    the kernel is a shell around a functor, the functor stays. Never empty, at most FAMILY_CHARS
    characters; a family is its own family.
    """
    return _family(name[:NAME_CHARS])


@lru_cache(maxsize=_CACHED)
def _kind(name: str) -> str:
    path = parse(name).path.lower()
    if _LOCAL.search(path):
        return "compute"
    return "comm" if _COMM.search(path) else "compute"


@lru_cache(maxsize=_CACHED)
def _family(name: str) -> str:
    text = name
    # What was cut off may leave an end that can be cut again.
    for _ in range(_ROUNDS):
        text, before = _shorten(text), text
        if text == before:
            break
    return text


def _shorten(name: str) -> str:
    copy = _COPY.match(name)
    if copy:
        return copy.group()
    function = parse(name)
    text = _nccl(function) or _shell(function) or _plain(function)
    return text[:FAMILY_CHARS].strip(" :") or "(unnamed)"


def _collective(text: str, *, is_library: bool) -> str | None:
    for label, pattern in _COLLECTIVES:
        if pattern.search(text):
            return label
    if is_library:
        return next((label for label in _LIBRARY_ONLY if label in text), None)
    return None


def _nccl(function: Function) -> str | None:
    """One family a collective for NCCL's and RCCL's kernels of all generations."""
    base = function.path
    if not base.startswith(("ncclKernel", "ncclDevKernel", "ncclSym")) and not (
        base.startswith("nccl") and "Kernel" in base
    ):
        return None
    found = re.search(
        r"AllReduce|ReduceScatter|AllGather|AllToAll|Broadcast|SendRecv|Reduce|Generic", base
    )
    return f"nccl {found.group()}" if found else None


def _shell(function: Function) -> str | None:
    """The family of a generic kernel: its kind and the functor that it runs."""
    base, words = function.base, function.words
    if base == "multi_tensor_apply_kernel":
        named = [snake(word) for word in words if "Metadata" not in word][:3]
        # A functor for an op by argument says little without the op behind it.
        kept = named[:2] if named and "_op" in named[0] else named[:1]
        return " ".join(["multi_tensor", *kept])
    if _ELEMENTWISE.search(base):
        return " ".join(["elementwise", *(snake(word) for word in words[:1])])
    if base == "reduce_kernel" and words:
        return f"reduce {snake(words[0])}"
    if base in {"Kernel", "Kernel2", "device_kernel", "kentry", "_kernel_agent"} and words:
        inner = _flat(words[0])
        library = function.path.partition("::")[0]
        if library == base or inner.startswith(("cutlass", library)):
            return inner
        return f"{library} {inner}"
    return None


def _plain(function: Function) -> str:
    """The family of any other kernel: its function's name, with the outermost namespace."""
    head, _, _ = function.path.rpartition("::")
    base = _flat(function.base)
    if not head:
        return base
    outer = head.partition("::")[0]
    # `kernel` says nothing without the namespace that it stands in.
    near = head.rpartition("::")[2] if base == "kernel" else outer
    return f"{near}::{base}"


def _flat(base: str) -> str:
    """A name without tiles, layouts, hashes and numbers at its end."""
    tensile = _TENSILE.match(base)
    if tensile:
        return tensile.group()
    tile = _TILE.search(base, 3)
    text = base[: tile.start()] if tile else base
    text = _INSTRUCTION.sub("_s", _GENERATED.sub("", text))
    if tile or "gemm" in text:
        parts = text.split("_")
        while len(parts) > 1 and _LAYOUT.fullmatch(parts[-1]):
            parts.pop()
        text = "_".join(parts)
    text = _LAST_HASH.sub("", _VERSION.sub("", text))
    if text.startswith("triton_"):
        while _LAST_NUMBER.search(text):
            text = _LAST_NUMBER.sub("", text)
    return text.rstrip("_") or base
