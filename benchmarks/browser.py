"""Notebooks that are open in Chromium, driven by `ui-tests/benchmark/pages.mjs`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import chromium
from lab_server import LabServer

from tests.support.paths import ROOT

_UI_TESTS = ROOT / "ui-tests"


@dataclass(frozen=True)
class PageWork:
    """What a page did for one edit.

    `painted_at` is in seconds since 1970; `long_tasks` are the milliseconds of those tasks of its
    main thread that took more than 50; `requests` are its HTTP requests for the notebook and to
    this package, with the bytes received for each.
    """

    painted_at: float
    long_tasks: list[float]
    requests: list[tuple[str, int]]
    socket_bytes: int

    @property
    def bytes_received(self) -> int:
        return self.socket_bytes + sum(received for _, received in self.requests)


@dataclass(frozen=True)
class Opening:
    """How a new page opened a notebook, in milliseconds.

    `drawn` is how long it took until the cells in sight were painted, `marked` until they had their
    marks, too; `work_until_marked` and `work` are what the main thread computed until then, and
    until all cells had their editors; `profile` is None, or as the Chrome DevTools Protocol defines
    it.
    """

    drawn: float
    marked: float
    work_until_marked: float
    work: float
    requests: list[str]
    profile: Any


class Page:
    """A page of JupyterLab with one notebook."""

    def __init__(self, browser: Browser, name: str, path: str) -> None:
        self._browser = browser
        self._name = name
        self._path = path

    def watch(self, text: str) -> None:
        """Begin to watch for a text in the edited cell, and forget what the page did before."""
        self._send("watch", text=text)

    def wait(self) -> PageWork:
        """Wait until the text is visible and the page is at rest."""
        found = self._send("wait")
        return PageWork(
            painted_at=found["paintedAt"] / 1000,
            long_tasks=[task["duration"] for task in found["tasks"]],
            requests=[
                (f"{one['method']} {one['address']}", one["bytes"])
                for one in found["requests"]
                # JupyterLab also asks for kernels and folders from time to time.
                if "/nbedit/" in one["address"] or self._path in one["address"]
            ],
            socket_bytes=found["socketBytes"],
        )

    def start_profile(self) -> None:
        self._send("startProfile")

    def stop_profile(self) -> Any:
        """Return the profile since then, as the Chrome DevTools Protocol defines it."""
        return self._send("stopProfile")

    def close(self) -> None:
        self._send("close")

    def _send(self, command: str, **values: str) -> Any:
        return self._browser.send(command, page=self._name, **values)


class Browser:
    """A process that drives Chromium."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input: IO[bytes] = process.stdin
        self._output: IO[bytes] = process.stdout

    def open_page(self, name: str, server: LabServer, path: str) -> Page:
        """Open a notebook in a new page with a new profile."""
        self.send("open", page=name, url=server.url, token=server.token, path=path)
        return Page(self, name, path)

    def measure_opening(
        self, server: LabServer, path: str, *, is_marked: bool, is_profiled: bool
    ) -> Opening:
        """Open a notebook in a new page with a new profile, and close the page.

        ``is_marked`` says whether there are changes to mark.
        """
        found = self.send(
            "measureOpening",
            url=server.url,
            token=server.token,
            path=path,
            isMarked=is_marked,
            isProfiled=is_profiled,
        )
        return Opening(
            drawn=found["drawn"],
            marked=found["marked"],
            work_until_marked=found["workUntilMarked"],
            work=found["work"],
            profile=found["profile"],
            requests=[each for each in found["requests"] if "/nbedit/" in each],
        )

    def send(self, command: str, **values: str | bool) -> Any:
        """Send a command and return its result; raise RuntimeError if it failed."""
        self._input.write(json.dumps({"name": command, **values}).encode() + b"\n")
        self._input.flush()
        line = self._output.readline()
        if not line:
            raise RuntimeError("The process that drives Chromium has ended; see its output.")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


@contextmanager
def run_browser() -> Iterator[Browser]:
    """Run Chromium while the block runs; raise RuntimeError if Playwright is not installed."""
    if not (_UI_TESTS / "node_modules").is_dir():
        raise RuntimeError(f"There is no {_UI_TESTS / 'node_modules'}: run `npm ci` in ui-tests.")
    executable = chromium.find(playwright=_UI_TESTS / "node_modules")
    command = ("node", "benchmark/pages.mjs", str(executable))
    with subprocess.Popen(
        command, cwd=_UI_TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Browser(process)
        finally:
            # The end of its input ends it.
            process.communicate()
