"""Real Prometheus and VictoriaMetrics servers on loopback, with samples that are known."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

#: (name, labels in braces, epoch ms, value)
Seeded = Sequence[tuple[str, str, int, float]]


def needed(*programs: str) -> None:
    """Skip where a server is not installed (Debian: prometheus, victoria-metrics)."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"no {program}")


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


@contextmanager
def running(command: list[str], ready: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server until the block ends; it answers at `ready` before the block begins."""
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        _wait(ready, process, folder)
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(20)


def _wait(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError((folder / "server.log").read_text()[-2000:])


def seed_prometheus(folder: Path, seeded: Seeded) -> None:
    """Write the samples as blocks of a Prometheus."""
    # OpenMetrics wants the samples of a metric together, and seconds.
    lines = [
        f"{name}{labels} {value!r} {ms // 1000}.{ms % 1000:03d}"
        for name, labels, ms, value in sorted(seeded)
    ]
    text = folder / "seed.om"
    text.write_text("\n".join(lines) + "\n# EOF\n")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "data")],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


@contextmanager
def prometheus(folder: Path, *flags: str, port: int | None = None) -> Iterator[str]:
    """A Prometheus over the blocks that were seeded in the folder; its address."""
    port = port or free_port()
    (folder / "prometheus.yml").write_text("global: {}\n")
    address = f"http://127.0.0.1:{port}"
    command = [
        "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
        "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", *flags,
    ]  # fmt: skip
    with running(command, f"{address}/-/ready", folder):
        yield address


@contextmanager
def victoria_metrics(folder: Path, seeded: Seeded) -> Iterator[str]:
    """A VictoriaMetrics that has imported the samples; its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [
        "victoria-metrics", f"-httpListenAddr=127.0.0.1:{port}",
        f"-storageDataPath={folder / 'vm'}", "-retentionPeriod=100y",
    ]  # fmt: skip
    with running(command, f"{address}/health", folder):
        body = "\n".join(f"{n}{labels} {v!r} {ms}" for n, labels, ms, v in seeded).encode()
        for url, data in ((f"{address}/api/v1/import/prometheus", body),
                          (f"{address}/internal/force_flush", b"")):  # fmt: skip
            with urllib.request.urlopen(url, data=data, timeout=30) as answer:
                assert answer.status in (200, 204)
        yield address
