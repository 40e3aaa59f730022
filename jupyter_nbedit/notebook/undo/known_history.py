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
        The number of the edit that it takes back.
    record
        What it did; None if that is not known.
    """

    number: int
    undoes: int | None
    record: UndoRecord | None

    @property
    def changes_order(self) -> bool:
        """Whether it inserted, deleted or moved cells, or may have done so."""
        return self.record is None or any(map(_is_position_changed, self.record.parts))


@dataclass(frozen=True)
class Past:
    """What is known of the time between an edit and now.

    Parameters
    ----------
    history
        The edits of the notebook that are known, oldest first, among them the one that is taken
        back, with the very record that is given; empty if no other is known.
    accepted
        The numbers of the parts of the record that were taken back before; None if that is not
        known.
    """

    history: Sequence[PastEdit] = ()
    accepted: Collection[int] | None = None

    def list_parts_since(self, record: UndoRecord) -> list[CellUndo] | None:
        """Return what later edits in effect did to cells; None if that is not known.

        An edit and the undo of it cancel each other out.
        """
        later = list(dropwhile(lambda past: past.record is not record, self.history))[1:]
        if not self.history or any(past.record is None for past in later):
            return None
        numbers = {past.number for past in later}
        cancelled: set[int] = set()
        for past in reversed(later):
            if past.number not in cancelled and past.undoes in numbers:
                cancelled |= {past.number, past.undoes or 0}
        effective = [past for past in later if past.number not in cancelled]
        return [part for past in effective if past.record for part in past.record.parts]

    def is_rearranged_since(self, record: UndoRecord) -> bool:
        """Return whether later edits have inserted, deleted or moved cells."""
        later = list(dropwhile(lambda past: past.record is not record, self.history))
        return any(past.changes_order for past in later[1:])


#: What is known of an edit whose record is all there is.
NOTHING_KNOWN = Past()


def _is_position_changed(part: CellUndo) -> bool:
    return not part.of_notebook and (part.moved or part.index is None or part.index_before is None)
