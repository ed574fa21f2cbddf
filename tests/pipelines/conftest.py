"""The recorded example, run once for all tests of this room."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import pipelines.run
from pipelines.config import Config, load_config
from pipelines.run import Outcome, run
from tests.oracle import ladder as oracle
from tests.oracle.traces import Trace, read_traces, whole_job
from tests.pipelines.published import Published, quiet
from tests.pipelines.traced import Jobs, key_of


@pytest.fixture(scope="session", autouse=True)
def parsed_once() -> Iterator[None]:
    """The SQL graph is parsed once for all runs of these tests: it takes as long as a small run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.run, "graph", functools.cache(pipelines.run.graph))
        yield


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


@pytest.fixture(scope="session")
def published(recorded: tuple[Published, Outcome, Config]) -> Published:
    """The recording as it is published."""
    return recorded[0]


@pytest.fixture(scope="session")
def traces(root: Path, truth: oracle.Recording) -> list[Trace]:
    """The recorded traces as their raw JSON tells them."""
    return read_traces(root / "examples" / "h200", truth)


@pytest.fixture(scope="session")
def jobs(traces: list[Trace], truth: oracle.Recording) -> Jobs:
    """What each trace says of its whole job."""
    found = {key_of(trace): whole_job(truth, trace) for trace in traces}
    assert len(found) == len(traces) == 19
    return found


@pytest.fixture(scope="session")
def demo(
    root: Path,
    recorded: tuple[Published, Outcome, Config],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A plumbline.toml of the recording whose warehouse is the one of `recorded`."""
    folder = tmp_path_factory.mktemp("demo")
    shutil.copytree(root / "examples" / "h200", folder, dirs_exist_ok=True)
    path = folder / "plumbline.toml"
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.startswith("root ="))
    path.write_text(text.replace(line, f'root = "{recorded[2].root}"'))
    return path
