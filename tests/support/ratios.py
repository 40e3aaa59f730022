"""How long one piece of work takes by another one, which a busy machine holds up as well."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable


def least_ratio(
    work: Callable[[], object],
    yardstick: Callable[[], object],
    *,
    clock: Callable[[], float] = time.perf_counter,
    pairs: int = 5,
) -> float:
    """Return the least ratio of the times of two pieces of work, which are done in turns.

    What else the machine does holds up one or the other, but hardly the first one in every pair.
    """
    ratios = []
    for _ in range(pairs):
        begin = clock()
        yardstick()
        middle = clock()
        work()
        ratios.append((clock() - middle) / max(middle - begin, 1e-6))
    return min(ratios)


async def least_ratio_awaited(
    work: Callable[[], Awaitable[object]],
    yardstick: Callable[[], Awaitable[object]],
    *,
    pairs: int = 3,
) -> float:
    """Return the same of two pieces of work on the event loop."""
    ratios = []
    for _ in range(pairs):
        begin = time.perf_counter()
        await yardstick()
        middle = time.perf_counter()
        await work()
        ratios.append((time.perf_counter() - middle) / max(middle - begin, 1e-6))
    return min(ratios)
