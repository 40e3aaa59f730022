"""The routes that list and keep unseen changes, and that return to an earlier state."""

import asyncio
import dataclasses
import gzip
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import ClassVar

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery, specify_edit
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.handlers.undo import UNDO_ERRORS
from jupyter_nbedit.services.edits.restore import RestoreReply
from jupyter_nbedit.services.requests import KeepBody, RestoreBody, get_or_none
from jupyter_nbedit.services.unseen.models import UnseenNotebooks, UnseenReply
from jupyter_nbedit.text.history import render_unseen, render_unseen_notebooks

# Below this length, a body and its headers fit into one packet.
_LEAST_COMPRESSED = 1_000
# The fastest one: texts of cells and their keys are repeated often.
_COMPRESSION_LEVEL = 1

# Unless its weight is 0; RFC 9110, section 12.5.3.
_GZIP = re.compile(r"(?i)\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))")

_ERRORS = (*spec.READ_ERRORS, errors.HistoryUnavailable)


class _UnseenReplyHandler(NbEditHandler):
    varying_headers: ClassVar[Sequence[str]] = ("Accept", "Accept-Encoding")

    async def send_unseen(self, reply: UnseenReply) -> None:
        """Send what the user has not seen, and store it for retries of the request.

        An open tab reads it after each edit, with the texts of all changed cells; therefore
        it is sent compressed.
        """
        response = await asyncio.to_thread(self.build_response, reply, render_unseen)
        accepted_codings = self.request.headers.get("Accept-Encoding", "")
        if len(response.body) < _LEAST_COMPRESSED or _GZIP.search(accepted_codings) is None:
            self.send_response(response)
            return
        compressed = await asyncio.to_thread(gzip.compress, response.body, _COMPRESSION_LEVEL)
        self.store_response(response)
        self.set_header("Content-Encoding", "gzip")
        self.finish_response(dataclasses.replace(response, body=compressed))


class UnseenHandler(_UnseenReplyHandler):
    """``/nbedit/notebooks/{path}/unseen``."""

    @OperationSpec(
        "What you have not seen",
        has_text=True,
        replies={HTTPStatus.OK: Reply(UnseenReply, "The changes, in the order of the notebook.")},
        errors=_ERRORS,
    )
    async def get(self, path: str) -> None:
        """Return the net change of each cell since your last Keep, by whatever edits made it.

        Edits that you made by a button in JupyterLab, proposals that you have accepted, and cells
        that a person has changed since do not count. All users of the server's token are one.
        """
        await self.send_unseen(await self.services.unseen.get(path, self.account))


class KeepHandler(_UnseenReplyHandler):
    """``/nbedit/notebooks/{path}/keep``."""

    @OperationSpec(
        "Keep changes",
        has_text=True,
        headers=[spec.IDEMPOTENCY_KEY, *spec.DECISION_HEADERS],
        body=KeepBody,
        replies={HTTPStatus.OK: Reply(UnseenReply, "What you have not seen now.")},
        errors=(*_ERRORS, errors.ChangeNotFound, errors.PageUnknown, errors.IdempotencyMismatch),
        # It changes nothing but what this user is shown.
        action="read",
    )
    async def post(self, path: str, body: KeepBody) -> None:
        """Mark changes as seen by you, all or those of some cells; the notebook stays as it is."""
        author = self.build_author()
        self.authorize("keep", author)
        reply = await self.services.unseen.keep(
            path, self.account, get_or_none(body.cells), get_or_none(body.until)
        )
        self.log_decision("keep", author, path)
        await self.send_unseen(reply)


class UnseenNotebooksHandler(NbEditHandler):
    """``/nbedit/unseen``."""

    @OperationSpec(
        "Notebooks with changes that you have not seen",
        has_text=True,
        replies={HTTPStatus.OK: Reply(UnseenNotebooks, "The notebooks, the newest edit first.")},
        errors=[errors.HistoryUnavailable],
    )
    async def get(self) -> None:
        """List the notebooks with edits that you have not kept; edits are counted, not compared."""
        reply = await self.services.unseen.list_notebooks(self.account)
        self.send_reply(reply, render_unseen_notebooks)


class RestoreHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/restore``."""

    @specify_edit(
        "Restore an earlier state",
        "What was done.",
        RestoreReply,
        body=RestoreBody,
        errors=UNDO_ERRORS,
    )
    async def post(self, path: str, body: RestoreBody, query: TabsQuery) -> None:
        """Return the notebook to what it was after an edit; this is an edit, which can be undone.

        Changes that are not in the history, such as a person's own in JupyterLab, stay. In review
        mode the restore becomes a proposal, and while a person has paused edits it is refused. A
        person in an open page (`X-NbEdit-Page`) restores at once, unless edits of the whole server
        are paused.
        """
        request = self.build_request(path, body, query.wait_tabs)
        self.send_edit(await self.services.edits.restore(request, body.edit_id), shows_diff=True)


routes: list[Route] = [
    (rf"{spec.NOTEBOOK}/unseen", UnseenHandler),
    (rf"{spec.NOTEBOOK}/keep", KeepHandler),
    (r"/nbedit/unseen", UnseenNotebooksHandler),
    (rf"{spec.NOTEBOOK}/restore", RestoreHandler),
]
