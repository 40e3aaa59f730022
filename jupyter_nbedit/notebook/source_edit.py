"""Edit the source of a cell as text: replace a text, or split it before a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation, TextMismatch
from jupyter_nbedit.notebook.line_ends import NormalizedText, use_line_feeds
from jupyter_nbedit.notebook.operations import ReplaceText, TextEdit

# Counting stops here: repetitive texts have very many occurrences.
_MAX_COUNTED = 1000
# Each occurrence costs a comparison with the whole searched text, so that fewer occurrences of long
# texts are counted.
_MAX_COMPARED = 1_000_000
_SHOWN_LINES = 20
# Replacing a text everywhere by a longer one may grow without limit: it may double with each of a
# thousand edits.
_MAX_RESULT_LENGTH = 1 << 24


def replace_texts(source: str, operation: ReplaceText) -> str:
    """Apply the edits of a `ReplaceText` one after the other.

    Raises
    ------
    TextMismatch
        With the number of occurrences and their lines; ``details["edit"]`` is the index of the edit
        if there are several.
    """
    if operation.edits is not UNSET:
        for number, edit in enumerate(operation.edits):
            source = _replace_text(source, edit, {"edit": number})
        return source
    everywhere = operation.all is True
    edit = TextEdit(old=operation.old, new=operation.new, all=everywhere)  # type: ignore[arg-type] # check_form
    return _replace_text(source, edit, {})


def _replace_text(source: str, edit: TextEdit, details: dict[str, int]) -> str:
    plain = NormalizedText(source)
    # The searched text has LF instead of CR LF.
    old, new = edit.old.replace("\r\n", "\n"), edit.new
    if not plain.has_crlf:
        old = old if old in source else use_line_feeds(old)
        new = use_line_feeds(new)
    if edit.all and old in plain.text:
        check_growth(plain.text, plain.text.count(old), len(new) - len(old))
        return plain.replace_all(old, new)
    most = max(2, min(_MAX_COUNTED, _MAX_COMPARED // len(old)))
    positions = list(islice(_find_occurrences(plain.text, old), most))
    if len(positions) == 1:
        return plain.replace(positions, len(old), new)
    lines = list(islice(dict.fromkeys(list_line_numbers(plain.text, positions)), _SHOWN_LINES))
    if positions:
        at_least = "at least " if len(positions) == most else ""
        message = (
            f"The text to be replaced stands in the cell {at_least}{len(positions)} times, first "
            f"in the lines {', '.join(map(str, lines))}. Give more of what is around the one you "
            "mean, or set `all` to replace every one."
        )
    else:
        message = (
            "The text to be replaced does not stand in the cell. It must be there exactly as "
            "given, spaces and line breaks included; read the cell again."
        )
    raise TextMismatch(message, count=len(positions), lines=lines, **details)


def check_growth(source: str, count: int, growth: int) -> None:
    """Raise `InvalidOperation` if replacements, each longer by some characters, grow too much."""
    length = len(source) + count * growth
    if count > 1 and growth > 0 and length > _MAX_RESULT_LENGTH:
        message = (
            f"The text would become {length} characters long by {count} replacements; at most "
            f"{_MAX_RESULT_LENGTH} are made so. Replace it in fewer places, or by a shorter text."
        )
        raise InvalidOperation(message)


def _find_occurrences(source: str, text: str) -> Iterator[int]:
    position = source.find(text)
    while position >= 0:
        yield position
        position = source.find(text, position + 1)


def list_line_numbers(source: str, positions: list[int]) -> Iterator[int]:
    """Yield the numbers (from 1) of the lines with some positions, which are in order."""
    line, counted_offset = 1, 0
    for position in positions:
        line += source.count("\n", counted_offset, position)
        counted_offset = position
        yield line


def split_source(source: str, at_line: int) -> tuple[str, str]:
    """Split a source before a line, counted from 1; the line break between the parts is removed.

    Raises
    ------
    InvalidOperation
        If there is no such line, or no line before it.
    """
    lines = source.split("\n")
    count = len(lines) - (lines[-1] == "")
    if not 1 < at_line <= count:
        expected = f"2 to {count}" if count > 1 else "a cell of at least two lines"
        message = (
            f"The cell has {count} {'line' if count == 1 else 'lines'} and cannot be split at line "
            f"{at_line}: expected {expected}."
        )
        raise InvalidOperation(message, at_line=at_line, lines=count)
    first = "\n".join(lines[: at_line - 1]).removesuffix("\r")
    return first, "\n".join(lines[at_line - 1 :])
