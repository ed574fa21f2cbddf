"""`plumbline explain`: the rule, the number, its rows, its bill lines and its files."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pipelines.explain import missing
from tests.pipelines.command import call, cluster, done, failed
from tests.pipelines.published import Published
from tests.pipelines.test_command_run import DECEMBER


def test_idle_time_of_the_recorded_notebooks(demo: Path) -> None:
    text = done("explain", "--team", "research", "--bucket", "idle_held", config=demo)
    assert "research, idle_held, November 2026" in text
    assert "Rule W08, version 1: a run of samples without engine" in text
    for job in ("h200/1009 attempt 0", "h200/2005 attempt 0"):
        assert job in " ".join(text.split())
    assert "bill/focus_2026-11.csv:2" in text
    assert "recordings/one-gpu/nvml.csv" in text
    assert "slurm/sacct.psv" in text


def test_every_number_of_the_month_can_be_explained(
    demo: Path, recorded: tuple[Published, object, object]
) -> None:
    rows = recorded[0].rows(
        "select team, bucket, sum(gpu_ns) as gpu_ns from waste_team_month group by all order by all"
    )
    assert len(rows) > 20
    for row in rows[::4]:
        text = done("explain", "--team", row["team"], "--bucket", row["bucket"], config=demo)
        assert "Rule W" in text
        assert "bill/focus_2026-11.csv" in text
        assert "waste_evidence" in text


def test_only_the_top_rows_and_how_to_see_all(demo: Path) -> None:
    words = ("explain", "--team", "foundation", "--bucket", "startup", "--month", "2026-11")
    text = done(*words, "--top", 1, config=demo)
    assert "1 of 8 rows; all: --top 8" in text
    assert "rows; all" not in done(*words, "--top", 8, config=demo)


@pytest.mark.parametrize(
    ("team", "bucket", "said"),
    [
        ("reserch", "idle_held", ["no team 'reserch'", "Did you mean 'research'?", "applied, "]),
        ("research", "idle", ["no 'idle' in 2026-11", "mean 'idle_held'?", "No rule gives 'idle'"]),
        ("research", "lost_work", ["no 'lost_work'", "Its buckets: between_steps, compute"]),
        ("'; drop", "idle_held", ["there is no team"]),
    ],
)
def test_what_is_not_there(demo: Path, team: str, bucket: str, said: list[str]) -> None:
    error = failed("explain", "--team", team, "--bucket", bucket, code=1, config=demo)
    assert all(part in error for part in said)


def test_another_month(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=[{}, DECEMBER])
    done("run", config=config)
    words = ("explain", "--team", "vision", "--bucket", "not_observed")
    error = failed(*words, code=1, config=config)
    assert "in 2026-12" in error
    assert "It is there in 2026-11 (--month)" in error
    text = done(*words, "--month", "2026-11", config=config)
    assert "c1/7 attempt 0" in text
    assert "bill.csv:2" in text
    error = failed(*words, "--month", "2026-10", code=1, config=config)
    assert "2026-10 is not published; published are 2026-11, 2026-12" in error


def test_an_unknown_rule_and_another_month_are_both_said() -> None:
    known = [{"month": date(2026, 10, 1), "team": "a", "bucket": "b"}]
    text = missing(known, "a", "b", date(2026, 11, 1))
    assert text == (
        "there is no team 'a' in 2026-11. Teams: none. No rule gives 'b'. "
        "It is there in 2026-10 (--month)."
    )


@pytest.mark.parametrize("words", [(), ("--team", "research"), ("--bucket", "idle_held")])
def test_team_and_bucket_are_needed(demo: Path, words: tuple[str, ...]) -> None:
    assert "Missing option" in failed("explain", *words, code=2, config=demo)


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    team = "[red]o'b\\oss[/red]\x1b[31m"
    config = cluster(tmp_path, teams=[{"team": team}], jobs=[{"NodeList": "n1"}])
    done("run", config=config)
    result = call("explain", "--team", team, "--bucket", "not_observed", config=config)
    assert result.exit_code == 0
    assert "[red]o'b\\oss[/red]\\u001b[31m, not_observed" in result.stdout
    assert "\x1b" not in result.output
