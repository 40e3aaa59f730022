"""How long an edit takes from the request to the pixels of an open tab, and what it costs."""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import lab_server
from lab_server import LabServer

from benchmarks import notebooks
from benchmarks.bench import Bench
from benchmarks.browser import Browser, Page, run_browser
from benchmarks.connection import Connection
from benchmarks.measuring import Figure
from benchmarks.memory import Peak
from benchmarks.page_profile import PageProfile, format_profile
from benchmarks.report import Check, ReportRow
from benchmarks.rows_load import run_ping
from tests.support.http import Client

OURS = "ours"
NOTEBOOK = "open.ipynb"
ROUNDS = 9
WARM_UP = 2
PROFILED = 3
PING_PAUSE = 0.005
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "full"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}


@dataclass(frozen=True)
class Size:
    """A notebook, and the most that an edit of it may cost.

    `pixels` and `wait` are milliseconds, `received` is in bytes. With `is_windowed` JupyterLab
    shows it in the windowing mode "full", otherwise in its default mode.
    """

    build: Callable[[], bytes]
    pixels: float
    received: int = 30_000
    wait: float = 20
    is_windowed: bool = False


SIZES: Mapping[str, Size] = {
    "20 KB": Size(lambda: notebooks.build_mixed(20_000), 150),
    "2 MB": Size(lambda: notebooks.build_pictures(2_000_000), 150),
    "20 MB": Size(lambda: notebooks.build_pictures(20_000_000), 200),
    "100 MB": Size(lambda: notebooks.build_pictures(100_000_000), 200, wait=30),
    "1,000 cells": Size(lambda: notebooks.build_many_cells(1_000), 200, 60_000),
    "10,000 cells": Size(
        lambda: notebooks.build_many_cells(10_000), 300, 300_000, is_windowed=True
    ),
}


@dataclass
class _Version:
    """An installed version of this package: its server, its page, and what was measured of it."""

    name: str
    server: LabServer
    connection: Connection
    page: Page
    values: dict[str, list[float]] = field(default_factory=dict)
    last_requests: list[tuple[str, int]] = field(default_factory=list)
    profiles: list[PageProfile] = field(default_factory=list)

    def edit(self, text: str, *, is_counted: bool) -> None:
        """Edit the cell, and measure until the page is at rest."""
        file = self.server.root / NOTEBOOK
        self.page.watch(text)
        with run_ping(self.connection.server, "/api/status", PING_PAUSE) as waits:
            sent_at = time.time()
            answered = self.connection.patch(file, notebooks.EDITED, text)
            work = self.page.wait()
        if is_counted:
            self._note("to pixels, ms", 1000 * (work.painted_at - sent_at))
            self._note("to the reply, ms", 1000 * answered)
            self._note("KB received by the page", work.bytes_received / 1000)
            self._note("requests of the page", len(work.requests))
            self._note("longest wait of GET /api/status, ms", max(waits))
            self._note("longest task of the page, ms", max(work.long_tasks, default=0))
            self.last_requests = work.requests

    def note_memory(self, peak: Peak) -> None:
        self._note("server memory, MB", peak.megabytes())

    def profile(self, turns: Iterable[int]) -> None:
        """Edit the cell, and measure what the functions of the page take."""
        file = self.server.root / NOTEBOOK
        for turn in turns:
            self.page.watch(_source(turn))
            self.page.start_profile()
            self.connection.patch(file, notebooks.EDITED, _source(turn))
            self.page.wait()
            profile = PageProfile.from_cdp(self.page.stop_profile())
            self.profiles.append(profile)
            self._note("longest run of our functions, ms", max(profile.our_tasks, default=0))

    def check(self, what: str, limit: float, unit: str, name: str = "") -> Check:
        """Compare the median of what was measured with its limit."""
        return Check(statistics.median(self.values[what]), limit, unit, what=name)

    def _note(self, what: str, value: float) -> None:
        self.values.setdefault(what, []).append(value)


def measure_tabs(bench: Bench) -> list[ReportRow]:
    """An edit of a visible cell, from 20 KB to 100 MB and to 10,000 cells."""
    environments = {OURS: Path(sys.prefix)}
    if bench.tabs.beside:
        environments[bench.tabs.beside.name] = bench.tabs.beside
    with run_browser() as browser:
        return [
            _measure(bench, browser, environments, name, SIZES[name])
            for name in bench.tabs.sizes or SIZES
        ]


def _measure(
    bench: Bench, browser: Browser, environments: Mapping[str, Path], name: str, size: Size
) -> ReportRow:
    turns = bench.rounds(ROUNDS) + WARM_UP
    with ExitStack() as stack:
        versions = [
            stack.enter_context(_open_version(bench, browser, who, environment, size))
            for who, environment in environments.items()
        ]
        for turn in range(WARM_UP):
            for version in versions:
                version.edit(_source(turn), is_counted=False)
        peaks = [Peak(version.server.process_id) for version in versions]
        for turn in range(WARM_UP, turns):
            # The one that was first is last in the next turn.
            for version in versions[:: 1 if turn % 2 == 0 else -1]:
                version.edit(_source(turn), is_counted=True)
        for version, peak in zip(versions, peaks, strict=True):
            version.note_memory(peak)
        for version in versions:
            version.profile(range(turns, turns + PROFILED))
        for version in versions if bench.tabs.is_profiled else ():
            requests = "\n".join(f"  {sent} {received}" for sent, received in version.last_requests)
            print(f"[{name}, {version.name}]\n{requests}\n{format_profile(version.profiles)}\n")
    figures = {
        f"{version.name}: {what}": Figure.summarize(values)
        for version in versions
        for what, values in version.values.items()
    }
    return ReportRow(
        f"an edit in an open tab, {name}",
        _build_checks(versions[0], size),
        "; ".join(_format_values(version, size) for version in versions[1:]),
        figures,
        "",
        f"JupyterLab {versions[0].server.version}",
    )


@contextmanager
def _open_version(
    bench: Bench, browser: Browser, who: str, environment: Path, size: Size
) -> Iterator[_Version]:
    folder = bench.make_temporary_folder()
    with lab_server.running(environment, folder, "/") as server:
        for plugin, settings in SETTINGS.items():
            if plugin != "notebook-extension/tracker" or size.is_windowed:
                file = folder / "settings" / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
                file.parent.mkdir(parents=True)
                file.write_text(json.dumps(settings))
        (server.root / NOTEBOOK).write_bytes(size.build())
        client = Client(server.port, server.token, server.root)
        with (
            closing(Connection(client, server.process_id)) as connection,
            closing(browser.open_page(who, server, NOTEBOOK)) as page,
        ):
            yield _Version(who, server, connection, page)


def _build_checks(version: _Version, size: Size) -> list[Check]:
    return [
        version.check("to pixels, ms", size.pixels, " ms"),
        version.check("KB received by the page", size.received / 1000, " KB"),
        version.check("longest wait of GET /api/status, ms", size.wait, " ms", "wait"),
        version.check("server memory, MB", 8, " MB"),
        version.check("longest run of our functions, ms", 50, " ms", "task"),
    ]


def _format_values(version: _Version, size: Size) -> str:
    values = [check.format_value() for check in _build_checks(version, size)]
    return f"{version.name} {' / '.join(values)}"


def _source(turn: int) -> str:
    return f"x = 'edit number {turn}'"
