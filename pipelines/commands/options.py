"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


class Month(click.ParamType[date]):
    """A month written as 2026-11; its value is the month's first day."""

    name = "month"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The first day of the month; click's usage error for anything else."""
        if isinstance(value, date):
            return value
        found = re.fullmatch(r"(\d{4})-(\d{2})", str(value), re.ASCII)
        try:
            if found is not None:
                return date(int(found[1]), int(found[2]), 1)
        except ValueError:
            pass
        self.fail(f"{value!r} is no month; write it as 2026-11.", param, ctx)


def month_option(help_text: str) -> Callable[[_F], _F]:
    """The option --month."""
    return click.option("--month", type=Month(), metavar="YYYY-MM", help=help_text)
