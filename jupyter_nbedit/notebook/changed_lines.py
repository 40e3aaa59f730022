"""Count the lines of sources that an edit changes, and find the first of these lines."""

from collections.abc import Iterable
from typing import NamedTuple

from jupyter_nbedit.notebook.edit_plan import CellChange
from jupyter_nbedit.notebook.sequence_diff import list_differences, split_lines

#: The most characters of a snippet.
MAX_SNIPPET_LENGTH = 120


class ChangedLines(NamedTuple):
    """The lines of sources that an edit adds and removes."""

    added: int
    removed: int
    #: The first added line that is not blank, or else the first removed one; None without either.
    snippet: str | None


def count_changed_lines(changes: Iterable[CellChange]) -> ChangedLines:
    """Count the lines that differ in the sources of cells, in the order of the notebook."""
    added = removed = 0
    first_added = first_removed = ""
    for change in sorted(changes, key=lambda change: change.sort_key):
        old = split_lines(change.before.source if change.before else "")
        new = split_lines(change.after.source if change.after else "")
        if old == new:
            continue
        for difference in list_differences(old, new):
            old_lines = old[difference.start : difference.stop]
            new_lines = new[difference.new_start : difference.new_stop]
            removed += len(old_lines)
            added += len(new_lines)
            first_added = first_added or _find_text(new_lines)
            first_removed = first_removed or _find_text(old_lines)
    return ChangedLines(added, removed, first_added or first_removed or None)


def _find_text(lines: Iterable[str]) -> str:
    """Return the first line that is not blank, cut; '' if there is none."""
    return next((line.strip()[:MAX_SNIPPET_LENGTH] for line in lines if line.strip()), "")
