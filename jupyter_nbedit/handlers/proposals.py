"""The routes of proposals: list, wait for a decision, accept, reject."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit import errors
from jupyter_nbedit.errors import HistoryUnavailable, ProposalClosed, ProposalNotFound
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.openapi import (
    EDIT_HEADERS,
    ETAG,
    IDEMPOTENCY_KEY,
    READ_ERRORS,
    WRITE_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.models import Author, ClientName, EditReply, get_or_none
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER
from jupyter_nbedit.proposals.models import Proposal
from jupyter_nbedit.proposals.service import LONGEST_WAIT

_MOST_LISTED = 200


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
            description="How many seconds to wait until the proposal is no longer pending.",
        ),
    ] = 0


class RejectBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a POST to reject."""

    parts: (
        Annotated[
            list[Annotated[int, Meta(ge=0, le=LARGEST_INTEGER)]],
            Meta(
                min_length=1,
                description="The numbers of the parts to decide; without it all pending parts. It "
                "must be left out for a new notebook.",
            ),
        ]
        | UnsetType
    ) = UNSET
    client: ClientName | UnsetType = UNSET


class AcceptBody(RejectBody, frozen=True, kw_only=True):
    """The body of a POST to accept."""

    hash: (
        Annotated[
            str,
            Meta(description="The version that may be changed; the same as `If-Match`."),
        ]
        | UnsetType
    ) = UNSET
    dry_run: Annotated[bool, Meta(description="Compute the reply, write nothing.")] = False


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
        proposals = await self.services.proposals.list_newest(
            get_or_none(query.path), only_pending=query.status == "pending", limit=query.limit
        )
        self.finish_json(ProposalsReply(proposals))


class ProposalHandler(NbEditHandler):
    """``/nbedit/proposals/{proposal_id}``."""

    @OperationSpec(
        "Read a proposal",
        query=ProposalQuery,
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[ProposalNotFound, HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def get(self, proposal_id: str) -> None:
        """Return what was proposed and decided; wait for the decision if the query says so."""
        wait = self.parse_query(ProposalQuery).wait
        self.finish_json(await self.services.proposals.wait(_parse_number(proposal_id), wait))


class DecisionHandler(EditingHandler):
    """A handler whose verb decides on a proposal."""

    def build_decider(self, body: RejectBody) -> Author:
        """Return the user who decides."""
        return Author(self.current_user.username, get_or_none(body.client), session=self.session)


class AcceptHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/accept``."""

    @OperationSpec(
        "Accept a proposal",
        query=TabsQuery,
        body=AcceptBody,
        headers=EDIT_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG])},
        errors=[
            *READ_ERRORS,
            *WRITE_ERRORS,
            ProposalNotFound,
            ProposalClosed,
            errors.CellChanged,
            errors.NotebookExists,
            errors.HashMismatch,
        ],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Apply the proposal, or parts of it, to the notebook as it is now."""
        body = await self.parse_body(AcceptBody)
        number, wait_tabs = _parse_number(proposal_id), self.parse_query(TabsQuery).wait_tabs
        digest = self.get_expected_hash(get_or_none(body.hash))
        if not await self.replay_response():
            acceptance = self.services.accept.accept(
                number,
                get_or_none(body.parts),
                self.build_decider(body),
                hash=digest,
                dry_run=body.dry_run,
            )
            await self.send_edit(acceptance, wait_tabs)


class RejectHandler(DecisionHandler):
    """``/nbedit/proposals/{proposal_id}/reject``."""

    @OperationSpec(
        "Reject a proposal",
        body=RejectBody,
        headers=[IDEMPOTENCY_KEY],
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[ProposalNotFound, ProposalClosed, errors.IdempotencyMismatch, HistoryUnavailable],
    )
    @web.authenticated
    @authorized
    async def post(self, proposal_id: str) -> None:
        """Reject the proposal, or parts of it."""
        body = await self.parse_body(RejectBody)
        number = _parse_number(proposal_id)
        if not await self.replay_response():
            proposal = await self.services.proposals.reject(
                number, get_or_none(body.parts), self.build_decider(body)
            )
            self.send_response(StoredResponse(encode_json(proposal)))


def _parse_number(text: str) -> int:
    """Return the number of a proposal; raise `ProposalNotFound` if it is too large."""
    number = int(text)
    if number > LARGEST_INTEGER:
        raise ProposalNotFound
    return number
