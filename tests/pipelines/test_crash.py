"""Stop a run at any point and run again: the bytes of an undisturbed run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pipelines.config import Config, load_config
from pipelines.run import open_store, run
from tests.pipelines.published import quiet, snapshot
from warehouse.errors import StoreError
from warehouse.objects import FAULT_POINTS


class Killed(BaseException):
    """Stands for the end of the process: no handler of the product runs."""


def small(example: Config, root: Path) -> Config:
    """The example without counters and steps and with one trace: enough to publish every mart."""
    kept = (s for s in example.sources if s.kind not in {"nvml_csv", "step_log"})
    one = ("recordings/one-gpu/job_1006/kineto/*.pt.trace.json.gz",)
    sources = tuple(replace(s, patterns=one) if s.kind == "kineto" else s for s in kept)
    return replace(example, root=root, sources=sources)


@pytest.fixture(scope="module")
def undisturbed(
    example: Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, bytes], dict[str, int]]:
    """The bytes of a run that nothing stopped, and how often it passed each fault point."""
    passes = dict.fromkeys(FAULT_POINTS, 0)

    def count(point: str) -> None:
        passes[point] += 1

    config = small(example, tmp_path_factory.mktemp("undisturbed"))
    run(config, progress=quiet, fault=count)
    return without_catalog(snapshot(config.root)), passes


def without_catalog(files: dict[str, bytes]) -> dict[str, bytes]:
    """All but the catalog, which holds absolute paths of its own warehouse."""
    return {name: data for name, data in files.items() if not name.endswith(".duckdb")}


@pytest.mark.parametrize("point", FAULT_POINTS)
@pytest.mark.parametrize("part", [0.0, 0.7], ids=["early", "late"])
def test_a_run_stopped_at_a_fault_point_can_be_run_again(
    point: str, part: float, example: Config, tmp_path: Path,
    undisturbed: tuple[dict[str, bytes], dict[str, int]],
) -> None:  # fmt: skip
    expected, passes = undisturbed
    wanted, passed = 1 + int(part * (passes[point] - 1)), 0

    def stop(at: str) -> None:
        nonlocal passed
        if at == point:
            passed += 1
            if passed == wanted:
                raise Killed

    config = small(example, tmp_path)
    with pytest.raises(Killed):
        run(config, progress=quiet, fault=stop)
    assert open_store(config).verify() == []
    run(config, progress=quiet)
    assert without_catalog(snapshot(tmp_path)) == expected


@pytest.mark.slow
def test_twenty_random_kills_leave_the_bytes_of_an_undisturbed_run(
    root: Path, tmp_path: Path
) -> None:
    text = (root / "examples" / "h200" / "plumbline.toml").read_text()
    # One trace is as good as all: a run is killed in every part of it, and takes half the time.
    text = text.replace("recordings/*/job_*/kineto/", "recordings/*/job_1006/kineto/")
    home = tmp_path / "home"
    home.mkdir()
    for entry in (root / "examples" / "h200").iterdir():
        (home / entry.name).symlink_to(entry)
    (home / "plumbline.toml").unlink()
    (home / "plumbline.toml").write_text(text.replace("../../build/demo", "../warehouse"))
    command = [
        sys.executable,
        "-m",
        "pipelines.cli",
        "--config",
        str(home / "plumbline.toml"),
        "run",
    ]
    rng = Random(7)
    ended = 0
    for _ in range(20):
        with subprocess.Popen(
            command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            # A deadline, not a pause: the kill has to fall anywhere in the run.
            deadline = time.monotonic() + rng.uniform(0.3, 5)
            while process.poll() is None and time.monotonic() < deadline:
                os.sched_yield()
            ended += process.poll() == 0
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = without_catalog(snapshot(tmp_path / "warehouse"))
    config = replace(load_config(home / "plumbline.toml"), root=tmp_path / "undisturbed")
    run(config, progress=quiet)
    assert found == without_catalog(snapshot(config.root))
    assert ended < 20


def test_a_second_writer_is_told_who_holds_the_warehouse(example: Config, tmp_path: Path) -> None:
    config = small(example, tmp_path)
    with open_store(config).transaction(), pytest.raises(StoreError, match=str(os.getpid())):
        run(config, progress=quiet)
