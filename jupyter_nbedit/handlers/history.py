"""What was done to notebooks: the ledger over HTTP."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.chronicle import (
    AllHistoryReply,
    Chronicle,
    DetailedEdit,
    HistoryReply,
    PurgeReply,
)
from jupyter_nbedit.errors import EditNotFound, LedgerError, NotAPlainFile, NotebookNotFound
from jupyter_nbedit.handlers.contract import Contract, Reply
from jupyter_nbedit.handlers.editing import given
from jupyter_nbedit.handlers.requests import NbEditHandler, encoded
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER

#: The most edits of one page.
MOST_EDITS = 200

# What may be in the way of looking for a notebook without reading it.
_REFUSALS = (NotebookNotFound, NotAPlainFile, LedgerError)


class HistoryQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of a history."""

    limit: Annotated[int, Meta(ge=1, le=MOST_EDITS, description="How many edits at most.")] = 50
    before: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=LARGEST_INTEGER,
                description="Only edits with a smaller `edit_id`: the `next` of another page.",
            ),
        ]
        | UnsetType
    ) = UNSET


class HistoryHandler(NbEditHandler):
    """A handler that shows the history."""

    @property
    def chronicle(self) -> Chronicle:
        """The service that shows it."""
        return self.extensionapp.chronicle


class NotebookHistoryHandler(HistoryHandler):
    """``/nbedit/notebooks/{path}/history``."""

    @Contract(
        "The edits of a notebook",
        query=HistoryQuery,
        replies={HTTPStatus.OK: Reply(HistoryReply, "A page of them, newest first.")},
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """List who did what to the notebook, and what can be taken back."""
        query = self.query(HistoryQuery)
        reply = await self.chronicle.of(path, limit=query.limit, before=given(query.before))
        self.answer(reply)

    @Contract(
        "Forget the edits of a notebook",
        replies={HTTPStatus.OK: Reply(PurgeReply, "They are forgotten.")},
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def delete(self, path: str) -> None:
        """Purge the notebook's history, so that what it held is in no file of ours any more.

        The notebook stays as it is; what was done to it before can no longer be taken back. The
        proposals for it that were decided are forgotten, too.
        """
        reply = await self.chronicle.purge(path)
        await self.extensionapp.proposals.purge(path)
        self.answer(reply)


class EditHandler(HistoryHandler):
    """``/nbedit/notebooks/{path}/history/{edit_id}``."""

    @Contract(
        "One edit of a notebook",
        replies={HTTPStatus.OK: Reply(DetailedEdit, "The edit, cell by cell.")},
        refusals=(*_REFUSALS, EditNotFound),
    )
    @web.authenticated
    @authorized
    async def get(self, path: str, edit_id: str) -> None:
        """Show an edit, with each cell that it changed as it was before and after it."""
        reply = await self.chronicle.one(path, _number(edit_id))
        self.finish(await asyncio.to_thread(encoded, reply))


class AllHistoryHandler(HistoryHandler):
    """``/nbedit/history``."""

    @Contract(
        "The edits of all notebooks",
        query=HistoryQuery,
        replies={HTTPStatus.OK: Reply(AllHistoryReply, "A page of them, newest first.")},
        refusals=[LedgerError],
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List who did what to the notebooks that can be read now."""
        query = self.query(HistoryQuery)
        reply = await self.chronicle.of_all(limit=query.limit, before=given(query.before))
        self.answer(reply)


def _number(text: str) -> int:
    """Read an edit's number; what is none is no edit's."""
    is_number = text.isascii() and text.isdecimal() and int(text[:20]) <= LARGEST_INTEGER
    return int(text) if is_number and len(text) < 20 else 0  # noqa: PLR2004 -- digits
