"""How fast a month's report is written, and how large its pages are.

    python bench/report.py [--teams 200] [--jobs 5000]

The published tables are made for it: every team has fifteen buckets, one job in twenty is traced
on two ranks, every job has thirty kernels, the bill has 100,000 lines. Compared with the limits:
20 s on two cores, 5 MB a page. CPU time is given too, since it depends less on what else the
machine does.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

LIMIT_S, LIMIT_BYTES, CORES = 20, 5_000_000, 2


def cpu_s() -> float:
    """CPU seconds of this process and of those that it has ended."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, whose))


def main() -> None:
    """Write the report once and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teams", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=5000)
    options = parser.parse_args()
    from reports.folder import folder
    from reports.write import write_report
    from tests.reports.fleet import fleet
    from tests.reports.marts import NOVEMBER

    with tempfile.TemporaryDirectory() as work:
        tables = Path(work) / "tables"
        tables.mkdir()
        marts = fleet(tables, teams=options.teams, jobs=options.jobs)
        start, before = time.perf_counter(), cpu_s()
        with folder(Path(work) / "report") as target:
            write_report(marts, NOVEMBER, target)
        took, used = time.perf_counter() - start, cpu_s() - before
        sizes = sorted(p.stat().st_size for p in (Path(work) / "report").rglob("*.html"))
    load = os.getloadavg()[0]
    print(f"{options.teams} teams, {options.jobs} jobs: {len(sizes)} pages, load {load:.1f}")
    print(f"time   {took:6.1f} s   {took / LIMIT_S:.2f} of the limit")
    print(f"cpu    {used:6.1f} s   {used / CORES / LIMIT_S:.2f} of two cores in that time")
    print(f"page   {sizes[-1] / 1e6:6.2f} MB  {sizes[-1] / LIMIT_BYTES:.2f} of the limit")


if __name__ == "__main__":
    main()
