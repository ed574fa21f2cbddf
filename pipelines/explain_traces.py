"""Behind a bucket inside steps: traced steps, kernels, stragglers and the trace files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from pipelines.cells import attempt, dollars, job, more
from pipelines.published import Published, Row, Value
from pipelines.terminal import gpu, milliseconds, moment, percent, ratio, safe, seconds, table


def traced(
    published: Published, bucket: str, keys: dict[str, Value], *, top: int, places: int
) -> Iterator[RenderableType]:
    """What the traces of a bucket's attempts show, as tables of `top` rows at most.

    `keys` are the month, the team and the bucket; `places` the decimals of dollars.
    """
    files = published.ask("explain_traces", **keys, top=top)
    kernels = published.ask("explain_kernels", **keys, top=top)
    if not files:
        yield Text(
            "None of its jobs was traced: what the GPUs did inside steps is known as far as "
            "counters tell. `plumbline doctor` says how to take traces."
        )
        return
    yield from _unfit(files)
    yield from _steps(published.ask("explain_steps", **keys, top=top), bucket, top)
    if kernels:
        yield from _kernels(kernels, top, places)
    month, team = keys["month"], keys["team"]
    if bucket == "compute":
        yield _compute(published.ask("explain_compute", month=month, team=team), places)
    if bucket == "comm_wait":
        late = published.ask("explain_stragglers", month=month, team=team, top=top)
        yield from _stragglers(late, top, places)
    yield from _files(files, top)


def _unfit(files: Sequence[Row]) -> Iterator[Text]:
    unfit = sorted({str(attempt(row)) for row in files if row["unfit"]})
    if unfit:
        yield Text(
            f"Unfit: {safe(', '.join(unfit))}. The traced steps do not fit the other steps of the "
            "job, so its parts inside steps are estimates between nothing and all of that time.",
            style="yellow",
        )


def _steps(rows: Sequence[Row], bucket: str, top: int) -> Iterator[RenderableType]:
    if not rows:
        yield Text(f"No traced step has time in {safe(bucket)}.")
        return
    lines = [
        (
            job(row), row["attempt"], row["rank"], gpu(row["gpu_uuid"]), row["step"],
            moment(row["start_ns"]),
            milliseconds(row["step_ns"]), milliseconds(row["bucket_ns"]),
            percent(row["bucket_ns"] / row["step_ns"]),
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "The steps that were traced (step_breakdown)",
        ("job", ">att", ">rank", "GPU", ">step", "from (UTC)", ">step ms", f">{bucket} ms", ">%"),
        lines,
    )
    yield from more(rows, top)


def _kernels(rows: Sequence[Row], top: int, places: int) -> Iterator[RenderableType]:
    # Collectives and copies have no roofline.
    has_roofline = any(row["bound"] is not None for row in rows)
    roofline = ("bound", "limiter", ">% of roofline") if has_roofline else ()
    lines = [
        (
            job(row), row["module"], row["op"], row["kernel_family"], _count(row["traced_calls"]),
            _count(row["calls"]), seconds(row["gpu_ns"]), dollars(row["direct_usd"], places),
            dollars(row["loaded_usd"], places),
            *((row["bound"], row["limiter"], percent(row["achieved_ratio"])) if roofline else ()),
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "The kernels that it falls on (kernel_cost; loaded: with a part of the job's other time)",
        ("job", "module", "op", "kernel family", ">traced", ">calls", ">GPU-s", ">billed USD",
         ">loaded USD", *roofline),
        lines,
    )  # fmt: skip
    yield from more(rows, top)


def _compute(rows: Sequence[Row], places: int) -> RenderableType:
    lines = [
        (
            row["part"], seconds(row["gpu_ns"]),
            percent(row["gpu_ns"] / row["compute_ns"] if row["compute_ns"] else None),
            dollars(row["billed_usd"], places), row["method_id"],
        )
        for row in rows
    ]  # fmt: skip
    return table(
        "What the computing was for (compute_split; a shortfall inside kernels is no waste)",
        ("part", ">GPU-s", ">%", ">billed USD", "method"),
        lines,
    )


def _stragglers(rows: Sequence[Row], top: int, places: int) -> Iterator[RenderableType]:
    lines = [
        (
            job(row), row["attempt"], row["rank"], gpu(row["gpu_uuid"]), row["node"],
            seconds(row["wait_caused_gpu_ns"]), dollars(row["wait_caused_usd"], places),
            ratio(row["slowdown_ratio"]),
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "Whom the others waited for (straggler_rank: the same time again, by its cause)",
        ("job", ">att", ">rank", "GPU", "node", ">others waited GPU-s", ">billed USD",
         ">own step / others'"),
        lines,
    )  # fmt: skip
    yield from more(rows, top)


def _files(rows: Sequence[Row], top: int) -> Iterator[RenderableType]:
    lines = [
        (
            job(row), row["attempt"], row["rank"], row["found_by"], f"{row['step_count']:,}",
            percent(row["launch_linked_ratio"]), percent(row["op_linked_ratio"]),
            percent(row["module_linked_ratio"]), percent(row["collective_matched_ratio"]),
            ratio(row["traced_step_ratio"]), _fits(row), remarks(row), row["source_file"],
        )
        for row in rows
    ]  # fmt: skip
    yield table(
        "The traces (trace_file; %: GPU work whose launch, op, module is known; whole collectives)",
        ("job", ">att", ">rank", "found by", ">steps", ">% launch", ">% op", ">% module",
         ">% coll.", ">traced / normal", "fits", "remarks", "file"),
        lines,
    )  # fmt: skip
    yield from more(rows, top)


def remarks(row: Row) -> str:
    """What is odd about a trace file, '' where nothing is."""
    graphs, rejects, copies = row["graph_count"], row["reject_count"], row["copy_count"]
    said = {
        "file and path name two jobs or ranks": row["is_job_clash"],
        "its host is no node of the job": row["is_host_clash"],
        "not wholly inside the attempt": row["is_clock_ok"] is False,
        "cut": row["is_truncated"],
        f"{rejects:,} rejects": rejects,
        f"{graphs:,} replayed by graphs": graphs,
        f"{copies:,} copies": copies > 1,
    }
    return "; ".join(text for text, holds in said.items() if holds)


def _fits(row: Row) -> str | None:
    return None if row["unfit"] is None else ("no" if row["unfit"] else "yes")


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"
