"""Show the history of edits: of notebooks that can be read now, and of no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import LedgerError, NbEditError
from jupyter_nbedit.history.models import CellDiff, Entry, HistoryEdit, build_cell_diffs
from jupyter_nbedit.history.store import EditHistory
from jupyter_nbedit.notebook.undo.record import UndoRecord

# So many notebooks are looked for, and so many edits looked at, for one page over all; it may be
# short for that.
_MOST_PATHS = 200
_MOST_EDITS = 2_000

_NEXT = "What `before` has to be for the next page; null if there is none."


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
    """An edit, and what it did to each cell that it changed."""

    parts: Annotated[
        list[CellDiff],
        Meta(description="Empty if the edit was too large for that to be kept."),
    ]


class PurgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """What is forgotten now."""

    path: str
    purged: Annotated[int, Meta(ge=0, description="How many edits.")]


class AccessCheck(Protocol):
    """Tells what can be read."""

    async def check(self, path: str) -> None:
        """Refuse what a reader would be refused.

        Raises
        ------
        NbEditError
        """


@dataclass(frozen=True)
class HistoryService:
    """Shows the ledger.

    Parameters
    ----------
    ledger
        What is shown.
    readable
        Tells of which notebooks.
    """

    ledger: EditHistory
    readable: AccessCheck

    async def list_edits(self, path: str, *, limit: int, before: int | None) -> HistoryReply:
        """List a notebook's edits.

        Raises
        ------
        NbEditError
            If the notebook cannot be read, or the ledger.
        """
        await self.readable.check(path)
        found = await self.ledger.list_page(path, limit=limit + 1, before=before)
        edits = [_strip_private_fields(entry) for entry in found[:limit]]
        return HistoryReply(
            path=path, edits=edits, next=edits[-1].edit_id if len(found) > limit else None
        )

    async def list_all_edits(self, *, limit: int, before: int | None) -> AllHistoryReply:
        """List the edits of all notebooks.

        Raises
        ------
        LedgerError
        """
        can_be_read: dict[str, bool] = {}
        edits: list[HistoryEdit] = []
        seen = 0
        while True:
            found = await self.ledger.list_page(None, limit=limit + 1, before=before)
            for entry in found:
                if len(edits) == limit or len(can_be_read) == _MOST_PATHS or seen == _MOST_EDITS:
                    return AllHistoryReply(edits=edits, next=before)
                if entry.path not in can_be_read:
                    can_be_read[entry.path] = await self._is_readable(entry.path)
                if can_be_read[entry.path]:
                    edits.append(_strip_private_fields(entry))
                before = entry.edit_id
                seen += 1
            if len(found) <= limit:
                return AllHistoryReply(edits=edits, next=None)

    async def _is_readable(self, path: str) -> bool:
        try:
            await self.readable.check(path)
        except NbEditError:
            return False
        return True

    async def get_edit(self, path: str, edit_id: int) -> DetailedEdit:
        """Show an edit with what was before and after, cell by cell.

        Raises
        ------
        EditNotFound
            If the notebook's history has none of that number.
        NbEditError
            If the notebook cannot be read, or the ledger.
        """
        await self.readable.check(path)
        entry, record = await self.ledger.get_entry(path, edit_id)
        try:
            parts = [] if record is None else build_cell_diffs(UndoRecord.decode(record).parts)
        except ValueError:
            message = (
                "What this edit did cannot be read: its record is damaged. DELETE the notebook's "
                "`history` to begin a new one."
            )
            raise LedgerError(message, edit_id=edit_id) from None
        return DetailedEdit(**_collect_fields(entry), parts=parts)

    async def purge(self, path: str) -> PurgeReply:
        """Forget a notebook's edits.

        Raises
        ------
        NbEditError
            If the notebook cannot be read, or the ledger.
        """
        await self.readable.check(path)
        return PurgeReply(path=path, purged=await self.ledger.purge(path))


def _strip_private_fields(entry: Entry) -> HistoryEdit:
    return HistoryEdit(**_collect_fields(entry))


def _collect_fields(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in HistoryEdit.__struct_fields__}
