"""`plumbline run`."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import click

from pipelines.cli import Settings, common
from pipelines.commands.options import month_option

#: How to see what could not be read.
REJECTS = 'plumbline sql "select * from reject"'

if TYPE_CHECKING:
    from pipelines.config import Config
    from pipelines.run import Outcome


@click.command("run")
@month_option("Build this month only. Default: every month that new input touches.")
@click.option(
    "--wait", "wait_s", type=click.FloatRange(min=0), metavar="SECONDS", default=600.0,
    show_default=True, help="How long to wait for another run that writes to the same warehouse.",
)  # fmt: skip
@click.option(
    "--forget",
    is_flag=True,
    help="Let go what is gone: sources that have no file any more, months whose bill is gone.",
)
@common
@click.pass_obj
def command(settings: Settings, month: date | None, wait_s: float, forget: bool) -> None:
    """Read what is new, divide the bill, check the sums, publish.

    Files that did not change are not read again, months that nothing touches are not built again.
    A record that cannot be read is kept in the table `reject` and its file goes on; a whole file
    that cannot be read ends the run, and so does a source whose files are all gone, or a published
    month whose bill is gone (--forget). A month is published only if every blocking check passes:
    else the exit code is 3 and what was published before stands. One run writes at a time: a second
    one says whom it waits for.

    \b
    Example:
      plumbline run
      plumbline run --month 2026-11
    """
    from pipelines import terminal
    from pipelines.config import load_config
    from pipelines.run import run

    config = load_config(settings.config_path())
    with terminal.progress() as progress:
        outcome = run(config, month=month, progress=progress, wait_s=wait_s, forget=forget)
    for line in summary(outcome, config):
        click.echo(terminal.safe(line, lines=True))
    if month is not None and month not in {*outcome.built, *outcome.unchanged}:
        from warehouse.errors import SourceError

        raise SourceError(
            config.path, f"no bill line touches {month:%Y-%m}",
            expected="a bill of that month among its sources",
            todo="Export it, or leave --month out to build what there is.",
        )  # fmt: skip


def summary(outcome: Outcome, config: Config) -> list[str]:
    """What a run did, in a few lines."""
    from pipelines.failures import row_text
    from reports.warned import Warned
    from warehouse.catalog import CATALOG

    landed = outcome.landed
    if not (landed.read or landed.forgotten or outcome.built or outcome.removed):
        lines = ["nothing new: no source file was read, no month rebuilt"]
    else:
        rows = sum(count for table, count in landed.rows.items() if table != "reject")
        lines = [f"files: {_count(len(landed.read), 'file')} read ({_count(rows, 'row')}), "
                 f"{landed.unchanged:,} unchanged"]  # fmt: skip
        lines.extend(
            f"forgotten, since it is gone or no source names it: {name}"
            for name in landed.forgotten
        )
        if landed.rejects:
            lines.append(
                f"rejects: {_count(landed.rejects, 'record')} could not be read, the rest of their "
                f"files stands: {REJECTS}"
            )
        lines.append(
            f"months: {_months(outcome.built)} built, {_months(outcome.unchanged)} unchanged"
        )
        lines.extend(f"removed, since no bill line touches it: {key}" for key in outcome.removed)
        for result in outcome.warnings:
            such = f", such as {row_text(result.sample[0])}" if result.sample else ""
            rows_text = _count(result.bad_rows, "row")
            name = Warned(result.model, result.check, result.bad_rows, "", "").name
            lines.append(f"warning: {name}: {rows_text}{such}")
        if outcome.warnings:
            lines.append("what these checks ask for: plumbline doctor")
    lines.extend(f"source {source.name}: {config.why_none(source)}" for source in landed.empty)
    if outcome.built or outcome.unchanged:
        lines.append(f"published: {config.root / CATALOG}")
    else:
        lines.append("no month is published: no bill line touches one. See `plumbline doctor`")
    return lines


def _months(months: list[date]) -> str:
    return ", ".join(f"{month:%Y-%m}" for month in months) or "none"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
