"""Asking a Prometheus (or VictoriaMetrics, Thanos, Mimir) for raw samples over HTTP.

Range selectors in instant queries give the samples as they were scraped; a range query would move
them to its steps and carry them forward for five minutes, so a dead exporter would look alive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec

from ingest.counters.fields import BY_NAME
from ingest.options import text_option
from warehouse.contracts import SourceFile
from warehouse.errors import ConfigError, SourceError

#: Options of a source that is asked over HTTP, with their meaning.
OPTIONS = {
    "url": "the server that `plumbline collect` asks, up to its /api/v1: http://prometheus:9090",
    "since": "the time from which on it asks, with a zone; needed beside url",
    "match": 'label matchers of the series, such as job="dcgm-exporter"; default: every series',
    "chunk_minutes": "time that one file has; default 60, less for more than 2,000 GPUs",
    "tenant": "tenant of Mimir or Cortex (header X-Scope-OrgID)",
    "user": "user name, where the server wants one",
    "password_env": "the environment variable that holds the user's password",
    "token_env": "the environment variable that holds a bearer token",
    "ca_file": "certificates that the server's is checked against; default: the system's",
    "cert_file": "the client's certificate, where the server wants one",
    "key_file": "its key",
}
#: A longer answer is neither held in memory nor read: the query is split.
MAX_ANSWER_BYTES = 256 << 20
_DAY_MINUTES = 1440
#: Beyond so short a time a query is not split: something else is wrong.
_LEAST_MS = 1000
_TOO_MANY = re.compile("too many samples|maximum number|maxSamples|max-samples", re.IGNORECASE)
_RETRIED = (429, 500, 502, 503, 504)


class _Head(msgspec.Struct):
    """The part of an answer that says whether it is one."""

    status: str = ""
    errorType: str = ""
    error: str = ""
    warnings: list[str] | None = None


class _Names(msgspec.Struct):
    data: list[str] = []


@dataclass(frozen=True)
class Server:
    """What the configuration says of a server; `secret` values are read when it is asked."""

    source: str
    url: str
    match: str
    chunk_ms: int
    since_ms: int
    headers: tuple[tuple[str, str], ...]
    user: str | None
    password_env: str | None
    token_env: str | None
    tls: tuple[tuple[str, str], ...]


def server(file: SourceFile) -> Server | None:
    """The server of a source, None where it has no `url`; ConfigError where an option cannot be."""
    url = text_option(file, "url")
    others = sorted(file.options.keys() - {"url"})
    if url is None:
        if others:
            raise ConfigError(f"{file.source}: {others[0]} says how to ask a server; expected url")
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigError(f"{file.source}: url is no http:// or https:// address of a server")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            f"{file.source}: url holds a user or a password; write user and password_env"
        )
    minutes = file.options.get("chunk_minutes", 60)
    if not isinstance(minutes, int) or minutes < 1 or _DAY_MINUTES % minutes:
        raise ConfigError(
            f"{file.source}: chunk_minutes is {minutes!r}; expected a part of a day, such as 60"
        )
    match = (text_option(file, "match") or "").strip()
    tenant = text_option(file, "tenant")
    names = ("ca_file", "cert_file", "key_file")
    tls = [(name, found) for name in names if (found := text_option(file, name)) is not None]
    user, password = text_option(file, "user"), text_option(file, "password_env")
    if (user is None) != (password is None):
        raise ConfigError(f"{file.source}: expected user and password_env, or neither")
    return Server(
        file.source, url.rstrip("/"), match.removeprefix("{").removesuffix("}"), minutes * 60_000,
        _since(file), (("X-Scope-OrgID", tenant),) if tenant else (), user, password,
        text_option(file, "token_env"), tuple(tls),
    )  # fmt: skip


def _since(file: SourceFile) -> int:
    from datetime import datetime

    value = file.options.get("since")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            value = None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise ConfigError(
            f"{file.source}: since is {file.options.get('since')!r}; expected a time with a zone, "
            "such as 2026-11-01T00:00:00Z"
        )
    return int(value.timestamp() * 1000)


class Client:
    """A connection to a server. SourceError says what it answered and what to do."""

    def __init__(self, server: Server, *, retries: int = 5, backoff_s: float = 0.5) -> None:
        import urllib3

        self._server = server
        tls: dict[str, Any] = {_TLS[name]: path for name, path in server.tls}
        self._pool = urllib3.PoolManager(
            retries=urllib3.Retry(
                total=retries, backoff_factor=backoff_s, status_forcelist=_RETRIED,
                allowed_methods=None, raise_on_status=False, redirect=0,
            ),
            timeout=urllib3.Timeout(connect=10, read=180),
            headers={"User-Agent": "plumbline", "Accept-Encoding": "gzip", **dict(server.headers),
                     **self._secrets()},
            **tls,
        )  # fmt: skip

    def names(self, start_ms: int, end_ms: int) -> list[str]:
        """The names of our fields that the server has in a time, sorted."""
        selector = '{__name__=~"(?i:dcgm.*)"' + (f",{self._server.match}" if self._server.match
                                                 else "") + "}"  # fmt: skip
        body = self._ask(
            "label/__name__/values",
            {"match[]": selector, "start": _seconds(start_ms), "end": _seconds(end_ms)},
        )
        self._check(body, selector)
        found = msgspec.json.decode(body, type=_Names).data
        return sorted(name for name in found if name.lower() in BY_NAME)

    def samples(self, name: str, start_ms: int, end_ms: int) -> Iterator[bytes]:
        """Answers with all samples of a field after start up to end: one, or several where the
        server refuses so many at once."""
        length = end_ms - start_ms
        query = f"{name}{{{self._server.match}}}[{length}ms]"
        body = self._ask("query", {"query": query, "time": _seconds(end_ms)})
        head = self._head(body)
        is_too_long = len(body) > MAX_ANSWER_BYTES
        is_refused = head.status != "success" and _TOO_MANY.search(head.error)
        if (is_too_long or is_refused) and length >= 2 * _LEAST_MS:
            middle = start_ms + length // 2
            yield from self.samples(name, start_ms, middle)
            yield from self.samples(name, middle, end_ms)
            return
        self._check(body, query)
        yield body.strip()

    def _ask(self, what: str, fields: dict[str, str]) -> bytes:
        from urllib3.exceptions import HTTPError

        url = f"{self._server.url}/api/v1/{what}"
        try:
            # Label values take GET only in older servers, queries may be long.
            method = "POST" if what == "query" else "GET"
            more: dict[str, Any] = {"encode_multipart": False} if method == "POST" else {}
            answer = self._pool.request(method, url, fields=fields, preload_content=False, **more)
            with answer:
                # One byte too many says that there are more: what is longer is not held in memory.
                body = bytes(answer.read(MAX_ANSWER_BYTES + 1, decode_content=True))
        except HTTPError as error:
            raise SourceError(
                self._server.url, f"gave no answer ({_cause(error)})",
                expected="the HTTP API of Prometheus",
                todo="Check url and the way there. What was collected before stands; collect again "
                "to go on.",
            ) from error  # fmt: skip
        if answer.status in (401, 403):
            raise SourceError(
                self._server.url, f"refused us (HTTP {answer.status})", expected="to be let in",
                todo="Check token_env, or user and password_env, and what they may read.",
            )  # fmt: skip
        return body

    def _head(self, body: bytes) -> _Head:
        try:
            return msgspec.json.decode(body, type=_Head)
        except msgspec.MsgspecError:
            return _Head("", "no JSON", repr(body[:120]))

    def _check(self, body: bytes, query: str) -> None:
        head = self._head(body)
        if head.status == "success" and not head.warnings:
            return
        found = "; ".join(head.warnings or []) or f"{head.errorType} {head.error}".strip()
        raise SourceError(
            self._server.url, f"answered {query!r} with {found}",
            expected="all samples that were asked for",
            todo="Mend the server or the options of the source, then collect again: what was "
            "collected before stands.",
        )  # fmt: skip

    def _secrets(self) -> dict[str, str]:
        import urllib3

        server = self._server
        if server.token_env is not None:
            return {"Authorization": f"Bearer {_secret(server, server.token_env)}"}
        if server.user is not None and server.password_env is not None:
            given = f"{server.user}:{_secret(server, server.password_env)}"
            return dict(urllib3.make_headers(basic_auth=given))
        return {}


#: What our options are called there.
_TLS = {"ca_file": "ca_certs", "cert_file": "cert_file", "key_file": "key_file"}


def _secret(server: Server, variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise ConfigError(
            f"{server.source}: the environment variable {variable} is empty; it should hold the "
            "secret with which the server is asked"
        )
    return value


def _cause(error: BaseException) -> str:
    """The innermost reason: a refused connection, a name that is not known."""
    inner = getattr(error, "reason", None)
    while isinstance(inner, BaseException) and getattr(inner, "reason", None):
        inner = inner.reason  # type: ignore[attr-defined]
    return str(inner or error)


def _seconds(ms: int) -> str:
    return f"{ms // 1000}.{ms % 1000:03d}"
