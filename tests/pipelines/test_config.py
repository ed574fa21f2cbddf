"""plumbline.toml: what may not stand in it is said, with what to write instead."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from ingest.registry import KINDS
from pipelines.config import MFU_DTYPES, Config, load_config
from warehouse.contracts import SourceFile
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


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            'kind = "sacct"\nfiles = ["a"]\ntime_zone = "UTC"',
            r"number 1: sacct: unknown option 'time_zone' \(did you mean 'timezone'\?\); this kind "
            "of source has delimiter, timezone, hash_users, gpus_tracked, kind, name, files",
        ),
        ('kind = "sacct"\nfiles = ["a"]\ntimezone = "Mars"', "number 1: .*no IANA time zone"),
        ('kind = "sacct"\nfiles = ["a"]\ndelimiter = ""', "delimiter = '' is no text"),
        ('kind = "sacct"\nfile = ["a"]', "files is missing"),
        ('kind = "scontrol_job"\nfiles = ["a"]', "needs cluster ="),
        ('kind = "sacctmgr_event"\nfiles = ["a"]\nprovider_reasons = ["("]', "no regular expres"),
        ('kind = "nvml_csv"\nfiles = ["a"]', "needs the GPU that a file speaks for"),
        ('kind = "nsys"\nfiles = ["a"]\nstep = 5', "step is 5; expected a regular expression"),
        ('kind = "kineto"\nfiles = ["a"]\npattern = "{node}"', r"has the mark \{node\}; expected"),
        ('kind = "step_log"\nfiles = ["a"]\ncluster = "CLUSTER"', "cluster is still 'CLUSTER'"),
        ('kind = "sact"\nfiles = ["a"]', r"kind is 'sact' \(did you mean 'sacct'\?\); kinds are"),
    ],
)
def test_what_a_source_cannot_be_is_said_when_it_is_loaded(
    tmp_path: Path, source: str, message: str
) -> None:
    """No file is there: nobody waits for a run to learn of it."""
    path = tmp_path / "plumbline.toml"
    path.write_text(f'[warehouse]\nroot = "out"\n[[source]]\n{source}\n')
    with pytest.raises(ConfigError, match=message) as error:
        load_config(path)
    assert str(error.value).startswith(f"{path} [[source]] number 1")


def test_every_kind_says_its_options() -> None:
    for kind in KINDS.values():
        source = SourceFile("", "", "s", "c1", None, {"no_such_option": 1})
        with pytest.raises(ConfigError, match="unknown option 'no_such_option'"):
            kind.check(source)
        assert all(kind.options.values())


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
