"""What can go wrong, by who must act.

PlumblineError
├── ConfigError       the plumbline.toml is wrong: the person who runs Plumbline mends it
├── SourceError       a whole input file cannot be read: whoever exports it mends it
├── ModelError        a SQL model breaks the house rules or does not run: a developer mends it
├── CheckFailed       a blocking check found rows that must not exist: nothing is published
├── QueryRefused      a reader's SQL asks for more than reading published tables
└── StoreError        the warehouse directory is damaged or cannot be worked with
    └── StoreBusy     another run is writing to it: wait for its end

A single bad record is no exception: it becomes a row of the `reject` table and its file goes on.
Every message says what was found, where, what was expected and what to do next.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


class PlumblineError(Exception):
    """The root: catch this to catch everything that Plumbline raises on purpose."""


class ConfigError(PlumblineError):
    """The configuration is missing, malformed or contradicts itself."""


class SourceError(PlumblineError):
    """A whole source file cannot be read; carries the file and what to do about it."""

    def __init__(self, path: Path | str, found: str, *, expected: str, todo: str) -> None:
        self.path, self.found, self.expected, self.todo = str(path), found, expected, todo
        super().__init__(f"{path}: {found}; expected {expected}. {todo}")

    def __reduce__(self) -> tuple[Callable[..., SourceError], tuple[str, ...]]:
        """As pickle needs it: an error of another process is raised in this one."""
        return _source_error, (self.path, self.found, self.expected, self.todo)


def _source_error(path: str, found: str, expected: str, todo: str) -> SourceError:
    return SourceError(path, found, expected=expected, todo=todo)


class ModelError(PlumblineError):
    """A model file breaks the header grammar, the layering, the portable subset, or fails."""


class CheckFailed(PlumblineError):
    """A blocking check failed; the previously published state stands untouched."""


class QueryRefused(PlumblineError):
    """Ad-hoc SQL was refused because it would do more than read published tables."""


class StoreError(PlumblineError):
    """The store's manifest or lock is not in a state that can be worked with."""


class StoreBusy(StoreError):
    """Another process holds the store for writing."""
