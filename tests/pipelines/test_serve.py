"""`plumbline serve` and `plumbline prune`: on loopback only, ended together, and what is kept."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from pipelines import serving
from pipelines.config import load_config
from pipelines.pruning import Pruned, prune
from tests.pipelines.command import cluster, done, failed
from warehouse.errors import ConfigError

LATER = timedelta(days=1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((serving.HOST, 0))
        return int(probe.getsockname()[1])


def test_the_command_line_is_loopback_and_nothing_else() -> None:
    web, daemon = serving.commands(3000, daemon=True)
    assert web[:3] == [sys.executable, "-m", "dagster_webserver"]
    assert [web[i + 1] for i, word in enumerate(web) if word in ("--host", "-h")] == ["127.0.0.1"]
    assert web[web.index("--port") + 1] == "3000"
    assert web[web.index("-m", 2) + 1] == "pipelines.definitions"
    assert daemon[1:4] == ["-m", "dagster._daemon", "run"]
    assert serving.commands(3000, daemon=False) == [web]
    assert "host" not in done("serve", "--help")


def test_records_lie_below_the_warehouse_or_where_the_environment_says(tmp_path: Path) -> None:
    config = load_config(cluster(tmp_path))
    assert serving.home(config, {}) == tmp_path / "out" / ".dagster"
    assert serving.home(config, {"DAGSTER_HOME": str(tmp_path / "a")}) == tmp_path / "a"


def test_settings_are_put_there_once(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home"
    serving.prepare(home)
    assert (home / "dagster.yaml").read_text() == (root / "dagster.yaml").read_text()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    serving.prepare(home)
    assert (home / "dagster.yaml").read_text() == "telemetry:\n  enabled: false\n"


def test_what_is_missing_is_said_with_the_line_that_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda _: None)
    error = failed("serve", "--port", free_port(), code=1, config=cluster(tmp_path))
    assert "pip install '.[serve]' in the checkout" in error
    assert not (tmp_path / "out").exists()


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda _: object())
    with socket.socket() as taken:
        taken.bind((serving.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port} .* --port {port + 1}"):
            serving.check(port)
    serving.check(free_port())


FOREVER = "import signal, sys; print('up', file=open(sys.argv[1], 'w')); signal.pause()"


def test_when_one_process_ends_so_do_the_others(tmp_path: Path) -> None:
    said: list[str] = []
    code = serving.serve(
        [[sys.executable, "-c", FOREVER, str(tmp_path / "a")], [sys.executable, "-c", "exit(7)"]],
        os.environ, ready=lambda: said.append("ready"),
    )  # fmt: skip
    assert code == 7
    assert said == ["ready"]


def test_an_interrupt_ends_them_all(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    lines = [[sys.executable, "-c", FOREVER, str(tmp_path / name)] for name in "ab"]
    with pytest.raises(KeyboardInterrupt):
        serving.serve(lines, os.environ, ready=interrupt)


def test_a_scheduler_that_ends_by_itself_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda _: object())
    monkeypatch.setattr(
        serving, "commands", lambda port, daemon: [[sys.executable, "-c", "exit(7)"]]
    )
    error = failed("serve", "--port", free_port(), code=1, config=cluster(tmp_path))
    assert "ended by itself with 7" in error
    assert (tmp_path / "out" / ".dagster" / "dagster.yaml").is_file()


# --- prune ----------------------------------------------------------------------------------------


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    home = tmp_path / "out" / ".dagster"
    serving.prepare(home)
    with dg.DagsterInstance.from_config(str(home)) as found:
        yield found


MONTHS = dg.StaticPartitionsDefinition(["2026-10", "2026-11"])


@dg.asset(partitions_def=MONTHS)
def month() -> None:
    """A month."""


def runs(instance: dg.DagsterInstance, *keys: str) -> list[str]:
    """Build months one after the other; the runs' ids."""
    return [
        dg.materialize([month], instance=instance, partition_key=key).run_id for key in keys
    ]  # fmt: skip


def test_old_runs_go_and_the_last_word_on_each_month_stays(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    made = runs(instance, "2026-10", "2026-11", "2026-11")
    orphan = tmp_path / "out" / ".dagster" / "storage" / ("0" * 8 + "-0000" * 3 + "-" + "0" * 12)
    orphan.mkdir(parents=True)
    (orphan / "log").write_text("left")
    later = datetime.now(UTC) + LATER
    assert prune(instance, later, dry_run=True) == Pruned(runs=1, kept=2, files=1)
    assert len(instance.get_run_ids()) == 3
    found = prune(instance, later)
    assert (found.runs, found.kept) == (1, 2)
    assert {*instance.get_run_ids()} == {made[0], made[2]}
    assert not orphan.exists()
    files = {p.name for p in (tmp_path / "out" / ".dagster" / "history" / "runs").glob("*-*.db")}
    assert files == {f"{made[0]}.db", f"{made[2]}.db"}
    assert {*instance.get_materialized_partitions(dg.AssetKey("month"))} == {"2026-10", "2026-11"}
    assert prune(instance, later) == Pruned(kept=2)


def test_young_runs_stay(instance: dg.DagsterInstance) -> None:
    runs(instance, "2026-11", "2026-11")
    assert prune(instance, datetime.now(UTC) - LATER) == Pruned()
    assert len(instance.get_run_ids()) == 2


def test_the_command_says_what_went(instance: dg.DagsterInstance, tmp_path: Path) -> None:
    config = cluster(tmp_path)
    runs(instance, "2026-11", "2026-11")
    assert "0 forgotten, 0 kept" in done("prune", config=config)
    assert "1 would be forgotten, 1 kept" in done(
        "prune", "--older-than", "0d", "--dry-run", config=config
    )
    assert "1 forgotten, 1 kept" in done("prune", "--older-than", "0d", config=config)
    assert "write it as 90d" in failed("prune", "--older-than", "90", code=2, config=config)


def test_nothing_to_prune(tmp_path: Path) -> None:
    assert "nothing to prune" in done("prune", config=cluster(tmp_path))
    assert not (tmp_path / "out").exists()
