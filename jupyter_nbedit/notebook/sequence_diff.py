"""Differences of two sequences of strings, and of two texts, in time linear in their length.

``difflib`` finds good alignments, but takes quadratic time for some texts and cubic time for
others, such as many equal lines. It is used only where an upper bound of its steps is within a
limit. Longer sequences are first trimmed at both ends and then split, as patience diff does, at the
items that occur exactly once in both, in the order of the longest common subsequence of these
items. A part that is still too long counts as different as a whole.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any, NamedTuple

# The limit of difflib's steps: a constant, plus so many for each character.
_STEPS = 20_000
_STEPS_PER_CHARACTER = 20
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Words are not split: single letters that two words share would mix with what others type.
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, which end at line feeds only, as in nbformat and in editors.

    An empty text has no lines, and a final line feed adds an empty one.
    """
    # If an empty text had an empty line, lines before and after that one would merge.
    return text.split("\n") if text else []


class Difference(NamedTuple):
    """``old[start:stop]`` became ``new[new_start:new_stop]``; not both ranges are empty."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def list_differences(old: Sequence[str], new: Sequence[str]) -> list[Difference]:
    """List the differences of two sequences, in order; no two are adjacent."""
    differences: list[Difference] = []
    limit = _STEPS + _STEPS_PER_CHARACTER * (sum(map(len, old)) + sum(map(len, new)))
    for part in _refine_difference(old, new, _find_change(old, new), limit):
        if differences and (differences[-1].stop, differences[-1].new_stop) == (
            part.start,
            part.new_start,
        ):
            part = differences.pop()._replace(stop=part.stop, new_stop=part.new_stop)  # noqa: PLW2901
        differences.append(part)
    return differences


def count_common_start(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return how many items two sequences have in common at their start."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _refine_difference(
    old: Sequence[str], new: Sequence[str], difference: Difference, limit: int
) -> Iterator[Difference]:
    steps = _count_steps(old, new, difference)
    if steps <= limit:
        yield from _compare_with_difflib(old, new, difference)
        return
    for between in _split_at_unique_items(old, new, difference):
        part = _trim_common_ends(old, new, between)
        steps = _count_steps(old, new, part)
        if steps <= limit:
            limit -= steps
            yield from _compare_with_difflib(old, new, part)
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
    pairs = sum([counts.get(item, 0) for item in first])  # noqa: C419 -- faster than a generator
    blocks = min(len(first), len(second), pairs) + 1
    return (len(first) + len(second) + pairs) * blocks


def _compare_with_difflib(
    old: Sequence[str], new: Sequence[str], part: Difference
) -> Iterator[Difference]:
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


def _find_change(old: Sequence[str], new: Sequence[str]) -> Difference:
    """Return the difference of two sequences as one range."""
    return _trim_common_ends(old, new, Difference(0, len(old), 0, len(new)))


def _trim_common_ends(old: Sequence[str], new: Sequence[str], part: Difference) -> Difference:
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


def _split_at_unique_items(
    old: Sequence[str], new: Sequence[str], part: Difference
) -> Iterator[Difference]:
    """Split at the items that occur exactly once in both, as patience diff does.

    Of these items, only items with the same order in both sequences count.
    """
    counts = Counter(old[part.start : part.stop])
    new_counts = Counter(new[part.new_start : part.new_stop])
    new_indexes = {new[index]: index for index in range(part.new_start, part.new_stop)}
    pairs = [
        (index, new_indexes[old[index]])
        for index in range(part.start, part.stop)
        if counts[old[index]] == 1 and new_counts[old[index]] == 1
    ]
    start, new_start = part.start, part.new_start
    for index, new_index in find_increasing_subsequence(pairs):
        yield Difference(start, index, new_start, new_index)
        start, new_start = index + 1, new_index + 1
    yield Difference(start, part.stop, new_start, part.new_stop)


def find_increasing_subsequence(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest increasing subsequence of the second numbers of pairs.

    The pairs are sorted by their first numbers. The algorithm is patience sorting:
    https://en.wikipedia.org/wiki/Longest_increasing_subsequence
    """
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


class Hunk(NamedTuple):
    """Replace ``before[start:stop]`` by ``text``; positions count characters."""

    start: int
    stop: int
    text: str


def list_hunks(before: str, after: str) -> list[Hunk]:
    """List the hunks that turn one text into another, in order and without overlap."""
    hunks: list[Hunk] = []
    for lines in _iterate_differences(before, after, _LINE):
        # Copied once: it may be all of the text, and contain many words that differ.
        block = before[lines.start : lines.stop]
        hunks += [
            _shift(_trim_hunk(block, words), lines.start)
            for words in _iterate_differences(block, lines.text, _WORDS)
        ]
    return hunks


def rebase_hunks(hunks: Sequence[Hunk], before: str, current: str) -> list[Hunk] | None:
    """Move hunks on ``before`` to their positions in a text that was changed in one place since.

    Return None if a hunk touches the changed place or is adjacent to it.
    """
    if before == current:
        return list(hunks)
    change, shift = _find_change(before, current), len(current) - len(before)
    rebased_hunks: list[Hunk] = []
    for hunk in hunks:
        if hunk.stop < change.start:
            rebased_hunks.append(hunk)
        elif hunk.start > change.stop:
            rebased_hunks.append(_shift(hunk, shift))
        else:
            return None
    return rebased_hunks


def is_still_applied(before: str, after: str, current: str) -> bool:
    """Return whether a text still contains a change, whatever was typed next to the change since.

    A text that can also be explained as ``before`` with insertions does not count.
    """
    return current == after or (
        _is_untouched(list_hunks(after, before), after, current)
        and not _is_untouched(list_hunks(before, after), before, current)
    )


def _is_untouched(hunks: Sequence[Hunk], before: str, current: str) -> bool:
    """Return whether all hunks on ``before`` still apply to the current text."""
    start, end, *_ = _find_change(before, current)
    return all(
        hunk.stop < start
        or hunk.start > end
        or (hunk.start < hunk.stop and (hunk.stop <= start or hunk.start >= end))
        for hunk in hunks
    )


def _iterate_differences(before: str, after: str, pattern: re.Pattern[str]) -> Iterator[Hunk]:
    """Yield the differences of two texts as hunks of whole matches of a pattern."""
    old_parts, new_parts = pattern.findall(before), pattern.findall(after)
    offsets = [0, *accumulate(map(len, old_parts))]
    for difference in list_differences(old_parts, new_parts):
        text = "".join(new_parts[difference.new_start : difference.new_stop])
        yield Hunk(offsets[difference.start], offsets[difference.stop], text)


def _trim_hunk(before: str, hunk: Hunk) -> Hunk:
    """Remove the common start and end of the old and the new text from a hunk."""
    part = _trim_common_ends(
        before, hunk.text, Difference(hunk.start, hunk.stop, 0, len(hunk.text))
    )
    return Hunk(part.start, part.stop, hunk.text[part.new_start : part.new_stop])


def _shift(hunk: Hunk, offset: int) -> Hunk:
    return Hunk(hunk.start + offset, hunk.stop + offset, hunk.text)
