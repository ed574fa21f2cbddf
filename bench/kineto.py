"""How fast, and in how much memory, Kineto traces land: from .json.gz to published Parquet.

    python bench/kineto.py [--mb 391] [--trace FILE] [--hta PYTHON] [--json]

The input is a recorded trace, repeated with shifted times and ids until it is so large. Each
measurement runs in a process of its own, on the same bytes, one after the other. Beside ours stand
- limit: decompressing, cutting between events and parsing them into nothing, the least that any
  reader in Python does;
- hta: HolisticTraceAnalysis loading the same file, where `--hta` names a Python that has it
  (`pip install HolisticTraceAnalysis==0.5.0`, best in an environment of its own).
CPU seconds count more than seconds: they depend less on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from isal import igzip

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

RECORDED = REPO / "examples/h200/recordings/two-gpu/job_2003/kineto"
#: Numbers that differ between repetitions: times by seconds, ids by what no trace reaches.
_TS = re.compile(rb'("ts": )([0-9]+)')
_IDS = re.compile(rb'("(?:correlation|External id|Ev Idx|id)": )([0-9]+)')
_STEP = re.compile(rb"(ProfilerStep#)([0-9]+)")
_BY = ((_TS, 10_000_000), (_IDS, 10_000_000), (_STEP, 1000))
_EVENTS = b'"traceEvents": ['
_MB = 1_000_000
_HTA = """
import json, logging, resource, sys, time
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
start, cpu = time.perf_counter(), time.process_time()
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
print(json.dumps({
    "wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu,
    "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def repeated(recorded: Path, target: Path, size: int) -> tuple[int, int]:
    """Write a trace of at least so many bytes of JSON; returns its bytes and repetitions.

    Each repetition comes ten seconds after the one before.
    """
    text = igzip.open(recorded).read() if recorded.suffix == ".gz" else recorded.read_bytes()
    start = text.index(_EVENTS) + len(_EVENTS)
    # One byte is one character here, so that the place behind the list is an offset.
    end = json.JSONDecoder().raw_decode(text.decode("latin-1"), start - 1)[1] - 1
    head, events, tail = text[:start], text[start:end].rstrip(), text[end:]
    count = max(-(-(size - len(head) - len(tail)) // (len(events) + 1)), 1)
    written = len(head) + len(tail)
    with igzip.open(target, "wb", compresslevel=1) as out:
        out.write(head)
        for n in range(count):
            part = events if n == 0 else b"," + _shifted(events, n)
            written += len(part)
            out.write(part)
        out.write(tail)
    return written, count


def _shifted(events: bytes, n: int) -> bytes:
    for pattern, by in _BY:
        events = pattern.sub(lambda m, by=by: m[1] + str(int(m[2]) + by * n).encode(), events)
    return events


def land(path: Path) -> dict[str, float]:
    """Land a trace as a run does: read, store, publish."""
    from ingest.traces import kineto
    from warehouse.contracts import LANDING, SourceFile
    from warehouse.store import Store

    file = SourceFile(str(path), path.name, "bench", None, None, {})
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "warehouse")
        start, cpu = time.perf_counter(), time.process_time()
        with store.transaction() as transaction:
            counts = transaction.replace(
                "landing", "bench", kineto.read(file), fingerprint="bench", meta={},
                contracts=LANDING,
            )  # fmt: skip
            transaction.commit()
        took = {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}
        stored = sum(entry.bytes for table in counts for entry in store.files(table))
        (header,) = store.files("trace_header")
        (row,) = store.open(header).to_pylist()
    return {
        **took, "rss_mb": _peak_mb(), "rows": sum(counts.values()), "events": row["event_count"],
        "stored_mb": stored / _MB,
    }  # fmt: skip


def read(path: Path) -> dict[str, float]:
    """Read a trace as ingest does, and keep nothing."""
    from ingest.traces import kineto
    from warehouse.contracts import SourceFile

    file = SourceFile(str(path), path.name, "bench", None, None, {})
    start, cpu, rows, events = time.perf_counter(), time.process_time(), 0, 0
    for batch in kineto.read(file):
        rows += batch.rows.num_rows
        if batch.table == "trace_header":
            events = batch.rows.column("event_count")[0].as_py()
    return {
        "wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu,
        "events": events, "rows": rows, "rss_mb": _peak_mb(),
    }  # fmt: skip


def limit(path: Path) -> dict[str, float]:
    """Decompress, cut and parse: each event is seen, and none kept."""
    from ingest.traces.chunks import EventList
    from warehouse.contracts import SourceFile

    events = EventList(SourceFile(str(path), path.name, "bench", None, None, {}))
    start, cpu = time.perf_counter(), time.process_time()
    events.open()
    for _ in events.pieces(_Nothing()):
        pass
    return {
        "wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu,
        "rss_mb": _peak_mb(),
    }  # fmt: skip


class _Nothing:
    """A decoder that parses all of the text and keeps its braces."""

    def __init__(self) -> None:
        import msgspec

        self._decoder = msgspec.json.Decoder(list[msgspec.Raw])

    def events(self, data: bytes) -> list[object]:
        return list(self._decoder.decode(data))

    def event(self, data: bytes) -> object:
        return data


MEASURES = {"land": land, "read": read, "limit": limit}


def measured(name: str, path: Path) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    return _run([sys.executable, __file__, "--measure", name, "--trace", str(path)])


def _run(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _peak_mb() -> float:
    """This program's own peak: getrusage would count its parent's memory at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=391, help="MB of JSON")
    parser.add_argument("--trace", type=Path, help="trace to repeat; default: a recorded one")
    parser.add_argument("--hta", metavar="PYTHON", help="Python with HolisticTraceAnalysis")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(MEASURES[args.measure](args.trace)))
        return
    recorded = args.trace or sorted(RECORDED.glob("*.json.gz"))[0]
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.json.gz"
        size, count = repeated(recorded, large, args.mb * _MB)
        packed_mb = large.stat().st_size / _MB
        found = {name: measured(name, large) for name in MEASURES}
        if args.hta:
            found["hta"] = _run([args.hta, "-c", _HTA, str(large)])
    ours = found["land"]
    ratio = {name: found[name]["cpu_s"] / ours["cpu_s"] for name in found}
    if args.json:
        print(json.dumps({
            "raw_mb": size / _MB, "wall_s": ours["wall_s"], "cpu_s": ours["cpu_s"],
            "mb_per_cpu_s": size / _MB / ours["cpu_s"],
            "events_per_s": ours["events"] / ours["wall_s"], "peak_rss_mb": ours["rss_mb"],
            "ratio_vs_hta": ratio.get("hta"), "ratio_vs_limit": ratio["limit"],
        }))  # fmt: skip
        return
    print(f"{size / _MB:.0f} MB of JSON, {packed_mb:.1f} MB compressed: {recorded.name} x {count}; "
          f"{ours['events']:.0f} events, {ours['stored_mb']:.1f} MB of Parquet")  # fmt: skip
    for name, row in found.items():
        print(f"{name:<6}{row['wall_s']:>8.2f} s{row['cpu_s']:>8.2f} s of CPU"
              f"{size / _MB / row['cpu_s']:>8.0f} MB/s of CPU{row['rss_mb']:>8.0f} MB peak RSS"
              f"{ratio[name]:>8.2f} x the CPU of land")  # fmt: skip


if __name__ == "__main__":
    main()
