"""What step logs and checkpoint logs share: JSON lines, and what a file's name says.

Whole numbers are exact at any size. JSON has no NaN, yet Python writes one for a loss that has
diverged; such a line is read, and its NaN is null.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from ingest.rows import Rows, ns_of_time, time_of_ns
from ingest.text import check_options
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

#: A cut whose time nobody knows is for all of it.
ALL_TIME = (0, ns_of_time(datetime(2200, 1, 1, tzinfo=UTC)))
MAX_LONG = 2**63 - 1
_FIELDS = {"job_id": r"[^/]+", "attempt": r"[0-9]{1,18}", "rank": r"[0-9]{1,18}"}
_MARK = re.compile(r"\{([^{}]*)\}")

T = TypeVar("T")


class BadRecord(Exception):
    """A line cannot be read; the text says what was found and what is expected."""


@dataclass(frozen=True)
class Named:
    """What a file's name says about every record in it; None where it says nothing."""

    job_id: str | None = None
    attempt: int | None = None
    rank: int | None = None


def named(file: SourceFile) -> Named:
    """Read job, attempt and rank out of a file's name by the option `pattern`.

    `pattern` is the end of a path with marks, such as `job_{job_id}/steps_rank{rank}.jsonl`, or a
    list of such, of which the first that fits counts. Raises ConfigError where none fits, or
    where a mark is unknown.
    """
    check_options(file, "pattern")
    option = file.options.get("pattern")
    if option is None:
        return Named()
    patterns = option if isinstance(option, list) else [option]
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise ConfigError(f"{file.source}: pattern is {pattern!r}; expected text")
        if match := re.search(_regex(pattern, file), file.name):
            found = match.groupdict()
            return Named(
                found.get("job_id"),
                int(found["attempt"]) if "attempt" in found else None,
                int(found["rank"]) if "rank" in found else None,
            )
    raise ConfigError(
        f"{file.source}: pattern {option!r} does not fit the file {file.name}; expected the end "
        f"of its path with marks, such as job_{{job_id}}/steps_rank{{rank}}.jsonl"
    )


def _regex(pattern: str, file: SourceFile) -> str:
    texts = _MARK.split(pattern)
    for mark in texts[1::2]:
        if mark not in _FIELDS or texts[1::2].count(mark) > 1:
            raise ConfigError(
                f"{file.source}: pattern {pattern!r} has the mark {{{mark}}}; expected "
                f"{', '.join(f'{{{name}}}' for name in _FIELDS)}, each at most once"
            )
    parts = [
        f"(?P<{text}>{_FIELDS[text]})" if at % 2 else re.escape(text)
        for at, text in enumerate(texts)
    ]
    return rf"(?:^|/){''.join(parts)}(?:\.gz)?$"


def decode(text: bytes, type_: type[T]) -> T:
    """Decode one line strictly; BadRecord says what is wrong with it."""
    try:
        try:
            return msgspec.json.decode(text, type=type_)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            if b"NaN" not in text and b"Infinity" not in text:
                raise
            return msgspec.convert(json.loads(text, parse_constant=lambda _: None), type_)
    except msgspec.ValidationError as error:
        raise BadRecord(str(error)) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadRecord(f"no JSON object in one line ({error})") from None


def salvage(text: bytes) -> dict[str, Any]:
    """What a bad line still says of its job; nothing where it is no JSON object."""
    with suppress(msgspec.MsgspecError, RecursionError):
        value = msgspec.json.decode(text)
        if isinstance(value, dict):
            return value
    return {}


def job_of(value: object) -> str | None:
    """A job id as text: logs write it as text or as a number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value).strip() or None


def whole(value: object) -> int | None:
    """A whole number of 0 or more that fits a BIGINT, else None."""
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_LONG
    return value if is_whole and isinstance(value, int) else None


def check_range(**values: int | None) -> None:
    """BadRecord where a number is negative or too large for a BIGINT; None is no number."""
    for name, value in values.items():
        if value is not None and not 0 <= value <= MAX_LONG:
            raise BadRecord(f"{name} is {value}; expected 0 to {MAX_LONG}")


def one_of(name: str, own: T | None, by_name: T | None) -> T | None:
    """The record's own value, else the file name's; BadRecord where the two differ."""
    if own is not None and by_name is not None and own != by_name:
        raise BadRecord(f"{name} is {own!r}, but the file's name says {by_name!r}")
    return by_name if own is None else own


def add_stretch(
    coverage: Rows, file: SourceFile, source: str, span: tuple[int, int], *,
    job_id: str | None, attempt: int | None, is_cut: bool, line: int,
) -> None:  # fmt: skip
    """Add a row of coverage, in epoch ns, widened to whole microseconds."""
    start, end = span[0] // 1000, -(-span[1] // 1000)
    if end > start:
        coverage.add(
            source=source, cluster=file.cluster, job_id=job_id, attempt=attempt,
            start=time_of_ns(start * 1000), end=time_of_ns(end * 1000), is_cut=is_cut,
            source_row=line,
        )  # fmt: skip
