"""One event of a trace: the fields that are read, and its exact times.

Events are decoded strictly and fast first. One whose fields have other types than usual (a thread
or a time as text) or whose text is not quite JSON (NaN, control characters, bytes that are not
UTF-8, an empty value, a bare N/A, a backslash that escapes nothing: profilers have written each of
them) is read a second time with care. What such text cannot say is null; nothing is guessed.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from math import inf
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import field

#: Below this many microseconds a float tells nanoseconds apart: 2**43 has steps of 0.002.
EXACT_US = 2.0**43
MAX_LONG = 2**63 - 1

#: The value of a `ts` or `dur` that is not there.
ABSENT = -inf

#: A key without a value, or with a word that JSON does not know.
_NO_VALUE = re.compile(r'((?<!\\)"\s*:)\s*(?:N/A|-?nan|-?inf|None|undefined)?(?=\s*[,}])')
_BACKSLASH = re.compile(r'\\(["\\/bfnrt]|u[0-9A-Fa-f]{4}|)')

Whole: TypeAlias = int | str | None
#: One letter. As a literal it is one object for all events, and not one for each.
Phase: TypeAlias = Literal[
    "X", "s", "f", "t", "i", "I", "M", "C", "B", "E", "b", "n", "e", "P", "R", "N", "O", "D", "S",
    "T", "p", "F", "v", "V", "c", "(", ")",
]  # fmt: skip


class Unreadable(Exception):
    """An event cannot be read; the text says what was found and what is expected."""


NO_TEXT = msgspec.Raw()


class Args(msgspec.Struct, gc=False):
    """What is read of an event's `args`; the lists of shapes stay JSON text."""

    external_id: Whole = field(name="External id", default=None)
    old_external_id: Whole = field(name="external id", default=None)
    correlation: Whole = None
    device: Whole = None
    stream: Whole = None
    graph_id: Whole = field(name="graph id", default=None)
    graph_node_id: Whole = field(name="graph node id", default=None)
    size: int | float | str | None = field(name="bytes", default=None)
    kind: Whole = None
    grid: list[int] | str | None = None
    block: list[int] | str | None = None
    occupancy: int | float | str | None = field(name="est. achieved occupancy %", default=None)
    collective: str | None = field(name="Collective name", default=None)
    group_name: str | None = field(name="Process Group Name", default=None)
    group_ranks: str | None = field(name="Process Group Ranks", default=None)
    group_size: Whole = field(name="Group size", default=None)
    seq: Whole = field(name="Seq", default=None)
    comms_id: Whole = field(name="Comms Id", default=None)
    in_elements: Whole = field(name="In msg nelems", default=None)
    out_elements: Whole = field(name="Out msg nelems", default=None)
    dtype: str | None = None
    sequence_number: Whole = field(name="Sequence number", default=None)
    fwd_thread_id: Whole = field(name="Fwd thread id", default=None)
    dims: msgspec.Raw = field(name="Input Dims", default=NO_TEXT)
    types: msgspec.Raw = field(name="Input type", default=NO_TEXT)
    concrete: msgspec.Raw = field(name="Concrete Inputs", default=NO_TEXT)


NO_ARGS = Args()


class Event(msgspec.Struct, gc=False):
    """An event; `ts` and `dur` are microseconds."""

    ph: Phase
    cat: str = ""
    name: str = ""
    pid: Whole = None
    tid: Whole = None
    ts: int | float = ABSENT
    dur: int | float = ABSENT
    args: Args | None = None


class ExactEvent(Event, gc=False):
    """An event whose times are decimal: epoch microseconds with digits behind the point."""

    ts: Decimal = Decimal(ABSENT)  # type: ignore[assignment]
    dur: Decimal = Decimal(ABSENT)  # type: ignore[assignment]


class WideArgs(Args, gc=False):
    """What is read besides of changes of memory, where they are asked for."""

    address: Whole = field(name="Addr", default=None)
    changed: Whole = field(name="Bytes", default=None)
    allocated: Whole = field(name="Total Allocated", default=None)
    reserved: Whole = field(name="Total Reserved", default=None)
    device_type: Whole = field(name="Device Type", default=None)
    device_id: Whole = field(name="Device Id", default=None)


class WideEvent(Event, gc=False):
    """An event with what flows and changes of memory have besides."""

    id: Whole = None
    args: WideArgs | None = None


class ExactWideEvent(WideEvent, gc=False):
    """The same with decimal times."""

    ts: Decimal = Decimal(ABSENT)  # type: ignore[assignment]
    dur: Decimal = Decimal(ABSENT)  # type: ignore[assignment]


class EventDecoder:
    """Decodes events; it remembers that a file's times need decimals. `wide` reads WideEvent."""

    def __init__(self, *, wide: bool = False) -> None:
        plain: Any = list[WideEvent] if wide else list[Event]
        exact: Any = list[ExactWideEvent] if wide else list[ExactEvent]
        self._plain: msgspec.json.Decoder[list[Event]] = msgspec.json.Decoder(plain)
        self._exact: msgspec.json.Decoder[list[Any]] = msgspec.json.Decoder(exact)
        self._is_exact, self._is_wide = False, wide

    def events(self, data: bytes) -> list[Event]:
        """Read a closed list strictly; a MsgspecError or RecursionError where it is none."""
        if not self._is_exact:
            events = self._plain.decode(data)
            if max([e.ts for e in events], default=0) < EXACT_US or all(
                type(e.ts) is int for e in events if e.ts >= EXACT_US
            ):
                return events
            self._is_exact = True
        exact = self._exact.decode(data)
        # Text is a decimal too, and so is "NaN".
        if any(e.ts.is_nan() or e.dur.is_nan() for e in exact):
            raise msgspec.ValidationError("ts or dur is no number")
        return exact

    def event(self, data: bytes) -> Event:
        """Read one event strictly, else with care; Unreadable says why it cannot be read."""
        try:
            return self.events(b"[%b]" % data)[0]
        except (msgspec.MsgspecError, RecursionError):
            return careful(data, wide=self._is_wide)


def careful(data: bytes, *, wide: bool = False) -> Event:
    """Read one event whatever the types of its fields; what cannot be read of them is None."""
    text = data.decode("utf-8", "replace")
    try:
        try:
            value = _loads(text)
        except json.JSONDecodeError:
            value = _loads(_NO_VALUE.sub(r"\1null", _BACKSLASH.sub(_escaped, text)))
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise Unreadable(f"no JSON ({error}); expected an event") from None
    if not isinstance(value, dict):
        raise Unreadable(f"a {type(value).__name__}; expected an event, an object with ph")
    if not isinstance(value.get("ph"), str):
        raise Unreadable("an object without ph; expected an event")
    args = value.get("args")
    ts, dur = _number(value.get("ts")), _number(value.get("dur"))
    is_exact = ts >= EXACT_US and ts != ts.to_integral_value()
    fields: dict[str, Any] = {
        "ph": cast("Phase", _text(value["ph"]) or ""),
        "cat": _text(value.get("cat")) or "", "name": _text(value.get("name")) or "",
        "pid": _whole(value.get("pid")), "tid": _whole(value.get("tid")),
        "ts": ts if is_exact else _plain(ts), "dur": dur if is_exact else _plain(dur),
        "args": _args(args, WideArgs if wide else Args) if isinstance(args, dict) else None,
    }  # fmt: skip
    if wide:
        return (ExactWideEvent if is_exact else WideEvent)(**fields, id=_whole(value.get("id")))
    return (ExactEvent if is_exact else Event)(**fields)


def _loads(text: str) -> Any:
    return json.loads(
        text, strict=False, parse_float=Decimal, parse_constant=lambda _: None
    )  # fmt: skip


def _escaped(found: re.Match[str]) -> str:
    return found[0] if found[1] else r"\\"


def _args(value: dict[str, Any], type_: type[Args]) -> Args:
    names = {f.encode_name: f.name for f in msgspec.structs.fields(type_)}
    return type_(**{
        name: _reader(name)(value[key])
        for key, name in names.items() if value.get(key) is not None
    })  # fmt: skip


def _text(value: object) -> str | None:
    """Text that can be stored: halves of surrogate pairs become U+FFFD."""
    if value is None:
        return None
    text = value if isinstance(value, str) else str(value)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(value: object) -> Decimal:
    if isinstance(value, str | int | Decimal) and not isinstance(value, bool):
        with suppress(InvalidOperation):
            number = Decimal(value)
            if -MAX_LONG <= number <= MAX_LONG:
                return number
    return Decimal(ABSENT)


def _plain(number: Decimal) -> int | float:
    if number.is_finite() and number == number.to_integral_value():
        return int(number)
    return float(number)


def _whole(value: object) -> Whole:
    if isinstance(value, Decimal):
        return int(value) if -MAX_LONG <= value <= MAX_LONG and value == int(value) else None
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _count(value: object) -> int | str | None:
    if isinstance(value, Decimal):
        return round(value) if -MAX_LONG <= value <= MAX_LONG else None
    return _whole(value)


def _sides(value: object) -> list[int] | None:
    if isinstance(value, list) and all(type(side) is int for side in value):
        return value
    return None


def _raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value, default=str).encode())


def _reader(name: str) -> Any:
    if name in ("collective", "group_name", "group_ranks", "dtype"):
        return _text
    if name in ("grid", "block"):
        return _sides
    if name in ("dims", "types", "concrete"):
        return _raw
    return _count if name in ("size", "occupancy") else _whole


def long(value: object) -> int | None:
    """A whole number that fits a BIGINT: as it is, or as text (`17`, `stream 7`); else None."""
    if type(value) is str:
        digits = value[len(value.rstrip("0123456789")) :]
        value = int(digits) if 0 < len(digits) < 20 and digits.isascii() else None
    if type(value) is float:
        value = round(value) if abs(value) < EXACT_US else None
    return value if isinstance(value, int) and -MAX_LONG - 1 <= value <= MAX_LONG else None
