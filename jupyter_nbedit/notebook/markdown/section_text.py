"""A Markdown text in which sections are changed one after the other.

The text is cut at its headings once. From then on a change costs no more than what it adds and what
it removes, however long the text is: a batch may have a thousand of them. The sections are those
that the text had at first, so what is appended to a section belongs to it, headings included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from jupyter_nbedit.notebook.markdown.blocks import (
    BlockParser,
    Heading,
    ListItem,
    find_list_items,
    split_lines,
)

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_BREAKS = ("\r", "\n")
_LEVELS = 6


class SectionText:
    """A Markdown text and its sections.

    A section is a range of stretches. The first stretch is what is before all headings, and each
    heading begins another one.

    Parameters
    ----------
    text
        The text.
    headings
        Its headings.
    """

    def __init__(self, text: str, headings: Sequence[Heading]) -> None:
        found = _LINE_BREAK.search(text)
        self._newline = found[0] if found else "\n"
        self._ends_with_break = text.endswith(_BREAKS)
        bounds = [0, *(heading.start for heading in headings), len(text)]
        bodies = [0, *(heading.body for heading in headings)]
        self._stretches = [
            _TextPart(text[start:body], text[body:stop])
            for start, body, stop in zip(bounds, bodies, bounds[1:], strict=False)
        ]
        self._ends = [end + 1 for end in find_section_ends(headings)]
        self._positions: dict[tuple[int, str], list[int]] = {}
        for position, heading in enumerate(headings):
            self._positions.setdefault((heading.level, heading.raw), []).append(position)
        self._firsts = {
            level: next((n for n, one in enumerate(headings) if one.level <= level), len(headings))
            for level in range(1, _LEVELS + 1)
        }
        # The stretches that were removed, and which one to look at instead, forwards and backwards.
        self._next: dict[int, int] = {}
        self._previous: dict[int, int] = {}
        # No heading behind this stretch is known to be one still.
        self._last_known = len(self._stretches)
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The text with all changes so far."""
        if self._text is None:
            self._text = "".join(stretch.text for stretch in self._stretches)
        return self._text

    def find(self, level: int, raw: str) -> range:
        """Find a section by its heading.

        Raises
        ------
        LookupError
            If there is not exactly one such heading, or an earlier change has removed it or what
            is around it.
        """
        positions = self._positions.get((level, raw), [])
        if len(positions) != 1 or positions[0] + 1 in self._next:
            raise LookupError(raw)
        return self._check_known(range(positions[0] + 1, self._ends[positions[0]]))

    def find_before(self, level: int) -> range:
        """Find what is before the first heading of a level or a higher one.

        Raises
        ------
        LookupError
            If an earlier change has removed what is around that.
        """
        return self._check_known(range(self._firsts[level] + 1))

    def read(self, section: range) -> str:
        """Return the text of a section."""
        return "".join(stretch.text for stretch in self._stretches[section.start : section.stop])

    def append(self, section: range, content: str) -> None:
        """Put content behind the last line of a section that is not blank.

        A blank line goes between, unless one list item follows another.
        """
        new = self._split_lines(content)
        if new:
            last = self._get_last(section)
            self._stretches[last].append(new, self._newline)
            self._finish(section, last, has_new=True)

    def replace(self, section: range, content: str) -> None:
        """Put content in the place of all of a section but its heading.

        The blank lines around it stay.
        """
        new = self._split_lines(content)
        first, last = self._stretches[section.start], self._stretches[self._get_last(section)]
        before = [self._newline] if first is last and first.is_blank else first.get_blank_before()
        first.replace([*before, *new] if new else [], last.blank, self._newline)
        self._remove(range(section.start + 1, section.stop))
        self._finish(section, section.start, has_new=bool(new))

    def remove(self, section: range) -> None:
        """Remove a section."""
        self._remove(section)
        self._text = None

    def remove_entries(self, section: range, match: str) -> list[str]:
        """Remove the list items of a section whose own text contains ``match``.

        What belongs to an item goes with it, items in it too. Case and white space do not matter.

        Returns
        -------
        The texts of the removed items.
        """
        wanted = " ".join(match.split()).casefold()
        removed: list[str] = []
        for at in self._iterate_remaining(section):
            found = self._stretches[at].find_entries(wanted)
            if found:
                is_end = at == len(self._stretches) - 1 and not self._ends_with_break
                self._stretches[at].remove(found, is_end=is_end)
                removed += [item.text for item in found]
                self._text = None
        return removed

    def _check_known(self, section: range) -> range:
        if section.stop > self._last_known:
            raise LookupError(section)
        return section

    def _split_lines(self, content: str) -> list[str]:
        """Return content as whole lines, with the line breaks of the text."""
        if not content.strip():
            return []
        text = _LINE_BREAK.sub(self._newline, content.strip("\r\n")) + self._newline
        return split_lines(text)

    def _iterate_remaining(self, section: range) -> Iterator[int]:
        """Go through the stretches of a section that were not removed."""
        at = section.start
        while (at := _follow(self._next, at)) < section.stop:
            yield at
            at += 1

    def _get_last(self, section: range) -> int:
        """Return the last stretch of a section that was not removed, or else the first one."""
        return max(section.start, _follow(self._previous, section.stop - 1))

    def _remove(self, section: range) -> None:
        for at in self._iterate_remaining(section):
            self._stretches[at].remove_all()
            self._next[at], self._previous[at] = at + 1, at - 1

    def _finish(self, section: range, changed: int, *, has_new: bool) -> None:
        """End a changed section as it ended before: with a line break unless it ends the text."""
        self._text = None
        stretch = self._stretches[changed]
        following = _follow(self._next, section.stop)
        if following == len(self._stretches):
            if not self._ends_with_break:
                stretch.remove_break(self._newline)
        elif has_new:
            if not stretch.blank:
                stretch.blank = [self._newline]
            if stretch.would_contain(self._stretches[following].first_line):
                self._last_known = changed


class _TextPart:
    """A heading, and the text up to the next one.

    Parameters
    ----------
    heading, body
        The lines of the heading and the lines behind them.
    """

    def __init__(self, heading: str, body: str) -> None:
        self._heading = split_lines(heading)
        lines = split_lines(body)
        count = len(lines)
        while count and not lines[count - 1].strip():
            count -= 1
        self._split_lines = lines[:count]
        #: The blank lines at the end.
        self.blank = lines[count:]
        self._parser: BlockParser | None = None
        # Whether each line that was parsed is in a list item.
        self._is_in_item: list[bool] = []
        # The lines that were removed, and which one to look at instead, forwards and backwards.
        self._next: dict[int, int] = {}
        self._previous: dict[int, int] = {}

    @property
    def text(self) -> str:
        """The text with all changes so far."""
        lines = (line for at, line in enumerate(self._split_lines) if at not in self._next)
        return "".join([*self._heading, *lines, *self.blank])

    @property
    def first_line(self) -> str:
        """The first line of the heading, without its line break."""
        return self._heading[0].rstrip("\r\n")

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing behind the heading but blank lines."""
        return self._last < 0

    @property
    def _last(self) -> int:
        """The last line behind the heading that is not blank; negative if there is none."""
        return _follow(self._previous, len(self._split_lines) - 1)

    def get_blank_before(self) -> list[str]:
        """Return the blank lines behind the heading."""
        if self.is_blank:
            return self.blank
        found: list[str] = []
        at = _follow(self._next, 0)
        while not self._split_lines[at].strip():
            found.append(self._split_lines[at])
            at = _follow(self._next, at + 1)
        return found

    def append(self, new: list[str], newline: str) -> None:
        """Put lines behind the last one that is not blank."""
        items = find_list_items("".join(new))
        self._parse()
        last = self._last
        is_list = bool(items) and items[0].first == 0 and last >= 0 and self._is_in_item[last]
        if not self.blank:
            self._end_last_line(newline)
        if (last >= 0 or self._heading) and not is_list:
            self._split_lines.append(newline)
        self._split_lines += new

    def replace(self, new: list[str], blank: list[str], newline: str) -> None:
        """Put lines in the place of all that is behind the heading."""
        self._split_lines, self.blank = [], []
        self._forget()
        if new:
            self._end_last_line(newline)
        self._split_lines, self.blank = new, blank

    def remove_all(self) -> None:
        """Remove the heading and all behind it."""
        self._heading, self._split_lines, self.blank = [], [], []
        self._forget()

    def find_entries(self, wanted: str) -> list[ListItem]:
        """Find the list items whose own text contains a text."""
        return [
            item
            for item in self._parse().items
            if item.first not in self._next and wanted in item.text.casefold()
        ]

    def remove(self, items: Sequence[ListItem], *, is_end: bool) -> None:
        """Remove list items; at the end of the text the line break before them goes, too."""
        was_blank_at_end = bool(self.blank)
        for item in items:
            self._remove_lines(item.first, item.stop)
        for item in items:
            # Of the blank lines before and behind what goes, one side is enough.
            before = _follow(self._previous, item.first)
            if before >= 0 and not self._split_lines[before].strip():
                self._remove_blank(item.stop)
        goes_to_end = not self.blank and (
            was_blank_at_end or len(self._split_lines) - 1 in self._next
        )
        blank: list[str] = []
        while (last := self._last) >= 0 and not self._split_lines[last].strip():
            blank.append(self._split_lines[last])
            self._remove_line(last)
        self.blank = [*reversed(blank), *self.blank]
        if is_end and goes_to_end:
            while self.blank and not self.blank[-1].rstrip("\r\n"):
                self.blank.pop()
            self._change_last_line(lambda line: line.rstrip("\r\n"))

    def remove_break(self, newline: str) -> None:
        """Remove the line break of the last line."""
        self._change_last_line(lambda line: line.removesuffix(newline))

    def would_contain(self, line: str) -> bool:
        """Return whether a heading behind the text would be a part of its last block."""
        return self._parse().would_contain(line)

    def _remove_lines(self, first: int, stop: int) -> None:
        while (at := _follow(self._next, first)) < stop:
            self._remove_line(at)

    def _remove_line(self, at: int) -> None:
        self._next[at], self._previous[at] = at + 1, at - 1

    def _remove_blank(self, first: int) -> None:
        """Remove blank lines from a line on."""
        while (at := _follow(self._next, first)) < len(self._split_lines):
            if self._split_lines[at].strip():
                return
            self._remove_line(at)
        self.blank = []

    def _end_last_line(self, newline: str) -> None:
        self._change_last_line(lambda line: line if line.endswith(_BREAKS) else line + newline)

    def _change_last_line(self, change: Callable[[str], str]) -> None:
        last = self._last
        if self.blank:
            self.blank[-1] = change(self.blank[-1])
        elif last >= 0:
            self._split_lines[last] = change(self._split_lines[last])
        elif self._heading:
            self._heading[-1] = change(self._heading[-1])

    def _parse(self) -> BlockParser:
        """Parse the lines that were not parsed yet."""
        if self._parser is None:
            self._parser = BlockParser()
        for line in self._split_lines[self._parser.count :]:
            self._parser.add(line)
            self._is_in_item.append(self._parser.is_in_item)
        return self._parser

    def _forget(self) -> None:
        self._parser = None
        self._is_in_item = []
        self._next, self._previous = {}, {}


def find_section_ends(headings: Sequence[Heading]) -> list[int]:
    """Return for each heading the position of the next one of the same or a higher level."""
    ends = [len(headings)] * len(headings)
    unfinished: list[int] = []
    for position, heading in enumerate(headings):
        while unfinished and headings[unfinished[-1]].level >= heading.level:
            ends[unfinished.pop()] = position
        unfinished.append(position)
    return ends


def _follow(links: dict[int, int], at: int) -> int:
    """Follow links to the end, and shorten the way for the next time."""
    end = at
    while end in links:
        end = links[end]
    while at in links:
        links[at], at = end, links[at]
    return end
