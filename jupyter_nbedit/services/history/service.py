"""Queries of the edit history, limited to notebooks that can be read now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from jupyter_nbedit.errors import HistoryUnavailable, NbEditError
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.services.history.models import CellDiff, HistoryEdit, build_cell_diffs
from jupyter_nbedit.services.history.store import EditStore

if TYPE_CHECKING:
    from jupyter_nbedit.storage.resolver import StorageResolver

# For one page of all notebooks, at most so many notebooks are checked and so many edits read; the
# page may have fewer edits for that reason.
_MAX_PATHS = 200
_MAX_EDITS = 2_000

# The last edits of agents: the largest number of agents, and of pages of the newest edits.
_MAX_AGENTS = 20
_MAX_PAGES = 5
_PAGE_SIZE = 200

_NEXT = "The value of `before` for the next page; null if there is none."


class HistoryReply(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a notebook's history, newest first."""

    path: str
    edits: list[HistoryEdit]
    next: Annotated[int | None, Meta(description=_NEXT)]


class AllHistoryReply(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the history of all notebooks that can be read now, newest first."""

    edits: list[HistoryEdit]
    next: Annotated[
        int | None,
        Meta(description=f"{_NEXT} A page may have fewer edits than asked for and yet a next one."),
    ]


class DetailedEdit(HistoryEdit, frozen=True, kw_only=True):
    """An edit, and the difference of each cell that it changed."""

    parts: Annotated[
        list[CellDiff],
        Meta(description="Empty if the edit was too large to be stored completely."),
    ]


class PurgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """The number of edits that were deleted."""

    path: str
    purged: Annotated[int, Meta(ge=0, description="How many edits.")]


class ConflictFinder(Protocol):
    """Compares edits with the notebook as it is now."""

    async def find(self, path: str, edits: Sequence[HistoryEdit]) -> frozenset[int]:
        """Return the numbers of the edits whose undo is prevented by later changes."""


@dataclass(frozen=True)
class HistoryService:
    """Lists, shows and purges edits. Methods raise `NbEditError` for what cannot be read."""

    history: EditStore
    storages: StorageResolver
    conflicts: ConflictFinder

    async def list_edits(self, path: str, *, limit: int, before: int | None) -> HistoryReply:
        """List the edits of a notebook."""
        await self.storages.check(path)
        page = await self.history.list_page(path, limit=limit + 1, before=before)
        edits = page[:limit]
        conflicts = await self.conflicts.find(path, edits)
        edits = [
            replace(edit, undoable=False) if edit.edit_id in conflicts else edit for edit in edits
        ]
        return HistoryReply(
            path=path, edits=edits, next=edits[-1].edit_id if len(page) > limit else None
        )

    async def list_all_edits(self, *, limit: int, before: int | None) -> AllHistoryReply:
        """List the edits of all notebooks that can be read."""
        is_readable: dict[str, bool] = {}
        edits: list[HistoryEdit] = []
        count = 0
        while True:
            page = await self.history.list_page(None, limit=limit + 1, before=before)
            for edit in page:
                if len(edits) == limit or len(is_readable) == _MAX_PATHS or count == _MAX_EDITS:
                    return AllHistoryReply(edits=edits, next=before)
                if edit.path not in is_readable:
                    is_readable[edit.path] = await self._is_readable(edit.path)
                if is_readable[edit.path]:
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

    async def _is_readable(self, path: str) -> bool:
        try:
            await self.storages.check(path)
        except NbEditError:
            return False
        return True

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
        if edit_id in await self.conflicts.find(path, [entry]):
            fields["undoable"] = False
        return DetailedEdit(**fields, parts=parts)

    async def purge(self, path: str) -> PurgeReply:
        """Delete the edits of a notebook."""
        await self.storages.check(path)
        return PurgeReply(path=path, purged=await self.history.purge(path))
