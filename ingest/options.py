"""Options of a source: those keys of a [[source]] that only its kind knows.

Each reader has `OPTIONS`, the names with their meaning, and `read_options`, which gives them parsed
and raises ConfigError for what cannot be. It looks at no file, so that a configuration is refused
when it is loaded and not in the middle of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

#: Keys that every source has.
COMMON = ("kind", "name", "files", "cluster", "covers")


def check_options(file: SourceFile, known: Mapping[str, str]) -> None:
    """ConfigError where a source has an option that its kind does not know: a misspelt one."""
    for name in sorted(file.options.keys() - known.keys()):
        keys = [*known, *COMMON]
        raise ConfigError(
            f"{file.source}: unknown option {name!r}{did_you_mean(name, keys)}; this kind of "
            f"source has {', '.join(keys)}"
        )


def did_you_mean(word: object, known: Collection[str]) -> str:
    """` (did you mean 'x'?)` where a known word is near, else nothing."""
    near = get_close_matches(word, known, 1) if isinstance(word, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""


def text_option(file: SourceFile, name: str, default: str | None = None) -> str | None:
    """An option that is text, or its default; ConfigError where it is empty or no text."""
    value = file.options.get(name, default)
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigError(f"{file.source}: {name} is {value!r}; expected text that is not empty")
    return value
