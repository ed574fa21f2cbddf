"""The header comment that opens every model file.

    /*
    purpose: free text, may go on in indented lines
    grain: one row per ...
    keys: a, b
    columns:
        name | SQL TYPE | unit or - | meaning
    checks:
        name | blocking or warning | boolean expression over one row that must be true
    order: a, b
    version: 1
    */

A field starts in the first column of its line, its rows and further lines are indented. A row
of `columns` or `checks` goes on in lines that are indented deeper than the row. `keys` are unique
together (nulls are allowed and compare equal); `order` is the publishing order (default: keys).
A check file has `level: blocking` or `level: warning` and needs neither grain nor keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from warehouse import sqltypes
from warehouse.errors import ModelError

LEVELS = ("blocking", "warning")
NAME = re.compile(r"[a-z][a-z0-9_]*")
_FIELDS = ("purpose", "grain", "keys", "level", "columns", "checks", "order", "version")
_OPEN = re.compile(r"\s*/\*")
_FIELD = re.compile(r"([A-Za-z_]+):(.*)")
_Lines = list[tuple[int, str]]


@dataclass(frozen=True)
class ModelColumn:
    """One column of a model: SQL type as DESCRIBE spells it, unit ('' where none), meaning."""

    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class RowCheck:
    """A boolean SQL expression over one row that must be true; null fails as false does."""

    name: str
    level: str
    expression: str
    line: int


@dataclass(frozen=True)
class Header:
    """What the header says; `line` holds the line in the file where each field begins."""

    purpose: str
    grain: str
    keys: tuple[str, ...]
    columns: tuple[ModelColumn, ...]
    checks: tuple[RowCheck, ...]
    level: str | None
    order: tuple[str, ...]
    version: int
    line: dict[str, int]


def fault(path: object, line: int, found: str, todo: str) -> ModelError:
    """A ModelError that says where, what was found and what to do."""
    return ModelError(f"{path}:{line}: {found}. {todo}")


def split(text: str, path: object) -> tuple[_Lines, str]:
    """The numbered lines of the header comment, and the SQL after it.

    The SQL keeps its place: as many empty lines stand before it as the header has, so that the
    line numbers of parsers and engines are those of the file.
    """
    start = _OPEN.match(text)
    if start is None:
        raise fault(
            path,
            1,
            "the file does not begin with a header comment",
            "Open it with /* purpose: ... */ as warehouse/header.py describes.",
        )
    end = text.find("*/", start.end())
    if end < 0:
        raise fault(path, 1, "the header comment is not closed", "End it with */ before the SQL.")
    first = text.count("\n", 0, start.end()) + 1
    lines = text[start.end() : end].split("\n")
    body = "\n" * text.count("\n", 0, end + 2) + text[end + 2 :]
    return [(first + i, line) for i, line in enumerate(lines)], body


def parse(lines: _Lines, path: object, *, is_check: bool = False) -> Header:
    """Read a header; ModelError with file, line and what to do where it breaks the grammar."""
    fields = _fields(lines, path)
    line = {name: rows[0][0] for name, rows in fields.items()}
    needed = (
        ("purpose", "level", "columns") if is_check else ("purpose", "grain", "keys", "columns")
    )
    for name in needed:
        if not any(text.strip() for _, text in fields.get(name, [])):
            raise fault(
                path,
                line.get(name, lines[0][0]),
                f"the header has no {name}",
                f"A model here needs {', '.join(needed)}.",
            )
    columns = tuple(_columns(fields["columns"], path))
    names = [c.name for c in columns]
    keys = _names(fields, "keys", names, path)
    level = _text(fields, "level") or None
    if is_check and level not in LEVELS:
        raise fault(path, line["level"], f"level {level!r}", "Write blocking or warning.")
    for name in ("keys", "order", "checks") if is_check else ("level",):
        if name in fields:
            kind = "a check" if is_check else "a model"
            raise fault(path, line[name], f"{kind} has no {name}", "Leave the field out.")
    version = _text(fields, "version") or "1"
    if not version.isdecimal() or int(version) < 1:
        raise fault(path, line["version"], f"version {version!r}", "Write a whole number from 1.")
    return Header(
        purpose=_text(fields, "purpose"),
        grain=_text(fields, "grain"),
        keys=keys,
        columns=columns,
        checks=tuple(_checks(fields.get("checks", []), path)),
        level=level,
        order=_names(fields, "order", names, path) or keys,
        version=int(version),
        line=line,
    )


def _fields(lines: _Lines, path: object) -> dict[str, _Lines]:
    fields: dict[str, _Lines] = {}
    current: _Lines | None = None
    for number, text in lines:
        if not text.strip():
            continue
        if text[0].isspace() and current is not None:
            current.append((number, text))
            continue
        found = _FIELD.fullmatch(text.lstrip() if current is None else text)
        name = found[1] if found else ""
        if found is None or name not in _FIELDS:
            raise fault(
                path,
                number,
                f"header line {text.strip()!r} starts no field",
                f"Fields are {', '.join(_FIELDS)}; indent what belongs to one.",
            )
        if name in fields:
            raise fault(path, number, f"the field {name} stands twice", "Keep one.")
        current = fields[name] = [(number, found[2])]
    return fields


def _text(fields: dict[str, _Lines], name: str) -> str:
    return " ".join(" ".join(text for _, text in fields.get(name, [])).split())


def _names(
    fields: dict[str, _Lines], name: str, columns: list[str], path: object
) -> tuple[str, ...]:
    names = tuple(n for n in re.split(r"[,\s]+", _text(fields, name)) if n)
    for n in names:
        if n not in columns:
            raise fault(
                path,
                fields[name][0][0],
                f"{name} names {n!r}, which is no column",
                f"Columns are {', '.join(columns)}.",
            )
    if len(set(names)) != len(names):
        raise fault(path, fields[name][0][0], f"{name} names a column twice", "Name it once.")
    return names


def _rows(lines: _Lines, cells: int, shape: str, path: object) -> Iterator[tuple[int, list[str]]]:
    """Rows of a block, each with so many cells; a deeper indented line continues the row."""
    if lines and lines[0][1].strip():
        raise fault(
            path,
            lines[0][0],
            f"{lines[0][1].strip()!r} stands beside the field's name",
            f"Start the rows on the next line, indented: {shape}.",
        )
    joined: _Lines = []
    depth = None
    for number, text in lines[1:]:
        indent = len(text) - len(text.lstrip())
        depth = indent if depth is None else depth
        if joined and indent > depth:
            joined[-1] = (joined[-1][0], f"{joined[-1][1]} {text.strip()}")
        else:
            joined.append((number, text.strip()))
    seen = set()
    for number, text in joined:
        row = [cell.strip() for cell in text.split("|", cells - 1)]
        if len(row) != cells or not all(row):
            raise fault(path, number, f"{text!r} is no row of {cells} cells", f"Write {shape}.")
        if not NAME.fullmatch(row[0]):
            raise fault(path, number, f"name {row[0]!r}", "Use lower case, digits, underscores.")
        if row[0] in seen:
            raise fault(path, number, f"{row[0]!r} stands twice", "Keep one.")
        seen.add(row[0])
        yield number, row


def _columns(lines: _Lines, path: object) -> Iterator[ModelColumn]:
    shape = "name | SQL TYPE | unit or - | meaning"
    for number, (name, type_, unit, meaning) in _rows(lines, 4, shape, path):
        normal = sqltypes.normal(type_)
        try:
            sqltypes.arrow_type(normal)
        except ValueError as error:
            raise fault(path, number, f"column {name}: {error}", "Cast it in the SQL.") from None
        yield ModelColumn(name, normal, "" if unit == "-" else unit, meaning)


def _checks(lines: _Lines, path: object) -> Iterator[RowCheck]:
    shape = "name | blocking or warning | boolean expression over one row"
    for number, (name, level, expression) in _rows(lines, 3, shape, path):
        if level not in LEVELS:
            raise fault(
                path, number, f"check {name}: level {level!r}", "Write blocking or warning."
            )
        yield RowCheck(name, level, expression, number)
