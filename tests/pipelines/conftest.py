"""The recorded example, run once for all tests of this room."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.config import Config, load_config
from pipelines.run import Outcome, run
from tests.oracle import ladder as oracle
from tests.pipelines.published import Published, quiet


@pytest.fixture(scope="session")
def example(root: Path) -> Config:
    """The shipped configuration."""
    return load_config(root / "examples" / "h200" / "plumbline.toml")


@pytest.fixture(scope="session")
def recorded(
    example: Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Published, Outcome, Config]:
    """The recording as it is published, what the run did, and its configuration."""
    config = replace(example, root=tmp_path_factory.mktemp("recorded"))
    outcome = run(config, progress=quiet)
    return Published(config.root), outcome, config


@pytest.fixture(scope="session")
def truth(root: Path) -> oracle.Recording:
    """The recording as its raw files tell it."""
    return oracle.read(root / "examples" / "h200")
