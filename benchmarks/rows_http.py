"""Edits over HTTP, beside the Contents API and jupyter-mcp-server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat.sign import NotebookNotary

from benchmarks import notebooks
from benchmarks.bench import Bench
from benchmarks.connection import CONTENTS, Connection
from benchmarks.files import Edit, check_edit, source
from benchmarks.measuring import SETTLE_SECONDS, Figure
from benchmarks.peers import MCP
from benchmarks.report import Check, ReportRow, format_figure, format_ratio

EMPTY = "nothing was ever trusted"
UNTRUSTED = "other notebooks are trusted"
TRUSTED = "the notebook is trusted"
# Jupyter keeps up to 65,535.
SIGNATURES = 1_000
# It needs no settled files, and is the slowest by far.
MCP_ROUNDS = 3


def measure_http(bench: Bench) -> list[ReportRow]:
    """20 KB, 10,000 cells and 100 MB, beside the Contents API."""
    with bench.run_server("filled") as filled:
        ways = {
            EMPTY: (bench.extended_server, bench.extended_server.patch),
            UNTRUSTED: (filled, filled.patch),
            TRUSTED: (filled, filled.patch),
            CONTENTS: (bench.plain_server, bench.plain_server.edit_by_contents_api),
        }
        runs = [
            _Run("20 KB", notebooks.build_mixed(20_000), 5, ways, 5),
            _Run("10,000 cells", notebooks.build_many_cells(10_000), 100, ways, 2),
            _Run("100 MB of plots", notebooks.build_pictures(100_000_000), 20, ways),
            _Run("100 MB of printed text", notebooks.build_printed(100_000_000), 20, ways),
        ]
        trust(filled, *(run.content for run in runs), others=SIGNATURES)
        for turn in range(bench.rounds(4) + 1):
            _edit_all(bench, runs, is_counted=turn > 0, has_mcp=turn < MCP_ROUNDS)
    return [run.build_row() for run in runs]


def trust(connection: Connection, *contents: bytes, others: int = 0) -> None:
    """Trust notebooks, as `jupyter trust` does, and a number of others."""
    data = connection.server.root.parent / "data"
    data.mkdir(exist_ok=True)
    notary = NotebookNotary(data_dir=str(data))
    with closing(notary.store):
        for number in range(others):
            notary.store.store_signature(f"{number:064x}", notary.algorithm)
        for content in contents:
            notary.sign(nbformat.reads(content.decode(), as_version=4))


def _edit_all(bench: Bench, runs: list[_Run], *, is_counted: bool, has_mcp: bool) -> None:
    for run in runs:
        run.write_files()
    os.sync()
    time.sleep(SETTLE_SECONDS)
    for run in runs:
        run.edit(run.ways, source(1), "{}", is_counted=is_counted)
        if has_mcp and bench.mcp_server is not None:
            seconds = bench.mcp_server.edit(run.content, notebooks.EDITED, source(1))
            run.note(MCP, seconds, is_counted=is_counted)
    time.sleep(SETTLE_SECONDS)
    for run in runs:
        ours = [who for who in run.ways if who != CONTENTS]
        run.edit(ours, source(2), "{}, next edit", is_counted=is_counted)
        run.remove_files()


@dataclass
class _Run:
    """One notebook, edited in all ways."""

    name: str
    content: bytes
    target: float
    ways: Mapping[str, tuple[Connection, Edit]]
    copies: int = 1
    seconds: dict[str, list[float]] = field(default_factory=dict)
    files: dict[tuple[str, int], Path] = field(default_factory=dict)

    def write_files(self) -> None:
        """Write the notebook, or another one where it is not to be trusted."""
        other = self.content.replace(b'"Python 3"', b'"Python 4"', 1)
        for who, (connection, _) in self.ways.items():
            for number in range(self.copies):
                name = f"{who}-{self.name}-{number}.ipynb".replace(" ", "-")
                file = self.files[who, number] = connection.server.root / name
                file.write_bytes(self.content if who == TRUSTED else other)

    def edit(self, ways: Iterable[str], text: str, name: str, *, is_counted: bool) -> None:
        for number in range(self.copies):
            for who in ways:
                file = self.files[who, number]
                seconds = self.ways[who][1](file, notebooks.EDITED, text)
                check_edit(file, notebooks.EDITED, text)
                self.note(name.format(who), seconds, is_counted=is_counted)

    def note(self, who: str, seconds: float, *, is_counted: bool) -> None:
        if is_counted:
            self.seconds.setdefault(who, []).append(seconds)

    def remove_files(self) -> None:
        for file in self.files.values():
            file.unlink()
        self.files.clear()

    def build_row(self) -> ReportRow:
        figures = {who: Figure.summarize(values) for who, values in self.seconds.items()}
        contents = figures[CONTENTS]
        check = Check(contents.ratio_to(figures[EMPTY]), self.target, "x", at_least=True)
        rivals = [who for who in (CONTENTS, MCP) if who in figures]
        remark = "; ".join(
            f"{who} {format_figure(figure)} = {format_ratio(contents.ratio_to(figure))}"
            for who, figure in figures.items()
            if who not in rivals
        )
        return ReportRow(
            f"over HTTP, {self.name}: first edit, Contents API to it",
            [check],
            ", ".join(f"{who} {format_figure(figures[who])}" for who in rivals),
            figures,
            remark=remark,
        )
