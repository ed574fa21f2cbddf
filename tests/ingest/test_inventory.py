"""The inventory: which GPU was where, in time, without two places or two GPUs at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest import inventory
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

HEAD = "gpu_uuid,slice_id,resource_id,cluster,node,gpu_index,start,end"
Tables = dict[str, list[dict[str, Any]]]
Read = Callable[..., Tables]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(lines: list[str], *, cluster: str | None = "h200", **options: object) -> Tables:
        path = tmp_path / "gpus.csv"
        path.write_text("".join(f"{line}\n" for line in lines))
        tables: Tables = {name: [] for name in LANDING}
        for batch in inventory.read(
            SourceFile(str(path), path.name, "inventory", cluster, None, options)
        ):
            assert batch.rows.schema.equals(LANDING[batch.table].schema)
            tables[batch.table] += batch.rows.to_pylist()
        return tables

    return run


def test_rows_as_written(read: Read) -> None:
    tables = read(
        [
            HEAD + ",gpu_model,colour",
            "GPU-1,,i-1,,n0,0,2026-11-30T22:00:00+01:00,,NVIDIA H200,green",
            "GPU-2,1,i-1,other,n0,1,2026-11-30T21:00:00Z,2026-12-01T00:00:00Z,,",
        ]
    )
    one, two = tables["gpu_inventory"]
    assert one["start"] == datetime(2026, 11, 30, 21, tzinfo=UTC)
    assert (one["end"], one["slice_id"], one["cluster"]) == (None, None, "h200")
    assert (one["gpu_index"], one["gpu_model"], one["mig_profile"]) == (0, "NVIDIA H200", None)
    assert (two["slice_id"], two["cluster"], two["source_row"]) == ("1", "other", 3)
    assert not tables["reject"]


GOOD = "GPU-1,,i-1,h200,n0,0,2026-11-01T00:00:00Z,2026-11-02T00:00:00Z"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("GPU-2,,i-1,h200,n0,1,2026-11-01T00:00:00,", "has no zone"),
        ("GPU-2,,i-1,h200,n0,1,,", "start is empty"),
        ("GPU-2,,i-1,h200,n0,1,soon,", "start: 'soon' is no time"),
        ("GPU-2,,i-1,h200,n0,1,2026-11-02T00:00:00Z,2026-11-02T00:00:00Z", "is not after"),
        (",,i-1,h200,n0,1,2026-11-02T00:00:00Z,", "gpu_uuid is empty"),
        ("GPU-2,,i-1,h200,n0,-1,2026-11-02T00:00:00Z,", "gpu_index is '-1'"),
        ("GPU-2,,i-1,h200,n0,1.0,2026-11-02T00:00:00Z,", "gpu_index is '1.0'"),
        ("GPU-2,,i-1", "3 cells; expected 8"),
        ("GPU-1,,i-2,h200,n9,0,2026-11-01T12:00:00Z,", "GPU-1 has an earlier row"),
        ("GPU-1,,i-2,h200,n9,0,2026-10-01T00:00:00Z,2026-11-01T00:00:01Z", "earlier row"),
        ("GPU-2,,i-2,h200,n0,0,2026-11-01T12:00:00Z,", "index 0 of n0 is GPU-1"),
    ],
)
def test_a_bad_row_is_a_reject_and_the_earlier_row_stands(
    read: Read, bad: str, reason: str
) -> None:
    tables = read([HEAD, GOOD, bad, GOOD.replace("GPU-1", "GPU-3").replace("n0", "n3")])
    assert [row["gpu_uuid"] for row in tables["gpu_inventory"]] == ["GPU-1", "GPU-3"]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert (reject["source"], reject["position"]) == ("gpu_inventory", "line 3")


def test_a_gpu_may_move_and_a_place_may_get_another_gpu(read: Read) -> None:
    """jobstats#34, and a host name that is used again: identity is the UUID, in time."""
    tables = read(
        [
            HEAD,
            GOOD,
            "GPU-1,,i-1,h200,n1,0,2026-11-02T00:00:00Z,",
            "GPU-2,,i-9,h200,n0,0,2026-11-02T00:00:00Z,",
            "GPU-4,1,i-9,h200,n0,1,2026-11-02T00:00:00Z,",
            "GPU-4,2,i-9,h200,n0,1,2026-11-02T00:00:00Z,",
            "GPU-2,,i-8,h201,n0,0,2026-10-01T00:00:00Z,2026-11-02T00:00:00Z",
        ]
    )
    assert not tables["reject"]
    assert len(tables["gpu_inventory"]) == 6


def test_the_header_must_have_what_decides(read: Read) -> None:
    with pytest.raises(SourceError, match="has no column end; expected a GPU inventory with the"):
        read([HEAD.replace(",end", ",stop")])
    with pytest.raises(SourceError, match="has no column cluster"):
        read([HEAD.replace("cluster,", "")], cluster=None)
    assert not read([HEAD.replace("cluster,", "")])["gpu_inventory"]
    with pytest.raises(SourceError, match="has two end"):
        read([HEAD + ",end"])
    with pytest.raises(SourceError, match="has no column gpu_uuid"):
        read([])
    with pytest.raises(ConfigError, match="unknown option 'node'"):
        read([HEAD], node="n0")


T0 = datetime(2026, 11, 1, tzinfo=UTC)
hours = st.integers(0, 40)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60
)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), hours, st.none() | hours, st.integers(0, 1)), max_size=12
    )
)
def test_what_is_kept_never_overlaps_and_what_is_left_out_would(
    read: Read, rows: list[tuple[str, int, int | None, int]]
) -> None:
    def iso(hour: int | None) -> str:
        return "" if hour is None else (T0 + timedelta(hours=hour)).isoformat()

    tables = read([HEAD, *(f"{u},,i,c,n,{i},{iso(s)},{iso(e)}" for u, s, e, i in rows)])
    kept = tables["gpu_inventory"]
    assert len(kept) + len(tables["reject"]) == len(rows)
    end = T0 + timedelta(days=99)
    for n, one in enumerate(kept):
        for other in kept[:n]:
            is_same = one["gpu_uuid"] == other["gpu_uuid"] or one["gpu_index"] == other["gpu_index"]
            apart = (one["end"] or end) <= other["start"] or (other["end"] or end) <= one["start"]
            assert apart or not is_same
