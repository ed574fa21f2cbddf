"""What step logs and checkpoint logs share: JSON lines, exact numbers, and stretches of coverage.

Whole numbers are exact at any size. JSON has no NaN, yet Python writes one for a loss that has
diverged; such a line is read, and its NaN is null.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec

from ingest.rows import Rows, ns_of_time, time_of_ns
from warehouse.contracts import SourceFile

#: A cut whose time nobody knows is for all of it.
ALL_TIME = (0, ns_of_time(datetime(2200, 1, 1, tzinfo=UTC)))
MAX_LONG = 2**63 - 1

T = TypeVar("T")


class BadRecord(Exception):
    """A line cannot be read; the text says what was found and what is expected."""


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
