"""A mixed load: what agents and pages ask of a server, at a steady pace."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from jupyter_nbedit.demo.server import Server
from tests.benchmarks import notebooks

RATE = 50.0  # requests a second
CELLS = 1_000
#: So many versions of so many cells are more than the server remembers.
FILLING = 35
THREADS = 5
#: Refusals that belong to the game: there was nothing to take back, or others were faster.
ALLOWED = {("undo", 409), ("edit", 409)}


@dataclass
class Load:
    """Requests to one server, from several clients.

    Parameters
    ----------
    server
        Where they go.
    seed
        Decides what is asked.
    """

    server: Server
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def make_notebooks(self) -> None:
        """Make what is edited: many small notebooks, and some that are not."""
        for number in range(10):
            (self.server.root / f"small-{number}.ipynb").write_bytes(notebooks.mixed(20_000))
        (self.server.root / "cells.ipynb").write_bytes(notebooks.many(CELLS))
        (self.server.root / "large.ipynb").write_bytes(notebooks.mixed(3_000_000))

    def fill_memory(self) -> None:
        """Make the server remember as many documents as it ever will."""
        for number in range(FILLING):
            source = f"x = {number}"
            operations = [{"op": "replace", "cell": notebooks.EDITED, "source": source}]
            address = "/nbedit/notebooks/cells.ipynb"
            status, answer = self.server.request("PATCH", address, {"operations": operations})
            if status != HTTPStatus.OK:
                self.failures.append(f"edit: {status} {json.dumps(answer)[:300]}")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Ask while the block does."""
        self._ended.clear()
        threads = [
            threading.Thread(target=self._ask, args=(random.Random(self.seed + number),))  # noqa: S311 - not secret
            for number in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _ask(self, chance: random.Random) -> None:
        asks: dict[str, Callable[[random.Random], tuple[int, Any]]] = {
            "read": self._read,
            "edit": self._edit,
            "search": self._search,
            "undo": self._undo,
            "create": self._create,
        }
        weights = (45, 35, 5, 10, 5)
        due = time.monotonic()
        while not self._ended.is_set():
            (kind,) = chance.choices(list(asks), weights)
            began = time.perf_counter()
            try:
                status, answer = asks[kind](chance)
            except OSError as error:
                status, answer = 0, repr(error)
            self.seconds.append(time.perf_counter() - began)
            self.counts[kind] += 1
            if not 200 <= status < 300 and (kind, status) not in ALLOWED:
                self.failures.append(f"{kind}: {status} {json.dumps(answer)[:300]}")
            due = max(due + THREADS / RATE, time.monotonic() - 1)
            self._ended.wait(max(0.0, due - time.monotonic()))

    def _read(self, chance: random.Random) -> tuple[int, Any]:
        view = chance.choice(["outline", "source", "full"])
        return self.server.request("GET", f"{_address(chance)}?view={view}&max_chars=20000")

    def _edit(self, chance: random.Random) -> tuple[int, Any]:
        source = f"x = {chance.random()}\nprint(x)"
        operations = [{"op": "replace", "cell": notebooks.EDITED, "source": source}]
        body = {"operations": operations, "client": f"agent {chance.randrange(5)}"}
        return self.server.request("PATCH", _address(chance), body)

    def _search(self, chance: random.Random) -> tuple[int, Any]:
        body = {"query": chance.choice(notebooks.WORDS), "limit": 20}
        return self.server.request("POST", "/nbedit/search", body)

    def _undo(self, chance: random.Random) -> tuple[int, Any]:
        return self.server.request("POST", f"{_address(chance)}/undo", {})

    def _create(self, chance: random.Random) -> tuple[int, Any]:
        name = f"new-{chance.getrandbits(48):x}.ipynb"
        cells = [{"source": "print(1)", "cell_type": "code"}]
        answer = self.server.request("PUT", f"/nbedit/notebooks/{name}", {"cells": cells})
        # The folder must not grow, or searching it takes longer and longer.
        (self.server.root / name).unlink(missing_ok=True)
        return answer


def _address(chance: random.Random) -> str:
    names = [*(f"small-{number}" for number in range(10)), "cells", "large"]
    (name,) = chance.choices(names, [10] * 10 + [3, 2])
    return f"/nbedit/notebooks/{name}.ipynb"
