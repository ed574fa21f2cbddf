"""plumbline.toml: what may not stand in it is said, with what to write instead."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from pipelines.config import MFU_DTYPES, Config, load_config
from warehouse.errors import ConfigError


def load(
    folder: Path, *, settings: str = "", warehouse: str = "", source: str = 'files = ["b.csv"]'
) -> Config:
    path = folder / "plumbline.toml"
    path.write_text(
        f'[warehouse]\nroot = "out"\n{warehouse}\n[settings]\n{settings}\n'
        f'[[source]]\nkind = "focus_csv"\n{source}\n'
    )
    return load_config(path)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("idle_after_s = 1e30", r"idle_after_s: is 1E\+30; write a number up to 1000000000\."),
        ("idle_after_s = 1e999999999", "idle_after_s: .* up to 1000000000"),
        ("memory_held_gib = 1e12", "memory_held_gib: .* up to 931322574"),
        ("energy_usd_per_kwh = 1e20", "energy_usd_per_kwh: .* up to 1000000"),
        ("idle_after_s = -1", "idle_after_s: is -1; expected a number"),
        ("idle_after_s = true", "idle_after_s: is true; expected a number"),
        ("mfu_dtype = 7", 'mfu_dtype: is 7; write one of "bf16", "fp16"'),
        ('mfu_dtype = "fp99"', "mfu_dtype: is 'fp99'; write one of"),
        ('mfu_dtype = ["bf16"]', "mfu_dtype: is .*; write one of"),
    ],
)
def test_a_bad_setting(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, settings=setting)


@pytest.mark.parametrize("value", ['"x"', "true", "0", "-1", "2.0", "10000000000000000000000"])
def test_bad_threads(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"threads is .*; write a whole number from 1 to 4096"):
        load(tmp_path, warehouse=f"threads = {value}")


@pytest.mark.parametrize("value", ["3", "true", '""', '["3GB"]'])
def test_a_memory_limit_that_is_no_text(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r'memory_limit is .*; .*`memory_limit = "3GB"`'):
        load(tmp_path, warehouse=f"memory_limit = {value}")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('files = ["b.csv"]\ncluster = 5', r"\(focus_csv\): cluster is 5; .*`cluster = "),
        ('files = ["b.csv"]\ncluster = ""', "cluster is ''; write text"),
        ('files = ["b.csv"]\nname = 5', "number 1: name is 5; .*`name = "),
        ('files = [""]', r"files is \[''\]; write `files = \["),
        ('files = ["."]', "files is .*; write"),
        ('files = ["/"]', "files is .*; write"),
        ("files = []", "files is .*; write"),
        ("files = 5", "files is 5; write"),
        ("", "files is missing; write"),
    ],
)
def test_a_bad_source(tmp_path: Path, source: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, source=source)


def test_a_kind_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    path.write_text('[warehouse]\nroot = "out"\n[[source]]\nkind = ["a"]\nfiles = ["a"]\n')
    with pytest.raises(ConfigError, match="kinds are"):
        load_config(path)


@pytest.mark.parametrize("value", ["5", '"2026-11-01"', "2026-11-01T00:00:00Z", "true"])
def test_a_first_day_that_is_no_day(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"first_day is .*; write a day without quotes"):
        load(tmp_path, warehouse=f"first_day = {value}")


def test_what_is_good_is_taken(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        settings='idle_after_s = 1e9\nmfu_dtype = "fp8"\nenergy_usd_per_kwh = 0.36',
        warehouse='threads = 2\nmemory_limit = "1GB"\nfirst_day = 2026-11-01\nreports = "r"',
        source='name = "aws"\ncluster = "c1"\nfiles = ["bill/*.csv"]',
    )
    assert (config.threads, config.memory_limit) == (2, "1GB")
    assert (config.first_day, config.reports) == (date(2026, 11, 1), str(tmp_path / "r"))
    assert config.settings["idle_after_ns"] == 10**18
    assert config.settings["mfu_dtype"] == "fp8"
    assert (config.sources[0].name, config.sources[0].cluster) == ("aws", "c1")


def test_every_number_format_with_a_known_peak_may_be_named(root: Path) -> None:
    seed = (root / "models" / "seeds" / "gpu_peak.csv").read_text().splitlines()
    rows = [line.split(",") for line in seed if not line.startswith("#")][1:]
    assert {row[1] for row in rows} == set(MFU_DTYPES)
