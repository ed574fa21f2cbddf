"""Whose trace it is and what it says of itself: its metadata and its file's name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from ingest.text import chunks
from ingest.traces.events import MAX_LONG
from warehouse.contracts import SourceFile

#: Where the job, its attempt and its rank may stand, the surest first.
JOB_KEYS = (
    "slurm_job_id", "SLURM_JOB_ID", "slurm_jobid", "SLURM_JOBID", "job_id", "JOB_ID",
    "PT_PROFILER_JOB_NAME", "mast_job_name",
)  # fmt: skip
ATTEMPT_KEYS = (
    "slurm_restart_count", "SLURM_RESTART_COUNT", "PT_PROFILER_JOB_ATTEMPT_INDEX",
    "mast_job_attempt",
)  # fmt: skip
RANK_KEYS = ("rank", "RANK", "global_rank", "slurm_procid", "SLURM_PROCID")
_KEYS = (
    *JOB_KEYS, *ATTEMPT_KEYS, *RANK_KEYS, "distributedInfo", "deviceProperties", "host_name",
    "trace_id", "record_shapes", "with_stack", "cuda_runtime_version", "cuda_driver_version",
    "baseTimeNanoseconds",
)  # fmt: skip
_KEY = re.compile(rf'(?<!\\)"({"|".join(_KEYS)})"\s*:\s*')
_BASE_KEY = b'"baseTimeNanoseconds"'
_BASE = re.compile(_BASE_KEY + rb'\s*:\s*"?([0-9]{1,19})(?![0-9])')
_DIGITS = re.compile(r"[0-9]{1,19}\Z")
_OVERLAP = 64

_TIME = r"\.[0-9]{10,19}\.pt\.trace\.json"
_BY_NAME = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^(?P<host>.+)_(?P<pid>[0-9]{{1,10}}){_TIME}$",
        rf"^(?P<host>.+)_rank(?P<rank>[0-9]{{1,7}}){_TIME}$",
        r"(?:^|[^A-Za-z0-9])rank-(?P<rank>[0-9]{1,7})\.[A-Z][a-z]{2}(?:_[0-9]{2}){4}"
        r"\.(?P<pid>[0-9]{1,10})\.pt\.trace\.json$",
        r"^libkineto_activities_(?P<pid>[0-9]{1,10})\.json$",
    )
)
_RANK = re.compile(r"(?:^|[^A-Za-z0-9])rank[-_]?([0-9]{1,7})(?![0-9A-Za-z])", re.IGNORECASE)
#: What serving engines write before the rank: parallel groups, no host.
_GROUPS = re.compile(r"(?:^|_)(?:dp|pp|tp|ep|cp|dcp|pcp)[0-9]+(?:_|$)")


@dataclass(frozen=True)
class Metadata:
    """What a trace says of itself; None where it says nothing."""

    base_ns: int | None = None
    job_id: str | None = None
    attempt: int | None = None
    rank: int | None = None
    host_name: str | None = None
    trace_id: str | None = None
    world_size: int | None = None
    backend: str | None = None
    device_name: str | None = None
    device_count: int | None = None
    cuda_runtime: int | None = None
    cuda_driver: int | None = None
    has_shapes: bool = False
    has_stack: bool = False


@dataclass(frozen=True)
class FileName:
    """What a file's own name says, by the conventions of those who write traces."""

    host: str | None = None
    pid: int | None = None
    rank: int | None = None


def metadata(head: bytes, tail: bytes = b"") -> Metadata:
    """Read the metadata before and behind the list of events.

    Text that is no JSON (logs with bare quotes, a cut file) is searched for the keys that count.
    """
    found = _object(head, tail)
    info = found.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    devices = found.get("deviceProperties")
    devices = [d for d in devices if isinstance(d, dict)] if isinstance(devices, list) else None
    return Metadata(
        base_ns=_natural(found.get("baseTimeNanoseconds")),
        job_id=next(filter(None, (_text(found.get(key)) for key in JOB_KEYS)), None),
        attempt=_first(found, ATTEMPT_KEYS),
        rank=_first(info, ("rank",)) if "rank" in info else _first(found, RANK_KEYS),
        host_name=_text(found.get("host_name")),
        trace_id=_text(found.get("trace_id")),
        world_size=_natural(info.get("world_size")),
        backend=_text(info.get("backend")),
        device_name=_text(devices[0].get("name")) if devices else None,
        device_count=len(devices) if devices is not None else None,
        cuda_runtime=_natural(found.get("cuda_runtime_version")),
        cuda_driver=_natural(found.get("cuda_driver_version")),
        has_shapes=_natural(found.get("record_shapes")) == 1,
        has_stack=_natural(found.get("with_stack")) == 1,
    )


def find_base(file: SourceFile) -> int | None:
    """The time base of a file that has it behind its events; None where it has none.

    Reads the whole file, without decoding it. Raises SourceError where it is damaged.
    """
    base, rest = None, b""
    for part in chain(chunks(file, 1 << 20), (None,)):
        window = rest + part if part else rest
        # A number at the very end may go on.
        end = max(len(window) - _OVERLAP, 0) if part else len(window)
        at = window.find(_BASE_KEY)
        while 0 <= at < end:
            if match := _BASE.match(window, at):
                base = int(match[1])
            at = window.find(_BASE_KEY, at + 1)
        rest = window[end:]
    return base if base is None or base <= MAX_LONG else None


def file_name(name: str) -> FileName:
    """Read host, process and rank out of a file's own name, as far as they are certain."""
    plain = name.rsplit("/", 1)[-1].removesuffix(".gz")
    for pattern in _BY_NAME:
        if match := pattern.search(plain):
            found = match.groupdict()
            host = found.get("host")
            return FileName(
                None if host is None or _GROUPS.search(host) else host,
                int(found["pid"]) if "pid" in found else None,
                int(found["rank"]) if "rank" in found else None,
            )
    ranks = _RANK.findall(plain)
    return FileName(rank=int(ranks[0])) if len(ranks) == 1 else FileName()


def _object(head: bytes, tail: bytes) -> dict[str, Any]:
    """The metadata as one object; the list of events stands between head and tail."""
    before, behind = head.decode("utf-8", "replace"), tail.decode("utf-8", "replace")
    try:
        value = json.loads(f"{before}]{behind}", strict=False)
        return value if isinstance(value, dict) else {}
    except (ValueError, RecursionError):
        return dict(_pairs(behind)) | dict(_pairs(before))


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while match := _KEY.search(text, at):
        at = match.end()
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        yield match[1], value


def _text(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).encode("utf-8", "replace").decode().strip() or None


def _natural(value: object) -> int | None:
    if isinstance(value, str):
        value = int(value) if _DIGITS.match(value) else None
    is_natural = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_LONG
    return value if is_natural and isinstance(value, int) else None


def _first(found: dict[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((n for key in keys if (n := _natural(found.get(key))) is not None), None)
