"""Edits per second, and the time that other requests wait."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import count
from pathlib import Path

from benchmarks import notebooks
from benchmarks.bench import Bench
from benchmarks.connection import CONTENTS, Connection, RawConnection
from benchmarks.files import source
from benchmarks.measuring import SETTLE_SECONDS, Figure
from benchmarks.peers import MCP
from benchmarks.report import Check, ReportRow
from benchmarks.rows_http import trust
from tests.linear.documents import DOCUMENTS
from tests.support import samples
from tests.support.http import Client

IDLE = "no edit at all"
STATUS = "GET /api/status"
WINDOW_SECONDS = 1.0
YARDSTICK_SECONDS = 3.0
SLOW_BYTES = 200_000


def measure_yardstick(bench: Bench) -> float:
    """Return how many `GET /api/status` a plain Jupyter server answers in a second, to one client.

    Durations in the documentation are for a machine of which this is known.
    """
    with closing(RawConnection(bench.plain_server.server)) as raw:
        status = raw.build("GET", "/api/status")
        _count_per_second(lambda: raw.send(status))
        return _count_per_second(lambda: raw.send(status), YARDSTICK_SECONDS)


def measure_rate(bench: Bench) -> list[ReportRow]:
    """Durable edits a second, of a trusted notebook that stays trusted."""
    content = notebooks.build_mixed(20_000)
    turns = count()
    plain, mcp = bench.plain_server, bench.mcp_server
    copy = plain.server.root / "edited.ipynb"
    copy.write_bytes(content)
    with bench.run_server("rate") as ours, closing(RawConnection(ours.server)) as raw:
        file = ours.server.root / "edited.ipynb"
        file.write_bytes(content)
        trust(ours, content)
        status = raw.build("GET", "/api/status")
        work: dict[str, Callable[[], object]] = {
            "ours": lambda: raw.send(raw.build_patch(file, notebooks.EDITED, source(next(turns)))),
            STATUS: lambda: raw.send(status),
            CONTENTS: lambda: plain.edit_by_contents_api(
                copy, notebooks.EDITED, source(next(turns))
            ),
        }
        if mcp is not None:
            mcp.edit(content, notebooks.EDITED, source(next(turns)))
            work[MCP] = lambda: mcp.edit_again(notebooks.EDITED, source(next(turns)))
        rates: dict[str, list[float]] = {who: [] for who in work}
        for turn in range(bench.rounds(9) + 1):
            for who, once in work.items():
                rate = _count_per_second(once)
                # The first window warms up.
                if turn > 0:
                    rates[who].append(rate)
        _, seen = ours.request("GET", "/nbedit/notebooks/edited.ipynb?view=outline")
        if seen.get("trusted") is not True:
            raise RuntimeError("The notebook lost its trust: the figures mean nothing.")
    figures = {who: Figure.summarize(values) for who, values in rates.items()}
    rivals = ", ".join(f"{who} {figures[who].median:.0f}/s" for who in figures if who != "ours")
    check = Check(figures["ours"].median, 800, "/s", at_least=True)
    name = "durable edits a second, 20 KB, one connection, trust kept"
    return [ReportRow(name, [check], rivals, figures, "/s")]


def _count_per_second(work: Callable[[], object], seconds: float = WINDOW_SECONDS) -> float:
    began = time.perf_counter()
    done = 0
    while (passed := time.perf_counter() - began) < seconds:
        work()
        done += 1
    return done / passed


def measure_waits(bench: Bench) -> list[ReportRow]:
    """How long another request waits while a notebook is read or edited."""
    return [_measure_large(bench), _measure_slow(bench)]


def _measure_large(bench: Bench) -> ReportRow:
    waits: dict[str, list[float]] = {IDLE: []}
    for kind, make in notebooks.LARGE.items():
        content = make(100_000_000)
        file_name = "large.ipynb"
        for turn in range(bench.rounds(6)):
            for who, connection, edit in (
                ("ours", bench.extended_server, bench.extended_server.patch),
                (CONTENTS, bench.plain_server, bench.plain_server.edit_by_contents_api),
            ):
                file = connection.server.root / file_name
                file.write_bytes(content)
                os.sync()
                time.sleep(SETTLE_SECONDS)
                with _run_ping(connection) as pings:
                    took = edit(file, notebooks.EDITED, source(turn))
                waits.setdefault(f"{who}, {kind}", []).append(max(pings))
                with _run_ping(connection) as pings:
                    time.sleep(took)
                waits[IDLE].append(max(pings))
                file.unlink()
    return _build_row("longest wait of another request while 100 MB are edited", waits, 10)


def _measure_slow(bench: Bench) -> ReportRow:
    operation = {"op": "append_to_section", "section": "ok", "source": "x"}
    path = "/nbedit/notebooks/slow.ipynb"
    waits: dict[str, list[float]] = {IDLE: []}
    for kind, build in DOCUMENTS.items():
        cells = [samples.markdown(build(SLOW_BYTES), "slow"), samples.markdown("# ok", "ok")]
        (bench.extended_server.server.root / "slow.ipynb").write_bytes(samples.notebook(*cells))
        with _run_ping(bench.extended_server) as pings:
            bench.extended_server.request("GET", f"{path}?section=ok")
            bench.extended_server.request("PATCH", path, {"operations": [operation]})
        waits[f"ours, {kind}"] = [max(pings)]
        with _run_ping(bench.extended_server) as pings:
            time.sleep(WINDOW_SECONDS)
        waits[IDLE].append(max(pings))
    return _build_row("longest wait of another request beside slow Markdown", waits, 100)


def _build_row(name: str, waits: Mapping[str, list[float]], limit: float) -> ReportRow:
    longest = max(max(values) for who, values in waits.items() if who.startswith("ours"))
    check = Check(longest, limit, " ms")
    rivals = ", ".join(
        f"{who} {max(values):.0f} ms" for who, values in waits.items() if who.startswith(CONTENTS)
    )
    remark = f"the longest of all; with {IDLE} up to {max(waits[IDLE]):.1f} ms"
    figures = {who: Figure.summarize(values) for who, values in waits.items()}
    return ReportRow(name, [check], rivals, figures, "ms", remark)


def _run_ping(connection: Connection) -> AbstractContextManager[list[float]]:
    return run_ping(connection.server, "/api", pause=0.001)


@contextmanager
def run_ping(server: Client, path: str, pause: float) -> Iterator[list[float]]:
    """Ping a server from another process while the block runs; then return the waits in ms."""
    waits: list[float] = []
    script = Path(__file__).with_name("ping.py")
    command = (sys.executable, script, str(server.port), path, str(pause), server.token)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        yield waits
        process.stdin.close()
        waits.extend(json.loads(process.stdout.read()))
