"""The `plumbline` command: what is common to its commands, and how errors end it.

Exit codes: 0 done; 1 an error (or `doctor --strict` found something missing); 2 wrong usage;
3 a blocking check failed and nothing was published; 130 interrupted.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from warehouse.errors import CheckFailed, PlumblineError

EXIT_ERROR, EXIT_CHECK, EXIT_INTERRUPTED = 1, 3, 130
#: Width of help texts, whatever the terminal, so that docs/cli.md is the same everywhere.
HELP_WIDTH = 100

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass
class Settings:
    """What the common options say."""

    config: Path | None = None
    verbose: bool = False

    def config_path(self) -> Path:
        """The configuration that was named, else the nearest one; ConfigError where none is."""
        from pipelines.config import find_config

        return self.config if self.config is not None else find_config(Path.cwd())


def _set_config(ctx: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.ensure_object(Settings).config = value


def _set_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Settings).verbose = True


def common(command: _F) -> _F:
    """Add --config and --verbose, which may stand before or after a command's name."""
    for option in (
        click.option(
            "-v", "--verbose", is_flag=True, expose_value=False, is_eager=True,
            callback=_set_verbose, help="Show the traceback of an error.",
        ),
        click.option(
            "--config", metavar="FILE", expose_value=False, is_eager=True, callback=_set_config,
            type=click.Path(path_type=Path, dir_okay=False),
            help="Configuration to use. Default: plumbline.toml here or in a folder above.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


class Plumbline(click.Group):
    """The group of all commands: loads a command when it is asked for, and reports errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        found: click.Command = import_module(f"pipelines.commands.{COMMANDS[cmd_name]}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, with a guess at what a mistyped name meant."""
        import difflib

        name = args[0]
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        if name not in COMMANDS and near and not name.startswith("-"):
            ctx.fail(f"No such command {name!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; an error on purpose is one message on standard error, no traceback."""
        settings = ctx.ensure_object(Settings)
        try:
            return super().invoke(ctx)
        except CheckFailed as error:
            _complain(str(error), settings)
            ctx.exit(EXIT_CHECK)
        except PlumblineError as error:
            _complain(str(error), settings)
            ctx.exit(EXIT_ERROR)
        except BrokenPipeError:
            raise  # click ends quietly when `plumbline ... | head` has read enough
        except OSError as error:
            where = f"{error.filename}: " if error.filename is not None else ""
            _complain(f"{where}{error.strerror or error}. Mend it, then run again.", settings)
            ctx.exit(EXIT_ERROR)
        except KeyboardInterrupt:
            _complain(
                "interrupted. What was published before stands; the next run goes on from there.",
                settings,
            )
            ctx.exit(EXIT_INTERRUPTED)


#: Commands by name: the module of pipelines.commands that has it.
COMMANDS = {
    "init": "init", "collect": "collect", "run": "run", "report": "report", "sql": "sql",
    "doctor": "doctor", "explain": "explain", "serve": "serve", "prune": "prune",
    "sample": "sample",
}  # fmt: skip


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("plumbline")
    except PackageNotFoundError:
        number = "(not installed: run from its sources)"
    click.echo(f"plumbline {number}")
    ctx.exit()


@click.group(
    cls=Plumbline,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "terminal_width": HELP_WIDTH,
        "max_content_width": HELP_WIDTH,
    },
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version,
    help="Show the version and exit.",
)  # fmt: skip
@common
def cli() -> None:
    """From a stalled CUDA kernel to the invoice line: where the GPU-hours on the bill went.

    \b
    A first month:
      plumbline init                     write plumbline.toml: how to export each source
      plumbline run                      read what is new, divide the bill, check, publish
      plumbline report                   the bill per team, and what was wasted on what
      plumbline doctor                   what is missing, and what it would prove
      plumbline explain --team research --bucket idle_held
                                         the rule, the rows and the files behind a number

    \b
    Exit codes: 0 done, 1 error, 2 wrong usage, 3 a blocking check failed (nothing was
    published), 130 interrupted.
    """


def main() -> None:
    """The console script."""
    cli(prog_name="plumbline")


def _complain(message: str, settings: Settings) -> None:
    from pipelines.terminal import safe

    if settings.verbose:
        click.echo(safe(traceback.format_exc(), lines=True), err=True)
    click.echo(
        click.style("plumbline: ", fg="red", bold=True) + safe(message, lines=True), err=True
    )


if __name__ == "__main__":
    # As a script this module is another one than the commands import.
    import pipelines.cli

    pipelines.cli.main()
