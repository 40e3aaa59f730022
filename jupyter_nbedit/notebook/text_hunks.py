"""Differences of two texts as hunks, and moving hunks into a text that has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from jupyter_nbedit.notebook.sequence_diff import count_common_start as _common
from jupyter_nbedit.notebook.sequence_diff import list_differences

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


# Words stay whole: letters that two of them happen to share would mix with what others type.
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


class Hunk(NamedTuple):
    """Replace ``before[start:stop]`` by ``text``; positions count characters."""

    start: int
    stop: int
    text: str


def list_hunks(before: str, after: str) -> list[Hunk]:
    """List what turns one text into another, in order and apart from each other."""
    found: list[Hunk] = []
    for lines in _iterate_differences(before, after, _LINE):
        # Cut out once: it may be all of the text, and have as many words that differ.
        block = before[lines.start : lines.stop]
        found += [
            _shift(_trim(block, words), lines.start)
            for words in _iterate_differences(block, lines.text, _WORDS)
        ]
    return found


def rebase_hunks(changes: Sequence[Hunk], before: str, now: str) -> list[Hunk] | None:
    """Move changes of a text to where they belong after somebody else has changed it in one place.

    Returns
    -------
    None if they touch that place, or what lies next to it.
    """
    if before == now:
        return list(changes)
    start = _common(before, now)
    end = _common(before[start:][::-1], now[start:][::-1])
    shift = len(now) - len(before)
    moved: list[Hunk] = []
    for change in changes:
        if change.stop < start:
            moved.append(change)
        elif change.start > len(before) - end:
            moved.append(_shift(change, shift))
        else:
            return None
    return moved


def is_still_applied(before: str, after: str, now: str) -> bool:
    """Return whether a change of a text is in it still, whatever else was typed beside the change.

    What may as well be the text before, with something typed into it, does not count.
    """
    return now == after or (
        _is_untouched(list_hunks(after, before), after, now)
        and not _is_untouched(list_hunks(before, after), before, now)
    )


def _is_untouched(changes: Sequence[Hunk], before: str, now: str) -> bool:
    """Return whether what changes would take away, or where they would put something, is there."""
    start = _common(before, now)
    end = len(before) - _common(before[start:][::-1], now[start:][::-1])
    return all(
        change.stop < start
        or change.start > end
        or (change.start < change.stop and (change.stop <= start or change.start >= end))
        for change in changes
    )


def _iterate_differences(before: str, after: str, part: re.Pattern[str]) -> Iterator[Hunk]:
    """Compare texts part by part."""
    old, new = part.findall(before), part.findall(after)
    offsets = [0, *accumulate(map(len, old))]
    for found in list_differences(old, new):
        text = "".join(new[found.new_start : found.new_stop])
        yield Hunk(offsets[found.start], offsets[found.stop], text)


def _trim(before: str, change: Hunk) -> Hunk:
    """Leave out what a change takes away and puts back at its ends."""
    start, stop, text = change
    first = _common(before[start:stop], text)
    rest, text = before[start + first : stop], text[first:]
    last = _common(rest[::-1], text[::-1])
    return Hunk(start + first, stop - last, text[: len(text) - last])


def _shift(change: Hunk, by: int) -> Hunk:
    return Hunk(change.start + by, change.stop + by, change.text)
