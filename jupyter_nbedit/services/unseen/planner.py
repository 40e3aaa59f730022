"""The net change of the edits that a user has not seen, and the plan that undoes parts of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from jupyter_nbedit.errors import CellChanged, ChangeNotFound
from jupyter_nbedit.notebook.undo.net_change import (
    NetChange,
    PastChange,
    add_undone_parts,
    compute_net_change,
)
from jupyter_nbedit.notebook.undo.record import UndonePart
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.edits.undo import describe_undone
from jupyter_nbedit.services.events.models import UnseenEvent
from jupyter_nbedit.services.history.models import Entry, SeenParts
from jupyter_nbedit.services.history.seen_parts import EDIT_WEIGHT, list_seen_parts
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.unseen.store import SeenEdits
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

if TYPE_CHECKING:
    from jupyter_nbedit.services.unseen.service import UnseenService


@dataclass(frozen=True)
class UnseenState:
    """A notebook, and the edits of it that a user has not seen completely, newest first."""

    notebook: LoadedNotebook
    entries: Sequence[Entry]
    seen: SeenEdits
    is_truncated: bool

    @property
    def newest_edit(self) -> int:
        """The newest edit, or the newest that was seen; 0 if there is none."""
        return self.entries[0].edit_id if self.entries else self.seen.last_edit

    @property
    def weight(self) -> int:
        """How long it takes to compute the net change, as bytes of a notebook to parse."""
        records = sum(len(entry.record) + EDIT_WEIGHT for entry in self.entries)
        return len(self.notebook.content.data) + records

    def compute_net_change(self, account: str) -> NetChange:
        """Compute the net change for a user."""
        changes = [
            PastChange(
                edit_id=entry.edit_id,
                undoes=entry.undoes,
                hash_before=entry.hash_before,
                hash=entry.hash,
                record=entry.record,
                is_own_cell_undo=entry.kind == "undo_cells" and entry.account == account,
                is_seen=entry.is_by(account) or entry.edit_id in self.seen.whole_edits,
                seen_parts=self.seen.parts.get(entry.edit_id, ()),
            )
            for entry in self.entries
        ]
        # An undo and the edit that it undoes count together.
        paired_ids = {
            edit_id
            for change in changes
            if change.undoes
            for edit_id in (change.edit_id, change.undoes)
        }
        while changes and changes[-1].is_seen and changes[-1].edit_id not in paired_ids:
            changes.pop()
        return compute_net_change(self.notebook.document, self.notebook.hash, changes)


@dataclass(frozen=True)
class NetUndoPlanner:
    """Plans to undo net changes, by their keys, in the notebook as it is while it is locked."""

    service: UnseenService
    path: str
    account: str
    keys: Sequence[str]
    until: int | None

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the undo."""
        state = await self.service.read_state(notebook, self.account)
        return await run_in_thread_if_large(state.weight, self._undo, state)

    async def _mark_seen(
        self,
        state: UnseenState,
        net: NetChange,
        cells: Mapping[int, UndonePart],
        part_count: int,
        edit_id: int | None,
    ) -> None:
        """Store that the user has seen the undone changes, and the undo if it has a number."""
        seen, events = self.service.seen, self.service.events
        newest_edit = state.entries[0].edit_id if edit_id is None else edit_id
        try:
            if len(cells) == len(net.cells):
                # The notebook is as it was seen last.
                await seen.mark_all(self.path, self.account, newest_edit)
                return
            sources = [source for cell in cells.values() for source in cell.sources]
            marks = await build_marks(state.entries, sources)
            if edit_id is not None:
                marks.append(SeenParts(edit_id, range(part_count), part_count))
            await seen.mark_parts(self.path, self.account, marks)
            await self.service.mark_revealed(self.path, self.account, net, newest_edit)
        finally:
            events.emit(UnseenEvent(path=self.path))

    def _undo(self, state: UnseenState) -> PlannedEdit:
        net = state.compute_net_change(self.account)
        cells = choose_cells(net, self.keys)
        edit_ids = {edit_id for cell in cells.values() for edit_id, _ in cell.sources}
        if self.until is not None and max(edit_ids) > self.until:
            message = (
                f"A cell was changed again, by edit {max(edit_ids)}, after the edit {self.until} "
                "that you know. Nothing was written. GET the `unseen` changes again and look at "
                "them."
            )
            raise CellChanged(message, until=self.until, edit_ids=sorted(edit_ids))
        is_whole = len(cells) == len(net.record.parts)
        plan = revert(
            state.notebook.document,
            net.record,
            op="undo",
            is_exact=True,
            part_numbers=None if is_whole else cells.keys(),
        )
        plan = add_undone_parts(plan, cells)
        part_count = len(plan.changes) + plan.changes_metadata
        trusted = {entry.edit_id: entry.trusted for entry in state.entries}
        may_sign = all(trusted[edit_id] for edit_id in edit_ids)
        undone = [
            describe_undone(entry) for entry in reversed(state.entries) if entry.edit_id in edit_ids
        ]
        sources = [source for cell in cells.values() for source in cell.sources]
        return PlannedEdit.from_plan(
            state.notebook,
            plan,
            kind="undo_cells",
            may_sign=may_sign,
            undone=undone,
            reversed_parts=list_seen_parts(state.entries, sources),
            # There may be nothing to write, such as when equal cells were exchanged.
            store_follow_up=partial(self._mark_seen, state, net, cells, part_count),
        )


def build_key(cell: UndonePart) -> str:
    """Return the name of a change in requests."""
    edit_id, number = cell.sources[0]
    return f"{edit_id}.{number}"


def choose_cells(net: NetChange, keys: Iterable[str]) -> dict[int, UndonePart]:
    """Return the changes with some keys, by part; raise `ChangeNotFound` if one has none."""
    numbers = {build_key(cell): number for number, cell in net.cells.items()}
    for key in keys:
        if key not in numbers:
            message = (
                f"There is no change {key[:50]!r} that you have not kept; it may have been kept or "
                "undone elsewhere, or a person has changed its cell since. `keys` has the changes "
                "that there are."
            )
            raise ChangeNotFound(message, keys=list(numbers))
    return {numbers[key]: net.cells[numbers[key]] for key in keys}


async def build_marks(
    entries: Iterable[Entry], sources: Iterable[tuple[int, int]]
) -> list[SeenParts]:
    """Return the parts of edits to be marked as seen, with the number of all parts of each."""
    weight = sum(len(entry.record) + EDIT_WEIGHT for entry in entries)
    return await run_in_thread_if_large(weight, list_seen_parts, entries, sources)
