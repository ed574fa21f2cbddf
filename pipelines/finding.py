"""What `doctor` finds in the published tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["missing", "note"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Finding:
    """What is missing (`doctor --strict` fails), or a note; rows are (subject, detail)."""

    title: str
    level: Level
    rows: list[Pair]
    todo: str
