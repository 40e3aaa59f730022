"""A mixed load: requests of agents and pages."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from benchmarks import notebooks
from tests.support.http import JSON, Answer, Client
from tests.support.sampling import is_nightly

CELLS = 1_000
#: So many versions of so many cells fill the cache of documents; at night that of versions, too.
FILLING = 900 if is_nightly() else 35
THREADS = 5
#: Expected errors: there was nothing to undo, or another request was faster.
ALLOWED = {("undo", 409), ("edit", 409)}


@dataclass
class MixedLoad:
    """Requests to one server, from several clients; the seed decides which."""

    client: Client
    seed: int
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def make_notebooks(self) -> None:
        """Write the notebooks: many small ones, and some large ones."""
        for number in range(10):
            (self.client.root / f"small-{number}.ipynb").write_bytes(notebooks.build_mixed(20_000))
        (self.client.root / "cells.ipynb").write_bytes(notebooks.build_many_cells(CELLS))
        (self.client.root / "large.ipynb").write_bytes(notebooks.build_mixed(3_000_000))

    def fill_memory(self) -> None:
        """Make the server remember as many documents and versions as it ever will."""
        # Versions are remembered from the first one on that somebody has read.
        assert self.client.read("cells.ipynb").status == 200
        for number in range(FILLING):
            answer = self._replace("cells.ipynb", f"x = {number}")
            assert answer.status == 200, answer.body

    @contextmanager
    def run(self) -> Iterator[None]:
        """Send requests while the block runs."""
        self._ended.clear()
        threads = [
            threading.Thread(target=self._send, args=(random.Random(self.seed + number),))  # noqa: S311 - not secret
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

    def _send(self, chance: random.Random) -> None:
        requests: dict[str, Callable[[random.Random], Answer]] = {
            "read": self._read,
            "edit": self._edit,
            "search": self._search,
            "undo": self._undo,
            "create": self._create,
        }
        while not self._ended.is_set():
            (kind,) = chance.choices(list(requests), (45, 35, 5, 10, 5))
            try:
                answer = requests[kind](chance)
            except OSError as error:
                self.failures.append(f"{kind}: {error!r}")
            else:
                if not 200 <= answer.status < 300 and (kind, answer.status) not in ALLOWED:
                    self.failures.append(f"{kind}: {answer.status} {answer.body[:300]!r}")
            self.counts[kind] += 1

    def _read(self, chance: random.Random) -> Answer:
        view = chance.choice(["outline", "source", "full"])
        return self.client.read(_choose_name(chance), view=view, max_chars=20000)

    def _edit(self, chance: random.Random) -> Answer:
        source = f"x = {chance.random()}\nprint(x)"
        return self._replace(_choose_name(chance), source, client=f"agent {chance.randrange(5)}")

    def _replace(self, name: str, source: str, **fields: Any) -> Answer:
        operation = {"op": "replace", "cell": notebooks.EDITED, "source": source}
        return self.client.patch(name, operation, **fields)

    def _search(self, chance: random.Random) -> Answer:
        body = orjson.dumps({"query": chance.choice(notebooks.WORDS), "limit": 20})
        return self.client.request("POST", "nbedit/search", body, JSON)

    def _undo(self, chance: random.Random) -> Answer:
        target = f"nbedit/notebooks/{_choose_name(chance)}/undo"
        return self.client.request("POST", target, b"{}", JSON)

    def _create(self, chance: random.Random) -> Answer:
        name = f"new-{chance.getrandbits(48):x}.ipynb"
        body = orjson.dumps({"cells": [{"source": "print(1)", "cell_type": "code"}]})
        answer = self.client.request("PUT", f"nbedit/notebooks/{name}", body, JSON)
        # The folder must not grow, or searching it takes longer and longer.
        (self.client.root / name).unlink(missing_ok=True)
        return answer


def _choose_name(chance: random.Random) -> str:
    names = [*(f"small-{number}" for number in range(10)), "cells", "large"]
    (name,) = chance.choices(names, [10] * 10 + [3, 2])
    return f"{name}.ipynb"
