"""The headings and the list items of a Markdown text, and where they stand in it.

As much of CommonMark as it takes to tell them from what only looks like them: fenced and indented
code, HTML comments, list items and quotes. https://spec.commonmark.org/0.31.2/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

BYTE_ORDER_MARK = "\ufeff"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*))?\Z", re.DOTALL)
_CLOSING_SEQUENCE = re.compile(r"(?:\A|[ \t]+)#+\Z")
_UNDERLINE = re.compile(r"(?:=+|-+)\Z")
_THEMATIC_BREAK = re.compile(r"([-*_])(?:[ \t]*\1){2,}\Z")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])(?:([ \t]+)|\Z)")
# What opens a stretch that no Markdown is read in, and what ends it.
_HTML = (
    (re.compile(r"<!--"), re.compile(r"-->")),
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE),
        re.compile(r"</\w+>", re.IGNORECASE),
    ),
)
_CODE_INDENT = 4

_MARKUP = (
    (re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), ""),
    (re.compile(r"(`+)(.+?)\1"), r"\2"),
    (re.compile(r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_ESCAPED = re.compile(r"\x00([0-9a-f]{2})")


@dataclass(frozen=True)
class Heading:
    """A heading of a text.

    Parameters
    ----------
    level
        1 to 6.
    raw
        What it says, as it is written.
    line
        The number of its first line, from 1.
    start
        Where it begins in the text.
    body
        Where the line after it begins.
    """

    level: int
    raw: str
    line: int
    start: int
    body: int

    @cached_property
    def text(self) -> str:
        """What it says without markup."""
        return plain(self.raw)


@dataclass(frozen=True)
class ListItem:
    """A list item, from its marker to the end of what belongs to it, nested items included.

    Parameters
    ----------
    text
        What it says itself, without what items in it say.
    lines
        The indexes of its lines, from 0.
    """

    text: str
    lines: range


def plain(text: str) -> str:
    """Take the markup out of a line, and superfluous white space."""
    text = _ESCAPE.sub(lambda found: f"\x00{ord(found[1]):02x}", text)
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return " ".join(text.split())


def lines_of(text: str) -> list[str]:
    """Cut a text into lines as Markdown does, line breaks included."""
    return _LINE.findall(text)


def headings(text: str, start: int = 0) -> list[Heading]:
    """List the headings of a text, except those in list items and quotes.

    Parameters
    ----------
    text
        Markdown.
    start
        Where Markdown begins in it; what is before is skipped.
    """
    return list(_headings(_scan(text, start)))


def list_items(text: str) -> list[ListItem]:
    """List the list items of a text in order, nested ones behind those they are in."""
    lines = _scan(text, 0)
    words: dict[int, list[str]] = {}
    stops: dict[int, int] = {}
    for index, line in enumerate(lines):
        if line.kind == "blank" or not line.items:
            continue
        stops |= dict.fromkeys(line.items, index + 1)
        said = line.content.lstrip()
        if line.kind == "item":
            said = _ITEM.sub("", said, count=1)
        words.setdefault(line.items[-1], []).extend(said.split())
    return [ListItem(" ".join(words[owner]), range(owner, stops[owner])) for owner in sorted(words)]


@dataclass
class _Line:
    """One line and what it is; ``items`` are the numbers of the lines whose items it is in."""

    number: int
    start: int
    stop: int
    content: str
    kind: str = "text"
    items: tuple[int, ...] = ()
    level: int = 0
    heading: str = ""
    first: int = 0


@dataclass
class _Scanner:
    """Goes through a text line by line, as CommonMark's first phase does."""

    fence: tuple[str, int] | None = None
    html_end: re.Pattern[str] | None = None
    # The column where an open item's content begins, and the number of its first line.
    items: list[tuple[int, int]] = field(default_factory=list)
    # The lines of the paragraph that may turn out to be a heading.
    paragraph: list[_Line] = field(default_factory=list)
    # Whether the line before was text of an item or a quote, which a line may go on lazily.
    lazy: bool = False

    def see(self, line: _Line) -> None:
        expanded = line.content.expandtabs(_CODE_INDENT)
        stripped = expanded.strip()
        indent = len(expanded) - len(expanded.lstrip())
        if not stripped:
            line.kind = "blank"
            self.paragraph, self.lazy = [], False
        elif self._verbatim(stripped, indent):
            line.kind = "verbatim"
        else:
            self._leave_items(stripped, indent)
            self._classify(line, stripped, indent)
        line.items = tuple(number for _, number in self.items)

    def _verbatim(self, stripped: str, indent: int) -> bool:
        """Take a line of a fenced block or of HTML, up to its end."""
        if self.html_end is not None:
            if self.html_end.search(stripped):
                self.html_end = None
            return True
        if self.fence is None:
            return False
        if self.items and indent < self.items[-1][0]:
            # The item ends here, and the fenced block in it.
            self.fence = None
            return False
        mark, length = self.fence
        if len(stripped) >= length and not stripped.strip(mark):
            self.fence = None
        return True

    def _leave_items(self, stripped: str, indent: int) -> None:
        if self.lazy and not self._begins_block(stripped):
            return
        while self.items and indent < self.items[-1][0]:
            self.items.pop()

    @staticmethod
    def _begins_block(stripped: str) -> bool:
        return bool(
            _FENCE.match(stripped)
            or _ATX.match(stripped)
            or _THEMATIC_BREAK.match(stripped)
            or _ITEM.match(stripped)
            or stripped.startswith((">", "<!--"))
        )

    def _classify(self, line: _Line, stripped: str, indent: int) -> None:
        inner = indent - (self.items[-1][0] if self.items else 0)
        if inner >= _CODE_INDENT and not self.paragraph and not self.lazy:
            line.kind = "verbatim"
            return
        if inner >= _CODE_INDENT:
            self._text(line)
            return
        if self.paragraph and _UNDERLINE.match(stripped):
            self._heading(line, 1 if stripped[0] == "=" else 2, first=self.paragraph[0])
            line.heading = " ".join(part.content.strip() for part in self.paragraph)
        elif atx := _ATX.match(stripped):
            if not self.items:
                self._heading(line, len(atx[1]), first=line)
                line.heading = _CLOSING_SEQUENCE.sub("", (atx[2] or "").strip())
        elif self._opens(stripped):
            line.kind = "verbatim"
        elif _THEMATIC_BREAK.match(stripped):
            line.kind = "break"
        elif (item := _ITEM.match(stripped)) and self._may_begin(item, stripped):
            self._begin_item(line, item, indent, stripped)
            return
        elif stripped.startswith(">"):
            line.kind, self.lazy = "quote", True
            self.paragraph = []
            return
        else:
            self._text(line)
            return
        self.paragraph, self.lazy = [], False

    def _opens(self, stripped: str) -> bool:
        if fence := _FENCE.match(stripped):
            mark = fence[1] or fence[2]
            self.fence = (mark[0], len(mark))
            return True
        for begin, end in _HTML:
            if begin.match(stripped):
                self.html_end = None if end.search(stripped) else end
                return True
        return False

    def _may_begin(self, item: re.Match[str], stripped: str) -> bool:
        """Tell whether an item may begin here: only one that says something ends a paragraph."""
        if not self.paragraph:
            return True
        return item.end() < len(stripped) and (item[1] in "-*+" or item[1][:-1] == "1")

    def _begin_item(self, line: _Line, item: re.Match[str], indent: int, stripped: str) -> None:
        space = len(item[2] or "")
        rest = stripped[item.end() :]
        column = indent + len(item[1]) + (space if 1 <= space <= _CODE_INDENT and rest else 1)
        self.items.append((column, line.number - 1))
        line.kind = "item"
        self.paragraph = []
        self.lazy = bool(rest) and not self._opens(rest)

    def _heading(self, line: _Line, level: int, *, first: _Line) -> None:
        line.kind, line.level, line.first = "heading", level, first.number - 1

    def _text(self, line: _Line) -> None:
        if self.items:
            self.lazy = True
        elif not self.lazy:
            self.paragraph.append(line)


def _scan(text: str, start: int) -> list[_Line]:
    scanner = _Scanner()
    found: list[_Line] = []
    at = 0
    for number, whole in enumerate(lines_of(text), start=1):
        content = whole.rstrip("\r\n")
        line = _Line(
            number, at, at + len(whole), content if at else content.lstrip(BYTE_ORDER_MARK)
        )
        at = line.stop
        if line.start >= start:
            scanner.see(line)
        else:
            line.kind = "verbatim"
        found.append(line)
    return found


def _headings(lines: Sequence[_Line]) -> Iterator[Heading]:
    for line in lines:
        if line.kind == "heading":
            first = lines[line.first]
            yield Heading(line.level, line.heading, first.number, first.start, line.stop)
