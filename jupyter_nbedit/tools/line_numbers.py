"""Number the lines of a text file for a reader, and cut what is too long."""

from __future__ import annotations

from jupyter_nbedit.errors import InvalidRequest

#: The largest number of lines that are shown at once, and of characters of a line.
MOST_LINES = 2000
MOST_CHARACTERS = 2000


def number_lines(text: str, offset: int = 1, limit: int = MOST_LINES) -> str:
    """Return lines with their numbers from 1, and a note about what is not shown.

    Parameters
    ----------
    text
        The text; a line ends with a line feed, or a carriage return and a line feed.
    offset
        The number of the first line that is shown.
    limit
        The largest number of lines to show.

    Raises
    ------
    InvalidRequest
        If the text has fewer than ``offset`` lines.
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
    """Return the lines of a text without line ends and byte order mark."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _cut(line: str) -> str:
    if len(line) <= MOST_CHARACTERS:
        return line
    shown = line[:MOST_CHARACTERS]
    return f"{shown}… ({len(line) - len(shown)} more characters are not shown)"
