"""`plumbline sql`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

import click

from pipelines.cli import Settings, common

if TYPE_CHECKING:
    from pipelines.published import Published


@click.command("sql")
@click.argument("query", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="How to print the rows; csv and json keep every digit.",
)
@click.option(
    "--file",
    "file",
    type=click.File("r", encoding="utf-8"),
    metavar="FILE",
    help="Read the query from a file; - is standard input.",
)
@click.option("--tables", is_flag=True, help="List the tables: grain, columns, units, meaning.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="Stop the query after this time. Default: never.",
)  # fmt: skip
@common
@click.pass_obj
def command(
    settings: Settings,
    query: str | None,
    format_: str,
    file: TextIO | None,
    tables: bool,
    timeout: float | None,
) -> None:
    """Ask the published tables with one SELECT (DuckDB's SQL).

    The query runs in a sandbox: it sees the published tables and nothing else, neither files nor
    the network, and it cannot write or change a setting.

    \b
    Example:
      plumbline sql "select team, waste_class, sum(effective_usd) as usd from waste_team_month
                     group by all order by usd desc"
      plumbline sql --file month.sql --format csv > month.csv
      plumbline sql --tables
    """
    from pipelines.config import load_config
    from pipelines.published import Published

    given = sum((query is not None, file is not None, tables))
    if given != 1:
        raise click.UsageError("Give one of: a query, --file FILE, --tables.")
    published = Published(load_config(settings.config_path()))
    if tables:
        click.echo(_tables(published), nl=False)
        return
    sql = query if query is not None else _read(file)
    from warehouse.query import render

    rows = published.query(sql, timeout_s=timeout)
    _write(render(rows, format_, width=_width() if format_ == "table" else None))


def _tables(published: Published) -> str:
    """Every table with its grain and columns, marts first."""
    from pipelines.terminal import safe
    from warehouse.contracts import LANDING
    from warehouse.sqltypes import sql_type

    lines: list[str] = []
    for landing in (False, True):
        lines.append("# as it was read from the sources" if landing else "# published")
        for name, contract in sorted(published.contracts.items()):
            if (name in LANDING) is not landing:
                continue
            count = sum(entry.rows for entry in published.store.files(name))
            lines.append(f"\n{name}: {contract.grain} ({count:,} rows)")
            lines.extend(
                f"    {column.name} {sql_type(column.type)}"
                + (f" [{column.unit}]" if column.unit else "")
                + f": {column.meaning}"
                for column in contract.columns
            )
        lines.append("")
    return safe("\n".join(lines), lines=True)


def _read(file: TextIO | None) -> str:
    assert file is not None
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name}: is no UTF-8 text ({error}).") from error


def _write(text: str) -> None:
    """Print exact text; where somebody looks, without what would move the terminal."""
    from pipelines.terminal import safe

    # click.echo would take escapes out of what goes to a file, where every byte is data.
    sys.stdout.write(safe(text, lines=True) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _width() -> int | None:
    """The terminal's width; as wide as the rows where nobody looks, so that nothing wraps."""
    from pipelines.terminal import console

    target = console()
    return target.width if target.is_terminal and sys.stdout.isatty() else None
