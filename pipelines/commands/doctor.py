"""`plumbline doctor`."""

from __future__ import annotations

import click

from pipelines.cli import EXIT_ERROR, Settings, common


@click.command("doctor")
@click.option("--strict", is_flag=True, help="Exit with 1 where something is missing.")
@common
@click.pass_context
def command(ctx: click.Context, strict: bool) -> None:
    """Say what is missing, how to get it, and what it would prove.

    For each kind of source: whether it is configured, which files are there and were read, the
    time they speak for, and the evidence grade that it makes possible. Then what the tables
    themselves show: unknown GPU counts, rejects, unmapped accounts, GPUs without samples, jobs
    whose GPUs are unknown, traces whose job is unknown or that do not speak for their job, missing
    months, policies about to end. Reads no source file.

    \b
    Example:
      plumbline doctor
      plumbline doctor --strict || echo "not ready to close the month"
    """
    from datetime import UTC, datetime

    from pipelines import terminal
    from pipelines.config import load_config
    from pipelines.doctor import diagnose, render

    settings = ctx.ensure_object(Settings)
    diagnosis = diagnose(load_config(settings.config_path()), now=datetime.now(UTC))
    terminal.write(terminal.console(), render(diagnosis))
    if strict and diagnosis.missing:
        ctx.exit(EXIT_ERROR)
