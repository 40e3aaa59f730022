"""Differences of two texts as hunks, and moving hunks into a text that has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from jupyter_nbedit.notebook.sequence_diff import count_common_start as _common
from jupyter_nbedit.notebook.sequence_diff import list_differences

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


# Words are not split: single letters that two words share would mix with what others type.
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


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
            _shift(_trim(block, words), lines.start)
            for words in _iterate_differences(block, lines.text, _WORDS)
        ]
    return hunks


def rebase_hunks(hunks: Sequence[Hunk], before: str, current: str) -> list[Hunk] | None:
    """Move hunks on ``before`` to their positions in a text that was changed in one place since.

    Return None if a hunk touches the changed place or is adjacent to it.
    """
    if before == current:
        return list(hunks)
    start = _common(before, current)
    end = _common(before[start:][::-1], current[start:][::-1])
    shift = len(current) - len(before)
    rebased_hunks: list[Hunk] = []
    for hunk in hunks:
        if hunk.stop < start:
            rebased_hunks.append(hunk)
        elif hunk.start > len(before) - end:
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
    start = _common(before, current)
    end = len(before) - _common(before[start:][::-1], current[start:][::-1])
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


def _trim(before: str, hunk: Hunk) -> Hunk:
    """Remove the common start and end of the old and the new text from a hunk."""
    start, stop, text = hunk
    first = _common(before[start:stop], text)
    remaining, text = before[start + first : stop], text[first:]
    last = _common(remaining[::-1], text[::-1])
    return Hunk(start + first, stop - last, text[: len(text) - last])


def _shift(hunk: Hunk, offset: int) -> Hunk:
    return Hunk(hunk.start + offset, hunk.stop + offset, hunk.text)
