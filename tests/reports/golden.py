"""Golden files: what a report says, to be read in a diff.

`PLUMBLINE_UPDATE_GOLDEN=1 pytest tests/reports` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "golden" / "report"


def golden(name: str, text: str) -> None:
    """Compare a text with its golden file, or renew that."""
    path = FOLDER / name
    if os.environ.get("PLUMBLINE_UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"{path} is stale: read the difference, then PLUMBLINE_UPDATE_GOLDEN=1 pytest tests/reports"
    )
