"""Headings and their sections, in Markdown texts and in notebooks.

A section begins with a heading and ends before the next heading of the same or a higher level. A
heading may be written either way Markdown has, with ``#`` or with a line under it, and may stand
anywhere in a text or in a Markdown cell: a section begins at its heading and not at the cell's
first line, and may end within a cell.

A section's name is what its heading says, exactly, with the markup in it or without; ``#`` before
it say the level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from jupyter_nbedit.errors import AmbiguousSection, SectionNotFound, TextMismatch
from jupyter_nbedit.notebook import markdown
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.markdown import Heading, lines_of, list_items

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_NAME = re.compile(r"[ \t]*(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\Z", re.DOTALL)
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(?:.*\r?\n)*?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
_SHOWN_HEADINGS = 100

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class TextSection:
    """A section of a Markdown text: its heading, and where it ends in the text."""

    heading: Heading
    stop: int


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


def text_headings(text: str) -> list[Heading]:
    """List the headings of a Markdown text; front matter has none."""
    matter = _FRONT_MATTER.match(text)
    return markdown.headings(text, matter.end() if matter else 0)


def text_section(text: str, name: str) -> TextSection:
    """Find a section of a Markdown text.

    Raises
    ------
    SectionNotFound
        With the outline.
    AmbiguousSection
        With the headings that have the name.
    """
    found = text_headings(text)
    heading = _named(name, found, lambda heading: heading, _shown)
    return TextSection(heading, end_of(text, heading.level, found, after=heading.start))


def end_of(text: str, level: int, found: Iterable[Heading], *, after: int = -1) -> int:
    """Tell where in a text a section of a level ends that is open behind a place.

    Parameters
    ----------
    text
        The text.
    level
        The level of the section's heading.
    found
        The headings of the text.
    after
        The place.
    """
    ends = (other.start for other in found if other.start > after and other.level <= level)
    return next(ends, len(text))


def read(text: str, name: str) -> str:
    """Give a section of a Markdown text, with its heading.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `text_section` does.
    """
    section = text_section(text, name)
    return text[section.heading.start : section.stop]


def append(text: str, name: str, content: str) -> str:
    """Put content at the end of a section of a Markdown text.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `text_section` does.
    """
    section = text_section(text, name)
    return appended(text, section.heading.start, section.stop, content)


def replace(text: str, name: str, content: str) -> str:
    """Replace all of a section of a Markdown text but its heading.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `text_section` does.
    """
    section = text_section(text, name)
    return replaced(text, section.heading.body, section.stop, content)


def remove_entry(text: str, name: str, match: str) -> tuple[str, list[str]]:
    """Remove the list items of a section of a Markdown text that contain a text.

    Returns
    -------
    tuple
        The text without them, and what each of them said.

    Raises
    ------
    SectionNotFound, AmbiguousSection
        As `text_section` does.
    TextMismatch
        If no item does.
    """
    section = text_section(text, name)
    rest, removed = without_entries(text, section.heading.body, section.stop, match)
    if not removed:
        raise no_entry(name, match)
    return rest, removed


def no_entry(name: str, match: str) -> TextMismatch:
    """Say that no list item of a section contains a text."""
    message = (
        f"No list item in the section {name!r} contains {match!r}. Read the section and give a "
        "part of what the item says; upper and lower case do not matter."
    )
    return TextMismatch(message, section=name, match=match, count=0, lines=[])


def appended(text: str, start: int, stop: int, content: str) -> str:
    """Put content behind the last line of ``text[start:stop]`` that says something.

    A blank line goes between, unless one list item follows another.
    """
    new = _written(text, content)
    lines = lines_of(text[start:stop])
    said = lines[: len(lines) - _blank_at_end(lines)]
    begins = any(item.lines.start == 0 for item in list_items(new))
    goes_on = begins and any(item.lines.stop == len(said) for item in list_items("".join(said)))
    if said and not goes_on and new:
        new = _newline(text) + new
    rest = "".join(lines[len(said) :])
    return _joined(text, text[:start] + "".join(said), new, rest, text[stop:])


def replaced(text: str, start: int, stop: int, content: str) -> str:
    """Put content in the place of ``text[start:stop]``; the blank lines around it stay."""
    new = _written(text, content)
    lines = lines_of(text[start:stop])
    after = _blank_at_end(lines)
    if new:
        before = _blank_at_end(lines[::-1]) if after < len(lines) else 0
        new = ("".join(lines[:before]) if after < len(lines) else _newline(text)) + new
    return _joined(text, text[:start], new, "".join(lines[len(lines) - after :]), text[stop:])


def without_entries(text: str, start: int, stop: int, match: str) -> tuple[str, list[str]]:
    """Remove the list items in ``text[start:stop]`` whose own text contains ``match``.

    What belongs to an item goes with it, items in it too. Case and white space do not matter.

    Returns
    -------
    tuple
        The text without them, and what each of them said.
    """
    wanted = " ".join(match.split()).casefold()
    lines = lines_of(text[start:stop])
    found = [item for item in list_items("".join(lines)) if wanted in item.text.casefold()]
    if not found:
        return text, []
    gone = {index for item in found for index in item.lines}
    for item in found:
        # Of the blank lines before and after what goes, one side is enough.
        after, before = item.lines.stop, item.lines.start - 1
        while before in gone:
            before -= 1
        if before >= 0 and not lines[before].strip():
            while after < len(lines) and not lines[after].strip():
                gone.add(after)
                after += 1
    kept = "".join(line for index, line in enumerate(lines) if index not in gone)
    joined = text[:start] + kept + text[stop:]
    if stop == len(text) and len(lines) - 1 in gone and not text.endswith(("\r", "\n")):
        joined = joined.rstrip("\r\n")
    return joined, [item.text for item in found]


def _written(text: str, content: str) -> str:
    """Give whole lines, with the line breaks of the text they are for."""
    if not content.strip():
        return ""
    return _LINE_BREAK.sub(_newline(text), content.strip("\r\n")) + _newline(text)


def _newline(text: str) -> str:
    found = _LINE_BREAK.search(text)
    return found[0] if found else "\n"


def _joined(text: str, before: str, new: str, blank: str, rest: str) -> str:
    """Join the parts of a text, on lines of their own; its end stays with or without a break."""
    newline = _newline(text)
    if new and before and not before.endswith(("\r", "\n")):
        before += newline
    if new and rest and not blank:
        blank = newline
    joined = before + new + blank + rest
    if not rest and not text.endswith(("\r", "\n")):
        joined = joined.removesuffix(newline)
    return joined


def _blank_at_end(lines: Sequence[str]) -> int:
    return next((n for n, line in enumerate(reversed(lines)) if line.strip()), len(lines))


class Outline:
    """The headings of a notebook, found once for all who ask.

    Raises
    ------
    InvalidNotebook
        If a cell cannot be read.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self.headings: list[tuple[int, Heading]] = [
            (index, heading)
            for index, (_, cell_type) in enumerate(document.heads)
            if cell_type == "markdown"
            for heading in markdown.headings(document.cell(index).source)
        ]

    def section(self, name: str) -> NotebookSection:
        """Find a section.

        Raises
        ------
        SectionNotFound
            With the outline.
        AmbiguousSection
            With the headings that have the name, and their cells.
        """
        chosen = _named(name, self.headings, lambda found: found[1], self._shown)
        cell, heading = chosen
        rest = self.headings[self.headings.index(chosen) + 1 :]
        ends = ((index, other) for index, other in rest if other.level <= heading.level)
        index, end = next(ends, (len(self._document), None))
        before = "" if end is None else self._document.cell(index).source[: end.start]
        # Blank lines before a heading are no part of a section that anybody could see.
        within = index == cell or bool(before.strip())
        return NotebookSection(heading, range(cell, index + within), within)

    def _shown(self, found: tuple[int, Heading]) -> dict[str, Any]:
        index, heading = found
        return {**_shown(heading), "cell_id": self._document.heads[index][0], "index": index}


def _shown(heading: Heading) -> dict[str, Any]:
    return {"level": heading.level, "text": heading.text, "line": heading.line}


def _named(
    name: str,
    found: Sequence[_Found],
    heading_of: Callable[[_Found], Heading],
    shown: Callable[[_Found], dict[str, Any]],
) -> _Found:
    """Choose the only heading that has a name."""
    level, text = None, name
    chosen = [one for one in found if heading_of(one).raw == name.strip()]
    if not chosen:
        if leveled := _NAME.match(name):
            level, text = len(leveled[1]), leveled[2]
        plain = markdown.plain(text)
        chosen = [
            one
            for one in found
            if level in {None, heading_of(one).level} and heading_of(one).text == plain
        ]
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        message = (
            f"{len(chosen)} headings say {name!r}. Write `#` before the name to say the level, or "
            "name the cells themselves."
        )
        candidates = [shown(one) for one in chosen[:_SHOWN_HEADINGS]]
        raise AmbiguousSection(message, section=name, candidates=candidates)
    message = (
        f"No heading says {name!r}. Use the text of a heading in the outline, exactly as it is "
        "there; `#` before it say its level."
    )
    raise SectionNotFound(
        message,
        section=name,
        outline=[shown(one) for one in found[:_SHOWN_HEADINGS]],
        total_headings=len(found),
    )
