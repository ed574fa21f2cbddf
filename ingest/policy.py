"""Dated exceptions of the configuration ([[policy]] tables) -> policy_window.

    [[policy]]
    kind = "reserve"             # maintenance, reserve, exempt_idle or dispute
    owner = "head-of-platform"   # who approved it
    start = 2026-11-01T00:00:00Z
    end = 2026-12-01T00:00:00Z
    node = "gpu-node-0"          # as are cluster, account, job_id: left out is every one
    note = "spare for the launch"

A mistake here is the configuration's, so it is no reject: a run does not start on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ingest.rows import Rows
from ingest.text import parse_time
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError

KINDS = ("maintenance", "reserve", "exempt_idle", "dispute")
_SCOPES = ("cluster", "node", "account", "job_id", "note")
_ALL = {"kind", "owner", "start", "end", *_SCOPES}


def windows(policies: list[dict[str, object]], file: SourceFile) -> Iterator[Batch]:
    """Yield the policy windows of a configuration; `source_row` is the table's number, from 1.

    Raises ConfigError for an unknown key or kind, a missing owner, a time without a zone, or a
    window without a length: an exception has an owner and an end.
    """
    rows = Rows("policy_window", file)
    for number, policy in enumerate(policies, 1):
        where = f"{file.name}: [[policy]] number {number}"
        rows.add(**_values(policy, where), source_row=number)
    yield from rows.flush()


def _values(policy: Mapping[str, object], where: str) -> dict[str, Any]:
    unknown = sorted(policy.keys() - _ALL)
    if unknown:
        raise ConfigError(f"{where} has {unknown[0]!r}; expected {', '.join(sorted(_ALL))}")
    kind, owner = policy.get("kind"), policy.get("owner")
    if kind not in KINDS:
        raise ConfigError(f"{where}: kind is {kind!r}; expected one of {', '.join(KINDS)}")
    if not isinstance(owner, str) or not owner.strip():
        raise ConfigError(f"{where}: owner is {owner!r}; expected who approved it")
    start, end = _time(policy, "start", where), _time(policy, "end", where)
    if start >= end:
        raise ConfigError(f"{where} starts at {start} and ends at {end}; expected start < end")
    return {
        "kind": kind, "owner": owner, "start": start, "end": end,
        **{name: _text(policy, name, where) for name in _SCOPES},
    }  # fmt: skip


def _time(policy: Mapping[str, object], name: str, where: str) -> datetime:
    value = policy.get(name)
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    try:
        return parse_time(value if isinstance(value, str) else "")
    except ValueError:
        raise ConfigError(
            f"{where}: {name} is {str(value)!r}; expected a time with a zone, such as "
            f"2026-11-30T21:30:00Z"
        ) from None


def _text(policy: Mapping[str, object], name: str, where: str) -> str | None:
    value = policy.get(name)
    if value is None:
        return None
    # A job id may be written as a number.
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ConfigError(f"{where}: {name} is {value!r}; expected text, or leave it out")
    return str(value)
