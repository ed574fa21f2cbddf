"""What commands write on a terminal: tables, bars, progress and errors, safe for any name.

Names come from jobs, tags and files, so any of them may hold terminal escapes or rich's markup.
Every text passes `safe` and is laid out as it stands, never read as markup. Where standard output
is no terminal there are no colours, no cursor movements and a fixed width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from reports import names

#: Columns of a line where nobody looks: wide enough for every table of `report`.
PLAIN_WIDTH = 150
#: Characters of the longest bar.
BAR_WIDTH = 44

#: Classes of the waste model in reading order: style, mark, mark where the output is ASCII only.
#: Marks differ, so that a bar can be read without colours.
CLASSES: dict[str, tuple[str, str, str]] = {
    "useful": ("green", "█", "="),
    "step": ("yellow", "▓", "s"),
    "overhead": ("blue", "▒", "o"),
    "strict": ("red", "#", "#"),
    "policy": ("magenta", "p", "p"),
    "unknown": ("bright_black", "?", "?"),
}
_GPU = re.compile(r"\bGPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")

Progress = Callable[[str], None]


def safe(value: object, *, lines: bool = False) -> str:
    """A text that a terminal shows as it is: what would move, hide or turn text is spelled out.

    `lines` keeps line breaks and tabs, for messages of our own.
    """
    return names.plain(value, keep="\n\t" if lines else "")


def console(*, stderr: bool = False) -> Console:
    """A console for standard output or standard error."""
    found = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not found.is_terminal:
        found.width = PLAIN_WIDTH  # whatever COLUMNS says: the same bytes everywhere
    return found


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, total: bool = False
) -> Group:
    """A table of texts under its title; a column whose head begins with `>` is one of numbers.

    `total` sets the last row apart. None is shown as a dash.
    """
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for column in columns:
        head = Text(column.removeprefix(">"))
        if column.startswith(">"):
            found.add_column(head, justify="right", no_wrap=True)
        else:
            found.add_column(head, overflow="fold")
    for number, row in enumerate(rows, 1):
        cells = [cell if isinstance(cell, Text) else Text(_cell(cell)) for cell in row]
        last = total and number == len(rows)
        if last:
            found.add_section()
        found.add_row(*cells, style="bold" if last else None)
    return Group(Text(safe(title), style="bold"), found)


def write(target: Console, parts: Iterable[RenderableType]) -> None:
    """Print the parts with an empty line after each.

    A terminal that is too narrow breaks lines: it is never given shortened numbers, nor columns of
    a few letters. Plain lines have no blanks at their ends.
    """
    width = target.width
    unbounded = target.options.update(width=10_000)
    for part in parts:
        wanted = Measurement.get(target, unbounded, part)
        target.width = max(width, wanted.minimum, min(wanted.maximum, PLAIN_WIDTH))
        if target.is_terminal:
            target.print(part)
        else:
            with target.capture() as captured:
                target.print(part)
            for line in captured.get().splitlines():
                target.out(line.rstrip(), highlight=False)
        target.print()
    target.width = width


def class_text(waste_class: str) -> Text:
    """A class's name in its colour."""
    style = CLASSES.get(waste_class, ("", "", ""))[0]
    return Text(safe(waste_class), style=style)


def bar(cells: Mapping[str, int], *, ascii_only: bool) -> Text:
    """A bar of so many cells for each class, in the order of CLASSES."""
    found = Text()
    for name, (style, mark, plain) in CLASSES.items():
        found.append((plain if ascii_only else mark) * cells.get(name, 0), style=style)
    return found


def legend(*, ascii_only: bool) -> Text:
    """What the marks of a bar mean."""
    found = Text()
    for name, (style, mark, plain) in CLASSES.items():
        found.append(f"{plain if ascii_only else mark} ", style=style)
        found.append(f"{name}   ")
    return found


def is_ascii(target: Console) -> bool:
    """True where the output cannot carry block characters."""
    return not target.encoding.lower().startswith("utf")


@contextmanager
def progress() -> Iterator[Progress]:
    """A callback that says on standard error what goes on: one live line, or plain lines.

    Plain lines say once that a month is built, not each of its models.
    """
    target = console(stderr=True)
    if target.is_terminal:
        with target.status("") as status:
            yield lambda message: status.update(Text(safe(message)))
        return
    said = ""

    def plain(message: str) -> None:
        nonlocal said
        month, model, _ = message.partition(": model ")
        line = f"build {month}" if model else message
        if line != said:
            said = line
            target.print(Text(safe(line)))

    yield plain


def usd(value: Decimal | None) -> str:
    """Dollars as they are (round first), with thousands apart."""
    return "-" if value is None else f"{value:,}"


def percent(value: float | None) -> str:
    """A ratio in percent: one decimal, and two below one percent, where they tell most."""
    if value is None:
        return "-"
    return f"{value * 100:.2f}" if abs(value) < 0.01 else f"{value * 100:.1f}"


def seconds(value_ns: int | None) -> str:
    """A time in seconds (three decimals below a day or so), without rounding in floats."""
    if value_ns is None:
        return "-"
    whole = Decimal(value_ns).scaleb(-9)
    return f"{whole:,.3f}" if abs(whole) < 100_000 else f"{whole:,.0f}"


def milliseconds(value_ns: int | None) -> str:
    """A time in milliseconds to the microsecond, without rounding in floats."""
    return "-" if value_ns is None else f"{Decimal(value_ns).scaleb(-6):,.3f}"


def ratio(value: float | None) -> str:
    """A ratio that may be above 1, as a factor with two decimals."""
    return "-" if value is None else f"{value:,.2f}"


def gpu(uuid: str | None) -> str | None:
    """The part of a UUID that people tell GPUs apart by."""
    return uuid[:12] if uuid is not None and uuid.startswith("GPU-") else uuid


def short_gpus(text: str | None) -> str | None:
    """A text in which each UUID of a GPU is cut to the part that people tell GPUs apart by."""
    return None if text is None else _GPU.sub(lambda found: found[0][:12], text)


def moment(epoch_ns: int) -> str:
    """A time in UTC to the microsecond, cut, from epoch nanoseconds."""
    whole, rest = divmod(epoch_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(whole, UTC):%Y-%m-%d %H:%M:%S}.{rest // 1000:06d}"


def instant(value: datetime | None) -> str:
    """A time in UTC to the second, without its zone (heads say UTC)."""
    return "-" if value is None else value.strftime("%Y-%m-%d %H:%M:%S")


def minute(value: datetime | None) -> str:
    """A time in UTC to the minute."""
    return "-" if value is None else value.strftime("%Y-%m-%d %H:%M")


def _cell(value: object) -> str:
    return "-" if value is None else safe(value)
