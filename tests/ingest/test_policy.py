"""Policy windows: an exception has an owner, a kind and an end, or the run does not start."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest import policy
from warehouse.contracts import POLICY_WINDOW, SourceFile
from warehouse.errors import ConfigError

FILE = SourceFile("plumbline.toml", "plumbline.toml", "policy", None, None, {})
WINDOW = {
    "kind": "reserve", "owner": "ops", "start": "2026-11-01T00:00:00Z",
    "end": "2026-12-01T00:00:00Z",
}  # fmt: skip


def rows(policies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    batches = list(policy.windows(policies, FILE))
    assert all(batch.rows.schema.equals(POLICY_WINDOW.schema) for batch in batches)
    return [row for batch in batches for row in batch.rows.to_pylist()]


def test_windows_as_toml_writes_them() -> None:
    text = """
    [[policy]]
    kind = "exempt_idle"
    owner = "lead"
    job_id = 1009
    start = 2026-11-30T22:00:00+01:00
    end = "2026-12-01T00:00:00Z"
    note = "demo"
    [[policy]]
    kind = "dispute"
    owner = "finance"
    cluster = "h200"
    start = 2026-11-01T00:00:00Z
    end = 2026-12-01T00:00:00Z
    """
    one, two = rows(tomllib.loads(text)["policy"])
    assert one["start"] == datetime(2026, 11, 30, 21, tzinfo=UTC)
    assert one["end"] == datetime(2026, 12, 1, tzinfo=UTC)
    assert (one["job_id"], one["node"], one["note"], one["source_row"]) == ("1009", None, "demo", 1)
    assert (two["kind"], two["cluster"], two["source_file"]) == (
        "dispute",
        "h200",
        "plumbline.toml",
    )
    assert two["source_row"] == 2


def test_no_policies_are_no_rows() -> None:
    assert rows([]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "holiday"}, "kind is 'holiday'; expected one of maintenance"),
        ({"owner": " "}, "owner is ' '; expected who approved it"),
        ({"owner": None}, "owner is None"),
        ({"start": "2026-11-01T00:00:00"}, "start is '2026-11-01T00:00:00'; expected a time"),
        ({"start": datetime(2026, 11, 1)}, "expected a time with a zone"),  # noqa: DTZ001
        ({"end": None}, "end is 'None'"),
        ({"end": "2026-11-01T00:00:00Z"}, "expected start < end"),
        ({"nodes": "n0"}, "has 'nodes'; expected account"),
        ({"node": ""}, "node is ''"),
        ({"node": ["n0"]}, "expected text, or leave it out"),
        ({"job_id": True}, "job_id is True"),
    ],
)
def test_a_mistake_is_the_configurations(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r"plumbline.toml: \[\[policy\]\] number 2") as error:
        rows([WINDOW, WINDOW | change])
    assert message in str(error.value)
