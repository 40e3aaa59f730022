"""Replace a text in a text, by a contract that knows no line end but the line feed."""

from __future__ import annotations

import re
from bisect import bisect_left

from jupyter_nbedit.errors import InvalidRequest, TextMismatch

_LINE_END = re.compile(r"\r?\n")
_SHOWN_LINES = 20


def substituted(text: str, old: str, new: str, *, every: bool) -> tuple[str, list[int]]:
    """Replace a text where it stands, and keep the line ends there.

    Parameters
    ----------
    text
        What a file holds.
    old
        What is to be replaced. A line end in it stands for whichever line end the file has there.
    new
        What comes in its place, with the line ends of the place.
    every
        Whether to replace it wherever it stands; otherwise it must stand there once.

    Returns
    -------
    tuple
        The new text, and the lines from 1 in the old text where a replaced one began.

    Raises
    ------
    InvalidRequest
        If ``old`` is empty or is ``new``.
    TextMismatch
        If it stands nowhere, or more often than once.
    """
    if old == "":
        message = (
            "`old_string` is empty. Expected a text of the file that is to be replaced; to make a "
            "new file, use Write."
        )
        raise InvalidRequest(message)
    if old == new:
        message = "`old_string` and `new_string` are the same: there is nothing to change."
        raise InvalidRequest(message)
    plain = _Plain(text)
    sought = _LINE_END.sub("\n", old)
    starts = _places(plain.text, sought)
    lines = _lines_at(plain.text, starts)
    if not starts:
        message = (
            "`old_string` does not stand in the file. Read the file again, and copy the text "
            "exactly, white space included, without the line numbers."
        )
        raise TextMismatch(message, count=0, lines=[])
    if len(starts) > 1 and not every:
        message = (
            f"`old_string` stands in the file {len(starts)} times, beginning on the lines "
            f"{', '.join(map(str, lines[:_SHOWN_LINES]))}. Give more of the text around the one "
            "you mean, or set `replace_all`."
        )
        raise TextMismatch(message, count=len(starts), lines=lines[:_SHOWN_LINES])
    parts, done = [], 0
    for start in starts:
        begin, end = plain.place(start), plain.place(start + len(sought))
        parts += [text[done:begin], _with_line_ends_of(text, begin, end, new)]
        done = end
    return "".join([*parts, text[done:]]), lines


class _Plain:
    """A text with line feeds for all its line ends, and where its places are in the text itself."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        starts = re.finditer("\r\n", text)
        self._longer = [match.start() - count for count, match in enumerate(starts)]

    def place(self, at: int) -> int:
        return at + bisect_left(self._longer, at)


def _places(text: str, sought: str) -> list[int]:
    found, at = [], text.find(sought)
    while at != -1:
        found.append(at)
        at = text.find(sought, at + len(sought))
    return found


def _with_line_ends_of(text: str, begin: int, end: int, new: str) -> str:
    """Give the new text the line ends that the old one has there, or else the next, or any."""
    here = _LINE_END.search(text, begin, end) or _LINE_END.search(text, end)
    found = here or _LINE_END.search(text)
    return new if found is None else _LINE_END.sub(found[0], new)


def _lines_at(text: str, places: list[int]) -> list[int]:
    lines, line, last = [], 1, 0
    for place in places:
        line += text.count("\n", last, place)
        lines.append(line)
        last = place
    return lines
