"""Line ends of texts in requests: a cell gets LF, unless it already has CR LF.

JupyterLab's editor never writes a carriage return and counts CR LF as one character where the
shared model counts two: with CR LF in a source, typed text would be inserted at a wrong position.
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
    """Return the source that replaces another: with LF, unless the cell has CR LF.

    A source that equals the current one is not changed either.
    """
    return new if has_crlf(current) or new == current else use_line_feeds(new)


def is_same_source(expected_source: str, current: str) -> bool:
    """Return whether a cell has the source that a request expects; line ends may differ."""
    return expected_source == current or (
        not has_crlf(current) and use_line_feeds(expected_source) == use_line_feeds(current)
    )


class NormalizedText:
    """A text with LF instead of CR LF, to search in; replacements apply to the original."""

    def __init__(self, original: str) -> None:
        self._original = original
        #: The text to search in.
        self.text = original.replace("\r\n", "\n")
        self.has_crlf = self.text != original
        crlf = re.finditer("\r\n", original)
        self._crlf = [match.start() - count for count, match in enumerate(crlf)]

    def find_all(self, text: str) -> list[int]:
        """Return the offsets of a text from the left, without overlap."""
        offsets, offset = [], self.text.find(text)
        while offset != -1:
            offsets.append(offset)
            offset = self.text.find(text, offset + len(text))
        return offsets

    def replace_all(self, old: str, new: str) -> str:
        """Return the original text with all occurrences replaced."""
        if not self.has_crlf:
            return self._original.replace(old, new)
        return self.replace(self.find_all(old), len(old), new)

    def replace(self, starts: Iterable[int], length: int, new: str) -> str:
        """Return the original text with some ranges replaced; new text gets the line ends there.

        The ranges have one length and begin at ascending offsets in `text`.
        """
        parts, copied_until = [], 0
        for start in starts:
            start_offset, stop_offset = self._get_offset(start), self._get_offset(start + length)
            parts += [self._original[copied_until:start_offset], self._adapt(new, start_offset)]
            copied_until = stop_offset
        return "".join([*parts, self._original[copied_until:]])

    def _get_offset(self, position: int) -> int:
        return position + bisect_left(self._crlf, position)

    def _adapt(self, new: str, begin: int) -> str:
        """Return the new text with the line end that follows its position, else the first one."""
        if "\n" not in new or not self._line_ends:
            return new
        index = bisect_left(self._line_ends, begin)
        line_end = self._line_ends[index if index < len(self._line_ends) else 0]
        return _LINE_END.sub("\n" if self._original[line_end] == "\n" else "\r\n", new)

    @cached_property
    def _line_ends(self) -> list[int]:
        """The offsets of all line ends, listed once: there may be as many as replacements."""
        return [match.start() for match in _LINE_END.finditer(self._original)]
