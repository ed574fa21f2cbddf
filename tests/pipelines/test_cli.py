"""The command: what is common to all commands, and how errors end it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest

import pipelines.run
from pipelines.cli import COMMANDS, cli
from tests.pipelines.command import CONFIG, call, cluster, done, failed
from warehouse.errors import CheckFailed


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_an_example(name: str) -> None:
    text = done(name, "--help")
    assert f"Example:\n    plumbline {name}" in text
    assert "--config FILE" in text
    with click.Context(cli) as ctx:
        command = cli.get_command(ctx, name)
        assert command is not None
        options = [p for p in command.params if isinstance(p, click.Option)]
        assert all(option.help for option in options)


def test_help_lists_every_command_and_the_exit_codes() -> None:
    text = done("--help")
    assert all(re.search(rf"^  {name} +\S", text, re.MULTILINE) for name in COMMANDS)
    assert "3 a blocking check failed" in text
    assert max(map(len, text.splitlines())) <= 100


def test_version() -> None:
    assert re.fullmatch(r"plumbline (\d+\.\d+\.\d+\S*|\(not installed.*\))\n", done("--version"))


@pytest.mark.parametrize(("typed", "meant"), [("rum", "run"), ("explian", "explain")])
def test_a_mistyped_command_is_guessed(typed: str, meant: str) -> None:
    assert f"Did you mean '{meant}'?" in failed(typed, code=2)


def test_another_word_is_wrong_usage() -> None:
    assert "No such command 'xyzzy'" in failed("xyzzy", code=2)
    assert "No such option" in failed("--colour", code=2)


def test_the_nearest_configuration_counts(tmp_path: Path, monkeypatch: Any) -> None:
    cluster(tmp_path)
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert "4 files read" in done("run")
    assert (tmp_path / "out" / "plumbline.duckdb").is_file()


def test_the_configuration_may_stand_before_or_after(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    done("run", config=config)
    before, after = done("doctor", config=config), done("doctor", "--config", config)
    assert before == after
    assert "i-1" in done("sql", "select resource_id from recon_invoice", "--config", config)


def test_without_a_configuration_it_says_how_to_write_one(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["run"], ["report"], ["doctor"], ["sql", "select 1"]):
        assert "plumbline init" in failed(*words, code=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[warehouse", "is no TOML"),
        ("[warehouse]\nroot = 3", 'write `root = "FOLDER"`'),
        (
            '[warehouse]\nroot = "out"\n[[source]]\nkind = "saact"\nfiles = ["a"]',
            "did you mean 'sacct'?",
        ),
        ('[warehouse]\nroot = "out"\n[settings]\nidle_after = 3', "unknown setting 'idle_after'"),
        ('[warehouse]\nroot = "out"\n[[source]]\nkind = "sacct"', "write `files ="),
        ('[warehouse]\nroot = "out"\n[[policy]]\nkind = "reserve"', "owner"),
    ],
)
def test_a_wrong_configuration_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plumbline.toml"
    path.write_text(text)
    error = failed("run", code=1, config=path)
    assert message in error
    assert error.startswith("plumbline: ")
    assert error.count("\n") == 1


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in failed("run", code=1, config=tmp_path / "none.toml")


def test_a_file_that_is_no_bill(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    (tmp_path / "bill.csv").write_text("name,colour\nx,red\n")
    error = failed("run", code=1, config=config)
    assert "bill.csv" in error
    assert "is no FOCUS bill" in error


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: Any) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "bill.csv")

    monkeypatch.setattr(pipelines.run, "land", refuse)
    error = failed("run", code=1, config=cluster(tmp_path))
    assert "bill.csv: Permission denied" in error


def test_a_failing_check_has_a_code_of_its_own_and_publishes_nothing(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    done("run", config=config)
    before = done("sql", "select * from allocation", "--format", "csv", config=config)
    cluster(tmp_path, jobs=[{}, {"JobIDRaw": "8", "JobID": "8"}])  # both held both GPUs
    error = failed("run", code=3, config=config)
    assert "chk_one_job_per_gpu" in error
    assert "nothing of this month was published" in error
    assert done("sql", "select * from allocation", "--format", "csv", config=config) == before


def test_interrupted(tmp_path: Path, monkeypatch: Any) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipelines.run, "run", interrupt)
    error = failed("run", code=130, config=cluster(tmp_path))
    assert "interrupted. What was published before stands" in error


@pytest.mark.parametrize("place", ["before", "after"])
def test_verbose_shows_the_traceback(tmp_path: Path, monkeypatch: Any, place: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise CheckFailed("no sum")

    monkeypatch.setattr(pipelines.run, "run", fail)
    config = cluster(tmp_path)
    words = ("-v", "run") if place == "before" else ("run", "--verbose")
    result = call(*words, config=config)
    assert result.exit_code == 3
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("plumbline: no sum\n")


def test_a_mistake_of_ours_is_not_hidden(tmp_path: Path, monkeypatch: Any) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(pipelines.run, "run", fail)
    result = call("run", config=cluster(tmp_path))
    assert isinstance(result.exception, ZeroDivisionError)


def test_messages_carry_no_terminal_escape(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    path.write_text(CONFIG.replace("team_map", "\\u001b[31m[red]x"))
    error = failed("run", code=1, config=path)
    assert "\x1b" not in error
    assert "[red]x" in error


@pytest.mark.parametrize("month", ["2026-13", "2026-1", "november", "0000-01", "２０２６-11"])
def test_a_month_that_is_none(tmp_path: Path, month: str) -> None:
    assert "write it as 2026-11" in failed(
        "run", "--month", month, code=2, config=cluster(tmp_path)
    )
