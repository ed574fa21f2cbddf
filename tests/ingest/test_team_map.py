"""The team map: a dollar belongs to one team at a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest import team_map
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import SourceError

HEAD = "kind,key,team,cost_centre,valid_from,valid_to"
GOOD = "account,vision,foundation,cc-1,2026-11-01T00:00:00Z,2026-12-01T00:00:00Z"
Tables = dict[str, list[dict[str, Any]]]
Read = Callable[[list[str]], Tables]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(lines: list[str]) -> Tables:
        path = tmp_path / "teams.csv"
        path.write_text("".join(f"{line}\n" for line in lines))
        tables: Tables = {name: [] for name in LANDING}
        for batch in team_map.read(SourceFile(str(path), path.name, "teams", None, None, {})):
            assert batch.rows.schema.equals(LANDING[batch.table].schema)
            tables[batch.table] += batch.rows.to_pylist()
        return tables

    return run


def test_rows_as_written(read: Read) -> None:
    tables = read([HEAD, GOOD, 'bill_tag,"a, b",applied,,2026-11-01T00:00:00+01:00,'])
    first, second = tables["team_map"]
    assert (first["kind"], first["key"], first["team"]) == ("account", "vision", "foundation")
    assert first["valid_to"] == datetime(2026, 12, 1, tzinfo=UTC)
    assert (second["key"], second["cost_centre"], second["valid_to"]) == ("a, b", None, None)
    assert second["valid_from"] == datetime(2026, 10, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("user,x,foundation,,2026-11-01T00:00:00Z,", "kind is 'user'; expected one of account"),
        ("account,,foundation,,2026-11-01T00:00:00Z,", "key is empty"),
        ("account,x,,,2026-11-01T00:00:00Z,", "team is empty"),
        ("account,x,foundation,,2026-11-01,", "has no zone"),
        ("account,x,foundation,,,", "valid_from is empty"),
        ("account,x,foundation,,2026-11-01T00:00:00Z,2026-11-01T00:00:00Z", "is not after"),
        ("account,vision,applied,,2026-11-15T00:00:00Z,", "has an earlier row"),
        ("account,vision,foundation,,2026-01-01T00:00:00Z,", "has an earlier row"),
        ("account", "1 cells; expected 6"),
    ],
)
def test_a_bad_row_is_a_reject(read: Read, bad: str, reason: str) -> None:
    tables = read([HEAD, GOOD, bad, GOOD.replace("account", "bill_tag")])
    assert [row["kind"] for row in tables["team_map"]] == ["account", "bill_tag"]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert (reject["source"], reject["position"]) == ("team_map", "line 3")


def test_a_name_may_pass_to_another_team(read: Read) -> None:
    tables = read([HEAD, GOOD, "account,vision,applied,,2026-12-01T00:00:00Z,"])
    assert [row["team"] for row in tables["team_map"]] == ["foundation", "applied"]
    assert not tables["reject"]


def test_the_header_must_have_what_decides(read: Read) -> None:
    with pytest.raises(SourceError, match="has no column valid_to; expected a team map"):
        read([HEAD.replace("valid_to", "until")])
