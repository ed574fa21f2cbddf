"""`plumbline explain`."""

from __future__ import annotations

from datetime import date

import click

from pipelines.cli import Settings, common
from pipelines.commands.options import month_option


@click.command("explain")
@click.option("--team", required=True, metavar="TEAM", help="Team that pays, as in the report.")
@click.option(
    "--bucket", required=True, metavar="BUCKET", help="Bucket, such as idle_held or unallocated."
)
@month_option("Month. Default: the latest that is published.")
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, metavar="N",
    help="Rows at most of each table.",
)  # fmt: skip
@common
@click.pass_obj
def command(settings: Settings, team: str, bucket: str, month: date | None, top: int) -> None:
    """Show what stands behind one number: the rule, the rows, the bill lines, the files.

    A bucket inside steps goes down to the traces: the steps that were traced, the kernels that its
    dollars fall on, the ranks that others waited for, and how far each trace file can be trusted.

    \b
    Example:
      plumbline explain --team research --bucket idle_held
      plumbline explain --team foundation --bucket comm_wait --top 5
      plumbline explain --team platform --bucket unallocated --month 2026-11
    """
    from pipelines import terminal
    from pipelines.config import load_config
    from pipelines.explain import explain
    from pipelines.published import Published

    published = Published(load_config(settings.config_path()))
    terminal.write(terminal.console(), explain(published, team, bucket, month=month, top=top))
