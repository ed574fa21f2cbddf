"""Two runs at once: the second says whom it waits for, waits, and then runs or says so."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

import pipelines.run
from pipelines.config import load_config
from pipelines.run import open_store, publishing, run
from pipelines.writing import writing
from tests.pipelines.command import call, cluster, done, failed
from tests.pipelines.published import quiet
from warehouse.contracts import Column
from warehouse.errors import StoreBusy, StoreError
from warehouse.shipped import graph, marts
from warehouse.store import Store, Transaction


class Clock:
    """A clock that only sleeping moves; at the given second the first holder lets go."""

    def __init__(self, release_at: float = 1e9) -> None:
        self.now, self.release_at = 0.0, release_at
        self.holder: AbstractContextManager[Transaction] | None = None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.release_at and self.holder is not None:
            self.holder.__exit__(None, None, None)
            self.holder = None


def test_the_second_waits_for_the_first_and_says_so_once(tmp_path: Path) -> None:
    said: list[str] = []
    clock = Clock(release_at=5)
    clock.holder = Store(tmp_path).transaction()
    clock.holder.__enter__()
    second = Store(tmp_path)
    with writing(second, wait_s=60, progress=said.append, clock=clock, sleep=clock.sleep):
        assert clock.now == 5
    assert said == [f"waiting, up to 60 s: {tmp_path}: process {os.getpid()} is writing to this "
                    "warehouse"]  # fmt: skip


@pytest.mark.parametrize("wait_s", [0, 3])
def test_a_second_that_has_waited_enough_names_the_holder(tmp_path: Path, wait_s: int) -> None:
    clock = Clock()
    second = writing(
        Store(tmp_path), wait_s=wait_s, progress=quiet, clock=clock, sleep=clock.sleep
    )  # fmt: skip
    with (
        Store(tmp_path).transaction(),
        pytest.raises(StoreBusy, match=str(os.getpid())),
        second,
    ):
        raise AssertionError("two writers")
    assert clock.now == wait_s


def test_an_error_inside_is_not_taken_for_a_busy_store(tmp_path: Path) -> None:
    clock = Clock()
    one = writing(Store(tmp_path), wait_s=60, progress=quiet, clock=clock, sleep=clock.sleep)
    with pytest.raises(StoreBusy, match="of another one"), one:
        raise StoreBusy("of another one")
    assert clock.now == 0


def test_the_command_says_so(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    with open_store(load_config(config)).transaction():
        error = failed("run", "--wait", "0", code=1, config=config)
    assert f"process {os.getpid()} is writing to this warehouse" in error
    assert call("run", "--wait", "-1", config=config).exit_code == 2


def test_a_failed_check_leaves_a_catalog_that_answers(tmp_path: Path) -> None:
    """What has landed is replaced even then, so the catalog must not name the old files."""
    config = cluster(tmp_path)
    done("run", config=config)
    cluster(tmp_path, jobs=[{}, {"JobIDRaw": "8", "JobID": "8"}])  # both held both GPUs
    failed("run", code=3, config=config)
    with duckdb.connect(str(tmp_path / "out" / "plumbline.duckdb"), read_only=True) as catalog:
        assert catalog.execute("select count(*) from job_attempt").fetchall() == [(2,)]
        assert catalog.execute("select sum(billed_usd) from showback_team_month").fetchall()


def test_months_of_an_older_plumbline_hold_up_the_catalog_until_they_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load_config(cluster(tmp_path))
    run(config, progress=quiet)
    newer = marts(graph())
    table = newer["allocation"]
    columns = (*table.columns, Column("colour", table.columns[0].type, "", "a new column"))
    newer["allocation"] = replace(table, columns=columns)
    monkeypatch.setattr(pipelines.run, "marts", lambda _: newer)
    said: list[str] = []
    with publishing(config, graph(), progress=said.append, complete=False):
        pass
    assert "the catalog waits until all months are built" in said[0]
    with pytest.raises(StoreError, match="colour"), publishing(config, graph(), progress=quiet):
        pass
    with pytest.raises(ZeroDivisionError), publishing(config, graph(), progress=quiet):
        raise ZeroDivisionError
