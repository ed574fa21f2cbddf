"""`nvidia-smi --query-gpu=... --format=csv -l N` -> gpu_sample: the table of many first scripts.

Columns are found by name, whatever their order, with their units or without. It has GPU-Util,
power, memory, clock and temperature, and no activity of SMs, tensor pipes or DRAM: what a GPU did
inside its busy time stays unknown. `[N/A]` and its likes were not delivered; what is no number is
no reading. Times are local to the node: the option `timezone` says where.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import nan
from zoneinfo import ZoneInfo

from ingest.counters.samples import Samples
from ingest.counters.whose import NOBODY, Whose
from ingest.counters.wide import Wide
from ingest.options import check_options
from ingest.rows import Rejects
from ingest.text import records
from ingest.zones import moments, zone_option
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError, SourceError

KIND = "nvidia_smi"

EXPORT = """\
On each node, as a service (the timestamp is local time, so it says UTC):
  TZ=UTC nvidia-smi --format=csv -l 30 --query-gpu=timestamp,uuid,utilization.gpu,power.draw,\\
memory.used,temperature.gpu,clocks.sm >> "smi/$(hostname -s)-$(date -u +%Y-%m-%d).csv"
In the configuration: timezone = "UTC"
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {"timezone": "IANA zone of the timestamps, such as UTC; needed"}

#: Columns that are read: DCGM id, and the unit that a header or a cell may name. Of several names
#: of a field the first that is there counts.
COLUMNS = {
    203: (("utilization.gpu",), "%"),
    155: (("power.draw", "power.draw.average", "power.draw.instant"), "W"),
    252: (("memory.used",), "MiB"),
    150: (("temperature.gpu",), ""),
    100: (("clocks.current.sm", "clocks.sm"), "MHz"),
}
_UUID, _TIME = ("uuid", "gpu_uuid"), "timestamp"


@dataclass(frozen=True)
class _Header:
    time: int
    uuid: int
    fields: dict[int, tuple[int, str]]


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one output.

    A line that cannot be read is a reject. Raises SourceError where the file is no such output or
    lacks timestamp or uuid, ConfigError where the option is missing.
    """
    zone = read_options(file)
    wide, rejects = Wide(file), Rejects(file, KIND)
    whose, gathered = Whose(wide), Samples(wide)
    reading = records(file)
    header = _header(next((r.cells for r in reading if not r.fault), []), file)
    codes: dict[str, int] = {}
    for record in reading:
        try:
            if record.fault:
                raise ValueError(record.fault)
            cells = [cell.strip() for cell in record.cells]
            ms = _milliseconds(cells[header.time], zone)
            uuid = cells[header.uuid]
            if uuid not in codes:
                _, codes[uuid], fault = whose.find({"__name__": "DCGM_FI_DEV_GPU_UTIL",
                                                    "UUID": uuid})  # fmt: skip
                if fault:
                    raise ValueError(fault)
        except ValueError as error:
            rejects.put(f"line {record.line}", str(error), record.raw)
            yield from rejects.flush(at_least=1000)
            continue
        if codes[uuid] == NOBODY:
            continue
        for dcgm_id, (at, unit) in header.fields.items():
            if (value := _value(cells[at], unit)) is not None:
                gathered.put(dcgm_id, codes[uuid], ms, value)
        gathered.see(ms)
    gathered.empty()
    yield from wide.rows()
    wide.tell(rejects)
    yield from rejects.flush()
    yield from gathered.coverage(file)


def read_options(file: SourceFile) -> ZoneInfo:
    """The zone of the timestamps; ConfigError where it is missing or none."""
    check_options(file, OPTIONS)
    zone = zone_option(file)
    if zone is None:
        raise ConfigError(
            f"{file.source}: nvidia-smi writes local times without a zone, so the source needs "
            'timezone = "UTC", or where it ran'
        )
    return zone


def _header(cells: list[str], file: SourceFile) -> _Header:
    names, units = [], []
    for cell in cells:
        name, _, unit = cell.strip().partition(" [")
        names.append(name)
        units.append(unit.removesuffix("]"))
    uuid = next((names.index(name) for name in _UUID if name in names), None)
    fields = {}
    for dcgm_id, (known, unit) in COLUMNS.items():
        found = next((name for name in known if name in names), None)
        if found is not None:
            at = names.index(found)
            if units[at] not in ("", unit):
                raise SourceError(
                    file.name, f"{found} is in {units[at]}", expected=f"{found} in {unit}",
                    todo="Export it as kind nvidia_smi shows: plumbline init --kind nvidia_smi.",
                )  # fmt: skip
            fields[dcgm_id] = at, unit
    if _TIME not in names or uuid is None or not fields:
        raise SourceError(
            file.name, f"its first line is {','.join(cells)[:80]!r}",
            expected="the header of nvidia-smi --query-gpu with timestamp, uuid and a counter such "
            "as utilization.gpu",
            todo="Export it as kind nvidia_smi shows: plumbline init --kind nvidia_smi.",
        )  # fmt: skip
    return _Header(names.index(_TIME), uuid, fields)


def _milliseconds(text: str, zone: ZoneInfo) -> int:
    try:
        naive = datetime.strptime(text, "%Y/%m/%d %H:%M:%S.%f")  # noqa: DTZ007 (its zone follows)
    except ValueError:
        raise ValueError(f"timestamp is {text[:40]!r}; expected YYYY/MM/DD HH:MM:SS.mmm") from None
    found = moments(naive, zone)
    if len(found) != 1:
        what = "is twice" if found else "does not exist"
        raise ValueError(f"{text} {what} in {zone.key}; export with TZ=UTC")
    return round(found[0].timestamp() * 1000)


def _value(text: str, unit: str) -> float | None:
    """A cell's number; None where nothing was delivered, NaN where it is no number."""
    if not text or text.startswith("[") or text == "N/A":
        return None
    number = text.removesuffix(unit).strip() if unit else text
    try:
        return float(number)
    except ValueError:
        return nan
