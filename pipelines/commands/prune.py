"""`plumbline prune`."""

from __future__ import annotations

import re
from typing import Any

import click

from pipelines.cli import Settings, common


class Days(click.ParamType[int]):
    """A number of days written as 90d."""

    name = "days"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; click's usage error for anything else."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d{1,5})d", str(value), re.ASCII)
        if found is None:
            self.fail(f"{value!r} is no number of days; write it as 90d.", param, ctx)
        return int(found[1])


@click.command("prune")
@click.option(
    "--older-than", type=Days(), metavar="DAYS", default=90, show_default="90d",
    help="Forget runs that were made before so many days, such as 30d.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would go; forget nothing.")
@common
@click.pass_obj
def command(settings: Settings, older_than: int, dry_run: bool) -> None:
    """Forget old runs of the scheduler, their events and their logs.

    The tables of the warehouse are not touched. Of each month the run that built it last is kept,
    whatever its age, and so are runs that have not ended.

    \b
    Example:
      plumbline prune --older-than 90d
    """
    from datetime import UTC, datetime, timedelta

    from pipelines import serving
    from pipelines.config import load_config

    home = serving.home(load_config(settings.config_path()))
    if not (home / "history").is_dir():
        click.echo(f"nothing to prune: no scheduler has kept records in {home}")
        return
    from dagster import DagsterInstance

    from pipelines.pruning import prune

    before = datetime.now(UTC) - timedelta(days=older_than)
    with DagsterInstance.from_config(str(home)) as instance:
        found = prune(instance, before, dry_run=dry_run)
    verb = "would be forgotten" if dry_run else "forgotten"
    click.echo(f"runs made before {before:%Y-%m-%d}: {found.runs} {verb}, {found.kept} kept")
    if found.files:
        removed = "would be removed" if dry_run else "removed"
        click.echo(f"files of runs that are gone: {found.files} {removed}")
