"""Drive browsers by the standards WebDriver and WebDriver BiDi.

Neither Selenium nor Playwright drives all three browsers of Debian. Selenium needs geckodriver for
Firefox, which Debian does not have. Playwright drives only its own build of WebKit.
"""

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import websocket

#: Only ends what hangs.
TIMEOUT = 60
Probed = TypeVar("Probed")

KEYS = {
    "Alt": "\ue00a",
    "ArrowDown": "\ue015",
    "ArrowLeft": "\ue012",
    "Control": "\ue009",
    "End": "\ue010",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "F5": "\ue035",
    "Shift": "\ue008",
}


class WebDriverError(Exception):
    """A browser did not do what it was asked for."""


def poll(probe: Callable[[], Probed], is_done: Callable[[Probed], bool]) -> Probed:
    """Return what a probe finds when it is done, or at the latest after the timeout."""
    end = time.monotonic() + TIMEOUT
    while not is_done(found := probe()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


class Browser(Protocol):
    """A browser with one window."""

    @property
    def version(self) -> str: ...

    def open(self, address: str) -> None: ...

    def evaluate(self, function: str, *arguments: Any) -> Any:
        """Call a JavaScript function in the page, and return what it returns or resolves to."""

    def perform(self, source: dict[str, Any]) -> None:
        """Perform the actions of one input device."""

    def take_screenshot(self) -> bytes: ...


class ClassicBrowser:
    """A browser behind a server of the standard WebDriver."""

    def __init__(self, driver: str, capabilities: dict[str, Any], size: tuple[int, int]) -> None:
        self._driver = driver
        body = {"capabilities": {"alwaysMatch": capabilities}}
        session = self._send("POST", "/session", body)
        self._session = f"/session/{session['sessionId']}"
        self.version: str = session["capabilities"]["browserVersion"]
        self._post("/timeouts", {"script": TIMEOUT * 1000, "pageLoad": TIMEOUT * 1000})
        # A window is larger than its page.
        width, height = size
        self._post("/window/rect", {"width": width, "height": height})
        inner = poll(lambda: self.evaluate("() => [innerWidth, innerHeight]"), min)
        rect = {"width": 2 * width - inner[0], "height": 2 * height - inner[1]}
        self._post("/window/rect", rect)

    def open(self, address: str) -> None:
        self._post("/url", {"url": address})

    def evaluate(self, function: str, *arguments: Any) -> Any:
        script = f"""
            const done = arguments[arguments.length - 1];
            (async () => ({function})(...{json.dumps(arguments)}))().then(
              value => done({{ value: JSON.stringify(value ?? null) }}),
              error => done({{ error: `${{error}}\\n${{error.stack}}` }})
            );
        """
        result = self._post("/execute/async", {"script": script, "args": []})
        if "error" in result:
            raise WebDriverError(result["error"])
        return json.loads(result["value"])

    def perform(self, source: dict[str, Any]) -> None:
        self._post("/actions", {"actions": [source]})

    def take_screenshot(self) -> bytes:
        return base64.b64decode(self._send("GET", f"{self._session}/screenshot"))

    def close(self) -> None:
        self._send("DELETE", self._session)

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        return self._send("POST", self._session + path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - http, and our own
            self._driver + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=2 * TIMEOUT) as reply:  # noqa: S310 - as above
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise WebDriverError(f"{method} {path}: {error.read().decode()}") from error


class BidiBrowser:
    """A browser that itself is a server of the standard WebDriver BiDi."""

    def __init__(self, address: str, size: tuple[int, int]) -> None:
        self._socket = websocket.create_connection(
            f"{address}/session", suppress_origin=True, timeout=2 * TIMEOUT
        )
        self._last_id = 0
        # Else another page after one with unsaved changes would wait for an answer.
        prompts = {"default": "ignore", "beforeUnload": "accept"}
        capabilities = {"alwaysMatch": {"unhandledPromptBehavior": prompts}}
        session = self._send("session.new", capabilities=capabilities)
        self.version: str = session["capabilities"]["browserVersion"]
        # The first window of a headless Firefox never has the focus.
        created = self._send("browsingContext.create", type="window")
        self._window = {"context": created["context"]}
        viewport = {"width": size[0], "height": size[1]}
        self._send("browsingContext.setViewport", **self._window, viewport=viewport)

    def open(self, address: str) -> None:
        self._send("browsingContext.navigate", **self._window, url=address, wait="complete")
        self._send("browsingContext.activate", **self._window)

    def evaluate(self, function: str, *arguments: Any) -> Any:
        call = f"({function})(...{json.dumps(arguments)})"
        result = self._send(
            "script.callFunction",
            functionDeclaration=f"async () => JSON.stringify((await {call}) ?? null)",
            target=self._window,
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise WebDriverError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def perform(self, source: dict[str, Any]) -> None:
        self._send("input.performActions", **self._window, actions=[source])

    def take_screenshot(self) -> bytes:
        taken = self._send("browsingContext.captureScreenshot", **self._window)
        return base64.b64decode(taken["data"])

    def close(self) -> None:
        self._send("browser.close")
        self._socket.close()

    def _send(self, method: str, **parameters: Any) -> Any:
        self._last_id += 1
        command = {"id": self._last_id, "method": method, "params": parameters}
        self._socket.send(json.dumps(command))
        while True:
            reply = json.loads(self._socket.recv())
            # Others are events.
            if reply.get("id") == self._last_id:
                if reply["type"] == "error":
                    raise WebDriverError(f"{method}: {reply['error']}: {reply['message']}")
                return reply["result"]
