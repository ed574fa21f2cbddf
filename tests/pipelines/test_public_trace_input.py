"""A public trace of an MI300X in a whole month: its device 2 is the one GPU that the job held."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest

from tests.pipelines.command import CONFIG, cluster, done

NAME = "tracelens__mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
DAY = "2025-07-27"
START = 1_753_650_000  # 21:00 UTC
TRACES = '[[source]]\nkind = "kineto"\ncluster = "c1"\nfiles = ["job_7/*.json.gz"]\n'


@pytest.mark.slow
def test_a_device_is_known_by_its_job_not_by_its_number(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "traces" / NAME
    if not source.is_file():
        pytest.skip(f"no {source}")
    hour = {
        "BillingPeriodStart": "2025-07-01T00:00:00Z", "BillingPeriodEnd": "2025-08-01T00:00:00Z",
        "ChargePeriodStart": f"{DAY}T21:00:00Z", "ChargePeriodEnd": f"{DAY}T22:00:00Z",
        "SkuPriceDetails": '{"GpuCount": 1}',
    }  # fmt: skip
    job = {"Submit": f"{START}", "Start": f"{START}", "End": f"{START + 3600}",
           "AllocTRES": "gres/gpu=1"}  # fmt: skip
    gpu = {"gpu_model": "AMD Instinct MI300X", "start": f"{DAY}T00:00:00Z", "end": ""}
    config = CONFIG.replace("2026-11-10", DAY).replace("2026-11-11", "2025-07-28") + TRACES
    config = config.replace('files = ["job_7', 'pattern = "job_{job_id}/*.json"\nfiles = ["job_7')
    path = cluster(tmp_path, lines=(hour,), jobs=(job,), gpus=(gpu,), config=config)
    (tmp_path / "job_7").mkdir()
    shutil.copy(source, tmp_path / "job_7" / "trace.json.gz")
    done("run", config=path)
    sql = "select job_id, gpu_uuid, found_by, is_clock_ok, gpu_count from trace_file"
    (row,) = csv.DictReader(io.StringIO(done("sql", sql, "--format", "csv", config=path)))
    assert (row["job_id"], row["gpu_uuid"], row["found_by"]) == ("7", "GPU-a", "path")
    assert row["is_clock_ok"] == "true"
    devices = done(
        "sql", "select distinct device from trace_kernel", "--format", "csv", config=path
    )
    assert devices.split() == ["device", "2"]
