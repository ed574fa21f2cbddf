"""How fast, and in how much memory, Nsight Systems exports are read: events/s, and peak RSS.

    python bench/nsys.py EXPORT.sqlite [--times 50] [--json]

The input is an export, its events repeated with shifted times. The reading runs in a process of
its own.
"""

# ruff: noqa: S608 - names of tables and columns, quoted.

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

SHIFT_NS = 10_000_000_000


def repeated(source: Path, target: Path, times: int) -> None:
    """Write the export with each event that many times, ten seconds apart."""
    from ingest.traces.nsys_events import EVENT_TABLES

    shutil.copyfile(source, target)
    target.chmod(0o644)
    with closing(sqlite3.connect(target)) as connection:
        for table in EVENT_TABLES:
            columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
            if not columns:
                continue
            names = ", ".join(f'"{name}"' for name in columns)
            moved = ", ".join(
                f'"{name}" + ? * {SHIFT_NS}' if name in ("start", "end") else
                f'"{name}" + ? * 0' if name in ("globalPid", "globalTid") else f'"{name}"'
                for name in columns
            )  # fmt: skip
            count = sum(name in ("start", "end", "globalPid", "globalTid") for name in columns)
            (last,) = connection.execute(f"select max(rowid) from {table}").fetchone()
            for turn in range(1, times):
                connection.execute(
                    f"insert into {table} ({names}) select {moved} from {table} "
                    f"where rowid <= {last or 0}",
                    [turn] * count,
                )
        connection.commit()


def read(path: Path) -> dict[str, float]:
    """Read the export in this process: seconds, rows and peak memory."""
    from ingest.traces import nsys
    from warehouse.contracts import SourceFile

    start, rows = time.perf_counter(), 0
    for batch in nsys.read(SourceFile(str(path), path.name, "bench", None, None, {})):
        rows += batch.rows.num_rows
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu, size = usage.ru_utime + usage.ru_stime, path.stat().st_size / 1e6
    return {
        "mb": size, "rows": rows, "wall_s": time.perf_counter() - start, "cpu_s": cpu,
        "mb_per_cpu_s": size / cpu, "rows_per_cpu_s": rows / cpu,
        "peak_rss_mb": usage.ru_maxrss / 1024,
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("export", type=Path)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--json", action="store_true", help="one object instead of text")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        print(json.dumps(read(args.export)))
        return
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.sqlite"
        repeated(args.export, large, args.times)
        done = subprocess.run(  # noqa: S603 - this file
            [sys.executable, __file__, str(large), "--here"],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    if args.json:
        print(done.stdout.strip())
        return
    found = json.loads(done.stdout)
    print(f"{found['mb']:,.0f} MB, {found['rows']:,} rows: {found['cpu_s']:.1f} CPU s, "
          f"{found['rows_per_cpu_s']:,.0f} rows and {found['mb_per_cpu_s']:.0f} MB per CPU s, "
          f"peak {found['peak_rss_mb']:,.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
