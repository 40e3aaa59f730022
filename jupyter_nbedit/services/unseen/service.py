"""What a user has not seen: the net change of each cell since the last Keep; keep and undo them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from logging import Logger
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import (
    CellChanged,
    ChangedDuringRead,
    ChangeNotFound,
    EditNotFound,
    HistoryUnavailable,
    NbEditError,
    NothingToUndo,
    UndoConflict,
)
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.undo.net_change import (
    CellNetChange,
    NetChange,
    PastChange,
    compute_net_change,
    decode_record,
)
from jupyter_nbedit.notebook.undo.record import UndonePart
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.edits.undo import describe_undone
from jupyter_nbedit.services.history.models import (
    CellDiff,
    EditOrigin,
    Entry,
    SeenParts,
    build_cell_diffs,
)
from jupyter_nbedit.services.models import EditReply, WriteRequest
from jupyter_nbedit.services.reading.loading import LoadedNotebook, load_notebook
from jupyter_nbedit.services.unseen.store import SeenEdits, SeenEditStore, UnseenNotebook
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.system.lru import LRUCache

if TYPE_CHECKING:
    from jupyter_nbedit.services.events.emitters import EventEmitter
    from jupyter_nbedit.services.history.store import EditHistory

#: The most edits whose net change is computed; older ones count as seen.
MAX_EDITS = 200
# The most edits after the state that is restored.
_MAX_RESTORED = 1_000
# The most bytes of the undo records of these edits, which are in memory together.
_MAX_BYTES = 64 << 20
# How long it takes to revert an edit, as bytes of a notebook to parse.
_EDIT_WEIGHT = 20_000
_ATTEMPTS = 8
# How often changes are compared again; what is revealed then is only shown as moved.
_MAX_ROUNDS = 8
# How many replies are kept, and how many cells they have together.
_MAX_CACHED_CELLS = 2_000


class UnseenCell(CellDiff, frozen=True, kw_only=True):
    """The net change of one cell since the user's last Keep; ``index_before`` is that of then."""

    key: Annotated[
        str,
        Meta(
            description="Names the change in requests to keep and to undo it. It stays the same as "
            "long as the first of its edits does."
        ),
    ]
    edit_ids: Annotated[list[int], Meta(description="The edits that made it, oldest first.")]
    gap: Annotated[
        int | None,
        Meta(
            description="Of a deleted or moved cell: how many cells are now before the place where "
            "it was."
        ),
    ]


class UnseenReply(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a notebook that this user has not kept."""

    path: str
    hash: Annotated[str, Meta(description="The version of the notebook that this is about.")]
    until: Annotated[
        int, Meta(ge=0, description="The newest edit that was considered; 0 if there is none.")
    ]
    cells: Annotated[
        list[UnseenCell],
        Meta(description="In the order of the notebook; one of them may be its own metadata."),
    ]
    edits: Annotated[list[EditOrigin], Meta(description="The edits of `cells`, oldest first.")]
    truncated: Annotated[
        bool,
        Meta(
            description="Whether there are more edits than are compared; older ones are left out."
        ),
    ]


class RestoreReply(EditReply, frozen=True, kw_only=True):
    """The result of a restore, with the cells that it changes."""

    parts: Annotated[
        list[CellDiff],
        Meta(description="The cells before and after it, in the order of the notebook."),
    ]


class UnseenNotebooks(msgspec.Struct, frozen=True, kw_only=True):
    """The notebooks with edits that this user has not kept."""

    notebooks: list[UnseenNotebook]


@dataclass(frozen=True)
class _UnseenState:
    """A notebook, and the edits of it that a user has not seen completely, newest first."""

    notebook: LoadedNotebook
    entries: Sequence[Entry]
    seen: SeenEdits
    is_truncated: bool

    @property
    def newest_edit(self) -> int:
        return self.entries[0].edit_id if self.entries else self.seen.last_edit

    @property
    def weight(self) -> int:
        """How long it takes to compute the net change, as bytes of a notebook to parse."""
        records = sum(len(entry.record) + _EDIT_WEIGHT for entry in self.entries)
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
        # An undo and what it undoes count together.
        paired_ids = {
            edit_id
            for change in changes
            if change.undoes
            for edit_id in (change.edit_id, change.undoes)
        }
        while changes and changes[-1].is_seen and changes[-1].edit_id not in paired_ids:
            changes.pop()
        return compute_net_change(self.notebook.document, self.notebook.hash, changes)

    def compute_restored(self) -> NetChange:
        """Compute what all edits did together, whoever has seen them."""
        changes = [
            PastChange(
                edit_id=entry.edit_id,
                hash_before=entry.hash_before,
                hash=entry.hash,
                record=entry.record,
            )
            for entry in self.entries
        ]
        return compute_net_change(self.notebook.document, self.notebook.hash, changes)


@dataclass
class UnseenService:
    """Shows, keeps and undoes what a user has not seen, and restores earlier states.

    A user is the account of a request. Methods raise an `NbEditError` if that is not possible.
    """

    edits: EditService
    history: EditHistory
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
            # Nothing is left of the edits, so that they need not be compared again.
            await self._mark_all(path, account, state.newest_edit)
        return reply

    async def list_notebooks(self, account: str) -> UnseenNotebooks:
        """List the notebooks that can be read and have edits that the user has not seen."""
        notebooks = await self.seen.list_notebooks(account)
        return UnseenNotebooks(
            notebooks=[each for each in notebooks if await self._is_readable(each.path)]
        )

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
                for cell in _choose_cells(net, keys)
                for source in cell.sources
                if source[0] <= last_edit
            ]
            await self.seen.mark_parts(path, account, await _build_marks(state.entries, sources))
            try:
                await self.mark_revealed(path, account, net, last_edit)
            except NbEditError as error:
                # The keep is stored; what is revealed is only shown as moved.
                self.log.info("Not all is marked as seen in %r: %s", path, error.message)
        self.events.emit_seen(path=path)
        return await self.get(path, account)

    async def undo(
        self, request: WriteRequest, keys: Sequence[str], until: int | None
    ) -> EditReply:
        """Return cells to the last state that the user has kept, across edits, as one edit.

        Raise `ChangeNotFound` if there is no change with one of the keys, and `CellChanged` if an
        edit newer than ``until`` is one of its edits.
        """
        planner = NetUndoPlanner(self, request.path, request.author.account, keys, until)
        reply = await self.edits.run(request, planner, "undo")
        # There may be nothing to write, such as when equal cells were exchanged.
        if not request.dry_run and reply.proposal_id is msgspec.UNSET:
            try:
                await planner.mark_seen(reply.edit_id)
            except NbEditError as error:
                # The notebook may also be locked, or changed, again.
                reply.warnings.append(
                    f"The undo is done, but what you have seen is not stored. {error.message}"
                )
            self.events.emit_seen(path=request.path)
        return reply

    async def restore(self, request: WriteRequest, edit_id: int) -> RestoreReply:
        """Return a notebook to what it was after an edit, as one edit.

        Raise `EditNotFound` if the history does not have the edit, or not all that is needed;
        `UndoConflict` if a later change that is not in the history is in the way.
        """
        planner = RestorePlanner(self.history, edit_id)
        reply = await self.edits.run(request, planner, "restore")
        fields = {name: getattr(reply, name) for name in EditReply.__struct_fields__}
        return RestoreReply(**fields, parts=planner.parts)

    async def mark_revealed(self, path: str, account: str, net: NetChange, last_edit: int) -> None:
        """Mark changes as seen that had no effect before some of ``net`` were marked, and now have.

        If two cells have changed places and back, each of the two edits may have moved one of them.
        Then one of them would be shown as moved as soon as the changes of the other are kept.
        """
        shown = {source for cell in net.cells for source in cell.sources}
        for _ in range(_MAX_ROUNDS):
            if not net.has_neutral_changes:
                return
            state = await self._load(path, account)
            net = await run_in_thread_if_large(state.weight, state.compute_net_change, account)
            revealed = [
                source
                for cell in net.cells
                if shown.isdisjoint(cell.sources) and cell.sources[-1][0] <= last_edit
                for source in cell.sources
            ]
            if not revealed:
                return
            marks = await _build_marks(state.entries, revealed)
            await self.seen.mark_parts(path, account, marks)

    async def read_state(self, notebook: LoadedNotebook, account: str) -> _UnseenState:
        """Return what the user has not seen of a notebook, which must be locked."""
        seen = await self.seen.read(notebook.path, account)
        entries, has_more = await self.history.list_newer(
            notebook.path, seen.last_edit, limit=MAX_EDITS, max_bytes=_MAX_BYTES
        )
        await notebook.compute_hash()
        return _UnseenState(notebook, entries, seen, has_more)

    async def _load(self, path: str, account: str) -> _UnseenState:
        # Under the lock the history has all edits that are in the file.
        async with self.edits.storages.lock(path) as storage:
            for attempt in range(_ATTEMPTS):
                try:
                    notebook = await load_notebook(storage, path, self.edits.documents)
                    if self.edits.outside_changes is not None:
                        # Else a cell that another program has just changed would count as seen.
                        await self.edits.outside_changes.catch_up(notebook)
                    return await self.read_state(notebook, account)
                except ChangedDuringRead:
                    if attempt == _ATTEMPTS - 1:
                        raise
            raise AssertionError

    async def _build_reply(self, state: _UnseenState, account: str) -> UnseenReply:
        notebook, seen = state.notebook, state.seen
        name = self.history.names.find(notebook.path)
        parts = tuple((edit_id, *sorted(seen.parts[edit_id])) for edit_id in sorted(seen.parts))
        key = (name, account, notebook.hash, state.newest_edit, seen.last_edit, parts)
        reply = self._cache.get(key)
        if reply is None:
            reply = await run_in_thread_if_large(state.weight, _compute_reply, state, account)
            self._cache.put(key, reply)
        return msgspec.structs.replace(reply, path=notebook.path)

    async def _mark_all(self, path: str, account: str, edit_id: int) -> None:
        try:
            await self.seen.mark_all(path, account, edit_id)
        except HistoryUnavailable as error:
            # The database can be read, so the user can go on; the next request tries again.
            self.log.info("What was seen of %r is not stored: %s", path, error.message)
            return
        self.events.emit_seen(path=path)

    async def _is_readable(self, path: str) -> bool:
        try:
            await self.edits.storages.check(path)
        except NbEditError:
            return False
        return True


@dataclass
class NetUndoPlanner:
    """Plans to undo net changes, by their keys, in the notebook as it is while it is locked."""

    service: UnseenService
    path: str
    account: str
    keys: Sequence[str]
    until: int | None
    _entries: Sequence[Entry] = ()
    _net: NetChange | None = None
    _cells: Sequence[CellNetChange] = ()
    _part_count: int = 0

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the undo."""
        state = await self.service.read_state(notebook, self.account)
        return await run_in_thread_if_large(state.weight, self._undo, state)

    async def mark_seen(self, edit_id: int | None) -> None:
        """Store that the user has seen what is undone, and the undo, if it has a number."""
        net, seen = self._net, self.service.seen
        newest_edit = self._entries[0].edit_id if edit_id is None else edit_id
        if net is None or len(self._cells) == len(net.cells):
            # The notebook is as it was seen last.
            await seen.mark_all(self.path, self.account, newest_edit)
            return
        sources = [source for cell in self._cells for source in cell.sources]
        marks = await _build_marks(self._entries, sources)
        if edit_id is not None:
            marks.append(SeenParts(edit_id, range(self._part_count), self._part_count))
        await seen.mark_parts(self.path, self.account, marks)
        await self.service.mark_revealed(self.path, self.account, net, newest_edit)

    def _undo(self, state: _UnseenState) -> PlannedEdit:
        net = state.compute_net_change(self.account)
        cells = _choose_cells(net, self.keys)
        self._entries, self._net, self._cells = state.entries, net, cells
        edit_ids = {edit_id for cell in cells for edit_id, _ in cell.sources}
        if self.until is not None and max(edit_ids) > self.until:
            message = (
                f"A cell was changed again, by edit {max(edit_ids)}, after the edit {self.until} "
                "that you know. Nothing was written. GET the `unseen` changes again and look at "
                "them."
            )
            raise CellChanged(message, until=self.until, edit_ids=sorted(edit_ids))
        numbers = {cell.number for cell in cells}
        is_whole = len(numbers) == len(net.record.parts)
        plan = revert(
            state.notebook.document,
            net.record,
            op="undo",
            is_exact=True,
            part_numbers=None if is_whole else numbers,
        )
        plan = _name_undone_parts(plan, cells)
        self._part_count = len(plan.changes) + plan.changes_metadata
        trusted = {entry.edit_id: entry.trusted for entry in state.entries}
        may_sign = all(trusted[edit_id] for edit_id in edit_ids)
        undone = [
            describe_undone(entry) for entry in reversed(state.entries) if entry.edit_id in edit_ids
        ]
        planned = PlannedEdit.from_plan(state.notebook, plan, kind="undo_cells", may_sign=may_sign)
        sources = [source for cell in cells for source in cell.sources]
        return replace(planned, undone=undone, reversed_parts=_list_parts(state.entries, sources))


@dataclass
class RestorePlanner:
    """Plans to return a notebook to what it was after an edit."""

    history: EditHistory
    edit_id: int
    #: What the plan does to cells, once it is made.
    parts: list[CellDiff] = field(default_factory=list)

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the change, for the edits that are in the history while the notebook is locked."""
        # Raises an error if there is no such edit.
        await self.history.get_entry(notebook.path, self.edit_id)
        entries, has_more = await self.history.list_newer(
            notebook.path, self.edit_id, limit=_MAX_RESTORED, max_bytes=_MAX_BYTES
        )
        if has_more:
            message = (
                f"There are more than {len(entries)} edits after edit {self.edit_id}, which is too "
                "much for one step. Restore the state after a newer edit first."
            )
            raise NothingToUndo(message, edit_id=self.edit_id)
        await notebook.compute_hash()
        state = _UnseenState(notebook, entries, SeenEdits(), is_truncated=False)
        return await run_in_thread_if_large(state.weight, self._restore, state)

    def _restore(self, state: _UnseenState) -> PlannedEdit:
        for entry in state.entries:
            if not entry.record:
                message = (
                    f"The history has no undo record of edit {entry.edit_id}, so the state after "
                    f"edit {self.edit_id} is not known. Nothing was written; restore the state "
                    "after a newer edit."
                )
                raise EditNotFound(message, edit_id=entry.edit_id)
        net = state.compute_restored()
        is_complete = not state.entries or net.oldest_edit == state.entries[-1].edit_id
        if net.conflicts or not net.is_known or not is_complete:
            raise _build_restore_conflict(self.edit_id, net)
        plan = revert(state.notebook.document, net.record, op="restore", is_exact=True)
        plan = _name_undone_parts(plan, net.cells)
        self.parts = build_cell_diffs(plan.build_record().parts)
        may_sign = all(entry.trusted for entry in state.entries)
        planned = PlannedEdit.from_plan(state.notebook, plan, kind="restore", may_sign=may_sign)
        sources = [source for cell in net.cells for source in cell.sources]
        return replace(planned, reversed_parts=_list_parts(state.entries, sources))


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


def _name_undone_parts(plan: EditPlan, cells: Iterable[CellNetChange]) -> EditPlan:
    """Return a plan with what it undoes of the edits in the history."""
    undone_parts = [
        UndonePart(plan.reverted_indexes[cell.number], [*cell.sources], cell.deleted_by)
        for cell in cells
    ]
    return replace(plan, undone_parts=undone_parts)


def _build_key(cell: CellNetChange) -> str:
    edit_id, number = cell.sources[0]
    return f"{edit_id}.{number}"


def _choose_cells(net: NetChange, keys: Iterable[str]) -> list[CellNetChange]:
    """Return the changes with some keys; raise `ChangeNotFound` if there is none with one."""
    cells = {_build_key(cell): cell for cell in net.cells}
    for key in keys:
        if key not in cells:
            message = (
                f"There is no change {key[:50]!r} that you have not kept; it may have been kept or "
                "undone elsewhere, or a person has changed its cell since. `keys` has the changes "
                "that there are."
            )
            raise ChangeNotFound(message, keys=list(cells))
    return [cells[key] for key in dict.fromkeys(keys)]


async def _build_marks(
    entries: Iterable[Entry], sources: Iterable[tuple[int, int]]
) -> list[SeenParts]:
    """Return the parts of edits to be marked as seen, with the number of all parts of each."""
    weight = sum(len(entry.record) + _EDIT_WEIGHT for entry in entries)
    return await run_in_thread_if_large(weight, _list_parts, entries, sources)


def _list_parts(entries: Iterable[Entry], sources: Iterable[tuple[int, int]]) -> list[SeenParts]:
    numbers: dict[int, set[int]] = defaultdict(set)
    for edit_id, number in sources:
        numbers[edit_id].add(number)
    return [
        SeenParts(entry.edit_id, sorted(numbers[entry.edit_id]), len(record.parts))
        for entry in entries
        if entry.edit_id in numbers and (record := decode_record(entry.record)) is not None
    ]


def _compute_reply(state: _UnseenState, account: str) -> UnseenReply:
    net = state.compute_net_change(account)
    diffs = build_cell_diffs(net.record.parts)
    cells = [
        UnseenCell(
            **{name: getattr(diffs[cell.number], name) for name in CellDiff.__struct_fields__},
            key=_build_key(cell),
            edit_ids=list(dict.fromkeys(edit_id for edit_id, _ in cell.sources)),
            gap=cell.gap,
        )
        for cell in net.cells
    ]
    return UnseenReply(
        path=state.notebook.path,
        hash=state.notebook.hash,
        until=state.newest_edit,
        cells=cells,
        edits=_list_edits(state.entries, {number for cell in cells for number in cell.edit_ids}),
        truncated=state.is_truncated or not net.is_known,
    )


def _list_edits(entries: Sequence[Entry], numbers: Collection[int]) -> list[EditOrigin]:
    return [
        EditOrigin(**{name: getattr(entry, name) for name in EditOrigin.__struct_fields__})
        for entry in reversed(entries)
        if entry.edit_id in numbers
    ]
