"""Local times: the zone that a source says, and the moments that a time in it can be."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError


def zone_option(file: SourceFile) -> ZoneInfo | None:
    """The option `timezone`, None where it is absent; ConfigError where it is no IANA name."""
    name = file.options.get("timezone")
    if name is None:
        return None
    if isinstance(name, str):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise ConfigError(
        f"source {file.source!r}: timezone = {name!r} is no IANA time zone; "
        'write one such as "UTC" or "America/New_York"'
    )


def moments(naive: datetime, zone: ZoneInfo) -> list[datetime]:
    """The UTC times that a local one can be: two in the hour that autumn repeats, none in the one
    that spring skips."""
    found: list[datetime] = []
    for fold in (0, 1):
        moment = naive.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) == naive and moment not in found:
            found.append(moment)
    return sorted(found)
