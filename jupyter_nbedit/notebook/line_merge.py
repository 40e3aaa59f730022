"""Merge two changes of one text by line.

The tab has the same policy (``lab/src/merge/textMerge.ts``); ``tests/line_merges.json`` has its
cases. Lines are separated by line feeds only, as in nbformat. Changes that touch are a conflict,
also if they do not overlap: between two changes there must be a line that neither side has changed.
Equal changes of both sides are one change.
"""

from collections.abc import Sequence

from jupyter_nbedit.notebook.sequence_diff import list_differences, split_lines


def merge_lines(base: str, mine: str, theirs: str) -> str | None:
    """Merge two changes of ``base``; return None if they are in conflict.

    The result does not depend on which change is ``mine`` and which is ``theirs``.
    """
    old, first, second = map(split_lines, (base, mine, theirs))
    first_changes, second_changes = _list_changes(old, first), _list_changes(old, second)
    merged: list[str] = []
    position = 0
    while first_changes or second_changes:
        if first_changes and second_changes and first_changes[-1] != second_changes[-1]:
            (start, stop, _), (other_start, other_stop, _) = first_changes[-1], second_changes[-1]
            if start <= other_stop and other_start <= stop:
                return None
        change = min(changes[-1] for changes in (first_changes, second_changes) if changes)
        for changes in (first_changes, second_changes):
            if changes and changes[-1] == change:
                changes.pop()
        start, stop, lines = change
        merged += [*old[position:start], *lines]
        position = stop
    return "\n".join([*merged, *old[position:]])


def _list_changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, list[str]]]:
    """Return the start and stop of each changed range, and its new lines; the last one first."""
    return [
        (change.start, change.stop, list(new[change.new_start : change.new_stop]))
        for change in reversed(list_differences(old, new))
    ]
