"""Exact text replacement for ``Edit``, where a line feed matches every line end of the file."""

from __future__ import annotations

from jupyter_nbedit.errors import InvalidRequest, TextMismatch
from jupyter_nbedit.notebook.line_ends import NormalizedText
from jupyter_nbedit.notebook.source_edit import check_growth

_SHOWN_LINES = 20


def replace_string(text: str, old: str, new: str, *, replaces_all: bool) -> tuple[str, list[int]]:
    """Replace a text and keep the line ends of the file.

    Parameters
    ----------
    text
        The text of the file.
    old
        The text to replace, not empty. A line end in it matches any line end of the file.
    new
        The replacement; its line ends become those of the replaced text.
    replaces_all
        Whether to replace every occurrence; otherwise there must be exactly one.

    Returns
    -------
    tuple
        The new text, and the numbers (from 1) of the lines in the old text where an occurrence
        begins.

    Raises
    ------
    InvalidRequest
        If ``old`` equals ``new``.
    TextMismatch
        If ``old`` does not occur, or occurs more than once without ``replaces_all``.
    """
    if old == new:
        message = "`old_string` and `new_string` are the same: there is nothing to change."
        raise InvalidRequest(message)
    plain = NormalizedText(text)
    searched_text = old.replace("\r\n", "\n")
    starts = plain.find_all(searched_text)
    lines = _list_lines(plain.text, starts)
    if not starts:
        message = (
            "`old_string` does not stand in the file. Read the file again, and copy the text "
            "exactly, white space included, without the line numbers."
        )
        raise TextMismatch(message, count=0, lines=[])
    if len(starts) > 1 and not replaces_all:
        message = (
            f"`old_string` stands in the file {len(starts)} times, beginning on the lines "
            f"{', '.join(map(str, lines[:_SHOWN_LINES]))}. Give more of the text around the one "
            "you mean, or set `replace_all`."
        )
        raise TextMismatch(message, count=len(starts), lines=lines[:_SHOWN_LINES])
    check_growth(text, len(starts), len(new) - len(searched_text))
    return plain.replace(starts, len(searched_text), new), lines


def _list_lines(text: str, offsets: list[int]) -> list[int]:
    lines, line, last = [], 1, 0
    for offset in offsets:
        line += text.count("\n", last, offset)
        lines.append(line)
        last = offset
    return lines
