"""How much memory an edit takes beyond what a process had before.

`memory.py WHO FILE` edits a file in a process of its own, and prints its megabytes.
"""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

if __name__ == "__main__":
    # Python puts benchmarks first.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks import notebooks
from benchmarks.bench import Bench
from benchmarks.connection import CONTENTS
from benchmarks.files import FIRST, NBFORMAT, ORJSON, Edit, Library, list_contenders, source
from benchmarks.measuring import Figure
from benchmarks.report import Check, ReportRow
from benchmarks.rows_http import trust

KIB_PER_MB = 1e6 / 1024
SERVER = "server"
TRUSTED = "server, trusted notebook"
# What is changed is a cell of some hundred bytes.
LIMIT = 8.0


class Peak:
    """The highest that the memory of a process gets from here on, in MB beyond what it has now.

    It is the resident set without the parts of files in it, as the kernel counts them.
    """

    def __init__(self, pid: int) -> None:
        self._process = Path("/proc", str(pid))
        # The kernel takes the present for the highest.
        (self._process / "clear_refs").write_text("5")
        self._before = self._status()

    def megabytes(self) -> float:
        now = self._status()
        files = max(0, now["RssFile"] - self._before["RssFile"])
        return max(0, now["VmHWM"] - self._before["VmRSS"] - files) / KIB_PER_MB

    def _status(self) -> dict[str, int]:
        lines = (self._process / "status").read_text().splitlines()
        pairs = (line.split(":", 1) for line in lines)
        return {name: int(value.split()[0]) for name, value in pairs if value.endswith("kB")}


def measure_memory(bench: Bench) -> list[ReportRow]:
    """100 MB, in our library and in servers, each a process of its own."""
    peaks: dict[str, list[float]] = {}
    for kind, make in notebooks.LARGE.items():
        content = make(100_000_000)
        for who in (FIRST, ORJSON, NBFORMAT):
            file = bench.files / "memory.ipynb"
            file.write_bytes(content)
            command = (sys.executable, "-W", "ignore", __file__, who, file)
            process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            peaks.setdefault("library" if who == FIRST else who, []).append(float(process.stdout))
            file.unlink()
        for number, who in enumerate((SERVER, TRUSTED, CONTENTS)):
            folder = f"memory-{kind.replace(' ', '-')}-{number}"
            peaks.setdefault(who, []).append(_measure_server(bench, who, folder, content))
    checks = [
        Check(max(peaks[who]), LIMIT, " MB", what=f"{who}:") for who in ("library", SERVER, TRUSTED)
    ]
    rivals = ", ".join(f"{who} {max(peaks[who]):.0f} MB" for who in (NBFORMAT, ORJSON, CONTENTS))
    figures = {who: Figure.summarize(values) for who, values in peaks.items()}
    return [ReportRow("extra memory of an edit of 100 MB", checks, rivals, figures, "MB")]


def _measure_server(bench: Bench, who: str, folder: str, content: bytes) -> float:
    with bench.run_server(folder, is_extended=who != CONTENTS) as connection:
        edit = connection.edit_by_contents_api if who == CONTENTS else connection.patch
        if who == TRUSTED:
            trust(connection, content)
        file = connection.server.root / "large.ipynb"
        file.write_bytes(content)
        return _measure_edit(edit, file, connection.process_id)


def _measure_edit(edit: Edit, file: Path, pid: int) -> float:
    """Edit a small notebook, which loads all imports; then measure the edit of the file."""
    small = file.with_name("small.ipynb")
    small.write_bytes(notebooks.build_mixed(20_000))
    for turn in range(3):
        edit(small, notebooks.EDITED, source(turn))
    peak = Peak(pid)
    edit(file, notebooks.EDITED, source(1))
    return peak.megabytes()


def main() -> None:
    who, file = sys.argv[1], Path(sys.argv[2])
    with closing(Library(file.parent)) as library:
        print(_measure_edit(list_contenders(library)[who], file, os.getpid()))


if __name__ == "__main__":
    main()
