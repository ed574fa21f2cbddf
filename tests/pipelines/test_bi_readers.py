"""What BI tools read: the catalog and the Parquet files, through the libraries that they use.

docs/bi.md shows the same ways; each gives the totals of the bill to the last digit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from tests.pipelines.published import Published

with warnings.catch_warnings():
    # duckdb-engine and SQLAlchemy warn of one another's age.
    warnings.simplefilter("ignore")
    import sqlalchemy as sa

BILLED = "select sum(billed_usd) from allocation"


@pytest.fixture(scope="module")
def catalog(published: Published) -> Path:
    return published.root / "plumbline.duckdb"


@pytest.fixture(scope="module")
def billed(published: Published) -> Decimal:
    """The bill's total as its lines say, not as they were allocated."""
    (row,) = published.rows("select sum(billed_usd) as usd from recon_invoice")
    assert row["usd"] == Decimal("2.883654417140")
    return Decimal(row["usd"])


def files(root: Path, table: str) -> list[str]:
    """The files that count, as docs/bi.md says."""
    manifest = json.loads((root / "manifest.json").read_text())
    return [str(root / file["path"]) for file in manifest["files"] if file["table"] == table]


def test_a_plain_client_in_another_folder_opens_the_catalog_read_only(
    catalog: Path, billed: Decimal, tmp_path: Path
) -> None:
    code = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); "
        f"print(c.execute('{BILLED}').fetchone()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(catalog)], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert Decimal(done.stdout) == billed
    with (
        duckdb.connect(str(catalog), read_only=True) as connection,
        pytest.raises(duckdb.Error, match="read-only"),
    ):
        connection.execute("create table x as select 1")


def test_sqlalchemy_lists_describes_and_asks_the_views(catalog: Path, billed: Decimal) -> None:
    engine = sa.create_engine(f"duckdb:///{catalog}", connect_args={"read_only": True})
    with engine.connect() as connection:
        assert connection.execute(sa.text(BILLED)).scalar_one() == billed
        seen = sa.inspect(connection)
        assert {"allocation", "waste_team_month", "showback_team_month"} <= set(
            seen.get_view_names()
        )
        columns = {column["name"]: column for column in seen.get_columns("allocation")}
        assert str(columns["billed_usd"]["type"]) == "NUMERIC(38, 12)"
        assert str(columns["month"]["type"]) == "DATE"
        assert columns["billed_usd"]["comment"].endswith("[USD]")
        assert seen.get_table_comment("allocation")["text"] == "one row per bill line and target"
        # Readers build queries from columns that they name.
        allocation = sa.table("allocation", sa.column("payer_team"), sa.column("billed_usd"))
        by_team = sa.select(allocation.c.payer_team, sa.func.sum(allocation.c.billed_usd)).group_by(
            allocation.c.payer_team
        )
        assert sum(usd for _, usd in connection.execute(by_team)) == billed
    engine.dispose()


def test_pyarrow_reads_the_files_as_a_dataset(published: Published, billed: Decimal) -> None:
    data = ds.dataset(files(published.root, "allocation"), format="parquet")
    usd = data.to_table(columns=["billed_usd"]).column("billed_usd")
    assert usd.type == pa.decimal128(38, 12)
    assert pc.sum(usd).as_py() == billed
    assert data.schema.field("month").type == pa.date32()


def test_the_folder_alone_is_read_without_hive_partitions(
    published: Published, billed: Decimal
) -> None:
    """While nothing is being published the folder holds the same files."""
    folder = published.root / "mart" / "allocation"
    data = ds.dataset(folder, format="parquet")
    assert sorted(data.files) == sorted(files(published.root, "allocation"))
    assert pc.sum(data.to_table(columns=["billed_usd"]).column("billed_usd")).as_py() == billed
    with pytest.raises(pa.ArrowTypeError, match="month"):
        ds.dataset(folder, format="parquet", partitioning="hive")


def test_polars_keeps_decimals(published: Published, billed: Decimal) -> None:
    frame = pl.scan_parquet(files(published.root, "allocation"), hive_partitioning=False)
    found = frame.select(pl.col("billed_usd").sum()).collect()
    assert found.schema["billed_usd"] == pl.Decimal(38, 12)
    assert found.item() == billed


def test_pandas_keeps_decimals_with_arrow_types_and_as_objects(
    published: Published, billed: Decimal
) -> None:
    paths = files(published.root, "allocation")
    arrow = pd.read_parquet(paths, partitioning=None, dtype_backend="pyarrow")
    assert str(arrow["billed_usd"].dtype) == "decimal128(38, 12)[pyarrow]"
    assert arrow["billed_usd"].sum() == billed
    plain = pd.read_parquet(paths, partitioning=None)
    assert plain["billed_usd"].dtype == object
    assert sum(plain["billed_usd"]) == billed


def test_every_published_table_reads_alike_from_files_and_catalog(published: Published) -> None:
    manifest = json.loads((published.root / "manifest.json").read_text())
    tables = sorted({file["table"] for file in manifest["files"]})
    assert len(tables) > 25
    with duckdb.connect(str(published.root / "plumbline.duckdb"), read_only=True) as connection:
        for table in tables:
            (count,) = connection.execute(f'select count(*) from "{table}"').fetchone() or (None,)
            assert ds.dataset(files(published.root, table)).count_rows() == count, table
