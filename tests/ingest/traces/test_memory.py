"""Memory stays bounded, whatever a trace's size: measured in a process of its own."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """bench/kineto.py, which makes the input and measures."""
    spec = importlib.util.spec_from_file_location("bench_kineto", ROOT / "bench" / "kineto.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(bench: ModuleType, tmp_path: Path) -> None:
    (recorded,) = sorted(bench.RECORDED.glob("*rank0*.json.gz"))
    peaks = {}
    for mb in (25, 100):
        path = tmp_path / f"{mb}.json.gz"
        size, _ = bench.repeated(recorded, path, mb * 1_000_000)
        assert size >= mb * 1_000_000
        found = bench.measured("land", path)
        assert found["events"] > 3000 * mb
        peaks[mb] = found["rss_mb"]
    assert peaks[100] <= 350
    assert peaks[100] <= peaks[25] + 60
