"""A Markdown text that is edited section by section.

The text is split at its headings once. Then a change costs as much as what it adds and removes,
however long the text is: a batch may have a thousand changes. The sections are those of the
original text: text that is appended to a section belongs to it, headings included.
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

    The text consists of parts: the text before all headings, then one part for each heading. A
    section is a range of parts.

    Parameters
    ----------
    text
        The text.
    headings
        Its headings.
    """

    def __init__(self, text: str, headings: Sequence[Heading]) -> None:
        line_break = _LINE_BREAK.search(text)
        self._newline = line_break[0] if line_break else "\n"
        self._ends_with_break = text.endswith(_BREAKS)
        bounds = [0, *(heading.start for heading in headings), len(text)]
        bodies = [0, *(heading.body for heading in headings)]
        self._parts = [
            _TextPart(text[start:body], text[body:stop])
            for start, body, stop in zip(bounds, bodies, bounds[1:], strict=False)
        ]
        self._ends = [end + 1 for end in find_section_ends(headings)]
        self._positions: dict[tuple[int, str], list[int]] = {}
        for position, heading in enumerate(headings):
            self._positions.setdefault((heading.level, heading.raw), []).append(position)
        self._firsts = {
            level: next(
                (n for n, entry in enumerate(headings) if entry.level <= level), len(headings)
            )
            for level in range(1, _LEVELS + 1)
        }
        # For removed parts: the next and the previous part to use instead.
        self._next: dict[int, int] = {}
        self._previous: dict[int, int] = {}
        # After this part, it is uncertain whether headings still are headings.
        self._last_certain = len(self._parts)
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The text with all changes so far."""
        if self._text is None:
            self._text = "".join(part.text for part in self._parts)
        return self._text

    def find(self, level: int, raw: str) -> range:
        """Find a section by its heading.

        Raises
        ------
        LookupError
            If there is not exactly one such heading, or an earlier change removed it or text around
            it.
        """
        positions = self._positions.get((level, raw), [])
        if len(positions) != 1 or positions[0] + 1 in self._next:
            raise LookupError(raw)
        return self._check_certain(range(positions[0] + 1, self._ends[positions[0]]))

    def find_leading_part(self, level: int) -> range:
        """Find the text before the first heading of a level or a higher one.

        Raises
        ------
        LookupError
            If an earlier change made its end uncertain.
        """
        return self._check_certain(range(self._firsts[level] + 1))

    def read(self, section: range) -> str:
        """Return the text of a section."""
        return "".join(part.text for part in self._parts[section.start : section.stop])

    def append(self, section: range, content: str) -> None:
        """Append content after the last line of a section that is not blank.

        A blank line is inserted between, unless one list item follows another.
        """
        lines = self._split_lines(content)
        if lines:
            last_part = self._get_last(section)
            self._parts[last_part].append(lines, self._newline)
            self._end_section(section, last_part, has_new_lines=True)

    def replace(self, section: range, content: str) -> None:
        """Replace a section except its heading; the blank lines around it stay."""
        lines = self._split_lines(content)
        first, last = self._parts[section.start], self._parts[self._get_last(section)]
        leading_lines = (
            [self._newline] if first is last and first.is_blank else first.get_leading_blank_lines()
        )
        first.replace([*leading_lines, *lines] if lines else [], last.blank_lines, self._newline)
        self._remove(range(section.start + 1, section.stop))
        self._end_section(section, section.start, has_new_lines=bool(lines))

    def remove(self, section: range) -> None:
        """Remove a section."""
        self._remove(section)
        self._text = None

    def remove_entries(self, section: range, match: str) -> list[str]:
        """Remove the list items of a section whose own text contains ``match``.

        Nested items are removed with their parent. Case and white space do not matter.

        Returns
        -------
        The texts of the removed items.
        """
        folded_match = " ".join(match.split()).casefold()
        texts: list[str] = []
        for position in self._iterate_remaining(section):
            items = self._parts[position].find_entries(folded_match)
            if items:
                is_end = position == len(self._parts) - 1 and not self._ends_with_break
                self._parts[position].remove(items, is_end=is_end)
                texts += [item.text for item in items]
                self._text = None
        return texts

    def _check_certain(self, section: range) -> range:
        if section.stop > self._last_certain:
            raise LookupError(section)
        return section

    def _split_lines(self, content: str) -> list[str]:
        """Return content as whole lines with the line breaks of the text."""
        if not content.strip():
            return []
        text = _LINE_BREAK.sub(self._newline, content.strip("\r\n")) + self._newline
        return split_lines(text)

    def _iterate_remaining(self, section: range) -> Iterator[int]:
        """Yield the parts of a section that were not removed."""
        position = section.start
        while (position := _follow(self._next, position)) < section.stop:
            yield position
            position += 1

    def _get_last(self, section: range) -> int:
        """Return the last part of a section that was not removed, or else its first part."""
        return max(section.start, _follow(self._previous, section.stop - 1))

    def _remove(self, section: range) -> None:
        for position in self._iterate_remaining(section):
            self._parts[position].remove_all()
            self._next[position], self._previous[position] = position + 1, position - 1

    def _end_section(self, section: range, position: int, *, has_new_lines: bool) -> None:
        """End a changed section as before: with a line break unless it ends the text."""
        self._text = None
        part = self._parts[position]
        next_position = _follow(self._next, section.stop)
        if next_position == len(self._parts):
            if not self._ends_with_break:
                part.remove_break(self._newline)
        elif has_new_lines:
            if not part.blank_lines:
                part.blank_lines = [self._newline]
            if part.would_contain(self._parts[next_position].first_line):
                self._last_certain = position


class _TextPart:
    """A heading, and the text up to the next one.

    Parameters
    ----------
    heading, body
        The lines of the heading, and the lines after it.
    """

    def __init__(self, heading: str, body: str) -> None:
        self._heading = split_lines(heading)
        lines = split_lines(body)
        count = len(lines)
        while count and not lines[count - 1].strip():
            count -= 1
        self._lines = lines[:count]
        #: The blank lines at the end.
        self.blank_lines = lines[count:]
        self._parser: BlockParser | None = None
        # Whether each line that was parsed is in a list item.
        self._is_in_item: list[bool] = []
        # For removed lines: the next and the previous line to use instead.
        self._next: dict[int, int] = {}
        self._previous: dict[int, int] = {}

    @property
    def text(self) -> str:
        """The text with all changes so far."""
        lines = (line for index, line in enumerate(self._lines) if index not in self._next)
        return "".join([*self._heading, *lines, *self.blank_lines])

    @property
    def first_line(self) -> str:
        """The first line of the heading, without its line break."""
        return self._heading[0].rstrip("\r\n")

    @property
    def is_blank(self) -> bool:
        """Whether only blank lines follow the heading."""
        return self._last < 0

    @property
    def _last(self) -> int:
        """The last line after the heading that is not blank; negative if there is none."""
        return _follow(self._previous, len(self._lines) - 1)

    def get_leading_blank_lines(self) -> list[str]:
        """Return the blank lines directly after the heading."""
        if self.is_blank:
            return self.blank_lines
        lines: list[str] = []
        index = _follow(self._next, 0)
        while not self._lines[index].strip():
            lines.append(self._lines[index])
            index = _follow(self._next, index + 1)
        return lines

    def append(self, lines: list[str], newline: str) -> None:
        """Append lines after the last one that is not blank."""
        items = find_list_items("".join(lines))
        self._parse()
        last = self._last
        is_list = bool(items) and items[0].first == 0 and last >= 0 and self._is_in_item[last]
        if not self.blank_lines:
            self._end_last_line(newline)
        if (last >= 0 or self._heading) and not is_list:
            self._lines.append(newline)
        self._lines += lines

    def replace(self, lines: list[str], blank_lines: list[str], newline: str) -> None:
        """Replace all lines after the heading."""
        self._lines, self.blank_lines = [], []
        self._reset()
        if lines:
            self._end_last_line(newline)
        self._lines, self.blank_lines = lines, blank_lines

    def remove_all(self) -> None:
        """Remove the heading and all lines after it."""
        self._heading, self._lines, self.blank_lines = [], [], []
        self._reset()

    def find_entries(self, folded_match: str) -> list[ListItem]:
        """Return the list items whose own text contains a text."""
        return [
            item
            for item in self._parse().items
            if item.first not in self._next and folded_match in item.text.casefold()
        ]

    def remove(self, items: Sequence[ListItem], *, is_end: bool) -> None:
        """Remove list items; at the end of the text also the line break before them."""
        was_blank_at_end = bool(self.blank_lines)
        for item in items:
            self._remove_lines(item.first, item.stop)
        for item in items:
            # One of the two groups of blank lines, before and after the item, is enough.
            previous_line = _follow(self._previous, item.first)
            if previous_line >= 0 and not self._lines[previous_line].strip():
                self._remove_blank(item.stop)
        includes_end = not self.blank_lines and (
            was_blank_at_end or len(self._lines) - 1 in self._next
        )
        trailing_blank_lines: list[str] = []
        while (last := self._last) >= 0 and not self._lines[last].strip():
            trailing_blank_lines.append(self._lines[last])
            self._remove_line(last)
        self.blank_lines = [*reversed(trailing_blank_lines), *self.blank_lines]
        if is_end and includes_end:
            while self.blank_lines and not self.blank_lines[-1].rstrip("\r\n"):
                self.blank_lines.pop()
            self._change_last_line(lambda line: line.rstrip("\r\n"))

    def remove_break(self, newline: str) -> None:
        """Remove the line break of the last line."""
        self._change_last_line(lambda line: line.removesuffix(newline))

    def would_contain(self, line: str) -> bool:
        """Return whether a heading after the text would be part of its last block."""
        return self._parse().would_contain(line)

    def _remove_lines(self, first: int, stop: int) -> None:
        while (index := _follow(self._next, first)) < stop:
            self._remove_line(index)

    def _remove_line(self, index: int) -> None:
        self._next[index], self._previous[index] = index + 1, index - 1

    def _remove_blank(self, first: int) -> None:
        """Remove the blank lines that begin at a line."""
        while (index := _follow(self._next, first)) < len(self._lines):
            if self._lines[index].strip():
                return
            self._remove_line(index)
        self.blank_lines = []

    def _end_last_line(self, newline: str) -> None:
        self._change_last_line(lambda line: line if line.endswith(_BREAKS) else line + newline)

    def _change_last_line(self, change: Callable[[str], str]) -> None:
        last = self._last
        if self.blank_lines:
            self.blank_lines[-1] = change(self.blank_lines[-1])
        elif last >= 0:
            self._lines[last] = change(self._lines[last])
        elif self._heading:
            self._heading[-1] = change(self._heading[-1])

    def _parse(self) -> BlockParser:
        """Parse the lines that have not been parsed yet."""
        if self._parser is None:
            self._parser = BlockParser()
        for line in self._lines[self._parser.count :]:
            self._parser.add(line)
            self._is_in_item.append(self._parser.is_in_item)
        return self._parser

    def _reset(self) -> None:
        self._parser = None
        self._is_in_item = []
        self._next, self._previous = {}, {}


def find_section_ends(headings: Sequence[Heading]) -> list[int]:
    """Return, for each heading, the index of the next heading of the same or a higher level."""
    ends = [len(headings)] * len(headings)
    open_positions: list[int] = []
    for position, heading in enumerate(headings):
        while open_positions and headings[open_positions[-1]].level >= heading.level:
            ends[open_positions.pop()] = position
        open_positions.append(position)
    return ends


def _follow(links: dict[int, int], position: int) -> int:
    """Follow links to the end, and shorten them for the next call."""
    end = position
    while end in links:
        end = links[end]
    while position in links:
        links[position], position = end, links[position]
    return end
