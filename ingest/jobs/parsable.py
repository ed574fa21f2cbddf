"""Records of `--parsable2` output, which escapes nothing.

A job name or a comment may hold the delimiter and newlines. So a line is no record and a delimiter
no column border: physical lines are joined until a record is whole and the next one starts, and a
surplus of delimiters is given to the free-text columns in the one way that leaves every typed
column with a value of its type. Where several ways do, the record is not guessed at.

Nothing here proves that free text was not made to look like records: whoever can name a job can
write a line that is one. Put free text last (see the exports), so that only such a line could.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from ingest.jobs.layout import Grammar, Layout, head, layout_of, resolves, ways
from ingest.text import blocks
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError, SourceError

#: A record is given up beyond this many characters or lines.
MAX_RECORD_CHARS = 1 << 20
MAX_RECORD_LINES = 1000
_ENDLESS = f"the record does not end within {MAX_RECORD_LINES} lines"


@dataclass
class Record:
    """One record: where it starts, its text, and either its cells or the problem with it.

    With a problem there are no cells, since no value's column is sure; `head` has the leading
    columns that begin a record.
    """

    line: int
    text: str
    layout: Layout
    cells: dict[str, str] = field(default_factory=dict)
    problem: str | None = None
    head: dict[str, str] = field(default_factory=dict)

    @cached_property
    def bad(self) -> tuple[str, ...]:
        """Typed columns whose values are not of their type; found only where it is asked for."""
        names = self.layout.names
        return tuple(
            names[i]
            for i, check in self.layout.checks
            if self.cells and not check(self.cells[names[i]])
        )


def delimiter_of(file: SourceFile) -> str:
    """The option `delimiter` (default `|`); ConfigError where it is no text."""
    delimiter = file.options.get("delimiter", "|")
    if not isinstance(delimiter, str) or not delimiter or "\n" in delimiter:
        raise ConfigError(
            f"source {file.source!r}: delimiter = {delimiter!r} is no text; "
            'leave it out for "|" or write what --delimiter was given, such as "\\u001f"'
        )
    return delimiter


def open_table(file: SourceFile, grammar: Grammar) -> tuple[Layout, Iterator[Record]]:
    """Read the header and return the columns and an iterator of the records that follow.

    Raises SourceError where the first line is no header of the command's, or the file is damaged.
    """
    delimiter = delimiter_of(file)
    lines = physical_lines(file)
    header = next(lines, None)
    todo = f"Export it anew with\n    {grammar.export}"
    if header is None:
        raise SourceError(
            file.name, "is empty", expected=f"the header line of `{grammar.command}`", todo=todo
        )
    text = header.text
    has_cr = text.endswith("\r")
    text = text.removesuffix("\r")
    names = tuple(text.split(delimiter))
    missing = [" or ".join(any_of) for any_of in grammar.required if not {*any_of} & {*names}]
    if len(missing) == len(grammar.required):
        raise SourceError(
            file.name, f"first line {text[:120]!r} names no column of `{grammar.command}`",
            expected=f"a header line with columns divided by {delimiter!r}",
            todo=f"{todo}\nor set the source's option delimiter.",
        )  # fmt: skip
    if missing:
        raise SourceError(
            file.name, f"has no column {', '.join(missing)}",
            expected=f"every column that `{grammar.command}` is read for", todo=todo,
        )  # fmt: skip
    layout = layout_of(names, delimiter, grammar, text)
    return layout, _records(lines, layout, has_cr=has_cr)


class PhysicalLine(NamedTuple):
    """One line of text without its LF; `ended` says whether it had one."""

    number: int
    text: str
    ended: bool = True
    fault: str = ""


def physical_lines(file: SourceFile) -> Iterator[PhysicalLine]:
    """Yield a file's lines. Only LF ends one, since names hold other separators.

    Bytes that are no UTF-8 become U+FFFD. Raises SourceError where the file cannot be read.
    """
    for block in blocks(file):
        if block.fault:
            text = block.data.decode("utf-8", "replace")
            yield PhysicalLine(block.line, text, ended=False, fault=block.fault)
            continue
        texts = block.data.split(b"\n")
        last = texts.pop()
        for number, line in enumerate(texts, block.line):
            yield PhysicalLine(number, line.decode("utf-8", "replace"))
        if last:
            text = last.decode("utf-8", "replace")
            yield PhysicalLine(block.line + len(texts), text, ended=False)


class _Held:
    """Physical lines that are one record so far."""

    def __init__(self, line: int, text: str, fields: list[str]) -> None:
        self.line, self.fields = line, fields
        self.texts = [text]
        self.size = len(text)
        self._whole: bool | None = None

    def add(self, text: str, fields: list[str]) -> None:
        self.fields = _joined(self.fields, fields)
        self.texts.append(text)
        self.size += len(text)
        self._whole = None

    def is_whole(self, layout: Layout) -> bool:
        if self._whole is None:
            self._whole = resolves(layout, self.fields)
        return self._whole


def _joined(before: list[str], after: list[str]) -> list[str]:
    return [*before[:-1], f"{before[-1]}\n{after[0]}", *after[1:]]


def _records(lines: Iterator[PhysicalLine], layout: Layout, *, has_cr: bool) -> Iterator[Record]:
    held: _Held | None = None
    blank = 0
    for number, raw, ended, fault in lines:
        if fault:
            if held is not None:
                yield _record(layout, held)
            held = None
            yield Record(number, raw, layout, problem=fault)
            continue
        text = raw.removesuffix("\r") if has_cr else raw
        if text == layout.header:  # several exports in one file
            if held is not None:
                yield _record(layout, held)
            held = None
            continue
        if not text:
            # A newline of a name, or the end of the file: known when something follows.
            blank += 1
            continue
        fields = text.split(layout.delimiter)
        if held is None or _starts(layout, held, fields, ended=ended):
            if held is not None:
                yield _record(layout, held)
            held = _Held(number, text, fields)
        elif held.size > MAX_RECORD_CHARS or len(held.texts) > MAX_RECORD_LINES:
            yield Record(held.line, held.texts[0], layout, problem=_ENDLESS)
            held = _Held(number, text, fields)
        else:
            for empty in islice([""] * blank, MAX_RECORD_LINES):
                held.add(empty, [empty])
            held.add(text, fields)
        blank = 0
    if held is not None:
        yield _record(layout, held)


def _starts(layout: Layout, held: _Held, fields: list[str], *, ended: bool) -> bool:
    """Whether a line with these fields begins a record, rather than going on with the one held."""
    columns, count = len(layout.names), len(fields)
    looks = _looks_like_start(layout, fields)
    if len(held.fields) < columns:
        # Short: a newline inside a name, unless the line is better off on its own.
        return resolves(layout, fields) or (
            looks and not resolves(layout, _joined(held.fields, fields))
        )
    # Half of a record's columns in one line are no continuation of a name.
    is_long = count > 1 and (count - 1) * 2 >= columns - 1
    if looks or is_long:
        return True
    if not held.is_whole(layout):
        return False
    if not layout.ends_free:
        return True
    if not layout.start_checks:
        return count > 1
    # A last line without its newline is a record that was cut off while it was written.
    return not ended


def _looks_like_start(layout: Layout, fields: list[str]) -> bool:
    """Whether the leading columns that tell a record are there, with values of their type."""
    return bool(head(layout, fields))


def _record(layout: Layout, held: _Held) -> Record:
    text = "\n".join(held.texts)
    surplus = len(held.fields) - len(layout.names)
    if surplus < 0:
        return Record(
            held.line, text, layout, head=head(layout, held.fields),
            problem=f"{len(held.fields)} fields where the header has {len(layout.names)}",
        )  # fmt: skip
    if surplus == 0:
        # A column given twice has equal values; the first stands.
        cells = dict(zip(reversed(layout.names), reversed(held.fields), strict=True))
        return Record(held.line, text, layout, cells)
    found = ways(layout, held.fields, enough=2)
    if len(found) == 1:
        return Record(held.line, text, layout, found[0])
    what = "more than one way" if found else "no way"
    return Record(
        held.line, text, layout, head=head(layout, held.fields),
        problem=f"{len(held.fields)} fields where the header has {len(layout.names)}, and {what} "
        "to give the surplus to the free-text columns",
    )  # fmt: skip
