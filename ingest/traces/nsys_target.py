"""What an Nsight Systems export says of itself: its clock, its host, its job, its GPUs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ingest.rows import Rejects
from ingest.traces.nsys_names import process
from ingest.traces.nsys_tables import EXPORT_TABLE, Export

SESSION = "TARGET_INFO_SESSION_START_TIME"
DIAGNOSTICS = "DIAGNOSTIC_EVENT"
#: Later times do not fit a BIGINT of nanoseconds together with what is added to them.
MAX_NS = 2**61
_JOB_KEYS = ("SLURM_JOB_ID", "SLURM_JOBID")
_RANK_KEYS = ("RANK", "SLURM_PROCID")
_SIZE_KEYS = ("WORLD_SIZE", "SLURM_NTASKS")
_ATTEMPT_KEY = "SLURM_RESTART_COUNT"
_DIGITS = re.compile(r"[0-9]{1,18}\Z")
_UUID = re.compile(r"(?:GPU-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z", re.IGNORECASE)
#: Words of diagnostics that say that events are missing.
_LOST = re.compile(r"drop|lost|incomplete|discard|overflow|truncat|missing", re.IGNORECASE)
_WARNING, _VERBOSE = 2, 4
#: No table of what is one per machine, GPU or process has more rows.
_MOST_ROWS = 100_000


@dataclass(frozen=True)
class Clock:
    """What to add to a time of the export for epoch ns; None where it does not say."""

    base_ns: int | None = None
    why: str = ""


@dataclass(frozen=True)
class Target:
    """The machine that was profiled; None or empty where the export does not say."""

    host_name: str | None = None
    job_id: str | None = None
    attempt: int | None = None
    #: Of the profiler's own process: the rank's only where one process works on GPUs.
    rank: int | None = None
    world_size: int | None = None
    cuda_driver: int | None = None
    device_name: str | None = None
    #: UUIDs by the number that Nsight Systems gives a GPU.
    uuids: dict[int, str] = field(default_factory=dict)
    #: The number of the GPU that a process calls by an ordinal.
    gpu_of: dict[tuple[int, int], int] = field(default_factory=dict)


def read_clock(export: Export, first_ns: int | None) -> Clock:
    """Find what times count from; `first_ns` is the time of an early event.

    They count from the start of the session, at utcEpochNs; from 1970 where the export was made
    with --ts-normalize; from the machine's own start where the profiler had no better clock: then
    the whole analysis starts at systemClockNs too, and no event comes before.
    """
    said = dict(_pairs(export, EXPORT_TABLE))
    shift = _integer(said.get("EXPORT_PARAM_TIME_SHIFT"))
    if said.get("EXPORT_PARAM_TIME_NORMALIZE", "").lower() == "true":
        return Clock(-shift)
    if not export.has(SESSION):
        return Clock(None, f"no table {SESSION}")
    starts = _rows(export, SESSION, "utcEpochNs", "systemClockNs")
    epochs = {epoch for epoch, _ in starts}
    if len(epochs) != 1:
        return Clock(None, f"{SESSION} has {len(epochs)} different times")
    epoch, system = starts[0]
    if type(epoch) is not int or not 0 < epoch <= MAX_NS:
        return Clock(None, f"utcEpochNs of {SESSION} is {epoch!r}")
    analyses = {start for (start,) in _rows(export, "ANALYSIS_DETAILS", "startTime")}
    is_of_machine = type(system) is int and 0 < system <= MAX_NS and analyses == {system}
    if is_of_machine and first_ns is not None and first_ns >= system:
        return Clock(epoch - system - shift)
    return Clock(epoch - shift)


def read_target(export: Export) -> Target:
    """Read what the export says of the machine."""
    env = dict(_pairs(export, "TARGET_INFO_SYSTEM_ENV"))
    variables = dict(
        pair.split("=", 1) for pair in env.get("DeviceEnvironment", "").split(";") if "=" in pair
    )
    uuids: dict[int, str] = {}
    names: list[str] = []
    for number, uuid, name in _rows(export, "TARGET_INFO_GPU", "id", "uuid", "name"):
        if type(number) is int and (known := _uuid(uuid)):
            uuids[number] = known
        if isinstance(name, str) and name:
            names.append(name)
    gpu_of: dict[tuple[int, int], int] = {}
    columns = ("pid", "cudaId", "gpuId", "uuid")
    for pid, ordinal, gpu, uuid in _rows(export, "TARGET_INFO_CUDA_DEVICE", *columns):
        if type(pid) is int and type(ordinal) is int and type(gpu) is int:
            # Some versions write a globalPid here.
            gpu_of[pid if pid < 2**24 else process(pid), ordinal] = gpu
            if known := _uuid(uuid):
                uuids.setdefault(gpu, known)
    return Target(
        host_name=env.get("Hostname") or None,
        job_id=next(filter(None, (variables.get(key, "").strip() for key in _JOB_KEYS)), None),
        attempt=_number(variables, (_ATTEMPT_KEY,)),
        rank=_number(variables, _RANK_KEYS),
        world_size=_number(variables, _SIZE_KEYS),
        cuda_driver=_number(env, ("CudaDriverVersion",)),
        device_name=names[0] if names else None,
        uuids=uuids,
        gpu_of=gpu_of,
    )


def read_diagnostics(export: Export, rejects: Rejects) -> bool:
    """Keep as rejects the profiler's warnings that events are missing; whether there are any."""
    is_incomplete = False
    for part in export.parts(DIAGNOSTICS, "severity", "text"):
        cells = zip(part.rows, *part.columns.values(), strict=True)
        for row, severity, text in cells:
            is_grave = type(severity) is int and _WARNING <= severity < _VERBOSE
            if is_grave and isinstance(text, str) and _LOST.search(text):
                is_incomplete = True
                rejects.put(
                    f"{DIAGNOSTICS}, {export.row_name} {row}",
                    "the profiler warns that events are missing: what ran then may pass for a gap; "
                    "expected a whole recording", text,
                )  # fmt: skip
    return is_incomplete


def _pairs(export: Export, table: str) -> list[tuple[str, str]]:
    """The names and values of a table of such, the first of each name."""
    rows = _rows(export, table, "name", "value")
    return [(n, v) for n, v in reversed(rows) if isinstance(n, str) and isinstance(v, str)]


def _rows(export: Export, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for part in export.parts(table, *columns):
        found += zip(*(part.columns[name] for name in columns), strict=True)
        if len(found) > _MOST_ROWS:
            break
    return found


def _uuid(text: object) -> str | None:
    """A GPU's UUID as the driver writes it."""
    match = _UUID.match(text.strip()) if isinstance(text, str) else None
    return f"GPU-{match[1].lower()}" if match else None


def _integer(text: str | None) -> int:
    sign = -1 if text and text.startswith("-") else 1
    digits = (text or "").lstrip("+-")
    return sign * int(digits) if _DIGITS.match(digits) else 0


def _number(found: dict[str, str], keys: tuple[str, ...]) -> int | None:
    texts = (found.get(key, "").strip() for key in keys)
    return next((int(text) for text in texts if _DIGITS.match(text)), None)
