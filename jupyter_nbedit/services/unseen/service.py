"""What a user has not seen: the net change of each cell since the last Keep; keep and undo them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from logging import Logger

import msgspec

from jupyter_nbedit.errors import CellChanged, ChangeNotFound, HistoryUnavailable, NbEditError
from jupyter_nbedit.notebook.undo.net_change import (
    NetChange,
    PastChange,
    add_undone_parts,
    compute_net_change,
)
from jupyter_nbedit.notebook.undo.record import UndonePart
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.edits.undo import describe_undone
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.events.models import UnseenEvent
from jupyter_nbedit.services.history.models import EditOrigin, Entry, SeenParts, build_cell_diffs
from jupyter_nbedit.services.history.seen_parts import EDIT_WEIGHT, list_seen_parts
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import LoadedNotebook, load_notebook, repeat_while_changed
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.services.unseen.models import UnseenCell, UnseenNotebooks, UnseenReply
from jupyter_nbedit.services.unseen.store import SeenEdits, SeenEditStore
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.system.lru import LRUCache

#: The most edits whose net change is computed; older ones count as seen.
MAX_EDITS = 200
# The most bytes of the undo records of these edits, which are in memory together.
_MAX_BYTES = 64 << 20
# How often changes are compared again; what is revealed then is only shown as moved.
_MAX_ROUNDS = 8
# How many replies are kept, and how many cells they have together.
_MAX_CACHED_CELLS = 2_000


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


@dataclass
class UnseenService:
    """Shows, keeps and undoes what a user has not seen.

    A user is the account of a request. Methods raise an `NbEditError` if that is not possible.
    """

    edits: EditService
    history: EditStore
    seen: SeenEditStore
    events: EventEmitter
    log: Logger
    _cache: LRUCache[tuple[object, ...], UnseenReply] = field(
        default_factory=lambda: LRUCache(_MAX_CACHED_CELLS, lambda reply: len(reply.cells) + 1)
    )

    async def get(self, path: str, account: str) -> UnseenReply:
        """Return the net change of each cell that the user has not seen."""
        state = await self._load(path, account)
        reply = await self._build_reply(state, account)
        has_others = any(not entry.is_by(account) for entry in state.entries)
        if not reply.cells and has_others and not reply.truncated:
            # The edits have no effect any more, and need not be compared again.
            try:
                await self.seen.mark_all(path, account, state.newest_edit)
            except HistoryUnavailable as error:
                # The database can be read, so the user can go on; the next request tries again.
                self.log.info("What was seen of %r is not stored: %s", path, error.message)
            else:
                self.events.emit(UnseenEvent(path=path))
        return reply

    async def list_notebooks(self, account: str) -> UnseenNotebooks:
        """List the notebooks that can be read and have edits that the user has not seen."""
        notebooks = await self.seen.list_notebooks(account)
        readable = await self.edits.storages.list_readable([each.path for each in notebooks])
        return UnseenNotebooks(notebooks=[each for each in notebooks if each.path in readable])

    async def keep(
        self, path: str, account: str, keys: Sequence[str] | None, until: int | None
    ) -> UnseenReply:
        """Mark changes as seen, all without ``keys``; but no edits newer than ``until``.

        Return what is left. Raise `ChangeNotFound` if there is no change with one of the keys.
        """
        state = await self._load(path, account)
        last_edit = state.newest_edit if until is None else min(until, state.newest_edit)
        if keys is None:
            await self.seen.mark_all(path, account, last_edit)
        else:
            net = await run_in_thread_if_large(state.weight, state.compute_net_change, account)
            sources = [
                source
                for cell in _choose_cells(net, keys).values()
                for source in cell.sources
                if source[0] <= last_edit
            ]
            await self.seen.mark_parts(path, account, await _build_marks(state.entries, sources))
            try:
                await self.mark_revealed(path, account, net, last_edit)
            except NbEditError as error:
                # The keep is stored; what is revealed is only shown as moved.
                self.log.info("Not all is marked as seen in %r: %s", path, error.message)
        self.events.emit(UnseenEvent(path=path))
        return await self.get(path, account)

    async def undo(
        self, request: WriteRequest, keys: Sequence[str], until: int | None
    ) -> EditReply:
        """Return cells to the last state that the user has kept, across edits, as one edit.

        Raise `ChangeNotFound` if there is no change with one of the keys, and `CellChanged` if an
        edit newer than ``until`` is one of its edits.
        """
        planner = NetUndoPlanner(self, request.path, request.author.account, keys, until)
        return await self.edits.run(request, planner, "undo")

    async def mark_revealed(self, path: str, account: str, net: NetChange, last_edit: int) -> None:
        """Mark changes as seen that had no effect before some of ``net`` were marked, and now have.

        If two cells have changed places and back, each of the two edits may have moved one of them.
        Without this, one cell would be shown as moved as soon as the changes of the other are kept.
        """
        shown = {source for cell in net.cells.values() for source in cell.sources}
        for _ in range(_MAX_ROUNDS):
            if not net.has_neutral_changes:
                return
            state = await self._load(path, account)
            net = await run_in_thread_if_large(state.weight, state.compute_net_change, account)
            revealed = [
                source
                for cell in net.cells.values()
                if shown.isdisjoint(cell.sources) and cell.sources[-1][0] <= last_edit
                for source in cell.sources
            ]
            if not revealed:
                return
            marks = await _build_marks(state.entries, revealed)
            await self.seen.mark_parts(path, account, marks)

    async def read_state(self, notebook: LoadedNotebook, account: str) -> UnseenState:
        """Return what the user has not seen of a notebook, which must be locked."""
        seen = await self.seen.read(notebook.path, account)
        entries, has_more = await self.history.list_newer(
            notebook.path, seen.last_edit, limit=MAX_EDITS, max_bytes=_MAX_BYTES
        )
        await notebook.compute_hash()
        return UnseenState(notebook, entries, seen, has_more)

    @repeat_while_changed
    async def _load(self, path: str, account: str) -> UnseenState:
        # Under the lock the history has all edits that are in the file.
        async with self.edits.storages.lock(path) as storage:
            notebook = await load_notebook(storage, path, self.edits.documents)
            if self.edits.outside_changes is not None:
                # Else a cell that another program has just changed would count as seen.
                await self.edits.outside_changes.record_unexamined_change(notebook)
            return await self.read_state(notebook, account)

    async def _build_reply(self, state: UnseenState, account: str) -> UnseenReply:
        notebook, seen = state.notebook, state.seen
        name = self.history.names.find(notebook.path)
        parts = tuple((edit_id, *sorted(seen.parts[edit_id])) for edit_id in sorted(seen.parts))
        key = (name, account, notebook.hash, state.newest_edit, seen.last_edit, parts)
        reply = self._cache.get(key)
        if reply is None:
            reply = await run_in_thread_if_large(state.weight, _compute_reply, state, account)
            self._cache.put(key, reply)
        return msgspec.structs.replace(reply, path=notebook.path)


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
            marks = await _build_marks(state.entries, sources)
            if edit_id is not None:
                marks.append(SeenParts(edit_id, range(part_count), part_count))
            await seen.mark_parts(self.path, self.account, marks)
            await self.service.mark_revealed(self.path, self.account, net, newest_edit)
        finally:
            events.emit(UnseenEvent(path=self.path))

    def _undo(self, state: UnseenState) -> PlannedEdit:
        net = state.compute_net_change(self.account)
        cells = _choose_cells(net, self.keys)
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


def _compute_reply(state: UnseenState, account: str) -> UnseenReply:
    net = state.compute_net_change(account)
    diffs = build_cell_diffs(net.record.parts)
    cells = [
        UnseenCell(
            **msgspec.structs.asdict(diffs[number]),
            key=_build_key(cell),
            edit_ids=list(dict.fromkeys(edit_id for edit_id, _ in cell.sources)),
            gap=net.record.get_gap_index(net.record.parts[number]),
        )
        for number, cell in net.cells.items()
    ]
    edit_ids = {edit_id for cell in cells for edit_id in cell.edit_ids}
    return UnseenReply(
        path=state.notebook.path,
        hash=state.notebook.hash,
        until=state.newest_edit,
        cells=cells,
        edits=[
            msgspec.convert(entry, EditOrigin, from_attributes=True)
            for entry in reversed(state.entries)
            if entry.edit_id in edit_ids
        ],
        truncated=state.is_truncated or not net.is_known,
    )


def _build_key(cell: UndonePart) -> str:
    """Return the name of a change in requests."""
    edit_id, number = cell.sources[0]
    return f"{edit_id}.{number}"


def _choose_cells(net: NetChange, keys: Iterable[str]) -> dict[int, UndonePart]:
    """Return the changes with some keys, by part; raise `ChangeNotFound` if one has none."""
    numbers = {_build_key(cell): number for number, cell in net.cells.items()}
    for key in keys:
        if key not in numbers:
            message = (
                f"There is no change {key[:50]!r} that you have not kept; it may have been kept or "
                "undone elsewhere, or a person has changed its cell since. `keys` has the changes "
                "that there are."
            )
            raise ChangeNotFound(message, keys=list(numbers))
    return {numbers[key]: net.cells[numbers[key]] for key in keys}


async def _build_marks(
    entries: Iterable[Entry], sources: Iterable[tuple[int, int]]
) -> list[SeenParts]:
    """Return the parts of edits to be marked as seen, with the number of all parts of each."""
    weight = sum(len(entry.record) + EDIT_WEIGHT for entry in entries)
    return await run_in_thread_if_large(weight, list_seen_parts, entries, sources)
