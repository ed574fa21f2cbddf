"""Words that every Slurm command prints alike: times, durations, GPUs, hosts, index lists.

Functions raise ValueError with a reason that a person can act on; the caller turns it into a
reject. Times are epoch seconds, the resolution that Slurm has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import TypeVar
from zoneinfo import ZoneInfo

import hostlist

from ingest.zones import moments, zone_option
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

#: What Slurm prints for "not yet" and "never"; 4294967294 and ...5 are its NO_VAL and INFINITE.
NO_TIME = frozenset({"Unknown", "None", "N/A", "(null)", "4294967294", "4294967295"})
#: What stands where a node list is empty.
NO_NODES = frozenset({"", "None assigned", "(null)", "None", "N/A"})

# Slurm is younger than 2000; an epoch below is a cut-off number, one above 2100 an overflow.
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(Z|[+-]\d\d:?\d\d)?")
_DURATION = re.compile(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d\d)(?:\.(\d{1,6}))?")
_NO_DURATION = frozenset({"", "INVALID", "UNLIMITED", "Partition_Limit", "Unknown", "None"})
_HOST = re.compile(r"[\w.\-]+")
_INDEX_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MAX_INDEX = 4096
_T = TypeVar("_T")


@dataclass(frozen=True)
class Clock:
    """How to read the times of one export: epoch needs nothing, local text needs its zone."""

    zone: ZoneInfo | None
    source: str
    export: str

    def read(self, text: str) -> tuple[int, ...]:
        """Epoch seconds that `text` can mean: none for "not yet", two in the hour of a DST fold.

        Raises ValueError where it is no time, ConfigError where it is local text without a zone.
        """
        if text in NO_TIME:
            return ()
        if text.isdecimal() and text.isascii():
            return (_plausible(int(text)),)
        match = _ISO.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no time (epoch seconds or YYYY-MM-DDTHH:MM:SS)")
        if match[3] is not None:
            return (_with_offset(match[1], match[2], match[3]),)
        if self.zone is None:
            raise ConfigError(
                f"source {self.source!r}: {text!r} is local time of whoever ran the export, and "
                "the source has no timezone. Export epoch seconds with\n"
                f"    {self.export}\n"
                'or say where the export ran: timezone = "Europe/Helsinki"'
            )
        return _local(match[1], match[2], self.zone)


def clock(file: SourceFile, export: str) -> Clock:
    """The clock that the option `timezone` gives (an IANA name); ConfigError where it is none."""
    return Clock(zone_option(file), file.source, export)


def is_time(text: str) -> bool:
    """Whether `text` has the form of a Slurm time or of its absence."""
    if text in NO_TIME:
        return True
    if text.isdecimal():
        return _EARLIEST <= int(text) < _LATEST
    return _ISO.fullmatch(text) is not None


def _plausible(epoch_s: int) -> int:
    if not _EARLIEST <= epoch_s < _LATEST:
        raise ValueError(f"time {epoch_s} lies outside the years 2000 to 2100")
    return epoch_s


def _epoch(moment: datetime) -> int:
    return _plausible(int(moment.timestamp()))


def _with_offset(day: str, time: str, offset: str) -> int:
    if offset == "Z":
        zone = UTC
    else:
        digits = offset[1:].replace(":", "")
        minutes = int(digits[:2]) * 60 + int(digits[2:])
        zone = timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))
    return _epoch(datetime.fromisoformat(f"{day}T{time}").replace(tzinfo=zone))


@lru_cache(maxsize=65_536)
def _local(day: str, time: str, zone: ZoneInfo) -> tuple[int, ...]:
    found = [_epoch(moment) for moment in moments(datetime.fromisoformat(f"{day}T{time}"), zone)]
    if not found:
        raise ValueError(f"{day}T{time} does not exist in {zone.key}: is timezone right?")
    return tuple(found)


def held_interval(
    starts: Sequence[int], ends: Sequence[int], *, submits: Sequence[int], held_s: int | None
) -> tuple[int, int | None]:
    """Start and end, where each may have two meanings (a DST fold); end None while it runs.

    `held_s` is ElapsedRaw plus Suspended, which tells the folds apart where both are known. What
    stays open is an error: an hour on the wrong side would hold another job's GPUs.
    """
    pairs: list[tuple[int, int | None]] = [(s, None) for s in starts] if not ends else []
    for start in starts:
        pairs += [(start, end) for end in ends if end >= start]
    if not pairs:
        raise ValueError(f"End {max(ends)} lies before Start {min(starts)}")
    if ends and held_s is not None and len(pairs) > 1:
        pairs = [(s, e) for s, e in pairs if e is not None and e - s == held_s] or pairs
    if len(pairs) > 1:
        pairs = [pair for pair in pairs if not submits or pair[0] >= submits[0]] or pairs
    if len(pairs) > 1 and not (held_s == 0 and all(s == e for s, e in pairs)):
        raise ValueError(
            "Start or End stands in the hour that occurs twice when daylight saving ends, and "
            "ElapsedRaw does not tell which is meant: export epoch seconds (SLURM_TIME_FORMAT=%s)"
        )
    return pairs[0]


def duration_us(text: str) -> int | None:
    """Microseconds of `[[D-]HH:]MM:SS[.fff]`; None for blank, INVALID, UNLIMITED."""
    if text in _NO_DURATION:
        return None
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration ([[days-]hours:]minutes:seconds)")
    days, hours, minutes, seconds, fraction = match.groups()
    whole = (int(days or 0) * 24 + int(hours or 0)) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * 1_000_000 + int((fraction or "0").ljust(6, "0"))


@dataclass(frozen=True)
class Gpus:
    """GPUs of a TRES or GRES list: the total, the typed ones by name, and whether any is shared."""

    count: int
    types: tuple[tuple[str, int], ...] = ()
    shared: bool = False

    @property
    def types_text(self) -> str | None:
        """Such as `a100=4,h100=2`, sorted by type; None where no type is named."""
        return ",".join(f"{name}={count}" for name, count in self.types) or None


@lru_cache(maxsize=16_384)
def gpus(text: str) -> Gpus:
    """GPUs in `billing=1,gres/gpu:h100=2,gres/gpu=2`, `gpu=4` or `gpu:8(S:0-3)`.

    The untyped entry is the total; only where it is absent are the typed ones summed, since a site
    that tracks both prints both for the same GPUs. Shards and MPS shares are no whole GPUs.
    """
    total: int | None = None
    types: dict[str, int] = {}
    shared = False
    for entry in split_entries(text):
        name, value = _tres_entry(entry)
        family, _, kind = name.removeprefix("gres/").partition(":")
        if family in {"shard", "mps"} and value not in {"", "0"}:
            shared = True
        if family != "gpu":
            continue
        if not (value.isdecimal() and value.isascii()):
            raise ValueError(f"{entry!r} has no whole number of GPUs")
        if kind:
            types[kind] = types.get(kind, 0) + int(value)
        else:
            total = (total or 0) + int(value)
    count = sum(types.values()) if total is None else total
    return Gpus(count, tuple(sorted((k, n) for k, n in types.items() if n)), shared)


def _tres_entry(entry: str) -> tuple[str, str]:
    bare = entry.partition("(")[0]
    if "=" in bare:
        name, _, value = bare.partition("=")
    elif ":" in bare:
        name, _, value = bare.rpartition(":")
    else:
        raise ValueError(f"{entry!r} is neither name=count nor name:count")
    return name, value


def split_entries(text: str) -> list[str]:
    """Split at commas that stand outside parentheses, since `(IDX:0-2,4)` holds some itself."""
    if "(" not in text and ")" not in text:
        return [entry for entry in text.split(",") if entry]
    entries, depth, entry = [], 0, ""
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            entries.append(entry)
            entry = ""
        else:
            entry += char
    if depth:
        raise ValueError(f"{text!r} has a parenthesis without its other half")
    return [e for e in [*entries, entry] if e]


@lru_cache(maxsize=16_384)
def _hosts(text: str) -> tuple[str, ...]:
    try:
        names = hostlist.expand_hostlist(text)
    except (hostlist.BadHostlist, ValueError, RecursionError) as error:
        raise ValueError(f"node list {text!r}: {error}") from error
    bad = next((name for name in names if not _HOST.fullmatch(name)), None)
    if bad is not None:
        raise ValueError(f"node list {text!r} holds {bad!r}, which is no node name")
    return tuple(names)


def hosts(text: str) -> list[str]:
    """Node names of a host list such as `gpu[001,003],rack2-gpu-11`, in its order."""
    return [] if text.strip() in NO_NODES else list(_hosts(text))


def indices(text: str) -> list[int]:
    """Numbers of an index list such as `0-2,4-5`; none for blank and N/A."""
    if text in {"", "N/A"}:
        return []
    numbers: list[int] = []
    for part in text.split(","):
        match = _INDEX_RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"index list {text!r}: {part!r} is neither a number nor a range")
        low, high = int(match[1]), int(match[2] or match[1])
        if not low <= high < _MAX_INDEX:
            raise ValueError(
                f"index list {text!r}: range {part!r} is not between 0 and {_MAX_INDEX}"
            )
        numbers += range(low, high + 1)
    return numbers


def or_nothing(parse: Callable[[str], Sequence[_T]], text: str) -> Sequence[_T]:
    """What `parse` makes of a text; nothing where it refuses it (what is left of bad rows)."""
    try:
        return parse(text)
    except ValueError:
        return ()
