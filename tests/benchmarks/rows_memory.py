"""How much memory an edit takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks import notebooks
from tests.benchmarks.connection import CONTENTS, pid
from tests.benchmarks.files import COLD, NBFORMAT, ORJSON, source
from tests.benchmarks.measuring import Figure
from tests.benchmarks.memory import Peak
from tests.benchmarks.results import Check, Row
from tests.benchmarks.rows_http import notary_of, trust

if TYPE_CHECKING:
    from tests.benchmarks.bench import Bench

LARGE = {"plots": notebooks.pictures, "printed text": notebooks.printed}
LIBRARY = "library"
SERVER = "server"
TRUSTED = "server, trusted notebook"
# What is touched is a cell of some hundred bytes.
LIMIT = 8.0


def memory(bench: Bench) -> list[Row]:
    """100 MB, in our library and in servers, each a process of its own."""
    taken: dict[str, list[float]] = {}
    for kind, make in LARGE.items():
        content = make(100_000_000)
        for who, name in ((COLD, LIBRARY), (ORJSON, ORJSON), (NBFORMAT, NBFORMAT)):
            taken.setdefault(name, []).append(_of_process(bench, who, content))
        for who in (SERVER, TRUSTED, CONTENTS):
            taken.setdefault(who, []).append(_of_server(bench, who, f"{kind}-{who}", content))
    checks = [
        Check(max(taken[who]), LIMIT, " MB", what=f"{who}:") for who in (LIBRARY, SERVER, TRUSTED)
    ]
    rivals = ", ".join(f"{who} {max(taken[who]):.0f} MB" for who in (NBFORMAT, ORJSON, CONTENTS))
    figures = {who: Figure.of(values) for who, values in taken.items()}
    return [Row("extra memory of an edit of 100 MB", checks, rivals, figures, "MB")]


def _of_process(bench: Bench, who: str, content: bytes) -> float:
    file = bench.files / "memory.ipynb"
    file.write_bytes(content)
    program = Path(__file__).with_name("memory.py")
    command = (sys.executable, "-W", "ignore", program, who, file)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    file.unlink()
    return float(done.stdout)


def _of_server(bench: Bench, who: str, name: str, content: bytes) -> float:
    folder = f"memory-{name.replace(' ', '-').replace('`', '')}"
    with bench.server(folder, extended=who != CONTENTS) as connection:
        edit = connection.contents if who == CONTENTS else connection.patch
        if who == TRUSTED:
            notary = notary_of(connection)
            trust(notary, content)
            notary.store.close()
        file = connection.server.root / "large.ipynb"
        small = connection.server.root / "small.ipynb"
        small.write_bytes(notebooks.mixed(20_000))
        for turn in range(3):
            edit(small, notebooks.EDITED, source(turn))
        file.write_bytes(content)
        peak = Peak(pid(connection.server))
        edit(file, notebooks.EDITED, source(1))
        return peak.megabytes()
