"""`sacctmgr show event --parsable2` to node_event: when a node was not fit for work.

A state is a base and flags, such as `DOWN*`, `DOWN+DRAIN` or `IDLE+DRAIN`. What it proves:

- down (counts even while a job holds the GPU): only the base state DOWN, since then none runs;
- maintenance, boot, drain (count only while no job holds the GPU): MAINT; REBOOT and POWERING_UP
  or _DOWN and the like; DRAIN, FAIL, no answer, powered off, and UNK (between the controller's
  start and the node's first answer). Jobs may go on under each of these.

A record whose state has none of these words is a reject, one that only says that the node works
(IDLE, ALLOCATED, MIXED, ...) is none. Rows without a node tell of the cluster and are left out;
so are events that end at the instant at which they start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.jobs import parsable
from ingest.jobs.coverage import Coverage
from ingest.jobs.layout import Grammar, Layout
from ingest.jobs.parsable import Record
from ingest.jobs.slurm_text import Clock, clock, held_interval, hosts, is_time, or_nothing
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, Rejects, Rows, time_of_ns
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import ConfigError

#: The command that exports what this module reads; FROM and TO are times such as 2026-11-01.
EXPORT = "TZ=UTC SLURM_TIME_FORMAT=%s sacctmgr --parsable2 show event start=FROM end=TO"

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "delimiter": 'what stands between columns; default "|"',
    "timezone": "IANA zone in which sacctmgr ran; needed where times are no epoch seconds",
    "provider_reasons": "regular expressions: a reason that has one is the provider's fault",
    "maintenance_reasons": "regular expressions: a drain whose reason has one is own maintenance",
}

# What each word of a state proves; the first kind that any word has wins. sinfo's older words for
# two flags at once (DRAINED, DRAINING, FAILING) stand beside the flags.
_KINDS = (
    ("down", frozenset({"DOWN"})),
    ("maintenance", frozenset({"MAINT"})),
    ("boot", frozenset({
        "REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED", "BOOT", "POWERING_UP", "POWER_UP",
        "POWERING_DOWN", "POWER_DOWN",
    })),
    ("drain", frozenset({
        "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NO_RESPOND", "NOT_RESPONDING",
        "POWERED_DOWN", "POWER_DRAIN", "INVAL", "INVALID_REG", "BLOCKED", "ERROR", "UNK",
        "UNKNOWN", "FUTURE",
    })),
)  # fmt: skip
_FIT = frozenset({
    "IDLE", "ALLOCATED", "ALLOC", "MIXED", "COMPLETING", "PLANNED", "RESERVED", "RESUME", "UNDRAIN",
    "CLOUD", "DYNAMIC_NORM", "REBOOT_CANCEL", "PERFCTRS", "EXTERNAL",
})  # fmt: skip
# Marks that sinfo puts behind a state: no answer, powering, reboot, maintenance, planned.
_MARKS = "*~#!%$@^-"
_STATE = re.compile(r"[A-Z_]+[*~#!%$@^\-]*(\+[A-Z_]+[*~#!%$@^\-]*)*")
_NODE_OK = re.compile(r"[\w.\-\[\],]*")
_S = 1_000_000_000

GRAMMAR = Grammar(
    command="sacctmgr show event --parsable2",
    export=EXPORT,
    required=(("NodeName",), ("TimeStart",), ("TimeEnd",), ("State",)),
    checks={
        "NodeName": lambda text: _NODE_OK.fullmatch(text) is not None,
        "TimeStart": is_time,
        "TimeEnd": is_time,
        "State": lambda text: text == "" or _STATE.fullmatch(text) is not None,
    },
    anchors={
        "Cluster": lambda text: re.fullmatch(r"[^\s|]+", text) is not None,
        "User": lambda text: re.fullmatch(r"([^\s|]+\(\d+\))?", text) is not None,
    },
    free=frozenset({"Reason"}),
    landed=frozenset({"Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "Reason"}),
    starts=("TimeStart", "TimeEnd", "NodeName"),
)


@dataclass(frozen=True)
class Options:
    clock: Clock
    provider: tuple[re.Pattern[str], ...]
    maintenance: tuple[re.Pattern[str], ...]


@dataclass(frozen=True)
class _Event:
    cluster: str
    nodes: list[str]
    start_s: int
    end_s: int | None
    kind: str | None
    sub: str | None
    state: str
    reason: str | None


def read(file: SourceFile) -> Iterator[Batch]:
    """node_event, reject and source_coverage (source `node_event`) of one output.

    Raises SourceError where the file is no such output, ConfigError where an option is wrong, or
    missing for what the file holds.
    """
    options = read_options(file)
    rows, rejects = Rows("node_event", file), Rejects(file, "sacctmgr_event")
    coverage = Coverage(file, "node_event")
    layout, records = parsable.open_table(file, GRAMMAR)
    if "Cluster" not in layout.names and file.cluster is None:
        raise ConfigError(
            f"source {file.source!r}: {file.name} has no column Cluster, so the source needs "
            'cluster = "..." (the name that `scontrol show config` prints as ClusterName)'
        )
    for record in records:
        try:
            event = _event(record, file, options)
        except ValueError as error:
            rejects.put(f"line {record.line}", str(error), _shown(record, layout))
            _cut(coverage, record, file, options)
            yield from rejects.flush(at_least=BATCH_ROWS)
            continue
        coverage.see(event.cluster, start_s=event.start_s, end_s=event.end_s)
        if event.kind is not None and event.start_s != event.end_s:
            for node in event.nodes:
                rows.add(
                    cluster=event.cluster, node=node, start=time_of_ns(event.start_s * _S),
                    end=None if event.end_s is None else time_of_ns(event.end_s * _S),
                    kind=event.kind, sub=event.sub, state=event.state, reason=event.reason,
                    source_row=record.line,
                )  # fmt: skip
        yield from rows.flush(at_least=BATCH_ROWS)
    yield from rows.flush()
    yield from rejects.flush()
    yield from coverage.batches()


def read_options(file: SourceFile) -> Options:
    """The options of a source of this kind; ConfigError where one cannot be."""
    check_options(file, OPTIONS)
    parsable.delimiter_of(file)
    return Options(
        clock(file, EXPORT),
        _patterns(file, "provider_reasons"),
        _patterns(file, "maintenance_reasons"),
    )


def _patterns(file: SourceFile, name: str) -> tuple[re.Pattern[str], ...]:
    given = file.options.get(name, [])
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ConfigError(
            f"source {file.source!r}: {name} = {given!r} is no list of regular expressions, "
            'such as ["Xid 79", "(?i)provider"]'
        )
    try:
        return tuple(re.compile(text) for text in given)
    except re.error as error:
        raise ConfigError(
            f"source {file.source!r}: {name} has {error.pattern!r}, "
            f"which is no regular expression: {error.msg}"
        ) from error


def _event(record: Record, file: SourceFile, options: Options) -> _Event:
    """One event; kind None where the node is fit, or where no node is named."""
    if record.problem is not None:
        raise ValueError(record.problem)
    cells = record.cells
    if record.bad:
        found = ", ".join(f"{name} = {cells[name]!r}" for name in record.bad)
        raise ValueError(f"{found}: not of the column's type; is a field missing or too many?")
    cluster = cells.get("Cluster") or file.cluster
    if cluster is None:
        raise ValueError("Cluster is blank and the source names no cluster")
    starts = options.clock.read(cells["TimeStart"])
    ends = options.clock.read(cells["TimeEnd"])
    if not starts:
        raise ValueError(f"TimeStart is {cells['TimeStart']!r}, expected a time")
    start, end = held_interval(starts, ends, submits=(), held_s=None)
    nodes, state, reason = hosts(cells["NodeName"]), cells["State"], cells.get("Reason") or None
    kind = kind_of(state) if nodes else None
    sub = _sub(kind, reason or "", options)
    return _Event(cluster, nodes, start, end, kind, sub, state, reason)


def kind_of(state: str) -> str | None:
    """down, maintenance, boot or drain; None where the state says that the node is fit.

    Raises ValueError for a state without any word that is known.
    """
    words = {word.rstrip(_MARKS) for word in state.split("+")}
    for kind, known in _KINDS:
        if words & known:
            return kind
    if words <= _FIT:
        return None
    raise ValueError(f"State {state!r} has the unknown word {', '.join(sorted(words - _FIT))!r}")


def _sub(kind: str | None, reason: str, options: Options) -> str | None:
    if kind is not None and any(pattern.search(reason) for pattern in options.provider):
        return "provider_fault"
    if kind == "boot":
        return "boot"
    if kind == "maintenance":
        return "own_maintenance"
    if kind == "drain" and any(pattern.search(reason) for pattern in options.maintenance):
        return "own_maintenance"
    return None


def _cut(coverage: Coverage, record: Record, file: SourceFile, options: Options) -> None:
    """Blind the file for a bad row: its nodes and time where they are sure, else all of it."""
    cells = record.cells
    nodes: list[str] = []
    start = end = None
    if record.problem is None and len(record.bad) <= 1:
        nodes = list(or_nothing(hosts, cells["NodeName"]))
        starts = or_nothing(options.clock.read, cells["TimeStart"])
        ends = or_nothing(options.clock.read, cells["TimeEnd"])
        start, end = min(starts, default=None), max(ends, default=None)
        if start is not None and end is not None and end < start:
            start = end = None
    cluster = cells.get("Cluster") or file.cluster
    coverage.cut(record.line, cluster=cluster, nodes=nodes, start_s=start, end_s=end)


def _shown(record: Record, layout: Layout) -> str:
    if record.cells:
        return layout.delimiter.join(record.cells[name] for name in layout.names)
    return record.text
