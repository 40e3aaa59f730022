"""Measure what one edit costs in this package and in others: `python benchmarks`.

All rows are of one run, in which contenders take turns, each on files of its own. No test depends
on what is measured here. `--yardstick` measures only how fast this machine is.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

# `python benchmarks` puts benchmarks first.
ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)
sys.path.append(str(ROOT / "ui-tests"))

from benchmarks.bench import Bench, TabOptions, open_bench  # noqa: E402 - needs the line above
from benchmarks.memory import measure_memory  # noqa: E402
from benchmarks.report import (  # noqa: E402
    AGENTS,
    EDITS,
    PAGE,
    ReportRow,
    format_details,
    format_report,
    write_section,
)
from benchmarks.rows_agents import measure_agents  # noqa: E402
from benchmarks.rows_corpus import measure_corpus  # noqa: E402
from benchmarks.rows_files import measure_cells, measure_growth, measure_large  # noqa: E402
from benchmarks.rows_http import measure_http  # noqa: E402
from benchmarks.rows_load import measure_rate, measure_waits, measure_yardstick  # noqa: E402
from benchmarks.rows_tabs import SIZES, measure_tabs  # noqa: E402
from benchmarks.rows_unseen import measure_unseen  # noqa: E402

MEASUREMENTS: dict[str, Callable[[Bench], list[ReportRow]]] = {
    "corpus": measure_corpus,
    "large": measure_large,
    "cells": measure_cells,
    "http": measure_http,
    "memory": measure_memory,
    "waits": measure_waits,
    "rate": measure_rate,
    "growth": measure_growth,
    "tabs": measure_tabs,
    "unseen": measure_unseen,
    "agents": measure_agents,
}
# The sections of the page, and what is in each.
SECTIONS = {EDITS: MEASUREMENTS.keys() - {"agents"}, AGENTS: {"agents"}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python benchmarks", description="Measure edits.")
    parser.add_argument("--yardstick", action="store_true", help="measure a plain server alone")
    parser.add_argument("--only", choices=MEASUREMENTS, action="append", help="measure this alone")
    parser.add_argument("--quick", action="store_true", help="for a look: a third of the rounds")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/figures.md")
    parser.add_argument(
        "--beside",
        # The server starts in a folder of its own.
        type=lambda path: Path(path).absolute(),
        metavar="VENV",
        help="tabs: measure the version that is installed there as well",
    )
    parser.add_argument("--size", choices=SIZES, action="append", help="tabs: measure this alone")
    parser.add_argument(
        "--profile", action="store_true", help="tabs, unseen: print what the page computes"
    )
    arguments = parser.parse_args()
    chosen = arguments.only or list(MEASUREMENTS)
    sections = [section for section, names in SECTIONS.items() if names <= set(chosen)]
    if arguments.write and (arguments.quick or not sections):
        parser.error("--write takes all figures of a section, and none that were taken for a look.")
    # Stopped from outside, the servers must still be stopped.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    rows: dict[str, list[ReportRow]] = {}
    tabs = TabOptions(arguments.beside, arguments.size or (), arguments.profile)
    with open_bench(tabs=tabs, is_quick=arguments.quick) as bench:
        if arguments.yardstick:
            print(f"{measure_yardstick(bench):.0f} GET /api/status per second")
            return
        for name in chosen:
            began = time.perf_counter()
            found = MEASUREMENTS[name](bench)
            seconds = time.perf_counter() - began
            print(f"[{name}: {seconds:.0f} s]\n\n{format_details(found)}\n", flush=True)
            rows[name] = found
    for section in sections if arguments.write else ():
        found = [row for name in chosen if name in SECTIONS[section] for row in rows[name]]
        write_section(PAGE, section, found, bench.missing)
    print(format_report([row for name in chosen for row in rows[name]], bench.missing))


if __name__ == "__main__":
    main()
