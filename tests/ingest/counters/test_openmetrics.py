"""Metrics as text: every dialect that a GPU's counters come in, and no time that is made up."""

from __future__ import annotations

import gzip
import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.counters import openmetrics
from tests.ingest.counters.test_prometheus import ENGINE, SM, START, T0, UTIL, A, B, Tables
from tests.pipelines.servers import needed, seed_prometheus
from tests.pipelines.test_collect import FIELDS, seeded
from warehouse.contracts import LANDING, SourceFile
from warehouse.errors import ConfigError, SourceError

EXPORTER = f'''\
# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE Ratio of time the graphics engine is active.
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
{ENGINE}{{gpu="0",UUID="{A}",pci_bus_id="00000000:1A:00.0",device="nvidia0",\
Hostname="n1",container="",namespace="",pod=""}} 0.500000
{ENGINE}{{gpu="1",UUID="{B}",modelName="a \\"b\\" }} c\\\\",hostname="n1"}} 0.250000
# TYPE DCGM_FI_DEV_GPU_UTIL counter
{UTIL}{{gpu="0",UUID="{A}"}} 98
'''


def read(folder: Path, text: str | bytes, *, name: str = "a.prom", **options: object) -> Tables:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    tables: Tables = {table: [] for table in LANDING}
    for batch in openmetrics.read(SourceFile(str(path), name, "gpus", "c1", None, options)):
        assert batch.rows.schema.equals(LANDING[batch.table].schema)
        batch.rows.validate(full=True)
        tables[batch.table] += batch.rows.to_pylist()
    return tables


def engine(tables: Tables) -> list[tuple[str, datetime, Any]]:
    return [(r["gpu_uuid"], r["ts"], r["engine_active_ratio"]) for r in tables["gpu_sample"]]


@pytest.mark.parametrize("name", ["a.prom", "a.prom.gz"])
def test_scrapes_of_an_exporter_with_their_times(tmp_path: Path, name: str) -> None:
    """It gives no time, types are not believed, a name may have braces and quotes."""
    text = "".join(f"# scraped_at {T0 + 30 * n}.125\n{EXPORTER}" for n in range(3))
    tables = read(tmp_path, text, name=name)
    at = [START + timedelta(seconds=30 * n, milliseconds=125) for n in range(3)]
    assert engine(tables) == [(A, t, 0.5) for t in at] + [(B, t, 0.25) for t in at]
    assert [r["gpu_util_ratio"] for r in tables["gpu_sample"][:3]] == [pytest.approx(0.98)] * 3
    assert {r["period_us"] for r in tables["gpu_sample"]} == {30_000_000}
    assert not tables["reject"]
    (cover,) = tables["source_coverage"]
    assert (cover["start"], cover["end"], cover["cluster"]) == (at[0], at[-1], "c1")


@pytest.mark.parametrize(
    ("time", "after"),
    [
        (f"{T0}", 0),
        (f"{T0}.5", 500),
        (f"{T0}.0", 0),
        ("1.79607423e+09", 0),
        (f"{T0}000", 0),
        (f"{T0}250", 250),
    ],
)
def test_seconds_and_milliseconds(tmp_path: Path, time: str, after: int) -> None:
    """OpenMetrics has seconds, exporters and dumps have milliseconds."""
    tables = read(tmp_path, f'{ENGINE}{{UUID="{A}"}} 0.5 {time}\n# EOF\n')
    assert engine(tables) == [(A, START + timedelta(milliseconds=after), 0.5)]


def test_what_else_an_exporter_gives_is_passed_over(tmp_path: Path) -> None:
    """Fields that are known and not landed, and the exporter's own process, are no rejects."""
    more = (f'DCGM_FI_DEV_XID_ERRORS{{UUID="{A}",err_code="31"}} 31\n'
            f'DCGM_FI_DEV_MEM_CLOCK{{UUID="{A}"}} 3201\ngo_goroutines 12\n'
            'node_cpu_seconds_total{cpu="0",mode="idle"} 1e9\n')  # fmt: skip
    tables = read(tmp_path, f"# scraped_at {T0}\n{EXPORTER}{more}")
    assert len(tables["gpu_sample"]) == 2
    assert not tables["reject"]


def test_a_dump_names_the_metric_among_the_labels(tmp_path: Path) -> None:
    tables = read(tmp_path, f'{{__name__="{ENGINE}", UUID="{A}", pod="x y"}} 0.5 {T0}000\n')
    assert engine(tables) == [(A, START, 0.5)]


def test_a_sample_without_a_time_is_told_once_and_never_given_one(tmp_path: Path) -> None:
    tables = read(tmp_path, EXPORTER)
    assert tables["gpu_sample"] == tables["source_coverage"] == []
    (reject,) = tables["reject"]
    assert "a sample without a time, as are those that follow" in reject["reason"]
    assert reject["position"] == "line 3"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f'{ENGINE}{{UUID="{A}"}}', "0 cells behind the series"),
        (f'{ENGINE}{{UUID="{A}"}} 1 2 3', "3 cells behind the series"),
        (f'{ENGINE}{{UUID="{A}"}} x {T0}', "is no value and time"),
        (f'{ENGINE}{{UUID="{A}"}} 1 -5', "the time is b'-5'"),
        (f'{ENGINE}{{UUID="{A}"}} 1 nan', "the time is b'nan'"),
        (f"{ENGINE}{{UUID={A}}} 1 {T0}", "labels cannot be read at"),
        (f'{ENGINE}{{UUID="{A}" x="y"}} 1 {T0}', "labels cannot be read at"),
        (f'9{ENGINE}{{UUID="{A}"}} 1 {T0}', "is no name of a metric"),
        (f'DCGM_FI_X{{UUID="{A}"}} 1 {T0}', "'DCGM_FI_X' is not known"),
        (f"{ENGINE} 1 {T0}", "no label UUID"),
        (f'{SM}{{UUID="{A}",GPU_I_ID="2"}} 1 {T0}', "slices are not divided yet"),
    ],
)
def test_a_line_that_cannot_be_read_costs_itself(tmp_path: Path, line: str, reason: str) -> None:
    good = f'{ENGINE}{{UUID="{B}"}} 0.5 {T0}'
    tables = read(tmp_path, f"{good}\n{line}\n")
    assert engine(tables) == [(B, START, 0.5)]
    (reject,) = tables["reject"]
    assert reason in reject["reason"]
    assert (reject["position"], reject["raw"]) == ("line 2", line)


def test_a_copy_that_was_cut(tmp_path: Path) -> None:
    text = "".join(f'{ENGINE}{{UUID="{A}"}} 0.5 {T0 + n}\n' for n in range(5000)).encode()
    path = tmp_path / "cut.prom.gz"
    path.write_bytes(gzip.compress(text)[:-200])
    file = SourceFile(str(path), path.name, "gpus", "c1", None, {})
    tables = {batch.table: batch.rows for batch in openmetrics.read(file)}
    assert 0 < tables["gpu_sample"].num_rows < 5000
    assert "end early" in tables["reject"].to_pylist()[0]["reason"]


def test_what_is_no_text_of_metrics(tmp_path: Path) -> None:
    for text in ("", "# HELP only\n"):
        with pytest.raises(SourceError, match="has no sample"):
            read(tmp_path, text)
    with pytest.raises(ConfigError, match="unknown option 'pattern'"):
        read(tmp_path, EXPORTER, pattern="x")


@pytest.mark.slow
def test_a_dump_of_a_real_prometheus(tmp_path: Path) -> None:
    """All that was seeded, once, with its milliseconds."""
    needed("promtool")
    seed_prometheus(tmp_path, seeded(2))
    (tmp_path / "data" / "wal").mkdir(exist_ok=True)
    done = subprocess.run(
        ["promtool", "tsdb", "dump", "data"], cwd=tmp_path, capture_output=True, timeout=60,
        check=True,
    )  # fmt: skip
    tables = read(tmp_path, done.stdout)
    assert not tables["reject"]
    readings = {
        (row["gpu_uuid"], column, round(row["ts"].timestamp() * 1000)): row[column]
        for row in tables["gpu_sample"] for column in FIELDS.values() if row[column] is not None
    }  # fmt: skip
    wanted = {
        (json.loads(labels[6:].split(",")[0]), FIELDS[name], ms): value
        for name, labels, ms, value in seeded(2)
    }
    assert readings.keys() == wanted.keys()
    assert all(abs(readings[key] - wanted[key]) <= 1e-6 * wanted[key] + 1e-9 for key in wanted)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,6}", fullmatch=True), st.text(max_size=12)))
def test_labels_come_back_as_they_were_written(labels: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')

    inside = ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items())
    text = f"m{{{inside}}}".encode("utf-8", "replace")
    wanted = {
        "__name__": "m",
        **{k: v.encode("utf-8", "replace").decode() for k, v in labels.items()},
    }
    assert openmetrics._labels(text) == wanted


def test_the_time_zone_of_times_is_utc(tmp_path: Path) -> None:
    (row,) = read(tmp_path, f'{ENGINE}{{UUID="{A}"}} 0.5 {T0}\n')["gpu_sample"]
    assert row["ts"] == datetime.fromtimestamp(T0, UTC)
