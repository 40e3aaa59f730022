"""What is known of the edits since the one that is undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord


@dataclass(frozen=True)
class PastEdit:
    """An edit of the history: its number, the number of the edit that it undoes, its undo record.

    ``record`` is None if it is not known what the edit did.
    """

    number: int
    undoes: int | None
    record: UndoRecord | None


@dataclass(frozen=True)
class KnownHistory:
    """The known edits since an edit that is to be undone.

    ``edits`` has the known edits of the notebook, oldest first, among them the one to undo with the
    same record object; it is empty if no other edit is known. ``reverted_parts`` has the numbers of
    the parts of the record that were undone before.
    """

    edits: Sequence[PastEdit] = ()
    reverted_parts: Collection[int] = ()

    def list_later_parts(self, record: UndoRecord) -> list[CellUndo] | None:
        """Return what later edits did to cells; None if that is not known.

        An edit and its undo cancel each other out.
        """
        later_edits = self._list_later_edits(record)
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
        """Return whether later edits inserted, deleted or moved cells, or may have done so."""
        return any(
            edit.record is None or any(part.changes_position for part in edit.record.parts)
            for edit in self._list_later_edits(record)
        )

    def _list_later_edits(self, record: UndoRecord) -> list[PastEdit]:
        return list(dropwhile(lambda edit: edit.record is not record, self.edits))[1:]


#: The history if only the record of the edit is known.
NO_KNOWN_HISTORY = KnownHistory()
