"""Edits over HTTP, beside the Contents API and jupyter-mcp-server."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import nbformat
from nbformat.sign import NotebookNotary

from tests.benchmarks import notebooks
from tests.benchmarks.connection import CONTENTS
from tests.benchmarks.files import check_edited, source
from tests.benchmarks.measuring import SETTLE_SECONDS, Figure
from tests.benchmarks.peers import MCP
from tests.benchmarks.results import Check, Row, milliseconds, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from tests.benchmarks.bench import Bench
    from tests.benchmarks.connection import Connection

EMPTY = "nothing was ever trusted"
UNTRUSTED = "other notebooks are trusted"
TRUSTED = "the notebook is trusted"
# Jupyter keeps up to 65,535.
SIGNATURES = 1_000


def over_http(bench: Bench) -> list[Row]:
    """20 KB, 10,000 cells and 100 MB, beside the Contents API."""
    with bench.server("filled") as filled:
        notary = notary_of(filled)
        for number in range(SIGNATURES):
            notary.store.store_signature(f"{number:064x}", notary.algorithm)
        ways = {
            EMPTY: (bench.ours, bench.ours.patch),
            UNTRUSTED: (filled, filled.patch),
            TRUSTED: (filled, filled.patch),
            CONTENTS: (bench.plain, bench.plain.contents),
        }
        runs = [
            _Run("20 KB", notebooks.mixed(20_000), 5, ways, 5),
            _Run("10,000 cells", notebooks.many(10_000), 100, ways, 2),
            _Run("100 MB of plots", notebooks.pictures(100_000_000), 20, ways),
            _Run("100 MB of printed text", notebooks.printed(100_000_000), 20, ways),
        ]
        for run in runs:
            trust(notary, run.content)
        for turn in range(bench.rounds(4) + 1):
            _round(bench, runs, turn)
        notary.store.close()
    return [run.row() for run in runs]


def notary_of(connection: Connection) -> NotebookNotary:
    """Give the notary of a server's user."""
    return NotebookNotary(data_dir=str(connection.server.root.parent / "data"))


def trust(notary: NotebookNotary, content: bytes) -> None:
    """Trust a notebook, as `jupyter trust` does."""
    notary.sign(nbformat.reads(content.decode(), as_version=4))


def _round(bench: Bench, runs: list[_Run], turn: int) -> None:
    for run in runs:
        run.prepare()
    os.sync()
    time.sleep(SETTLE_SECONDS)
    for run in runs:
        run.first(counted=turn > 0)
        # It needs no settled files, and is the slowest by far.
        if bench.mcp is not None and turn < 3:
            run.take(
                MCP, bench.mcp.edit(run.content, notebooks.EDITED, source(1)), counted=turn > 0
            )
    time.sleep(SETTLE_SECONDS)
    for run in runs:
        run.following(counted=turn > 0)
        run.remove()


@dataclass
class _Run:
    """One notebook, edited in all ways."""

    name: str
    content: bytes
    target: float
    ways: Mapping[str, tuple[Connection, Callable[[Path, str, str], float]]]
    copies: int = 1
    seconds: dict[str, list[float]] = field(default_factory=dict)
    files: dict[tuple[str, int], Path] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make the files, with another notebook where it is not to be trusted."""
        other = self.content.replace(b'"Python 3"', b'"Python 4"', 1)
        for who, (connection, _) in self.ways.items():
            for number in range(self.copies):
                name = f"{who}-{self.name}-{number}.ipynb".replace(" ", "-")
                file = self.files[who, number] = connection.server.root / name
                file.write_bytes(self.content if who == TRUSTED else other)

    def first(self, *, counted: bool) -> None:
        """Make the first edit of each file."""
        self._edit(self.ways, source(1), "{}", counted=counted)

    def following(self, *, counted: bool) -> None:
        """Make the next edit."""
        ours = [who for who in self.ways if who != CONTENTS]
        self._edit(ours, source(2), "{}, next edit", counted=counted)

    def _edit(self, ways: Iterable[str], text: str, name: str, *, counted: bool) -> None:
        for number in range(self.copies):
            for who in ways:
                file = self.files[who, number]
                took = self.ways[who][1](file, notebooks.EDITED, text)
                check_edited(file, notebooks.EDITED, text)
                self.take(name.format(who), took, counted=counted)

    def take(self, who: str, seconds: float, *, counted: bool) -> None:
        """Remember what was measured."""
        if counted:
            self.seconds.setdefault(who, []).append(seconds)

    def remove(self) -> None:
        """Remove the files."""
        for file in self.files.values():
            file.unlink()
        self.files.clear()

    def row(self) -> Row:
        """Give what was found."""
        taken = {who: Figure.of(values) for who, values in self.seconds.items()}
        contents = taken[CONTENTS]
        check = Check(contents.over(taken[EMPTY]), self.target, "x", at_least=True)
        rivals = f"{CONTENTS} {milliseconds(contents)}"
        if MCP in taken:
            rivals += f", {MCP} {milliseconds(taken[MCP])}"
        said = [
            f"{who} {milliseconds(figure)} = {times(contents.over(figure))}"
            for who, figure in taken.items()
            if who not in {CONTENTS, MCP}
        ]
        name = f"over HTTP, {self.name}: first edit, Contents API to it"
        return Row(name, [check], rivals, taken, remark="; ".join(said))
