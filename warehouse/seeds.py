"""Seeds: small dated CSV files with types in their first line and sources in their comments.

    # NVIDIA H200 datasheet, read 2026-11-30
    gpu_model:VARCHAR,dtype:VARCHAR,peak_flop_s:DECIMAL(38,0),as_of:DATE
    NVIDIA H200,bf16,989400000000000,2026-11-30

Lines that begin with # are comments; an empty cell is null.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from warehouse import sqltypes
from warehouse.errors import ModelError


@dataclass(frozen=True)
class Seed:
    """A seed's columns as (name, SQL type), and its rows as (line in the file, cells)."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]


def read_seed(path: Path) -> Seed:
    """Read a seed as text; values are not yet cast to their types.

    Raises ModelError with file and line for an empty file, an unknown type, a column without
    one, and a row of another length.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{path}: the seed cannot be read ({error.strerror}).") from error
    lines = [
        (number, next(csv.reader([line])))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise ModelError(f"{path}: the seed is empty. Its first line is column:TYPE,...")
    columns = []
    # A type may hold a comma, which the csv reader took for the end of a cell.
    for cell in _rejoined(lines[0][1]):
        column, _, type_ = (part.strip() for part in cell.partition(":"))
        try:
            normal = sqltypes.normal(type_)
            sqltypes.arrow_type(normal)
        except ValueError as error:
            raise ModelError(f"{path}:{lines[0][0]}: column {column!r}: {error}.") from None
        columns.append((column, normal))
    for number, cells in lines[1:]:
        if len(cells) != len(columns):
            raise ModelError(
                f"{path}:{number}: {len(cells)} cells where the first line has {len(columns)}. "
                "Quote cells that hold a comma."
            )
    rows = tuple((number, tuple(cell.strip() for cell in cells)) for number, cells in lines[1:])
    return Seed(tuple(columns), rows)


def _rejoined(cells: list[str]) -> list[str]:
    whole: list[str] = []
    for cell in cells:
        if whole and whole[-1].count("(") > whole[-1].count(")"):
            whole[-1] += "," + cell
        else:
            whole.append(cell)
    return whole
