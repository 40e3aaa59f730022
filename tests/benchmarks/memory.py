"""How much memory an edit takes beyond what a process had before: `memory.py WHO FILE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Python puts tests/benchmarks first.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.benchmarks import notebooks
from tests.benchmarks.files import (
    COLD,
    NBFORMAT,
    ORJSON,
    Library,
    source,
    with_nbformat,
    with_orjson,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.files import Cell

KIB_PER_MB = 1e6 / 1024


class Peak:
    """The highest that the memory of a process gets from here on, in MB beyond what it has now.

    What is counted is what the kernel calls the resident set, without the parts of files in it: all
    of it counts that a process has for itself.
    """

    def __init__(self, pid: int) -> None:
        self._process = Path("/proc", str(pid))
        # The kernel takes the present for the highest.
        (self._process / "clear_refs").write_text("5")
        self._before = self._status()

    def megabytes(self) -> float:
        """Give how much more it was at most."""
        now = self._status()
        files = max(0, now["RssFile"] - self._before["RssFile"])
        return max(0, now["VmHWM"] - self._before["VmRSS"] - files) / KIB_PER_MB

    def _status(self) -> dict[str, int]:
        lines = (self._process / "status").read_text().splitlines()
        pairs = (line.split(":", 1) for line in lines)
        return {name: int(value.split()[0]) for name, value in pairs if value.endswith("kB")}


def main() -> None:
    """Edit a small notebook, then the one that was named; print what that took."""
    who, file = sys.argv[1], Path(sys.argv[2])
    library = Library(file.parent)
    edits: dict[str, Callable[[Path, Cell, str], float]] = {
        COLD: library.cold,
        NBFORMAT: with_nbformat,
        ORJSON: with_orjson,
    }
    small = file.with_name("small.ipynb")
    small.write_bytes(notebooks.mixed(20_000))
    for turn in range(3):
        edits[who](small, notebooks.EDITED, source(turn))
    peak = Peak(os.getpid())
    edits[who](file, notebooks.EDITED, source(1))
    print(peak.megabytes())
    library.close()


if __name__ == "__main__":
    main()
