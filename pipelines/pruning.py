"""`plumbline prune`: forget old runs of the scheduler, whose records would grow without end."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagster import DagsterInstance

_PAGE = 500


@dataclass
class Pruned:
    """What was found: runs forgotten, old ones kept, and files left by runs that are gone."""

    runs: int = 0
    kept: int = 0
    files: int = 0


def prune(instance: DagsterInstance, before: datetime, *, dry_run: bool = False) -> Pruned:
    """Forget the runs that ended and were made before a time, with their events and logs.

    A run that holds the last word on a month or a table stays: without it the scheduler would show
    the month as never built. Files of runs that the scheduler does not know go too.
    """
    found = Pruned()
    last = _last_words(instance)
    for run_id in _old_runs(instance, before):
        if run_id in last:
            found.kept += 1
            continue
        found.runs += 1
        if not dry_run:
            instance.delete_run(run_id)
    found.files = _orphans(instance, dry_run=dry_run)
    return found


def _old_runs(instance: DagsterInstance, before: datetime) -> list[str]:
    import dagster as dg

    ended = [
        dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED,
    ]  # fmt: skip
    wanted = dg.RunsFilter(statuses=ended, created_before=before)
    return [record.dagster_run.run_id for record in instance.get_run_records(wanted)]


def _last_words(instance: DagsterInstance) -> set[str]:
    """Runs whose record of an asset's partition is the latest one."""
    found: set[str] = set()
    for key in instance.all_asset_keys():
        seen: set[str | None] = set()
        cursor: str | None = None
        while True:
            page = instance.fetch_materializations(key, limit=_PAGE, cursor=cursor)
            for record in page.records:
                if record.partition_key not in seen:
                    seen.add(record.partition_key)
                    found.add(record.run_id)
            if not page.has_more:
                break
            cursor = page.cursor
    return found


def _orphans(instance: DagsterInstance, *, dry_run: bool) -> int:
    """Files and folders that are named after a run which is not known; how many."""
    root = Path(instance.root_directory)
    known = {record.dagster_run.run_id for record in instance.get_run_records()}
    places = [
        *(root / "history" / "runs").glob("*.db*"),
        *(path for path in (root / "storage").glob("*") if path.is_dir()),
    ]
    orphans = [path for path in places if _is_run(path) and _run_of(path) not in known]
    for path in orphans if not dry_run else ():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return len(orphans)


def _run_of(path: Path) -> str:
    return path.name.split(".db")[0]


def _is_run(path: Path) -> bool:
    """True for names that are a run's id, of 36 characters with four dashes."""
    name = _run_of(path)
    return len(name) == 36 and name.count("-") == 4
