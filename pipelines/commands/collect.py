"""`plumbline collect`."""

from __future__ import annotations

import click

from pipelines.cli import Settings, common


@click.command("collect")
@click.option("--source", metavar="NAME", help="Collect for this source only.")
@common
@click.pass_obj
def command(settings: Settings, source: str | None) -> None:
    """Ask servers for what is new, as files that `plumbline run` reads.

    For each source of kind prometheus with a `url`: the raw samples of GPU counters since `since`,
    a file for each hour that is over (`chunk_minutes`). A file is there wholly or not at all; what
    is there is not asked for again, so a collection that was stopped goes on where it was.

    \b
    Example:
      plumbline collect && plumbline run
    """
    from datetime import UTC, datetime

    from pipelines import terminal
    from pipelines.collect import collect
    from pipelines.config import load_config

    config = load_config(settings.config_path())
    with terminal.progress() as progress:
        done = collect(config, only=source, now=datetime.now(UTC), progress=progress)
    for name, files in done.files.items():
        where = f", the last is {files[-1]}" if files else ""
        click.echo(terminal.safe(f"source {name}: {len(files):,} new files{where}"))
