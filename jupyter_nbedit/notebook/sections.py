"""Headings and their sections, in Markdown texts and in notebooks.

A section begins with a heading and ends before the next heading of the same or a higher level. A
heading may be written either way Markdown has, with ``#`` or with a line under it, and may stand
anywhere in a text or in a Markdown cell: a section begins at its heading and not at the cell's
first line, and may end within a cell.

A section's name is what its heading says, exactly, with the markup in it or without; ``#`` before
it say the level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jupyter_nbedit.errors import AmbiguousSection, InvalidRequest, SectionNotFound, TextMismatch
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.markdown import blocks
from jupyter_nbedit.notebook.markdown.blocks import Heading
from jupyter_nbedit.notebook.markdown.inline import to_plain_text
from jupyter_nbedit.notebook.markdown.section_text import SectionText, find_section_ends
from jupyter_nbedit.notebook.operations import LONGEST_SECTION_NAME

_FRONT_MATTER_ENDS = ("---", "...")
_WHITE = " \t"
_WHITE_OR_BREAK = " \t\r\n"
_LEVELS = 6
_SHOWN_HEADINGS = 100
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class NotebookSection:
    """A section of a notebook.

    Parameters
    ----------
    heading
        What it begins with, and where in its cell.
    cells
        The indexes of all cells of which at least a part belongs to it; the heading is in the
        first.
    ends_within
        Whether the last of them goes on with another section.
    """

    heading: Heading
    cells: range
    ends_within: bool


def check_section_name(name: str) -> None:
    """Check that a name of a section is not too long.

    Raises
    ------
    InvalidRequest
        If it is.
    """
    if len(name) > LONGEST_SECTION_NAME:
        message = (
            f"A section's name has at most {LONGEST_SECTION_NAME} characters; found {len(name)}, "
            f"beginning with {name[:_SHOWN_CHARACTERS]!r}. Name the cells themselves, or shorten "
            "the heading."
        )
        raise InvalidRequest(message)


def list_text_headings(text: str) -> list[Heading]:
    """List the headings of a Markdown text; front matter has none."""
    return blocks.list_headings(text, _find_front_matter_end(text))


def _find_front_matter_end(text: str) -> int:
    """Return where the front matter of a Markdown text ends; 0 if it has none."""
    start = len(blocks.BYTE_ORDER_MARK) if text.startswith(blocks.BYTE_ORDER_MARK) else 0
    stop = _find_line_end(text, start)
    if not text.startswith("---", start) or text[start:stop].rstrip(_WHITE_OR_BREAK) != "---":
        return 0
    while stop < len(text):
        start, stop = stop, _find_line_end(text, stop)
        if text.startswith(_FRONT_MATTER_ENDS, start) and (
            text[start:stop].rstrip(_WHITE_OR_BREAK) in _FRONT_MATTER_ENDS
        ):
            return stop
    return 0


def _find_line_end(text: str, start: int) -> int:
    return text.find("\n", start) + 1 or len(text)


def read(text: str, name: str) -> str:
    """Return a section of a Markdown text, with its heading.

    Raises
    ------
    SectionNotFound
        With the outline.
    AmbiguousSection
        With the headings that have the name.
    """
    cut, section = _find_section(text, name)
    return cut.read(section)


def append(text: str, name: str, content: str) -> str:
    """Put content at the end of a section of a Markdown text.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `read` does.
    """
    cut, section = _find_section(text, name)
    cut.append(section, content)
    return cut.text


def replace(text: str, name: str, content: str) -> str:
    """Replace all of a section of a Markdown text but its heading.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `read` does.
    """
    cut, section = _find_section(text, name)
    cut.replace(section, content)
    return cut.text


def remove_entry(text: str, name: str, match: str) -> tuple[str, list[str]]:
    """Remove the list items of a section of a Markdown text that contain a text.

    Returns
    -------
    tuple
        The text without them, and what each of them said.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `read` does.
    TextMismatch
        If no item does.
    """
    cut, section = _find_section(text, name)
    removed = cut.remove_entries(section, match)
    if not removed:
        raise build_no_entry_error(name, match)
    return cut.text, removed


def _find_section(text: str, name: str) -> tuple[SectionText, range]:
    found = list_text_headings(text)
    heading = found[Names(found).find(name, lambda position: _describe_heading(found[position]))]
    cut = SectionText(text, found)
    return cut, cut.find(heading.level, heading.raw)


def build_no_entry_error(name: str, match: str) -> TextMismatch:
    """Return the error that no list item of a section contains a text."""
    message = (
        f"No list item in the section {name!r} contains {match!r}. Read the section and give a "
        "part of what the item says; upper and lower case do not matter."
    )
    return TextMismatch(message, section=name, match=match, count=0, lines=[])


class Outline:
    """The headings of a notebook, found once for all who ask.

    Raises
    ------
    InvalidNotebook
        If a cell cannot be read.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self.headings: list[tuple[int, Heading]] = []
        # The positions of the headings with nothing but blank lines before them in their cell.
        self._is_first: set[int] = set()
        for index, (_, cell_type) in enumerate(document.heads):
            if cell_type != "markdown":
                continue
            source = document.get_cell(index).source
            found = blocks.list_headings(source)
            if found and not source[: found[0].start].strip():
                self._is_first.add(len(self.headings))
            self.headings += [(index, heading) for heading in found]
        only = [heading for _, heading in self.headings]
        self._names = Names(only)
        self._ends = find_section_ends(only)

    def find_section(self, name: str) -> NotebookSection:
        """Find a section.

        Raises
        ------
        SectionNotFound
            With the outline.
        AmbiguousSection
            With the headings that have the name, and their cells.
        """
        position = self._names.find(name, self._describe_section)
        cell, heading = self.headings[position]
        end = self._ends[position]
        if end == len(self.headings):
            return NotebookSection(heading, range(cell, len(self._document)), ends_within=False)
        index = self.headings[end][0]
        # Blank lines before a heading are no part of a section that anybody could see.
        within = index == cell or end not in self._is_first
        return NotebookSection(heading, range(cell, index + within), within)

    def _describe_section(self, position: int) -> dict[str, Any]:
        index, heading = self.headings[position]
        return {
            **_describe_heading(heading),
            "cell_id": self._document.heads[index][0],
            "index": index,
        }


def _describe_heading(heading: Heading) -> dict[str, Any]:
    return {"level": heading.level, "text": heading.text, "line": heading.line}


class Names:
    """Which headings have which name.

    Parameters
    ----------
    headings
        All there are.
    """

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._headings = headings

    @cached_property
    def _by_raw(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for position, heading in enumerate(self._headings):
            found.setdefault(heading.raw, []).append(position)
        return found

    @cached_property
    def _by_text(self) -> dict[tuple[int | None, str], list[int]]:
        """The positions by level and text, and by text alone."""
        found: dict[tuple[int | None, str], list[int]] = {}
        for position, heading in enumerate(self._headings):
            for level in (None, heading.level):
                found.setdefault((level, heading.text), []).append(position)
        return found

    def find(self, name: str, shown: Callable[[int], dict[str, Any]]) -> int:
        """Return the position of the only heading that has a name.

        Parameters
        ----------
        name
            Its text as written or without markup, with `#` before it to say the level.
        shown
            Returns what is said of a heading where the name is refused.

        Raises
        ------
        InvalidRequest
            If the name is too long.
        SectionNotFound, AmbiguousSection
        """
        check_section_name(name)
        chosen = self._by_raw.get(name.strip(), [])
        if not chosen:
            level, text = _split_level(name)
            chosen = self._by_text.get((level, to_plain_text(text)), [])
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            message = (
                f"{len(chosen)} headings say {name!r}. Write `#` before the name to say the level, "
                "or name the cells themselves."
            )
            candidates = [shown(position) for position in chosen[:_SHOWN_HEADINGS]]
            raise AmbiguousSection(message, section=name, candidates=candidates)
        message = (
            f"No heading says {name!r}. Use the text of a heading in the outline, exactly as it is "
            "there; `#` before it say its level."
        )
        total = len(self._headings)
        raise SectionNotFound(
            message,
            section=name,
            outline=[shown(position) for position in range(min(total, _SHOWN_HEADINGS))],
            total_headings=total,
        )


def _split_level(name: str) -> tuple[int | None, str]:
    """Read a name that begins with the level: as many `#` as it is, and a space."""
    stripped = name.lstrip(_WHITE)
    text = stripped.lstrip("#")
    level = len(stripped) - len(text)
    if not 1 <= level <= _LEVELS or not text.startswith((" ", "\t")):
        return None, name
    return level, blocks.strip_closing_sequence(text.strip(_WHITE))
