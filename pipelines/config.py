"""plumbline.toml: where it is found, what may stand in it, and its meaning in models' units."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from ingest import policy
from pipelines.sources import Source, read_sources, until_written
from pipelines.toml_values import no_placeholder, only, shown, table, tables, text
from reports.folder import is_uri
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError

FILE_NAME = "plumbline.toml"
_WAREHOUSE = {"root", "memory_limit", "threads", "first_day", "reports"}

#: Settings as people write them: the run_setting column that each fills, and its factor.
SETTINGS: dict[str, tuple[str, Decimal]] = {
    "idle_after_s": ("idle_after_ns", Decimal(10**9)),
    "startup_allowance_s": ("startup_allowance_ns", Decimal(10**9)),
    "sustained_work_s": ("sustained_work_ns", Decimal(10**9)),
    "engine_idle_ratio": ("engine_idle_ppm", Decimal(10**6)),
    "pcie_quiet_mib_s": ("pcie_quiet_bytes_s", Decimal(1024**2)),
    "nvlink_quiet_mib_s": ("nvlink_quiet_bytes_s", Decimal(1024**2)),
    "memory_held_gib": ("memory_held_bytes", Decimal(1024**3)),
}
_MJ_PER_KWH = Decimal(3_600_000_000)
#: Number formats whose peak is known (models/seeds/gpu_peak.csv).
MFU_DTYPES = ("bf16", "fp16", "fp8", "int8", "tf32", "fp32", "fp64")
#: No setting is larger in its column's unit: sums and products with times stay in 64 bits.
_LARGEST = Decimal(10**18)
_LARGEST_USD_PER_KWH = Decimal(10**6)
_MOST_THREADS = 4096


@dataclass(frozen=True)
class Config:
    """A whole configuration. `folder` is where relative paths start, `root` the warehouse.

    `first_day` is where the scheduler's months begin, None where the configuration leaves it to
    what has landed. `reports` is the folder, or the object store's URI, of the scheduler's
    reports; None is a folder below `root`.
    """

    path: Path
    folder: Path
    root: Path
    sources: tuple[Source, ...]
    policies: tuple[dict[str, object], ...]
    settings: dict[str, int | str | Decimal | None]
    memory_limit: str = "3GB"
    threads: int | None = None
    first_day: date | None = None
    reports: str | None = None

    def files(self, source: Source) -> list[SourceFile]:
        """The files of a source that are there now, sorted by name."""
        found: set[Path] = set()
        for pattern in source.patterns:
            path = Path(pattern)
            if path.is_absolute():
                found.update(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
            else:
                found.update(self.folder.glob(pattern))
        return [
            SourceFile(
                str(path), self._name(path), source.name, source.cluster,
                until_written(source.covers, path), dict(source.options),
            )
            for path in sorted(found)
            if path.is_file()
        ]  # fmt: skip

    def why_none(self, source: Source) -> str:
        """What to say of a source of which no file is there."""
        for pattern in source.patterns:
            if (self.folder / pattern).is_dir():
                inside = Path(pattern) / "*"
                return f'"{pattern}" is a folder; write files = ["{inside.as_posix()}"]'
        return f"no file fits {', '.join(source.patterns)}"

    def policy_file(self) -> SourceFile:
        """The configuration itself, as the source of policy windows."""
        return SourceFile(str(self.path), self.path.name, "policy", None, None, {})

    def _name(self, path: Path) -> str:
        if path.is_relative_to(self.folder):
            return path.relative_to(self.folder).as_posix()
        return path.as_posix()


def find_config(start: Path) -> Path:
    """plumbline.toml in `start` or the nearest folder above; ConfigError where there is none."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise ConfigError(
        f"no {FILE_NAME} in {start} or above. Write one with `plumbline init`, or name one with "
        "`plumbline --config FILE`."
    )


def load_config(path: Path) -> Config:
    """Read and check a configuration; ConfigError says what is wrong and what to write."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is no TOML: {error}.") from error
    known = {"warehouse", "settings", "source", "policy"}
    only(raw, known, str(path), "table")
    warehouse = table(raw, "warehouse", path)
    only(warehouse, _WAREHOUSE, f"{path} [warehouse]", "key")
    if not isinstance(warehouse.get("root"), str):
        raise ConfigError(f'{path}: write `root = "FOLDER"` under [warehouse].')
    folder = path.resolve().parent
    sources = read_sources(tables(raw, "source", path), path)
    policies = tables(raw, "policy", path)
    for number, window in enumerate(policies, 1):
        no_placeholder(window, f"{path} [[policy]] number {number}")
    memory_limit = text(
        warehouse.get("memory_limit", "3GB"), f"{path} [warehouse]", "memory_limit", "3GB"
    )
    reports = warehouse.get("reports")
    if reports is not None:
        reports = text(reports, f"{path} [warehouse]", "reports", "reports")
    config = Config(
        path=path.resolve(),
        folder=folder,
        root=(folder / warehouse["root"]).resolve(),
        sources=sources,
        policies=tuple(policies),
        settings=_settings(table(raw, "settings", path), path),
        memory_limit=memory_limit,
        threads=_threads(warehouse.get("threads"), path),
        first_day=_day(warehouse.get("first_day"), path),
        reports=_place(reports, folder),
    )
    for _ in policy.windows(policies, config.policy_file()):
        """A mistake in one is found now, not when they land."""
    return config


def _place(reports: str | None, folder: Path) -> str | None:
    if reports is None or is_uri(reports):
        return reports
    return str((folder / reports).resolve())


def _settings(raw: dict[str, Any], path: Path) -> dict[str, int | str | Decimal | None]:
    only(raw, {*SETTINGS, "mfu_dtype", "energy_usd_per_kwh"}, f"{path} [settings]", "setting")
    found: dict[str, int | str | Decimal | None] = {}
    for name, value in raw.items():
        if name == "mfu_dtype":
            if value not in MFU_DTYPES:
                raise ConfigError(
                    f"{path} [settings] mfu_dtype: is {shown(value)}; write one of "
                    + ", ".join(f'"{known}"' for known in MFU_DTYPES)
                    + "."
                )
            found[name] = value
            continue
        where = f"{path} [settings] {name}"
        if name == "energy_usd_per_kwh":
            number = _number(value, where, _LARGEST_USD_PER_KWH)
            found["energy_usd_per_mj"] = (number / _MJ_PER_KWH).quantize(Decimal(1).scaleb(-24))
        else:
            column, factor = SETTINGS[name]
            number = _number(value, where, _LARGEST // factor)
            found[column] = int((number * factor).to_integral_value())
    return found


def _threads(value: object, path: Path) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_THREADS:
        raise ConfigError(
            f"{path} [warehouse]: threads is {shown(value)}; write a whole number from 1 to "
            f"{_MOST_THREADS}, such as `threads = 4`, or leave it out to use every core."
        )
    return value


def _day(value: object, path: Path) -> date | None:
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    raise ConfigError(
        f"{path} [warehouse]: first_day is {shown(value)}; write a day without quotes, such as "
        "`first_day = 2026-11-01`, or leave it out to begin with what has landed."
    )


def _number(value: object, where: str, largest: Decimal) -> Decimal:
    try:
        number = Decimal(str(value)) if not isinstance(value, bool) else Decimal("nan")
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number < 0:
        raise ConfigError(f"{where}: is {shown(value)}; expected a number that is not negative.")
    if number > largest:
        raise ConfigError(f"{where}: is {shown(value)}; write a number up to {largest:f}.")
    return number
