"""`plumbline report`."""

from __future__ import annotations

from datetime import date

import click

from pipelines.cli import Settings, common
from pipelines.commands.options import month_option


@click.command("report")
@month_option("Month to show. Default: the latest that is published.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Rows at most in tables of jobs.",
)
@click.option(
    "--scope", default="in_steps", show_default=True,
    type=click.Choice(["in_steps", "first_to_last_step", "allocated"]),
    help="Time that the ladder speaks of; a job without steps is shown over all that it held.",
)  # fmt: skip
@click.option(
    "--team", metavar="TEAM",
    help="Only this team's part. Without --out: its short text.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR|URI",
    help="Write HTML pages, CSV, XLSX and a short text to a folder, or below s3://, gs:// or "
    "abfs://, instead of printing.",
)  # fmt: skip
@click.option("--plain", is_flag=True, help="With --out: no charts and no XLSX.")
@common
@click.pass_obj
def command(
    settings: Settings, month: date | None, top: int, scope: str, team: str | None,
    out: str | None, plain: bool,
) -> None:  # fmt: skip
    """Print a month: the proof, each team's bill and waste, the ladder of its jobs.

    \b
    - Reconciliation: billed and allocated dollars per invoice; the difference is exactly 0
    - Showback: what each team pays
    - Classes and buckets: GPU-hours, bounds, effective cost, share of the bill, evidence grade
    - The ladder: GPU-Util beside engine, SM, occupancy, tensor, DRAM and MFU, per job and rank
    - The dearest kernels, and the ranks that others waited for, as far as traces were read
    - Interruptions with the work they lost; idle sessions

    Dollars are shown in cents such that teams add up to the invoice and buckets to their team.
    The exact numbers are in the tables: see `plumbline sql --tables`.

    With --out it is written as files for readers: index.html for the month, a page per team,
    csv/, a workbook and summary.txt (see docs/report.md). The folder is replaced whole, and the
    same month gives the same bytes. Charts and the workbook need the extra `report`. In an object
    store index.html comes last; credentials are those of its SDK (environment, profile, role).

    \b
    Example:
      plumbline report --month 2026-11 --top 5
      plumbline report --out reports/2026-11
      plumbline report --team research --out research-2026-11
      plumbline report --out s3://finance/gpu/2026-11
    """
    if plain and out is None:
        raise click.UsageError("--plain says how --out writes; give both.")
    from pipelines import terminal
    from pipelines.config import load_config
    from pipelines.published import Published
    from pipelines.report import report

    published = Published(load_config(settings.config_path()))
    target = terminal.console()
    chosen = published.month(month)
    if out is not None or team is not None:
        from pipelines.report_folder import team_text, write_folder

        if out is None:
            click.echo(terminal.safe(team_text(published, chosen, str(team)), lines=True), nl=False)
        else:
            place = write_folder(published, chosen, out, team=team, plain=plain)
            click.echo(f"report: {place}")
        return
    terminal.write(
        target,
        report(published, chosen, top=top, scope=scope, ascii_only=terminal.is_ascii(target)),
    )
    others = [f"{other:%Y-%m}" for other in published.months if other != chosen]
    if others and month is None:
        target.print(f"Also published: {', '.join(others)} (--month).")
