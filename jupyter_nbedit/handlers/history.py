"""The routes of the edit history, and of undo and redo."""

import asyncio
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.base import NbEditHandler, parse_number
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.services.history.models import (
    AllHistoryReply,
    DetailedEdit,
    HistoryReply,
    PurgeReply,
)
from jupyter_nbedit.services.requests import get_or_none
from jupyter_nbedit.text.history import render_detailed_edit, render_history

#: The most edits of one page.
MAX_EDITS = 200

# The errors of finding a notebook without reading it.
_ERRORS = (errors.NotebookNotFound, errors.NotAPlainFile, errors.HistoryUnavailable)


class HistoryQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of a history."""

    limit: Annotated[int, Meta(ge=1, le=MAX_EDITS, description="How many edits at most.")] = 50
    before: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INTEGER,
                description="Only edits with a smaller `edit_id`: the `next` of another page.",
            ),
        ]
        | UnsetType
    ) = UNSET


class NotebookHistoryHandler(NbEditHandler):
    """``/nbedit/notebooks/{path}/history``."""

    @OperationSpec(
        "The edits of a notebook",
        has_text=True,
        query=HistoryQuery,
        replies={HTTPStatus.OK: Reply(HistoryReply, "A page of them, newest first.")},
        errors=_ERRORS,
    )
    async def get(self, path: str, query: HistoryQuery) -> None:
        """List the edits of the notebook, with their authors and whether they can be undone."""
        reply = await self.services.history.list_edits(
            path, limit=query.limit, before=get_or_none(query.before)
        )
        self.send_reply(reply, render_history)

    @OperationSpec(
        "Delete the edits of a notebook",
        headers=spec.DECISION_HEADERS,
        replies={HTTPStatus.OK: Reply(PurgeReply, "The edits are deleted.")},
        errors=(*_ERRORS, errors.PageUnknown),
    )
    async def delete(self, path: str) -> None:
        """Purge the history of the notebook, so that no file of the extension contains it any more.

        The notebook stays as it is; its earlier edits can no longer be undone. The closed proposals
        for it are deleted, too.
        """
        author = self.build_author()
        self.authorize("delete_history", author)
        reply = await self.services.history.purge(path)
        await self.services.proposals.store.purge(path)
        self.log_decision("delete_history", author, path)
        self.send_reply(reply)


class EditHandler(NbEditHandler):
    """``/nbedit/notebooks/{path}/history/{edit_id}``."""

    @OperationSpec(
        "One edit of a notebook",
        has_text=True,
        replies={HTTPStatus.OK: Reply(DetailedEdit, "The edit, cell by cell.")},
        errors=(*_ERRORS, errors.EditNotFound),
    )
    async def get(self, path: str, edit_id: str) -> None:
        """Return an edit, with each cell that it changed as it was before and after."""
        reply = await self.services.history.get_edit(path, parse_number(edit_id))
        self.send_response(
            await asyncio.to_thread(self.build_response, reply, render_detailed_edit)
        )


class AllHistoryHandler(NbEditHandler):
    """``/nbedit/history``."""

    @OperationSpec(
        "The edits of all notebooks",
        has_text=True,
        query=HistoryQuery,
        replies={HTTPStatus.OK: Reply(AllHistoryReply, "A page of them, newest first.")},
        errors=[errors.HistoryUnavailable],
    )
    async def get(self, query: HistoryQuery) -> None:
        """List the edits of all notebooks that can be read now."""
        reply = await self.services.history.list_all_edits(
            limit=query.limit, before=get_or_none(query.before)
        )
        self.send_reply(reply, render_history)


routes: list[Route] = [
    (rf"{spec.NOTEBOOK}/history", NotebookHistoryHandler),
    (rf"{spec.NOTEBOOK}/history/(?P<edit_id>[^/]+)(?<!\.ipynb)", EditHandler),
    (r"/nbedit/history", AllHistoryHandler),
]
