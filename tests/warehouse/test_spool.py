"""Rows that arrive in order are written as they come; others are sorted. The bytes are the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse import parquet
from warehouse.contract import Contract, optional, required
from warehouse.spool import Part, Spool

EVENT = Contract(
    "event", 1, "one row per event", ("file", "no"), ("file", "no"),
    (
        required("file", pa.string(), "", "file"), required("no", pa.int64(), "", "number"),
        required("at_ns", pa.int64(), "ns", "time"), optional("text", pa.string(), "", "text"),
    ),
    time="at_ns",
)  # fmt: skip


def rows(*events: tuple[str, int], text: str | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"file": file, "no": no, "at_ns": 1000 - no, "text": text} for file, no in events],
        schema=EVENT.schema,
    )


def gathered(
    batches: list[pa.RecordBatch], folder: Path, *, limit: int
) -> tuple[Part, list[pa.Table]]:
    """The one partition of these rows, and its row groups."""
    spool = Spool(lambda name: _made(folder / name), limit=limit)
    for batch in batches:
        spool.add(batch, EVENT)
    ((part, groups),) = [(part, list(part.groups())) for part in spool.drain()]
    assert not [path for path in folder.rglob("*") if path.is_file()]
    return part, groups


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize(
    ("events", "ordered"),
    [
        ([("a", 1), ("a", 2), ("b", 1)], True),
        ([("a", 1)], True),
        ([("a", 2), ("a", 1)], False),
        ([("b", 1), ("a", 2)], False),
        # Equal rows: which comes first must not be left to how they arrived.
        ([("a", 1), ("a", 1)], False),
    ],
)
def test_order_means_each_row_after_the_one_before(
    events: list[tuple[str, int]], ordered: bool
) -> None:
    assert parquet.is_ordered(rows(*events), EVENT.order) is ordered


def test_order_holds_across_batches(tmp_path: Path) -> None:
    one, two = rows(("a", 1), ("a", 5)), rows(("a", 6), ("b", 1))
    assert gathered([one, two], tmp_path, limit=10**9)[0].is_ordered
    assert not gathered([two, one], tmp_path, limit=10**9)[0].is_ordered
    assert not gathered([one, one], tmp_path, limit=10**9)[0].is_ordered


def test_a_null_in_the_order_is_sorted() -> None:
    batch = pa.RecordBatch.from_pydict({"file": ["a", None], "no": [1, 2]})
    assert not parquet.is_ordered(batch, ("file", "no"))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_in_order_or_not_the_groups_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    events = sorted(data.draw(st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 30)))))
    cut = data.draw(st.integers(0, len(events)))
    limit = data.draw(st.sampled_from([0, 10**9]))
    if not events:
        return
    folder = tmp_path_factory.mktemp("spool")
    pieces = [rows(*events[:cut]), rows(*events[cut:])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet, "ROW_GROUP_ROWS", 4)
        patch.setattr(parquet, "CHUNK_ROWS", 2)
        straight = list(gathered(pieces, folder / "a", limit=limit)[1])
        turned = list(gathered([rows(*events[::-1])], folder / "b", limit=limit)[1])
    assert [g.to_pylist() for g in straight] == [g.to_pylist() for g in turned]
    assert [g.num_rows for g in straight[:-1]] == [4] * (len(straight) - 1)
    # Where chunks end shows in the bytes of a file.
    sizes = [[chunk.num_rows for chunk in group.to_batches()] for group in straight]
    assert sizes == [[chunk.num_rows for chunk in group.to_batches()] for group in turned]


def test_a_part_knows_its_rows_and_their_span(tmp_path: Path) -> None:
    part = gathered([rows(("a", 1)), rows(("a", 7), ("a", 8))], tmp_path, limit=0)[0]
    assert (part.row_count, part.span_ns, part.partition) == (3, (992, 999), "day=1970-01-01")
