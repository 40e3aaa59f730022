"""Edit sources of cells as text: find and replace a text, split a source, choose its line ends.

A cell gets LF, unless it already has CR LF. JupyterLab's editor never writes a carriage return and
counts CR LF as one character where the shared model counts two: with CR LF in a source, typed text
would be inserted at a wrong position.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation, TextMismatch
from jupyter_nbedit.notebook.long_text import build_excerpt, find_nearest_line
from jupyter_nbedit.notebook.operations import ReplaceText, TextEdit
from jupyter_nbedit.notebook.sequence_diff import count_common_start
from jupyter_nbedit.notebook.shown_text import escape_markup, is_escaped, unescape_markup

_LINE_END = re.compile(r"\r?\n")
_LINE_START = re.compile(r"[\r\n]")
# Counting stops here: repetitive texts have very many occurrences.
_MAX_COUNTED = 1000
# Each occurrence costs a comparison with the whole searched text; therefore fewer occurrences of
# long texts are counted.
_MAX_COMPARED = 1_000_000
_MAX_SHOWN_LINES = 20
_MAX_NAMES = 20
_MAX_SHOWN_CHARACTERS = 1_500
# Replacing a text everywhere by a longer one may grow without limit: it may double with each of a
# thousand edits.
_MAX_RESULT_LENGTH = 1 << 24
#: A second of work, or 1,000 operations on a cell of 128,000 characters.
MAX_BATCH_CHARACTERS = 1 << 27
# What going over a member of an object costs besides its characters.
_MEMBER_WEIGHT = 200


class TextBudget:
    """How many more characters the operations of a batch may read.

    Each operation reads the whole source of its cell. A thousand operations may read one cell again
    and again, which they have made long before.
    """

    def __init__(self) -> None:
        self._left = MAX_BATCH_CHARACTERS

    def spend_members(self, value: bytes) -> None:
        """Count an encoded object whose members become objects; raise as `spend` does."""
        self.spend(len(value) + _MEMBER_WEIGHT * value.count(b":"))

    def spend(self, count: int) -> None:
        """Count characters before the work; raise `InvalidOperation` for too many."""
        self._left -= count
        if self._left < 0:
            message = (
                "The operations of this request go over long cells too often, over more than "
                f"{MAX_BATCH_CHARACTERS} characters together. Send them in several requests, or "
                "replace the whole source."
            )
            raise InvalidOperation(message, limit=MAX_BATCH_CHARACTERS)


def use_line_feeds(text: str) -> str:
    """Return the text with LF for every CR LF and every other CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def adapt_source(new: str, current: str) -> str:
    """Return the source that replaces another: with LF, unless the cell has CR LF.

    A source that equals the current one is not changed either.
    """
    return new if "\r\n" in current or new == current else use_line_feeds(new)


def is_same_source(expected_source: str, current: str) -> bool:
    """Return whether a cell has the source that a request expects.

    Line ends may differ, and it may be as a text form shows it.
    """
    forms = {current, escape_markup(current)}
    return expected_source in forms or (
        "\r\n" not in current
        and use_line_feeds(expected_source) in {use_line_feeds(form) for form in forms}
    )


@dataclass(frozen=True)
class SearchedText:
    """A text to replace; ``is_at_line_start`` if only occurrences at the start of a line count."""

    text: str
    is_at_line_start: bool = False

    def find_all(self, source: str, *, overlapping: bool = False) -> Iterator[int]:
        """Yield the offsets of the text from the left."""
        position = 0
        while (start := source.find(self.text, position)) >= 0:
            if not self.is_at_line_start or start == 0 or source[start - 1] in "\r\n":
                yield start
                position = start + (1 if overlapping else len(self.text))
            elif (line_end := _LINE_START.search(source, start)) is not None:
                position = line_end.end()
            else:
                return


class NormalizedText:
    """A text with LF instead of CR LF, to search in; replacements apply to the original."""

    def __init__(self, original: str) -> None:
        self._original = original
        #: The text to search in.
        self.text = original.replace("\r\n", "\n")
        self.has_crlf = self.text != original
        crlf = re.finditer("\r\n", original)
        self._crlf = [match.start() - count for count, match in enumerate(crlf)]

    def find_all(self, text: str) -> list[int]:
        """Return the offsets of a text from the left, without overlap."""
        return list(SearchedText(text).find_all(self.text))

    def find_first(self, searched: SearchedText) -> tuple[list[int], bool]:
        """Return the first offsets of a text, also if they overlap, and whether there may be more.

        A text is unique only if there is exactly one way to replace it.
        """
        most = max(2, min(_MAX_COUNTED, _MAX_COMPARED // len(searched.text)))
        offsets = list(islice(searched.find_all(self.text, overlapping=True), most))
        return offsets, len(offsets) == most

    def list_lines(self, offsets: Iterable[int]) -> list[int]:
        """Return the numbers, from 1, of the lines that contain ascending offsets."""
        lines, line, counted_offset = [], 1, 0
        for offset in offsets:
            line += self.text.count("\n", counted_offset, offset)
            lines.append(line)
            counted_offset = offset
        return lines

    def replace_all(self, old: str, new: str) -> str:
        """Return the original text with all occurrences replaced; raise what `replace` does."""
        if self.has_crlf:
            return self.replace(self.find_all(old), len(old), new)
        self._check_growth(self.text.count(old), len(new) - len(old))
        return self.text.replace(old, new)

    def replace(self, starts: Sequence[int], length: int, new: str) -> str:
        """Return the original text with some ranges replaced; new text gets its line ends there.

        The ranges have one length and begin at ascending offsets in `text`. Raise
        `InvalidOperation` if several replacements would make the text too long.
        """
        self._check_growth(len(starts), len(new) - length)
        parts, copied_until = [], 0
        for start in starts:
            start_offset, stop_offset = self._get_offset(start), self._get_offset(start + length)
            parts += [self._original[copied_until:start_offset], self._adapt(new, start_offset)]
            copied_until = stop_offset
        return "".join([*parts, self._original[copied_until:]])

    def _check_growth(self, count: int, growth: int) -> None:
        length = len(self.text) + count * growth
        if count > 1 and growth > 0 and length > _MAX_RESULT_LENGTH:
            raise InvalidOperation(
                f"The text would become {length} characters long by {count} replacements; at "
                f"most {_MAX_RESULT_LENGTH} are allowed. Replace fewer occurrences, or use a "
                "shorter text."
            )

    def _get_offset(self, position: int) -> int:
        return position + bisect_left(self._crlf, position)

    def _adapt(self, new: str, begin: int) -> str:
        """Return the new text with the line end after its position, or with the first line end."""
        if "\n" not in new or not self._line_ends:
            return new
        index = bisect_left(self._line_ends, begin)
        line_end = self._line_ends[index if index < len(self._line_ends) else 0]
        return _LINE_END.sub("\n" if self._original[line_end] == "\n" else "\r\n", new)

    @cached_property
    def _line_ends(self) -> list[int]:
        """The offsets of all line ends, listed once: there may be as many as replacements."""
        return [match.start() for match in _LINE_END.finditer(self._original)]


def replace_texts(source: str, operation: ReplaceText, budget: TextBudget) -> str:
    """Apply the edits of a `ReplaceText` one after the other.

    Raises
    ------
    InvalidOperation
        If an edit would make the text too long, or the budget does not suffice.
    TextMismatch
        With the number of occurrences and their lines; ``details["edit"]`` is the index of the edit
        if there are several.
    """
    edits = operation.edits
    if edits is UNSET:
        edits = [TextEdit(old=operation.old, new=operation.new, all=operation.all is True)]  # type: ignore[arg-type] # check_form
    for number, edit in enumerate(edits):
        budget.spend(len(source))
        source = _replace_text(source, edit, {} if operation.edits is UNSET else {"edit": number})
    return source


def _replace_text(source: str, edit: TextEdit, details: dict[str, int]) -> str:
    plain = NormalizedText(source)
    # The searched text has LF instead of CR LF.
    old, new = edit.old.replace("\r\n", "\n"), edit.new
    if not plain.has_crlf:
        old = old if old in source else use_line_feeds(old)
        new = use_line_feeds(new)
    searched = find_shown_text(plain.text, old) or SearchedText(old)
    old = searched.text
    if edit.all and searched.is_at_line_start:
        return plain.replace(list(searched.find_all(plain.text)), len(old), new)
    if edit.all and old in plain.text:
        return plain.replace_all(old, new)
    positions, may_be_more = plain.find_first(searched)
    if len(positions) == 1:
        return plain.replace(positions, len(old), new)
    lines = list(dict.fromkeys(plain.list_lines(positions)))[:_MAX_SHOWN_LINES]
    if positions:
        at_least = "at least " if may_be_more else ""
        message = (
            f"The text to replace occurs in the cell {at_least}{len(positions)} times, first in "
            f"{'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines))}. Send more of "
            "the text around it, or set `all` to replace every occurrence."
        )
    else:
        message = (
            "The text to replace does not occur in the cell. It must match exactly, including "
            "spaces and line breaks. This error has the source of the cell, or the part of it that "
            "is most like the text."
        )
    raise TextMismatch(message, count=len(positions), lines=lines, **details)


def build_mismatch_excerpt(
    source: str, operation: ReplaceText, error: TextMismatch
) -> dict[str, Any]:
    """Return the part of the cell that is most like the text that was not found, as details."""
    edits = operation.edits
    old = operation.old if edits is UNSET else edits[error.details["edit"]].old
    position = source.find(str(old))
    if position < 0:
        position = find_nearest_line(source, str(old))
    return build_excerpt(source, _MAX_SHOWN_CHARACTERS, position)


def find_shown_text(source: str, old: str) -> SearchedText | None:
    """Return what a text to replace means if it occurs only as a text form shows it.

    ``source`` has LF instead of CR LF. Return None if the text occurs as it was sent, or not at
    all.
    """
    text = unescape_markup(old)
    if text == old or old in source:
        return None
    # Its first backslash is only shown at the start of a line.
    shown = SearchedText(text, is_at_line_start=is_escaped(old))
    return None if next(shown.find_all(source), None) is None else shown


def split_source(source: str, at_line: int) -> tuple[str, str]:
    """Split a source before a line, from 2 on; the line break between the parts is removed."""
    lines = source.split("\n")
    first = "\n".join(lines[: at_line - 1]).removesuffix("\r")
    return first, "\n".join(lines[at_line - 1 :])


def locate_line(original: str, parts: Sequence[str], at_line: int) -> tuple[int, int]:
    """Return the part that has a line of the cell before the batch, and the line's number there.

    Lines are counted from 1. ``parts`` are what earlier operations have left of the original.

    Raises
    ------
    InvalidOperation
        If there is no such line, or no line before it in its part, or if it was changed.
    """
    old_lines = original.replace("\r\n", "\n").split("\n")
    count = len(old_lines) - (old_lines[-1] == "")
    if not 1 < at_line <= count:
        expected = f"2 to {count}" if count > 1 else "a cell of at least two lines"
        message = (
            f"The cell has {count} {'line' if count == 1 else 'lines'} and cannot be split at line "
            f"{at_line}: expected {expected}, counted in the cell before this request."
        )
        raise InvalidOperation(message, at_line=at_line, lines=count)
    lines = [
        (part, number, line)
        for part, source in enumerate(parts)
        for number, line in enumerate(source.replace("\r\n", "\n").split("\n"), 1)
    ]
    new_lines = [line for _, _, line in lines]
    index, growth = at_line - 1, len(new_lines) - len(old_lines)
    if index >= count_common_start(old_lines, new_lines):
        if len(old_lines) - index > count_common_start(old_lines[::-1], new_lines[::-1]):
            message = (
                f"An earlier operation of this request has changed line {at_line} of the cell, or "
                "lines around it. Send the split in a request of its own."
            )
            raise InvalidOperation(message, at_line=at_line)
        index += growth
    part, number, _ = lines[index]
    if number == 1:
        message = (
            f"Line {at_line} of the cell begins a cell already, because of an earlier operation of "
            "this request. Leave this split out."
        )
        raise InvalidOperation(message, at_line=at_line)
    return part, number


def find_cells_with_text(
    sources: Sequence[str | None],
    old: str,
    *,
    takes_all: bool,
    get_name: Callable[[int], str],
    advice: tuple[str, str],
) -> list[int]:
    """Return the index of the one cell that contains a text; all indexes if ``takes_all``.

    A source is None if it cannot be read. ``advice`` is how to name the cell, and how to choose
    among several. Raise `TextMismatch` if no cell has the text, or several where one must.
    """
    indexes = [index for index, source in enumerate(sources) if source and old in source]
    if not indexes and unescape_markup(old) != old:
        indexes = [
            index for index, source in enumerate(sources) if source and find_shown_text(source, old)
        ]
    if len(indexes) == 1 or (indexes and takes_all):
        return indexes
    if not indexes:
        message = (
            "The text to replace does not occur in any cell. It must match exactly, including "
            f"spaces and line breaks. {advice[0]} to be shown the part of a cell that is most like "
            "it."
        )
        raise TextMismatch(message, count=0, lines=[])
    names = list(map(get_name, indexes[:_MAX_NAMES]))
    message = (
        f"The text to replace occurs in {len(indexes)} cells: {', '.join(names)}"
        f"{', ...' if len(indexes) > len(names) else ''}. {advice[1]} to replace it in all of them."
    )
    raise TextMismatch(message, count=len(indexes), lines=[], candidates=names)
