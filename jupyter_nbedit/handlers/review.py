"""The routes of review: modes and proposals."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import openapi
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json, encode_text
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.openapi import OperationSpec, Reply
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.notebook.undo.cell_merge import ChosenSource, Resolution
from jupyter_nbedit.services.models import ClientName, EditReply, get_or_none
from jupyter_nbedit.services.modes import Mode
from jupyter_nbedit.services.proposals.models import Proposal
from jupyter_nbedit.services.proposals.service import MAX_WAIT
from jupyter_nbedit.text.history import render_proposal

_MAX_LISTED = 200
_MAX_REASON_LENGTH = 1_000
_MODE_ERRORS = (errors.NotebookNotFound, errors.NotAPlainFile, errors.StorageFailure)

_NotebookPath = Annotated[
    str,
    Meta(description="The API path of a notebook; without it the request is about the server."),
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
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Return the mode of a notebook, or of the server."""
        path = get_or_none(self.parse_query(ModeQuery).path)
        await self._check_path(path)
        await self._send_mode(path, is_writable=await self.has_write_right())

    @OperationSpec(
        "Change the mode",
        body=ModeBody,
        headers=openapi.DECISION_HEADERS,
        replies={HTTPStatus.OK: Reply(ModeReply, "The mode as it is now.")},
        errors=[*_MODE_ERRORS, errors.HistoryUnavailable, errors.PageUnknown],
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
        """Raise the error of a path that is not that of a notebook."""
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
        self.finish_json(
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


class ProposalsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of all."""

    path: (
        Annotated[str, Meta(description="Only those for the notebook with this API path.")]
        | UnsetType
    ) = UNSET
    status: Annotated[
        Literal["pending", "all"],
        Meta(description="Pending proposals only, or all that are stored."),
    ] = "pending"
    limit: Annotated[
        int, Meta(ge=1, le=_MAX_LISTED, description="How many at most, the newest.")
    ] = 50


class ProposalsReply(msgspec.Struct, frozen=True):
    """Proposals, the newest first."""

    proposals: list[Proposal]


class ProposalQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of one."""

    wait: Annotated[
        float,
        Meta(
            ge=0,
            le=MAX_WAIT,
            description="How many seconds to wait until the proposal is no longer pending.",
        ),
    ] = 0


class DecisionBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The fields of every request that decides on a proposal; the body of a POST to reopen."""

    parts: (
        Annotated[
            list[Annotated[int, Meta(ge=0, le=MAX_INTEGER)]],
            Meta(
                min_length=1,
                description="The numbers of the parts; without it all pending parts or, to "
                "reopen, all rejected ones. It must be left out for a new notebook.",
            ),
        ]
        | UnsetType
    ) = UNSET
    client: ClientName | UnsetType = UNSET


class RejectBody(DecisionBody, frozen=True, kw_only=True):
    """The body of a POST to reject."""

    reason: (
        Annotated[
            str,
            Meta(max_length=_MAX_REASON_LENGTH, description="Why, for the author of the proposal."),
        ]
        | UnsetType
    ) = UNSET


class SourceBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The source that a person wants in the cell of a part."""

    part: Annotated[int, Meta(ge=0, le=MAX_INTEGER, description="The number of the part.")]
    source_hash: Annotated[
        str | None,
        Meta(
            description="The source hash that the cell must have now, such as `current_hash` of "
            "the part; null for a new cell. If it has another one, the answer is 409 "
            "`cell_changed`."
        ),
    ]
    source: Annotated[
        str | None,
        Meta(description="The source; null deletes the cell, if the part is about that."),
    ]


class AcceptBody(DecisionBody, frozen=True, kw_only=True):
    """The body of a POST to accept."""

    hash: (
        Annotated[
            str,
            Meta(description="The version that may be changed; the same as `If-Match`."),
        ]
        | UnsetType
    ) = UNSET
    dry_run: Annotated[bool, Meta(description="Compute the reply, write nothing.")] = False
    merge: Annotated[
        bool,
        Meta(
            description="Whether sources that have changed since are merged by line. Those whose "
            "lines conflict, and with `false` all of them, are 409 `cell_changed`."
        ),
    ] = True
    sources: Annotated[
        list[SourceBody],
        Meta(
            description="The sources of cells as a person wants them, whatever was proposed for "
            "these cells; other members of the cells that have changed since stay as they are."
        ),
    ] = []

    def build_resolution(self) -> Resolution:
        """Return what becomes of cells that have changed; raise `InvalidRequest`."""
        chosen_sources = {
            each.part: ChosenSource(each.source_hash, each.source) for each in self.sources
        }
        if len(chosen_sources) < len(self.sources):
            message = "Expected `sources` to have each part once; found one of them twice."
            raise errors.InvalidRequest(message)
        return Resolution(chosen_sources, self.merge)


class ProposalsHandler(NbEditHandler):
    """``/nbedit/proposals``."""

    @OperationSpec(
        "List proposals",
        query=ProposalsQuery,
        replies={HTTPStatus.OK: Reply(ProposalsReply, "The proposals, the newest first.")},
        errors=[errors.HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List proposals for notebooks that can be read now."""
        query = self.parse_query(ProposalsQuery)
        proposals = await self.services.proposals.list_newest(
            get_or_none(query.path), only_pending=query.status == "pending", limit=query.limit
        )
        self.finish_json(ProposalsReply(proposals))


class ProposalHandler(NbEditHandler):
    """``/nbedit/proposals/{proposal_id}``."""

    @OperationSpec(
        "Read a proposal",
        has_text=True,
        query=ProposalQuery,
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[errors.ProposalNotFound, errors.HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self, proposal_id: str) -> None:
        """Return what was proposed and decided; wait for the decision if the query says so.

        Pending parts are compared with the notebook as it is now.
        """
        wait = self.parse_query(ProposalQuery).wait
        proposals = self.services.proposals
        proposal = await proposals.compare(await proposals.wait(_parse_number(proposal_id), wait))
        if self.prefers_text:
            self.finish_text(render_proposal(proposal))
        else:
            self.finish_json(proposal)


class DecisionHandler(EditingHandler):
    """A handler whose verb decides on a proposal."""

    def send_proposal(self, proposal: Proposal) -> None:
        """Send a proposal in the form that the client prefers, and store the response."""
        if self.prefers_text:
            self.send_response(StoredResponse(encode_text(render_proposal(proposal)), is_text=True))
        else:
            self.send_response(StoredResponse(encode_json(proposal)))


class AcceptHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/accept``."""

    @OperationSpec(
        "Accept a proposal",
        has_text=True,
        query=TabsQuery,
        body=AcceptBody,
        headers=openapi.EDIT_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [openapi.ETAG])},
        errors=[
            *openapi.READ_ERRORS,
            *openapi.WRITE_ERRORS,
            errors.ProposalNotFound,
            errors.ProposalClosed,
            errors.CellChanged,
            errors.NotebookExists,
            errors.HashMismatch,
            errors.PageUnknown,
        ],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Apply the proposal, or parts of it, to the notebook as it is now."""
        body = await self.parse_body(AcceptBody)
        resolution = body.build_resolution()
        number, wait_tabs = _parse_number(proposal_id), self.parse_query(TabsQuery).wait_tabs
        notebook_hash = self.get_expected_hash(get_or_none(body.hash))
        if not await self.replay_response():
            author = self.build_author(get_or_none(body.client))
            acceptance = self.services.accept.accept(
                number,
                get_or_none(body.parts),
                author,
                hash=notebook_hash,
                dry_run=body.dry_run,
                resolution=resolution,
                wait_tabs=wait_tabs / 1000,
            )
            self.send_edit(await acceptance)
            if not body.dry_run:
                self.log_decision("accept", author, number)


class RejectHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/reject``."""

    @OperationSpec(
        "Reject a proposal",
        has_text=True,
        body=RejectBody,
        headers=[openapi.IDEMPOTENCY_KEY, *openapi.DECISION_HEADERS],
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[
            errors.ProposalNotFound,
            errors.ProposalClosed,
            errors.PageUnknown,
            errors.IdempotencyMismatch,
            errors.HistoryUnavailable,
        ],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Reject the proposal, or parts of it."""
        body = await self.parse_body(RejectBody)
        number = _parse_number(proposal_id)
        if not await self.replay_response():
            author = self.build_author(get_or_none(body.client))
            self.authorize("reject", author)
            proposal = await self.services.proposals.reject(
                number, get_or_none(body.parts), author, get_or_none(body.reason) or None
            )
            self.log_decision("reject", author, number)
            self.send_proposal(proposal)


class ReopenHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/reopen``."""

    @OperationSpec(
        "Reopen a proposal",
        has_text=True,
        body=DecisionBody,
        headers=[openapi.IDEMPOTENCY_KEY, *openapi.DECISION_HEADERS],
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[
            errors.ProposalNotFound,
            errors.ProposalClosed,
            errors.TooManyProposals,
            errors.PageUnknown,
            errors.IdempotencyMismatch,
            errors.HistoryUnavailable,
        ],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Make rejected parts pending again, until the proposal expires: undo their rejection."""
        body = await self.parse_body(DecisionBody)
        number = _parse_number(proposal_id)
        if not await self.replay_response():
            author = self.build_author(get_or_none(body.client))
            self.authorize("reopen", author)
            proposal = await self.services.proposals.reopen(number, get_or_none(body.parts), author)
            self.log_decision("reopen", author, number)
            self.send_proposal(proposal)


def _parse_number(text: str) -> int:
    """Return the number of a proposal; raise `ProposalNotFound` if it is too large."""
    # Python refuses to parse thousands of digits.
    if len(text) > len(str(MAX_INTEGER)) or int(text) > MAX_INTEGER:
        raise errors.ProposalNotFound
    return int(text)
