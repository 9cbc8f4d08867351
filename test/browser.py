# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A headless Chromium, driven through its DevTools protocol."""

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page. `errors` are the messages of its console that are errors."""

    def __init__(self, address: str) -> None:
        self._socket = connect(address, max_size=None)
        self._number = 0
        self.errors: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=180))
            if message.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(message["params"]["exceptionDetails"]))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])

    def open(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && !!document.querySelector('canvas')", 60)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        return result["result"].get("value")

    def until(self, script: str, seconds: float = 30.0) -> Any:
        """Wait until an expression is true, and return its value."""
        return wait(lambda: self.run(script), script, seconds)

    def screenshot(self, file: Path | None = None) -> np.ndarray:
        """The picture as an array (rows, columns, 3); written to a PNG file, if given."""
        from matplotlib.image import imread

        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        if file is not None:
            file.write_bytes(data)
        return np.asarray(imread(BytesIO(data), format="png"))[..., :3]

    def press(self, key: str, code: int, times: int = 1) -> None:
        """Press a key in the element that has the focus."""
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.send(
                    "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                    windowsVirtualKeyCode=code,
                )  # fmt: skip


@contextmanager
def browser(folder: Path, width: int = 1300, height: int = 800) -> Iterator[Browser]:
    """A browser whose profile is in a folder."""
    assert CHROMIUM is not None
    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--window-size={width},{height}", f"--user-data-dir={folder}",
         "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port = wait(lambda: _port(folder), "the port of the browser", 30.0)
        pages = wait(lambda: _pages(port), "the browser", 30.0)
        yield Browser(pages[0]["webSocketDebuggerUrl"])
    finally:
        process.terminate()
        process.wait(10)


def wait(condition: Callable[[], Any], what: str, seconds: float) -> Any:
    """The value of a condition as soon as it is true, or an array; fails after some seconds."""
    end = time.monotonic() + seconds
    while not isinstance(value := condition(), np.ndarray) and not value:
        assert time.monotonic() < end, f"timed out waiting for {what}"
        time.sleep(0.1)
    return value


def _port(folder: Path) -> str:
    file = folder / "DevToolsActivePort"
    return file.read_text().partition("\n")[0] if file.is_file() else ""


def _pages(port: str) -> list[dict[str, Any]]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
            found = json.load(answer)
    except (URLError, OSError):
        return []
    return [page for page in found if page["type"] == "page"]
