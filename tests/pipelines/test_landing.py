"""Source files read by several processes: the same store, the same errors."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
from pathlib import Path

import pytest

from pipelines import landing
from pipelines.config import load_config
from pipelines.run import run
from tests.ingest.traces.reading import KERNEL, LAUNCH, OP, STEP, trace
from tests.pipelines.command import CONFIG, cluster, done, failed
from tests.pipelines.published import quiet
from warehouse.errors import SourceError, StoreError
from warehouse.workers import workers

TRACES = '[[source]]\nkind = "kineto"\ncluster = "c1"\nfiles = ["traces/*.json.gz"]\n'


def traced(folder: Path, *, count: int = 5) -> Path:
    """The mini cluster with traces, some of which differ."""
    config = cluster(folder, config=CONFIG + TRACES)
    (folder / "traces").mkdir()
    for number in range(count):
        events = [STEP, OP, LAUNCH, KERNEL] * (number + 1)
        text = json.dumps(trace(*events, host_name="n1")).encode()
        (folder / "traces" / f"{number}.json.gz").write_bytes(gzip.compress(text, mtime=0))
    return config


def digests(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*.parquet"))
    }


@pytest.mark.slow
def test_several_processes_leave_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (load_config(traced(_made(tmp_path / name))) for name in ("one", "two"))
    alone = run(one, progress=quiet)
    monkeypatch.setattr(landing, "MUCH_BYTES", 0)
    monkeypatch.setattr("warehouse.workers.cores", lambda: 2)
    shared = run(two, progress=quiet)
    assert shared.landed.read == alone.landed.read
    assert len(shared.landed.read) == 9
    assert shared.landed.rows == alone.landed.rows
    assert digests(two.root) == digests(one.root) != {}
    assert "nothing new" in done("run", config=two.path)
    assert not (two.root / ".staging").exists()


@pytest.mark.slow
def test_an_error_of_another_process_is_the_same_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before it is dropped with the transaction, as ever; the next run reads all."""
    config = traced(tmp_path)
    good = (tmp_path / "traces" / "2.json.gz").read_bytes()
    (tmp_path / "traces" / "2.json.gz").write_bytes(gzip.compress(b"no trace at all"))
    monkeypatch.setattr("warehouse.workers.cores", lambda: 2)
    errors = []
    for much in (2**62, 0):
        monkeypatch.setattr(landing, "MUCH_BYTES", much)
        errors.append(failed("run", code=1, config=config).splitlines()[-1])
    assert errors[0] == errors[1]
    assert "traces/2.json.gz: " in errors[0]
    (tmp_path / "traces" / "2.json.gz").write_bytes(good)
    assert "2026-11 built" in done("run", config=config)


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(traced(tmp_path))
    monkeypatch.setattr(landing, "MUCH_BYTES", 0)
    monkeypatch.setattr("warehouse.workers.cores", lambda: 2)
    monkeypatch.setattr(landing, "read_file", _killed)
    with pytest.raises(StoreError, match="was killed, most likely for want of memory"):
        run(config, progress=quiet)
    monkeypatch.undo()
    assert len(run(config, progress=quiet).landed.read) == 9


def _killed(*_: object) -> None:
    os._exit(9)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_source_error_can_be_sent() -> None:
    error = SourceError(Path("a.csv"), "is empty", expected="rows", todo="Write some.")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.todo) == (SourceError, str(error), "Write some.")


@pytest.mark.parametrize(
    ("tasks", "is_much", "most"), [(9, False, None), (1, True, None), (9, True, 1)]
)
def test_little_work_is_done_here(tasks: int, is_much: bool, most: int | None) -> None:
    with workers(tasks, is_much=is_much, most=most) as pool:
        assert pool.submit(os.getpid).result() == os.getpid()
