"""Take sources away from a month, whole or in part, as a real loss would show in landing rows.

Three ways, each for one source: it is absent (`without`), it has a hole (`with_hole`: a stretch or
some files were never exported), or some of its records cannot be read (`with_rejects`: the records
are gone, `reject` has them, and coverage is cut for their node, job and time, or, when these are
unknown, for all that the file covers). None adds a fact: each leaves less to know than before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import combinations
from random import Random
from typing import Any

from tests.oracle.profiled import EVENTS
from tests.oracle.world import CLUSTER, PERIOD_S, Row, Tables, time_of

#: Each source with the landing tables that it fills. `gpu_indices` is the prolog's snapshots.
SOURCES: dict[str, tuple[str, ...]] = {
    "scheduler": ("job_attempt", "job_gpu"),
    "gpu_indices": ("job_gpu",),
    "telemetry": ("gpu_sample",),
    "steps": ("train_step",),
    "checkpoints": ("checkpoint",),
    "inventory": ("gpu_inventory",),
    "node_events": ("node_event",),
    "traces": ("trace_header", *EVENTS),
    "collectives": ("collective",),
}
#: What the dice of `taken` choose from; traces have dice of their own, so that seeds keep their
#: months and losses.
DRAWN = tuple(name for name in sorted(SOURCES) if name not in ("traces", "collectives"))
#: The name in source_coverage of each source that has one of its own.
COVERAGE = {
    "scheduler": "scheduler", "telemetry": "telemetry", "steps": "steps",
    "checkpoints": "checkpoints", "node_events": "node_event",
}  # fmt: skip
#: Configuration kind under which rejects of a table are kept.
KINDS = {
    "job_attempt": "sacct", "job_gpu": "scontrol_job", "gpu_sample": "nvml_csv",
    "train_step": "step_log", "checkpoint": "checkpoint_log", "gpu_inventory": "gpu_inventory",
    "node_event": "sacctmgr_event", "collective": "flight_recorder",
    **dict.fromkeys(EVENTS, "kineto"),
}  # fmt: skip


def subsets(sources: Sequence[str] = tuple(SOURCES)) -> Iterator[tuple[str, ...]]:
    """Every subset, the empty one first."""
    for size in range(len(sources) + 1):
        yield from combinations(sources, size)


def without(tables: Tables, *sources: str) -> Tables:
    """The month without these sources: neither rows nor coverage of theirs."""
    gone = {table for source in sources for table in SOURCES[source]}
    blind = {COVERAGE[source] for source in sources if source in COVERAGE}
    return {
        name: [] if name in gone else [
            row for row in rows if name != "source_coverage" or row["source"] not in blind
        ]
        for name, rows in tables.items()
    }  # fmt: skip


def with_hole(tables: Tables, source: str, rng: Random) -> Tables:
    """The month with a part of one source missing that nobody tried to read.

    Scheduler and node events: the export was not asked for a stretch of time; a record that
    reaches into the asked time is still there. Telemetry: one GPU, one node or all of them have no
    samples in a stretch. Steps, traces, collectives: whole files are absent. Checkpoints,
    inventory, GPU indices: some records are absent.
    """
    result = {name: list(rows) for name, rows in tables.items()}
    start, end = _stretch(tables, rng)
    if source in ("scheduler", "node_events"):
        name = SOURCES[source][0]
        result["source_coverage"] = [
            part for row in tables["source_coverage"]
            for part in (
                _around(row, start, end) if row["source"] == COVERAGE[source] else [row]
            )
        ]  # fmt: skip
        asked = [
            (r["start"], r["end"]) for r in result["source_coverage"]
            if r["source"] == COVERAGE[source] and not r["is_cut"]
        ]  # fmt: skip
        result[name] = [
            row for row in tables[name]
            if any(row["start"] < b and (row["end"] is None or row["end"] > a) for a, b in asked)
        ]  # fmt: skip
        if source == "scheduler":
            kept = {(row["job_id"], row["start"]) for row in result["job_attempt"]}
            result["job_gpu"] = [r for r in tables["job_gpu"] if (r["job_id"], r["start"]) in kept]
        return result
    table = SOURCES[source][0]
    if source in ("traces", "collectives"):
        files = sorted({row["source_file"] for row in tables[table]})
        absent = {file for file in files if rng.random() < 0.5}
        for name in SOURCES[source]:
            result[name] = [row for row in tables[name] if row["source_file"] not in absent]
        return result
    if source == "telemetry":
        uuids = sorted({row["gpu_uuid"] for row in tables["gpu_sample"]})
        dark = {uuid for uuid in uuids if rng.random() < 0.6}
        lost = [r for r in tables[table] if r["gpu_uuid"] in dark and start <= r["ts"] < end]
    elif source == "steps":
        logs = sorted({row["source_file"] for row in tables[table]})
        gone = {log for log in logs if rng.random() < 0.5}
        lost = [row for row in tables[table] if row["source_file"] in gone]
        result["source_coverage"] = [
            row for row in tables["source_coverage"] if row["source_file"] not in gone
        ]
    else:
        lost = [row for row in tables[table] if rng.random() < 0.4]
    drop = {id(row) for row in lost}
    result[table] = [row for row in tables[table] if id(row) not in drop]
    return result


def with_rejects(tables: Tables, source: str, rng: Random) -> Tables:
    """The month with some records of one source unreadable, and coverage cut for them."""
    result = {name: list(rows) for name, rows in tables.items()}
    # A header is not a record: what is lost of a trace is events.
    table = rng.choice([name for name in SOURCES[source] if name != "trace_header"])
    rows = tables[table]
    bad = rng.sample(rows, min(len(rows), rng.choice((1, 1, 2, 5))))
    # A snapshot of a job is one record, and all its GPUs go with it.
    gone = {_record(table, row) for row in bad}
    result[table] = [row for row in rows if _record(table, row) not in gone]
    for row in {_record(table, row): row for row in bad}.values():
        result["reject"].append(
            {
                "source": KINDS[table], "file": row["source_file"],
                "position": f"record {row.get('event_no', row.get('source_row'))}",
                "reason": "a field is missing", "raw": "...",
            }
        )  # fmt: skip
        result["source_coverage"] += _cuts(tables, table, row, known=rng.random() < 0.5)
    if source == "traces":
        lost = Counter(file for file, _ in gone)
        result["trace_header"] = [
            row | {"reject_count": row["reject_count"] + lost[row["source_file"]]}
            for row in tables["trace_header"]
        ]
    return result


def taken(tables: Tables, rng: Random) -> tuple[str, Tables]:
    """A random loss of one to five steps; returns what was done, in words, and what is left."""
    ways: dict[str, Callable[[Tables, str, Random], Tables]] = {
        "without": lambda t, source, _: without(t, source),
        "hole in": with_hole,
        "rejects in": with_rejects,
    }
    told = []
    for _ in range(rng.randint(1, 4)):
        way, source = rng.choice(sorted(ways)), rng.choice(DRAWN)
        tables = ways[way](tables, source, rng)
        told.append(f"{way} {source}")
    own = Random(", ".join(told))
    if own.random() < 0.4:
        way, source = own.choice(sorted(ways)), own.choice(("traces", "traces", "collectives"))
        tables = ways[way](tables, source, own)
        told.append(f"{way} {source}")
    return ", ".join(told), tables


# --- pieces -------------------------------------------------------------------------------------


def _stretch(tables: Tables, rng: Random) -> tuple[datetime, datetime]:
    """A stretch of one minute to an hour and a half in the month's time."""
    times = [row["charge_period_start"] for row in tables["bill_line"] if row["resource_id"]]
    start = min(times) + timedelta(seconds=rng.randrange(4 * 3600))
    return start, start + timedelta(seconds=rng.randrange(60, 5400))


def _around(row: Row, start: datetime, end: datetime) -> list[Row]:
    """What is left of a coverage row before and after a stretch, each with a number of its own."""
    parts = [(row["start"], min(row["end"], start)), (max(row["start"], end), row["end"])]
    if row["is_cut"] or row["end"] <= start or row["start"] >= end:
        return [row]
    return [
        row | {"start": a, "end": b, "source_row": 2 * row["source_row"] - 1 - i}
        for i, (a, b) in enumerate(parts)
        if a < b
    ]


def _record(table: str, row: Row) -> tuple[Any, ...]:
    """Which record of which file a row comes from."""
    if table == "job_gpu":
        return row["source_file"], row["job_id"], row["start"]
    if table in EVENTS:
        return row["source_file"], row["event_no"]
    return row["source_file"], row["source_row"]


def _cuts(tables: Tables, table: str, row: Row, *, known: bool) -> list[Row]:
    """Coverage that one unreadable record costs: its node or job and its time, else its file's.

    A step log with a reject is blind for all its time. A lost snapshot of GPU indices costs none:
    who held which node is still known.
    """
    source = {
        "job_attempt": "scheduler", "gpu_sample": "telemetry", "train_step": "steps",
        "checkpoint": "checkpoints", "node_event": "node_event",
    }.get(table)  # fmt: skip
    if source is None:
        return []
    start, end = _, last = _file_span(tables, source, row["source_file"])
    nodes: list[str | None] = [None]
    cut: Row = {
        "source": source, "is_cut": True, "source_file": row["source_file"],
        "source_row": row["source_row"], "cluster": CLUSTER,
    }  # fmt: skip
    if table == "train_step" or (table == "checkpoint" and known):
        cut |= {"job_id": row["job_id"], "attempt": row["attempt"]}
    if table == "checkpoint" and known:
        start, end = (time_of(row[name] / 10**9) for name in ("start_ns", "end_ns"))
    elif table == "gpu_sample":
        # The sampler's file is one node's, and a bad line lies between two good ones.
        nodes = [_node_of(tables, row["gpu_uuid"])]
        start = row["ts"] - timedelta(seconds=PERIOD_S)
        end = row["ts"] + timedelta(seconds=PERIOD_S)
    elif table in ("job_attempt", "node_event") and known:
        nodes = row["nodes"] if table == "job_attempt" else [row["node"]]
        start, end = row["start"], row["end"] or last
    if end <= start:
        return []
    return [cut | {"node": node, "start": start, "end": end} for node in nodes]


def _file_span(tables: Tables, source: str, file: str) -> tuple[datetime, datetime]:
    """What a file covers; a file without coverage of its own has that of its source."""
    rows = [r for r in tables["source_coverage"] if r["source"] == source and not r["is_cut"]]
    own = [row for row in rows if row["source_file"] == file] or rows
    if not own:
        own = [row for row in tables["source_coverage"] if row["source"] == "bill"]
    return min(row["start"] for row in own), max(row["end"] for row in own)


def _node_of(tables: Tables, uuid: str) -> str | None:
    return next((r["node"] for r in tables["gpu_inventory"] if r["gpu_uuid"] == uuid), None)
