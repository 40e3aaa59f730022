"""Headings and list items of a Markdown text, as markdown-it-py finds them.

Mathematics is not part of CommonMark: ``# x`` on a line between two ``$$`` is a heading.

https://spec.commonmark.org/0.31.2/
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BYTE_ORDER_MARK = "\ufeff"

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
# A heading begins with `#`, or is followed by a line that begins with one of the two others.
_HEADING_HINT = re.compile(r"#|[\r\n] {0,3}[=-]")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])")
# Nothing is found in or after a list of half as many levels: each level makes the parser visit
# every line once more. Its own limit, 20, is kept for inline markup.
_MAX_BLOCK_NESTING, _MAX_INLINE_NESTING = 100, 20


@dataclass(frozen=True)
class Heading:
    """A heading of a text."""

    #: 1 to 6.
    level: int
    #: Its text with markup.
    raw: str
    #: The number of its first line, from 1.
    line: int
    #: The offsets of its first line, and of the line after it.
    start: int
    body: int

    @cached_property
    def text(self) -> str:
        """The text without markup."""
        return strip_markup(self.raw)


@dataclass(frozen=True)
class ListItem:
    """A list item; its lines, counted from 0, include nested items, its text does not."""

    lines: range
    text: str


def split_lines(text: str) -> list[str]:
    """Split a text into lines as Markdown does; line breaks are included."""
    return _LINE.findall(text)


def list_headings(text: str, start: int = 0) -> list[Heading]:
    """Return the headings of a text, except those in list items and block quotes.

    Markdown begins at the offset ``start``, the start of a line.
    """
    if _HEADING_HINT.search(text, start) is None:
        return []
    offsets = list(accumulate(map(len, split_lines(text)), initial=0))
    first = bisect_left(offsets, start)
    headings: list[Heading] = []
    for token, inline in pairwise(_parse_blocks(text[start:])):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            begin, stop = (first + line for line in token.map)
            raw = " ".join(line.strip() for line in inline.content.split("\n"))
            level = int(token.tag.removeprefix("h"))
            headings.append(Heading(level, raw, begin + 1, offsets[begin], offsets[stop]))
    return headings


def find_list_items(text: str) -> list[ListItem]:
    """Return the list items of a text in order, nested ones after their parents.

    Of items that begin on the same line only the first is returned; items in block quotes are not.
    """
    lines = split_lines(text)
    ranges: list[range] = []
    quotes = 0
    for token in _parse_blocks(text):
        if token.type in {"blockquote_open", "blockquote_close"}:
            quotes += token.nesting
        elif token.type == "list_item_open" and not quotes and token.map is not None:
            first, stop = token.map
            while stop > first + 1 and not lines[stop - 1].strip():
                stop -= 1
            if not ranges or ranges[-1].start != first:
                ranges.append(range(first, stop))
    owners: dict[int, int] = {}
    for number, item_lines in enumerate(ranges):
        owners.update(dict.fromkeys(item_lines, number))
    words: list[list[str]] = [[] for _ in ranges]
    for line, owner in sorted(owners.items()):
        is_first = line == ranges[owner].start
        words[owner] += (_MARKER.sub("", lines[line], 1) if is_first else lines[line]).split()
    return [ListItem(*item) for item in zip(ranges, map(" ".join, words), strict=True)]


def find_last_block(text: str) -> tuple[int, bool]:
    """Return the first line of the last block, and whether it is a list item with the last line.

    What follows can be parsed together with that block alone. Of a list, it is the last item.
    """
    start, is_item = 0, False
    line_count = len(split_lines(text))
    for token in _parse_blocks(text):
        is_item_start = token.level == 1 and token.type == "list_item_open"
        if token.map is not None and (token.level == 0 or is_item_start):
            start, stop = token.map
            is_item = is_item_start and stop >= line_count
    return start, is_item


def strip_markup(text: str) -> str:
    """Remove inline markup and superfluous white space from a line."""
    parser = _get_parser(_MAX_INLINE_NESTING)
    tokens: list[Token] = []
    parser.inline.parse(text, parser, {}, tokens)
    return " ".join("".join(_iterate_texts(tokens)).split())


def _iterate_texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "image":
            yield from _iterate_texts(token.children or [])
        elif token.type in {"text", "text_special", "code_inline"}:
            yield token.content


def strip_closing_sequence(text: str) -> str:
    """Return the text of a heading without the `#` that may end it."""
    remainder = text.rstrip("#")
    return remainder.rstrip() if not remainder or remainder[-1] in " \t" else text


def _parse_blocks(text: str) -> list[Token]:
    parser = _get_parser(_MAX_BLOCK_NESTING)
    content = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    tokens: list[Token] = []
    parser.block.parse(content, parser, {}, tokens)
    return tokens


@cache
def _get_parser(max_nesting: int) -> MarkdownIt:
    # Only requests about sections need it.
    from markdown_it import MarkdownIt  # noqa: PLC0415

    return MarkdownIt("commonmark", {"maxNesting": max_nesting}).enable("strikethrough")
