"""What the sampler costs and reads beside a known load, on a host with a GPU and PyTorch.

    python bench/sampler.py OUT [--seconds 12]

Phases of so many seconds each: an idle context, one block that spins (1 of the SMs), large bf16
matrix products, copies within the GPU's memory, idle again. Two samplers run beside them, at 1 Hz
and at 10 Hz, each a process of its own, which says what it cost. OUT gets their files and
phases.csv: phase, start and end in epoch ns.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

_SAMPLER = """
import json, os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from ingest.counters.sampler import sample
def stop(*_): raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
start, before = time.monotonic(), os.times()
try:
    sample(Path(sys.argv[2]), period_s=float(sys.argv[3]), node="gpu-node-2")
except KeyboardInterrupt:
    pass
now = os.times()
peak = [l for l in open("/proc/self/status") if l.startswith("VmHWM")]
print(json.dumps({"period_s": float(sys.argv[3]), "wall_s": time.monotonic() - start,
    "cpu_s": now.user + now.system - before.user - before.system, "peak": peak}))
"""


def main() -> None:
    """Run the phases and print what the samplers cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=12)
    args = parser.parse_args()
    samplers = [
        subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _SAMPLER, str(REPO), str(args.out / name), str(period)],
            stdout=subprocess.PIPE, text=True,
        )
        for name, period in (("1hz", 1.0), ("10hz", 0.1))
    ]  # fmt: skip
    try:
        phases = _load(args.seconds)
    finally:
        for process in samplers:
            process.send_signal(signal.SIGTERM)
    for process in samplers:
        found = json.loads(process.communicate(timeout=30)[0])
        print(f"{1 / found['period_s']:.0f} Hz: {found['cpu_s']:.2f} s of CPU in "
              f"{found['wall_s']:.1f} s: {found['cpu_s'] / found['wall_s']:.2%} of a core; "
              f"{found['peak']}")  # fmt: skip
    text = "".join(f"{name},{start},{end}\n" for name, start, end in phases)
    (args.out / "phases.csv").write_text("phase,start_ns,end_ns\n" + text)


def _load(seconds: float) -> list[tuple[str, int, int]]:
    import torch

    device = torch.device("cuda")
    a = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    b, c = torch.randn_like(a), torch.empty_like(a)
    large = torch.empty(2 * 1024**3, device=device, dtype=torch.float32)
    half = large.numel() // 2
    works = {
        "idle": lambda: time.sleep(0.2),
        "spin": lambda: torch.cuda._sleep(200_000_000),
        "matmul": lambda: [torch.mm(a, b, out=c) for _ in range(20)],
        "copy": lambda: [large[:half].copy_(large[half:]) for _ in range(5)],
        "idle again": lambda: time.sleep(0.2),
    }
    phases = []
    for name, work in works.items():
        work()
        torch.cuda.synchronize()
        start = time.time_ns()
        while time.time_ns() - start < seconds * 1e9:
            work()
            torch.cuda.synchronize()
        phases.append((name, start, time.time_ns()))
        print(name, os.getpid(), flush=True)
    return phases


if __name__ == "__main__":
    main()
