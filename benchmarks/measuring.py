"""Measure contenders in turns, and summarize what was measured."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

_Name = TypeVar("_Name", bound=Hashable)

# Longer than the tick of any file system's clock: within it even an unchanged time stamp proves
# nothing, and our storage compares the bytes.
SETTLE_SECONDS = 2.3


@dataclass(frozen=True)
class Figure:
    """Several measurements: the median, and the bounds of the middle half."""

    median: float
    low: float
    high: float

    @staticmethod
    def summarize(values: Iterable[float]) -> Figure:
        measured = list(values)
        if len(measured) == 1:
            measured *= 2
        low, median, high = statistics.quantiles(measured, n=4, method="inclusive")
        return Figure(median, low, high)

    def ratio_to(self, other: Figure) -> float:
        return self.median / other.median


@dataclass(frozen=True)
class Contender:
    """One way to make an edit; `edit` makes the n-th one and returns its seconds.

    It is measured at most `rounds` times; with `may_fail` its first exception ends that.
    """

    edit: Callable[[int], float]
    rounds: int | None = None
    may_fail: bool = False


def measure_in_turns(
    contenders: Mapping[_Name, Contender], rounds: int, settle: float = SETTLE_SECONDS
) -> dict[_Name, list[float]]:
    """Return the seconds of each contender that did not fail, one edit in each round.

    The first round is not counted: imports, connections and the page cache warm up. Contenders in
    all rounds take turns in coming first; the others, who may leave the disk busy, come last.
    """
    steady = [name for name, contender in contenders.items() if contender.rounds is None]
    others = [name for name in contenders if name not in set(steady)]
    seconds: dict[_Name, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        os.sync()
        time.sleep(settle)
        first = turn % len(steady)
        for name in (*steady[first:], *steady[:first], *others):
            contender = contenders[name]
            if name not in seconds or turn > (contender.rounds or rounds):
                continue
            try:
                seconds[name].append(contender.edit(turn))
            except Exception:
                if not contender.may_fail:
                    raise
                del seconds[name]
    return {name: measured[1:] for name, measured in seconds.items()}


def percentile(values: Iterable[float], part: float) -> float:
    """Return the value that this part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def fit_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the power of `sizes` that `seconds` grow with."""
    slope, _ = statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    )
    return slope
