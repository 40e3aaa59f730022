"""How many edits a second there are, and how long others wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks import notebooks
from tests.benchmarks.connection import CONTENTS
from tests.benchmarks.files import source
from tests.benchmarks.measuring import SETTLE_SECONDS, Figure
from tests.benchmarks.peers import MCP
from tests.benchmarks.raw import Raw
from tests.benchmarks.results import Check, Row
from tests.benchmarks.rows_http import notary_of, trust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.benchmarks.bench import Bench
    from tests.benchmarks.connection import Connection

LARGE = {"plots": notebooks.pictures, "printed text": notebooks.printed}
IDLE = "no edit at all"
WINDOW_SECONDS = 1.0


def rate(bench: Bench) -> list[Row]:
    """Durable edits a second, of a trusted notebook that stays trusted."""
    content = notebooks.mixed(20_000)
    with bench.server("rate") as connection:
        notary = notary_of(connection)
        trust(notary, content)
        file = connection.server.root / "edited.ipynb"
        file.write_bytes(content)
        with closing(Raw(connection.server)) as raw:
            requests = (raw.patch(file, notebooks.EDITED, source(turn)) for turn in count())
            _windows(lambda: raw.send(next(requests)), 2)
            taken = {"ours": _windows(lambda: raw.send(next(requests)), bench.rounds(9))}
            status = raw.get("/api/status")
            taken["GET /api/status"] = _windows(lambda: raw.send(status), 2)
        _check_trusted(connection, file)
        notary.store.close()
    plain = bench.plain
    copy = plain.server.root / "edited.ipynb"
    copy.write_bytes(content)
    turns = count()
    taken[CONTENTS] = _windows(
        lambda: plain.contents(copy, notebooks.EDITED, source(next(turns))), 3
    )
    if (mcp := bench.mcp) is not None:
        mcp.edit(content, notebooks.EDITED, source(0))
        taken[MCP] = _windows(lambda: mcp.edit_again(notebooks.EDITED, source(next(turns))), 3)
    rivals = ", ".join(
        f"{who} {figure.median:.0f}/s" for who, figure in taken.items() if who != "ours"
    )
    check = Check(taken["ours"].median, 800, "/s", at_least=True)
    name = "durable edits a second, 20 KB, one connection, trust kept"
    return [Row(name, [check], rivals, taken, "/s")]


def _windows(work: Callable[[], object], windows: int) -> Figure:
    """Work for some windows of time; give how often it was done in a second."""
    rates = []
    for _ in range(windows):
        began = time.perf_counter()
        done = 0
        while (took := time.perf_counter() - began) < WINDOW_SECONDS:
            work()
            done += 1
        rates.append(done / took)
    return Figure.of(rates)


def _check_trusted(connection: Connection, file: Path) -> None:
    _, seen = connection.request("GET", f"/nbedit/notebooks/{file.name}?view=outline")
    if seen.get("trusted") is not True:
        raise RuntimeError("The notebook lost its trust: the figures mean nothing.")


def stall(bench: Bench) -> list[Row]:
    """How long another request waits while a notebook of 100 MB is edited."""
    longest: dict[str, list[float]] = {}
    for kind, make in LARGE.items():
        content = make(100_000_000)
        for who, connection, edit in (
            ("ours", bench.ours, bench.ours.patch),
            (CONTENTS, bench.plain, bench.plain.contents),
        ):
            file = connection.server.root / "large.ipynb"
            for turn in range(bench.rounds(6 if who == "ours" else 3)):
                file.write_bytes(content)
                os.sync()
                time.sleep(SETTLE_SECONDS)
                with _pinged(connection) as pings:
                    began = time.perf_counter()
                    edit(file, notebooks.EDITED, source(turn))
                    took = time.perf_counter() - began
                    time.sleep(took)
                during = [wait for at, wait in pings if at <= began + took and at + wait >= began]
                after = [wait for at, wait in pings if at > began + took]
                longest.setdefault(f"{who}, {kind}", []).append(1000 * max(during))
                longest.setdefault(IDLE, []).append(1000 * max(after, default=0.0))
            file.unlink()
    checks = [Check(max(longest[f"ours, {kind}"]), 10, " ms", what=f"{kind}:") for kind in LARGE]
    rivals = ", ".join(
        f"{who} {max(waits):.0f} ms" for who, waits in longest.items() if who.startswith(CONTENTS)
    )
    remark = f"the longest of all edits; with {IDLE} up to {max(longest[IDLE]):.1f} ms"
    figures = {who: Figure.of(waits) for who, waits in longest.items()}
    name = "longest wait of another request while 100 MB are edited"
    return [Row(name, checks, rivals, figures, "ms", remark)]


@contextmanager
def _pinged(connection: Connection) -> Iterator[list[tuple[float, float]]]:
    """Ping a server from another process while the block does; then give when, and for how long."""
    pings: list[tuple[float, float]] = []
    command = (sys.executable, Path(__file__).with_name("ping.py"), str(connection.server.port))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("The pings need pipes.")
        process.stdout.readline()
        yield pings
        process.stdin.close()
        pings.extend((at, wait) for at, wait in json.loads(process.stdout.read()))
