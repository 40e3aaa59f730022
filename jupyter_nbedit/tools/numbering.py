"""The lines of a text with their numbers, as ``cat -n`` shows them."""

from __future__ import annotations

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.characters import find_grapheme_boundary

#: The most lines at once, and the most characters of one.
MOST_LINES = 2000
MOST_CHARACTERS = 2000


def number_lines(text: str, offset: int = 1, limit: int = MOST_LINES) -> str:
    """Show lines with their numbers from 1, and say what is left out.

    Parameters
    ----------
    text
        The text; a line ends with a line feed, or a carriage return and a line feed.
    offset
        The first line that is shown.
    limit
        How many at most.

    Raises
    ------
    InvalidRequest
        If the text has no such line.
    """
    if text in {"", "\ufeff"}:
        return "The file is empty."
    lines = split_lines(text)
    if offset > len(lines):
        message = f"The file has {len(lines)} lines; found `offset` {offset}."
        raise InvalidRequest(message)
    last = min(offset - 1 + min(limit, MOST_LINES), len(lines))
    shown = [f"{n:6}\t{_cut(lines[n - 1])}" for n in range(offset, last + 1)]
    if last < len(lines):
        shown.append(
            f"\n(Lines {last + 1} to {len(lines)} are not shown; read on with `offset` {last + 1}.)"
        )
    return "\n".join(shown)


def split_lines(text: str) -> list[str]:
    """Return a text's lines without their ends, and without a byte order mark."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _cut(line: str) -> str:
    if len(line) <= MOST_CHARACTERS:
        return line
    shown = line[: find_grapheme_boundary(line, MOST_CHARACTERS)]
    return f"{shown}… ({len(line) - len(shown)} more characters are not shown)"
