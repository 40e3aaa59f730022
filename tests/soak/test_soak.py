"""A server under a mixed load: whatever it takes it gives back.

`NBEDIT_SOAK_REQUESTS` says for how long, `NBEDIT_SOAK_SEED` makes the same choices again. How late
the server's loop was, and how long requests took, is printed: it depends on the machine.
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
from tests.benchmarks.connection import process_id
from tests.soak.load import Load
from tests.soak.pages import PAGES, Pages
from tests.soak.vitals import Patient, Vitals, slope
from tests.support.sizes import is_nightly

#: How many requests a run has; as many a second as `RATE` says, on a machine that can do so.
CI_REQUESTS = 2_000
NIGHTLY_REQUESTS = 90_000
BRIEF_REQUESTS = 450
#: How many requests it has for each visit of a page, at least.
REQUESTS_A_VISIT = 20
#: Before that, caches fill and threads are started.
WARM_UP_SHARE = 0.33
#: How many looks in a row must see the same.
QUIET = 6
#: What memory may do in a short run, in which caches still fill and the allocator settles, in MB.
SETTLING = 24.0
#: What it may do in a long one: so many MB in 100,000 requests, or so many altogether where that is
#: more.
STEADY = 0.6
NOISE = 4.0
#: From here on a run is long enough to tell of growth.
LONG_REQUESTS = 75_000
SAMPLE_SECONDS = 0.5
#: Until the server has noticed that all have left; only ends a test that hangs.
HANGING_SECONDS = 120.0
_NOT_NEEDED = ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")


@dataclass
class Soak:
    """One run: what was asked, and what the server held."""

    server: Server
    load: Load
    pages: Pages
    patient: Patient
    late: list[tuple[float, str]] = field(default_factory=list)

    def go_on(self, requests: int, before: Vitals | None = None) -> Vitals:
        """Ask so many times; then see what is held when nobody asks for anything.

        Parameters
        ----------
        requests
            How many requests are made, at least.
        before
            What was held before, if that is known; the server is waited for until it holds no more.
        """
        self._late()
        asked, visits = self.load.counts.total() + requests, self.pages.visits
        visits += max(PAGES, requests // REQUESTS_A_VISIT)
        with self.load.running(), self.pages.running():
            while self.load.counts.total() < asked or self.pages.visits < visits:
                time.sleep(SAMPLE_SECONDS)
                self._look()
                self.late.append(self._late())
        return self._quiet(before)

    def _look(self) -> Vitals:
        return self.patient.look(self.load.counts.total())

    def _quiet(self, before: Vitals | None) -> Vitals:
        """Wait until the server has noticed that all have left."""
        deadline = time.monotonic() + HANGING_SECONDS
        seen = [self._look()]
        while time.monotonic() < deadline:
            time.sleep(SAMPLE_SECONDS)
            seen.append(self._look())
            if before is None:
                # It is over when nothing has changed for a while.
                if len(seen) > QUIET and len({one.descriptors for one in seen[-QUIET:]}) == 1:
                    break
            elif not seen[-1].holds_more_than(before):
                break
        return seen[-1]

    def speed(self) -> str:
        """Say how long the slowest requests took in the first and in the last quarter."""
        quarter = len(self.load.seconds) // 4
        first, last = self.load.seconds[:quarter], self.load.seconds[-quarter:]
        return f"p99 {1000 * _p99(first):.0f} ms at first and {1000 * _p99(last):.0f} ms at last"

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
        yield Soak(server, load, Pages(server, seed), Patient(process_id(server.root)))


def test_a_server_gives_back_what_it_takes(tmp_path: Path) -> None:
    nightly = is_nightly()
    usual = NIGHTLY_REQUESTS if nightly else CI_REQUESTS
    with soaking(tmp_path) as soak:
        soak_and_check(soak, int(os.environ.get("NBEDIT_SOAK_REQUESTS") or usual))


def test_so_does_it_in_a_brief_run(tmp_path: Path) -> None:
    with soaking(tmp_path) as soak:
        soak_and_check(soak, BRIEF_REQUESTS)


def soak_and_check(soak: Soak, requests: int) -> None:
    """Run the load for a while, and hold the server to what it held after the warm-up."""
    soak.load.fill_memory()
    before = soak.go_on(int(requests * WARM_UP_SHARE))
    warm = len(soak.patient.seen)
    soak.late.clear()
    soak.load.seconds.clear()
    after = soak.go_on(int(requests * (1 - WARM_UP_SHARE)), before)
    growth = slope(soak.patient.seen[warm:])
    late, where = max(soak.late)
    told = (
        f"{dict(soak.load.counts)}, {soak.pages.visits} visits of {PAGES} pages, which heard "
        f"{soak.pages.heard} events; before: {before}; after: {after}; {growth:.1f} MB in 100,000 "
        "requests"
    )
    print(f"{told}; {soak.speed()}; late by {late:.0f} ms at most, and it was here:\n{where}")
    assert not soak.load.failures, soak.load.failures[:5]
    assert not soak.pages.failures, soak.pages.failures[:5]
    assert soak.pages.heard > PAGES, told
    assert not after.holds_more_than(before), told
    assert after.megabytes <= before.megabytes + SETTLING, told
    if requests >= LONG_REQUESTS:
        assert growth < max(STEADY, NOISE / (requests / 100_000)), told


def _p99(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[-1]


@pytest.mark.parametrize("growth", [0.0, 7.5])
def test_the_slope_of_memory_is_told_in_megabytes_in_a_hundred_thousand_requests(
    growth: float,
) -> None:
    seen = [Vitals(1_000 * look, 80 + growth * look / 100, 40, 10) for look in range(90)]
    assert slope(seen) == pytest.approx(growth)
