"""A job of two ranks that fits on one screen, with traces: rank 1 loads data while rank 0 waits.

Job 7 of the mini cluster (tests/pipelines/command.py) logs twenty steps of one second per rank, ten
seconds after its start; three of them are traced. A second of rank 0 is 0.3 s of a matrix product,
0.5 s of waiting inside a collective, 0.1 s of the collective itself and 0.1 s of nothing; of rank 1
0.5 s of `load_batch`, the same product, the same collective, and nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.pipelines.command import CONFIG, cluster

#: 10:00:10 UTC on the day of the mini cluster, in nanoseconds: the first step begins.
FIRST_NS = 1794304810_000_000_000
TRACED = (10, 11, 12)
MATMUL = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
COLLECTIVE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

SOURCES = """
[[source]]
kind = "kineto"
name = "traces"
cluster = "c1"
files = ["traces/**/*.json"]
pattern = ["job_{job_id}/rank{rank}*.json", "job_{job_id}/*.json"]

[[source]]
kind = "step_log"
name = "steps"
cluster = "c1"
files = ["steps_*.jsonl"]
pattern = "steps_{rank}.jsonl"
"""

Event = dict[str, Any]


def traced(
    folder: Path, *, ranks: Iterable[int] = (0, 1), matmul: str = MATMUL, module: str = "",
    **parts: Any,
) -> Path:  # fmt: skip
    """Write the mini cluster with the traces of these ranks; the path of its configuration."""
    path = cluster(folder, config=parts.pop("config", CONFIG + SOURCES), **parts)
    for rank in (0, 1):
        steps = [
            {"job_id": "7", "attempt": 0, "step": n, "start_ns": FIRST_NS + n * 10**9,
             "end_ns": FIRST_NS + (n + 1) * 10**9}
            for n in range(20)
        ]  # fmt: skip
        lines = "".join(json.dumps(step) + "\n" for step in steps)
        (folder / f"steps_{rank}.jsonl").write_text(lines)
    for rank in ranks:
        put(folder, f"job_7/rank{rank}.json", trace(rank, matmul=matmul, module=module))
    return path


def put(folder: Path, name: str, content: dict[str, Any] | str) -> None:
    """Write a trace below traces/."""
    path = folder / "traces" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def trace(
    rank: int = 0, *, steps: Iterable[int] = TRACED, at_ns: int = FIRST_NS, host: str = "n1",
    matmul: str = MATMUL, module: str = "", has_ops: bool = True, **metadata: Any,
) -> dict[str, Any]:  # fmt: skip
    """A trace of one rank; `module` is what python frames name, `metadata` stands at its head."""
    events: list[Event] = []
    for step in steps:
        at = 1 + (step - min(steps)) * 1_000_000
        events += _step(rank, step, at, matmul, module, has_ops=has_ops)
    base = at_ns + min(steps, default=0) * 10**9 - 1000
    return {
        "schemaVersion": 1, "host_name": host, "baseTimeNanoseconds": base, **metadata,
        "traceEvents": events,
    }  # fmt: skip


def _step(
    rank: int, step: int, at: int, matmul: str, module: str, *, has_ops: bool
) -> Iterable[Event]:
    """One second, from `at` microseconds after the base."""
    late = 500_000 * rank
    product, collective = step * 10 + 1, step * 10 + 2
    yield _host("user_annotation", f"ProfilerStep#{step - 8}", at, 1_000_000)
    if late:
        yield _host("user_annotation", "load_batch", at, late)
    if module:
        yield _host("python_function", f"nn.Module: {module}_0", at + late, 40)
    if has_ops:
        yield _host("cpu_op", "aten::mm", at + late, 30, {
            "External id": product, "Input Dims": [[512, 512], [512, 512]],
            "Input type": ["c10::BFloat16", "c10::BFloat16"],
        })  # fmt: skip
    yield _host("cuda_runtime", "cudaLaunchKernel", at + late, 10, {"correlation": product})
    yield _gpu(matmul, at + late, 300_000, product, {})
    begin = at + late + 300_000
    if has_ops:
        yield _host("cpu_op", "record_param_comms", begin, 30, {"External id": collective})
    yield _host("cuda_runtime", "cudaLaunchKernel", begin, 10, {"correlation": collective})
    yield _gpu(COLLECTIVE, begin, at + 900_000 - begin, collective, {
        "Collective name": "allreduce", "Process Group Name": "0",
        "Process Group Ranks": "[0, 1]", "Group size": 2, "Seq": step, "In msg nelems": 1024,
    })  # fmt: skip


def _host(cat: str, name: str, ts: int, dur: int, args: Event | None = None) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args or {}}  # fmt: skip


def _gpu(name: str, ts: int, dur: int, correlation: int, args: Event) -> Event:
    args = {"device": 0, "stream": 7, "correlation": correlation, "External id": correlation,
            "grid": [1, 1, 1], "block": [128, 1, 1], **args}  # fmt: skip
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip
