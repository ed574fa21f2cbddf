"""`plumbline serve`."""

from __future__ import annotations

import click

from pipelines.cli import Settings, common


@click.command("serve")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=3000, show_default=True,
    help="Port of 127.0.0.1; it is opened nowhere else.",
)  # fmt: skip
@click.option(
    "--daemon/--no-daemon", default=True, show_default=True,
    help="Start the daemon too, which runs what is launched, schedules and sensors. Without it "
    "where another one does.",
)  # fmt: skip
@common
@click.pass_obj
def command(settings: Settings, port: int, daemon: bool) -> None:
    """Open the scheduler's pages on this machine: graph, months, checks, runs.

    A run started there does what `plumbline run` does. Schedules and sensors are off until they are
    switched on there. The scheduler keeps its records in DAGSTER_HOME, else below the warehouse's
    folder. Needs pip install '.[serve]' in the checkout; Ctrl-C ends it.

    \b
    Example:
      plumbline serve
      plumbline serve --port 3001 --no-daemon
    """
    import os

    from pipelines import serving
    from pipelines.config import load_config
    from warehouse.errors import PlumblineError

    path = settings.config_path().resolve()
    config = load_config(path)
    serving.check(port)
    home = serving.home(config)
    serving.prepare(home)
    environ = {**os.environ, serving.HOME_VARIABLE: str(home), "PLUMBLINE_CONFIG": str(path)}

    def ready() -> None:
        click.echo(f"http://{serving.HOST}:{port} in ten to twenty seconds; Ctrl-C ends it")
        click.echo(f"records: {home}")

    try:
        code = serving.serve(serving.commands(port, daemon=daemon), environ, ready=ready)
    except KeyboardInterrupt:
        click.echo("ended")
        return
    raise PlumblineError(
        f"the scheduler ended by itself with {code}; what it said stands above. Its records are in "
        f"{home}."
    )
