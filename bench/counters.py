"""How fast, and how small, GPU counters land: from a real Prometheus to published Parquet.

    python bench/counters.py [--gpus 256] [--hours 1] [--period 30] [--json]

A Prometheus on loopback (programs `prometheus` and `promtool`) is seeded with every field that is
landed, of so many GPUs that work and idle in turns. `collect` asks it, hour by hour; `land` reads
the files and stores them, in one process of its own. What counts is the CPU of both, per sample;
beside it stands what parsing the answers into columns costs alone.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

START = 1_796_068_800
_CONFIG = """\
[warehouse]
root = "out"
threads = 1
[[source]]
kind = "prometheus"
cluster = "bench"
files = ["prom/*.jsonl.gz"]
url = "{url}"
since = {since}
"""


def seeded(gpus: int, hours: int, period: int) -> Iterator[tuple[str, str, int, float]]:
    """Samples of every field: phases of work and of rest, with noise; energy adds up."""
    from ingest.counters.fields import FIELDS

    noise = random.Random(7)  # noqa: S311 (a bench)
    for gpu in range(gpus):
        uuid = f"GPU-{gpu:08x}-1111-2222-3333-444455556666"
        labels = f'{{UUID="{uuid}",gpu="{gpu % 8}",Hostname="n{gpu // 8}",pod="job-{gpu // 8}"}}'
        for field in FIELDS.values():
            name, total = field.names[0], 1e12
            for step in range(1, hours * 3600 // period + 1):
                at = START + step * period
                works = math.sin(at / 900 + gpu) > -0.3
                if field.kind == "counter":
                    total += (600_000 if works else 120_000) * period
                    value = total
                elif field.kind == "rate":
                    value = float(noise.randrange(10**9)) if works else 0.0
                elif field.column.endswith("_ratio"):
                    top = 100 if field.column == "gpu_util_ratio" else 1
                    value = round(top * (0.6 + 0.3 * noise.random()), 6) if works else 0.0
                    value = float(round(value)) if top == 100 else value
                else:
                    value = float(round(300 + 50 * noise.random()))
                yield name, labels, at * 1000, value


def land(folder: Path) -> dict[str, float]:
    """Land what was collected, as a run does."""
    from pipelines.config import load_config
    from pipelines.landing import land as land_all
    from pipelines.run import open_store

    config = load_config(folder / "plumbline.toml")
    store = open_store(config)
    start, cpu = time.perf_counter(), time.process_time()
    with store.transaction() as transaction:
        landed = land_all(config, store, transaction, progress=lambda _: None)
    took = {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}
    files = store.files("gpu_sample")
    return {
        **took, "rows": landed.rows["gpu_sample"], "stored_bytes": sum(f.bytes for f in files),
        "peak_rss_mb": _peak_mb(),
    }  # fmt: skip


def parse(folder: Path) -> dict[str, float]:
    """Decompress the answers and parse them into columns, and keep nothing."""
    from isal import igzip

    from ingest.counters.series import samples

    start, count = time.process_time(), 0
    for path in sorted((folder / "prom").glob("*.jsonl.gz")):
        for line in igzip.open(path):
            if not line.startswith(b'{"start_ms"'):
                count += len(samples(line).ms)
    return {"cpu_s": time.process_time() - start, "samples": count}


MEASURES = {"land": land, "parse": parse}


def _peak_mb() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def _measured(name: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", name, "--folder", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _collected(folder: Path, hours: int) -> dict[str, float]:
    from pipelines.collect import collect
    from pipelines.config import load_config

    now = datetime.fromtimestamp(START + hours * 3600 + 400, UTC)
    start, cpu = time.perf_counter(), time.process_time()
    config = load_config(folder / "plumbline.toml")
    collect(config, only=None, now=now, progress=lambda _: None)
    return {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpus", type=int, default=256, help="GPUs")
    parser.add_argument("--hours", type=int, default=1, help="hours of samples")
    parser.add_argument("--period", type=int, default=30, help="seconds between samples")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(MEASURES[args.measure](args.folder)))
        return
    from tests.pipelines.servers import prometheus, seed_prometheus

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seed_prometheus(folder, list(seeded(args.gpus, args.hours, args.period)))
        since = datetime.fromtimestamp(START, UTC).isoformat()
        with prometheus(folder) as url:
            (folder / "plumbline.toml").write_text(_CONFIG.format(url=url, since=since))
            collect = _collected(folder, args.hours)
        parsed, landed = (_measured(measure, folder) for measure in ("parse", "land"))
        packed = sum(path.stat().st_size for path in (folder / "prom").iterdir())
    from ingest.counters.fields import FIELDS

    count = landed["rows"] * len(FIELDS)
    cpu = collect["cpu_s"] + landed["cpu_s"]
    if args.json:
        print(json.dumps({
            "samples": count, "cpu_s": cpu, "samples_per_cpu_s": count / cpu,
            "bytes_per_sample": landed["stored_bytes"] / count,
            "peak_rss_mb": landed["peak_rss_mb"],
        }))  # fmt: skip
        return
    print(f"{count:,.0f} samples of {args.gpus} GPUs, {landed['rows']:,.0f} rows, "
          f"{packed / count:.2f} bytes a sample collected, "
          f"{landed['stored_bytes'] / count:.2f} stored")  # fmt: skip
    for what, seconds in (("collect", collect["cpu_s"]), ("land", landed["cpu_s"]),
                          ("both", cpu), ("parse alone", parsed["cpu_s"])):  # fmt: skip
        print(f"{what:<12}{seconds:>8.2f} s of CPU{count / seconds / 1e6:>8.2f} M samples/s of CPU")
    print(f"peak of land {landed['peak_rss_mb']:.0f} MB")


if __name__ == "__main__":
    main()
