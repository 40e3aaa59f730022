"""What requests may do: read it, change it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.edits.modes import Mode
from jupyter_nbedit.errors import (
    HistoryUnavailable,
    NotAPlainFile,
    NotebookNotFound,
    StorageFailure,
)
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.openapi.spec import OperationSpec, Reply
from jupyter_nbedit.models import get_or_none

_ERRORS = (NotebookNotFound, NotAPlainFile, StorageFailure)

_Path = Annotated[
    str,
    Meta(description="The API path of a notebook; without it the request is about the server."),
]
_MODE = (
    "In `review` mode an edit is kept as a proposal until a person has decided; in `plan` mode "
    "every change is refused that is not a dry run."
)


class ModeQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    path: _Path | UnsetType = UNSET


class ModeBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a PUT."""

    mode: Annotated[
        Mode | None,
        Meta(
            description=f"{_MODE} Null takes a notebook's own mode away, and gives the server the "
            "one that it is configured with."
        ),
    ]
    path: _Path | UnsetType = UNSET


class ModeReply(msgspec.Struct, frozen=True, kw_only=True):
    """What requests may do to a notebook, or to all that have no mode of their own."""

    path: str | None
    mode: Annotated[
        Mode,
        Meta(description=f"What holds: the notebook's own mode, or else the server's. {_MODE}"),
    ]
    own: Annotated[
        Mode | None,
        Meta(description="The notebook's own, which outlasts a restart; null if it has none."),
    ]
    server: Annotated[
        Mode, Meta(description="The server's; after a restart it is as configured again.")
    ]
    fixed: Annotated[
        bool, Meta(description="Whether modes cannot be changed here (`NbEditApp.mode_is_fixed`).")
    ]
    unreadable: Annotated[
        str | None,
        Meta(
            description="Why nobody knows the notebook's own mode or, without a path, the modes of "
            "some notebooks; null if they are known. Until a person decides with a PUT, such "
            "notebooks are not changed (503 `modes_unreadable`), and `own` is null for them."
        ),
    ]


class ModeHandler(NbEditHandler):
    """``/nbedit/mode``."""

    @OperationSpec(
        "What requests may do",
        query=ModeQuery,
        replies={HTTPStatus.OK: Reply(ModeReply, "The mode.")},
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Answer with the mode of a notebook, or of the server."""
        await self._answer_mode(get_or_none(self.parse_query(ModeQuery).path))

    @OperationSpec(
        "Change what requests may do",
        body=ModeBody,
        replies={HTTPStatus.OK: Reply(ModeReply, "The mode as it is now.")},
        errors=[*_ERRORS, HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def put(self) -> None:
        """Set the mode of a notebook, or of the server.

        If notebooks' own modes cannot be read, or were lost, this decides: for all notebooks of
        this server, which then have none, or for the one at `path`.
        """
        body = await self.parse_body(ModeBody)
        path = get_or_none(body.path)
        modes, user = self.services.modes, self.current_user.username
        if path is None:
            await modes.change_server(body.mode, user)
        else:
            await self.check(path)
            await modes.change(path, body.mode, user)
        await self._answer_mode(path)

    async def _answer_mode(self, path: str | None) -> None:
        if path is not None:
            await self.check(path)
        modes = self.services.modes
        unreadable = await modes.explain_unreadable(path)
        own = None if path is None or unreadable is not None else await modes.get_own(path)
        self.finish_json(
            ModeReply(
                path=path,
                mode=own or modes.server,
                own=own,
                server=modes.server,
                fixed=modes.is_fixed,
                unreadable=unreadable,
            )
        )

    async def check(self, path: str) -> None:
        """Refuse a path that is no notebook's.

        Raises
        ------
        NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
        """
        if not path.endswith(".ipynb"):
            raise NotebookNotFound
        await self.services.storages.check(path)
