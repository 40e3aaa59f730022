"""What is known of the edits since the one that is undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord


@dataclass(frozen=True)
class PastEdit:
    """An edit of the history.

    Parameters
    ----------
    number
        The number of the edit.
    undoes
        The number of the edit that it undoes, or None.
    record
        Its undo record; None if that is not known.
    """

    number: int
    undoes: int | None
    record: UndoRecord | None

    @property
    def changes_order(self) -> bool:
        """Whether it inserted, deleted or moved cells, or may have done so."""
        return self.record is None or any(map(_is_position_changed, self.record.parts))


@dataclass(frozen=True)
class KnownHistory:
    """The known edits since an edit that is to be undone.

    Parameters
    ----------
    edits
        The known edits of the notebook, oldest first. They include the edit to undo, with the same
        record object; empty if no other edit is known.
    reverted_parts
        The numbers of the parts of the record that were undone before; None if that is not known.
    """

    edits: Sequence[PastEdit] = ()
    reverted_parts: Collection[int] | None = None

    def list_later_parts(self, record: UndoRecord) -> list[CellUndo] | None:
        """Return what later edits did to cells; None if that is not known.

        An edit and its undo cancel each other out.
        """
        later_edits = list(dropwhile(lambda edit: edit.record is not record, self.edits))[1:]
        if not self.edits or any(edit.record is None for edit in later_edits):
            return None
        numbers = {edit.number for edit in later_edits}
        cancelled_numbers: set[int] = set()
        for edit in reversed(later_edits):
            if edit.number not in cancelled_numbers and edit.undoes in numbers:
                cancelled_numbers |= {edit.number, edit.undoes or 0}
        effective_edits = [edit for edit in later_edits if edit.number not in cancelled_numbers]
        return [part for edit in effective_edits if edit.record for part in edit.record.parts]

    def has_later_rearrangement(self, record: UndoRecord) -> bool:
        """Return whether later edits inserted, deleted or moved cells."""
        edits = list(dropwhile(lambda edit: edit.record is not record, self.edits))
        return any(edit.changes_order for edit in edits[1:])


#: The history if only the record of the edit is known.
NO_KNOWN_HISTORY = KnownHistory()


def _is_position_changed(part: CellUndo) -> bool:
    return not part.is_notebook_metadata and (
        part.is_moved or part.index is None or part.index_before is None
    )
