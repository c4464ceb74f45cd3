"""Chromium without a window, driven over its own protocol: https://chromedevtools.github.io/devtools-protocol/"""

import base64
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_PATIENCE_S = 60
"""Far longer than anything here takes; for a browser that hangs."""
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
_AS_3_AND_4 = (
    "import fcntl, os, sys; come, go = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]);"
    "os.dup2(come, 3); os.dup2(go, 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
"""The browser reads commands from one of these descriptors and writes events to the other."""
_KEYS = {
    "Tab": (9, ""), "Enter": (13, "\r"), "Escape": (27, ""), " ": (32, " "), "j": (74, "j"), "k": (75, "k"),
    "/": (191, "/"),
}  # fmt: skip
_ONCE = """new Promise((done) => {
  const look = () => { const seen = (%s); if (seen) { watch.disconnect(); done(seen); } };
  const watch = new MutationObserver(look);
  watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
  look();
})"""


class Chromium:
    """A running browser."""

    def __init__(self, program: str, folder: Path) -> None:
        come, to_browser = os.pipe()
        from_browser, go = os.pipe()
        # Where the descriptors are 3 and 4 themselves, one would take the place of the other.
        command = [sys.executable, "-c", _AS_3_AND_4, str(come), str(go), program, *_FLAGS, f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            command, pass_fds=(come, go), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(come)
        os.close(go)
        self._in, self._out = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._listeners: dict[str, Callable[[str, Any], None]] = {}
        self._persons: list[Person] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._in)  # then it ends
        os.close(self._out)
        self._process.wait(_PATIENCE_S)

    def person(self, **settings: Any) -> "Person":
        """Somebody with cookies of their own."""
        person = Person(self, self.call("Target.createBrowserContext")["browserContextId"], settings)
        self._persons.append(person)
        return person

    def empty(self) -> None:
        """Let everybody leave: the pages of a dashboard that has ended would try to follow it forever."""
        while self._persons:
            self._persons.pop().leave()

    def listen(self, session: str, told: Callable[[str, Any], None]) -> None:
        """Tell what happens in a tab."""
        self._listeners[session] = told

    def call(self, method: str, session: str | None = None, **params: Any) -> Any:
        """The result of a command."""
        self._number += 1
        number = self._number
        to = {"sessionId": session} if session else {}
        os.write(self._in, json.dumps({"id": number, "method": method, "params": params, **to}).encode() + b"\0")
        while (message := self._message()).get("id") != number:
            self.tell(message)
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait for what is told to make it so."""
        while not happened():
            self.tell(self._message())

    def tell(self, message: Mapping[str, Any]) -> None:
        """Pass on an event."""
        if told := self._listeners.get(message.get("sessionId", "")):
            told(message.get("method", ""), message.get("params", {}))

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], _PATIENCE_S)
            data = os.read(self._out, 1 << 20) if ready else b""
            assert data, "Chromium says nothing any more"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(message)
        return said


class Person:
    """Somebody with some tabs and one set of cookies."""

    def __init__(self, browser: Chromium, context: str, settings: Mapping[str, Any]) -> None:
        self._browser, self._context, self._settings = browser, context, settings
        allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        browser.call("Browser.grantPermissions", browserContextId=context, permissions=allowed)

    def tab(self) -> "Tab":
        """A new tab, in a window of its own."""
        # In one window each would hide the others.
        target = self._browser.call(
            "Target.createTarget", url="about:blank", browserContextId=self._context, newWindow=True
        )
        session = self._browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        return Tab(self._browser, session, **self._settings)

    def leave(self) -> None:
        """Close all tabs."""
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)


class Tab:
    """One tab, and what went wrong in it."""

    def __init__(self, browser: Chromium, session: str, *, width: int = 1200, script: bool = True) -> None:
        self._browser, self._session = browser, session
        self.faults: list[str] = []
        """Errors on the console, exceptions, and what the policy of the page forbade."""
        self._loaded = 0
        self.status = 0
        """Of the last page."""
        browser.listen(session, self._told)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width)
        if not script:
            self.call("Emulation.setScriptExecutionDisabled", value=True)

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command to this tab."""
        return self._browser.call(method, self._session, **params)

    def go(self, url: str) -> Self:
        """Load a page, until nothing of it is to come."""
        before = self._loaded
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, f"{url}: {answer['errorText']}"
        return self.loaded_after(before)

    def loaded_after(self, before: int) -> Self:
        """Wait for a page after so many."""
        self._browser.until(lambda: self._loaded > before)
        return self

    def follow(self, selector: str) -> Self:
        """Click on what leads to another page."""
        with self.leads_on():
            self.click(selector)
        return self

    @contextmanager
    def leads_on(self) -> Iterator[None]:
        """Do what leads to another page, and wait for it."""
        before = self._loaded
        yield
        self.loaded_after(before)

    def see(self, expression: str) -> Any:
        """The value of JavaScript in the page; of a promise, what it promised."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> Any:
        """Wait until the value is true, while the page changes."""
        return self.see(_ONCE % expression)

    def text(self, selector: str = "body") -> str:
        """The text that is seen of an element."""
        return str(self.see(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        """Click into the middle of an element."""
        self.see(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        box = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y = self.see(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({box})")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def point(self, x: int, y: int) -> None:
        """Move the pointer there."""
        for short in (5, 0):  # a pointer that moved
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x - short, y=y)

    def key(self, name: str) -> None:
        """Press a key."""
        code, text = _KEYS[name]
        for kind in ("keyDown", "keyUp"):
            said = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **said)

    def prefer(self, scheme: str) -> None:
        """Light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def size(self, width: int, height: int = 900) -> None:
        """The size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """A PNG of the page, or of what is seen of it in the window."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def _told(self, event: str, about: Any) -> None:
        if event == "Page.loadEventFired":
            self._loaded += 1
        elif event == "Network.responseReceived" and about["type"] == "Document":
            self.status = about["response"]["status"]
        elif event == "Runtime.exceptionThrown":
            self.faults.append(str(about["exceptionDetails"].get("exception", about["exceptionDetails"])))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.faults.append(str([each.get("value") for each in about["args"]]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.faults.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
