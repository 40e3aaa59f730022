"""A server under a mixed load: whatever it takes it gives back, and its loop is never held up.

`NBEDIT_SOAK_SECONDS` says for how long, `NBEDIT_SOAK_SEED` makes the same choices again.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jupyter_nbedit.demo.server import Server, running
from tests.benchmarks.connection import pid
from tests.soak.load import RATE, Load
from tests.soak.pages import PAGES, Pages
from tests.soak.vitals import Patient, Vitals, slope

CI_SECONDS = 45.0
NIGHTLY_SECONDS = 1800.0
BRIEF_SECONDS = 9.0
#: Before that, caches fill and threads are started.
WARM_UP_SHARE = 0.33
#: The loop may be late by so much, in milliseconds.
LATE = 100.0
#: File descriptors that may be there for a moment, when nobody asks for anything.
FEW = 3
#: What memory may do in a short run, in which caches still fill and the allocator settles, in MB.
SETTLING = 24.0
#: What it may do in a long one: so many MB an hour, or so many altogether where that is more.
STEADY = 1.0
NOISE = 4.0
#: The slowest requests of its end may be so much slower than those of its beginning.
SLOWER = 1.2
#: From here on a run is long enough to tell of hours.
LONG_SECONDS = 1500.0
SAMPLE_SECONDS = 0.5
_NOT_NEEDED = ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")


@dataclass
class Soak:
    """One run: what was asked, and what the server held."""

    server: Server
    load: Load
    pages: Pages
    patient: Patient
    late: list[tuple[float, str]] = field(default_factory=list)

    def go_on(self, seconds: float) -> Vitals:
        """Ask for a while; then see what is held when nobody asks for anything."""
        self._late()
        with self.load.running(), self.pages.running():
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                time.sleep(SAMPLE_SECONDS)
                self.patient.look()
                self.late.append(self._late())
        return self._quiet()

    def _quiet(self) -> Vitals:
        """Wait until the server has noticed that all have left."""
        vitals = self.patient.look()
        for _ in range(20):
            time.sleep(SAMPLE_SECONDS)
            before, vitals = vitals, self.patient.look()
            if vitals.descriptors >= before.descriptors:
                break
        return vitals

    def _late(self) -> tuple[float, str]:
        status, answer = self.server.request("GET", "/soak/loop")
        assert status == 200, answer
        return answer["longest"], answer["where"]


@contextmanager
def soaking(folder: Path) -> Iterator[Soak]:
    if not Path("/proc/self/schedstat").exists():
        message = "what a process holds and waits for is told by Linux's /proc, which is not here"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    seed = int(os.environ.get("NBEDIT_SOAK_SEED") or random.SystemRandom().getrandbits(32))
    print(f"to choose the same again: NBEDIT_SOAK_SEED={seed}")
    (folder / "notebooks").mkdir()
    extensions = ("tests.soak.ticker=True", *(f"{name}=False" for name in _NOT_NEEDED))
    options = (f"--ServerApp.jpserver_extensions={extension}" for extension in extensions)
    with running("jupyter_server", folder, "--no-browser", *options) as server:
        load = Load(server, seed)
        load.make_notebooks()
        yield Soak(server, load, Pages(server, seed), Patient(pid(server)))


def test_a_server_gives_back_what_it_takes_and_its_loop_is_never_held_up(tmp_path: Path) -> None:
    nightly = "NBEDIT_NIGHTLY" in os.environ
    length = os.environ.get("NBEDIT_SOAK_SECONDS") or (NIGHTLY_SECONDS if nightly else CI_SECONDS)
    with soaking(tmp_path) as soak:
        soak_and_check(soak, float(length))


def test_so_does_it_in_a_brief_run(tmp_path: Path) -> None:
    with soaking(tmp_path) as soak:
        soak_and_check(soak, BRIEF_SECONDS)


def soak_and_check(soak: Soak, seconds: float) -> None:
    """Run the load for a while, and hold the server to what it held after the warm-up."""
    soak.load.fill_memory()
    before = soak.go_on(seconds * WARM_UP_SHARE)
    warm = len(soak.patient.seen)
    soak.late.clear()
    soak.load.seconds.clear()
    after = soak.go_on(seconds * (1 - WARM_UP_SHARE))
    growth = slope(soak.patient.seen[warm:])
    late, where = max(soak.late)
    told = (
        f"{dict(soak.load.counts)}, {soak.pages.visits} visits of {PAGES} pages, which heard "
        f"{soak.pages.heard} events; before: {before}; after: {after}; {growth:.1f} MB an hour; "
        f"late by {late:.0f} ms at most"
    )
    print(told)
    assert not soak.load.failures, soak.load.failures[:5]
    assert not soak.pages.failures, soak.pages.failures[:5]
    assert soak.load.counts.total() > RATE * seconds / 4, told
    assert soak.pages.visits > PAGES, told
    assert soak.pages.heard > PAGES, told
    assert after.descriptors <= before.descriptors + FEW, told
    assert after.threads <= before.threads + FEW, told
    assert after.megabytes <= before.megabytes + SETTLING, told
    assert late < LATE, f"{told}; it was here:\n{where}"
    if seconds >= LONG_SECONDS:
        assert growth < max(STEADY, NOISE / (seconds / 3600)), told
        quarter = len(soak.load.seconds) // 4
        first, last = soak.load.seconds[:quarter], soak.load.seconds[-quarter:]
        assert _p99(last) <= SLOWER * _p99(first), told


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[-1]


@pytest.mark.parametrize("growth", [0.0, 7.5])
def test_the_slope_of_memory_is_told_in_megabytes_an_hour(growth: float) -> None:
    seen = [Vitals(minute * 60.0, 80 + growth * minute / 60, 40, 10) for minute in range(90)]
    assert slope(seen) == pytest.approx(growth)
