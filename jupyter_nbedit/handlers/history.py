"""The routes of the edit history, and of undo and redo."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import openapi
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.editing import PROPOSED, EditingHandler, TabsQuery
from jupyter_nbedit.handlers.openapi import OperationSpec, Reply
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.services.history.service import (
    AllHistoryReply,
    DetailedEdit,
    HistoryReply,
    PurgeReply,
)
from jupyter_nbedit.services.models import (
    EditReply,
    RedoBody,
    UndoBody,
    Whose,
    check_redo_body,
    check_undo_body,
    get_or_none,
)
from jupyter_nbedit.text.history import render_detailed_edit, render_history

#: The most edits of one page.
MAX_EDITS = 200

# The errors of finding a notebook without reading it.
_ERRORS = (errors.NotebookNotFound, errors.NotAPlainFile, errors.HistoryUnavailable)
_UNDO_ERRORS = (
    *openapi.EDIT_ERRORS,
    errors.EditNotFound,
    errors.NothingToUndo,
    errors.UndoConflict,
)


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
    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """List the edits of the notebook, with their authors and whether they can be undone."""
        query = self.parse_query(HistoryQuery)
        reply = await self.services.history.list_edits(
            path, limit=query.limit, before=get_or_none(query.before)
        )
        if self.prefers_text:
            self.finish_text(render_history(reply))
        else:
            self.finish_json(reply)

    @OperationSpec(
        "Delete the edits of a notebook",
        headers=openapi.DECISION_HEADERS,
        replies={HTTPStatus.OK: Reply(PurgeReply, "The edits are deleted.")},
        errors=(*_ERRORS, errors.PageUnknown),
    )
    @web.authenticated
    @authorized
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
        self.finish_json(reply)


class EditHandler(NbEditHandler):
    """``/nbedit/notebooks/{path}/history/{edit_id}``."""

    @OperationSpec(
        "One edit of a notebook",
        has_text=True,
        replies={HTTPStatus.OK: Reply(DetailedEdit, "The edit, cell by cell.")},
        errors=(*_ERRORS, errors.EditNotFound),
    )
    @web.authenticated
    @authorized
    async def get(self, path: str, edit_id: str) -> None:
        """Return an edit, with each cell that it changed as it was before and after."""
        reply = await self.services.history.get_edit(path, _parse_number(edit_id))
        if self.prefers_text:
            self.finish_text(await asyncio.to_thread(render_detailed_edit, reply))
        else:
            self.finish(await asyncio.to_thread(encode_json, reply))


class AllHistoryHandler(NbEditHandler):
    """``/nbedit/history``."""

    @OperationSpec(
        "The edits of all notebooks",
        has_text=True,
        query=HistoryQuery,
        replies={HTTPStatus.OK: Reply(AllHistoryReply, "A page of them, newest first.")},
        errors=[errors.HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List the edits of all notebooks that can be read now."""
        query = self.parse_query(HistoryQuery)
        reply = await self.services.history.list_all_edits(
            limit=query.limit, before=get_or_none(query.before)
        )
        if self.prefers_text:
            self.finish_text(render_history(reply))
        else:
            self.finish_json(reply)


class UndoHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/undo``."""

    @OperationSpec(
        "Undo an edit",
        has_text=True,
        query=TabsQuery,
        body=UndoBody,
        headers=openapi.EDIT_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the undo did.", [openapi.ETAG]), **PROPOSED},
        errors=(*_UNDO_ERRORS, errors.ChangeNotFound, errors.CellChanged),
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Undo an edit, or with `cells` the changes that you have not kept.

        Without `edit_id` and `cells` it is your own newest edit. Later changes of other cells stay.
        In review mode the undo becomes a proposal, and while a person has paused edits it is
        refused. A person in an open page (`X-NbEdit-Page`) undoes at once, unless edits of the
        whole server are paused. `undone` of the reply says whose edit it was.
        """
        body = await self.parse_body(UndoBody)
        check_undo_body(body)
        request = self.build_request(path, body, self.parse_query(TabsQuery).wait_tabs)
        if await self.replay_response():
            return
        if body.cells is UNSET:
            whose: Whose = "own" if body.whose is UNSET else body.whose
            undo = self.services.edits.undo(request, get_or_none(body.edit_id), whose=whose)
        else:
            undo = self.services.unseen.undo(request, body.cells, get_or_none(body.until))
        self.send_edit(await undo, shows_diff=True)


class RedoHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/redo``."""

    @OperationSpec(
        "Redo an undone edit",
        has_text=True,
        query=TabsQuery,
        body=RedoBody,
        headers=openapi.EDIT_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the redo did.", [openapi.ETAG]), **PROPOSED},
        errors=_UNDO_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Redo an undone edit, by default the one that you have undone last.

        In review mode it becomes a proposal, and while a person has paused edits it is refused. A
        person in an open page (`X-NbEdit-Page`) redoes at once, unless edits of the whole server
        are paused.
        """
        body = await self.parse_body(RedoBody)
        check_redo_body(body)
        request = self.build_request(path, body, self.parse_query(TabsQuery).wait_tabs)
        edit_id = get_or_none(body.edit_id)
        if not await self.replay_response():
            whose: Whose = "own" if body.whose is UNSET else body.whose
            redo = self.services.edits.undo(request, edit_id, redo=True, whose=whose)
            self.send_edit(await redo, shows_diff=True)


def _parse_number(text: str) -> int:
    """Return the number of an edit; 0, which no edit has, if the text is not a number."""
    is_number = text.isascii() and text.isdecimal() and int(text[:20]) <= MAX_INTEGER
    return int(text) if is_number and len(text) < 20 else 0  # noqa: PLR2004 -- digits
