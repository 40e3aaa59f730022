"""Which items of one sequence are those of another, in time that grows with their length alone.

``difflib`` finds good alignments, but takes quadratic time for some texts and cubic time for
others, such as many equal lines. It is asked only where an upper bound of its steps is within a
limit. Longer sequences are first cut at what they have in common at their ends and at the items
that both have exactly once, in the order of most of them. What lies between and is still too much
counts as different.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

# How many steps difflib may take: some, and some for each character.
_STEPS = 20_000
_STEPS_PER_CHARACTER = 20


class Difference(NamedTuple):
    """``old[start:stop]`` became ``new[new_start:new_stop]``; at least one of them has items."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def list_differences(old: Sequence[str], new: Sequence[str]) -> list[Difference]:
    """List the differences of two sequences, in order and apart from each other."""
    found: list[Difference] = []
    whole = _trim(old, new, Difference(0, len(old), 0, len(new)))
    limit = _STEPS + _STEPS_PER_CHARACTER * (sum(map(len, old)) + sum(map(len, new)))
    for part in _refine(old, new, whole, limit):
        if found and (found[-1].stop, found[-1].new_stop) == (part.start, part.new_start):
            part = found.pop()._replace(stop=part.stop, new_stop=part.new_stop)  # noqa: PLW2901
        found.append(part)
    return found


def compute_similarity(old: Counter[str], new: Counter[str]) -> float:
    """Return the share of items, 0 to 1, that two collections have in common."""
    total = old.total() + new.total()
    return 2 * (old & new).total() / total if total else 1.0


def count_common_start(one: Sequence[str], other: Sequence[str]) -> int:
    """Count how many items two sequences have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _refine(
    old: Sequence[str], new: Sequence[str], whole: Difference, limit: int
) -> Iterator[Difference]:
    steps = _count_steps(old, new, whole)
    if steps <= limit:
        yield from _match(old, new, whole)
        return
    for part in _split_at_anchors(old, new, whole):
        trimmed = _trim(old, new, part)
        steps = _count_steps(old, new, trimmed)
        if steps <= limit:
            limit -= steps
            yield from _match(old, new, trimmed)
        elif trimmed.start < trimmed.stop or trimmed.new_start < trimmed.new_stop:
            yield trimmed


def _count_steps(old: Sequence[str], new: Sequence[str], part: Difference) -> int:
    """Return how many steps difflib takes at most.

    It goes through all pairs of equal items once for each block that it finds.
    """
    first, second = old[part.start : part.stop], new[part.new_start : part.new_stop]
    if not first or not second:
        return 0
    counts = Counter(second)
    pairs = sum(counts[item] for item in first)
    blocks = min(len(first), len(second), pairs) + 1
    return (len(first) + len(second) + pairs) * blocks


def _match(old: Sequence[str], new: Sequence[str], part: Difference) -> Iterator[Difference]:
    first, second = old[part.start : part.stop], new[part.new_start : part.new_stop]
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    for tag, start, stop, new_start, new_stop in matcher.get_opcodes():
        if tag != "equal":
            yield Difference(
                part.start + start,
                part.start + stop,
                part.new_start + new_start,
                part.new_start + new_stop,
            )


def _trim(old: Sequence[str], new: Sequence[str], part: Difference) -> Difference:
    """Leave out what both have in common at their ends."""
    first, second = old[part.start : part.stop], new[part.new_start : part.new_stop]
    before = count_common_start(first, second)
    after = count_common_start(first[before:][::-1], second[before:][::-1])
    return Difference(
        part.start + before, part.stop - after, part.new_start + before, part.new_stop - after
    )


def _split_at_anchors(
    old: Sequence[str], new: Sequence[str], part: Difference
) -> Iterator[Difference]:
    """Cut at the items that both have exactly once and that are in the same order in both."""
    counts, new_counts = (
        Counter(old[part.start : part.stop]),
        Counter(new[part.new_start : part.new_stop]),
    )
    places = {new[at]: at for at in range(part.new_start, part.new_stop)}
    pairs = [
        (at, places[old[at]])
        for at in range(part.start, part.stop)
        if counts[old[at]] == 1 and new_counts[old[at]] == 1
    ]
    start, new_start = part.start, part.new_start
    for at, new_at in find_longest_rise(pairs):
        yield Difference(start, at, new_start, new_at)
        start, new_start = at + 1, new_at + 1
    yield Difference(start, part.stop, new_start, part.new_stop)


def find_longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most pairs whose seconds rise, of pairs whose firsts do."""
    ends: list[int] = []
    at: list[int] = []
    previous: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        previous.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        at[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    number = at[-1] if at else -1
    while number >= 0:
        found.append(pairs[number])
        number = previous[number]
    return found[::-1]
