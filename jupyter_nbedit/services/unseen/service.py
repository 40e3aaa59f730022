"""What a user has not seen: the net change of each cell since the last Keep; keep and undo them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from logging import Logger

import msgspec

from jupyter_nbedit.errors import HistoryUnavailable, NbEditError
from jupyter_nbedit.notebook.undo.net_change import NetChange
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.events.models import UnseenEvent
from jupyter_nbedit.services.history.models import EditOrigin, Entry, build_cell_diffs
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import (
    LoadedNotebook,
    load_notebook,
    repeat_while_changed,
)
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.services.unseen.models import UnseenCell, UnseenNotebooks, UnseenReply
from jupyter_nbedit.services.unseen.planner import (
    NetUndoPlanner,
    UnseenState,
    build_key,
    build_marks,
    choose_cells,
)
from jupyter_nbedit.services.unseen.store import SeenEditStore
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
            await self._mark_all(path, account, state.newest_edit)
        return reply

    async def list_notebooks(self, account: str) -> UnseenNotebooks:
        """List the notebooks that can be read and have edits that the user has not seen."""
        notebooks = await self.seen.list_notebooks(account)
        return UnseenNotebooks(
            notebooks=[
                each for each in notebooks if await self.edits.storages.is_readable(each.path)
            ]
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
                for cell in choose_cells(net, keys).values()
                for source in cell.sources
                if source[0] <= last_edit
            ]
            await self.seen.mark_parts(path, account, await build_marks(state.entries, sources))
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
            marks = await build_marks(state.entries, revealed)
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

    async def _mark_all(self, path: str, account: str, edit_id: int) -> None:
        try:
            await self.seen.mark_all(path, account, edit_id)
        except HistoryUnavailable as error:
            # The database can be read, so the user can go on; the next request tries again.
            self.log.info("What was seen of %r is not stored: %s", path, error.message)
            return
        self.events.emit(UnseenEvent(path=path))


def _compute_reply(state: UnseenState, account: str) -> UnseenReply:
    net = state.compute_net_change(account)
    diffs = build_cell_diffs(net.record.parts)
    cells = [
        UnseenCell(
            **msgspec.structs.asdict(diffs[number]),
            key=build_key(cell),
            edit_ids=list(dict.fromkeys(edit_id for edit_id, _ in cell.sources)),
            gap=net.record.get_gap_index(net.record.parts[number]),
        )
        for number, cell in net.cells.items()
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
        msgspec.convert(entry, EditOrigin, from_attributes=True)
        for entry in reversed(entries)
        if entry.edit_id in numbers
    ]
