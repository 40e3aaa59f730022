"""The Python API for other server extensions: edit notebooks, undo edits, listen to edits."""

import asyncio
import copy
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from jupyter_nbedit.notebook.decode_body import decode_body
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.services.all_services import Services
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import (
    Author,
    ChangeBody,
    EditBody,
    KeepBody,
    RedoBody,
    RestoreBody,
    UndoBody,
    Whose,
    WriteRequest,
    check_redo_body,
    get_or_none,
)
from jupyter_nbedit.services.unseen.models import UnseenReply

#: Only these names of this package and those of `jupyter_nbedit.errors` are public.
__all__ = ["EditListener", "EditReply", "PythonAPI", "UnseenReply"]

#: Is called after an edit with the data of its event; may be a coroutine function.
EditListener = Callable[[dict[str, Any]], Awaitable[None] | None]

_Body = TypeVar("_Body", bound=msgspec.Struct)


@dataclass(frozen=True)
class PythonAPI:
    """The object ``settings["jupyter_nbedit"]`` of the server's web application.

    Its methods must be called on the event loop of the server. They raise an
    `jupyter_nbedit.errors.NbEditError` with the ``reason``, ``message`` and ``details`` of the
    HTTP error; then nothing was written. They check no permissions: the caller must make sure that
    ``user`` may write.
    """

    _services: Services
    log: Logger
    #: Whether the server makes up users: then all of them are one account.
    _has_random_users: bool = False

    async def edit(  # noqa: PLR0913 -- the fields of a request
        self,
        path: str,
        operations: Sequence[Operation | Mapping[str, Any]],
        *,
        user: str,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        rev: str | None = None,
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Apply operations to a notebook, all of them or none.

        ``path`` is the API path of the notebook. ``operations`` are as in the body of a ``PATCH``,
        or structs of `jupyter_nbedit.notebook.operations`. ``user`` is who makes the edit, as known
        by the server; ``client`` names the client, and ``message`` is the reason of the edit.
        ``hash`` is the only version of the notebook that the edit may be applied to; ``rev`` is the
        beginning of the hash of the version that the caller has read, which chooses among cells
        with the same guarded name. With ``dry_run`` the reply is computed, and nothing is written.
        ``wait_tabs`` is how many milliseconds to wait at most until every open tab has reported
        what it did with the edit.
        """
        body = _build_body(
            EditBody,
            operations=operations,
            client=client,
            message=message,
            hash=hash,
            rev=rev,
            dry_run=dry_run,
        )
        request = self._build_request(path, user, body, wait_tabs)
        return await self._services.edits.edit(request, body.operations)

    async def undo(  # noqa: PLR0913 -- the fields of a request
        self,
        path: str,
        edit_id: int | None = None,
        *,
        user: str,
        redo: bool = False,
        whose: Whose | None = None,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Undo the edit with a number, or redo it if it is undone.

        Without ``edit_id`` this is the newest edit of the same user and client that can be undone
        or redone; with ``whose="all"``, the newest of all. The other arguments are as in `edit`.
        """
        fields = {"client": client, "message": message, "hash": hash, "dry_run": dry_run}
        body = _build_body(RedoBody, edit_id=edit_id, whose=whose, **fields)
        check_redo_body(body)
        request = self._build_request(path, user, body, wait_tabs)
        number = get_or_none(body.edit_id)
        return await self._services.edits.undo(request, number, redo=redo, whose=whose or "own")

    async def get_unseen(self, path: str, *, user: str) -> UnseenReply:
        """Return the net change of each cell of a notebook that a user has not kept.

        If the server makes up the names of its users, as for its token, all users are one account.
        """
        return await self._services.unseen.get(path, self._get_account(user))

    async def keep(
        self, path: str, keys: Sequence[str] | None = None, *, user: str, until: int | None = None
    ) -> UnseenReply:
        """Mark changes as seen by a user, all without ``keys``; return what is left.

        ``until`` is the newest edit that the user knows; changes by later edits stay unseen.
        """
        body = _build_body(KeepBody, cells=keys, until=until)
        return await self._services.unseen.keep(
            path, self._get_account(user), get_or_none(body.cells), get_or_none(body.until)
        )

    async def undo_cells(  # noqa: PLR0913 -- the fields of a request
        self,
        path: str,
        keys: Sequence[str],
        *,
        user: str,
        until: int | None = None,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Return cells to the last state that a user has kept, across edits, as one edit.

        ``keys`` come from the reply of `get_unseen`. If an edit after ``until`` has changed one of
        the cells, nothing is written. The other arguments are as in `edit`.
        """
        fields = {"client": client, "message": message, "hash": hash, "dry_run": dry_run}
        body = _build_body(UndoBody, cells=keys, until=until, **fields)
        request = self._build_request(path, user, body, wait_tabs)
        return await self._services.unseen.undo(request, body.cells or (), get_or_none(body.until))

    async def restore(  # noqa: PLR0913 -- the fields of a request
        self,
        path: str,
        edit_id: int,
        *,
        user: str,
        client: str | None = None,
        message: str | None = None,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
        wait_tabs: float = 0,
    ) -> EditReply:
        """Return a notebook to what it was after an edit; the arguments are as in `edit`."""
        fields = {"client": client, "message": message, "hash": hash, "dry_run": dry_run}
        body = _build_body(RestoreBody, edit_id=edit_id, **fields)
        return await self._services.edits.restore(
            self._build_request(path, user, body, wait_tabs), body.edit_id
        )

    def _build_request(
        self, path: str, user: str, body: ChangeBody, wait_tabs: float
    ) -> WriteRequest:
        client, message = get_or_none(body.client), get_or_none(body.message)
        return WriteRequest(
            path,
            Author(user, client, message, account=self._get_account(user)),
            dry_run=body.dry_run,
            hash=get_or_none(body.hash),
            must_have_read=False,
            rev=get_or_none(getattr(body, "rev", UNSET)),
            wait_tabs=wait_tabs / 1000,
        )

    def _get_account(self, user: str) -> str:
        """Return the name under which the server knows a user in all requests."""
        return "" if self._has_random_users else user

    def on_edit(self, listener: EditListener) -> Callable[[], None]:
        """Call a listener after each edit that was made through this server.

        The edit service itself calls the listener, and the data can be trusted. An event cannot,
        because every user who may post to ``/api/events`` can forge it. The listener is a function
        or coroutine function that takes the data of the event ``urn:jupyter-nbedit:edit:v1``. The
        listener runs in a task of its own, so that it may edit, too; its exceptions are logged.
        Return a function that removes the listener.
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

        return self._services.events.listen(start)


def _build_body(body_type: type[_Body], **fields: Any) -> _Body:
    """Decode the arguments in the same way as the body of a request, where None is left out."""
    given = {name: value for name, value in fields.items() if value is not None}
    return decode_body(json.dumps(given, default=msgspec.to_builtins).encode(), body_type)
