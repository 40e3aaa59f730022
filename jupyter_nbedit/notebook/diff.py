"""What an edit did, as a unified diff by cell."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# A diff is for reading. Longer ones are cut, and say so.
_MOST_CHARACTERS = 100_000
# Beyond this many pairs of lines difflib takes seconds; such cells are shown as replaced whole.
_MOST_PAIRS = 4_000_000


@dataclass(frozen=True)
class Change:
    """One cell before and after an edit; an index is None where the cell does not exist."""

    cell_id: str | None
    index_before: int | None
    index_after: int | None
    cell_type_before: str | None
    cell_type_after: str | None
    before: str
    after: str
    moved: bool
    outputs_cleared: bool

    def label(self, index: int | None) -> str:
        """Name the cell, as an address that fits the notebook on that side of the edit."""
        return self.cell_id if self.cell_id is not None else f"cell-{index}"


def unified(path: str, changes: Sequence[Change]) -> str:
    """Show changes cell by cell, in the order of the notebook, as ``diff -u`` would."""
    ordered = sorted(
        changes, key=lambda c: c.index_after if c.index_after is not None else c.index_before or 0
    )
    text = "".join(line for change in ordered for line in _lines(path, change))
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}\n… {len(text) - _MOST_CHARACTERS} more characters\n"


def _lines(path: str, change: Change) -> Iterator[str]:
    old, new = change.index_before, change.index_after
    if old is None and new is None:
        return
    notes = list(_notes(change))
    if change.before == change.after and not notes:
        return
    yield "--- /dev/null\n" if old is None else f"--- {path} {change.label(old)}\n"
    yield "+++ /dev/null\n" if new is None else f"+++ {path} {change.label(new)}\n"
    yield from notes
    before, after = change.before.splitlines(), change.after.splitlines()
    if len(before) * len(after) > _MOST_PAIRS:
        yield f"@@ -1,{len(before)} +1,{len(after)} @@\n"
        yield from (f"-{line}\n" for line in before)
        yield from (f"+{line}\n" for line in after)
    else:
        hunks = difflib.unified_diff(before, after, lineterm="")
        yield from (f"{line}\n" for line in list(hunks)[2:])


def _notes(change: Change) -> Iterator[str]:
    if change.index_before is None:
        yield f"# inserted {change.cell_type_after} at {change.index_after}\n"
    elif change.index_after is None:
        yield f"# deleted {change.cell_type_before} from {change.index_before}\n"
    else:
        if change.moved and change.index_before != change.index_after:
            yield f"# moved from {change.index_before} to {change.index_after}\n"
        if change.cell_type_before != change.cell_type_after:
            yield f"# {change.cell_type_before} became {change.cell_type_after}\n"
        if change.outputs_cleared:
            yield "# outputs cleared\n"
