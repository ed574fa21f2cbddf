"""examples/h200 is what its make.py writes, keeps FOCUS's rules, and can be moved in time."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from ingest.registry import KINDS
from pipelines.config import load_config

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "h200"
RECORDINGS = EXAMPLE / "recordings"
ONE_GPU, TWO_GPU = "i-h200-one", "i-h200-two"
NOT_NULL = (
    "BilledCost", "ContractedCost", "EffectiveCost", "BillingAccountId", "BillingCurrency",
    "InvoiceIssuerName", "ServiceName", "ServiceCategory", "ProviderName", "PublisherName",
    "BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd",
    "ChargeCategory", "ChargeFrequency", "PricingCurrency", "ChargeDescription",
)  # fmt: skip


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_h200_make", EXAMPLE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def rows(path: Path, *, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL))


def bill(folder: Path) -> list[dict[str, str]]:
    return [row for path in sorted(folder.glob("bill/*.csv")) for row in rows(path)]


def total(lines: list[dict[str, str]], column: str) -> Decimal:
    return sum((Decimal(line[column]) for line in lines if line[column]), Decimal(0))


def list_of_taxes(lines: list[dict[str, str]]) -> Fraction:
    """What the taxes are at list: as much more as their invoices' other charges are at list."""
    found = Fraction(0)
    for tax in (x for x in lines if x["ChargeCategory"] == "Tax"):
        rest = [x for x in lines if x["InvoiceId"] == tax["InvoiceId"] and x is not tax]
        ratio = Fraction(total(rest, "ListCost")) / Fraction(total(rest, "BilledCost"))
        found += Fraction(tax["BilledCost"]) * ratio
    return found


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_example_is_what_make_writes(make: ModuleType, tmp_path: Path) -> None:
    written = make.write(tmp_path, recordings=RECORDINGS)
    for path in written:
        name = path.relative_to(tmp_path)
        assert (EXAMPLE / name).read_bytes() == path.read_bytes(), f"run make.py: {name} is stale"
    kept = {p.relative_to(EXAMPLE) for p in RECORDINGS.rglob("*") if p.is_file()}
    assert kept <= {p.relative_to(tmp_path) for p in written}, "a recorded file is read by nothing"


def test_written_files_are_marked(make: ModuleType, tmp_path: Path) -> None:
    names = {
        p.relative_to(tmp_path).as_posix() for p in make.write(tmp_path, recordings=RECORDINGS)
    }
    note = (EXAMPLE / "WRITTEN.txt").read_text()
    readme = (EXAMPLE / "README.md").read_text()
    for name in names:
        if not name.startswith("recordings/") and name != "WRITTEN.txt":
            assert f"  {name}\n" in note
            assert f"`{name}`" in readme


def test_recordings_are_as_recorded(shared_data: Path) -> None:
    for path in RECORDINGS.rglob("*.*"):
        recorded = shared_data / "recordings" / path.relative_to(RECORDINGS)
        assert path.read_bytes() == recorded.read_bytes()


def test_the_recordings_hold_no_private_text() -> None:
    """Homes, addresses and keys of the machine that recorded; the module names are the jobs'."""
    private = (
        b"/home/", b"/root/", b"/users/", b"http://", b"https://", b"@", b"password", b"secret",
        b"apikey", b"api_key", b"bearer ", b"127.0.0.1", b"192.168.", b"10.0.",
    )  # fmt: skip
    files = [*RECORDINGS.rglob("*.json.gz"), *RECORDINGS.rglob("*.jsonl")]
    assert len(files) > 40
    for path in files:
        text = path.read_bytes()
        text = (gzip.decompress(text) if path.suffix == ".gz" else text).lower()
        assert [word for word in private if word in text] == [], path.name


def test_help_and_command_line(tmp_path: Path) -> None:
    script = [sys.executable, str(EXAMPLE / "make.py")]
    shown = subprocess.run([*script, "--help"], check=True, capture_output=True, text=True).stdout
    assert "--shift-seconds" in shown
    told = subprocess.run(
        [*script, "--out", str(tmp_path), "--shift-seconds", "3600"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert "files written below" in told
    assert (tmp_path / "bill" / "focus_2026-11.csv").is_file()


def test_sacct_rows(make: ModuleType) -> None:
    found = rows(EXAMPLE / "slurm" / "sacct.psv", delimiter="|")
    assert tuple(found[0]) == make.SACCT_FIELDS
    jobs = [row for row in found if "." not in row["JobIDRaw"]]
    recorded = [row for f in ("one-gpu", "two-gpu") for row in rows(RECORDINGS / f / "jobs.csv")]
    by_start = sorted(jobs, key=lambda row: (int(row["Start"]), row["JobIDRaw"]))
    by_driver = sorted(recorded, key=lambda row: (int(row["start_ns"]) // 10**9, row["job_id"]))
    for row, driver in zip(by_start, by_driver, strict=True):
        assert row["JobIDRaw"] == driver["job_id"]
        assert int(row["Start"]) == int(driver["start_ns"]) // 10**9
        assert int(row["End"]) == int(driver["end_ns"]) // 10**9
        assert int(row["ElapsedRaw"]) == int(row["End"]) - int(row["Start"])
        assert int(row["Submit"]) <= int(row["Eligible"]) <= int(row["Start"])
        gpus = 2 if driver.get("gpus") == "0-1" else 1
        assert f"gres/gpu={gpus}," in row["AllocTRES"]
    first, second = (row for row in jobs if row["JobIDRaw"] == "1010")
    assert (first["State"], first["ExitCode"]) == ("FAILED", "1:0")
    assert (second["State"], second["Submit"]) == ("COMPLETED", first["End"])
    steps = [row for row in found if "." in row["JobIDRaw"]]
    assert len(steps) == 2 * len(jobs)
    assert {row["JobIDRaw"] for row in steps if row["JobName"] == "interactive"} == {
        "1009.interactive", "2005.interactive",
    }  # fmt: skip
    assert all(row["User"] == "" and row["Account"] for row in steps)


def test_scontrol_names_the_gpus_of_each_start(make: ModuleType) -> None:
    text = (EXAMPLE / "slurm" / "scontrol_show_job_d.txt").read_text()
    jobs = text.strip("\n").split("\n\n")
    attempts = make.read_attempts(RECORDINGS)
    assert len(jobs) == len(attempts) == 16
    for run in attempts:
        start = datetime.fromtimestamp(run.start_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        [shown] = [j for j in jobs if f"JobId={run.job_id} " in j and f"StartTime={start} " in j]
        idx = "0-1" if len(run.gpu_indices) == 2 else str(run.gpu_indices[0])
        assert f"(IDX:{idx})" in shown
        assert f"Nodes={run.machine.node} " in shown


def test_checkpoints_lie_inside_their_steps() -> None:
    records = [json.loads(x) for x in (EXAMPLE / "checkpoints.jsonl").read_text().splitlines()]
    steps = {}
    for attempt in (0, 1):
        log = RECORDINGS / "one-gpu" / "job_1010" / f"steps_{attempt}.jsonl"
        for step in map(json.loads, log.read_text().splitlines()):
            steps[attempt, step["step"]] = step
    saves = [(r["attempt"], r["step"]) for r in records if r["event"] == "save"]
    assert saves == [(0, 20), (0, 40), (1, 40), (1, 60), (1, 80), (1, 100), (1, 120)]
    for record in records:
        step = steps[record["attempt"], record["step"]]
        if record["event"] == "save":
            assert step["start_ns"] < record["start_ns"] < record["end_ns"] == step["end_ns"]
        else:
            assert (record["attempt"], record["step"]) == (1, 40)
            assert record["end_ns"] == step["start_ns"]


def test_inventory_covers_all_samples_and_jobs(make: ModuleType) -> None:
    attempts = make.read_attempts(RECORDINGS)
    for up in make.read_up_times(RECORDINGS):
        times = [
            int(row["ts_ns"])
            for path in (RECORDINGS / up.machine.folder).glob("nvml*.csv")
            for row in rows(path)
        ]
        held = [a for a in attempts if a.machine == up.machine]
        assert up.start_us * 1000 <= min(min(times), *(a.start_s * 10**9 for a in held))
        assert max(max(times), *(a.end_s * 10**9 for a in held)) < up.end_us * 1000
    found = rows(EXAMPLE / "inventory" / "gpu_inventory.csv")
    assert [(r["resource_id"], r["gpu_index"]) for r in found] == [
        (ONE_GPU, "0"), (TWO_GPU, "0"), (TWO_GPU, "1"),
    ]  # fmt: skip
    assert len({r["gpu_uuid"] for r in found}) == 3
    spans = [(utc(r["end"]) - utc(r["start"])).total_seconds() for r in found]
    assert spans == [355, 169, 169]


def test_the_bill_has_the_columns_and_values_of_focus_1_2(make: ModuleType) -> None:
    assert len(make.FOCUS_COLUMNS) == len(set(make.FOCUS_COLUMNS)) == 57
    for line in bill(EXAMPLE):
        assert tuple(line) == make.FOCUS_COLUMNS
        assert all(line[column] for column in NOT_NULL)
        assert utc(line["BillingPeriodStart"]) <= utc(line["ChargePeriodStart"])
        assert utc(line["ChargePeriodStart"]) < utc(line["ChargePeriodEnd"])
        assert utc(line["ChargePeriodEnd"]) <= utc(line["BillingPeriodEnd"])
        if line["ChargeCategory"] == "Tax":
            assert line["ListCost"] == ""
            continue
        if line["ListUnitPrice"]:
            quantity = Decimal(line["PricingQuantity"])
            assert Decimal(line["ListCost"]) == Decimal(line["ListUnitPrice"]) * quantity
            contracted = Decimal(line["ContractedUnitPrice"]) * quantity
            assert Decimal(line["ContractedCost"]) == contracted
        for column in ("BilledCost", "EffectiveCost", "ListCost"):
            exponent = Decimal(line[column]).as_tuple().exponent
            assert isinstance(exponent, int)
            assert exponent >= -12, "money of more than twelve decimals would be rounded"


def test_the_bill_adds_up() -> None:
    lines = bill(EXAMPLE)
    for resource, seconds, gpus in ((ONE_GPU, 355, 1), (TWO_GPU, 169, 2)):
        machine = [x for x in lines if x["ResourceId"] == resource and x["SkuPriceDetails"]]
        assert total(machine, "ConsumedQuantity") == round(Decimal(seconds) / 3600, 6)
        assert {json.loads(x["SkuPriceDetails"])["GpuCount"] for x in machine} == {gpus}
        assert {Decimal(x["ListUnitPrice"]) for x in machine} == {Decimal("10.4365") * gpus}
    assert [x["ServiceCategory"] for x in lines if x["ResourceId"] == ONE_GPU] == [
        "Compute", "Storage",
    ]  # fmt: skip
    assert total(lines, "BilledCost") == total(lines, "EffectiveCost")
    [tax] = [x for x in lines if x["ChargeCategory"] == "Tax"]
    rest = [x for x in lines if x is not tax]
    assert Decimal(tax["BilledCost"]) == total(rest, "BilledCost") * Decimal("0.19")
    assert total(rest, "ListCost") != total(rest, "BilledCost"), "list is a basis of its own"
    [credit] = [x for x in lines if x["ChargeCategory"] == "Credit"]
    assert Decimal(credit["BilledCost"]) < 0
    bought, unused = (x for x in lines if x["CommitmentDiscountId"])
    assert (bought["ChargeCategory"], unused["ChargeCategory"]) == ("Purchase", "Usage")
    assert (bought["EffectiveCost"], unused["BilledCost"]) == ("0", "0")
    assert bought["BilledCost"] == unused["EffectiveCost"] == unused["ContractedCost"]
    assert unused["CommitmentDiscountStatus"] == "Unused"
    assert unused["ResourceId"] == unused["CommitmentDiscountId"]
    assert not unused["ConsumedQuantity"]


@pytest.mark.parametrize("kind", sorted(k.name for k in KINDS.values() if not k.instead_of))
def test_every_source_is_read_without_a_reject(kind: str) -> None:
    config = load_config(EXAMPLE / "plumbline.toml")
    files = [file for s in config.sources if s.kind == kind for file in config.files(s)]
    assert files, f"the example has no source of kind {kind}"
    for file in files:
        landed = Counter[str]()
        for batch in KINDS[kind].read(file):
            landed[batch.table] += batch.rows.num_rows
        assert landed["reject"] == 0, file.name
        assert sum(landed.values()) > 0, file.name


#: From 30 November 21:30:39 UTC: into 31 October 23:57:39, so that the month ends in job 1005; and
#: 26 minutes on, so that an hour ends in it.
TO_MONTH_END = -(29 * 86_400 + 21 * 3600 + 33 * 60)
TO_HOUR_END = 26 * 60 + 30


@pytest.mark.parametrize(
    ("shift_s", "files"),
    [
        (TO_MONTH_END, ["focus_2026-10.csv", "focus_2026-11.csv"]),
        (TO_HOUR_END, ["focus_2026-11.csv"]),
    ],
)
def test_a_shift_moves_everything_and_changes_no_total(
    make: ModuleType, tmp_path: Path, shift_s: int, files: list[str]
) -> None:
    shift_ns = shift_s * 10**9
    (tmp_path / "bill").mkdir()
    (tmp_path / "bill" / "focus_2020-01.csv").write_text("left over from another shift\n")
    make.write(tmp_path, recordings=RECORDINGS, shift_ns=shift_ns)
    assert sorted(p.name for p in tmp_path.glob("bill/*")) == files
    here, there = bill(EXAMPLE), bill(tmp_path)
    for column in ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"):
        assert total(here, column) == total(there, column)
    for resource in (ONE_GPU, TWO_GPU, "cud-h200-1"):
        for column in ("PricingQuantity", "ListCost"):
            assert total([x for x in here if x["ResourceId"] == resource], column) == total(
                [x for x in there if x["ResourceId"] == resource], column
            )
    assert list_of_taxes(here) == list_of_taxes(there)
    machine = [x for x in there if x["ResourceId"] == ONE_GPU and x["SkuPriceDetails"]]
    assert len(machine) == 2
    for line in there:
        assert line["InvoiceId"] == f"INV-H200-{line['ChargePeriodStart'][:7]}"
    # Recorded files differ by the shift in their times and in nothing else.
    for path in sorted(RECORDINGS.rglob("*.csv")):
        moved = rows(tmp_path / path.relative_to(EXAMPLE))
        for old, new in zip(rows(path), moved, strict=True):
            times = [column for column in old if column.endswith("_ns")]
            assert times
            assert {**old, **{c: str(int(old[c]) + shift_ns) for c in times}} == new
    for path in sorted(RECORDINGS.rglob("*.jsonl")):
        texts = path.read_text().splitlines()
        moved_texts = (tmp_path / path.relative_to(EXAMPLE)).read_text().splitlines()
        for old_text, new_text in zip(texts, moved_texts, strict=True):
            old_step, new_step = json.loads(old_text), json.loads(new_text)
            for column in ("start_ns", "end_ns"):
                assert new_step.pop(column) == old_step.pop(column) + shift_ns
            assert new_step == old_step
    for path in sorted(RECORDINGS.rglob("*.json.gz")):
        content = (tmp_path / path.relative_to(EXAMPLE)).read_bytes()
        assert content[4:8] == bytes(4), "a time in the gzip header makes each call's bytes differ"
        before, after = gzip.decompress(path.read_bytes()), gzip.decompress(content)
        mark = rb'_ns":' if "flight_recorder" in path.name else rb'"baseTimeNanoseconds": '
        texts, moved_texts = before.split(mark), after.split(mark)
        assert len(texts) > 1
        assert texts[0] == moved_texts[0]
        for old, new in zip(texts[1:], moved_texts[1:], strict=True):
            number, moved_number = (re.match(rb"\d+", text) for text in (old, new))
            assert number is not None
            assert moved_number is not None
            assert int(moved_number[0]) == (int(number[0]) + shift_ns if int(number[0]) else 0)
            assert old[number.end() :] == new[moved_number.end() :]


def test_a_shift_that_would_change_fractions_is_refused(make: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        make.write(tmp_path, recordings=RECORDINGS, shift_ns=1)
    with pytest.raises(ValueError, match="folder of its own"):
        make.write(EXAMPLE, recordings=RECORDINGS, shift_ns=10**9)
