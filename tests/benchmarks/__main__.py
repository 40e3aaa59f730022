"""Print what one edit costs, ours and the rivals', as a Markdown table: `python tests/benchmarks`.

Every figure is a median, and all of a row are taken in turns in one run, each on a copy of the
notebook that nobody has touched for some seconds. Nothing here decides whether a test passes.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jupyter_nbedit.demo.server import running

# `python tests/benchmarks` puts tests/benchmarks first.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.benchmarks.contenders import (  # noqa: E402 - needs the line above
    Library,
    Over,
    closing_all,
    copy,
    is_edited,
    with_nbformat,
)
from tests.benchmarks.notebooks import notebook  # noqa: E402

Edit = Callable[[Path], None]

ROUNDS = {20_000: 21, 1_000_000: 11, 10_000_000: 5, 100_000_000: 3}
# Longer than the tick of any file system's clock: within it even an unchanged time stamp proves
# nothing, and our storage compares the bytes.
SETTLE_SECONDS = 2.5

COPY = "copy + fsync + rename"
OURS = "ours, on the file"
NBFORMAT = "nbformat read + write"
PATCH = "ours, `PATCH`"
CONTENTS = "Contents API `GET` + `PUT`"


def main() -> None:
    """Measure and print."""
    print(f"{platform.system()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    columns = (COPY, OURS, NBFORMAT, PATCH, CONTENTS)
    print(f"| notebook | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    medians = {}
    with tempfile.TemporaryDirectory(prefix="nbedit-benchmarks-") as folder:
        root = Path(folder, "notebooks")
        root.mkdir()
        with running("jupyter_server", Path(folder), "--no-browser") as server:
            library, http = Library(root), Over(server)
            contenders: dict[str, Edit] = {
                COPY: copy,
                OURS: library,
                NBFORMAT: with_nbformat,
                PATCH: http.patch,
                CONTENTS: http.contents,
            }
            with closing_all(library, http):
                for size, rounds in ROUNDS.items():
                    row = measured(root, contenders, size, rounds)
                    cells = " | ".join(f"{1000 * row[name]:.1f} ms" for name in columns)
                    print(f"| {in_words(size)} | {cells} |", flush=True)
                    medians[size] = row
    print_ratios(medians)


def measured(root: Path, contenders: dict[str, Edit], size: int, rounds: int) -> dict[str, float]:
    """Return the median of each contender, in seconds."""
    content = notebook(size)
    files = {
        (name, turn): root / f"{size}-{number}-{turn}.ipynb"
        for number, name in enumerate(contenders)
        for turn in range(rounds + 1)
    }
    for file in files.values():
        file.write_bytes(content)
    os.sync()
    time.sleep(SETTLE_SECONDS)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for (name, turn), file in sorted(files.items(), key=lambda item: item[0][1]):
        began = time.perf_counter()
        contenders[name](file)
        took = time.perf_counter() - began
        # The first turn warms up: imports, connections, the page cache of the programs.
        if turn > 0:
            seconds[name].append(took)
    for (name, _), file in files.items():
        if name != COPY and not is_edited(file):
            sys.exit(f"{name} did not edit the notebook of {size} bytes: the figures mean nothing.")
    shutil.rmtree(root)
    root.mkdir()
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def print_ratios(medians: dict[int, dict[str, float]]) -> None:
    """Print how the contenders compare."""
    print("\n| notebook | ours to a copy | nbformat to ours | Contents API to our `PATCH` |")
    print("|---|---|---|---|")
    for size, row in medians.items():
        ratios = (row[OURS] / row[COPY], row[NBFORMAT] / row[OURS], row[CONTENTS] / row[PATCH])
        print(f"| {in_words(size)} | {' | '.join(f'{ratio:.1f}x' for ratio in ratios)} |")


def in_words(size: int) -> str:
    """Return a size as people say it."""
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


if __name__ == "__main__":
    main()
