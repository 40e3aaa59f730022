"""How many lines a batch may add to the sources of a notebook.

A file has a source as a list of lines, and a diff compares lines. One string of a request may have
millions of lines, and each line takes some hundred bytes of memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_nbedit.errors import TooLarge
from jupyter_nbedit.notebook.edited_cell import EditedCell

#: The most lines that a request may add.
MAX_ADDED_LINES = 500_000
# Where `str.splitlines` ends a line, as nbformat does.
_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


def check_added_lines(cells: Iterable[EditedCell]) -> None:
    """Raise `TooLarge` if the cells that a batch has edited have too many lines more than before.

    Lines that it moves to another cell are not added.
    """
    before, after = [], []
    for cell in cells:
        if cell.cell is not None:
            before.append(cell.original_source)
        if cell.removed_by is None:
            after.append(cell.source)
    # No text has more lines than characters.
    if sum(map(len, after)) <= MAX_ADDED_LINES:
        return
    count = sum(map(_count_line_ends, after)) - sum(map(_count_line_ends, before))
    if count > MAX_ADDED_LINES:
        message = (
            f"The request would add {count} lines to the sources of the notebook; at most "
            f"{MAX_ADDED_LINES} are allowed. Send the operations in several requests."
        )
        raise TooLarge(message, limit=MAX_ADDED_LINES)


def _count_line_ends(source: str) -> int:
    return sum(map(source.count, _LINE_ENDS)) - source.count("\r\n")
