"""Schedules and sensors: which run they ask for, and when."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.config import load_config
from pipelines.landing import land
from pipelines.orchestration.deployment import Deployment
from pipelines.orchestration.sensors import Cursor, Files, files_of, step
from pipelines.orchestration.watch import results, thin_days
from pipelines.published import Published
from pipelines.run import publishing
from tests.pipelines.command import CONFIG, cluster
from tests.pipelines.orchestrated import definitions, shipped
from tests.pipelines.published import quiet

TRACES = '\n[[source]]\nkind = "kineto"\ncluster = "c1"\nfiles = ["traces/*.json"]\n'


@pytest.fixture(scope="module")
def defs() -> dg.Definitions:
    return definitions("")


def ask(defs: dg.Definitions, name: str, at: str) -> dg.RunRequest | dg.SkipReason:
    """What a schedule asks for at a time."""
    context = dg.build_schedule_context(scheduled_execution_time=datetime.fromisoformat(at))
    found = defs.resolve_schedule_def(name)(context)
    assert isinstance(found, dg.RunRequest | dg.SkipReason)
    return found


@pytest.mark.parametrize(
    ("name", "at", "month", "touched"),
    [
        ("nightly", "2026-11-15T04:00:00+00:00", "2026-11-01", True),
        ("nightly", "2026-11-01T04:00:00+00:00", "2026-10-01", True),
        ("month_close", "2026-11-03T06:00:00+00:00", "2026-10-01", False),
        ("month_close", "2026-12-03T06:00:00+00:00", "2026-11-01", False),
    ],
)
def test_schedules_ask_for_the_month(
    defs: dg.Definitions, name: str, at: str, month: str, touched: bool
) -> None:
    request = ask(defs, name, at)
    assert isinstance(request, dg.RunRequest)
    assert request.partition_key == month
    assert request.run_config["ops"]["build"]["config"] == {"touched": touched}
    again = ask(defs, name, at)
    assert isinstance(again, dg.RunRequest)
    assert again.run_key == request.run_key


def test_a_schedule_before_the_first_month_skips(defs: dg.Definitions) -> None:
    assert isinstance(ask(defs, "month_close", "2026-09-03T06:00:00+00:00"), dg.SkipReason)
    assert isinstance(ask(defs, "nightly", "2026-09-01T04:00:00+00:00"), dg.SkipReason)
    assert isinstance(ask(defs, "nightly", "2026-09-02T04:00:00+00:00"), dg.RunRequest)


def test_all_are_off_until_somebody_switches_them_on(defs: dg.Definitions) -> None:
    for schedule in map(defs.resolve_schedule_def, ("nightly", "month_close")):
        assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
        assert schedule.execution_timezone == "UTC"
    for sensor in map(defs.resolve_sensor_def, ("bills_arrived", "traces_arrived")):
        assert sensor.default_status == dg.DefaultSensorStatus.STOPPED


class Sensor:
    """A sensor that keeps its cursor from look to look."""

    def __init__(self, config: Path, name: str) -> None:
        self.sensor = definitions(config).resolve_sensor_def(name)
        self.config, self.cursor = config, ""

    def look(self) -> dg.RunRequest | str:
        """What it asks for, or why it does not."""
        context = dg.build_sensor_context(
            cursor=self.cursor, resources={"deployment": Deployment(config=str(self.config))}
        )
        found = self.sensor(context)
        if isinstance(found, dg.SkipReason):
            return str(found.skip_message)
        assert isinstance(found, dg.SensorResult)
        self.cursor = found.cursor or ""
        if not found.run_requests:
            assert found.skip_reason is not None
            return str(getattr(found.skip_reason, "skip_message", found.skip_reason))
        [request] = found.run_requests
        return request


def test_a_bill_that_arrives_asks_for_one_run_when_it_is_whole(tmp_path: Path) -> None:
    sensor = Sensor(cluster(tmp_path), "bills_arrived")
    assert "may still be written" in str(sensor.look())
    first = sensor.look()
    assert isinstance(first, dg.RunRequest)
    assert first.tags["plumbline/arrived"] == "focus_csv: bill.csv"
    assert first.run_config["ops"]["build"]["config"] == {"touched": True}
    assert "nothing new" in str(sensor.look())
    bill = tmp_path / "bill2.csv"
    bill.write_text((tmp_path / "bill.csv").read_text())
    assert "may still be written" in str(sensor.look())
    bill.write_text(bill.read_text() * 2)  # it grows between two looks
    assert "may still be written" in str(sensor.look())
    second = sensor.look()
    assert isinstance(second, dg.RunRequest)
    assert second.tags["plumbline/arrived"] == "focus_csv: bill2.csv"
    assert second.run_key != first.run_key
    bill.unlink()
    assert "may still be written" in str(sensor.look())
    third = sensor.look()
    assert isinstance(third, dg.RunRequest)
    assert third.tags["plumbline/arrived"] == "files that are gone"


def test_traces_have_a_sensor_of_their_own(tmp_path: Path) -> None:
    sensor = Sensor(cluster(tmp_path, config=CONFIG + TRACES), "traces_arrived")
    assert "0 files of traces: nothing new" in str(sensor.look())
    (tmp_path / "traces").mkdir()
    for number in range(5):
        (tmp_path / "traces" / f"{number}.json").write_text("{}")
    assert "5 files of traces: they may" in str(sensor.look())
    request = sensor.look()
    assert isinstance(request, dg.RunRequest)
    names = "kineto: traces/0.json, kineto: traces/1.json, kineto: traces/2.json and 2 more"
    assert request.tags["plumbline/arrived"] == names


def test_a_sensor_without_a_configuration_says_so(tmp_path: Path) -> None:
    assert "cannot be read" in str(Sensor(tmp_path / "none.toml", "bills_arrived").look())


def test_only_the_files_of_the_room_count(tmp_path: Path) -> None:
    config = load_config(cluster(tmp_path))
    before = files_of(config, "bills")
    (tmp_path / "sacct.psv").write_text("changed")
    os.utime(tmp_path / "sacct.psv", ns=(1, 1))
    assert files_of(config, "bills") == before
    assert [name for name, _, _ in before.files] == ["focus_csv: bill.csv"]


STATES = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 2)), max_size=2),
    min_size=1, max_size=12,
)  # fmt: skip


@given(STATES)
def test_every_state_that_lasts_is_asked_for_once(looks: list[list[tuple[str, int, int]]]) -> None:
    """Two looks in a row at a state that differs from the one asked for last: exactly one run."""
    cursor, previous, last = Cursor(), None, ""
    for look in looks:
        files = Files(tuple(sorted(set(look))))
        cursor, new = step(Cursor.of(cursor.text), files)
        same = previous == files.digest
        wanted = same and files.digest != last and bool(files.files or last)
        assert (new is not None) == wanted
        if new is not None:
            last = files.digest
        previous = files.digest


@given(st.text(max_size=20))
def test_a_cursor_that_cannot_be_read_has_seen_nothing(text: str) -> None:
    assert isinstance(Cursor.of(text), Cursor)
    assert Cursor.of(json.dumps({"colour": 1})) == Cursor()


# --- freshness and volume -------------------------------------------------------------------------


def day(number: int) -> date:
    return date(2026, 11, number)


@pytest.mark.parametrize(
    ("rows", "thin"),
    [
        ([100, 100, 100, 100, 49, 100], [5]),
        ([100, 100, 100, 100, 51, 100], []),
        ([100, 100, 100, 0, 100], [4]),
        ([100, 100, 1], []),  # too few days before
        ([9, 9, 9, 0, 9], []),  # too few rows
        ([], []),
    ],
)
def test_days_that_are_thin(rows: list[int], thin: list[int]) -> None:
    by_day = {day(n): count for n, count in enumerate(rows, 1) if count}
    found = [d.day for d, _, _ in thin_days(by_day, day(1), day(30))]
    assert found == thin


COUNTERS = """
[[source]]
kind = "nvml_csv"
cluster = "c1"
node = "n1"
gpu_uuid = "GPU-a"
files = ["nvml.csv"]
"""


def test_a_gpu_that_falls_silent_is_said(tmp_path: Path, root: Path) -> None:
    recorded = root / "examples" / "h200" / "recordings" / "one-gpu" / "nvml.csv"
    names = recorded.read_text().splitlines()[0].split(",")
    lines = [",".join(names)]
    for hour in [*range(8), *range(15, 24)]:
        time_ns = int(datetime(2026, 11, 10, hour, 1, tzinfo=UTC).timestamp()) * 10**9
        row = {"ts_ns": str(time_ns), "gpu_util_pct": "50"}
        lines.append(",".join(row.get(name, "") for name in names))
    (tmp_path / "nvml.csv").write_text("\n".join([*lines, ""]))
    place = {"start": "2026-11-10T00:00:00Z", "end": "2026-11-11T03:00:00Z"}
    gpus = [place, {**place, "gpu_uuid": "GPU-b", "gpu_index": "1"}]
    config = cluster(tmp_path, gpus=gpus, config=CONFIG + COUNTERS)
    settings, now = load_config(config), datetime(2026, 12, 1, tzinfo=UTC)
    with publishing(settings, shipped(), progress=quiet) as (store, transaction):
        land(settings, store, transaction, progress=quiet)
    published = Published(settings)
    for span in (None, (date(2026, 11, 1), date(2026, 11, 1))):
        found = {r.check_name: r for r in results(published, span, now=now)}["fresh"]
        assert not found.passed
        # of GPU-b there never was a sample: plumbline doctor says so
        assert found.metadata["found"] == dg.IntMetadataValue(1)
        text = str(found.metadata["such_as"].value)
        assert "GPU-a" in text
        assert "silent_from=2026-11-10T08:00:00Z, silent_hours=7" in text
    december = (date(2026, 12, 1), date(2026, 12, 1))
    assert all(r.passed for r in results(published, december, now=now))
