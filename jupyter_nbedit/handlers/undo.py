"""The routes to undo and redo edits."""

from __future__ import annotations

from http import HTTPStatus

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_nbedit.errors import EditNotFound, NothingToUndo, UndoConflict
from jupyter_nbedit.handlers.editing import PROPOSED, EditingHandler, TabsQuery
from jupyter_nbedit.handlers.openapi import (
    EDIT_ERRORS,
    EDIT_HEADERS,
    ETAG,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.models import EditReply, UndoBody, get_or_none

_ERRORS = (*EDIT_ERRORS, EditNotFound, NothingToUndo, UndoConflict)


class _UndoRedoHandler(EditingHandler):
    async def _undo(self, path: str, *, redo: bool) -> None:
        body = await self.parse_body(UndoBody)
        wait_tabs = self.parse_query(TabsQuery).wait_tabs
        request, edit_id = self.build_request(path, body), get_or_none(body.edit_id)
        if not await self.replay_response():
            await self.send_edit(self.services.edits.undo(request, edit_id, redo=redo), wait_tabs)


class UndoHandler(_UndoRedoHandler):
    """``/nbedit/notebooks/{path}/undo``."""

    @OperationSpec(
        "Undo an edit",
        query=TabsQuery,
        body=UndoBody,
        headers=EDIT_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the undo did.", [ETAG])},
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Undo an edit, by default the newest; later changes of other cells stay."""
        await self._undo(path, redo=False)


class RedoHandler(_UndoRedoHandler):
    """``/nbedit/notebooks/{path}/redo``."""

    @OperationSpec(
        "Redo an undone edit",
        query=TabsQuery,
        body=UndoBody,
        headers=EDIT_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the redo did.", [ETAG]), **PROPOSED},
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Redo an undone edit, by default the one that was undone last."""
        await self._undo(path, redo=True)
