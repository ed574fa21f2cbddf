"""The parts of a C++ function's name, as demanglers write it: path, own name, template words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

#: No more of a name is looked at: what a kernel does stands at its start.
NAME_CHARS = 4096
#: Words of a template's arguments that are kept.
_WORDS = 8

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\s]+")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_MANGLED = re.compile(r"_ZN?K?(?:[0-9]|St|S[a-z])")
_MANGLED_PART = re.compile(r"[0-9]{1,4}")
#: Namespaces that say nothing of what a kernel does.
_SILENT = frozenset({
    "at", "native", "detail", "internal", "impl", "std", "c10", "templates", "cuda",
    "at_cuda_detail", "kernel", "kernels", "dev", "__1", "_GLOBAL__N_1", "type", "hip",
})  # fmt: skip
_VERSION_SPACE = re.compile(r"(?:THRUST|CUB|HIPCUB|ROCPRIM)_\d\w*")
#: Types, and shells that only pass a functor on.
_WRAPPERS = frozenset({
    "float", "double", "int", "long", "short", "char", "bool", "unsigned", "signed", "const",
    "void", "true", "false", "half", "size_t", "BFloat16", "Half", "Float8_e4m3fn", "Float8_e5m2",
    "complex", "float2", "float4", "__half", "__nv_bfloat16", "__hip_bfloat16", "bfloat16_t",
    "half_t", "uint", "int32_t", "int64_t", "int8_t", "uint8_t", "uint32_t", "decltype", "nullptr",
    "gpu_kernel_impl", "gpu_kernel_impl_nocast", "gpu_index_kernel", "AUnaryFunctor",
    "BUnaryFunctor", "BinaryFunctor", "UnaryFunctor", "func_wrapper_t", "ReduceOp", "OpaqueType",
    "Array", "array", "lambda", "operator", "_cuda_scatter_gather_internal_kernel",
    "TensorIteratorBase", "TensorIterator", "Scalar", "opmath_t", "enable_sm90_or_later",
    "enable_sm80_to_sm89", "enable_sm90", "enable_sm100", "ul", "u", "NS",
})  # fmt: skip
_PREFIXES = ("CUDAFunctorOnSelf_", "CUDAFunctorOnOther_", "CUDAFunctor_", "launch_")
_SUFFIXES = (
    "CUDAKernelImpl", "_kernel_cuda", "_cuda_kernel", "_cuda_out", "_kernel_impl", "KernelImpl",
    "_kernel", "_functor", "Functor", "_cuda", "Ops", "_impl",
)  # fmt: skip
_OPERATORS = {"multiplies": "mul", "plus": "add", "minus": "sub", "divides": "div"}


class Function(NamedTuple):
    """A function: its whole path, the last part of it, the words of its template's arguments.

    Silent namespaces and what only wraps are left out of the path and of the words.
    """

    path: str
    base: str
    words: tuple[str, ...]


def parse(name: str) -> Function:
    """Take a kernel's name apart; any text gives some function, "" among them."""
    return _parse(name[:NAME_CHARS])


@lru_cache(maxsize=4096)
def _parse(name: str) -> Function:
    text = _CONTROL.sub(" ", name).strip()
    if _MANGLED.match(text):
        return _mangled(text)
    text = text.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    # The suffix of a kernel's descriptor on ROCm.
    text = text.replace("operator()", "operator").removesuffix(".kd")
    if "(" not in text and "<" not in text:
        return _named(text, "")
    return _demangled(text)


def snake(word: str) -> str:
    """Return a functor's plain name in snake case: CUDAFunctor_add and AddFunctor are add."""
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) > len(suffix):
            word = word.removesuffix(suffix)
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower().strip("_")
    return _OPERATORS.get(word, word)


def _demangled(text: str) -> Function:
    """Follow brackets by a stack: a comparison inside parentheses closes no template."""
    stack: list[str] = []
    outside: list[str] = []
    start = stop = 0
    for at, char in enumerate(text):
        if char in "<({[":
            if char == "(" and not stack and "".join(outside).strip():
                # The parameters: the name ends here.
                break
            if not stack:
                start, stop = at + 1, len(text)
            stack.append(char)
        elif char == ">":
            if stack and stack[-1] == "<" and text[at - 1] != "-":
                stack.pop()
                stop = at if not stack else stop
        elif char in ")}]":
            opening = {")": "(", "}": "{", "]": "["}[char]
            if opening in stack:
                while stack.pop() != opening:
                    pass
            stop = at if not stack else stop
        elif not stack:
            outside.append(char)
            if char == " ":
                # A return type came before: its template is not the function's.
                start = stop = 0
    path = "".join(outside).strip()
    # A name with parameters or a template has its return type, if any, before a space.
    return _named(path.rpartition(" ")[2] or path, text[start:stop])


def _named(path: str, arguments: str) -> Function:
    parts = [part for part in path.split("::") if part]
    base = parts[-1] if parts else path
    spaces = [
        part for part in parts[:-1]
        if (part not in _SILENT or base == "kernel") and not _VERSION_SPACE.match(part)
    ]  # fmt: skip
    return Function("::".join([*spaces, base]), base, _words(arguments))


def _words(arguments: str) -> tuple[str, ...]:
    """The telling words of template arguments, in order; namespaces are not among them."""
    found: list[str] = []
    for match in _WORD.finditer(arguments):
        word = match.group()
        is_part = match.start() > 0 and arguments[match.start() - 1].isdigit()
        if word in _WRAPPERS or is_part or arguments.startswith("::", match.end()):
            continue
        found.append(word)
        if len(found) == _WORDS:
            break
    return tuple(found)


def _mangled(text: str) -> Function:
    """The names in a mangled symbol, each written as its length and its letters."""
    at = text.find("N") + 1 if text.startswith("_ZN") else 2
    parts: list[str] = []
    inner: list[str] = []
    is_path = True
    while at < len(text) and len(inner) < _WORDS:
        length = _MANGLED_PART.match(text, at)
        if text[at] == "L" and not is_path:
            # A literal argument: its digits are no length.
            at = text.find("E", at) + 1 or len(text)
            continue
        if length is None:
            # Letters between names are the grammar's; an I opens the template's arguments.
            is_path = is_path and text[at] in "KLStr"
            at += 1
            continue
        end = length.end() + int(length.group())
        part = text[length.end() : end]
        if _WORD.fullmatch(part):
            if is_path:
                parts.append(part)
            elif not text[end : end + 1].isdigit():
                # Another name right behind it makes it a namespace.
                inner.append(part)
            at = end
        else:
            at = length.end()
    named = _named("::".join(parts) or text, "")
    words = tuple(w for w in inner if w not in _WRAPPERS and w not in _SILENT)
    return Function(named.path, named.base, words)
