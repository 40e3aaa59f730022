"""A server under a mixed load releases all its resources.

`NBEDIT_SOAK_REQUESTS` says how many requests a nightly run has; only a run of 75,000 or more tells
slow growth of memory from caches that still fill.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.soak.load import MixedLoad
from tests.soak.pages import PAGES, Pages
from tests.support.sampling import is_nightly, seeded_random
from tests.support.servers import start_server
from tests.support.waiting import wait_until

#: How many requests a run has, and how long a page stays at most, in seconds.
BRIEF_REQUESTS, BRIEF_STAY = 120, 1.0
NIGHTLY_REQUESTS, NIGHTLY_STAY = int(os.environ.get("NBEDIT_SOAK_REQUESTS", "30000")), 4.0
#: Requests for each visit of a page.
REQUESTS_PER_VISIT = 20
#: Before that, caches fill and threads are started.
WARM_UP_SHARE = 0.33
#: File descriptors or threads that may be there for a moment without a request.
FEW = 3
#: What memory may do in a short run, in which caches still fill and the allocator settles, in MB.
SETTLING = 12.0
#: What it may do in a long one: so many MB in 100,000 requests, or so many altogether where that is
#: more.
STEADY = 0.6
NOISE = 4.0
#: A run of this length shows growth.
LONG_REQUESTS = 75_000
SAMPLE_SECONDS = 0.2
#: How many looks in a row must see the same.
QUIET = 8
_KIB_PER_MB = 1e6 / 1024


@dataclass(frozen=True)
class Vitals:
    """The resources of a process at one moment, as the kernel counts them."""

    requests: int
    megabytes: float
    descriptors: int
    threads: int

    def has_more_than(self, other: Vitals) -> bool:
        """Return whether there are more file descriptors or threads, but for a few."""
        descriptors = self.descriptors > other.descriptors + FEW
        return descriptors or self.threads > other.threads + FEW


@dataclass
class Soak:
    """One run: its load, and the resources of the server."""

    load: MixedLoad
    pages: Pages
    pid: int

    def send(self, requests: int) -> list[Vitals]:
        """Send at least so many requests; return the resources of the server meanwhile."""
        visits = self.pages.visits + max(PAGES, requests // REQUESTS_PER_VISIT)
        requests += self.load.counts.total()
        seen = []
        with self.load.run(), self.pages.run():
            while self.load.counts.total() < requests or self.pages.visits < visits:
                time.sleep(SAMPLE_SECONDS)
                seen.append(self.measure())
        return seen

    def measure(self) -> Vitals:
        process = Path("/proc", str(self.pid))
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return Vitals(
            self.load.counts.total(),
            int(status["RssAnon"].split()[0]) / _KIB_PER_MB,
            len(list((process / "fd").iterdir())),
            int(status["Threads"]),
        )

    def wait_until_quiet(self, is_quiet: Callable[[list[Vitals]], bool]) -> Vitals:
        """Return the resources of the server after all clients have left."""
        seen = [self.measure()]

        def look_again() -> bool:
            time.sleep(SAMPLE_SECONDS)
            seen.append(self.measure())
            return is_quiet(seen)

        wait_until(look_again, what="a server that gives back what it took")
        return seen[-1]


@contextmanager
def run_soak(folder: Path, longest_stay: float) -> Iterator[Soak]:
    if not Path("/proc/self/status").exists():
        message = "what a process holds is in Linux's /proc, which is not here"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    chance = seeded_random("soak")
    server = start_server(folder)
    try:
        load = MixedLoad(server.client, chance.getrandbits(32))
        load.make_notebooks()
        pages = Pages(server.client, chance.getrandbits(32), longest_stay)
        yield Soak(load, pages, server.process.pid)
    finally:
        server.stop()


@pytest.mark.skipif(not is_nightly(), reason="takes minutes")
@pytest.mark.timeout(120 + NIGHTLY_REQUESTS / 10)
def test_a_server_releases_memory_descriptors_and_threads(tmp_path: Path) -> None:
    with run_soak(tmp_path, NIGHTLY_STAY) as soak:
        soak_and_check(soak, NIGHTLY_REQUESTS)


def test_a_server_releases_resources_in_a_brief_run(tmp_path: Path) -> None:
    with run_soak(tmp_path, BRIEF_STAY) as soak:
        soak_and_check(soak, BRIEF_REQUESTS)


def soak_and_check(soak: Soak, requests: int) -> None:
    """Send requests, and compare the resources of the server with those after the warm-up."""
    soak.load.fill_memory()
    soak.send(int(requests * WARM_UP_SHARE))
    before = soak.wait_until_quiet(
        lambda seen: len(seen) > QUIET and len({one.descriptors for one in seen[-QUIET:]}) == 1
    )
    seen = soak.send(int(requests * (1 - WARM_UP_SHARE)))
    after = soak.wait_until_quiet(lambda seen: not seen[-1].has_more_than(before))
    # In MB for 100,000 requests.
    growth = statistics.linear_regression(
        [vitals.requests / 100_000 for vitals in seen], [vitals.megabytes for vitals in seen]
    ).slope
    summary = (
        f"{dict(soak.load.counts)}, {soak.pages.visits} visits of {PAGES} pages, which received "
        f"{soak.pages.received} events; before: {before}; after: {after}; {growth:.1f} MB in "
        "100,000 requests"
    )
    print(summary)
    assert not soak.load.failures, soak.load.failures[:5]
    assert not soak.pages.failures, soak.pages.failures[:5]
    assert soak.pages.received > PAGES, summary
    assert after.megabytes <= before.megabytes + SETTLING, summary
    if requests >= LONG_REQUESTS:
        assert growth < max(STEADY, NOISE / (requests / 100_000)), summary
