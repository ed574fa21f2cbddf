"""`plumbline serve`: the scheduler's pages and its daemon, as two processes that end together."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from pipelines.config import Config
from warehouse.errors import ConfigError

#: The pages have no login, so nobody but this machine may open them.
HOST = "127.0.0.1"
HOME_VARIABLE = "DAGSTER_HOME"
SETTINGS = "dagster.yaml"
_PACKAGE = Path(__file__).resolve().parent
_GRACE_S = 10.0


def home(config: Config, environ: Mapping[str, str] | None = None) -> Path:
    """Where the scheduler keeps its records: DAGSTER_HOME, else a folder below the warehouse."""
    named = (os.environ if environ is None else environ).get(HOME_VARIABLE)
    return Path(named).resolve() if named else config.root / ".dagster"


def prepare(folder: Path) -> None:
    """Make the folder, with the shipped dagster.yaml where it has none, and its databases.

    Two processes that make the databases at the same time disturb each other.
    """
    from dagster import DagsterInstance

    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / SETTINGS).exists():
        shutil.copyfile(shipped_settings(), folder / SETTINGS)
    with DagsterInstance.from_config(str(folder)):
        pass


def shipped_settings() -> Path:
    """The dagster.yaml that ships with Plumbline: beside the package, or at the checkout's root."""
    inside = _PACKAGE / SETTINGS
    return inside if inside.is_file() else _PACKAGE.parent / SETTINGS


def commands(port: int, *, daemon: bool) -> list[list[str]]:
    """The command lines: the web server, and the daemon that starts runs, schedules and sensors."""
    code = ["-m", "pipelines.definitions"]
    quiet = ["--log-level", "warning", "--code-server-log-level", "error"]
    start = [sys.executable, "-m"]
    web = [*start, "dagster_webserver", "--host", HOST, "--port", str(port), *code, *quiet]
    return [web, [*start, "dagster._daemon", "run", *code, *quiet]] if daemon else [web]


def check(port: int) -> None:
    """ConfigError where the web server is not installed, or where the port is taken."""
    if find_spec("dagster_webserver") is None:
        raise ConfigError(
            "the scheduler's pages are not installed. Run pip install '.[serve]' in the checkout."
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ConfigError(
                f"port {port} of {HOST} cannot be used ({error.strerror}). Choose another one: "
                f"plumbline serve --port {port + 1}"
            ) from error


def serve(
    lines: Sequence[Sequence[str]], environ: Mapping[str, str], *, ready: Callable[[], None]
) -> int:
    """Run the processes until one ends or this one is interrupted; the exit code of the first.

    `ready` is called when all of them were started. However it ends, all of them end.
    """
    processes = [
        subprocess.Popen(line, env={**environ}, start_new_session=True)  # noqa: S603
        for line in lines
    ]
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        ready()
        while True:
            for process in processes:
                code = process.poll()
                if code is not None:
                    return code
            time.sleep(0.2)
    finally:
        signal.signal(signal.SIGTERM, previous)
        _end(processes)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End each process with those that it started; what does not end in time is killed."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
