"""Take times in turns, and say of what was measured what can be said of it."""

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
    """What was measured several times: the middle, and where the middle half of it lies."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> Figure:
        """Summarize values."""
        taken = list(values)
        if len(taken) == 1:
            return Figure(taken[0], taken[0], taken[0])
        low, median, high = statistics.quantiles(taken, n=4, method="inclusive")
        return Figure(median, low, high)

    def over(self, other: Figure) -> float:
        """Give how many times the other it is."""
        return self.median / other.median


@dataclass(frozen=True)
class Contender:
    """One way to make an edit.

    Parameters
    ----------
    edit
        Makes the n-th edit, and gives how many seconds it took.
    rounds
        How often it is measured at most; None as often as the rest.
    """

    edit: Callable[[int], float]
    rounds: int | None = None


def in_turns(
    contenders: Mapping[_Name, Contender], rounds: int, settle: float = SETTLE_SECONDS
) -> dict[_Name, list[float]]:
    """Let each contender edit once in each round; the first round is not counted.

    It warms up: imports, connections, the page cache. Whoever takes part in all rounds comes first
    in turn; the others, who may leave the disk busy, come last.
    """
    steady = [name for name, contender in contenders.items() if contender.rounds is None]
    others = [name for name in contenders if name not in steady]
    seconds: dict[_Name, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        os.sync()
        time.sleep(settle)
        first = turn % len(steady)
        for name in (*steady[first:], *steady[:first], *others):
            contender = contenders[name]
            if turn <= (contender.rounds or rounds):
                seconds[name].append(contender.edit(turn))
    return {name: taken[1:] for name, taken in seconds.items()}


def percentile(values: Iterable[float], part: float) -> float:
    """Give the value that so great a part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Fit `seconds` to a power of `sizes`, and give that."""
    slope, _ = statistics.linear_regression(
        [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    )
    return slope
