"""`plumbline init`."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.cli import Settings, common


@click.command("init")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File to write. Default: that of --config, else plumbline.toml.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.option(
    "--kind", metavar="KIND", help="Print the part for one kind of source; write nothing."
)
@common
@click.pass_obj
def command(settings: Settings, output: Path | None, force: bool, kind: str | None) -> None:
    """Write a commented configuration: every setting, every kind of source.

    For each kind of source it has the exact command that exports it from a real cluster, what is
    lost without it, and the evidence grade that it makes possible.

    \b
    Example:
      plumbline init
      plumbline init --output clusters/h200/plumbline.toml
      plumbline init --kind kineto >> plumbline.toml
    """
    from pipelines.init import section, template
    from pipelines.terminal import safe
    from warehouse.errors import ConfigError

    if kind is not None:
        click.echo(section(kind), nl=False)
        return
    path = output or settings.config or Path("plumbline.toml")
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as handle:
            handle.write(template())
    except FileExistsError:
        raise ConfigError(
            f"{path} is there already. Write another file with --output FILE, or over it with "
            "--force."
        ) from None
    click.echo(f"wrote {safe(path)}")
    click.echo("Next: take the # away from the sources that you have, then `plumbline run`.")
