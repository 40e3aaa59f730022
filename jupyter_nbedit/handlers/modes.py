"""The route of modes: what requests may do with the notebooks of the server, or with one."""

from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.spec import DECISION_HEADERS, OperationSpec, Reply, Route
from jupyter_nbedit.services.modes import Mode
from jupyter_nbedit.services.requests import get_or_none

_MODE_ERRORS = (errors.NotebookNotFound, errors.NotAPlainFile, errors.StorageFailure)

_NotebookPath = Annotated[
    str, Meta(description="The API path of a notebook; without it the request is about the server.")
]
_MODE = (
    "In `review` mode an edit becomes a proposal until a person has decided; in `plan` mode every "
    "change that is not a dry run is an error."
)


class ModeQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    path: _NotebookPath | UnsetType = UNSET


class ModeBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a PUT."""

    mode: Annotated[
        Mode | None,
        Meta(
            description=f"{_MODE} Null removes a notebook's own mode, and sets the mode of the "
            "server to the configured one."
        ),
    ]
    path: _NotebookPath | UnsetType = UNSET


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
    writable: Annotated[
        bool,
        Meta(
            description="Whether the user of the request may change notebooks: whether the "
            "authorizer of the server allows `write` for `nbedit` and for `contents`."
        ),
    ]


class ModeHandler(NbEditHandler):
    """``/nbedit/mode``."""

    @OperationSpec(
        "The mode of the server or of a notebook",
        query=ModeQuery,
        replies={HTTPStatus.OK: Reply(ModeReply, "The mode.")},
        errors=_MODE_ERRORS,
    )
    async def get(self, query: ModeQuery) -> None:
        """Return the mode of a notebook, or of the server."""
        path = get_or_none(query.path)
        await self._check_path(path)
        await self._send_mode(path, is_writable=await self.has_write_right())

    @OperationSpec(
        "Change the mode",
        body=ModeBody,
        headers=DECISION_HEADERS,
        replies={HTTPStatus.OK: Reply(ModeReply, "The mode as it is now.")},
        errors=[*_MODE_ERRORS, errors.HistoryUnavailable, errors.PageUnknown],
    )
    async def put(self, body: ModeBody) -> None:
        """Set the mode of a notebook, or of the server.

        If the modes of notebooks cannot be read or were lost, this is the decision of a person.
        With `path` it holds for this notebook. Without `path` it holds for all notebooks of the
        server, which then have no modes of their own.
        """
        path = get_or_none(body.path)
        await self._check_path(path)
        modes, user = self.services.modes, self.user_name
        author = self.build_author()
        self.authorize("set_mode", author)
        if path is None:
            await modes.change_server(body.mode, user)
        else:
            await modes.change(path, body.mode, user)
        await self.services.edits.wait_for_writes()
        self.log_decision("set_mode", author, path)
        # The same rights as for this request.
        await self._send_mode(path, is_writable=True)

    async def _check_path(self, path: str | None) -> None:
        """Raise the error of the storage, or `NotebookNotFound` if it is no notebook's path."""
        if path is not None:
            if not path.endswith(".ipynb"):
                raise errors.NotebookNotFound
            await self.services.storages.check(path)

    async def _send_mode(self, path: str | None, *, is_writable: bool) -> None:
        modes = self.services.modes
        if path is None:
            own, unreadable = None, await modes.explain_unreadable()
        else:
            own, unreadable = await modes.read_own(path)
        self.send_reply(
            ModeReply(
                path=path,
                mode=modes.compute_effective(own),
                own=own,
                server=modes.server,
                fixed=modes.is_fixed,
                unreadable=unreadable,
                writable=is_writable,
            )
        )


routes: list[Route] = [(r"/nbedit/mode", ModeHandler)]
