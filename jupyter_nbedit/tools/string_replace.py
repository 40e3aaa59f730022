"""Replace a text in a text, by a contract that knows no line end but the line feed."""

from __future__ import annotations

from jupyter_nbedit.errors import InvalidRequest, TextMismatch
from jupyter_nbedit.notebook.line_ends import PlainText
from jupyter_nbedit.notebook.source_edit import check_growth

_SHOWN_LINES = 20


def replace_string(text: str, old: str, new: str, *, every: bool) -> tuple[str, list[int]]:
    """Replace a text where it stands, and keep the line ends there.

    Parameters
    ----------
    text
        What a file holds.
    old
        What is to be replaced, not empty. A line end in it stands for whichever line end the file
        has there.
    new
        What comes in its place, with the line ends of the place.
    every
        Whether to replace it wherever it stands; otherwise it must stand there once.

    Returns
    -------
    tuple
        The new text, and the lines from 1 in the old text where a replaced one began.

    Raises
    ------
    InvalidRequest
        If ``old`` is ``new``.
    TextMismatch
        If it stands nowhere, or more often than once.
    """
    if old == new:
        message = "`old_string` and `new_string` are the same: there is nothing to change."
        raise InvalidRequest(message)
    plain = PlainText(text)
    sought = old.replace("\r\n", "\n")
    starts = plain.find_all(sought)
    lines = _list_lines(plain.text, starts)
    if not starts:
        message = (
            "`old_string` does not stand in the file. Read the file again, and copy the text "
            "exactly, white space included, without the line numbers."
        )
        raise TextMismatch(message, count=0, lines=[])
    if len(starts) > 1 and not every:
        message = (
            f"`old_string` stands in the file {len(starts)} times, beginning on the lines "
            f"{', '.join(map(str, lines[:_SHOWN_LINES]))}. Give more of the text around the one "
            "you mean, or set `replace_all`."
        )
        raise TextMismatch(message, count=len(starts), lines=lines[:_SHOWN_LINES])
    check_growth(text, len(starts), len(new) - len(sought))
    return plain.replace(starts, len(sought), new), lines


def _list_lines(text: str, places: list[int]) -> list[int]:
    lines, line, last = [], 1, 0
    for place in places:
        line += text.count("\n", last, place)
        lines.append(line)
        last = place
    return lines
