"""Edit a source as a text: replace what stands in it, cut it at a line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation, TextMismatch
from jupyter_nbedit.notebook.line_ends import PlainText, use_line_feeds
from jupyter_nbedit.notebook.operations import ReplaceText, TextEdit

# More occurrences than this are not counted: texts that repeat themselves have very many.
_MOST_COUNTED = 1000
# Each is compared with all of the text that is sought, so of long texts fewer are counted.
_MOST_COMPARED = 1_000_000
_SHOWN_LINES = 20
# A text that is replaced everywhere by a longer one may grow without end: it doubles with each of
# a thousand edits.
_LARGEST_RESULT = 1 << 24


def replace_texts(source: str, operation: ReplaceText) -> str:
    """Do the edits of a `ReplaceText` one after the other.

    Raises
    ------
    TextMismatch
        With how often the text stands there, and in which lines; ``details["edit"]`` is the index
        of the edit if there are several.
    """
    if operation.edits is not UNSET:
        for number, edit in enumerate(operation.edits):
            source = _replace_text(source, edit, {"edit": number})
        return source
    everywhere = operation.all is True
    edit = TextEdit(old=operation.old, new=operation.new, all=everywhere)  # type: ignore[arg-type] # check_form
    return _replace_text(source, edit, {})


def _replace_text(source: str, edit: TextEdit, details: dict[str, int]) -> str:
    plain = PlainText(source)
    # What is searched has LF for CR LF.
    old, new = edit.old.replace("\r\n", "\n"), edit.new
    if not plain.has_crlf:
        old = old if old in source else use_line_feeds(old)
        new = use_line_feeds(new)
    if edit.all and old in plain.text:
        check_growth(plain.text, plain.text.count(old), len(new) - len(old))
        return plain.replace_all(old, new)
    most = max(2, min(_MOST_COUNTED, _MOST_COMPARED // len(old)))
    found = list(islice(_find_occurrences(plain.text, old), most))
    if len(found) == 1:
        return plain.replace(found, len(old), new)
    lines = list(islice(dict.fromkeys(_list_line_numbers(plain.text, found)), _SHOWN_LINES))
    if found:
        more = "at least " if len(found) == most else ""
        message = (
            f"The text to be replaced stands in the cell {more}{len(found)} times, first in the "
            f"lines {', '.join(map(str, lines))}. Give more of what is around the one you mean, "
            "or set `all` to replace every one."
        )
    else:
        message = (
            "The text to be replaced does not stand in the cell. It must be there exactly as "
            "given, spaces and line breaks included; read the cell again."
        )
    raise TextMismatch(message, count=len(found), lines=lines, **details)


def check_growth(source: str, count: int, growth: int) -> None:
    """Check that a text does not become too long by several replacements.

    Parameters
    ----------
    source
        The text before.
    count
        The number of replacements.
    growth
        By how many characters each of them makes the text longer.

    Raises
    ------
    InvalidOperation
        If it does.
    """
    length = len(source) + count * growth
    if count > 1 and growth > 0 and length > _LARGEST_RESULT:
        message = (
            f"The text would become {length} characters long by {count} replacements; at most "
            f"{_LARGEST_RESULT} are made so. Replace it in fewer places, or by a shorter text."
        )
        raise InvalidOperation(message)


def _find_occurrences(source: str, text: str) -> Iterator[int]:
    at = source.find(text)
    while at >= 0:
        yield at
        at = source.find(text, at + 1)


def _list_line_numbers(source: str, places: list[int]) -> Iterator[int]:
    line, seen = 1, 0
    for at in places:
        line += source.count("\n", seen, at)
        seen = at
        yield line


def cut(source: str, at_line: int) -> tuple[str, str]:
    """Cut a source before a line, counted from 1; the line break between the parts goes.

    Raises
    ------
    InvalidOperation
        If there is no such line, or nothing before it.
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
