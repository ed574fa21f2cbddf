"""The store: what is written where, with which bytes, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warehouse import parquet, spool
from warehouse.contracts import (
    LANDING,
    LONG,
    MONEY,
    RATIO,
    TEXT,
    TEXTS,
    TIME,
    Batch,
    Column,
    Contract,
)
from warehouse.errors import ConfigError, StoreError
from warehouse.objects import LocalObjects, fault_from_env, no_fault
from warehouse.store import FileEntry, Store, Unit
from warehouse.unit_files import slug

MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)

READING = Contract(
    "reading",
    1,
    "one row per reading",
    ("gpu", "ts"),
    ("gpu", "ts"),
    (
        Column("gpu", TEXT, "", "GPU"),
        Column("ts", TIME, "UTC", "time", nullable=False),
        Column("ratio", RATIO, "ratio", "a float"),
        Column("hosts", TEXTS, "", "a list"),
        Column("usd", MONEY, "USD", "money"),
    ),
    time="ts",
)
SPAN = Contract(
    "span",
    3,
    "one row per span",
    ("start_ns",),
    ("start_ns",),
    (Column("start_ns", LONG, "ns", "start", nullable=False),),
    time="start_ns",
)
NOTE = Contract(
    "note", 2, "one row per note", ("text",), ("text",), (Column("text", TEXT, "", "text"),)
)
CONTRACTS = {c.name: c for c in (READING, SPAN, NOTE)}


def readings(*rows: tuple[str | None, datetime], ratio: float | None = 0.5) -> Batch:
    values = [
        {"gpu": gpu, "ts": ts, "ratio": ratio, "hosts": ["a", "b"], "usd": None} for gpu, ts in rows
    ]
    return Batch("reading", pa.RecordBatch.from_pylist(values, schema=READING.schema))


def notes(*texts: str) -> Batch:
    rows = [{"text": text} for text in texts]
    return Batch("note", pa.RecordBatch.from_pylist(rows, schema=NOTE.schema))


def put(
    store: Store, key: str, *batches: Batch, area: str = "landing", fingerprint: str = "1"
) -> bool:
    with store.transaction() as transaction:
        transaction.replace(
            area, key, batches, fingerprint=fingerprint, meta={}, contracts=CONTRACTS
        )
        return transaction.commit()


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def rows_of(store: Store, table: str) -> list[dict[str, Any]]:
    files = store.files(table)
    return [row for f in files for row in store.open(f, contract=CONTRACTS[table]).to_pylist()]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "house", contracts=CONTRACTS)


def test_rows_are_partitioned_by_utc_day_and_sorted(store: Store) -> None:
    late = MIDNIGHT - timedelta(microseconds=1)
    with store.transaction() as transaction:
        counts = transaction.replace(
            "landing",
            "metrics/node 0.csv",
            [readings(("g2", MIDNIGHT), ("g1", late)), notes("b", "a"), readings(("g1", MIDNIGHT))],
            fingerprint="f",
            meta={"rows": 3, "cut": None},
            contracts=CONTRACTS,
        )
        assert transaction.commit()
    assert counts == {"reading": 3, "note": 2}
    first, second = store.files("reading", area="landing")
    ns = 1_796_083_200 * 10**9
    assert (first.partition, first.rows, first.min_ns, first.max_ns) == (
        "day=2026-11-30", 1, ns - 1000, ns - 1000,
    )  # fmt: skip
    assert (second.partition, second.rows, second.version) == ("day=2026-12-01", 2, 1)
    assert Path(first.path).parent == Path("landing/reading/day=2026-11-30")
    assert store.open(second).column("gpu").to_pylist() == ["g1", "g2"]
    (note,) = store.files("note")
    assert (note.partition, note.min_ns, note.max_ns) == ("", None, None)
    assert store.open(note).column("text").to_pylist() == ["a", "b"]
    assert store.files("reading", area="mart") == []
    assert store.tables() == ["note", "reading"]
    assert store.units("landing") == {
        "metrics/node 0.csv": Unit("landing", "metrics/node 0.csv", "f", {"rows": 3, "cut": None})
    }
    assert store.units("mart") == {}


def test_entries_tell_the_truth_about_their_files(store: Store) -> None:
    put(store, "a", readings(("g", MIDNIGHT)), notes("x"))
    for entry in (*store.files("reading"), *store.files("note")):
        data = Path(store.path(entry)).read_bytes()
        assert Path(store.path(entry)).is_absolute()
        assert (entry.bytes, entry.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert entry.sha256[:16] in entry.path
    assert store.verify() == []


def test_a_mart_lies_in_a_folder_of_its_month(store: Store) -> None:
    put(store, "month=2026-11", notes("a"), area="mart")
    (entry,) = store.files("note", area="mart")
    assert entry.path.startswith("mart/note/month=2026-11/month=2026-11-")


def test_an_absolute_path_comes_from_a_relative_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("house")
    put(store, "a", notes("a"))
    monkeypatch.chdir("/")
    assert Path(store.path(store.files("note")[0])).is_file()


def test_parquet_is_as_promised(store: Store) -> None:
    many = parquet.ROW_GROUP_ROWS + 1
    times = pa.array([MIDNIGHT + timedelta(seconds=s % 9) for s in range(many)], TIME)
    columns = [
        pa.array([f"g{n}" for n in range(many)]), times, pc.random(many).cast(RATIO),
        pa.nulls(many, TEXTS), pa.nulls(many, MONEY),
    ]  # fmt: skip
    put(store, "a", Batch("reading", pa.RecordBatch.from_arrays(columns, schema=READING.schema)))
    metadata = pq.ParquetFile(store.path(store.files("reading")[0])).metadata
    assert metadata.metadata[b"plumbline.contract"] == b"reading"
    assert metadata.metadata[b"plumbline.version"] == b"1"
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert [g.num_rows for g in groups] == [parquet.ROW_GROUP_ROWS, 1]
    assert {groups[0].column(c).compression for c in range(5)} == {"ZSTD"}
    assert groups[0].column(1).statistics.min == MIDNIGHT
    assert "BYTE_STREAM_SPLIT" in groups[0].column(2).encodings
    assert "DELTA_BINARY_PACKED" in groups[0].column(1).encodings


def test_wording_of_a_contract_is_not_in_the_bytes(tmp_path: Path) -> None:
    other = Contract(
        "note", 2, "reworded", ("text",), ("text",), (Column("text", TEXT, "words", "other"),)
    )
    for name, contract in (("one", NOTE), ("two", other)):
        with Store(tmp_path / name).transaction() as transaction:
            batch = Batch("note", notes("a").rows.cast(contract.schema))
            transaction.replace(
                "landing", "u", [batch], fingerprint="", meta={}, contracts={"note": contract}
            )
            transaction.commit()
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_a_restated_unit_loses_all_its_old_rows_and_others_stay(store: Store) -> None:
    put(store, "bill", readings(("old", MIDNIGHT), ("old", MIDNIGHT - timedelta(1))), notes("old"))
    put(store, "other", readings(("kept", MIDNIGHT)), notes("kept"))
    assert put(store, "bill", readings(("new", MIDNIGHT + timedelta(1))), fingerprint="2")
    assert {r["gpu"] for r in rows_of(store, "reading")} == {"kept", "new"}
    assert [r["text"] for r in rows_of(store, "note")] == ["kept"]
    named = {f.path for t in ("reading", "note") for f in store.files(t)}
    assert {n for n in tree(Path(store.root)) if n.endswith(".parquet")} == named
    assert not (Path(store.root) / "landing/reading/day=2026-11-30").exists()


def test_areas_do_not_touch_each_other(store: Store) -> None:
    put(store, "same", notes("landed"))
    put(store, "same", notes("published"), area="mart")
    with store.transaction() as transaction:
        transaction.remove("landing", "same")
        assert transaction.commit()
    assert [r["text"] for r in rows_of(store, "note")] == ["published"]
    assert store.units("landing") == {}


def test_the_same_again_changes_no_byte(store: Store) -> None:
    assert put(store, "a", notes("x", "y"))
    before = tree(Path(store.root))
    inode = (Path(store.root) / "manifest.json").stat().st_ino
    assert not put(store, "a", notes("y", "x"))
    assert tree(Path(store.root)) == before
    assert (Path(store.root) / "manifest.json").stat().st_ino == inode
    assert put(store, "a", notes("x", "y"), fingerprint="2"), "a fingerprint is content too"
    assert sorted(tree(Path(store.root))) == sorted(before)


def test_a_unit_without_rows_is_known(store: Store) -> None:
    put(store, "empty", notes())
    assert list(store.units("landing")) == ["empty"]
    assert store.files("note") == []


def test_without_commit_nothing_happened(store: Store) -> None:
    put(store, "a", notes("x"))
    before = tree(Path(store.root))
    with store.transaction() as transaction:
        transaction.replace(
            "landing", "a", [notes("y")], fingerprint="2", meta={}, contracts=CONTRACTS
        )
    assert tree(Path(store.root)) == before
    with pytest.raises(StoreError, match="has ended"):
        transaction.commit()


def test_an_error_in_the_block_rolls_back(store: Store) -> None:
    put(store, "a", notes("x"))
    before = tree(Path(store.root))
    with pytest.raises(ZeroDivisionError), store.transaction() as transaction:  # noqa: PT012
        transaction.replace(
            "landing", "a", [notes("y")], fingerprint="2", meta={}, contracts=CONTRACTS
        )
        raise ZeroDivisionError
    assert tree(Path(store.root)) == before


def test_a_reader_that_fails_leaves_its_unit_and_the_transaction_goes_on(store: Store) -> None:
    put(store, "bad", notes("old"))

    def broken() -> Iterator[Batch]:
        yield notes("half")
        raise RuntimeError("not a bill")

    with store.transaction() as transaction:
        with pytest.raises(RuntimeError, match="not a bill"):
            transaction.replace(
                "landing", "bad", broken(), fingerprint="2", meta={}, contracts=CONTRACTS
            )
        transaction.replace(
            "landing", "good", [notes("new")], fingerprint="1", meta={}, contracts=CONTRACTS
        )
        transaction.commit()
    assert sorted(r["text"] for r in rows_of(store, "note")) == ["new", "old"]
    assert store.units("landing")["bad"].fingerprint == "1"


def test_replaced_files_stand_until_the_block_ends(store: Store) -> None:
    put(store, "a", notes("old"))
    old = Path(store.path(store.files("note")[0]))
    with store.transaction() as transaction:
        transaction.replace(
            "landing", "a", [notes("new")], fingerprint="2", meta={}, contracts=CONTRACTS
        )
        assert transaction.commit()
        assert old.exists()
        assert [r["text"] for r in rows_of(store, "note")] == ["new"]
        assert not transaction.commit(), "a second commit has nothing to say"
    assert not old.exists()


def test_another_store_object_sees_a_commit(store: Store) -> None:
    reader = Store(store.root)
    assert reader.files("note") == []
    put(store, "a", notes("x"))
    assert len(reader.files("note")) == 1


def test_collecting_takes_only_what_the_store_wrote(store: Store) -> None:
    put(store, "a", notes("x"))
    root = Path(store.root)
    mine = root / "landing/note/my own.parquet"
    mine.write_bytes(b"mine")
    orphan = root / "landing/gone/day=2026-01-01/u-0123456789ab-0123456789abcdef.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(b"")
    stale = root / ".staging/spool/1.arrows"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"half")
    with store.transaction():
        assert not orphan.exists()
        assert not stale.exists()
    assert mine.read_bytes() == b"mine"
    assert not (root / "landing/gone").exists()
    assert not (root / ".staging").exists()


# -- one writer --------------------------------------------------------------------------------


def test_a_second_writer_is_told_who_writes(store: Store) -> None:
    with store.transaction():
        other = Store(store.root)
        with pytest.raises(StoreError, match=f"process {os.getpid()} is writing"):
            other.transaction().__enter__()
        assert other.files("note") == [], "readers are not kept out"
    with store.transaction():
        pass


def test_another_process_is_named(store: Store, root: Path) -> None:
    code = (
        "import sys; from warehouse.store import Store\n"
        "with Store(sys.argv[1]).transaction(): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, store.root],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match=f"process {process.pid} is writing"):
            store.transaction().__enter__()
        process.kill()
        process.wait()
        # the system frees a dead holder's lock
        assert put(store, "a", notes("x"))


# -- damage ------------------------------------------------------------------------------------


def _cut(manifest: Path) -> None:
    manifest.write_bytes(manifest.read_bytes()[:-40])


def _change(manifest: Path, **changes: object) -> None:
    content = json.loads(manifest.read_bytes())
    content["files"][0].update(changes)
    manifest.write_text(json.dumps(content))


def _without_units(manifest: Path) -> None:
    content = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**content, "units": {}}))


def _no_files(manifest: Path) -> None:
    shutil.rmtree(manifest.parent / "landing")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_cut, "is damaged"),
        (lambda m: m.write_bytes(b""), "is damaged"),
        (lambda m: m.write_bytes(b"[]"), "is damaged"),
        (lambda m: m.write_bytes(b"{}"), "has no 'format'"),
        (lambda m: m.write_bytes(b"\xff\xfe"), "is damaged"),
        (lambda m: m.write_bytes(b'{"format": 1, "files": 3}'), "is damaged"),
        (lambda m: m.write_bytes(b'{"format": 2}'), "written by another version"),
        (_without_units, "a unit that it does not have"),
        (_no_files, "is absent or has another size"),
        (lambda m: _change(m, rows="many"), "is damaged"),
        (lambda m: _change(m, bytes=1), "is absent or has another size"),
        (lambda m: _change(m, path="landing/note/../../../etc/x.parquet"), "which is no path"),
        (lambda m: _change(m, path="/etc/passwd"), "which is no path"),
        (lambda m: _change(m, path="mart/note/x.parquet"), "which is no path"),
        (lambda m: m.unlink(), "is missing although the warehouse has files"),
    ],
)
def test_a_damaged_manifest_is_refused_and_nothing_is_deleted(
    store: Store, damage: Any, says: str
) -> None:
    put(store, "a", notes("x"))
    root = Path(store.root)
    damage(root / "manifest.json")
    before = tree(root)
    with pytest.raises(StoreError, match=says) as caught:
        Store(root).files("note")
    assert "run again" in str(caught.value) or "use that version" in str(caught.value)
    with pytest.raises(StoreError, match=says):
        Store(root).transaction().__enter__()
    assert tree(root) == before


def test_a_file_with_other_bytes_is_found(store: Store) -> None:
    put(store, "a", notes("x"))
    (entry,) = store.files("note")
    path = Path(store.path(entry))
    path.write_bytes(b"\0" * entry.bytes)
    assert store.verify() == [entry.path]
    with pytest.raises(StoreError, match="cannot be read"):
        store.open(entry)


def test_a_file_that_went_after_the_look_is_explained(store: Store) -> None:
    put(store, "a", notes("x"))
    (entry,) = store.files("note")
    Path(store.path(entry)).unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        store.open(entry)


def test_a_reader_looks_again_when_a_writer_came_between(store: Store) -> None:
    put(store, "a", notes("old"))

    class Late(LocalObjects):
        """Between this reader's look at the manifest and at the files, a writer commits."""

        came = False

        def list(self, prefix: str) -> dict[str, int]:
            if not self.came:
                self.came = True
                put(store, "a", notes("new"))
            return super().list(prefix)

    reader = Store(store.root, objects=Late(Path(store.root)))
    assert [r["text"] for r in rows_of(reader, "note")] == ["new"]


def test_a_root_that_is_a_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot lock"):
        store.transaction().__enter__()
    with pytest.raises(StoreError, match="cannot be read"):
        store.files("note")


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    def full(point: str) -> None:
        if point == "before_rename":
            raise OSError(28, "No space left on device")

    with (
        pytest.raises(StoreError, match=r"No space left on device.*published before stands"),
        Store(tmp_path, fault=full).transaction(),
    ):
        pass


# -- names -------------------------------------------------------------------------------------

KEYS = st.text(max_size=80).filter(lambda t: t.isprintable()) | st.sampled_from(
    [
        "..",
        ".",
        "",
        "/",
        "../../etc/passwd",
        "/abs",
        "a/../b",
        "x\0y",
        "C:\\x",
        "*?[a]",
        "-rf",
        "é" * 99,
    ]
)


@given(KEYS)
def test_a_slug_is_one_harmless_path_component(key: str) -> None:
    part = slug(key)
    assert part not in {"", ".", ".."}
    assert not part.startswith(".")
    assert set(part) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789=_.+-")
    assert len(part) <= 48


@settings(max_examples=25, deadline=None)
@given(st.sets(KEYS, min_size=1, max_size=3), st.sampled_from(["landing", "mart"]))
def test_no_unit_leaves_the_root_or_meets_another(keys: set[str], area: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "house")
        for key in keys:
            put(store, key, notes(key), area=area)
        assert {f.unit for f in store.files("note")} == keys
        assert len(list((Path(folder) / "house" / area / "note").rglob("*.parquet"))) == len(keys)
        assert [p.name for p in Path(folder).iterdir()] == ["house"]
        assert set(Store(store.root).units(area)) == keys


@pytest.mark.parametrize("table", ["../x", "a/b", "A", "", "x.y"])
def test_a_table_name_is_checked(store: Store, table: str) -> None:
    contract = Contract(table, 1, "", ("text",), ("text",), NOTE.columns)
    with store.transaction() as transaction, pytest.raises(StoreError, match="expected a table"):
        transaction.replace(
            "landing", "u", [Batch(table, notes("x").rows)],
            fingerprint="", meta={}, contracts={table: contract},
        )  # fmt: skip


def test_what_the_manifest_could_not_give_back_is_refused(store: Store) -> None:
    with store.transaction() as transaction:
        for key, meta in (
            ("u", {"nan": float("nan")}),
            ("u", {"list": [1]}),
            ("u", {"text": "\ud800"}),
            ("\ud800", {}),
        ):
            with pytest.raises(StoreError, match="cannot be written to the manifest"):
                transaction.replace(
                    "landing", key, [], fingerprint="", meta=meta,  # type: ignore[arg-type]
                    contracts={},
                )  # fmt: skip
        with pytest.raises(StoreError, match="expected one of landing, mart"):
            transaction.remove("lake", "u")
        assert not transaction.commit()


# -- contracts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (pa.record_batch({"text": pa.array([1])}), "unexpected: text int64; missing: text string"),
        (pa.record_batch({"other": pa.array(["a"])}), "unexpected: other string"),
        (pa.record_batch({"text": ["a"], "more": ["b"]}), "unexpected: more string; missing: none"),
        (pa.record_batch({"text": pa.array(["a"], pa.large_string())}), "large_string"),
    ],
)
def test_rows_that_break_their_contract_are_refused(
    store: Store, rows: pa.RecordBatch, says: str
) -> None:
    with pytest.raises(StoreError, match=says):
        put(store, "u", Batch("note", rows))


def test_null_is_refused_where_the_contract_forbids_it(store: Store) -> None:
    rows = pa.record_batch({"start_ns": pa.array([1, None], LONG)})
    with pytest.raises(StoreError, match=r"column start_ns: 1 rows are null"):
        put(store, "u", Batch("span", rows))


def test_an_engine_may_call_list_items_and_utc_otherwise(store: Store) -> None:
    schema = READING.schema
    hosts = pa.list_(pa.field("l", pa.string()))
    ts = pa.timestamp("us", "Etc/UTC")
    loose = pa.schema([(f.name, {"hosts": hosts, "ts": ts}.get(f.name, f.type)) for f in schema])
    rows = readings(("g", MIDNIGHT)).rows
    put(store, "u", Batch("reading", rows.cast(loose)))
    assert rows_of(store, "reading")[0]["hosts"] == ["a", "b"]
    assert rows_of(store, "reading")[0]["ts"] == MIDNIGHT


def test_nanoseconds_before_1970_have_a_day_too(store: Store) -> None:
    values = pa.record_batch({"start_ns": pa.array([-1, 0, 86_400 * 10**9 - 1], LONG)})
    put(store, "u", Batch("span", values))
    assert [(f.partition, f.rows, f.min_ns) for f in store.files("span")] == [
        ("day=1969-12-31", 1, -1),
        ("day=1970-01-01", 2, 0),
    ]


def test_a_date_column_can_be_the_time(store: Store) -> None:
    monthly = Contract(
        "monthly", 1, "one row per month", ("month",), ("month",),
        (Column("month", pa.date32(), "", "month", nullable=False),), time="month",
    )  # fmt: skip
    rows = pa.record_batch({"month": pa.array([20_787], pa.date32())})
    with store.transaction() as transaction:
        transaction.replace(
            "mart", "month=2026-11", [Batch("monthly", rows)],
            fingerprint="", meta={}, contracts={"monthly": monthly},
        )  # fmt: skip
        transaction.commit()
    (entry,) = store.files("monthly")
    assert entry.min_ns == entry.max_ns == 20_787 * 86_400 * 10**9
    assert "/month=2026-11/day=2026-11-30/" in entry.path


def _versions() -> tuple[Contract, Contract, Contract]:
    """Three versions of a toy table: version 2 gains a column, version 3 counts in seconds."""
    name = Column("name", TEXT, "", "name")
    color = Column("color", TEXT, "", "color")
    return (
        Contract("toy", 1, "", ("name",), ("name",), (name, Column("ms", LONG, "ms", ""))),
        Contract("toy", 2, "", ("name",), ("name",), (name, Column("ms", LONG, "ms", ""), color)),
        Contract("toy", 3, "", ("name",), ("name",), (name, Column("s", LONG, "s", ""), color)),
    )


def _with_color(rows: pa.Table) -> pa.Table:
    return rows.append_column("color", pa.array(["grey"] * rows.num_rows, TEXT))


def _in_seconds(rows: pa.Table) -> pa.Table:
    return rows.set_column(1, "s", pc.divide(rows.column("ms"), 1000))


MIGRATIONS = {("toy", 1): _with_color, ("toy", 2): _in_seconds}


def _toy(store: Store, contract: Contract) -> FileEntry:
    rows = pa.record_batch({"name": ["x"], "ms": pa.array([7000], LONG)})
    with store.transaction() as transaction:
        transaction.replace(
            "landing", "u", [Batch("toy", rows), notes("kept")],
            fingerprint="f", meta={}, contracts={"toy": contract, "note": NOTE},
        )  # fmt: skip
        transaction.commit()
    return store.files("toy")[0]


def test_an_old_file_is_migrated_step_by_step(tmp_path: Path) -> None:
    one, two, three = _versions()
    entry = _toy(Store(tmp_path), one)
    store = Store(tmp_path, contracts={"toy": three}, migrations=MIGRATIONS)
    assert store.open(entry).to_pylist() == [{"name": "x", "s": 7, "color": "grey"}]
    assert store.open(entry, contract=two).column_names == ["name", "ms", "color"]
    assert Store(tmp_path).open(entry).column_names == ["name", "ms"], "no contract: as it stands"


def test_migrating_rewrites_old_files_once(tmp_path: Path) -> None:
    one, _, three = _versions()
    _toy(Store(tmp_path), one)
    store = Store(tmp_path, migrations=MIGRATIONS)
    for count, changed in ((1, True), (0, False)):
        with store.transaction() as transaction:
            assert transaction.migrate("landing", {"toy": three, "note": NOTE}) == count
            assert transaction.commit() is changed
    (entry,) = store.files("toy")
    assert entry.version == 3
    assert pq.read_table(store.path(entry), partitioning=None).to_pylist() == [
        {"name": "x", "s": 7, "color": "grey"}
    ]
    assert [r["text"] for r in rows_of(store, "note")] == ["kept"]
    assert store.units("landing")["u"].fingerprint == "f"


#: Older versions of landing tables: the columns that later ones added.
OLDER = {("trace_kernel", 1): ["comms_id"], ("trace_op", 1): ["comms_id"]}


@pytest.mark.parametrize(("table", "version"), OLDER)
def test_an_older_landing_table_has_a_way_to_this_version(
    tmp_path: Path, table: str, version: int
) -> None:
    """Its rows stand, with nulls for what was not read then."""
    assert {(t.name, v) for t in LANDING.values() for v in range(1, t.version)} == set(OLDER)
    now, added = LANDING[table], OLDER[table, version]
    columns = tuple(c for c in now.columns if c.name not in added)
    old = Contract(table, version, now.grain, now.key, now.order, columns, now.time)
    values = {"string": "x", "int64": 5, "bool": False}
    row = {c.name: [None if c.nullable else values[str(c.type)]] for c in columns}
    batch = pa.record_batch(row, schema=old.schema)
    store = Store(tmp_path)
    with store.transaction() as transaction:
        transaction.replace(
            "landing", "u", [Batch(table, batch)], fingerprint="f", meta={}, contracts={table: old},
        )  # fmt: skip
        transaction.commit()
    with store.transaction() as transaction:
        assert transaction.migrate("landing", LANDING) == 1
        transaction.commit()
    (entry,) = store.files(table)
    assert entry.version == now.version
    (after,) = store.open(entry).to_pylist()
    assert after == {**{name: value[0] for name, value in row.items()}, **dict.fromkeys(added)}


def test_a_file_without_a_way_to_the_code_is_refused(tmp_path: Path) -> None:
    one, _, three = _versions()
    entry = _toy(Store(tmp_path), one)
    store = Store(tmp_path, migrations={("toy", 1): _with_color})
    with pytest.raises(StoreError, match="nothing leads from 2 to 3"):
        store.open(entry, contract=three)
    short = Store(tmp_path, migrations={("toy", 1): lambda r: r, ("toy", 2): lambda r: r})
    with pytest.raises(StoreError, match="missing: s int64"):
        short.open(entry, contract=three)


def test_a_file_newer_than_the_code_is_refused(tmp_path: Path) -> None:
    one, *_ = _versions()
    newer = Contract("toy", 9, "", one.key, one.order, one.columns)
    entry = _toy(Store(tmp_path), newer)
    with pytest.raises(StoreError, match=r"version 9 .* expected at most 1"):
        Store(tmp_path, contracts={"toy": one}).open(entry)


def test_every_landing_table_can_be_written_and_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    batches = []
    for contract in LANDING.values():
        row = {c.name: _sample(c.type) for c in contract.columns}
        rows = pa.RecordBatch.from_pylist([row], schema=contract.schema)
        batches.append(Batch(contract.name, rows))
    with store.transaction() as transaction:
        transaction.replace("landing", "u", batches, fingerprint="", meta={}, contracts=LANDING)
        transaction.commit()
    assert store.tables() == sorted(LANDING)
    for batch in batches:
        (entry,) = store.files(batch.table)
        assert store.open(entry).to_pylist() == batch.rows.to_pylist()


def _sample(type_: pa.DataType) -> object:
    if pa.types.is_timestamp(type_):
        return MIDNIGHT
    if pa.types.is_list(type_):
        return ["n0", "n1"]
    return pa.array(["1"]).cast(type_)[0].as_py()


# -- properties --------------------------------------------------------------------------------

Row = tuple[str | None, int, float | None, list[str] | None]
ROWS: st.SearchStrategy[Row] = st.tuples(
    st.none() | st.sampled_from(["g0", "g1", "ü"]),
    st.integers(-3, 3).map(lambda h: h * 30_000_000_001),
    st.none() | st.floats(width=32),
    st.none() | st.lists(st.sampled_from(["a", "b", ""]), max_size=2),
)


def _batch(rows: Sequence[Row]) -> Batch:
    values = [
        {"gpu": g, "ts": MIDNIGHT + timedelta(microseconds=us), "ratio": r, "hosts": h, "usd": None}
        for g, us, r, h in rows
    ]
    return Batch("reading", pa.RecordBatch.from_pylist(values, schema=READING.schema))


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS, max_size=25), st.data())
def test_order_and_split_of_batches_do_not_show(rows: list[Row], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    edges = [0, *cuts, len(rows)]
    pieces = [shuffled[a:b] for a, b in pairwise(edges)]
    limit = data.draw(st.sampled_from([0, 100, spool.SPOOL_BYTES]))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        straight, odd = Store(Path(folder) / "a"), Store(Path(folder) / "b")
        put(straight, "u", _batch(rows))
        patch.setattr(spool.Spool.__init__, "__kwdefaults__", {"limit": limit})
        put(odd, "u", *map(_batch, pieces))
        assert tree(Path(straight.root)) == tree(Path(odd.root))
        assert not put(odd, "u", *map(_batch, reversed(pieces))), "twice is once"
        assert sum(f.rows for f in odd.files("reading")) == len(rows)


def test_equal_keys_are_ordered_by_every_other_column(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("g", 0, ratio, hosts)
        for ratio in (0.0, -0.0, None, float("nan"))
        for hosts in (None, [], [""], ["a"], ["a", ""])
    ]
    trees = []
    for n in range(2):
        put(Store(tmp_path / str(n)), "u", _batch(rows[::-1] if n else rows))
        trees.append(tree(tmp_path / str(n)))
    assert trees[0] == trees[1]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c"]),
            st.lists(st.integers(0, 3), max_size=3),
            st.lists(st.sampled_from("xyz"), max_size=3),
        ),
        max_size=6,
    )
)
def test_the_last_word_on_each_unit_holds(
    history: list[tuple[str, list[int], list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, fresh = Store(Path(folder) / "a"), Store(Path(folder) / "b")

        def state(target: Store, key: str, days: list[int], texts: list[str]) -> None:
            times = [(key, MIDNIGHT + timedelta(days=d)) for d in days]
            put(target, key, readings(*times), notes(*[f"{key}{t}" for t in texts]))

        for key, days, texts in history:
            state(store, key, days, texts)
        last = {key: (days, texts) for key, days, texts in history}
        for key, (days, texts) in last.items():
            state(fresh, key, days, texts)
        assert tree(Path(store.root)) == tree(Path(fresh.root))
        assert sorted(r["text"] for r in rows_of(store, "note")) == sorted(
            f"{key}{t}" for key, (_, texts) in last.items() for t in texts
        )


def test_spilled_partitions_keep_few_files_open(store: Store, tmp_path: Path) -> None:
    gathered = spool.Spool(store.objects.scratch, limit=0)
    for start in (0, 200):
        days = [(str(d % 7), MIDNIGHT + timedelta(days=d)) for d in range(start, start + 400)]
        gathered.add(readings(*days).rows, READING)
        assert len(list(Path("/proc/self/fd").iterdir())) < 100
    found = [
        (part.partition, sum(group.num_rows for group in part.groups()))
        for part in gathered.drain()
    ]
    assert [p for p, _ in found] == sorted(
        f"day={(MIDNIGHT + timedelta(days=d)).date()}" for d in range(600)
    )
    assert sum(n for _, n in found) == 800
    assert {n for p, n in found if p == f"day={(MIDNIGHT + timedelta(days=300)).date()}"} == {2}


# -- faults by environment -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", ["before_rename", "nowhere:1", "before_rename:0", "before_rename:x", "before_rename:²"]
)
def test_a_malformed_fault_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="expected POINT:PASS"):
        fault_from_env({"PLUMBLINE_FAULT": value})


def test_no_fault_by_default() -> None:
    assert fault_from_env({}) is no_fault
