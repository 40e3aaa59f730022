"""Differences of two sequences of strings, in time linear in their length.

``difflib`` finds good alignments, but takes quadratic time for some texts and cubic time for
others, such as many equal lines. It is used only where an upper bound of its steps is within a
limit. Longer sequences are first trimmed at both ends and then split at the items that occur
exactly once in both, in the order of the longest common subsequence of these items. A part that is
still too long counts as different as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

# The limit of difflib's steps: a constant, plus so many for each character.
_STEPS = 20_000
_STEPS_PER_CHARACTER = 20


class Difference(NamedTuple):
    """``old[start:stop]`` became ``new[new_start:new_stop]``; not both ranges are empty."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def list_differences(old: Sequence[str], new: Sequence[str]) -> list[Difference]:
    """List the differences of two sequences, in order; no two are adjacent."""
    differences: list[Difference] = []
    trimmed_difference = _trim(old, new, Difference(0, len(old), 0, len(new)))
    limit = _STEPS + _STEPS_PER_CHARACTER * (sum(map(len, old)) + sum(map(len, new)))
    for part in _refine(old, new, trimmed_difference, limit):
        if differences and (differences[-1].stop, differences[-1].new_stop) == (
            part.start,
            part.new_start,
        ):
            part = differences.pop()._replace(stop=part.stop, new_stop=part.new_stop)  # noqa: PLW2901
        differences.append(part)
    return differences


def count_common_start(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many items two sequences have in common at their start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _refine(
    old: Sequence[str], new: Sequence[str], difference: Difference, limit: int
) -> Iterator[Difference]:
    steps = _count_steps(old, new, difference)
    if steps <= limit:
        yield from _match(old, new, difference)
        return
    for anchored in _split_at_anchors(old, new, difference):
        part = _trim(old, new, anchored)
        steps = _count_steps(old, new, part)
        if steps <= limit:
            limit -= steps
            yield from _match(old, new, part)
        elif (part.start, part.new_start) != (part.stop, part.new_stop):
            yield part


def _count_steps(old: Sequence[str], new: Sequence[str], part: Difference) -> int:
    """Return an upper bound of difflib's steps.

    It visits all pairs of equal items once for each block that it finds.
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
    """Remove the common start and the common end from a difference."""
    first, second = old[part.start : part.stop], new[part.new_start : part.new_stop]
    common_start = count_common_start(first, second)
    common_end = count_common_start(first[common_start:][::-1], second[common_start:][::-1])
    return Difference(
        part.start + common_start,
        part.stop - common_end,
        part.new_start + common_start,
        part.new_stop - common_end,
    )


def _split_at_anchors(
    old: Sequence[str], new: Sequence[str], part: Difference
) -> Iterator[Difference]:
    """Split at the items that occur exactly once in both and have the same order in both."""
    counts = Counter(old[part.start : part.stop])
    new_counts = Counter(new[part.new_start : part.new_stop])
    new_indexes = {new[index]: index for index in range(part.new_start, part.new_stop)}
    pairs = [
        (index, new_indexes[old[index]])
        for index in range(part.start, part.stop)
        if counts[old[index]] == 1 and new_counts[old[index]] == 1
    ]
    start, new_start = part.start, part.new_start
    for index, new_index in find_longest_rise(pairs):
        yield Difference(start, index, new_start, new_index)
        start, new_start = index + 1, new_index + 1
    yield Difference(start, part.stop, new_start, part.new_stop)


def find_longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence with rising second numbers of pairs sorted by the first."""
    ends: list[int] = []
    last_numbers: list[int] = []
    previous: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        previous.append(last_numbers[length - 1] if length else -1)
        ends[length : length + 1] = [second]
        last_numbers[length : length + 1] = [number]
    rise: list[tuple[int, int]] = []
    number = last_numbers[-1] if last_numbers else -1
    while number >= 0:
        rise.append(pairs[number])
        number = previous[number]
    return rise[::-1]
