"""How fast, and in how much memory, Kineto traces are read: MB/s of raw JSON, and peak RSS.

    python bench/kineto.py [--mb 400] [--trace FILE] [--window BYTES]

The input is a recorded trace of the example, repeated with shifted times until it is so large, as
.json.gz. Each measurement runs in a process of its own. Beside the reader stand, on the same
bytes: decompression alone (the floor), and Python's own json on one repetition (what most tools
use; the whole file would need about six times its size in memory).
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
_TS = re.compile(rb'("ts": )([0-9]+)')
_EVENTS = b'"traceEvents": ['


def repeated(recorded: Path, target: Path, size: int) -> tuple[int, int]:
    """Write a trace of at least so many bytes of JSON; returns its bytes and repetitions.

    Each repetition comes ten seconds after the one before.
    """
    with igzip.open(recorded) as file:
        text = file.read()
    start = text.index(_EVENTS) + len(_EVENTS)
    end = text.rindex(b"]", 0, text.rindex(b'"traceName"'))
    head, events, tail = text[:start], text[start:end].rstrip(), text[end:]
    count = max(-(-(size - len(head) - len(tail)) // (len(events) + 1)), 1)
    written = len(head) + len(tail)
    with igzip.open(target, "wb", compresslevel=1) as out:
        out.write(head)
        for n in range(count):
            shifted = _TS.sub(
                lambda m, by=10_000_000 * n: m[1] + str(int(m[2]) + by).encode(), events
            )
            part = shifted if n == 0 else b"," + shifted
            written += len(part)
            out.write(part)
        out.write(tail)
    return written, count


def read(path: Path, window: int) -> dict[str, float]:
    """Read a trace as ingest does; events, seconds and peak RSS in MB of this process."""
    from ingest.traces import kineto
    from warehouse.contracts import SourceFile

    file = SourceFile(str(path), path.name, "bench", None, None, {})
    start, cpu, rows, events = time.perf_counter(), time.process_time(), 0, 0
    for batch in kineto.read(file, window=window or kineto.WINDOW_BYTES):
        rows += batch.rows.num_rows
        if batch.table == "trace_header":
            events = batch.rows.column("event_count")[0].as_py()
    return {
        "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
        "events": events, "rows": rows, "rss_mb": _peak_mb(),
    }  # fmt: skip


def decompress(path: Path, _: int) -> dict[str, float]:
    """Decompress only."""
    start, cpu = time.perf_counter(), time.process_time()
    with igzip.open(path) as file:
        while file.read(1 << 20):
            pass
    return {
        "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
        "rss_mb": _peak_mb(),
    }  # fmt: skip


def plain_json(path: Path, _: int) -> dict[str, float]:
    """What json.loads needs for the whole text."""
    with igzip.open(path) as file:
        text = file.read()
    start, cpu = time.perf_counter(), time.process_time()
    json.loads(text)
    return {
        "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
        "rss_mb": _peak_mb(),
    }  # fmt: skip


MEASURES = {"read": read, "decompress": decompress, "json": plain_json}


def measured(name: str, path: Path, window: int) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, __file__, "--measure", name, "--trace", str(path),
         "--window", str(window)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _peak_mb() -> float:
    """This program's own peak: getrusage would count its parent's memory at the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=400)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--measure", choices=MEASURES)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(MEASURES[args.measure](args.trace, args.window)))
        return
    recorded = args.trace or sorted(RECORDED.glob("*.json.gz"))[0]
    with tempfile.TemporaryDirectory() as folder:
        large, one = Path(folder) / "large.json.gz", Path(folder) / "one.json.gz"
        size, count = repeated(recorded, large, args.mb * 1_000_000)
        single, _ = repeated(recorded, one, 1)
        print(f"{size / 1e6:.0f} MB of JSON, {large.stat().st_size / 1e6:.1f} MB compressed: "
              f"{recorded.name} x {count}")  # fmt: skip
        reader = measured("read", large, args.window)
        floor = measured("decompress", large, args.window)
        peer = measured("json", one, args.window)
    for name, found, of in (
        ("read", reader, size), ("decompress", floor, size), ("json.loads", peer, single),
    ):  # fmt: skip
        print(f"{name:<12}{of / 1e6 / found['seconds']:>8.0f} MB/s "
              f"{of / 1e6 / found['cpu']:>8.0f} MB/s of CPU "
              f"{found['rss_mb']:>8.0f} MB peak RSS")  # fmt: skip
    print(f"{reader['events']:.0f} events, {reader['rows']:.0f} rows, "
          f"{reader['events'] / reader['cpu']:.0f} events a CPU second; "
          f"{of_peer(reader, size, peer, single):.1f} x json.loads")  # fmt: skip


def of_peer(
    found: dict[str, float], size: int, peer: dict[str, float], peer_size: int
) -> float:  # fmt: skip
    """How many times faster, in CPU time."""
    return (size / found["cpu"]) / (peer_size / peer["cpu"])


if __name__ == "__main__":
    main()
