"""Names from jobs, tags, kernels and files, made harmless for the place where they are shown.

Any of them may hold markup, a spreadsheet formula, text that turns its neighbours around, or ten
thousand letters.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

#: Longest name that is shown, and longest that is kept at all (in a tooltip, in a cell).
SHOWN, KEPT = 200, 1000
_HIDDEN = {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}
_TURNING = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
#: What a spreadsheet takes for the start of a formula, also in the wide forms of East Asia.
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_PLAIN_FILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
#: Names that some systems keep for devices.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}


def plain(value: object, *, keep: str = "") -> str:
    """The text, with what would hide, move or turn text spelled out as \\u202e, but for `keep`."""
    text = str(value)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _spelled(unit) if is_unsafe(unit) and unit not in keep else unit for unit in text
    )


def is_unsafe(unit: str) -> bool:
    """True for a character that hides, moves or turns text."""
    return unicodedata.category(unit) in _HIDDEN or unit in _TURNING


def _spelled(unit: str) -> str:
    return f"\\u{ord(unit):04x}" if ord(unit) < 0x10000 else f"\\U{ord(unit):08x}"


def cut(text: str, length: int = SHOWN) -> str:
    """The text, or its start and end around an ellipsis where it is longer than that."""
    if len(text) <= length:
        return text
    end = (length - 1) // 3
    return f"{text[: length - 1 - end]}…{text[-end:] if end else ''}"


def cell(value: object) -> str:
    """A text for CSV: plain, and never read as a formula (an apostrophe stands before it)."""
    text = str(value)
    return f"'{plain(text)}" if text.startswith(_FORMULA) else plain(text)


def file_name(name: str) -> str:
    """A file name (without its ending) for a team: its own where that is safe everywhere.

    Else what is left of it, with a hash of the whole name, so that no two teams share a file.
    """
    if _PLAIN_FILE.fullmatch(name) and name not in _DEVICES:
        return name
    rest = re.sub(r"[^a-z0-9]+", "-", name.lower())[:40].strip("-")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{rest}-{digest}" if rest else f"team-{digest}"
