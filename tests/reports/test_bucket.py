"""Reports in an object store: a real S3 server on loopback."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

import reports.bucket
from pipelines.report_folder import below, write_folder
from reports.bucket import bucket
from tests.pipelines.command import call
from tests.reports.conftest import NOVEMBER
from tests.reports.marts import Marts
from warehouse.errors import ConfigError, StoreError

NAME = "finance"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an S3 server of this module alone."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with contextlib.redirect_stdout(io.StringIO()):
        server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the server, which the environment names as a user's would; one empty bucket."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hush-hush",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": server,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=NAME)
    yield client
    for found in client.list_objects_v2(Bucket=NAME).get("Contents", []):
        client.delete_object(Bucket=NAME, Key=found["Key"])
    client.delete_bucket(Bucket=NAME)
    client.close()


def keys(s3: Any) -> list[str]:
    """All objects, without the empty ones that stand for folders."""
    found = (o["Key"] for o in s3.list_objects_v2(Bucket=NAME).get("Contents", []))
    return sorted(key for key in found if not key.endswith("/"))


def text(s3: Any, key: str) -> str:
    body = s3.get_object(Bucket=NAME, Key=key)["Body"]
    with contextlib.closing(body):
        return str(body.read().decode())


def put(uri: str, **files: str) -> None:
    with bucket(uri) as target:
        for name, content in files.items():
            target.put(name.replace("__", "/") + ".html", content.encode())


def test_the_report_is_the_folders_files_with_their_types(
    s3: Any, marts: Marts, tmp_path: Path
) -> None:
    place = write_folder(marts, NOVEMBER, f"s3://{NAME}/gpu/2026-11/", plain=True)
    assert place == f"s3://{NAME}/gpu/2026-11/index.html"
    write_folder(marts, NOVEMBER, str(tmp_path / "same"), plain=True)
    local = {
        path.relative_to(tmp_path / "same").as_posix(): path.read_text()
        for path in (tmp_path / "same").rglob("*") if path.is_file()
    }  # fmt: skip
    assert {key.removeprefix("gpu/2026-11/") for key in keys(s3)} == set(local)
    assert text(s3, "gpu/2026-11/index.html") == local["index.html"]
    kinds = {
        Path(key).suffix: s3.head_object(Bucket=NAME, Key=key)["ContentType"] for key in keys(s3)
    }
    assert kinds == {
        ".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8",
        ".txt": "text/plain; charset=utf-8",
    }  # fmt: skip


def test_a_report_is_replaced_and_what_it_no_longer_has_is_gone(s3: Any) -> None:
    put(f"s3://{NAME}/r", index="1", teams__a="1", teams__b="1")
    put(f"s3://{NAME}/other", index="9")
    put(f"s3://{NAME}/r", index="2", teams__b="2")
    assert keys(s3) == ["other/index.html", "r/index.html", "r/teams/b.html"]
    assert text(s3, "r/index.html") == text(s3, "r/teams/b.html") == "2"


def test_until_all_else_is_there_the_old_index_stands_and_what_it_links_to(
    s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(f"s3://{NAME}/r", index="1", teams__a="1")
    send = reports.bucket._send

    def lose(system: Any, path: str, local: Path) -> None:
        if path.endswith("/c.html"):
            raise OSError("connection lost")
        send(system, path, local)

    monkeypatch.setattr(reports.bucket, "_send", lose)
    with pytest.raises(StoreError, match=r"s3://finance/r: cannot be written: connection lost"):
        put(f"s3://{NAME}/r", index="2", teams__b="2", teams__c="2")
    assert text(s3, "r/index.html") == "1"
    assert {"r/index.html", "r/teams/a.html"} <= set(keys(s3))
    monkeypatch.undo()


def test_a_report_that_cannot_be_made_sends_nothing(s3: Any) -> None:
    put(f"s3://{NAME}/r", index="1")

    def fail() -> None:
        with bucket(f"s3://{NAME}/r") as target:
            target.put("index.html", b"2")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert text(s3, "r/index.html") == "1"


def test_a_prefix_with_other_files_is_left_alone(s3: Any) -> None:
    s3.put_object(Bucket=NAME, Key="r/wages.xlsx", Body=b"")
    with pytest.raises(ConfigError, match=r"s3://finance/r holds 'wages.xlsx', which is not of a"):
        put(f"s3://{NAME}/r", index="1")
    assert keys(s3) == ["r/wages.xlsx"]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3://nobody/r", "cannot be written: .*NO_SUCH_BUCKET.*Check that the bucket exists"),
        ("ftp://finance/r", "cannot be opened"),
        ("s3://", "names no bucket"),
    ],
)
def test_what_cannot_be_written_is_one_clear_error(s3: Any, uri: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as found:
        put(uri, index="1")
    assert "\n" not in str(found.value)
    assert "hush-hush" not in str(found.value)


@pytest.mark.parametrize(
    "uri",
    [
        f"s3://KEY:hush@{NAME}/r", f"s3://{NAME}/r?client_secret=hush",
        f"s3://KEY@{NAME}/r?region=us-east-1&sas_token=hush", f"s3://{NAME}/r?sig=hush",
    ],
)  # fmt: skip
def test_credentials_in_a_uri_are_refused_and_not_repeated(s3: Any, uri: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^s3://finance/r\S*: a URI holds no credential"
    ) as found:
        put(uri, index="1")
    assert "hush" not in str(found.value)
    assert "KEY" not in str(found.value)
    assert keys(s3) == []


def test_the_command_delivers_there(s3: Any, demo: Path) -> None:
    done = call("report", "--plain", "--out", f"s3://{NAME}/gpu?region=us-east-1", config=demo)
    assert done.output == f"report: s3://{NAME}/gpu/index.html?region=us-east-1\n"
    assert "gpu/index.html" in keys(s3)
    failed = call("report", "--plain", "--out", "s3://nobody/gpu", config=demo)
    assert failed.exit_code == 1
    assert "NO_SUCH_BUCKET" in failed.output


def test_below_keeps_the_options_of_a_uri() -> None:
    assert below("s3://b/r?region=x", "2026-11") == "s3://b/r/2026-11?region=x"
    assert below("reports", "2026-11") == str(Path("reports") / "2026-11")
