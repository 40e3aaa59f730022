"""Proposals: list them, wait for a decision, decide."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.errors import (
    CellChanged,
    HashMismatch,
    HistoryUnavailable,
    IdempotencyMismatch,
    NotebookExists,
    ProposalClosed,
    ProposalNotFound,
)
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.openapi.spec import (
    ETAG,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    READ_ERRORS,
    SESSION,
    WRITE_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.models import LONGEST_LABEL, EditReply, get_or_none
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER
from jupyter_nbedit.proposals.models import Decision, Proposal
from jupyter_nbedit.proposals.service import LONGEST_WAIT

if TYPE_CHECKING:
    from jupyter_nbedit.proposals.service import ProposalService

_MOST_LISTED = 200

_Parts = Annotated[
    list[Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]],
    Meta(
        min_length=1,
        description="The numbers of the parts that are meant; all that are pending, if it is left "
        "out, as it must be for a new notebook.",
    ),
]
_Client = Annotated[
    str, Meta(max_length=LONGEST_LABEL, description="What you decide with; not verified.")
]


class ProposalsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of all."""

    path: (
        Annotated[str, Meta(description="Only those for the notebook with this API path.")]
        | UnsetType
    ) = UNSET
    status: Annotated[
        Literal["pending", "all"],
        Meta(description="Those that wait for a decision, or all that are remembered."),
    ] = "pending"
    limit: Annotated[
        int, Meta(ge=1, le=_MOST_LISTED, description="How many at most, the newest.")
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
            le=LONGEST_WAIT,
            description="How many seconds the answer may take: it comes when the proposal is no "
            "longer pending, or when they are over.",
        ),
    ] = 0


class AcceptBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a POST to accept."""

    parts: _Parts | UnsetType = UNSET
    hash: (
        Annotated[
            str,
            Meta(description="The version they may be accepted for; the same as `If-Match`."),
        ]
        | UnsetType
    ) = UNSET
    dry_run: Annotated[bool, Meta(description="Answer what would be, do nothing.")] = False
    client: _Client | UnsetType = UNSET


class RejectBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a POST to reject."""

    parts: _Parts | UnsetType = UNSET
    client: _Client | UnsetType = UNSET


class ProposalsHandler(NbEditHandler):
    """``/nbedit/proposals``."""

    @OperationSpec(
        "List proposals",
        query=ProposalsQuery,
        replies={HTTPStatus.OK: Reply(ProposalsReply, "The proposals, the newest first.")},
        errors=[HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List proposals for notebooks that can be read now."""
        query = self.parse_query(ProposalsQuery)
        found = await self.services.proposals.list_newest(
            get_or_none(query.path), only_pending=query.status == "pending", limit=query.limit
        )
        self.finish_json(ProposalsReply(found))


class ProposalHandler(NbEditHandler):
    """``/nbedit/proposals/{proposal_id}``."""

    _waiting: asyncio.Task[Proposal] | None = None

    @OperationSpec(
        "See what became of a proposal",
        query=ProposalQuery,
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[ProposalNotFound, HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self, proposal_id: str) -> None:
        """Answer with what was proposed and decided; wait for the decision if asked to."""
        query = self.parse_query(ProposalQuery)
        board: ProposalService = self.services.proposals
        waiting = asyncio.ensure_future(board.wait(_parse_number(proposal_id), query.wait))
        self._waiting = waiting
        try:
            await asyncio.wait([waiting])
        finally:
            waiting.cancel()
        if not waiting.cancelled():
            self.finish_json(waiting.result())

    def on_connection_close(self) -> None:
        """Wait no longer for whom nobody answers any more."""
        super().on_connection_close()
        if self._waiting is not None:
            self._waiting.cancel()


class DecisionHandler(EditingHandler):
    """A handler with a verb that decides."""

    def build_decision(self, body: AcceptBody | RejectBody, **more: Any) -> Decision:
        """Return who decides, and on what."""
        return Decision(
            user=self.current_user.username,
            client=get_or_none(body.client),
            parts=get_or_none(body.parts),
            session=self.session,
            **more,
        )


class AcceptHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/accept``."""

    @OperationSpec(
        "Accept a proposal",
        query=TabsQuery,
        body=AcceptBody,
        headers=[IF_MATCH, IDEMPOTENCY_KEY, SESSION],
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG])},
        errors=[
            *READ_ERRORS,
            *WRITE_ERRORS,
            ProposalNotFound,
            ProposalClosed,
            CellChanged,
            NotebookExists,
            HashMismatch,
        ],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Make the edit that was proposed, or parts of it, on the notebook as it is now."""
        body = await self.parse_body(AcceptBody)
        decision = self.build_decision(
            body, dry_run=body.dry_run, hash=self.get_expected_hash(get_or_none(body.hash))
        )
        number = _parse_number(proposal_id)
        await self.send(lambda: self.services.accept.accept(number, decision))


class RejectHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/reject``."""

    @OperationSpec(
        "Reject a proposal",
        body=RejectBody,
        headers=[IDEMPOTENCY_KEY],
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[ProposalNotFound, ProposalClosed, IdempotencyMismatch, HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Do without the edit that was proposed, or without parts of it."""
        body = await self.parse_body(RejectBody)
        decision, number = self.build_decision(body), _parse_number(proposal_id)

        async def work() -> StoredResponse:
            return StoredResponse(
                encode_json(await self.services.proposals.reject(number, decision))
            )

        await self.run_idempotent(work)


def _parse_number(text: str) -> int:
    """Read a number of a route.

    Raises
    ------
    ProposalNotFound
        If it is larger than any.
    """
    number = int(text)
    if number > LARGEST_INTEGER:
        raise ProposalNotFound
    return number
