"""Restore: return a notebook to what it was after an edit, as one edit."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import EditNotFound, NothingToUndo, UndoConflict
from jupyter_nbedit.notebook.undo.net_change import (
    NetChange,
    PastChange,
    add_undone_parts,
    compute_net_change,
)
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.services.edits.planned_edit import EditResult, PlannedEdit
from jupyter_nbedit.services.history.models import CellDiff, Entry, build_cell_diffs
from jupyter_nbedit.services.history.seen_parts import EDIT_WEIGHT, list_seen_parts
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.base import Storage
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

# The most edits after the state that is restored.
_MAX_EDITS = 1_000
# The most bytes of the undo records of these edits, which are in memory together.
_MAX_BYTES = 64 << 20


class RestoreReply(EditReply, frozen=True, kw_only=True):
    """The result of a restore, with the cells that it changes."""

    parts: Annotated[
        list[CellDiff],
        Meta(description="The cells before and after it, in the order of the notebook."),
    ]


@dataclass(frozen=True)
class PlannedRestore(PlannedEdit):
    """A restore, computed and not written yet; ``parts`` are the cells that it changes."""

    _: KW_ONLY
    parts: Sequence[CellDiff]

    def build_reply(
        self, request: WriteRequest, storage: Storage, result: EditResult
    ) -> RestoreReply:
        """Return the reply; see `PlannedEdit.build_reply`."""
        reply = super().build_reply(request, storage, result)
        return RestoreReply(**msgspec.structs.asdict(reply), parts=list(self.parts))


@dataclass(frozen=True)
class RestorePlanner:
    """Plans to return a notebook to what it was after an edit."""

    history: EditStore
    edit_id: int

    async def plan(self, notebook: LoadedNotebook) -> PlannedRestore:
        """Plan the change, for the edits that are in the history while the notebook is locked."""
        # Raises an error if there is no such edit.
        await self.history.get_entry(notebook.path, self.edit_id)
        entries, has_more = await self.history.list_newer(
            notebook.path, self.edit_id, limit=_MAX_EDITS, max_bytes=_MAX_BYTES
        )
        if has_more:
            message = (
                f"There are more than {len(entries)} edits after edit {self.edit_id}, which is too "
                "much for one step. Restore the state after a newer edit first."
            )
            raise NothingToUndo(message, edit_id=self.edit_id)
        await notebook.compute_hash()
        records = sum(len(entry.record) + EDIT_WEIGHT for entry in entries)
        weight = len(notebook.content.data) + records
        return await run_in_thread_if_large(weight, self._restore, notebook, entries)

    def _restore(self, notebook: LoadedNotebook, entries: Sequence[Entry]) -> PlannedRestore:
        """Plan the restore; ``entries`` are the newer edits, newest first."""
        for entry in entries:
            if not entry.record:
                message = (
                    f"The history has no undo record of edit {entry.edit_id}, so the state after "
                    f"edit {self.edit_id} is not known. Nothing was written; restore the state "
                    "after a newer edit."
                )
                raise EditNotFound(message, edit_id=entry.edit_id)
        changes = [
            PastChange(
                edit_id=entry.edit_id,
                hash_before=entry.hash_before,
                hash=entry.hash,
                record=entry.record,
            )
            for entry in entries
        ]
        net = compute_net_change(notebook.document, notebook.hash, changes)
        is_complete = not entries or net.oldest_edit == entries[-1].edit_id
        if net.conflicts or not net.is_known or not is_complete:
            raise _build_restore_conflict(self.edit_id, net)
        plan = revert(notebook.document, net.record, op="restore", is_exact=True)
        plan = add_undone_parts(plan, net.cells)
        sources = [source for cell in net.cells.values() for source in cell.sources]
        return PlannedRestore.from_plan(
            notebook,
            plan,
            kind="restore",
            may_sign=all(entry.trusted for entry in entries),
            reversed_parts=list_seen_parts(entries, sources),
            parts=build_cell_diffs(plan.build_record().parts),
        )


def _build_restore_conflict(edit_id: int, net: NetChange) -> UndoConflict:
    cells = [
        {"cell_id": part.cell_id, "index": None, "why": "changed", "edit_id": number}
        for number, part in net.conflicts
        if not part.is_notebook_metadata
    ]
    numbers = sorted({number for number, _ in net.conflicts})
    message = (
        f"The state after edit {edit_id} cannot be restored: what {_name_edits(numbers)} changed "
        "was changed again by somebody without this server. Nothing was written. Restore the state "
        "after a newer edit, or undo single edits by their number."
    )
    return UndoConflict(message, cells=cells, metadata=[], edit_id=edit_id)


def _name_edits(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"edit {numbers[0]}"
    return f"the edits {', '.join(map(str, numbers[:5]))}" if numbers else "a later edit"
