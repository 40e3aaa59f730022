"""A Markdown text that is edited section by section.

The text is split at its headings once. A change parses only the text that it adds and the text
below one heading. The sections are the sections of the original text: text that is appended to a
section belongs to this section, headings included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, takewhile

from jupyter_nbedit.notebook.markdown.blocks import (
    Heading,
    find_last_block,
    find_list_items,
    list_headings,
    split_lines,
)

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_BREAKS = "\r\n"
_LEVELS = 6


class SectionText:
    """A Markdown text and its sections.

    The text consists of parts: the text before all headings, then one part for each heading. A
    section is a range of parts.
    """

    def __init__(self, text: str, headings: Sequence[Heading]) -> None:
        line_break = _LINE_BREAK.search(text)
        self._newline = line_break[0] if line_break else "\n"
        self._ends_with_break = text.endswith(tuple(_BREAKS))
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
        if len(positions) != 1 or self._parts[positions[0] + 1].is_removed:
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
            last_part.append(lines, self._newline)
            self._end_section(section, last_part, has_new_lines=True)

    def replace(self, section: range, content: str) -> None:
        """Replace a section except its heading; the blank lines around it stay."""
        lines = self._split_lines(content)
        first, last = self._parts[section.start], self._get_last(section)
        leading_lines = (
            [self._newline] if first is last and not first.lines else first.leading_blank_lines
        )
        first.replace([*leading_lines, *lines] if lines else [], last.blank_lines, self._newline)
        for part in self._parts[section.start + 1 : section.stop]:
            part.remove_all()
        self._end_section(section, first, has_new_lines=bool(lines))

    def remove(self, section: range) -> None:
        """Remove a section."""
        for part in self._parts[section.start : section.stop]:
            part.remove_all()
        self._text = None

    def remove_entries(self, section: range, match: str) -> bool:
        """Remove the list items of a section whose own text contains ``match``; return if any does.

        Nested items are removed with their parent. Case and white space do not matter.
        """
        folded_match = " ".join(match.split()).casefold()
        was_removed = False
        for part in self._parts[section.start : section.stop]:
            is_end = part is self._parts[-1] and not self._ends_with_break
            was_removed |= part.remove_entries(folded_match, is_end=is_end)
        if was_removed:
            self._text = None
        return was_removed

    def _check_certain(self, section: range) -> range:
        if section.stop > self._last_certain:
            raise LookupError(section)
        return section

    def _split_lines(self, content: str) -> list[str]:
        """Return content as whole lines with the line breaks of the text."""
        if not content.strip():
            return []
        text = _LINE_BREAK.sub(self._newline, content.strip(_BREAKS)) + self._newline
        return split_lines(text)

    def _get_last(self, section: range) -> _TextPart:
        """Return the last part of a section that was not removed, or else its first part."""
        parts = self._parts[section.start : section.stop]
        return next((part for part in reversed(parts) if not part.is_removed), parts[0])

    def _end_section(self, section: range, part: _TextPart, *, has_new_lines: bool) -> None:
        """End a changed section as before: with a line break unless it ends the text."""
        self._text = None
        following_parts = (self._parts[n] for n in range(section.stop, len(self._parts)))
        next_part = next((part for part in following_parts if not part.is_removed), None)
        if next_part is None:
            if not self._ends_with_break:
                part.change_last_line(lambda line: line.removesuffix(self._newline))
        elif has_new_lines:
            if not part.blank_lines:
                part.blank_lines = [self._newline]
            if part.would_contain(next_part.heading):
                self._last_certain = self._parts.index(part)


class _TextPart:
    """A heading, and the text up to the next one."""

    def __init__(self, heading: str, body: str) -> None:
        #: The lines of the heading.
        self.heading = split_lines(heading)
        #: The lines after it, and the blank lines at the end.
        self.lines, self.blank_lines = _split_blank_end(split_lines(body))
        self.is_removed = False
        # Where the block or list item that was the last one begins in the lines.
        self._last_block = 0

    @property
    def text(self) -> str:
        """The text with all changes so far."""
        return "".join([*self.heading, *self.lines, *self.blank_lines])

    @property
    def leading_blank_lines(self) -> list[str]:
        """The blank lines directly after the heading."""
        return list(takewhile(_is_blank, chain(self.lines, self.blank_lines)))

    def append(self, lines: list[str], newline: str) -> None:
        """Append lines after the last one that is not blank."""
        items = find_list_items("".join(lines))
        is_list = bool(items) and items[0].lines.start == 0 and self._ends_in_item()
        if not self.blank_lines:
            self._end_last_line(newline)
        if (self.lines or self.heading) and not is_list:
            self.lines.append(newline)
        self.lines += lines

    def replace(self, lines: list[str], blank_lines: list[str], newline: str) -> None:
        """Replace all lines after the heading."""
        self.lines, self.blank_lines, self._last_block = [], [], 0
        if lines:
            self._end_last_line(newline)
        self.lines, self.blank_lines = lines, blank_lines

    def remove_all(self) -> None:
        """Remove the heading and all lines after it."""
        self.heading, self.lines, self.blank_lines = [], [], []
        self.is_removed = True

    def remove_entries(self, folded_match: str, *, is_end: bool) -> bool:
        """Remove list items that contain a text; return whether any does.

        At the end of the whole text, the line break before them is removed, too.
        """
        items = find_list_items("".join(self.lines))
        removed = [item for item in items if folded_match in item.text.casefold()]
        if removed:
            self._remove_lines({line for item in removed for line in item.lines}, is_end=is_end)
        return bool(removed)

    def _remove_lines(self, indexes: set[int], *, is_end: bool) -> None:
        includes_end = bool(self.blank_lines) or len(self.lines) - 1 in indexes
        lines: list[str] = []
        # One of the two groups of blank lines, before and after an item, is enough.
        is_after_blank = False
        for index, line in enumerate(self.lines):
            if index in indexes:
                is_after_blank = bool(lines) and _is_blank(lines[-1])
            elif not (is_after_blank and _is_blank(line)):
                is_after_blank = False
                lines.append(line)
        if is_after_blank:
            self.blank_lines = []
        includes_end = includes_end and not self.blank_lines
        self.lines, blank_end = _split_blank_end(lines)
        self.blank_lines = [*blank_end, *self.blank_lines]
        self._last_block = 0
        if is_end and includes_end:
            while self.blank_lines and not self.blank_lines[-1].rstrip(_BREAKS):
                self.blank_lines.pop()
            self.change_last_line(lambda line: line.rstrip(_BREAKS))

    def would_contain(self, heading: list[str]) -> bool:
        """Return whether a heading after the text would be part of its last block."""
        self._ends_in_item()
        text = "".join([*self.lines[self._last_block :], "\n"])
        return all(found.start != len(text) for found in list_headings(text + "".join(heading)))

    def _ends_in_item(self) -> bool:
        """Return whether the last line is in a list item; the next call parses no more than it."""
        start, is_item = find_last_block("".join(self.lines[self._last_block :]))
        self._last_block += start
        return is_item

    def _end_last_line(self, newline: str) -> None:
        self.change_last_line(
            lambda line: line if line.endswith(tuple(_BREAKS)) else line + newline
        )

    def change_last_line(self, change: Callable[[str], str]) -> None:
        """Change the last line, if there is any."""
        lines = self.blank_lines or self.lines or self.heading
        if lines:
            lines[-1] = change(lines[-1])


def find_section_ends(headings: Sequence[Heading]) -> list[int]:
    """Return, for each heading, the index of the next heading of the same or a higher level."""
    ends = [len(headings)] * len(headings)
    open_positions: list[int] = []
    for position, heading in enumerate(headings):
        while open_positions and headings[open_positions[-1]].level >= heading.level:
            ends[open_positions.pop()] = position
        open_positions.append(position)
    return ends


def _is_blank(line: str) -> bool:
    return not line.strip()


def _split_blank_end(lines: list[str]) -> tuple[list[str], list[str]]:
    """Split lines before the blank ones at the end."""
    count = len(lines)
    while count and _is_blank(lines[count - 1]):
        count -= 1
    return lines[:count], lines[count:]
