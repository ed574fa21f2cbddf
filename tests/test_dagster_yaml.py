"""dagster.yaml loads with Dagster's own loader, and says what it is meant to say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.mark.slow
def test_dagster_yaml_loads(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster import DagsterInstance

    shutil.copy(root / "dagster.yaml", tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with DagsterInstance.get() as instance:
        assert instance.root_directory == str(tmp_path)
        assert instance.telemetry_enabled is False
        assert instance.nux_enabled is False
        assert instance.python_log_level == "INFO"
        assert instance.get_settings("concurrency") == {
            "runs": {"max_concurrent_runs": 2},
            "pools": {"granularity": "run", "default_limit": 1},
        }
        kept = instance.get_settings("retention")
        assert set(kept) == {"schedule", "sensor", "auto_materialize"}
        assert all(days > 0 for part in kept.values() for days in part["purge_after_days"].values())
        assert instance.run_monitoring_enabled
        assert instance.run_retries_enabled
        # A failed check fails again: only runs whose process was lost are started again.
        assert instance.run_retries_max_retries == 1
        assert instance.run_retries_retry_on_asset_or_op_failure is False
    # Nothing of ours is stored outside of DAGSTER_HOME: no path is configured.
    assert "base_dir" not in (root / "dagster.yaml").read_text(encoding="utf-8")
