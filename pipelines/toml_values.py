"""Values of plumbline.toml: read, or refused with what to write instead."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from ingest.options import did_you_mean
from warehouse.errors import ConfigError

#: What stands in the text that `plumbline init` writes, for the reader to replace.
PLACEHOLDERS = {"CLUSTER", "NODE"}


def text(value: object, where: str, key: str, example: str) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(
            f"{where}: {key} is {shown(value)}; write text in quotes, such as "
            f'`{key} = "{example}"`.'
        )
    return value


def shown(value: object) -> str:
    """A value about as it stands in the file."""
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, Decimal) else repr(value)


def only(raw: Mapping[str, object], known: Collection[str], where: str, word: str) -> None:
    """ConfigError where a key is not known: a misspelt one must not be passed over."""
    for key in raw:
        if key not in known:
            raise ConfigError(
                f"{where}: unknown {word} {key!r}{did_you_mean(key, known)}; known are "
                f"{', '.join(sorted(known))}."
            )


def no_placeholder(raw: Mapping[str, object], where: str) -> None:
    """ConfigError where a key still has the value that `plumbline init` wrote."""
    for key, value in raw.items():
        if isinstance(value, str) and value in PLACEHOLDERS:
            raise ConfigError(
                f"{where}: {key} is still {value!r}, which `plumbline init` wrote to be replaced; "
                "write your own."
            )


def table(raw: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    """A table that may be absent."""
    value = raw.get(name, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {name} must be a table, written [{name}].")
    return value


def tables(raw: dict[str, Any], name: str, path: Path) -> list[dict[str, Any]]:
    """A list of tables that may be absent."""
    value = raw.get(name, [])
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ConfigError(f"{path}: {name} must be a list of tables, each written [[{name}]].")
    return value
