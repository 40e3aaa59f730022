"""How the time of an edit grows with the size of the notebook."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.benchmarks import notebooks
from tests.benchmarks.files import COLD, WARM
from tests.benchmarks.measuring import exponent
from tests.benchmarks.results import Check, Row
from tests.benchmarks.rows_files import measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.benchmarks.bench import Bench

SIZES = (20_000, 200_000, 2_000_000, 20_000_000, 200_000_000)
CELLS = (10, 100, 1_000, 10_000, 100_000)
# Below that an edit takes what it takes to write a file at all.
LINEAR_FROM = 2
# 1 is linear; what the measurement leaves open comes on top.
LIMIT = 1.1


def growth(bench: Bench) -> list[Row]:
    """20 KB to 200 MB, and 10 to 100,000 cells."""
    by_bytes = _grown(bench, "bytes, 20 KB to 200 MB", SIZES, notebooks.mixed)
    by_cells = _grown(bench, "cells, 10 to 100,000", CELLS, notebooks.many)
    return [by_bytes, replace(by_cells, series={})]


def _grown(bench: Bench, name: str, steps: tuple[int, ...], make: Callable[[int], bytes]) -> Row:
    contents = {str(step): make(step) for step in steps}
    taken = measured(bench, contents, bench.rounds(6), slow_rounds=1)
    series = {
        who: [(float(step), taken[str(step)][who].median) for step in steps]
        for who in taken[str(steps[0])]
    }
    fitted = {who: _exponent(points) for who, points in series.items()}
    checks = [
        Check(fitted[COLD], LIMIT, what="first edit"),
        Check(fitted[WARM], LIMIT, what="next edit"),
    ]
    rivals = ", ".join(
        f"{who} {power:.2f}" for who, power in fitted.items() if who not in {COLD, WARM}
    )
    figures = {f"{step}, {who}": figure for step in contents for who, figure in taken[step].items()}
    whole = ", ".join(f"{who} {_exponent(series[who], 0):.2f}" for who in (COLD, WARM))
    remark = f"fitted from {steps[LINEAR_FROM]:,} on; over the whole range {whole}"
    name = f"growth with {name}: exponent (1 is linear)"
    return Row(name, checks, rivals, figures, remark=remark, series=series)


def _exponent(points: list[tuple[float, float]], start: int = LINEAR_FROM) -> float:
    sizes, seconds = zip(*points[start:], strict=True)
    return exponent(sizes, seconds)
