"""Take edits back, and make again what was taken back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.edits.plan import PlannedChange
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.errors import EditNotFound, LedgerError, NothingToUndo, UndoConflict
from jupyter_nbedit.history.models import Entry
from jupyter_nbedit.history.store import EditHistory
from jupyter_nbedit.models import EditReply, UndoRequest
from jupyter_nbedit.notebook.apply import EditPlan
from jupyter_nbedit.notebook.undo.known_history import KnownHistory, PastEdit
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.reading.loading import LoadedNotebook

# How many edits in a row may have been undone by hand: each is compared with the notebook.
_MOST_SKIPPED = 100
# What one edit of the history weighs, in bytes of the notebook, when its order is worked out.
_EDIT_WEIGHT = 1_000


@dataclass(frozen=True)
class UndoService:
    """Takes edits back that the ledger knows.

    Parameters
    ----------
    editor
        Makes the change: taking back is an edit itself, and may be taken back.
    ledger
        Knows what was done.
    """

    editor: EditService
    ledger: EditHistory

    async def undo(self, request: UndoRequest) -> EditReply:
        """Take an edit back; of an older one only its cells, if nobody has changed them since.

        Raises
        ------
        EditNotFound
            If the ledger does not have the edit.
        NothingToUndo
            If there is none, or it was taken back already, or made the notebook.
        UndoConflict
            If somebody has changed since what the edit did.
        NbEditError
            As `EditService.edit` does. Nothing was written.
        """

        async def prepare(read: LoadedNotebook) -> PlannedChange:
            # With the lock held: who asks for the newest edit twice at once takes two of them back.
            before = None
            for _ in range(_MOST_SKIPPED):
                entry, kept = await self._select_entry(request, before)
                made, kept = await self._find_newest_repeat(read, entry, kept)
                # What stands where the edit left it needs no history to be found.
                others = [] if read.hash == made.hash else await self._list_other_edits(made)
                job = _plan_undo(read, entry.edit_id, made, kept, others)
                applied = await run_in_thread_if_large(job.weight, job.build)
                if applied.splices or request.edit_id is not None:
                    return replace(job, build=partial(_return_applied, applied))
                # Somebody has taken its effect back by hand, so that the one before it is next.
                before = entry.edit_id
            message = (
                f"The last {_MOST_SKIPPED} edits of this notebook were undone by hand; no older "
                "one was looked at. Look at its history and name an older one by `edit_id`."
            )
            raise NothingToUndo(message)

        return await self.editor.run(request, prepare)

    async def _find_newest_repeat(
        self, read: LoadedNotebook, entry: Entry, kept: bytes
    ) -> tuple[Entry, bytes]:
        """Return the edit that made an edit again last, and its record; the edit itself if none.

        The notebook may have been another one by then, and the cells in another order.
        """
        number = await self.ledger.find_newest_repeat(entry.path, entry.edit_id)
        if number == entry.edit_id:
            return entry, kept
        repeat, record = await self.ledger.get_entry(entry.path, number)
        if record is None:
            return entry, kept
        if read.hash != repeat.hash:
            _check_moves(entry.edit_id, _decode_record(entry, kept), _decode_record(repeat, record))
        return repeat, record

    async def _list_other_edits(self, entry: Entry) -> Sequence[PastEdit]:
        """Return the other edits that may have changed the order of cells around an edit's own."""
        related = await self.ledger.list_related(entry.path, entry.edit_id, _decode_order)
        return [PastEdit(*row) for row in related if row[0] != entry.edit_id]

    async def _select_entry(self, request: UndoRequest, before: int | None) -> tuple[Entry, bytes]:
        """Find what is to be taken back."""
        path, edit_id = request.path, request.edit_id
        if edit_id is None:
            edit_id = await self.ledger.find_next_undoable(path, undone=request.redo, before=before)
        if edit_id is None:
            done = "was taken back" if request.redo else "could be taken back"
            message = f"The ledger has no edit of this notebook that {done}. Look at its history."
            raise NothingToUndo(message)
        entry, kept = await self.ledger.get_entry(path, edit_id)
        if request.redo and entry.kind != "undo":
            if entry.undone_by is None:
                message = f"Edit {edit_id} was not taken back, so there is nothing to make again."
                raise NothingToUndo(message, edit_id=edit_id)
            entry, kept = await self.ledger.get_entry(path, entry.undone_by)
        if entry.kind == "undo" and not request.redo:
            message = (
                f"Edit {edit_id} took edit {entry.undoes} back. To make that one again, send this "
                "to `redo`."
            )
            raise NothingToUndo(message, edit_id=edit_id)
        if entry.undone_by is not None:
            message = (
                f"Edit {entry.edit_id} is taken back already, by edit {entry.undone_by}. Take that "
                "one back to make it again."
            )
            raise NothingToUndo(message, edit_id=entry.edit_id, undone_by=entry.undone_by)
        if entry.kind == "create":
            message = (
                f"Edit {edit_id} made the notebook. If you do not want it, delete it through "
                "Jupyter's Contents API."
            )
            raise NothingToUndo(message, edit_id=edit_id)
        if kept is None:
            message = f"The ledger does not keep what edit {edit_id} changed."
            raise EditNotFound(message, edit_id=edit_id)
        return entry, kept


def _return_applied(applied: EditPlan) -> EditPlan:
    return applied


def _check_moves(edit_id: int, first: UndoRecord, repeat: UndoRecord) -> None:
    """Check that all cells that an edit moved were moved when it was made again.

    Raises
    ------
    UndoConflict
        If one stood at its place already: the two records then tell two places to put it back to.
    """
    again = {part.cell_id for part in repeat.parts}
    left = [part.cell_id for part in first.parts if part.is_moved and part.cell_id not in again]
    if left:
        message = (
            f"Edit {edit_id} was undone and made again, and did not move the cell {left[0]!r} "
            "again, as it had at first: where the cell belongs without the edit is not certain. "
            "Nothing was written. Move the cell by an edit of your own."
        )
        cells = [{"cell_id": name, "index": None, "why": "no_place"} for name in left]
        raise UndoConflict(message, cells=cells, metadata=[], edit_id=edit_id)


def _decode_order(text: bytes) -> UndoRecord | None:
    """Return what a record says of the order of cells; None if it cannot be read."""
    with suppress(ValueError):
        return UndoRecord.decode(text).drop_text()
    return None


def _plan_undo(
    read: LoadedNotebook, edit_id: int, entry: Entry, kept: bytes, others: Sequence[PastEdit]
) -> PlannedChange:
    op: Literal["undo", "redo"] = "redo" if entry.kind == "undo" else "undo"

    def run() -> EditPlan:
        exact = read.hash == entry.hash
        record = _decode_record(entry, kept)
        edits = [*others, PastEdit(entry.edit_id, entry.undoes, record)]
        past = KnownHistory(sorted(edits, key=lambda edit: edit.number))
        try:
            return revert(read.document, record, op=op, is_exact=exact, history=past)
        except UndoConflict as conflict:
            conflict.details["edit_id"] = edit_id
            raise

    return PlannedChange(
        run,
        weight=len(read.content.data) + len(kept) + _EDIT_WEIGHT * len(others),
        kind=op,
        undoes=edit_id,
        # What comes back was in the notebook before the edit, and is worth no more than the
        # notebook was then.
        may_sign=entry.trusted,
    )


def _decode_record(entry: Entry, kept: bytes) -> UndoRecord:
    try:
        return UndoRecord.decode(kept)
    except ValueError as error:
        message = f"What edit {entry.edit_id} changed cannot be taken back. {error}"
        raise LedgerError(message, edit_id=entry.edit_id) from None
