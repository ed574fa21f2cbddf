"""The store, stopped everywhere: what is published is the old state or the new, never between.

Run as a program, this file is the job that the tests kill: `python test_store_crash.py ROOT`.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from warehouse.contracts import LONG, TEXT, Batch, Column, Contract
from warehouse.manifest import decode
from warehouse.objects import FAULT_POINTS, FAULT_VARIABLE, fault_from_env
from warehouse.store import Store

SAMPLE = Contract(
    "sample",
    1,
    "one row per sample",
    ("end_ns",),
    ("end_ns",),
    (Column("end_ns", LONG, "ns", "time", nullable=False), Column("gpu", TEXT, "", "GPU")),
    time="end_ns",
)
LINE = Contract("line", 1, "one row per line", ("id",), ("id",), (Column("id", TEXT, "", "id"),))
CONTRACTS = {"sample": SAMPLE, "line": LINE}
DAY_NS = 86_400 * 10**9
#: 30 November 2026
START_NS = 20_787 * DAY_NS


def samples(*, days: int, rows: int, gpu: str) -> Batch:
    times = [START_NS + n * days * DAY_NS // rows for n in range(rows)]
    columns = [pa.array(times, LONG), pa.array([gpu] * rows, TEXT)]
    return Batch("sample", pa.RecordBatch.from_arrays(columns, schema=SAMPLE.schema))


def lines(*ids: str) -> Batch:
    return Batch("line", pa.RecordBatch.from_pylist([{"id": i} for i in ids], schema=LINE.schema))


def earlier(store: Store) -> None:
    """What a run of last month left: the job restates one unit, drops one and leaves one."""
    with store.transaction() as transaction:
        for key, batches in {
            "gpu.csv": [samples(days=3, rows=30, gpu="old"), lines("old")],
            "gone.csv": [lines("gone")],
            "bill.csv": [lines("1", "2")],
        }.items():
            transaction.replace(
                "landing", key, batches, fingerprint="old", meta={}, contracts=CONTRACTS
            )
        transaction.replace(
            "mart", "month=2026-11", [lines("old")],
            fingerprint="old", meta={}, contracts=CONTRACTS,
        )  # fmt: skip
        transaction.commit()


def job(store: Store, *, rows: int = 20) -> None:
    """Ingest, commit, publish, commit: as a run of Plumbline does."""
    with store.transaction() as transaction:
        transaction.replace(
            "landing", "gpu.csv", [samples(days=2, rows=rows, gpu="new")],
            fingerprint="new", meta={"rows": rows}, contracts=CONTRACTS,
        )  # fmt: skip
        transaction.replace(
            "landing", "bill.csv", [lines("2", "1")],
            fingerprint="old", meta={}, contracts=CONTRACTS,
        )  # fmt: skip
        transaction.remove("landing", "gone.csv")
        transaction.commit()
    with store.transaction() as transaction:
        count = sum(f.rows for f in store.files("sample", area="landing"))
        transaction.replace(
            "mart", "month=2026-11", [lines(f"rows={count}"), samples(days=1, rows=3, gpu="m")],
            fingerprint="new", meta={}, contracts=CONTRACTS,
        )  # fmt: skip
        transaction.commit()


class Killed(BaseException):
    """No Exception, so that nothing handles it: as if the process were gone."""


def stop_at(wanted: str, number: int) -> Callable[[str], None]:
    left = number

    def fault(point: str) -> None:
        nonlocal left
        left -= point == wanted
        if left == 0:
            left = -1
            raise Killed

    return fault


def tree(root: Path) -> dict[str, bytes | None]:
    """Every file's bytes and every folder."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def manifest(root: Path) -> bytes:
    path = root / "manifest.json"
    return path.read_bytes() if path.exists() else b""


def check_whole(root: Path) -> None:
    """What the manifest names is there with the right bytes, and the store can be read."""
    data = manifest(root)
    if data:
        for entry in decode(data, str(root)).files:
            content = (root / entry.path).read_bytes()
            assert hashlib.sha256(content).hexdigest() == entry.sha256
    assert Store(root).verify() == []


class Undisturbed:
    """The same job without a fault: its bytes, its manifests and how often it passes each point."""

    def __init__(self, folder: Path, *, restated: bool, rows: int = 20) -> None:
        self.begin, self.end = folder / "begin", folder / "end"
        self.begin.mkdir()
        if restated:
            earlier(Store(self.begin))
        shutil.copytree(self.begin, self.end)
        self.passes = dict.fromkeys(FAULT_POINTS, 0)
        self.manifests = {manifest(self.begin)}

        def count(point: str) -> None:
            self.passes[point] += 1
            self.manifests.add(manifest(self.end))

        job(Store(self.end, fault=count), rows=rows)
        self.manifests.add(manifest(self.end))
        self.tree = tree(self.end)


@pytest.fixture(params=["new", "restated"])
def undisturbed(request: pytest.FixtureRequest, tmp_path: Path) -> Undisturbed:
    return Undisturbed(tmp_path, restated=request.param == "restated")


def test_every_point_is_passed_for_every_file_and_manifest(undisturbed: Undisturbed) -> None:
    # the manifest of the first start, that of the landing tables, that of the marts
    commits = len(undisturbed.manifests - {b""}) - (undisturbed.manifests & {b""} == set())
    assert undisturbed.passes["before_manifest"] == undisturbed.passes["after_manifest"] == commits
    files = len([name for name in undisturbed.tree if name.endswith(".parquet")])
    assert (
        undisturbed.passes["before_stage"] == undisturbed.passes["after_stage"] == files + commits
    )
    renames = {undisturbed.passes[p] for p in FAULT_POINTS if "rename" in p or "fsync" in p}
    assert renames <= {files + commits, files + commits - 1}, "an equal file is not put again"


def test_killed_at_every_pass_of_every_point(undisturbed: Undisturbed, tmp_path: Path) -> None:
    for point, passes in undisturbed.passes.items():
        for number in range(1, passes + 1):
            root = tmp_path / f"{point}-{number}"
            shutil.copytree(undisturbed.begin, root)
            with pytest.raises(Killed):
                job(Store(root, fault=stop_at(point, number)))
            assert manifest(root) in undisturbed.manifests
            check_whole(root)
            job(Store(root))
            assert tree(root) == undisturbed.tree, f"{point}, pass {number}"


def test_killed_again_while_it_recovers(tmp_path: Path) -> None:
    undisturbed = Undisturbed(tmp_path, restated=True)
    root = tmp_path / "root"
    shutil.copytree(undisturbed.begin, root)
    for point in (*FAULT_POINTS, *reversed(FAULT_POINTS)):
        try:
            job(Store(root, fault=stop_at(point, 2)))
        except Killed:
            check_whole(root)
    job(Store(root))
    assert tree(root) == undisturbed.tree


def test_an_error_at_every_pass_leaves_no_trace(tmp_path: Path) -> None:
    """Where the process lives on, it cleans up itself: the tree is that of a whole state."""
    undisturbed = Undisturbed(tmp_path, restated=True)
    for point, passes in undisturbed.passes.items():
        for number in range(1, passes + 1):
            root = tmp_path / f"{point}-{number}"
            shutil.copytree(undisturbed.begin, root)
            kill = stop_at(point, number)

            def fail(point: str, kill: Callable[[str], None] = kill) -> None:
                try:
                    kill(point)
                except Killed:
                    raise RuntimeError(point) from None

            with pytest.raises(RuntimeError, match=point):
                job(Store(root, fault=fail))
            left = [path for path in root.rglob("*.parquet") if path.is_file()]
            assert {str(p.relative_to(root)) for p in left} == {
                f.path for f in Store(root).state().files
            }
            assert not (root / ".staging").exists()


def test_bytes_reach_the_disk_before_their_name_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rename is of a flushed file, its folder is flushed after, the manifest comes last."""
    events: list[tuple[str, str]] = []
    fsync, rename = os.fsync, Path.replace

    def noted_fsync(handle: int) -> None:
        events.append(("fsync", str(Path(f"/proc/self/fd/{handle}").readlink())))
        fsync(handle)

    def noted_rename(self: Path, target: Path) -> Path:
        events.append(("rename", str(self)))
        events.append(("named", str(target)))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_rename)
    job(Store(tmp_path))
    renames = [n for n, (what, _) in enumerate(events) if what == "rename"]
    assert len(renames) == 8
    for n in renames:
        assert events[n - 1] == ("fsync", events[n][1])
        target = Path(events[n + 1][1])
        assert events[n + 2] == ("fsync", str(target.parent))
        # and each new folder on the way is in its parent for good
        for folder in target.relative_to(tmp_path).parents[:-1]:
            assert ("fsync", str((tmp_path / folder).parent)) in events[:n]
    names = [Path(events[n + 1][1]).name == "manifest.json" for n in renames]
    assert names == [True, False, False, False, True, False, False, True]


# -- real processes ------------------------------------------------------------------------------


def start(root: Path, checkout: Path, *, fault: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, __file__, str(root)],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), FAULT_VARIABLE: fault},
        stdout=subprocess.PIPE,
    )


def begun(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"


@pytest.mark.parametrize("fault", ["before_rename:3", "after_manifest:2"])
def test_a_process_stops_where_the_environment_says(tmp_path: Path, root: Path, fault: str) -> None:
    undisturbed = Undisturbed(tmp_path, restated=True, rows=PROGRAM_ROWS)
    target = tmp_path / "root"
    shutil.copytree(undisturbed.begin, target)
    with start(target, root, fault=fault) as process:
        assert process.wait() == 137
    assert (target / ".lock").read_text() == str(process.pid), "nothing was cleaned up"
    check_whole(target)
    assert manifest(target) in undisturbed.manifests
    job(Store(target), rows=PROGRAM_ROWS)
    assert tree(target) == undisturbed.tree


@pytest.mark.slow
def test_twenty_random_kills(tmp_path: Path, root: Path) -> None:
    undisturbed = Undisturbed(tmp_path, restated=True, rows=PROGRAM_ROWS)
    target = tmp_path / "root"
    shutil.copytree(undisturbed.begin, target)
    with start(target, root) as process:
        begun(process)
        begin = time.monotonic()
        assert process.wait() == 0
        whole = time.monotonic() - begin
    assert tree(target) == undisturbed.tree

    dice = random.Random(20_261_130)
    killed = 0
    for _ in range(20):
        shutil.rmtree(target)
        shutil.copytree(undisturbed.begin, target)
        with start(target, root) as process:
            begun(process)
            try:
                process.wait(dice.uniform(0, whole))
            except subprocess.TimeoutExpired:
                process.kill()
        killed += process.returncode == -9
        check_whole(target)
        assert manifest(target) in undisturbed.manifests
        with start(target, root) as process:
            assert process.wait() == 0
        assert tree(target) == undisturbed.tree
    assert killed >= 10, "the kills came too late to prove anything"


PROGRAM_ROWS = 200_000

if __name__ == "__main__":
    print("begun", flush=True)
    job(Store(sys.argv[1], fault=fault_from_env()), rows=PROGRAM_ROWS)
