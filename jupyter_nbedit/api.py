"""The Python API for other server extensions: edit notebooks, undo edits, listen to edits."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from logging import Logger
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit.edits.publish import add_tab_counts
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.events.emitters import EventEmitter
from jupyter_nbedit.models import (
    Author,
    ChangeBody,
    EditBody,
    EditReply,
    UndoBody,
    WriteRequest,
    get_or_none,
)
from jupyter_nbedit.notebook.decode_body import decode_body
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.tabs import TabRegistry

#: Only these names of this package and those of `jupyter_nbedit.errors` are public.
__all__ = ["EditListener", "EditReply", "PythonAPI"]

#: Is called after an edit with the data of its event; may be a coroutine function.
EditListener = Callable[[dict[str, Any]], Awaitable[None] | None]

_Body = TypeVar("_Body", bound=ChangeBody)


class PythonAPI:
    """The object ``settings["jupyter_nbedit"]`` of the server's web application.

    Its methods must be called on the event loop of the server. They raise an
    `jupyter_nbedit.errors.NbEditError` with the ``reason``, ``message`` and ``details`` of the
    HTTP error; then nothing was written. They check no permissions: the caller must make sure that
    ``user`` may write.

    Parameters
    ----------
    edits
        The service that changes notebooks.
    events
        Emits an event for each edit.
    tabs
        The open tabs.
    log
        The log of the server.
    """

    def __init__(
        self,
        edits: EditService,
        events: EventEmitter,
        tabs: TabRegistry,
        log: Logger,
    ) -> None:
        self._edits = edits
        self._events = events
        self._tabs = tabs
        self.log = log

    async def edit(  # noqa: PLR0913 -- the fields of a request
        self,
        path: str,
        operations: Sequence[Operation | Mapping[str, Any]],
        *,
        user: str,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Apply operations to a notebook, all of them or none.

        Parameters
        ----------
        path
            The API path of the notebook.
        operations
            As in the body of a ``PATCH``, or structs of `jupyter_nbedit.notebook.operations`.
        user
            The user who makes the edit, as known by the server.
        client, message
            The name of the client, and the reason of the edit.
        hash
            The only version of the notebook that the edit may be applied to.
        dry_run
            Compute the reply, and write nothing.
        wait_tabs
            How many milliseconds to wait at most until every open tab has reported what it did
            with the edit.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        metadata = _build_metadata(client, message, hash, dry_run)
        body = _validate_body(EditBody, operations=operations, **metadata)
        edit = self._edits.edit(_build_request(path, user, body), body.operations)
        return await add_tab_counts(self._tabs, edit, wait_tabs / 1000)

    async def undo(  # noqa: PLR0913 -- the fields of a request
        self,
        path: str,
        edit_id: int | None = None,
        *,
        user: str,
        redo: bool = False,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Undo or redo an edit.

        Parameters
        ----------
        path
            The API path of the notebook.
        edit_id
            The number of the edit; None for the newest edit that can be undone or redone.
        user
            The user who undoes it, as known by the server.
        redo
            Whether to redo an undone edit.
        client, message, hash, dry_run, wait_tabs
            As in `edit`.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        number = {} if edit_id is None else {"edit_id": edit_id}
        body = _validate_body(UndoBody, **number, **_build_metadata(client, message, hash, dry_run))
        undo = self._edits.undo(
            _build_request(path, user, body), get_or_none(body.edit_id), redo=redo
        )
        return await add_tab_counts(self._tabs, undo, wait_tabs / 1000)

    def on_edit(self, listener: EditListener) -> Callable[[], None]:
        """Call a listener after each edit that was made through this server.

        The edit service itself calls the listener, so that the data can be relied on, unlike an
        event, which every user who may post to ``/api/events`` can forge. If a listener raises an
        exception, it is logged.

        Parameters
        ----------
        listener
            A function or coroutine function that takes the data of the event
            ``jupyter_nbedit/edit/v1``. It runs in a task of its own, so that it may edit, too.

        Returns
        -------
        A function that removes the listener.
        """
        tasks = set[asyncio.Future[None]]()

        async def call(data: dict[str, Any]) -> None:
            number = data["edit_id"]
            try:
                result = listener(data)
                if inspect.isawaitable(result):
                    await result
            except Exception:
                self.log.exception("A listener for edits failed at edit %s", number)

        def start(data: Mapping[str, Any]) -> None:
            task = asyncio.ensure_future(call(copy.deepcopy(dict(data))))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        return self._events.listen(start)


def _build_metadata(
    client: str | None,
    message: str | None,
    hash: str | None,  # noqa: A002 -- the name of the field in the REST API
    dry_run: bool,  # noqa: FBT001 -- private
) -> dict[str, Any]:
    fields = {"client": client, "message": message, "hash": hash, "dry_run": dry_run}
    return {name: value for name, value in fields.items() if value is not None}


def _validate_body(body_type: type[_Body], **fields: Any) -> _Body:
    """Decode the arguments in the same way as the body of a request."""
    return decode_body(json.dumps(fields, default=msgspec.to_builtins).encode(), body_type)


def _build_request(path: str, user: str, body: ChangeBody) -> WriteRequest:
    return WriteRequest(
        path,
        Author(user, get_or_none(body.client), get_or_none(body.message)),
        dry_run=body.dry_run,
        hash=get_or_none(body.hash),
    )
