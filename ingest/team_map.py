"""Which team a scheduler account, bill tag, namespace or label is, in time, as CSV -> team_map.

Header: the contract's column names. What maps to no row is team `unmapped`, never dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ingest.columns import BadRow, Row, interval, overlaps, rows, text
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, Rejects, Rows
from warehouse.contracts import Batch, SourceFile

KIND = "team_map"

EXPORT = """\
A CSV that you keep, a row per name and time (cost_centre may lack):
  kind,key,team,cost_centre,valid_from,valid_to
  account,vision,foundation,cc-1042,2026-01-01T00:00:00Z,
  bill_tag,team-vision,foundation,cc-1042,2026-01-01T00:00:00Z,
kind is account (Slurm), bill_tag (the tag that `team_tag` names), namespace or label. The accounts:
  sacctmgr --parsable2 --noheader list account format=Account,Description,Organization
valid_from and valid_to with a zone; an empty valid_to is open.
"""

KINDS = ("account", "bill_tag", "namespace", "label")
#: It has no options of its own.
OPTIONS: dict[str, str] = {}

_REQUIRED = ("kind", "key", "team", "valid_from", "valid_to")


def read(file: SourceFile) -> Iterator[Batch]:
    """Read a team map.

    A row for a name that an earlier row maps at the same time is a reject, since a dollar belongs
    to one team. Raises SourceError where a column is missing.
    """
    teams, rejects = Rows("team_map", file), Rejects(file, KIND)
    known: dict[tuple[str, str], list[tuple[datetime, datetime | None]]] = defaultdict(list)
    read_options(file)
    for row in rows(file, _REQUIRED, what="a team map"):
        try:
            values = _values(row)
            earlier = known[values["kind"], values["key"]]
            span = values["valid_from"], values["valid_to"]
            if any(overlaps(span, other) for other in earlier):
                raise BadRow(
                    f"{values['kind']} {values['key']} has an earlier row for a part of this time; "
                    "expected one team"
                )
            earlier.append(span)
        except BadRow as error:
            rejects.put(f"line {row.line}", str(error), row.raw)
        else:
            teams.add(**values, source_row=row.line)
        yield from teams.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
    yield from teams.flush()
    yield from rejects.flush()


def read_options(file: SourceFile) -> None:
    """ConfigError where the source has an option."""
    check_options(file, OPTIONS)


def _values(row: Row) -> dict[str, Any]:
    if row.fault:
        raise BadRow(row.fault)
    kind = text(row, "kind")
    if kind not in KINDS:
        raise BadRow(f"kind is {kind!r}; expected one of {', '.join(KINDS)}")
    start, end = interval(row, "valid_from", "valid_to")
    return {
        "kind": kind, "key": text(row, "key"), "team": text(row, "team"),
        "cost_centre": row.cells.get("cost_centre"), "valid_from": start, "valid_to": end,
    }  # fmt: skip
