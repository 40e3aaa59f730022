"""Measure what one edit costs, ours and the rivals': `python tests/benchmarks`.

Every row is of one run: all of it is measured in turns, each contender on files of its own. Nothing
here decides whether a test passes.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# `python tests/benchmarks` puts tests/benchmarks first.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.benchmarks.bench import begun  # noqa: E402 - needs the line above
from tests.benchmarks.page import report, write, write_json  # noqa: E402
from tests.benchmarks.results import Row, details  # noqa: E402
from tests.benchmarks.rows_corpus import corpus  # noqa: E402
from tests.benchmarks.rows_files import cells, large  # noqa: E402
from tests.benchmarks.rows_growth import growth  # noqa: E402
from tests.benchmarks.rows_http import over_http  # noqa: E402
from tests.benchmarks.rows_load import rate, stall  # noqa: E402
from tests.benchmarks.rows_memory import memory  # noqa: E402
from tests.benchmarks.rows_tab import tab  # noqa: E402

MEASUREMENTS = {
    "corpus": corpus,
    "large": large,
    "cells": cells,
    "http": over_http,
    "memory": memory,
    "stall": stall,
    "rate": rate,
    "growth": growth,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description="Measure edits.")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="measure this alone")
    parser.add_argument("--quick", action="store_true", help="for a look: a third of the rounds")
    parser.add_argument(
        "--tab",
        type=Path,
        metavar="VENV",
        help="measure a tab, too, of this JupyterLab with nbedit",
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the figures into this page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.quick):
        parser.error("--write takes all figures, and none that were taken for a look.")
    # Stopped from outside, the servers must still be stopped.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rows = []
    with begun(quick=arguments.quick) as bench:
        for name in arguments.only or MEASUREMENTS:
            rows += _measured(name, partial(MEASUREMENTS[name], bench))
        missing = bench.missing
    if arguments.tab:
        rows += _measured("tab", partial(tab, arguments.tab))
    print(report(rows, missing))
    if arguments.json:
        write_json(arguments.json, rows, missing)
    if arguments.write:
        write(arguments.write, rows, missing)


def _measured(name: str, measure: Callable[[], list[Row]]) -> list[Row]:
    began = time.perf_counter()
    rows = measure()
    print(f"[{name}: {time.perf_counter() - began:.0f} s]\n\n{details(rows)}\n", flush=True)
    return rows


if __name__ == "__main__":
    main()
