"""For other server extensions: edit notebooks, undo edits, and listen to edits, in Python."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from logging import Logger
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.edits.undo import UndoService
from jupyter_nbedit.events.emitters import EditEventEmitter
from jupyter_nbedit.models import (
    ChangeBody,
    EditBody,
    EditReply,
    EditRequest,
    UndoBody,
    UndoRequest,
    get_or_none,
)
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.request_body import decode_body
from jupyter_nbedit.tabs import TabRegistry

__all__ = ["EditListener", "EditReply", "PythonAPI"]

#: Hears of an edit, with the data of its event; it may be a coroutine function.
EditListener = Callable[[dict[str, Any]], Awaitable[None] | None]

Body = TypeVar("Body", bound=ChangeBody)


class PythonAPI:
    """What ``settings["jupyter_nbedit"]`` offers to other extensions of the server.

    To be called on the server's own loop. What is refused is raised as an
    `jupyter_nbedit.errors.NbEditError`, with the ``reason``, ``message`` and ``details`` that a
    request over HTTP is answered with; then nothing was written. Whoever calls has seen to it that
    ``user`` may do it: no right is asked for here.
    """

    editor: EditService
    undoing: UndoService
    events: EditEventEmitter
    tabs: TabRegistry
    log: Logger

    async def edit(  # noqa: PLR0913 -- all that a request may say
        self,
        path: str,
        operations: Sequence[Operation | Mapping[str, Any]],
        *,
        user: str,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- its name in all of the API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Apply operations to a notebook, all of them or none.

        Parameters
        ----------
        path
            The notebook's API path, relative to the server's root.
        operations
            As in the body of a ``PATCH``, or as `jupyter_nbedit.notebook.operations` has them.
        user
            The user name that the server knows the editor by.
        client, message
            What the editor calls itself, and why it makes the edit.
        hash
            The only version of the notebook that the edit is for.
        dry_run
            Answer what would be, and write nothing.
        wait_tabs
            How many milliseconds to wait at most until every open tab has told what it made of the
            edit.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        body = _validate_body(
            EditBody, operations=operations, **_build_metadata(client, message, hash, dry_run)
        )
        request = EditRequest(path, body.operations, user=user, **_build_request_fields(body))
        return await self._listen_for_tabs(lambda: self.editor.edit(request), wait_tabs)

    async def undo(  # noqa: PLR0913 -- as above
        self,
        path: str,
        edit_id: int | None = None,
        *,
        user: str,
        redo: bool = False,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- its name in all of the API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Take an edit back, or make it again; what is not said here is as in `edit`.

        Parameters
        ----------
        path
            The notebook's API path.
        edit_id
            The edit's number; without it the newest that can be taken back.
        user
            The user name that the server knows the editor by.
        redo
            Whether to make again what was taken back.
        client, message, hash, dry_run, wait_tabs
            As in `edit`.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        number = {} if edit_id is None else {"edit_id": edit_id}
        body = _validate_body(UndoBody, **number, **_build_metadata(client, message, hash, dry_run))
        request = UndoRequest(path, edit_id, redo=redo, user=user, **_build_request_fields(body))
        return await self._listen_for_tabs(lambda: self.undoing.undo(request), wait_tabs)

    def on_edit(self, listener: EditListener) -> Callable[[], None]:
        """Call a listener after each edit that was made through this server.

        It gets the data of the event ``jupyter_nbedit/edit/v1``: who edited which cells of what,
        but no source. Unlike an event, which whoever may post to ``/api/events`` can forge, this is
        told by the editor itself. A listener that fails is logged.

        Parameters
        ----------
        listener
            A function, or a coroutine function. It is called after the editor has gone on, so that
            it may edit, too.

        Returns
        -------
        What ends it.
        """
        tasks = set[asyncio.Future[None]]()

        async def call(data: dict[str, Any]) -> None:
            number = data["edit_id"]
            try:
                answer = listener(data)
                if inspect.isawaitable(answer):
                    await answer
            except Exception:
                self.log.exception("A listener failed to hear of edit %s", number)

        def tell(data: Mapping[str, Any]) -> None:
            task = asyncio.ensure_future(call(copy.deepcopy(dict(data))))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return self.events.listen(tell)

    async def _listen_for_tabs(
        self, change: Callable[[], Awaitable[EditReply]], milliseconds: float
    ) -> EditReply:
        since = self.tabs.heard
        reply = await change()
        told = await self.tabs.wait_for_reports(reply, since=since, seconds=milliseconds / 1000)
        return msgspec.structs.replace(reply, tabs=told)


def _build_metadata(
    client: str | None,
    message: str | None,
    hash: str | None,  # noqa: A002 -- as above
    dry_run: bool,  # noqa: FBT001 -- as above
) -> dict[str, Any]:
    said = {"client": client, "message": message, "hash": hash, "dry_run": dry_run}
    return {name: value for name, value in said.items() if value is not None}


def _validate_body(form: type[Body], **fields: Any) -> Body:
    """Read what was asked in the one way that requests are read."""
    return decode_body(json.dumps(fields, default=msgspec.to_builtins).encode(), form)


def _build_request_fields(body: ChangeBody) -> dict[str, Any]:
    return {
        "dry_run": body.dry_run,
        "client": get_or_none(body.client),
        "message": get_or_none(body.message),
        "hash": get_or_none(body.hash),
    }
