"""The routes of what a user has not seen: list it, keep it; and of earlier states."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from tornado import web

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import openapi
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json, encode_text
from jupyter_nbedit.handlers.editing import PROPOSED, EditingHandler, TabsQuery
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.openapi import OperationSpec, Reply
from jupyter_nbedit.services.edits.restore import RestoreReply
from jupyter_nbedit.services.models import KeepBody, RestoreBody, get_or_none
from jupyter_nbedit.services.unseen.models import UnseenNotebooks, UnseenReply
from jupyter_nbedit.text.unseen import render_unseen, render_unseen_notebooks

# Below this length, a body and its headers fit into one packet.
_LEAST_COMPRESSED = 1_000
# The fastest one: texts of cells and their keys are repeated often.
_COMPRESSION_LEVEL = 1

# Unless its weight is 0; RFC 9110, section 12.5.3.
_GZIP = re.compile(r"(?i)\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")

_ERRORS = (*openapi.READ_ERRORS, errors.HistoryUnavailable)


class _UnseenReplyHandler(NbEditHandler):
    varying_headers: ClassVar[Sequence[str]] = ("Accept", "Accept-Encoding")

    async def send_unseen(self, reply: UnseenReply) -> None:
        """Send what the user has not seen, and store it for retries of the request.

        An open tab reads it after each edit, with the texts of all changed cells, so that it is
        sent compressed.
        """
        body = await asyncio.to_thread(_encode_unseen, reply, is_text=self.prefers_text)
        response = StoredResponse(body, is_text=self.prefers_text)
        accepted_codings = self.request.headers.get("Accept-Encoding", "")
        if len(body) < _LEAST_COMPRESSED or _GZIP.search(accepted_codings) is None:
            self.send_response(response)
            return
        compressed = await asyncio.to_thread(gzip.compress, body, _COMPRESSION_LEVEL)
        self.store_response(response)
        self.set_header("Content-Encoding", "gzip")
        self.finish_response(dataclasses.replace(response, body=compressed))


def _encode_unseen(reply: UnseenReply, *, is_text: bool) -> bytes:
    return encode_text(render_unseen(reply)) if is_text else encode_json(reply)


class UnseenHandler(_UnseenReplyHandler):
    """``/nbedit/notebooks/{path}/unseen``."""

    @OperationSpec(
        "What you have not seen",
        has_text=True,
        replies={HTTPStatus.OK: Reply(UnseenReply, "The changes, in the order of the notebook.")},
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """Return the net change of each cell since your last Keep, by whatever edits made it.

        Edits that you made by a button in JupyterLab, proposals that you have accepted, and cells
        that a person has changed since do not count. All users of the server's token are one.
        """
        await self.send_unseen(await self.services.unseen.get(path, self.account))


class KeepHandler(_UnseenReplyHandler):
    """``/nbedit/notebooks/{path}/keep``."""

    # It changes nothing but what this user is shown.
    contents_actions: ClassVar[Mapping[str, str]] = {**HTTP_METHOD_TO_AUTH_ACTION, "POST": "read"}

    @OperationSpec(
        "Keep changes",
        has_text=True,
        headers=[openapi.IDEMPOTENCY_KEY, *openapi.DECISION_HEADERS],
        body=KeepBody,
        replies={HTTPStatus.OK: Reply(UnseenReply, "What you have not seen now.")},
        errors=(*_ERRORS, errors.ChangeNotFound, errors.PageUnknown, errors.IdempotencyMismatch),
    )
    @web.authenticated
    @authorized("read")  # type: ignore[untyped-decorator] # its author typed the bare form
    async def post(self, path: str) -> None:
        """Mark changes as seen by you, all or those of some cells; the notebook stays as it is."""
        body = await self.parse_body(KeepBody)
        if not await self.replay_response():
            author = self.build_author()
            self.authorize("keep", author)
            reply = await self.services.unseen.keep(
                path, self.account, get_or_none(body.cells), get_or_none(body.until)
            )
            self.log_decision("keep", author, path)
            await self.send_unseen(reply)


class RestoreHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/restore``."""

    @OperationSpec(
        "Restore an earlier state",
        has_text=True,
        query=TabsQuery,
        body=RestoreBody,
        headers=openapi.EDIT_HEADERS,
        replies={
            HTTPStatus.OK: Reply(RestoreReply, "What was done.", [openapi.ETAG]),
            HTTPStatus.ACCEPTED: dataclasses.replace(
                PROPOSED[HTTPStatus.ACCEPTED], body=RestoreReply
            ),
        },
        errors=(
            *openapi.EDIT_ERRORS,
            errors.EditNotFound,
            errors.NothingToUndo,
            errors.UndoConflict,
        ),
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Return the notebook to what it was after an edit; this is an edit, which can be undone.

        Changes that are not in the history, such as a person's own in JupyterLab, stay. In review
        mode the restore becomes a proposal, and while a person has paused edits it is refused. A
        person in an open page (`X-NbEdit-Page`) restores at once, unless edits of the whole server
        are paused.
        """
        body = await self.parse_body(RestoreBody)
        request = self.build_request(path, body, self.parse_query(TabsQuery).wait_tabs)
        if not await self.replay_response():
            restore = self.services.edits.restore(request, body.edit_id)
            self.send_edit(await restore, shows_diff=True)


class UnseenNotebooksHandler(NbEditHandler):
    """``/nbedit/unseen``."""

    @OperationSpec(
        "Notebooks with changes that you have not seen",
        has_text=True,
        replies={HTTPStatus.OK: Reply(UnseenNotebooks, "The notebooks, the newest edit first.")},
        errors=[errors.HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List the notebooks with edits that you have not kept; edits are counted, not compared."""
        reply = await self.services.unseen.list_notebooks(self.account)
        if self.prefers_text:
            self.finish_text(render_unseen_notebooks(reply))
        else:
            self.finish_json(reply)
