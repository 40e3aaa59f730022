"""Headings and their sections, in Markdown texts and in notebooks.

A section begins with a heading and ends before the next heading of the same or a higher level. A
heading may have either form of Markdown, with ``#`` or underlined, and may be anywhere in a text or
in a Markdown cell: a section begins at its heading, not at the start of the cell, and may end
within a cell.

The name of a section is the exact text of its heading, with or without markup; a prefix of ``#``
gives the level.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jupyter_nbedit.errors import AmbiguousSection, InvalidRequest, SectionNotFound, TextMismatch
from jupyter_nbedit.notebook import operations
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.markdown import blocks
from jupyter_nbedit.notebook.markdown.blocks import Heading, strip_markup
from jupyter_nbedit.notebook.markdown.section_text import SectionText, find_section_ends
from jupyter_nbedit.notebook.shown_text import make_line, unquote_name

#: An operation on a section of a text or a notebook.
SectionOperation = operations.AppendToSection | operations.ReplaceSection | operations.RemoveEntry

_FRONT_MATTER = re.compile("\ufeff?---[ \t\r]*\n(?:[^\n]*\n)*?(?:---|\\.\\.\\.)[ \t\r]*(?:\n|\\Z)")
_WHITE = " \t"
_LEVELS = 6
_MAX_SHOWN_HEADINGS = 100
# A heading that is cut must still be certain.
_MIN_CUT_NAME = 40
_MAX_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class NotebookSection:
    """A section of a notebook; the first of its cells contains the heading."""

    heading: Heading
    #: The indexes of all cells that contain a part of it.
    cells: range
    #: Whether the last of these cells continues with another section.
    ends_within_cell: bool


def check_section_name(name: str) -> None:
    """Raise `InvalidRequest` if the name of a section is too long."""
    if len(name) > operations.MAX_SECTION_NAME_LENGTH:
        raise InvalidRequest(
            f"A section's name has at most {operations.MAX_SECTION_NAME_LENGTH} characters; found "
            f"{len(name)}, beginning with {name[:_MAX_SHOWN_CHARACTERS]!r}. Address the cells "
            "themselves, or shorten the heading."
        )


def list_text_headings(text: str) -> list[Heading]:
    """Return the headings of a Markdown text; front matter has none."""
    front_matter = _FRONT_MATTER.match(text)
    return blocks.list_headings(text, front_matter.end() if front_matter else 0)


def read(text: str, name: str) -> str:
    """Return a section of a Markdown text, with its heading.

    Raises
    ------
    SectionNotFound
        With the outline.
    AmbiguousSection
        With the headings that have the name.
    """
    section_text, section = _find_section(text, name)
    return section_text.read(section)


def apply_to_text(text: str, operation: SectionOperation) -> str:
    """Return a Markdown text after an operation.

    Raise what `read` does, or `TextMismatch` if no list item contains a text to remove.
    """
    section_text, section = _find_section(text, operation.section)
    if isinstance(operation, operations.AppendToSection):
        section_text.append(section, operation.source)
    elif isinstance(operation, operations.ReplaceSection):
        section_text.replace(section, operation.source)
    elif not section_text.remove_entries(section, operation.match):
        raise build_no_entry_error(operation.section, operation.match)
    return section_text.text


def _find_section(text: str, name: str) -> tuple[SectionText, range]:
    headings = list_text_headings(text)
    heading = headings[_HeadingNames(headings, [{}] * len(headings)).find(name)]
    section_text = SectionText(text, headings)
    return section_text, section_text.find(heading.level, heading.raw)


def build_no_entry_error(name: str, match: str) -> TextMismatch:
    """Return the error for a section without a list item that contains a text."""
    message = (
        f"No list item in the section {name!r} contains {match!r}. Read the section and send a "
        "part of the item's text; case is ignored."
    )
    return TextMismatch(message, section=name, match=match, count=0, lines=[])


class Outline:
    """The headings of a notebook, parsed once for all operations of a batch."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.headings: list[tuple[int, Heading]] = []
        # The headings that follow only blank lines in their cell.
        self._leading_headings: set[int] = set()
        for index, (_, cell_type) in enumerate(document.headers):
            if cell_type != "markdown":
                continue
            # A cell that cannot be read has no headings.
            source = document.find_source(index) or ""
            headings = blocks.list_headings(source)
            if headings and not source[: headings[0].start].strip():
                self._leading_headings.add(len(self.headings))
            self.headings += [(index, heading) for heading in headings]
        all_headings = [heading for _, heading in self.headings]
        places = [
            {"cell_id": document.headers[index][0], "index": index} for index, _ in self.headings
        ]
        self._names = _HeadingNames(all_headings, places)
        self._ends = find_section_ends(all_headings)

    def find_section(self, name: str) -> NotebookSection:
        """Find a section.

        Raises
        ------
        SectionNotFound
            With the outline.
        AmbiguousSection
            With the headings that have the name, and their cells.
        """
        position = self._names.find(name)
        cell, heading = self.headings[position]
        end = self._ends[position]
        if end == len(self.headings):
            cells = range(cell, len(self._document))
            return NotebookSection(heading, cells, ends_within_cell=False)
        index = self.headings[end][0]
        # Blank lines before a heading are not a visible part of a section.
        ends_within_cell = index == cell or end not in self._leading_headings
        return NotebookSection(heading, range(cell, index + ends_within_cell), ends_within_cell)


class _HeadingNames:
    """Finds headings by name; ``places`` says for each where it is, in errors."""

    def __init__(self, headings: Sequence[Heading], places: Sequence[dict[str, Any]]) -> None:
        self._headings = headings
        self._places = places

    @cached_property
    def _positions_by_raw(self) -> dict[str, list[int]]:
        positions: dict[str, list[int]] = {}
        for position, heading in enumerate(self._headings):
            positions.setdefault(heading.raw, []).append(position)
        return positions

    @cached_property
    def _positions_by_text(self) -> dict[tuple[int | None, str], list[int]]:
        """The indexes of headings by level and text, and by text alone."""
        positions: dict[tuple[int | None, str], list[int]] = {}
        for position, heading in enumerate(self._headings):
            for level in (None, heading.level):
                positions.setdefault((level, heading.text), []).append(position)
        return positions

    def find(self, name: str) -> int:
        """Return the index of the only heading with a name.

        The name is its text with or without markup; a prefix of `#` gives the level.

        Raises
        ------
        InvalidRequest
            If the name is too long.
        SectionNotFound, AmbiguousSection
        """
        check_section_name(name)
        positions = self._positions_by_raw.get(name.strip(), [])
        if not positions:
            level, text = _split_level(name)
            positions = self._positions_by_text.get((level, strip_markup(text)), [])
            positions = positions or self._find_shown(name)
        if len(positions) == 1:
            return positions[0]
        if positions:
            message = (
                f"{len(positions)} headings have the text {name!r}. Write `#` before the name to "
                "give the level, or address the cells themselves."
            )
            candidates = self._describe(positions)
            raise AmbiguousSection(message, section=name, candidates=candidates)
        message = (
            f"No heading has the text {name!r}. Use the exact text of a heading in the outline; "
            "`#` before it gives its level."
        )
        total = len(self._headings)
        outline = self._describe(range(total))
        raise SectionNotFound(message, section=name, outline=outline, total_headings=total)

    def _find_shown(self, name: str) -> list[int]:
        """Return the indexes of the headings that texts show as a name.

        A text shows a heading as a quoted name; or as a line, in which characters that do not print
        are spaces, and whose end may be cut.
        """
        unquoted = unquote_name(name)
        if unquoted is not None:
            level, text = _split_level(unquoted)
            return self._positions_by_text.get((level, strip_markup(text)), [])
        level, text = _split_level(name)
        start = text.removesuffix("…")
        is_cut = start != text and len(start) >= _MIN_CUT_NAME
        found: list[int] = []
        for position, heading in enumerate(self._headings):
            if level in {None, heading.level}:
                forms = {_show_heading(form) for form in (heading.text, heading.raw)}
                if _show_heading(text) in forms or (
                    is_cut and any(form.startswith(_show_heading(start)) for form in forms)
                ):
                    found.append(position)
        return found

    def _describe(self, positions: Sequence[int]) -> list[dict[str, Any]]:
        descriptions: list[dict[str, Any]] = []
        for position in positions[:_MAX_SHOWN_HEADINGS]:
            heading = self._headings[position]
            description = {"level": heading.level, "text": heading.text, "line": heading.line}
            descriptions.append({**description, **self._places[position]})
        return descriptions


def _show_heading(text: str) -> str:
    return make_line(text, len(text))


def _split_level(name: str) -> tuple[int | None, str]:
    """Split a name into the level, given by `#` and a space, and the text."""
    stripped_name = name.lstrip(_WHITE)
    text = stripped_name.lstrip("#")
    level = len(stripped_name) - len(text)
    if not 1 <= level <= _LEVELS or not text.startswith((" ", "\t")):
        return None, name
    return level, blocks.strip_closing_sequence(text.strip(_WHITE))
