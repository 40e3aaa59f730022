"""Line ends of the texts in a request: a cell has line feeds, unless it has CR LF already.

JupyterLab's editor never writes a carriage return, and counts CR LF as one character where the
shared model counts two: with CR LF in a source, what a person types goes to a wrong place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cached_property

_LINE_END = re.compile(r"\r?\n")


def has_crlf(text: str) -> bool:
    """Return whether a line of the text ends with CR LF."""
    return "\r\n" in text


def use_line_feeds(text: str) -> str:
    """Return the text with LF for every CR LF and every other CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def adapt_source(new: str, current: str) -> str:
    """Return the source that replaces another one: with LF, unless the cell has CR LF.

    A source that is sent back as it was read stays as it is, too.
    """
    return new if has_crlf(current) or new == current else use_line_feeds(new)


def is_same_source(expected: str, current: str) -> bool:
    """Return whether a cell says what a request expects, whichever line ends the request has."""
    return expected == current or (
        not has_crlf(current) and use_line_feeds(expected) == use_line_feeds(current)
    )


class PlainText:
    """A text with LF for its CR LF, to search in; what is replaced, is replaced in the text.

    Parameters
    ----------
    original
        The text.
    """

    def __init__(self, original: str) -> None:
        self._original = original
        #: What is searched.
        self.text = original.replace("\r\n", "\n")
        self.has_crlf = self.text != original
        crlf = re.finditer("\r\n", original)
        self._crlf = [match.start() - count for count, match in enumerate(crlf)]

    def find_all(self, text: str) -> list[int]:
        """Return where a text stands, from the left, so that none overlaps the one before."""
        found, at = [], self.text.find(text)
        while at != -1:
            found.append(at)
            at = self.text.find(text, at + len(text))
        return found

    def replace_all(self, old: str, new: str) -> str:
        """Return the original text with a new text wherever the old one stands."""
        if not self.has_crlf:
            return self._original.replace(old, new)
        return self.replace(self.find_all(old), len(old), new)

    def replace(self, starts: Iterable[int], length: int, new: str) -> str:
        """Return the original text with the new one at some places, with the line ends there.

        Parameters
        ----------
        starts
            Offsets in `text`, in ascending order, where what is replaced begins.
        length
            Of what is replaced.
        new
            What comes in its place.
        """
        parts, done = [], 0
        for start in starts:
            begin, end = self._get_offset(start), self._get_offset(start + length)
            parts += [self._original[done:begin], self._adapt(new, begin)]
            done = end
        return "".join([*parts, self._original[done:]])

    def _get_offset(self, at: int) -> int:
        return at + bisect_left(self._crlf, at)

    def _adapt(self, new: str, begin: int) -> str:
        """Return the new text with the first line end from its place on, else with any."""
        if "\n" not in new or not self._line_ends:
            return new
        at = bisect_left(self._line_ends, begin)
        found = self._line_ends[at if at < len(self._line_ends) else 0]
        return _LINE_END.sub("\n" if self._original[found] == "\n" else "\r\n", new)

    @cached_property
    def _line_ends(self) -> list[int]:
        """The offsets of the line ends, listed once: a text may have as many as replacements."""
        return [match.start() for match in _LINE_END.finditer(self._original)]
