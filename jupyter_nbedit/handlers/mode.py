"""The route of the modes of the server and of single notebooks."""

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
from jupyter_nbedit.handlers.openapi import OperationSpec, Reply
from jupyter_nbedit.models import get_or_none

_ERRORS = (NotebookNotFound, NotAPlainFile, StorageFailure)

_Path = Annotated[
    str,
    Meta(description="The API path of a notebook; without it the request is about the server."),
]
_MODE = (
    "In `review` mode an edit becomes a proposal until a person has decided; in `plan` mode every "
    "change that is not a dry run is an error."
)


class ModeQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    path: _Path | UnsetType = UNSET


class ModeBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a PUT."""

    mode: Annotated[
        Mode | None,
        Meta(
            description=f"{_MODE} Null removes a notebook's own mode, and sets the mode of the "
            "server to the configured one."
        ),
    ]
    path: _Path | UnsetType = UNSET


class ModeReply(msgspec.Struct, frozen=True, kw_only=True):
    """The mode of a notebook, or of the server."""

    path: str | None
    mode: Annotated[
        Mode,
        Meta(description=f"The effective mode: the notebook's own, or else the server's. {_MODE}"),
    ]
    own: Annotated[
        Mode | None,
        Meta(description="The notebook's own mode, which survives a restart; null without one."),
    ]
    server: Annotated[
        Mode, Meta(description="The server's mode; after a restart the configured one.")
    ]
    fixed: Annotated[
        bool, Meta(description="Whether modes cannot be changed (`NbEditApp.mode_is_fixed`).")
    ]
    unreadable: Annotated[
        str | None,
        Meta(
            description="Why the notebook's own mode or, without a path, the modes of some "
            "notebooks are unknown; null if they are known. Until a person decides with a PUT, "
            "such notebooks are not changed (503 `modes_unreadable`), and their `own` is null."
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
        """Return the mode of a notebook, or of the server."""
        path = get_or_none(self.parse_query(ModeQuery).path)
        await self._check_path(path)
        await self._send_mode(path)

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

        If the modes of notebooks cannot be read or were lost, this is the decision of a person: for
        all notebooks of the server, which then have no modes of their own, or for the one at
        `path`.
        """
        body = await self.parse_body(ModeBody)
        path = get_or_none(body.path)
        await self._check_path(path)
        modes, user = self.services.modes, self.current_user.username
        if path is None:
            await modes.change_server(body.mode, user)
        else:
            await modes.change(path, body.mode, user)
        await self._send_mode(path)

    async def _check_path(self, path: str | None) -> None:
        """Raise the error of a path that is not that of a notebook."""
        if path is not None:
            if not path.endswith(".ipynb"):
                raise NotebookNotFound
            await self.services.storages.check(path)

    async def _send_mode(self, path: str | None) -> None:
        modes = self.services.modes
        if path is None:
            own, unreadable = None, await modes.explain_unreadable()
        else:
            own, unreadable = await modes.read_own(path)
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
