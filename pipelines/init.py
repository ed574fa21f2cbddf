"""The configuration that `plumbline init` writes: settings, and how to export each kind of source.

The text stands in init_template.toml; settings with their defaults, and each kind's export command,
are filled in from where they are defined, so that they cannot grow old.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from ingest.options import did_you_mean
from ingest.registry import KINDS, Kind
from pipelines.config import SETTINGS
from warehouse.errors import ConfigError
from warehouse.run_tables import DEFAULTS, RUN_SETTING

TEMPLATE = Path(__file__).resolve().parent / "init_template.toml"
WIDTH = 100
_SOURCE = re.compile(r"^@source (\w+)@\n", re.MULTILINE)


def template() -> str:
    """The whole text of a new plumbline.toml; kinds that the template lacks come last, bare."""
    text = TEMPLATE.read_text(encoding="utf-8")
    text = text.replace("@settings@\n", "".join(_settings()))
    written = set(_SOURCE.findall(text))
    text = _SOURCE.sub(lambda found: "".join(_about(KINDS[found[1]])), text)
    for name in KINDS.keys() - written:
        text += "\n" + "".join(_about(KINDS[name]))
        text += f'#[[source]]\n#kind = "{name}"\n#files = ["{name}/*"]\n'
    return text


def section(kind: str) -> str:
    """What the template says about one kind of source; ConfigError where there is no such kind."""
    if kind not in KINDS:
        raise ConfigError(
            f"--kind is {kind!r}{did_you_mean(kind, KINDS)}; kinds are {', '.join(KINDS)}."
        )
    rest = template().split(f"# --- {kind} ", 1)[1]
    text = f"# --- {kind} {rest}"
    return re.split(r"\n# (?:---|={9})", text, maxsplit=1)[0].rstrip() + "\n"


def export_lines(kind: Kind) -> list[str]:
    """How to export such a source, line by line."""
    return kind.export.strip("\n").splitlines()


def _about(kind: Kind) -> Iterator[str]:
    yield f"# --- {kind.name} {'-' * (WIDTH - 7 - len(kind.name))}\n"
    yield from _prose(f"{kind.gives} (evidence {kind.grade})")
    yield "# To export it:\n"
    for line in export_lines(kind):
        yield f"#     {line}".rstrip() + "\n"
    options = kind.options
    if options:
        yield "# Options:\n"
        width = max(map(len, options))
        for name, meaning in options.items():
            yield from _prose(f"{name:<{width}}  {meaning}", indent=4, hang=width + 2)


def _settings() -> Iterator[str]:
    meaning = {column.name: column for column in RUN_SETTING.columns}
    for name, (column, factor) in SETTINGS.items():
        value = (Decimal(str(DEFAULTS[column])) / factor).normalize()
        yield from _prose(meaning[column].meaning)
        yield f"#{name} = {value:f}\n"
    yield from _prose(meaning["mfu_dtype"].meaning)
    yield f'#mfu_dtype = "{DEFAULTS["mfu_dtype"]}"\n'
    yield from _prose("price of energy; no default: without it energy has no dollars")
    yield "#energy_usd_per_kwh = 0.12\n"


def _prose(text: str, *, indent: int = 0, hang: int = 0) -> list[str]:
    first = "# " + " " * indent
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=first + " " * hang,
        break_long_words=False, break_on_hyphens=False, drop_whitespace=True,
    )  # fmt: skip
    return [f"{line}\n" for line in lines]
