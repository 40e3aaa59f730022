"""The inline markup of Markdown, and how to remove it from a line.

This is the part of CommonMark that sees one line, such as the text of a heading. It goes through
the line once. https://spec.commonmark.org/0.31.2/#inlines
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass

# Inline markup.
_INLINE = re.compile(r"[\\`<\[\]!*_~]")


_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


_BACKTICKS = re.compile(r"`+")


_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


_TARGET = re.compile(r"\([^()\\]*(?:(?:\\.|\([^()]*\))[^()\\]*)*\)|\[[^\[\]]*\]")


_STRIKETHROUGH = 2


_RULE_OF_THREE = 3


@dataclass
class _Delimiter:
    """A run of `*`, `_` or `~` that may begin or end emphasis."""

    part: int
    mark: str
    length: int
    count: int
    can_open: bool
    can_close: bool

    def can_pair(self, closer: _Delimiter) -> bool:
        """Return whether it begins what another one ends."""
        if self.mark != closer.mark or (self.mark == "~" and self.count != closer.count):
            return False
        return not (
            (self.can_close or closer.can_open)
            and (self.length + closer.length) % _RULE_OF_THREE == 0
            and self.length % _RULE_OF_THREE != 0
            and self.mark != "~"
        )


def to_plain_text(text: str) -> str:
    """Remove the inline markup from a line, and superfluous white space."""
    return " ".join(_InlineParser(text).to_plain_text().split())


class _InlineParser:
    """Goes through a line once, and collects the parts of it that are text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[str] = []
        self._delimiters: list[_Delimiter] = []
        # The parts that are opening brackets.
        self._brackets: list[int] = []
        # Where the runs of backticks are that have not been passed, by their length.
        self._runs: dict[int, deque[int]] | None = None

    def to_plain_text(self) -> str:
        """Return the text without markup."""
        text, at = self._text, 0
        while (found := _INLINE.search(text, at)) is not None:
            self._parts.append(text[at : found.start()])
            at = self._read_mark(found.start())
        self._parts.append(text[at:])
        self._match_emphasis()
        return "".join(self._parts)

    def _read_mark(self, at: int) -> int:
        """Read what begins with a character that may be markup; return where it ends."""
        text = self._text
        mark = text[at]
        if mark == "\\" and text[at + 1 : at + 2] in _PUNCTUATION:
            self._parts.append(text[at + 1])
            end = at + 2
        elif mark == "`":
            end = self._read_code(at)
        elif mark == "<" and (tag := _TAG.match(text, at)):
            end = tag.end()
        elif mark == "[" or text.startswith("![", at):
            self._brackets.append(len(self._parts))
            self._parts.append("[" if mark == "[" else "![")
            end = at + len(self._parts[-1])
        elif mark == "]":
            end = self._read_target(at)
        elif mark in "*_~":
            end = self._read_delimiter(at)
        else:
            self._parts.append(mark)
            end = at + 1
        return end

    def _read_code(self, at: int) -> int:
        """Read a code span, which ends with as many backticks as it begins with."""
        text = self._text
        if self._runs is None:
            self._runs = {}
            for run in _BACKTICKS.finditer(text, at):
                self._runs.setdefault(len(run[0]), deque()).append(run.start())
        length = match_end(_BACKTICKS, text, at) - at
        starts = self._runs.get(length, deque())
        while starts and starts[0] <= at:
            starts.popleft()
        begin = at + length
        if not starts:
            self._parts.append(text[at:begin])
            return begin
        self._parts.append(text[begin : starts[0]])
        return starts[0] + length

    def _read_target(self, at: int) -> int:
        """Read a closing bracket and the target of the link or image that it ends, if it does."""
        if self._brackets:
            opener = self._brackets.pop()
            target = _TARGET.match(self._text, at + 1)
            if target is not None:
                self._parts[opener] = ""
                return target.end()
        self._parts.append("]")
        return at + 1

    def _read_delimiter(self, at: int) -> int:
        text, mark = self._text, self._text[at]
        end = at
        while text.startswith(mark, end):
            end += 1
        before, after = text[at - 1 : at] or " ", text[end : end + 1] or " "
        is_left = _is_flanking(before, after)
        is_right = _is_flanking(after, before)
        can_open, can_close = is_left, is_right
        if mark == "_":
            can_open = is_left and (not is_right or _is_punctuation(before))
            can_close = is_right and (not is_left or _is_punctuation(after))
        length = end - at
        if mark == "~" and length != _STRIKETHROUGH:
            can_open = can_close = False
        self._delimiters.append(
            _Delimiter(len(self._parts), mark, length, length, can_open, can_close)
        )
        self._parts.append(text[at:end])
        return end

    def _match_emphasis(self) -> None:
        """Remove the delimiters that belong together.

        For each kind of closing delimiter it is remembered below which place there is nothing that
        opens it, so that nothing is looked at again.
        """
        openers: list[_Delimiter] = []
        bottoms: dict[tuple[str, bool, int], int] = {}
        for closer in self._delimiters:
            key = (closer.mark, closer.can_open, closer.length % _RULE_OF_THREE)
            while closer.can_close and closer.count:
                at = len(openers) - 1
                bottom = bottoms.get(key, 0)
                while at >= bottom and not openers[at].can_pair(closer):
                    at -= 1
                if at < bottom:
                    bottoms[key] = len(openers)
                    break
                width = min(_STRIKETHROUGH, openers[at].count, closer.count)
                openers[at].count -= width
                closer.count -= width
                del openers[at + (openers[at].count > 0) :]
                bottoms = {kind: min(place, at) for kind, place in bottoms.items()}
            if closer.can_open and closer.count:
                openers.append(closer)
        for one in self._delimiters:
            self._parts[one.part] = one.mark * one.count


def _is_flanking(outside: str, inside: str) -> bool:
    if inside.isspace():
        return False
    return not _is_punctuation(inside) or outside.isspace() or _is_punctuation(outside)


def _is_punctuation(character: str) -> bool:
    return character in _PUNCTUATION or unicodedata.category(character)[0] in "PS"


def match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a match at a position ends, or the position if there is no match."""
    found = pattern.match(text, at)
    return at if found is None else found.end()
