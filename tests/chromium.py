"""A headless Chromium driven over a pipe by its DevTools protocol: no port, no package."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_KEYS = {"Tab": 9, "Enter": 13, " ": 32, "ArrowDown": 40, "Home": 36}


def program() -> str | None:
    """Where a Chromium is installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


class Tab:
    """One page: what it did on its way, and ways to look at it and to touch it."""

    def __init__(self, send: IO[bytes], receive: IO[bytes]) -> None:
        self._send, self._receive, self._last = send, receive, 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command; events that come meanwhile are kept."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._send.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == self._last:
                if "error" in found:
                    raise AssertionError(f"{method}: {found['error']['message']}")
                result: dict[str, Any] = found["result"]
                return result
            self.events.append(found)

    def _read(self) -> dict[str, Any]:
        message = bytearray()
        while (byte := self._receive.read(1)) != b"\0":
            if not byte:
                raise AssertionError("the browser went away")
            message += byte
        found: dict[str, Any] = json.loads(message)
        return found

    def open(self, page: Path) -> None:
        """Load a file, to the end."""
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while not self._happened("Page.loadEventFired"):
            self.events.append(self._read())

    def _happened(self, method: str) -> bool:
        return any(event.get("method") == method for event in self.events)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions, since the page was opened."""
        self.run("new Promise(requestAnimationFrame)")
        said = []
        for event in self.events:
            told: Mapping[str, Any] = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                said.append(str(told["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                said.append(str(told["entry"]["text"]))
            elif event.get("method") == "Runtime.consoleAPICalled":
                said.append(str(told["args"]))
        return said

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def press(self, key: str) -> None:
        code = _KEYS[key]
        text = {"Enter": "\r", " ": " "}.get(key)
        more = {"text": text} if text else {}
        name = "Space" if key == " " else key
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=name, windowsVirtualKeyCode=code,
                      **(more if kind == "keyDown" else {}))  # fmt: skip

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def screen(
        self, *, width: int, height: int = 900, dark: bool = False, media: str = "", script: bool = True
    ) -> None:
        """What the page is shown on. `script` false: without JavaScript, from the next page on."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def picture(self, to: Path) -> None:
        """The whole page as PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        to.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, to: Path) -> None:
        to.write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))

    def tree(self) -> list[dict[str, Any]]:
        """What a screen reader is told: the nodes of the accessibility tree that are not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            {"role": n["role"]["value"], "name": n.get("name", {}).get("value", ""),
             "description": n.get("description", {}).get("value", "")}
            for n in nodes if not n.get("ignored")
        ]  # fmt: skip


@contextmanager
def chromium(profile: Path) -> Iterator[Tab]:
    """A browser of its own, whose files go into the folder `profile`."""
    found = program()
    assert found is not None
    commands, send = os.pipe()
    receive, answers = os.pipe()
    # The protocol speaks on descriptors 3 and 4, which a shell puts in place.
    arguments = [
        found, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(
        ["/bin/bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "chromium", *arguments],
        pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(commands)
    os.close(answers)
    with os.fdopen(send, "wb", buffering=0) as to, os.fdopen(receive, "rb") as of:
        try:
            yield Tab(to, of)
        finally:
            process.kill()
            process.wait()
