"""Bad input: the bad record is kept as a reject and counted, the rest stands, sums stay exact."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from pipelines.config import load_config
from pipelines.run import Outcome, run
from tests.pipelines.published import Published, quiet
from warehouse.errors import CheckFailed, SourceError

Edit = Callable[[Path], None]


#: Bad traces have tests of their own; without the good ones a run takes half the time.
NO_TRACES = shutil.ignore_patterns("kineto")


@pytest.fixture
def spoiled(root: Path, tmp_path: Path) -> Callable[[Edit], tuple[Published, Outcome]]:
    """Run a copy of the example after an edit of it."""

    def make(edit: Edit) -> tuple[Published, Outcome]:
        folder = tmp_path / "a" / "b"
        shutil.copytree(root / "examples" / "h200", folder, ignore=NO_TRACES)
        edit(folder)
        config = load_config(folder / "plumbline.toml")
        outcome = run(config, progress=quiet)
        return Published(config.root), outcome

    return make


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def strict(published: Published) -> int:
    query = "select sum(gpu_ns) as ns from gpu_hour_state where waste_class = 'strict'"
    return int(published.rows(query)[0]["ns"] or 0)


def assert_exact(published: Published) -> Decimal:
    """Every charge that was read reconciles; returns their sum."""
    bad = "select line_id from recon_invoice where difference_usd <> 0 or "
    assert published.rows(bad + "billed_gpu_ns <> partitioned_gpu_ns") == []
    [row] = published.rows(
        """
        select (select sum(billed_usd) from bill_line) as bill,
            (select sum(billed_usd) from waste_team_month) as waste
        """
    )
    assert row["bill"] == row["waste"]
    return Decimal(row["bill"])


def test_a_malformed_bill_line(
    spoiled: Callable[[Edit], tuple[Published, Outcome]],
    recorded: tuple[Published, Outcome, object],
) -> None:
    def edit(folder: Path) -> None:
        bill = folder / "bill" / "focus_2026-11.csv"
        rows = lines(bill)
        rows[3] = rows[3].replace("USD", "", 1)[: len(rows[3]) // 2] + "\n"
        bill.write_text("".join(rows))

    published, outcome = spoiled(edit)
    assert outcome.landed.rejects == 1
    [reject] = published.rows("select * from reject")
    assert (reject["source"], reject["file"]) == ("focus_csv", "bill/focus_2026-11.csv")
    assert "4" in reject["position"]
    assert assert_exact(published) != assert_exact(recorded[0])
    assert len(published.rows("select * from recon_invoice")) == 8


def test_a_sacct_row_with_a_missing_field(
    spoiled: Callable[[Edit], tuple[Published, Outcome]],
    recorded: tuple[Published, Outcome, object],
) -> None:
    def edit(folder: Path) -> None:
        sacct = folder / "slurm" / "sacct.psv"
        rows = lines(sacct)
        at = next(i for i, row in enumerate(rows) if row.startswith("1006|"))
        rows[at] = rows[at].replace("|", "", 1)
        sacct.write_text("".join(rows))

    published, outcome = spoiled(edit)
    assert outcome.landed.rejects == 1
    assert_exact(published)
    assert published.rows("select * from job_cost where job_id = '1006'") == []
    # What 1006 held is now unknown; it must not turn into anybody's waste.
    assert strict(published) <= strict(recorded[0])
    unknown = published.rows(
        "select sum(gpu_ns) as ns from gpu_hour_state where cause = 'scheduler_missing'"
    )
    assert int(unknown[0]["ns"]) > 15 * 10**9


def test_a_half_written_counter_line(
    spoiled: Callable[[Edit], tuple[Published, Outcome]],
    recorded: tuple[Published, Outcome, object],
) -> None:
    def edit(folder: Path) -> None:
        counters = folder / "recordings" / "one-gpu" / "nvml.csv"
        rows = lines(counters)
        rows[2000] = rows[2000][:40] + "\n"
        rows[-1] = rows[-1][:25]
        counters.write_text("".join(rows))

    published, outcome = spoiled(edit)
    assert outcome.landed.rejects == 2
    assert_exact(published)
    assert strict(published) <= strict(recorded[0])


def test_a_broken_step_log_proves_no_lost_work(
    spoiled: Callable[[Edit], tuple[Published, Outcome]],
) -> None:
    def edit(folder: Path) -> None:
        log = folder / "recordings" / "one-gpu" / "job_1010" / "steps_0.jsonl"
        rows = lines(log)
        rows[10] = '{"step": 10, "start_ns": \n'
        log.write_text("".join(rows))

    published, outcome = spoiled(edit)
    assert outcome.landed.rejects == 1
    assert_exact(published)
    [row] = published.rows("select lost_gpu_ns, lost_high_gpu_ns, method_id from interruptions")
    assert (row["lost_gpu_ns"], row["method_id"]) == (0, "none")
    assert row["lost_high_gpu_ns"] > 0


@pytest.mark.parametrize("text", ["hello\n", "a,b\n1,2\n", "<html></html>", ""])
def test_a_file_that_is_no_bill_is_one_clear_error(
    text: str, spoiled: Callable[[Edit], tuple[Published, Outcome]]
) -> None:
    def edit(folder: Path) -> None:
        (folder / "bill" / "focus_2026-11.csv").write_text(text)

    with pytest.raises(SourceError, match=r"focus_2026-11\.csv.*expected"):
        spoiled(edit)


def test_a_bill_that_is_read_twice_stops_the_month(
    spoiled: Callable[[Edit], tuple[Published, Outcome]],
) -> None:
    """The same charges under two names would be paid twice: a blocking check says so."""

    def edit(folder: Path) -> None:
        bill = folder / "bill" / "focus_2026-11.csv"
        shutil.copy(bill, bill.with_name("focus_2026-11-copy.csv"))

    with pytest.raises(CheckFailed, match="stg_bill_line") as error:
        spoiled(edit)
    text = str(error.value)
    assert "The same charge stands in two files of the bill. Remove one of them" in text
    assert "more that follow from these" in text
    assert text.count("\n- ") == 3
    assert not set("{}") & set(text)


def test_two_jobs_on_one_gpu_stop_the_month(
    spoiled: Callable[[Edit], tuple[Published, Outcome]],
) -> None:
    def edit(folder: Path) -> None:
        for name in ("sacct.psv", "scontrol_show_job_d.txt"):
            path = folder / "slurm" / name
            text = path.read_text()
            # 1002 is said to have begun a minute earlier, while 1001 still held the GPU.
            text = text.replace("1796074311", "1796074251").replace("21:31:51", "21:30:51")
            path.write_text(text)

    with pytest.raises(CheckFailed, match="chk_one_job_per_gpu"):
        spoiled(edit)


def test_a_restated_bill_replaces_its_period_and_a_lost_file_is_forgotten(
    root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "a" / "b"
    shutil.copytree(root / "examples" / "h200", folder, ignore=NO_TRACES)
    config = load_config(folder / "plumbline.toml")
    run(config, progress=quiet)
    before = assert_exact(Published(config.root))
    bill = folder / "bill" / "focus_2026-11.csv"
    rows = lines(bill)
    bill.write_text("".join(rows[:-1]))
    outcome = run(config, progress=quiet)
    assert outcome.landed.read == ["bill/focus_2026-11.csv"]
    assert len(outcome.built) == 1
    published = Published(config.root)
    assert assert_exact(published) != before
    assert len(published.rows("select * from bill_line")) == len(rows) - 2
    (folder / "checkpoints.jsonl").unlink()
    with pytest.raises(SourceError, match=r"no file fits checkpoints.*, and 1 of its files is"):
        run(config, progress=quiet)
    assert len(published.rows("select * from checkpoint")) > 0
    gone = run(config, progress=quiet, forget=True)
    assert gone.landed.forgotten == ["checkpoints.jsonl"]
    assert Published(config.root).rows("select * from checkpoint") == []
