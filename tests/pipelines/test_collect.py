"""`plumbline collect` from real servers: every sample once, whatever happens on the way."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.counters import prometheus as reader
from ingest.counters import prometheus_api as api
from ingest.counters.prometheus_api import Client, Server
from pipelines import collect as collecting
from pipelines.collect import Collected, collect, stretches
from pipelines.config import Config, load_config
from tests.pipelines.command import call, failed
from tests.pipelines.published import quiet
from tests.pipelines.servers import (
    free_port,
    needed,
    prometheus,
    seed_prometheus,
    victoria_metrics,
)
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError, SourceError

T0 = 1_796_068_800_000  # 2026-11-30 20:00 UTC
NOW = datetime.fromtimestamp(T0 / 1000 + 4 * 3600, UTC)
GPUS = [f"GPU-0f0e0d0c-1111-2222-3333-44445555666{n}" for n in range(3)]
FIELDS = {
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "engine_active_ratio",
    "DCGM_FI_PROF_DRAM_ACTIVE": "dram_active_ratio",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "energy_mj",
}


def seeded(hours: int = 3) -> list[tuple[str, str, int, float]]:
    """Each 30 s, on the hour too; the last GPU has no sample in the second hour."""
    rows = []
    for number, gpu in enumerate(GPUS):
        labels = f'{{UUID="{gpu}",gpu="{number}",Hostname="n1",job="dcgm"}}'
        for step in range(hours * 120 + 1):
            ms = T0 + step * 30_000 + number
            if number == 2 and 120 < step <= 240:
                continue
            for name in FIELDS:
                value = 1e13 + step if "ENERGY" in name else round(step / 1000 + number / 7, 6)
                rows.append((name, labels, ms, value))
    return rows


def config(folder: Path, url: str, **options: str) -> Config:
    path = folder / "plumbline.toml"
    lines = "\n".join(f"{name} = {value}" for name, value in options.items())
    path.write_text(
        f'[warehouse]\nroot = "out"\n[[source]]\nkind = "prometheus"\ncluster = "c1"\n'
        f'files = ["prom/*.jsonl.gz"]\nurl = "{url}"\nsince = 2026-11-30T20:00:00Z\n{lines}\n'
    )
    return load_config(path)


def found(settings: Config) -> dict[tuple[str, str, int], float]:
    """All readings of all files: (GPU, column, ms) -> value; each is there once."""
    readings: dict[tuple[str, str, int], float] = {}
    (source,) = settings.sources
    for file in settings.files(source):
        for batch in reader.read(file):
            assert batch.table != "reject", batch.rows.to_pylist()
            if batch.table == "gpu_sample":
                for row in batch.rows.to_pylist():
                    ms = round(row["ts"].timestamp() * 1000)
                    for column in FIELDS.values():
                        if row[column] is not None:
                            key = (row["gpu_uuid"], column, ms)
                            assert key not in readings
                            readings[key] = row[column]
    return readings


def wanted(hours: int = 3) -> dict[tuple[str, str, int], float]:
    gpu_of = {f'{{UUID="{gpu}"': gpu for gpu in GPUS}
    return {
        (gpu_of[labels.split(",")[0]], FIELDS[name], ms): value
        for name, labels, ms, value in seeded(hours)
        # A stretch is what comes after its start up to its end.
        if T0 < ms <= T0 + hours * 3_600_000
    }


def collected(settings: Config, **more: Any) -> Collected:
    return collect(settings, only=None, now=NOW, progress=quiet, **more)


def same(readings: dict[tuple[str, str, int], float]) -> bool:
    expected = wanted()
    return readings.keys() == expected.keys() and all(
        abs(value - expected[key]) <= 1e-6 * abs(expected[key]) for key, value in readings.items()
    )


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    needed("prometheus", "promtool")
    seed_prometheus(tmp_path, seeded())
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--query.max-samples=200",)])
def test_a_real_prometheus_gives_each_sample_once(blocks: Path, flags: tuple[str, ...]) -> None:
    """Also where the server refuses an hour at once: it is asked for less at a time."""
    with prometheus(blocks, *flags) as url:
        settings = config(blocks, url, match="'job=\"dcgm\"'")
        first = collected(settings)
        again = collected(settings)
    assert [len(files) for files in first.files.values()] == [3]
    assert (again.there, [len(files) for files in again.files.values()]) == (3, [0])
    assert same(found(settings))


@pytest.mark.slow
def test_an_answer_that_is_too_long_is_asked_for_in_parts(
    blocks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not held in memory either; a reader refuses what is longer."""
    monkeypatch.setattr(api, "MAX_ANSWER_BYTES", 3000)
    with prometheus(blocks) as url:
        settings = config(blocks, url)
        collected(settings)
    files = sorted((blocks / "prom").iterdir())
    lines = [line for path in files for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert max(map(len, lines)) <= 3000
    assert same(found(settings))


@pytest.mark.slow
def test_a_server_that_is_killed_in_the_middle(blocks: Path) -> None:
    """What was collected stands, nothing is half there, and the next time goes on."""
    port = free_port()
    settings = config(blocks, f"http://127.0.0.1:{port}")
    with pytest.raises(SourceError, match=r"gave no answer \(.*refused"):
        collected(settings, connect=lambda found: Client(found, retries=0))
    server = prometheus(blocks, port=port)
    with _killed_after(server, 4) as connect, pytest.raises(SourceError, match="gave no answer"):
        collected(settings, connect=connect)
    files = sorted(path.name for path in (blocks / "prom").iterdir())
    assert files == ["2026-11-30T2000Z.jsonl.gz"]
    with prometheus(blocks, port=port):
        rest = collected(settings)
    assert (rest.there, [len(paths) for paths in rest.files.values()]) == (1, [2])
    assert same(found(settings))


@contextmanager
def _killed_after(
    server: AbstractContextManager[str], asked: int
) -> Iterator[Callable[[Server], Client]]:
    """A server that is gone after so many queries for samples."""
    with server:
        left = asked

        class Counting(Client):
            def samples(self, name: str, start_ms: int, end_ms: int) -> Iterator[bytes]:
                nonlocal left
                left -= 1
                if left < 0:
                    server.__exit__(None, None, None)
                yield from super().samples(name, start_ms, end_ms)

        yield lambda found: Counting(found, retries=0)


@pytest.mark.slow
def test_a_real_victoria_metrics(tmp_path: Path) -> None:
    needed("victoria-metrics")
    with victoria_metrics(tmp_path, seeded()) as url:
        settings = config(tmp_path, url)
        collected(settings)
    assert same(found(settings))


@pytest.mark.slow
def test_a_month_with_counters_of_a_prometheus(blocks: Path) -> None:
    """The command, then a run: the samples are published, the GPU without samples has a hole."""
    with prometheus(blocks) as url:
        settings = config(blocks, url)
        result = call("collect", config=settings.path)
    assert result.exit_code == 0, result.output
    assert "source prometheus: " in result.stdout
    assert "collect prometheus: 2026-11-30 20:00 UTC" in result.stderr
    assert call("run", config=settings.path).exit_code == 0
    sql = "select gpu_uuid, count(*) as n from gpu_sample group by gpu_uuid order by gpu_uuid"
    shown = call("sql", sql, "--format", "csv", config=settings.path).stdout.splitlines()
    assert [line.split(",")[1] for line in shown[1:]] == ["360", "361", "241"]


def test_stretches_that_are_over() -> None:
    server = _server(since=T0 + 1_000_000, chunk_ms=3_600_000)
    late = collecting.LATE_MS
    ends = [T0 + 3_600_000 + late - 1, T0 + 3_600_000 + late, T0 + 8_000_000 + late]
    assert [len(list(stretches(server, now))) for now in ends] == [0, 1, 2]
    assert next(stretches(server, ends[1])) == (T0, T0 + 3_600_000)


def _server(*, since: int, chunk_ms: int) -> Server:
    return Server("s", "http://x", "", chunk_ms, since, (), None, None, None, ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": '"ftp://x"'}, "url is no http"),
        ({"url": '"http://ann:secret@x"'}, "holds a user or a password"),
        ({"since": '"yesterday"'}, "since is 'yesterday'; expected a time with a zone"),
        ({"since": "2026-11-01"}, "expected a time with a zone"),
        ({"chunk_minutes": "7"}, "chunk_minutes is 7; expected a part of a day"),
        ({"chunk_minutes": "0"}, "chunk_minutes is 0"),
        ({"user": '"ann"'}, "expected user and password_env"),
        ({"tokn_env": '"X"'}, r"unknown option 'tokn_env' \(did you mean 'token_env'"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, options: dict[str, str], message: str) -> None:
    given = {"url": '"http://x:9090"', "since": "2026-11-01T00:00:00Z", **options}
    lines = "\n".join(f"{name} = {value}" for name, value in given.items())
    path = tmp_path / "plumbline.toml"
    path.write_text(
        '[warehouse]\nroot = "out"\n[[source]]\nkind = "prometheus"\n'
        f'files = ["p/*.jsonl.gz"]\n{lines}'
    )
    with pytest.raises(ConfigError, match=message) as error:
        load_config(path)
    assert "secret" not in str(error.value)


def test_a_source_without_a_server_is_not_asked(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    path.write_text('[warehouse]\nroot = "out"\n')
    assert "no source of kind prometheus has a `url`" in failed("collect", code=1, config=path)


@pytest.mark.parametrize("files", ["prom/*/x.jsonl.gz", "prom/a.jsonl", "prom/*.json"])
def test_a_place_that_cannot_be_collected_into(tmp_path: Path, files: str) -> None:
    settings = config(tmp_path, "http://127.0.0.1:1")
    settings.path.write_text(settings.path.read_text().replace("prom/*.jsonl.gz", files))
    with pytest.raises(ConfigError, match="to collect into"):
        collected(load_config(settings.path))


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, "no", r"refused us \(HTTP 401\)"),
        (403, "", r"refused us \(HTTP 403\)"),
        (404, "<html>", "answered .* with no JSON"),
        (400, json.dumps({"status": "error", "errorType": "bad_data", "error": "x"}), "bad_data x"),
        (200, json.dumps({"status": "success", "data": [], "warnings": ["a store"]}), "a store"),
    ],
)
def test_what_a_server_may_answer(
    tmp_path: Path, httpd: Callable[[int, str], str], status: int, body: str, message: str
) -> None:
    settings = config(tmp_path, httpd(status, body))
    with pytest.raises(SourceError, match=message):
        collected(settings, connect=lambda found: Client(found, retries=0))
    assert list((tmp_path / "prom").iterdir()) == []


def test_secrets_are_sent_and_never_said(
    tmp_path: Path, httpd: Callable[[int, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config(tmp_path, httpd(403, ""), token_env='"PLUMB_TOKEN"', tenant='"t1"')
    with pytest.raises(ConfigError, match="the environment variable PLUMB_TOKEN is empty"):
        collected(settings)
    monkeypatch.setenv("PLUMB_TOKEN", "hunter2")
    with pytest.raises(SourceError) as error:
        collected(settings)
    assert "hunter2" not in str(error.value)
    (headers,) = httpd.headers  # type: ignore[attr-defined]
    assert headers["Authorization"] == "Bearer hunter2"
    assert headers["X-Scope-OrgID"] == "t1"


@pytest.fixture
def httpd() -> Iterator[Callable[[int, str], str]]:
    """A server on loopback that gives one answer to everything, and keeps what it was asked."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    answers: dict[str, Any] = {}
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(dict(self.headers.items()))
            self.send_response(answers["status"])
            self.end_headers()
            self.wfile.write(answers["body"].encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()

    def start(status: int, body: str) -> str:
        answers.update(status=status, body=body)
        return f"http://127.0.0.1:{server.server_address[1]}"

    start.headers = seen  # type: ignore[attr-defined]
    yield start
    server.shutdown()
    server.server_close()


def test_a_source_file_needs_no_server(tmp_path: Path) -> None:
    assert reader.read_options(SourceFile("", "", "s", None, None, {})) is None
