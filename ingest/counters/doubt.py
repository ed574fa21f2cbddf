"""Readings that are in range and cannot be true: a dead collector must never look like waste.

- *stale*: the energy counter stands still. A GPU that is on draws power, so what is delivered is
  old: the host engine hangs and its last values are repeated (dcgm-exporter#164).
- *contradiction*: the engine is exactly 0 while GPU-Util says that kernels run. The profiling
  counters are stuck (dcgm-exporter#662, DCGM#303), GPU-Util is not: all of them are no reading.

Both count from a minute on: around a change of work GPU-Util looks back, and energy has steps.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ingest.counters.fields import BY_COLUMN, FIELDS
from ingest.rows import Rejects, time_of_ns

#: Shorter runs are not judged, nor are less than three samples.
LEAST_MS, LEAST_COUNT = 60_000, 3
#: GPU-Util from which on kernels surely run.
WORKS_RATIO = 0.5
#: The profiling module's fields, which fail together.
PROFILING = tuple(f.column for f in FIELDS.values() if 1001 <= f.dcgm_id <= 1012)
EVERYTHING = tuple(f.column for f in FIELDS.values())


class Doubt(NamedTuple):
    """A run of samples of one GPU that were not believed: its number, times (epoch ms), reason."""

    code: int
    start_ms: int
    end_ms: int
    reason: str


def tell(rejects: Rejects, gpu_uuid: str, doubt: Doubt) -> None:
    """Make a reject of a run of samples that was not believed."""
    start, end = (
        time_of_ns(ms * 1_000_000).isoformat(timespec="seconds").replace("+00:00", "Z")
        for ms in (doubt.start_ms, doubt.end_ms)
    )
    reason = f"{doubt.reason}; these samples are no readings"
    rejects.put(f"{gpu_uuid}, {start} to {end}", reason, "")


def disbelieve(
    codes: pa.Array, ms: pa.Array, columns: dict[str, pa.Array], mask: pa.Array
) -> tuple[pa.Array, list[Doubt]]:
    """Make null, in `columns`, what cannot be true; the new mask, and what was not believed.

    Rows are in the order of GPU and time.
    """
    found: list[Doubt] = []
    if "energy_mj" in columns:
        is_stale, runs = _runs(codes, ms, _stands_still(codes, columns["energy_mj"]))
        mask = _erase(columns, mask, is_stale, EVERYTHING)
        found += [Doubt(*run, "the energy counter stands still: old values are repeated")
                  for run in runs]  # fmt: skip
    if "engine_active_ratio" in columns and "gpu_util_ratio" in columns:
        stuck = pc.and_(
            pc.equal(columns["engine_active_ratio"], 0.0),
            pc.greater_equal(columns["gpu_util_ratio"], WORKS_RATIO),
        )
        is_stuck, runs = _runs(codes, ms, pc.fill_null(stuck, False))
        mask = _erase(columns, mask, is_stuck, PROFILING)
        found += [Doubt(*run, "engine activity is 0 while GPU-Util says that kernels run: the "
                              "profiling counters are stuck") for run in runs]  # fmt: skip
    return mask, found


def _stands_still(codes: pa.Array, energy: pa.Array) -> pa.Array:
    """True where a sample has the energy of the one before it of the same GPU."""
    same = pc.and_(pc.equal(codes[1:], codes[:-1]), pc.equal(energy[1:], energy[:-1]))
    return pa.concat_arrays([pa.array([False]), pc.fill_null(same, False)])


def _runs(
    codes: pa.Array, ms: pa.Array, suspect: pa.Array
) -> tuple[pa.Array, list[tuple[int, int, int]]]:
    """Which samples lie in a run of suspects that is long enough, and those runs."""
    at = pc.indices_nonzero(suspect)
    if not len(at):
        return suspect, []
    at = at.cast(pa.int64())
    own, times = codes.take(at), ms.take(at)
    follows = pc.and_(pc.equal(pc.subtract(at[1:], at[:-1]), 1), pc.equal(own[1:], own[:-1]))
    starts = pa.concat_arrays([pa.array([1]), pc.invert(follows).cast(pa.int64())])
    run = pc.cumulative_sum(starts)
    runs = pa.table({"run": run, "code": own, "ms": times}).group_by(
        "run", use_threads=False
    ).aggregate([("code", "min"), ("ms", "min"), ("ms", "max"), ("ms", "count")]).filter(
        (pc.field("ms_count") >= LEAST_COUNT)
        & (pc.field("ms_max") - pc.field("ms_min") >= LEAST_MS)
    )  # fmt: skip
    kept = at.filter(pc.is_in(run, value_set=runs["run"].combine_chunks()))
    flags = pc.is_in(pa.array(range(len(codes)), pa.int64()), value_set=kept)
    rows = zip(*(runs[name].to_pylist() for name in ("code_min", "ms_min", "ms_max")), strict=True)
    return flags, sorted(rows)


def _erase(
    columns: dict[str, pa.Array], mask: pa.Array, flags: pa.Array, names: tuple[str, ...]
) -> pa.Array:
    """Make the flagged readings of these columns null, with their bits set."""
    for name in names:
        if name in columns:
            lost = pc.and_(flags, pc.is_valid(columns[name]))
            bits = pc.if_else(lost, BY_COLUMN[name].bit, 0).cast(pa.int64())
            mask = pc.bit_wise_or(mask, bits)
            null = pa.scalar(None, columns[name].type)
            columns[name] = pc.if_else(lost, null, columns[name])
    return mask
