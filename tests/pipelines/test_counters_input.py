"""Counters of a Prometheus through a whole run: a dead collector is never called idle."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.ingest.counters.test_doubt import ENERGY
from tests.ingest.counters.test_prometheus import ENGINE, UTIL, A, B, answer, labels
from tests.pipelines.command import CONFIG, cluster, done

#: 10:00 UTC, when job 7 begins on both GPUs of its node; it ends at 10:30, the bill at 11:00.
T0 = 1_794_304_800
PCIE = ("DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES")
NVLINK = ("DCGM_FI_PROF_NVLINK_TX_BYTES", "DCGM_FI_PROF_NVLINK_RX_BYTES")
PROMETHEUS = '[[source]]\nkind = "prometheus"\ncluster = "c1"\nfiles = ["prom/*.jsonl"]\n'

#: What a GPU says at a second of the hour, by field; a field that is absent was not delivered.
Says = Callable[[int], Mapping[str, float]]


def idle(second: int) -> dict[str, float]:
    return {
        ENGINE: 0.0,
        UTIL: 0,
        ENERGY: 1e9 + second * 70_000,
        **dict.fromkeys(PCIE + NVLINK, 0.0),
    }


def busy(second: int) -> dict[str, float]:
    return {**idle(second), ENGINE: 0.75, UTIL: 100, ENERGY: 1e9 + second * 600_000}


def stuck(second: int) -> dict[str, float]:
    """Profiling counters at exactly 0 while kernels run."""
    return {**busy(second), ENGINE: 0.0}


def hung(second: int) -> dict[str, float]:
    """The host engine hangs in an idle minute; its exporter goes on."""
    return idle(min(second, 60))


def silent(_: int) -> dict[str, float]:
    return {}


def restarted(second: int) -> dict[str, float]:
    """The driver was loaded anew at 10:10: its energy counter begins at 0."""
    return {**idle(second), ENERGY: float(second % 600 * 70_000)}


def published(folder: Path, one: Says, two: Says, *, copies: int = 1) -> Path:
    """A month in which the job's GPUs say this each 30 s, `copies` times over."""
    gpus = [{"gpu_uuid": gpu, "gpu_index": str(n)} for n, gpu in enumerate((A, B))]
    path = cluster(folder, gpus=gpus, config=CONFIG + PROMETHEUS)
    (folder / "prom").mkdir()
    lines = []
    for gpu, says in ((A, one), (B, two)):
        seconds = range(30, 3601, 30)
        fields = sorted({name for second in seconds for name in says(second)})
        for name in fields:
            values = [(T0 + s, says(s)[name]) for s in seconds if name in says(s)]
            for copy in range(copies):
                lines.append(json.dumps(answer((labels(name, gpu, instance=f"{copy}"), values))))
    (folder / "prom" / "hour.jsonl").write_text("".join(f"{line}\n" for line in lines))
    done("run", config=path)
    return path


def asked(path: Path, sql: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(done("sql", sql, "--format", "csv", config=path))))


def buckets(path: Path) -> dict[tuple[str, str], int]:
    """Seconds of the job by GPU and bucket."""
    sql = """select gpu_uuid, bucket, sum(gpu_ns) // 1000000000 as seconds from gpu_hour_state
             where job_id = '7' group by gpu_uuid, bucket"""
    return {(r["gpu_uuid"], r["bucket"]): int(r["seconds"]) for r in asked(path, sql)}


def strict(path: Path) -> dict[str, int]:
    """Seconds of the job that are strict waste, by GPU."""
    sql = """select gpu_uuid, sum(gpu_ns) // 1000000000 as seconds from gpu_hour_state
             where job_id = '7' and waste_class = 'strict' group by gpu_uuid"""
    return {r["gpu_uuid"]: int(r["seconds"]) for r in asked(path, sql)}


def coverage(path: Path, field: str = "engine_active_ratio") -> dict[str, tuple[int, int]]:
    """Seconds observed and invalid of a field, by GPU."""
    sql = f"""select gpu_uuid, sum(observed_ns) // 1000000000 as seen,
              sum(invalid_ns) // 1000000000 as bad from telemetry_coverage
              where field = '{field}' group by gpu_uuid"""
    return {r["gpu_uuid"]: (int(r["seen"]), int(r["bad"])) for r in asked(path, sql)}


@pytest.mark.slow
def test_an_idle_gpu_is_idle_and_a_busy_one_is_not(tmp_path: Path) -> None:
    path = published(tmp_path, idle, busy)
    assert strict(path) == {A: 1800}
    assert buckets(path)[A, "never_touched"] == 1800
    assert coverage(path) == {A: (3600, 0), B: (3600, 0)}


@pytest.mark.slow
@pytest.mark.parametrize("dead", [stuck, hung, silent])
def test_a_dead_collector_is_not_idle(tmp_path: Path, dead: Says) -> None:
    """Stuck at 0, repeating its last values, or silent: nobody knows, and nobody is accused."""
    path = published(tmp_path, dead, busy)
    assert strict(path) == {}
    # What came before the collector hung was seen.
    assert buckets(path)[A, "not_observed"] >= 1740
    seen, bad = coverage(path)[A] if dead is not silent else (0, 0)
    assert seen <= 60
    assert bad == {stuck: 3600, hung: 3540, silent: 0}[dead]


@pytest.mark.slow
def test_holes_copies_and_resets(tmp_path: Path) -> None:
    """Ten minutes without a sample are not observed, two exporters count once, a counter that
    begins anew is no energy."""

    def with_hole(second: int) -> Mapping[str, float]:
        return {} if 600 < second <= 1200 else idle(second)

    path = published(tmp_path, with_hole, restarted, copies=2)
    assert coverage(path) == {A: (3000, 0), B: (3600, 0)}
    (count,) = asked(path, "select count(*) as n from gpu_sample")
    assert count["n"] == "220"
    assert buckets(path)[A, "not_observed"] == 600
    assert strict(path)[B] == 1800
    (job,) = asked(path, "select energy_kwh from job_cost where job_id = '7'")
    # 30 s at 70 W a sample, but for the first, the one after the hole, and those of a reset.
    known = (40 - 2) + (60 - 1 - 3)
    assert float(job["energy_kwh"]) == pytest.approx(known * 30 * 70 / 3_600_000)
