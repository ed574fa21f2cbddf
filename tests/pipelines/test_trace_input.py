"""Traces that are cut, damaged, copied or alone: through a whole run to the marts."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.config import load_config
from pipelines.run import Outcome, run
from tests.oracle.traces import PARTS
from tests.pipelines.published import Published, quiet

ONE = "recordings/one-gpu"
STEPS = """
    select * exclude source_file from step_breakdown where job_id = '1006' order by start_ns
"""


@pytest.fixture
def bare(root: Path, tmp_path: Path) -> Path:
    """The recorded example without its traces."""
    folder = tmp_path / "a" / "b"
    shutil.copytree(
        root / "examples" / "h200", folder, ignore=shutil.ignore_patterns("*.json.gz", "tb")
    )
    return folder


@pytest.fixture
def recorded_trace(root: Path) -> Callable[[str], Path]:
    """The recorded trace of a job of the one-GPU machine."""

    def find(job: str) -> Path:
        [path] = (root / "examples" / "h200" / ONE / f"job_{job}" / "kineto").iterdir()
        return path

    return find


def put(bare: Path, job: str, name: str, content: bytes) -> Path:
    """A trace below a job's folder, named as the configuration finds it."""
    path = bare / ONE / f"job_{job}" / "kineto" / f"{name}.pt.trace.json.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def built(bare: Path) -> tuple[Published, Outcome]:
    config = load_config(bare / "plumbline.toml")
    outcome = run(config, progress=quiet)
    published = Published(config.root)
    assert published.rows("select line_id from recon_invoice where difference_usd <> 0") == []
    return published, outcome


def whole_events(text: bytes) -> list[dict[str, Any]]:
    """The events of a native trace's beginning that are there to their last brace."""
    start = text.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    end = text.rindex(b"\n  },") + len(b"\n  }")
    events: list[dict[str, Any]] = json.loads(b"[" + text[start:end] + b"]")
    return events


def gpu_events(events: list[dict[str, Any]]) -> int:
    return sum(e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") for e in events)


def in_step(published: Published, job: str) -> dict[str, dict[str, Any]]:
    rows = published.rows(
        f"""
        select bucket, sum(gpu_ns) as ns, sum(low_gpu_ns) as low, sum(high_gpu_ns) as high,
            min(method_id) as method_id
        from gpu_hour_state where job_id = '{job}' and level1 = 'in_step' group by bucket
        """
    )
    return {row["bucket"]: row for row in rows}


@pytest.mark.parametrize("how", ["text", "gzip"])
def test_a_trace_cut_in_the_middle_keeps_its_whole_events(
    how: str, bare: Path, recorded_trace: Callable[[str], Path]
) -> None:
    packed = recorded_trace("1006").read_bytes()
    if how == "text":
        text = gzip.decompress(packed)
        text = text[: len(text) * 6 // 10]
        path = put(bare, "1006", "cut", gzip.compress(text))
    else:
        packed = packed[: len(packed) * 6 // 10]
        text = zlib.decompressobj(wbits=31).decompress(packed)
        path = put(bare, "1006", "cut", packed)
    kept = whole_events(text)
    published, outcome = built(bare)
    assert outcome.landed.rejects == 1
    [reject] = published.rows("select source, file, reason from reject")
    assert (reject["source"], reject["file"]) == ("kineto", path.relative_to(bare).as_posix())
    [row] = published.rows("select * from trace_file")
    assert row["is_truncated"]
    assert (row["job_id"], row["attempt"], row["rank"]) == ("1006", 0, 0)
    # The event in which the file ends is an event too.
    assert row["event_count"] == len(kept) + 1
    assert row["gpu_count"] == gpu_events(kept) > 0
    assert row["reject_count"] == 1
    kernels = published.rows("select count(*) as n from trace_kernel")
    assert kernels[0]["n"] == row["gpu_count"]
    for step in published.rows("select * from step_breakdown"):
        assert step["step_ns"] == sum(step[f"{part}_ns"] for part in PARTS)


def test_what_a_cut_trace_says_of_the_job_is_not_taken_for_measured(
    bare: Path, recorded_trace: Callable[[str], Path]
) -> None:
    """Rows are not in order of time: a file that lost kernels still has its steps."""
    text = gzip.decompress(recorded_trace("1006").read_bytes())
    put(bare, "1006", "cut", gzip.compress(text[: len(text) * 6 // 10]))
    published, _ = built(bare)
    parts = in_step(published, "1006")
    # What was lost would read as gaps: the counters speak for the job, as without a trace.
    assert {part["method_id"] for part in parts.values()} == {"in_step_engine_share"}
    total = sum(int(part["ns"]) for part in parts.values())
    assert int(parts["compute"]["ns"]) > 0.95 * total
    assert published.rows("select * from step_breakdown where job_id = '1006'") == []
    (file,) = published.rows("select is_truncated, gpu_count from trace_file where job_id = '1006'")
    assert file["is_truncated"]
    assert file["gpu_count"] == 44


def test_a_trace_made_whole_again_takes_the_cut_ones_place(
    bare: Path, recorded_trace: Callable[[str], Path], recorded: tuple[Published, object, object]
) -> None:
    whole = recorded_trace("1006").read_bytes()
    put(bare, "1006", "again", whole[: len(whole) // 2])
    built(bare)
    put(bare, "1006", "again", whole)
    published, outcome = built(bare)
    assert published.rows("select * from reject") == []
    assert outcome.landed.rejects == 0
    steps = published.rows(STEPS)
    assert len(steps) == 3
    assert steps == recorded[0].rows(STEPS)


def test_a_bad_event_is_a_reject_and_the_rest_counts(
    bare: Path, recorded_trace: Callable[[str], Path]
) -> None:
    text = gzip.decompress(recorded_trace("1006").read_bytes())
    events = len(json.loads(text)["traceEvents"])
    kernels = [m.start() for m in re.finditer(rb'"cat": "kernel"', text)]
    assert len(kernels) == 63
    # A quote inside a name, as some tools write it, and a length below zero.
    at = text.index(b'"name": "', kernels[-1]) + len(b'"name": "')
    text = text[:at] + b'a "quoted" ' + text[at:]
    at = text.index(b'"dur": ', kernels[5]) + len(b'"dur": ')
    text = text[:at] + b"-" + text[at:]
    put(bare, "1006", "bad", gzip.compress(text))
    published, outcome = built(bare)
    assert outcome.landed.rejects == 2
    rejects = published.rows("select * from reject")
    assert len({row["position"] for row in rejects}) == 2
    [row] = published.rows("select * from trace_file")
    assert (row["event_count"], row["reject_count"]) == (events, 2)
    assert not row["is_truncated"]
    assert row["gpu_count"] == 69 - 2
    [lost] = published.rows("select sum(compute_ns) as ns from step_breakdown")
    assert 0.9 * 303_066_000 < float(lost["ns"]) <= 303_066_000


def test_a_copy_of_a_trace_counts_once(
    bare: Path, recorded_trace: Callable[[str], Path], recorded: tuple[Published, object, object]
) -> None:
    whole = recorded_trace("1006").read_bytes()
    put(bare, "1006", "first", whole)
    put(bare, "1006", "second", gzip.compress(gzip.decompress(whole)))
    published, _ = built(bare)
    [row] = published.rows("select * from trace_file")
    assert row["copy_count"] == 2
    assert published.rows(STEPS) == recorded[0].rows(STEPS)
    query = "select * from kernel_cost where job_id = '1006' order by all"
    assert published.rows(query) == recorded[0].rows(query)


def test_an_empty_trace_or_one_of_no_job_is_seen_and_changes_nothing(
    bare: Path, recorded_trace: Callable[[str], Path]
) -> None:
    without, _ = built(bare)
    query = "select * from gpu_hour_state order by all"
    before = without.rows(query)
    put(bare, "1006", "empty", b"")
    folder = bare / ONE / "job_9999" / "kineto"
    folder.mkdir(parents=True)
    shutil.copy(recorded_trace("1006"), folder / "stray.pt.trace.json.gz")
    published, outcome = built(bare)
    assert outcome.landed.rejects == 1
    [row] = published.rows("select * from trace_file")
    assert (row["job_id"], row["found_by"], row["gpu_uuid"]) == (None, "unmatched", None)
    assert published.rows("select * from step_breakdown") == []
    assert published.rows(query) == before


def test_a_job_without_a_trace_has_no_invented_parts(
    bare: Path, recorded_trace: Callable[[str], Path]
) -> None:
    put(bare, "1006", "only", recorded_trace("1006").read_bytes())
    published, _ = built(bare)
    rows = published.rows(
        """
        select job_id, bucket, evidence_grade from gpu_hour_state
        where level1 = 'in_step' group by all
        """
    )
    for row in rows:
        if row["job_id"] == "1006":
            assert row["evidence_grade"] == "E3"
            continue
        assert row["evidence_grade"] in ("E1", "E2")
        busy = "busy_unsplit" if row["job_id"] in ("2001", "2002", "2003") else "compute"
        assert row["bucket"] in (busy, "gap_unknown", "step_unsplit")
    kernels = published.rows("select distinct job_id, kernel_family, module, op from kernel_cost")
    others = [row for row in kernels if row["job_id"] != "1006"]
    assert len({row["job_id"] for row in others}) == 14
    assert {(row["kernel_family"], row["module"], row["op"]) for row in others} == {
        ("(not traced)", None, None)
    }  # fmt: skip
    split = published.rows("select distinct job_id, part from compute_split")
    assert {row["part"] for row in split if row["job_id"] != "1006"} == {"unsplit"}
