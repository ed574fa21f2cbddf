"""Which configuration the scheduler works for, and where its days begin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg

from pipelines.config import Config, find_config, load_config
from warehouse.errors import ConfigError, PlumblineError
from warehouse.store import Store

#: The environment variable that names the configuration.
VARIABLE = "PLUMBLINE_CONFIG"
_EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "h200" / "plumbline.toml"
#: Partitions never begin earlier, whatever a sample's clock said: long lists make a slow page.
_LONGEST = timedelta(days=3653)


class Deployment(dg.ConfigurableResource):  # type: ignore[type-arg]
    """The configuration that runs, schedules and sensors use; empty where none was found."""

    config: str

    def load(self) -> Config:
        """Read it as it stands now; ConfigError says what is wrong with it or how to name one."""
        if not self.config:
            raise ConfigError(
                f"no plumbline.toml was found. Name one: {VARIABLE}=FILE in the environment of the "
                "scheduler, then reload its definitions."
            )
        return load_config(Path(self.config))


def config_path(environ: Mapping[str, str] | None = None, *, start: Path | None = None) -> str:
    """The configuration to work for: PLUMBLINE_CONFIG, else the nearest plumbline.toml, else the
    shipped example; '' where there is none of them."""
    named = (os.environ if environ is None else environ).get(VARIABLE)
    if named:
        return str(Path(named).resolve())
    try:
        return str(find_config((start or Path.cwd()).resolve()))
    except ConfigError:
        return str(_EXAMPLE) if _EXAMPLE.is_file() else ""


def first_day(path: str, *, today: date | None = None) -> date:
    """The day with which partitions begin: what the configuration says, else the first that has
    landed or that a source covers, else the beginning of last year.

    Never raises: the definitions have to load so that a run can say what is wrong.
    """
    today = today or datetime.now(UTC).date()
    default = date(today.year - 1, 1, 1)
    if not path:
        return default
    try:
        config = load_config(Path(path))
        if config.first_day is not None:
            return config.first_day
        known = [*_landed(config), *(s.covers[0] for s in config.sources if s.covers is not None)]
    except (PlumblineError, OSError):
        return default
    if not known:
        return default
    return max(_day(min(known)), today - _LONGEST)


def _landed(config: Config) -> list[int]:
    state = Store(config.root).state()
    found = [entry.min_ns for entry in state.files if entry.min_ns is not None]
    for unit in state.units.values():
        month = unit.meta.get("month") if unit.area == "mart" else None
        if month is not None:
            start = datetime.fromisoformat(f"{month}-01").replace(tzinfo=UTC)
            found.append(int(start.timestamp()) * 10**9)
    return found


def _day(time_ns: int) -> date:
    return date(1970, 1, 1) + timedelta(days=time_ns // 86_400_000_000_000)
