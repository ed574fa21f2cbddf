"""The columns of one file, and which fields of a record belong to which of them.

A record with more fields than columns has delimiters in its free text. The surplus is given to the
free-text columns in the one way that leaves every typed column with a value of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: Says whether a value is of its column's type (truthy), such as a pattern's fullmatch.
Check = Callable[[str], object]

#: More ways than this to lay out one record are as good as no way.
_MAX_WAYS = 1000
_MAX_SURPLUS = 1000


@dataclass(frozen=True)
class Grammar:
    """What the columns of one command hold.

    `required` must be in the header. `checks` say for a typed column what its values look like;
    a record whose values fail is broken. `anchors` are further or stricter types that only help to
    find a record's columns. `free` columns hold any text. `landed` columns are the ones that a
    reader uses: layouts that agree on them are the same. `starts` says by these leading columns
    whether a line begins a record.
    """

    command: str
    export: str
    required: tuple[tuple[str, ...], ...]
    checks: Mapping[str, Check]
    anchors: Mapping[str, Check]
    free: frozenset[str]
    landed: frozenset[str]
    starts: tuple[str, ...]
    consistent: Callable[[Mapping[str, str]], bool] = lambda cells: True


@dataclass(frozen=True)
class _Slot:
    """One column, or a run of free columns that no reader uses and that needs no telling apart."""

    first: int
    width: int
    check: Check | None
    elastic: bool


@dataclass(frozen=True)
class Layout:
    """The columns of one file."""

    names: tuple[str, ...]
    delimiter: str
    grammar: Grammar
    header: str
    checks: tuple[tuple[int, Check], ...]
    typed: tuple[tuple[int, Check], ...]
    start_checks: tuple[tuple[int, Check], ...]
    slots: tuple[_Slot, ...]

    @property
    def ends_free(self) -> bool:
        """Whether the last column may hold newlines."""
        return self.names[-1] in self.grammar.free


def layout_of(names: tuple[str, ...], delimiter: str, grammar: Grammar, header: str) -> Layout:
    """The layout of a file whose header line has these names."""
    # `--parsable` ends each line with a delimiter: one more column, without name and value.
    checks = {"": lambda text: text == "", **grammar.checks}
    typed = {**checks, **grammar.anchors}
    first_free = next((i for i, name in enumerate(names) if name in grammar.free), len(names))
    slots: list[_Slot] = []
    for i, name in enumerate(names):
        elastic = name in grammar.free
        merges = elastic and name not in grammar.landed
        if merges and slots and slots[-1].elastic and names[i - 1] not in grammar.landed:
            slots[-1] = _Slot(slots[-1].first, slots[-1].width + 1, None, elastic=True)
        else:
            slots.append(_Slot(i, 1, typed.get(name), elastic))
    return Layout(
        names, delimiter, grammar, header,
        tuple((i, checks[n]) for i, n in enumerate(names) if n in checks),
        tuple((i, typed[n]) for i, n in enumerate(names) if n in typed),
        tuple((i, typed[n]) for i, n in enumerate(names[:first_free]) if n in grammar.starts),
        tuple(slots),
    )  # fmt: skip


def head(layout: Layout, fields: list[str]) -> dict[str, str]:
    """The leading columns that tell where a record starts; empty where one is not of its type."""
    cells: dict[str, str] = {}
    if len(fields) < min(2, len(layout.names)):
        return cells
    for i, check in layout.start_checks:
        if i >= len(fields) or not check(fields[i]):
            return {}
        cells[layout.names[i]] = fields[i]
    return cells if layout.grammar.consistent(cells) else {}


def resolves(layout: Layout, fields: list[str]) -> bool:
    """Whether the fields can be one whole record with every typed value of its type."""
    surplus = len(fields) - len(layout.names)
    if surplus < 0:
        return False
    if surplus == 0:
        return all(check(fields[i]) for i, check in layout.typed)
    return bool(ways(layout, fields, enough=1))


def ways(layout: Layout, fields: list[str], *, enough: int) -> list[dict[str, str]]:
    """Layouts of a record with a surplus that differ in a landed column, at most `enough`.

    More than _MAX_WAYS layouts count as different, since telling them apart costs too much.
    """
    surplus = len(fields) - len(layout.names)
    if surplus > _MAX_SURPLUS:
        return []
    dead: set[tuple[int, int]] = set()
    found: list[dict[str, str]] = []
    leaves = 0

    def place(k: int, left: int, cells: tuple[str, ...]) -> bool:
        """Place slots from k on with so much surplus left; True if any way exists."""
        nonlocal leaves
        if (k, left) in dead or len(found) >= enough:
            return False
        if k == len(layout.slots):
            if left:
                return False
            leaves += 1
            landed = dict(zip(reversed(layout.names), reversed(cells), strict=True))
            key = {name: landed.get(name) for name in layout.grammar.landed}
            if leaves > _MAX_WAYS or all(
                key != {n: f.get(n) for n in layout.grammar.landed} for f in found
            ):
                found.append(landed)
            return True
        slot = layout.slots[k]
        at = slot.first + surplus - left
        any_way = False
        for take in range(left + 1 if slot.elastic else 1):
            pieces = fields[at : at + slot.width + take]
            if slot.elastic:
                value = layout.delimiter.join(pieces) if slot.width == 1 else ""
            elif slot.check is not None and not slot.check(pieces[0]):
                continue
            else:
                value = pieces[0]
            more = (value,) if slot.width == 1 else ("",) * slot.width
            any_way |= place(k + 1, left - take, (*cells, *more))
        if not any_way and len(found) < enough:
            dead.add((k, left))
        return any_way

    place(0, surplus, ())
    return found
