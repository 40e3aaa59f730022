"""Undo and redo: plan a change that reverts an edit of the history."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from jupyter_nbedit.errors import EditNotFound, HistoryUnavailable, NothingToUndo, UndoConflict
from jupyter_nbedit.notebook.edit_plan import Kind
from jupyter_nbedit.notebook.undo.known_history import KnownHistory, PastEdit
from jupyter_nbedit.notebook.undo.record import CellUndo, UndonePart, UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.history.models import UNDOABLE_KINDS, Entry, HistoryEdit, SeenParts
from jupyter_nbedit.services.history.store import (
    MAX_RELATED,
    EditStore,
    RelatedEdit,
    decode_order,
)
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.replies import UndoneEdit
from jupyter_nbedit.services.requests import Author
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

# How many edits in a row are skipped because they were undone by hand; each is computed.
_MAX_SKIPPED = 100
# How long the order of one edit of the history takes to compare, as bytes of a notebook to parse.
_EDIT_WEIGHT = 1_000


@dataclass(frozen=True)
class UndoPlanner:
    """Plans to undo or redo an edit; later changes of other cells stay.

    Without ``edit_id`` it is the newest edit of ``author`` that can be undone, or the newest undo
    by ``author`` that can be redone; with None as the author, the newest of all.
    """

    history: EditStore
    edit_id: int | None
    redo: bool
    author: Author | None

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the undo. The edit is selected under the lock: two requests at once undo two edits.

        Raise `EditNotFound` if the history does not have the edit; `NothingToUndo` if no edit can
        be undone, or the edit is undone already or has created the notebook; `UndoConflict` if a
        cell that the edit changed was changed again since.
        """
        path, before = notebook.path, None
        for _ in range(_MAX_SKIPPED):
            entry = await self._select_entry(path, before)
            repeat = await self._find_last_redo(notebook, entry)
            # A notebook that is as the edit left it needs no history to find the cells.
            is_exact = notebook.hash == repeat.hash
            related = [] if is_exact else await self._list_related(repeat)
            weight = len(notebook.content.data) + len(repeat.record) + _EDIT_WEIGHT * len(related)
            planned = await run_in_thread_if_large(
                weight, self._revert, notebook, entry, repeat, related
            )
            original = await self._find_original(entry)
            planned = replace(planned, undone=[describe_undone(original)])
            if planned.plan.splices or self.edit_id is not None:
                return planned
            # The edit was undone by hand; try the edit before it.
            before = entry.edit_id
        raise NothingToUndo(
            f"The last {_MAX_SKIPPED} edits of this notebook were undone by a person; older edits "
            "were not checked. Choose an older one from its history and send its `edit_id`."
        )

    @property
    def _kinds(self) -> Collection[Kind]:
        return ["undo"] if self.redo else UNDOABLE_KINDS

    def _revert(
        self, notebook: LoadedNotebook, entry: Entry, repeat: Entry, related: Sequence[RelatedEdit]
    ) -> PlannedEdit:
        """Plan to revert an edit; if it was redone, plan to revert its last redo.

        ``related`` are the edits of `EditStore.list_related`; empty if they are not needed.
        """
        op: Literal["undo", "redo"] = "redo" if entry.kind == "undo" else "undo"
        record = _decode_record(repeat)
        # The history finds the edit by the object of its record.
        # One record at a time is in memory with its texts.
        edits = [
            PastEdit(number, undoes, None if encoded is None else decode_order(encoded))
            for number, undoes, encoded in related
            if number != repeat.edit_id
        ]
        edits.append(PastEdit(repeat.edit_id, repeat.undoes, record))
        known_history = KnownHistory(sorted(edits, key=lambda edit: edit.number))
        is_exact = notebook.hash == repeat.hash
        try:
            plan = revert(
                notebook.document, record, op=op, is_exact=is_exact, history=known_history
            )
        except UndoConflict as conflict:
            conflict.details["edit_id"] = entry.edit_id
            raise
        plan = replace(
            plan,
            undone_parts=[
                _build_undone_part((repeat.edit_id, number), record.parts[number], index)
                for number, index in plan.reverted_indexes.items()
            ],
        )
        count = 0 if op == "redo" else len(_decode_record(entry).parts)
        return PlannedEdit.from_plan(
            notebook,
            plan,
            kind=op,
            undoes=entry.edit_id,
            # The content that comes back is from before the edit; it is trusted if the notebook
            # was.
            may_sign=repeat.trusted,
            reversed_parts=[SeenParts(entry.edit_id, range(count), count)] if count else (),
        )

    async def _build_nothing_error(self, path: str) -> NothingToUndo:
        """Return the error if there is no edit to choose; it names the newest edit of others."""
        verb, condition = ("redo", "was undone") if self.redo else ("undo", "can be undone")
        number = None
        if self.author is not None:
            number = await self.history.find_next_undoable(path, self._kinds)
        if number is None:
            return NothingToUndo(
                f"The history of this notebook has no edit that {condition}. GET its `history` for "
                "the edits it has."
            )
        entry = await self.history.get_entry(path, number)
        message = (
            f"The history of this notebook has no edit of yours that {condition}. The newest one "
            f"that can be is edit {number}, {self._describe_author(entry)}. To {verb} it, send its "
            "number (`edit_id`)."
        )
        return NothingToUndo(message, newest=msgspec.to_builtins(describe_undone(entry)))

    def _describe_author(self, entry: Entry) -> str:
        """Return who made an edit, and how that differs from who asks."""
        if entry.is_from_page:
            return f"by user {entry.user!r} in JupyterLab"
        client = "a client without a name" if entry.client is None else repr(entry.client)
        if self.author is not None and entry.user != self.author.user:
            return f"by {client} of user {entry.user!r}"
        is_same_client = self.author is not None and entry.client in self.author.client_names
        return f"by {client} in another session" if is_same_client else f"by {client}"

    async def _list_related(self, entry: Entry) -> Sequence[RelatedEdit]:
        """Return the edits with which an edit is compared; raise `NothingToUndo` if too many."""
        related = await self.history.list_related(entry.path, entry.edit_id)
        if related is None:
            message = (
                f"Edit {entry.edit_id} is too old to be undone: more than {MAX_RELATED:,} later "
                "edits of this notebook, or too many bytes of them, would have to be compared. "
                "Undo later edits first, or change the cells by an edit of your own."
            )
            raise NothingToUndo(message, edit_id=entry.edit_id)
        return related

    async def _find_original(self, entry: Entry) -> Entry:
        """Return the edit that an undo or redo is about; for an undo, the edit it has undone."""
        if entry.kind == "undo" and entry.undoes is not None:
            with suppress(EditNotFound):
                return await self.history.get_entry(entry.path, entry.undoes)
        return entry

    async def _find_last_redo(self, notebook: LoadedNotebook, entry: Entry) -> Entry:
        """Return the last redo of an edit; the edit itself if there is none.

        At the time of the redo, the notebook and the order of its cells may have been different.
        """
        number = await self.history.find_last_redo(entry.path, entry.edit_id)
        if number == entry.edit_id:
            return entry
        repeat = await self.history.get_entry(entry.path, number)
        if not repeat.record:
            return entry
        if notebook.hash != repeat.hash:
            _check_moves(entry.edit_id, _decode_record(entry), _decode_record(repeat))
        return repeat

    async def _select_entry(self, path: str, before: int | None) -> Entry:
        """Return the edit to undo, with its record."""
        edit_id = self.edit_id
        if edit_id is None:
            edit_id = await self.history.find_next_undoable(
                path, self._kinds, before=before, author=self.author
            )
        if edit_id is None:
            raise await self._build_nothing_error(path)
        entry = await self.history.get_entry(path, edit_id)
        if self.redo and entry.kind != "undo":
            if entry.undone_by is None:
                message = f"Edit {edit_id} was not undone, so there is nothing to redo."
                raise NothingToUndo(message, edit_id=edit_id)
            entry = await self.history.get_entry(path, entry.undone_by)
        if entry.kind == "undo" and not self.redo:
            message = (
                f"Edit {edit_id} has undone edit {entry.undoes}. To redo edit {entry.undoes}, send "
                f"edit {edit_id} to `redo`."
            )
            raise NothingToUndo(message, edit_id=edit_id)
        if entry.undone_by is not None:
            advice = (
                f"undo edit {entry.undone_by}" if self.redo else f"send edit {edit_id} to `redo`"
            )
            message = (
                f"Edit {entry.edit_id} is already undone, by edit {entry.undone_by}. To redo it, "
                f"{advice}."
            )
            raise NothingToUndo(message, edit_id=entry.edit_id, undone_by=entry.undone_by)
        if entry.kind == "create":
            message = (
                f"Edit {edit_id} created the notebook. If you do not want it, delete it through "
                "Jupyter's Contents API."
            )
            raise NothingToUndo(message, edit_id=edit_id)
        if not entry.record:
            message = f"The history has no undo record of edit {edit_id}."
            if entry.kind == "outside":
                message = (
                    f"Edit {edit_id} was made by another program, and this server had not kept "
                    "the version before, or it was too large. Change the notebook by an edit of "
                    "your own."
                )
            raise EditNotFound(message, edit_id=edit_id)
        return entry


def describe_undone(edit: HistoryEdit) -> UndoneEdit:
    """Return what the reply says about an edit that is undone or redone."""
    return msgspec.convert(edit, UndoneEdit, from_attributes=True)


def _build_undone_part(source: tuple[int, int], part: CellUndo, index: int | None) -> UndonePart:
    """Return what an undo records of an undone part; ``index`` is the cell's index afterwards."""
    return UndonePart(index, [source], source if part.index is None else None)


def _check_moves(edit_id: int, first: UndoRecord, repeat: UndoRecord) -> None:
    """Check that the redo moved all cells that the edit had moved.

    Otherwise a cell was already in its place, and the two records name two places to move it to.
    """
    repeated_ids = {part.cell_id for part in repeat.parts}
    unmoved_ids = [
        part.cell_id for part in first.parts if part.is_moved and part.cell_id not in repeated_ids
    ]
    if unmoved_ids:
        message = (
            f"Edit {edit_id} was undone and redone, and the redo did not move the cell "
            f"{unmoved_ids[0]!r}, as the edit had: the position of the cell without the edit is "
            "not certain. Nothing was written. Move the cell by an edit of your own."
        )
        cells = [{"cell_id": name, "index": None, "why": "no_place"} for name in unmoved_ids]
        raise UndoConflict(message, cells=cells, metadata=[], edit_id=edit_id)


def _decode_record(entry: Entry) -> UndoRecord:
    try:
        return UndoRecord.decode(entry.record)
    except ValueError as error:
        message = f"Edit {entry.edit_id} cannot be undone. {error}"
        raise HistoryUnavailable(message, edit_id=entry.edit_id) from None
