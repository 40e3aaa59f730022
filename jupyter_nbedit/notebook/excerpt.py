"""Parts of sources that errors show, of limited length."""

import re
from typing import Any

_WORD = re.compile(r"\w+")
# The part of an excerpt before the position that matters.
_SHARE_BEFORE = 3


def build_excerpt(source: str, limit: int, position: int = 0) -> dict[str, Any]:
    """Return at most so many characters of a source around a position, as details of an error.

    ``source`` is the excerpt, ``first_line`` the number of its first line, counted from 1, and
    ``total_lines`` the number of lines of the whole source. Lines are whole if they fit.
    """
    start, stop = 0, len(source)
    if len(source) > limit:
        start = max(0, min(position - limit // _SHARE_BEFORE, len(source) - limit))
        stop = start + limit
        line_start = source.rfind("\n", 0, start) + 1
        if line_start != start:
            next_line = source.find("\n", start, position) + 1
            start = next_line or start
        stop = max(source.rfind("\n", position, stop), position) if stop < len(source) else stop
        if stop <= start:
            stop = start + limit
    return {
        "source": source[start:stop],
        "first_line": source.count("\n", 0, start) + 1,
        "total_lines": source.count("\n") + 1,
    }


def find_nearest_line(source: str, text: str) -> int:
    """Return the offset of the line that has the most words of a text; 0 if none has any."""
    words = set(_WORD.findall(text))
    best, best_offset, offset = 0, 0, 0
    for line in source.split("\n"):
        common = len(words.intersection(_WORD.findall(line)))
        if common > best:
            best, best_offset = common, offset
        offset += len(line) + 1
    return best_offset
