"""Headings and list items of a Markdown text.

This is the first phase of CommonMark, which finds the blocks of a text. It reads the text once,
line by line, and visits each character a bounded number of times: notebooks come from anywhere, and
a slow parser stops the whole server. No regular expression here can match a text in two ways.

markdown-it-py, with which the tests compare, takes twice as long for real notebooks. It also drops
every heading after a list that is nested more than ten levels deep (its ``maxNesting``), and each
level makes it visit every line once more.

Mathematics is not part of CommonMark: ``# x`` on a line between two ``$$`` is a heading.

https://spec.commonmark.org/0.31.2/
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

from jupyter_nbedit.notebook.markdown.inline import match_end, to_plain_text

BYTE_ORDER_MARK = "\ufeff"

_TAB_STOP = 4
_CODE_INDENT = 4
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_WHITE = " \t"
_SPACES = re.compile(r"[ \t]*")
# Only these characters begin a block that can interrupt a paragraph.
_BLOCK_STARTS = frozenset("#`~<=-_*+>0123456789")
_ATX = re.compile(r"(#{1,6})(?:[ \t]|\Z)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_MARKER = re.compile(r"[-*+]|([0-9]{1,9})[.)]")
# A heading begins with `#`, or is followed by a line that begins with one of the two others.
_HEADING_HINT = re.compile(r"#|[\r\n] {0,3}[=-]")

# Five of the seven kinds of HTML blocks end with a line that contains an end mark; the other two
# end before a blank line.
_VERBATIM_NAMES = "(?:script|pre|style|textarea)"
_HTML_BEGIN_AND_END = (
    (
        re.compile(rf"<{_VERBATIM_NAMES}(?:[ \t>]|\Z)", re.IGNORECASE),
        re.compile(rf"</{_VERBATIM_NAMES}>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
)
_BLANK_LINE = re.compile(r"[ \t]*\Z")
_BLOCK_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|"
    "hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|"
    "search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_HTML_BLOCK = re.compile(rf"</?(?:{_BLOCK_NAMES})(?:[ \t>]|/>|\Z)", re.IGNORECASE)
_CLOSING_TAG = re.compile(r"</[A-Za-z][A-Za-z0-9-]*[ \t]*>[ \t]*\Z")
_TAG_NAME = re.compile(r"<[A-Za-z][A-Za-z0-9-]*")
_ATTRIBUTE = re.compile(
    r"[ \t]+[A-Za-z_:][A-Za-z0-9_.:-]*(?:[ \t]*=[ \t]*"
    r"(?:'[^']*'|\"[^\"]*\"|[^ \t\"'=<>`]+))?"
)
_TAG_END = re.compile(r"[ \t]*/?>[ \t]*\Z")

# A link reference definition, part by part.
_LABEL = re.compile(r"\[([^\[\]\\]*(?:\\.[^\[\]\\]*)*)\]:", re.DOTALL)
_LONGEST_LABEL = 999
_GAP = re.compile(r"[ \t]*(?:\n[ \t]*)?")
_BRACKETED_DESTINATION = re.compile(r"<[^<>\n\\]*(?:\\.[^<>\n\\]*)*>")
_DESTINATION = re.compile(r"[^\x00-\x20\x7f<][^\x00-\x20\x7f]*")
_TITLE = re.compile(
    r"\"[^\"\\]*(?:\\.[^\"\\]*)*\"|'[^'\\]*(?:\\.[^'\\]*)*'|\([^()\\]*(?:\\.[^()\\]*)*\)",
    re.DOTALL,
)
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")


@dataclass(frozen=True)
class Heading:
    """A heading of a text.

    Parameters
    ----------
    level
        1 to 6.
    raw
        Its text with markup.
    line
        The number of its first line, from 1.
    start
        The offset of its first line.
    body
        The offset of the line after it.
    """

    level: int
    raw: str
    line: int
    start: int
    body: int

    @cached_property
    def text(self) -> str:
        """The text without markup."""
        return to_plain_text(self.raw)


@dataclass
class ListItem:
    """A list item with all its content, nested items included.

    Parameters
    ----------
    first, stop
        The indexes of its first line and of the line after it, from 0.
    words
        The words of its own text, without nested items.
    """

    first: int
    stop: int
    words: list[str]

    @property
    def text(self) -> str:
        """Its own text as one line."""
        return " ".join(self.words)

    @property
    def lines(self) -> range:
        """The indexes of its lines."""
        return range(self.first, self.stop)


def split_lines(text: str) -> list[str]:
    """Split a text into lines as Markdown does; line breaks are included."""
    return _LINE.findall(text)


def list_headings(text: str, start: int = 0) -> list[Heading]:
    """Return the headings of a text, except those in list items and block quotes.

    Parameters
    ----------
    text
        Markdown.
    start
        The offset at which Markdown begins; it must be the start of a line.
    """
    if _HEADING_HINT.search(text) is None:
        return []
    return _parse_blocks(text, start).headings


def find_list_items(text: str) -> list[ListItem]:
    """Return the list items of a text in order, nested ones after their parents.

    Of items that begin on the same line only the first is returned; items in block quotes are not.
    """
    return _parse_blocks(text, 0).items


def _parse_blocks(text: str, start: int) -> BlockParser:
    parser = BlockParser()
    for line in split_lines(text):
        if parser.stop >= start:
            parser.add(line)
        else:
            parser.skip(line)
    return parser


@dataclass
class _Container:
    """An open list item or block quote.

    Parameters
    ----------
    width
        The indentation of a list item's content in columns; 0 for a block quote.
    item
        The innermost reported item that this is or is part of.
    is_empty
        Whether it is a list item without any block so far.
    """

    width: int
    item: ListItem | None
    is_empty: bool = False


@dataclass
class _Line:
    """A line, and how much of it has been parsed.

    Parameters
    ----------
    content
        Its text without the line break.
    number
        Its number, from 1.
    start, stop
        The offsets of its start and of the next line's start.
    """

    content: str
    number: int
    start: int
    stop: int
    # The column up to which the line was parsed, and the position of the next character that is not
    # white space. A container may end within a tab.
    column: int = 0
    position: int = 0
    position_column: int = 0

    def __post_init__(self) -> None:
        self.skip(0)

    @property
    def indent(self) -> int:
        """The number of columns of white space that come next."""
        return self.position_column - self.column

    @property
    def is_blank(self) -> bool:
        """Whether only white space is left."""
        return self.position == len(self.content)

    @property
    def next_character(self) -> str:
        """The next character that is not white space; empty at the end."""
        return self.content[self.position : self.position + 1]

    def skip(self, count: int) -> None:
        """Parse so many characters, none of them a tab, and measure the white space after them."""
        start = self.position + count
        self.column = column = self.position_column + count
        stop = _SPACES.match(self.content, start).end()  # type: ignore[union-attr] # always matches
        if "\t" in self.content[start:stop]:
            for character in self.content[start:stop]:
                column += _TAB_STOP - column % _TAB_STOP if character == "\t" else 1
        else:
            column += stop - start
        self.position, self.position_column = stop, column

    def skip_columns(self, columns: int) -> None:
        """Parse so many columns of white space."""
        self.column += columns

    def get_remainder(self) -> str:
        """Return the unparsed text without surrounding white space."""
        return self.content[self.position :].rstrip(_WHITE)

    @cached_property
    def _break_limits(self) -> tuple[int, int]:
        """The first and the last position at which a thematic break may begin."""
        text = self.content.rstrip(_WHITE)
        mark = text[-1:]
        if mark not in {"*", "-", "_"}:
            return len(text) + 1, 0
        third = len(text)
        for _ in range(3):
            third = text.rfind(mark, 0, max(third, 0))
        return len(text.rstrip(mark + _WHITE)), third

    def is_break(self) -> bool:
        """Return whether the unparsed text is a thematic break."""
        first, last = self._break_limits
        return first <= self.position <= last


class BlockParser:
    """Parses the blocks of a text line by line.

    Attributes
    ----------
    headings
        The headings so far, except those in list items and block quotes.
    count
        The number of lines so far.
    stop
        The offset after them.
    """

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.count = 0
        self.stop = 0
        self._items: list[ListItem] = []
        self._containers: list[_Container] = []
        # The positions of block quotes in `_containers`.
        self._quotes: list[int] = []
        # The open leaf of the innermost container, if any: a paragraph, as its lines; a fenced
        # block, as its character and length; an HTML block, as the pattern of its end.
        self._paragraph: list[tuple[_Line, str]] | None = None
        self._fence: tuple[str, int] | None = None
        self._html_end: re.Pattern[str] | None = None

    def skip(self, line: str) -> None:
        """Count a line without parsing it."""
        self.count += 1
        self.stop += len(line)

    def add(self, line: str) -> None:
        """Parse the next line; only the last line may lack a line break."""
        start = self.stop
        self.skip(line)
        content = line.rstrip("\r\n")
        if start == 0:
            content = content.lstrip(BYTE_ORDER_MARK)
        self._parse_line(_Line(content, self.count, start, self.stop))

    @property
    def is_in_item(self) -> bool:
        """Whether the last line, unless it is blank, is part of a list item."""
        return self._item is not None

    @property
    def items(self) -> list[ListItem]:
        """The list items so far, as from `find_list_items`; the next lines may extend some."""
        for inner, outer in zip(
            reversed(self._containers[1:]), reversed(self._containers[:-1]), strict=True
        ):
            _extend(outer, inner)
        return self._items

    def would_contain(self, line: str) -> bool:
        """Return whether a line after a blank line would be part of an open block.

        The line must begin neither a block quote nor a list item.
        """
        if not self._containers:
            return self._fence is not None or self._html_end not in {None, _BLANK_LINE}
        first = self._containers[0]
        is_open = first.width > 0 and not first.is_empty
        return is_open and _Line(line, 0, 0, 0).indent >= first.width

    def _parse_line(self, line: _Line) -> None:
        matched_count = self._match_containers(line)
        is_inside = matched_count == len(self._containers)
        if is_inside and self._read_verbatim(line):
            self._extend_item(line)
            return
        if line.is_blank:
            # A blank line ends paragraphs and containers that it does not continue.
            self._close(matched_count)
            return
        self._open_blocks(line, matched_count, is_inside=is_inside)
        self._extend_item(line)

    def _match_containers(self, line: _Line) -> int:
        """Parse the start of a line; return how many open containers it continues."""
        for position, container in enumerate(self._containers):
            if line.is_blank:
                return self._match_blank(position)
            if container.width:
                if line.indent < container.width:
                    return position
                line.skip_columns(container.width)
            elif line.next_character == ">" and line.indent < _CODE_INDENT:
                _skip_quote_mark(line)
            else:
                return position
        return len(self._containers)

    def _match_blank(self, position: int) -> int:
        """Return how many containers a blank line continues; those before a position always do."""
        index = bisect_left(self._quotes, position)
        if index < len(self._quotes):
            return self._quotes[index]
        return len(self._containers) - self._containers[-1].is_empty

    def _read_verbatim(self, line: _Line) -> bool:
        """Parse a line of a fenced block or an HTML block; return whether it is part of one."""
        if self._html_end is not None:
            if self._html_end is _BLANK_LINE:
                if line.is_blank:
                    self._html_end = None
                return not line.is_blank
            if self._html_end.search(line.content, line.position):
                self._html_end = None
            return True
        if self._fence is None:
            return False
        mark, length = self._fence
        if line.indent < _CODE_INDENT and line.next_character == mark:
            remainder = line.get_remainder()
            if len(remainder) >= length and not remainder.strip(mark):
                self._fence = None
        return True

    def _close(self, count: int) -> None:
        """Close the leaf, and all containers except the first so many."""
        self._paragraph = self._fence = self._html_end = None
        for inner, outer in zip(
            reversed(self._containers[count:]),
            reversed(self._containers[max(count - 1, 0) : -1]),
            strict=False,
        ):
            _extend(outer, inner)
        del self._quotes[bisect_left(self._quotes, count) :]
        del self._containers[count:]

    def _extend_item(self, line: _Line) -> None:
        """Add a line that is not blank to the innermost item."""
        if not self._containers:
            return
        item = self._containers[-1].item
        if item is None:
            return
        item.stop = line.number
        if item.first != line.number - 1:
            item.words += line.content.split()

    def _open_blocks(self, line: _Line, matched_count: int, *, is_inside: bool) -> None:
        """Open the blocks that begin on a line, and add its text to them."""
        # The paragraph that the line continues if no block begins on it.
        paragraph = self._paragraph if is_inside else None
        is_lazy = not is_inside and self._paragraph is not None
        while not line.is_blank:
            character = line.next_character
            if character not in _BLOCK_STARTS or line.indent >= _CODE_INDENT:
                break
            if self._open_leaf(line, matched_count, paragraph, is_lazy=is_lazy):
                return
            if not self._open_container(line, matched_count, paragraph):
                break
            paragraph, is_lazy, matched_count = None, False, len(self._containers)
        self._add_text(line, matched_count, paragraph, is_lazy=is_lazy)

    def _open_leaf(
        self,
        line: _Line,
        matched_count: int,
        paragraph: list[tuple[_Line, str]] | None,
        *,
        is_lazy: bool,
    ) -> bool:
        """Open the heading, fenced block, HTML block or break that comes next, if there is one."""
        if line.next_character == "#":
            return self._open_atx(line, matched_count)
        if line.next_character in "`~":
            return self._open_fence(line, matched_count)
        if line.next_character == "<":
            may_be_any_tag = paragraph is None and not is_lazy
            return self._open_html(line, matched_count, may_be_any_tag=may_be_any_tag)
        if (
            paragraph is not None
            and line.next_character in "=-"
            and self._close_setext_heading(line)
        ):
            return True
        if line.next_character in "*-_" and line.is_break():
            self._begin_leaf(matched_count)
            return True
        return False

    def _begin_leaf(self, matched_count: int) -> None:
        self._close(matched_count)
        if self._containers:
            self._containers[-1].is_empty = False

    def _open_atx(self, line: _Line, matched_count: int) -> bool:
        match = _ATX.match(line.content, line.position)
        if match is None:
            return False
        self._begin_leaf(matched_count)
        if not self._containers:
            raw = strip_closing_sequence(line.content[match.end(1) :].strip())
            self.headings.append(Heading(len(match[1]), raw, line.number, line.start, line.stop))
        return True

    def _open_fence(self, line: _Line, matched_count: int) -> bool:
        match = _FENCE.match(line.content, line.position)
        if match is None or (line.next_character == "`" and "`" in line.content[match.end() :]):
            return False
        self._begin_leaf(matched_count)
        self._fence = (match[0][0], len(match[0]))
        return True

    def _open_html(self, line: _Line, matched_count: int, *, may_be_any_tag: bool) -> bool:
        for begin, end in _HTML_BEGIN_AND_END:
            if begin.match(line.content, line.position):
                self._begin_leaf(matched_count)
                self._html_end = None if end.search(line.content, line.position) else end
                return True
        if _HTML_BLOCK.match(line.content, line.position) or (
            may_be_any_tag and _is_only_a_tag(line.content, line.position)
        ):
            self._begin_leaf(matched_count)
            self._html_end = _BLANK_LINE
            return True
        return False

    def _close_setext_heading(self, line: _Line) -> bool:
        """Turn the open paragraph into a heading, if the line consists of `=` or `-` only."""
        if self._paragraph is None or line.get_remainder().strip(line.next_character):
            return False
        self._paragraph = _skip_definitions(self._paragraph)
        if not self._paragraph:
            return False
        first = self._paragraph[0][0]
        if not self._containers:
            raw = " ".join(text.strip() for _, text in self._paragraph)
            level = 1 if line.next_character == "=" else 2
            self.headings.append(Heading(level, raw, first.number, first.start, line.stop))
        self._paragraph = None
        return True

    def _open_container(
        self, line: _Line, matched_count: int, paragraph: list[tuple[_Line, str]] | None
    ) -> bool:
        """Open the block quote or list item that comes next, if there is one."""
        if line.next_character == ">":
            self._begin_leaf(matched_count)
            _skip_quote_mark(line)
            self._quotes.append(len(self._containers))
            self._containers.append(_Container(0, self._item))
            return True
        marker = _MARKER.match(line.content, line.position)
        if marker is None or line.content[marker.end() : marker.end() + 1] not in {"", " ", "\t"}:
            return False
        is_blank = _SPACES.fullmatch(line.content, marker.end()) is not None
        # Only an item with text, and with the number 1 if it has one, interrupts a paragraph.
        if paragraph is not None and (is_blank or int(marker[1] or 1) != 1):
            return False
        self._begin_leaf(matched_count)
        width = line.indent + len(marker[0])
        line.skip(len(marker[0]))
        gap = line.indent if line.indent <= _CODE_INDENT and not is_blank else 1
        line.skip_columns(gap)
        self._containers.append(_Container(width + gap, self._get_item(line), is_empty=is_blank))
        return True

    @property
    def _item(self) -> ListItem | None:
        return self._containers[-1].item if self._containers else None

    def _get_item(self, line: _Line) -> ListItem | None:
        """Return the reported item that an item on a line is or is part of."""
        outer = self._item
        if self._quotes or (outer is not None and outer.first == line.number - 1):
            return outer
        item = ListItem(line.number - 1, line.number, line.get_remainder().split())
        self._items.append(item)
        return item

    def _add_text(
        self,
        line: _Line,
        matched_count: int,
        paragraph: list[tuple[_Line, str]] | None,
        *,
        is_lazy: bool,
    ) -> None:
        """Add a line to the open paragraph, or begin a paragraph or indented code."""
        if self._paragraph is not None and (is_lazy or paragraph is not None):
            self._paragraph.append((line, line.get_remainder()))
            return
        if line.is_blank:
            # The line only opened a container.
            return
        self._begin_leaf(matched_count)
        if line.indent < _CODE_INDENT:
            self._paragraph = [(line, line.get_remainder())]


def _extend(outer: _Container, inner: _Container) -> None:
    """Extend the outer item to the end of the inner one."""
    if inner.item is not None and outer.item is not None:
        outer.item.stop = max(outer.item.stop, inner.item.stop)


def _skip_quote_mark(line: _Line) -> None:
    line.skip(1)
    if line.indent:
        line.skip_columns(1)


def strip_closing_sequence(text: str) -> str:
    """Return the text of a heading without the `#` that may end it."""
    remainder = text.rstrip("#")
    return remainder.rstrip() if not remainder or remainder[-1] in _WHITE else text


def _is_only_a_tag(content: str, position: int) -> bool:
    """Return whether the rest of a line is one HTML tag."""
    if _CLOSING_TAG.match(content, position):
        return True
    match = _TAG_NAME.match(content, position)
    while match is not None:
        position = match.end()
        match = _ATTRIBUTE.match(content, position)
    return _TAG_END.match(content, position) is not None


def _skip_definitions(paragraph: list[tuple[_Line, str]]) -> list[tuple[_Line, str]]:
    """Return the lines of a paragraph after its leading link reference definitions."""
    if not paragraph[0][1].startswith("["):
        return paragraph
    text = "\n".join(text for _, text in paragraph)
    position = 0
    while (
        text.startswith("[", position) and (end := _find_definition_end(text, position)) is not None
    ):
        position = end
    return paragraph[text.count("\n", 0, position) :] if position < len(text) else []


def _find_definition_end(text: str, position: int) -> int | None:
    """Return the end of the link reference definition at a position; None if there is none."""
    label = _LABEL.match(text, position)
    if label is None or len(label[1]) > _LONGEST_LABEL or not label[1].strip():
        return None
    begin = match_end(_GAP, text, label.end())
    if text.startswith("<", begin):
        destination = _BRACKETED_DESTINATION.match(text, begin)
    else:
        destination = _DESTINATION.match(text, begin)
        if destination is not None and not _has_balanced_parentheses(destination[0]):
            return None
    if destination is None:
        return None
    end = _LINE_END.match(text, destination.end())
    gap = match_end(_GAP, text, destination.end())
    title = _TITLE.match(text, gap) if gap > destination.end() else None
    if title is not None and (title_end := _LINE_END.match(text, title.end())):
        return title_end.end()
    return None if end is None else end.end()


def _has_balanced_parentheses(destination: str) -> bool:
    depth = 0
    is_escaped = False
    for character in destination:
        if character == "(" and not is_escaped:
            depth += 1
        elif character == ")" and not is_escaped:
            depth -= 1
            if depth < 0:
                return False
        is_escaped = character == "\\" and not is_escaped
    return depth == 0
