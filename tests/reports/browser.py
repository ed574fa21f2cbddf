"""A headless browser, spoken to over a pair of pipes: what it loads, says and shows."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-extensions", "--disable-sync", "--mute-audio", "--disable-dev-shm-usage",
)  # fmt: skip


def found() -> str | None:
    """The browser's command, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


#: The browser reads commands from descriptor 3 and writes answers to 4.
_WIRE = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.close(read)
os.close(write)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page of a running browser."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Network", "Log", "Security"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def open(self, path: Path, *, width: int = 1280, dark: bool = False) -> None:
        """Show a file of this machine in a window of that width, and wait until it is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._message())
        self.value("document.readyState")

    def value(self, script: str) -> Any:
        """What an expression gives in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def said(self) -> list[str]:
        """Everything in the console since the page was opened, and every failure."""
        names = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event) for event in self.events if event["method"] in names]

    def requested(self) -> list[str]:
        """Every address that the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def pdf(self) -> bytes:
        """The page on paper."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def browser(command: str, profile: Path) -> Iterator[Browser]:
    """Start a browser; it is ended with the block."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()

    process = subprocess.Popen(
        [sys.executable, "-c", _WIRE, str(to_read), str(from_write), command, *_FLAGS,
         f"--user-data-dir={profile}"],
        pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(from_read, to_write)
    finally:
        process.kill()
        process.wait()
        os.close(from_read)
        os.close(to_write)
