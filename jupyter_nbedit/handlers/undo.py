"""Take an edit back, and make it again."""

from __future__ import annotations

from http import HTTPStatus

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_nbedit.errors import (
    EditNotFound,
    HashMismatch,
    HistoryUnavailable,
    NothingToUndo,
    ReadRequired,
    UndoConflict,
)
from jupyter_nbedit.handlers.editing import PROPOSED, EditingHandler, TabsQuery
from jupyter_nbedit.handlers.openapi.spec import (
    ETAG,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    READ_ERRORS,
    SESSION,
    WRITE_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.models import EditReply, UndoBody, UndoRequest, get_or_none

_HEADERS = [IF_MATCH, IDEMPOTENCY_KEY, SESSION]
_ERRORS = [
    *READ_ERRORS,
    *WRITE_ERRORS,
    HashMismatch,
    ReadRequired,
    EditNotFound,
    NothingToUndo,
    UndoConflict,
    HistoryUnavailable,
]


class _UndoRedoHandler(EditingHandler):
    async def _take(self, path: str, *, redo: bool) -> None:
        body = await self.parse_body(UndoBody)
        request = UndoRequest(
            path, get_or_none(body.edit_id), redo=redo, **self.build_request_fields(body)
        )
        await self.send(lambda: self.services.undo.undo(request))


class UndoHandler(_UndoRedoHandler):
    """``/nbedit/notebooks/{path}/undo``."""

    @OperationSpec(
        "Take an edit back",
        query=TabsQuery,
        body=UndoBody,
        headers=_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What taking it back did.", [ETAG]),
        },
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Take back an edit, the newest if none is named; of an older one its cells alone."""
        await self._take(path, redo=False)


class RedoHandler(_UndoRedoHandler):
    """``/nbedit/notebooks/{path}/redo``."""

    @OperationSpec(
        "Make again what was taken back",
        query=TabsQuery,
        body=UndoBody,
        headers=_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What making it again did.", [ETAG]),
            **PROPOSED,
        },
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Make an edit again that was taken back, the one taken back last if none is named."""
        await self._take(path, redo=True)
