"""Take an edit back, and make it again."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.errors import (
    EditNotFound,
    HashMismatch,
    LedgerError,
    NothingToUndo,
    ReadRequired,
    UndoConflict,
)
from jupyter_nbedit.handlers.contract import (
    ETAG,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    READ_ERRORS,
    SESSION,
    WRITE_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.handlers.editing import (
    PROPOSED,
    ChangeBody,
    EditingHandler,
    TabsQuery,
    get_or_none,
)
from jupyter_nbedit.messages import EditReply, UndoRequest

_HEADERS = [IF_MATCH, IDEMPOTENCY_KEY, SESSION]
_ERRORS = [
    *READ_ERRORS,
    *WRITE_ERRORS,
    HashMismatch,
    ReadRequired,
    EditNotFound,
    NothingToUndo,
    UndoConflict,
    LedgerError,
]


class UndoBody(ChangeBody, frozen=True, kw_only=True):
    """The body of a request to take an edit back, or to make it again."""

    edit_id: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="The edit, as in the history; without it the newest that can be.",
            ),
        ]
        | UnsetType
    ) = UNSET


class _UndoRedoHandler(EditingHandler):
    async def _take(self, path: str, *, redo: bool) -> None:
        body = await self.parse_body(UndoBody)
        request = UndoRequest(
            path, get_or_none(body.edit_id), redo=redo, **self.build_request_fields(body)
        )
        await self.send(lambda: self.extensionapp.undoing.undo(request))


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
