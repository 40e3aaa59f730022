"""Queries of the edit history, limited to notebooks that can be read now."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from jupyter_nbedit.errors import HistoryUnavailable, NbEditError
from jupyter_nbedit.notebook.undo.net_change import decode_record
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import is_in_conflict
from jupyter_nbedit.services.history.models import (
    AllHistoryReply,
    DetailedEdit,
    Entry,
    HistoryEdit,
    HistoryReply,
    PurgeReply,
    build_cell_diffs,
)
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import DocumentCache, LoadedNotebook, load_notebook
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

# For one page of all notebooks, at most so many notebooks are checked and so many edits read; the
# page may have fewer edits for that reason.
_MAX_PATHS = 200
_MAX_EDITS = 2_000

# The last edits of agents: the largest number of agents, and of pages of the newest edits.
_MAX_AGENTS = 20
_MAX_PAGES = 5
_PAGE_SIZE = 200

# To find out whether later changes prevent an undo, so many of the newest edits are compared, with
# so many bytes of their records.
_MAX_COMPARED = 200
_MAX_COMPARED_BYTES = 8 << 20
# How long it takes to compare an edit, as bytes of a notebook to parse.
_EDIT_WEIGHT = 2_000


@dataclass(frozen=True)
class HistoryService:
    """Lists, shows and purges edits. Methods raise `NbEditError` for what cannot be read."""

    history: EditStore
    storages: StorageResolver
    documents: DocumentCache

    async def list_edits(self, path: str, *, limit: int, before: int | None) -> HistoryReply:
        """List the edits of a notebook."""
        await self.storages.check(path)
        page = await self.history.list_page(path, limit=limit + 1, before=before)
        edits = page[:limit]
        conflicts = await self._find_conflicts(path, edits)
        edits = [
            replace(edit, undoable=False) if edit.edit_id in conflicts else edit for edit in edits
        ]
        return HistoryReply(
            path=path, edits=edits, next=edits[-1].edit_id if len(page) > limit else None
        )

    async def list_all_edits(self, *, limit: int, before: int | None) -> AllHistoryReply:
        """List the edits of all notebooks that can be read."""
        paths: set[str] = set()
        edits: list[HistoryEdit] = []
        count = 0
        while True:
            page = await self.history.list_page(None, limit=limit + 1, before=before)
            readable = await self.storages.list_readable({edit.path for edit in page})
            for edit in page:
                if len(edits) == limit or len(paths) == _MAX_PATHS or count == _MAX_EDITS:
                    return AllHistoryReply(edits=edits, next=before)
                paths.add(edit.path)
                if edit.path in readable:
                    edits.append(edit)
                before = edit.edit_id
                count += 1
            if len(page) <= limit:
                return AllHistoryReply(edits=edits, next=None)

    async def list_last_edits_by_agent(self) -> list[HistoryEdit]:
        """List the newest edit of each agent, the newest first.

        An agent is known by the name that it states for itself; all clients without a name count as
        one agent. Notebooks that cannot be read now do not count.
        """
        edits: dict[str | None, HistoryEdit] = {}
        before: int | None = None
        for _ in range(_MAX_PAGES):
            page = await self.list_all_edits(limit=_PAGE_SIZE, before=before)
            for edit in page.edits:
                if edit.kind != "outside" and not edit.is_from_page:
                    edits.setdefault(edit.client, edit)
            before = page.next
            if before is None or len(edits) >= _MAX_AGENTS:
                break
        return list(edits.values())[:_MAX_AGENTS]

    async def get_edit(self, path: str, edit_id: int) -> DetailedEdit:
        """Return an edit of a notebook with the difference of each cell.

        Raise `EditNotFound` if the history of the notebook has no edit of that number.
        """
        await self.storages.check(path)
        entry = await self.history.get_entry(path, edit_id)
        try:
            parts = build_cell_diffs(UndoRecord.decode(entry.record).parts) if entry.record else []
        except ValueError:
            message = (
                "What this edit did cannot be read: its record is damaged. DELETE the notebook's "
                "`history` to begin a new one."
            )
            raise HistoryUnavailable(message, edit_id=edit_id) from None
        fields = {name: getattr(entry, name) for name in HistoryEdit.__struct_fields__}
        if edit_id in await self._find_conflicts(path, [entry]):
            fields["undoable"] = False
        return DetailedEdit(**fields, parts=parts)

    async def purge(self, path: str) -> PurgeReply:
        """Delete the edits of a notebook."""
        await self.storages.check(path)
        return PurgeReply(path=path, purged=await self.history.purge(path))

    async def _find_conflicts(self, path: str, edits: Sequence[HistoryEdit]) -> frozenset[int]:
        """Return the numbers of the edits whose undo is prevented by later changes.

        Edits that are too old to be compared are left out. Return none for an unreadable notebook.
        """
        candidates = [edit for edit in edits if edit.undoable]
        if not candidates:
            return frozenset()
        try:
            storage = await self.storages.resolve(path)
            notebook = await load_notebook(storage, path, self.documents)
            await notebook.compute_hash()
        except NbEditError:
            # The history can be read without its notebook.
            return frozenset()
        numbers = {edit.edit_id for edit in candidates if edit.hash != notebook.hash}
        if not numbers:
            return frozenset()
        entries, _ = await self.history.list_newer(
            path, min(numbers) - 1, limit=_MAX_COMPARED, max_bytes=_MAX_COMPARED_BYTES
        )
        compared = [entry for entry in entries if entry.edit_id in numbers]
        weight = len(notebook.content.data) + sum(
            len(entry.record) + _EDIT_WEIGHT for entry in compared
        )
        return await run_in_thread_if_large(weight, _compare, notebook, compared)


def _compare(notebook: LoadedNotebook, entries: Sequence[Entry]) -> frozenset[int]:
    conflicts: set[int] = set()
    for entry in entries:
        # One record at a time is in memory: decoded, it may be many times as large.
        record = decode_record(entry.record)
        if record is None or is_in_conflict(notebook.document, record):
            conflicts.add(entry.edit_id)
    return frozenset(conflicts)
