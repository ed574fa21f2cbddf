"""The seeds of GPUs agree: each model with a peak has a bandwidth, each format its place."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

#: Number formats that ops are counted in, and TF32, which only a kernel's name tells.
FORMATS = {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"}


def rows(root: Path, seed: str) -> list[dict[str, str]]:
    """A seed's rows by column name."""
    lines = (root / "models" / "seeds" / f"{seed}.csv").read_text().splitlines()
    text = [line for line in lines if not line.startswith("#")]
    names = [cell.partition(":")[0] for cell in text[0].split(",")]
    return [dict(zip(names, cells, strict=True)) for cells in csv.reader(text[1:])]


def test_each_gpu_has_peaks_in_order_and_one_bandwidth(root: Path) -> None:
    peaks: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows(root, "gpu_peak"):
        assert row["dtype"] in FORMATS
        assert row["dtype"] not in peaks[row["gpu_model"]]
        peaks[row["gpu_model"]][row["dtype"]] = int(row["peak_flop_s"])
    bandwidth = {row["gpu_model"]: int(row["bytes_per_s"]) for row in rows(root, "gpu_memory")}
    assert len(rows(root, "gpu_memory")) == len(bandwidth)
    assert bandwidth.keys() == peaks.keys()
    for model, by_format in peaks.items():
        assert by_format["fp32"] < by_format["tf32"] < by_format["bf16"] == by_format["fp16"]
        assert by_format["int8"] >= 2 * by_format["bf16"] - 10**12
        # Dense figures: a figure with sparsity would make the ridge twice as high.
        assert 140 <= by_format["bf16"] / bandwidth[model] <= 430, model


def test_hopper_has_every_format(root: Path) -> None:
    found = defaultdict(set)
    for row in rows(root, "gpu_peak"):
        found[row["gpu_model"]].add(row["dtype"])
    for model in ("NVIDIA H200", "NVIDIA H100 80GB HBM3"):
        assert found[model] == FORMATS
    assert found["NVIDIA A100-SXM4-80GB"] == FORMATS - {"fp8"}
