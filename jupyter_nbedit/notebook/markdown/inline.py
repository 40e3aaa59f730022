"""The inline markup of Markdown, and how to remove it from a line.

This is the part of CommonMark that sees one line, such as the text of a heading. It goes through
the line once. https://spec.commonmark.org/0.31.2/#inlines
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass

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
        """Return whether this delimiter and a closing one form a pair."""
        if self.mark != closer.mark or (self.mark == "~" and self.count != closer.count):
            return False
        return not (
            (self.can_close or closer.can_open)
            and (self.length + closer.length) % _RULE_OF_THREE == 0
            and self.length % _RULE_OF_THREE != 0
            and self.mark != "~"
        )


def to_plain_text(text: str) -> str:
    """Remove inline markup and superfluous white space from a line."""
    return " ".join(_InlineParser(text).to_plain_text().split())


class _InlineParser:
    """Parses a line once and collects the parts of it that are text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[str] = []
        self._delimiters: list[_Delimiter] = []
        # The indexes of the parts that are opening brackets.
        self._brackets: list[int] = []
        # The positions of the runs of backticks that have not been passed, by their length.
        self._runs: dict[int, deque[int]] | None = None

    def to_plain_text(self) -> str:
        """Return the text without markup."""
        text, position = self._text, 0
        while (match := _INLINE.search(text, position)) is not None:
            self._parts.append(text[position : match.start()])
            position = self._read_mark(match.start())
        self._parts.append(text[position:])
        self._match_emphasis()
        return "".join(self._parts)

    def _read_mark(self, position: int) -> int:
        """Parse from a character that may be markup; return the position after it."""
        text = self._text
        mark = text[position]
        if mark == "\\" and text[position + 1 : position + 2] in _PUNCTUATION:
            self._parts.append(text[position + 1])
            end = position + 2
        elif mark == "`":
            end = self._read_code(position)
        elif mark == "<" and (tag := _TAG.match(text, position)):
            end = tag.end()
        elif mark == "[" or text.startswith("![", position):
            self._brackets.append(len(self._parts))
            self._parts.append("[" if mark == "[" else "![")
            end = position + len(self._parts[-1])
        elif mark == "]":
            end = self._read_target(position)
        elif mark in "*_~":
            end = self._read_delimiter(position)
        else:
            self._parts.append(mark)
            end = position + 1
        return end

    def _read_code(self, position: int) -> int:
        """Parse a code span, which ends with as many backticks as it begins with."""
        text = self._text
        if self._runs is None:
            self._runs = {}
            for run in _BACKTICKS.finditer(text, position):
                self._runs.setdefault(len(run[0]), deque()).append(run.start())
        length = match_end(_BACKTICKS, text, position) - position
        starts = self._runs.get(length, deque())
        while starts and starts[0] <= position:
            starts.popleft()
        begin = position + length
        if not starts:
            self._parts.append(text[position:begin])
            return begin
        self._parts.append(text[begin : starts[0]])
        return starts[0] + length

    def _read_target(self, position: int) -> int:
        """Parse a closing bracket and the target of the link or image that it ends."""
        if self._brackets:
            opener = self._brackets.pop()
            target = _TARGET.match(self._text, position + 1)
            if target is not None:
                self._parts[opener] = ""
                return target.end()
        self._parts.append("]")
        return position + 1

    def _read_delimiter(self, position: int) -> int:
        text, mark = self._text, self._text[position]
        end = position
        while text.startswith(mark, end):
            end += 1
        previous_character, next_character = (
            text[position - 1 : position] or " ",
            text[end : end + 1] or " ",
        )
        is_left = _is_flanking(previous_character, next_character)
        is_right = _is_flanking(next_character, previous_character)
        can_open, can_close = is_left, is_right
        if mark == "_":
            can_open = is_left and (not is_right or _is_punctuation(previous_character))
            can_close = is_right and (not is_left or _is_punctuation(next_character))
        length = end - position
        if mark == "~" and length != _STRIKETHROUGH:
            can_open = can_close = False
        self._delimiters.append(
            _Delimiter(len(self._parts), mark, length, length, can_open, can_close)
        )
        self._parts.append(text[position:end])
        return end

    def _match_emphasis(self) -> None:
        """Remove delimiters that form pairs.

        For each kind of closing delimiter, `bottoms` stores the index below which no opener
        matches, so that no opener is visited twice.
        """
        openers: list[_Delimiter] = []
        bottoms: dict[tuple[str, bool, int], int] = {}
        for closer in self._delimiters:
            key = (closer.mark, closer.can_open, closer.length % _RULE_OF_THREE)
            while closer.can_close and closer.count:
                index = len(openers) - 1
                bottom = bottoms.get(key, 0)
                while index >= bottom and not openers[index].can_pair(closer):
                    index -= 1
                if index < bottom:
                    bottoms[key] = len(openers)
                    break
                width = min(_STRIKETHROUGH, openers[index].count, closer.count)
                openers[index].count -= width
                closer.count -= width
                del openers[index + (openers[index].count > 0) :]
                bottoms = {kind: min(lowest, index) for kind, lowest in bottoms.items()}
            if closer.can_open and closer.count:
                openers.append(closer)
        for delimiter in self._delimiters:
            self._parts[delimiter.part] = delimiter.mark * delimiter.count


def _is_flanking(outside: str, inside: str) -> bool:
    if inside.isspace():
        return False
    return not _is_punctuation(inside) or outside.isspace() or _is_punctuation(outside)


def _is_punctuation(character: str) -> bool:
    return character in _PUNCTUATION or unicodedata.category(character)[0] in "PS"


def match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return where a match at a position ends, or the position if there is no match."""
    match = pattern.match(text, position)
    return position if match is None else match.end()
