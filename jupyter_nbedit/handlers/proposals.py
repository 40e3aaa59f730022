"""The routes of proposals: list, read, accept, reject and reopen them."""

from http import HTTPStatus
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.base import NbEditHandler, parse_number
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery, specify_edit
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.notebook.undo.revert import ChosenSource, Resolution
from jupyter_nbedit.services.proposals.models import Proposal
from jupyter_nbedit.services.proposals.service import MAX_WAIT
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import ClientName, get_or_none
from jupyter_nbedit.text.history import render_proposal

_MAX_LISTED = 200
_MAX_REASON_LENGTH = 1_000


class ProposalsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of all."""

    path: Annotated[
        str | UnsetType, Meta(description="Only those for the notebook with this API path.")
    ] = UNSET
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

    hash: Annotated[
        str | UnsetType,
        Meta(description="The version that may be changed; the same as `If-Match`."),
    ] = UNSET
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
    async def get(self, query: ProposalsQuery) -> None:
        """List proposals for notebooks that can be read now."""
        proposals = await self.services.proposals.list_newest(
            get_or_none(query.path), only_pending=query.status == "pending", limit=query.limit
        )
        self.send_reply(ProposalsReply(proposals))


class ProposalHandler(NbEditHandler):
    """``/nbedit/proposals/{proposal_id}``."""

    @OperationSpec(
        "Read a proposal",
        has_text=True,
        query=ProposalQuery,
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[errors.ProposalNotFound, errors.HistoryUnavailable],
    )
    async def get(self, proposal_id: str, query: ProposalQuery) -> None:
        """Return what was proposed and decided; wait for the decision if the query says so.

        Pending parts are compared with the notebook as it is now.
        """
        proposals, number = self.services.proposals, parse_number(proposal_id)
        proposal = await proposals.compare(await proposals.wait(number, query.wait))
        self.send_reply(proposal, render_proposal)


class AcceptHandler(EditingHandler):
    """``/nbedit/proposals/{proposal_id}/accept``."""

    @specify_edit(
        "Accept a proposal",
        body=AcceptBody,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [spec.ETAG])},
        errors=[
            *spec.READ_ERRORS,
            *spec.WRITE_ERRORS,
            errors.ProposalNotFound,
            errors.ProposalClosed,
            errors.CellChanged,
            errors.NotebookExists,
            errors.HashMismatch,
            errors.PageUnknown,
        ],
    )
    async def post(self, proposal_id: str, body: AcceptBody, query: TabsQuery) -> None:
        """Apply the proposal, or parts of it, to the notebook as it is now."""
        number, author = parse_number(proposal_id), self.build_author(get_or_none(body.client))
        reply = await self.services.accept.accept(
            number,
            get_or_none(body.parts),
            author,
            hash=self.get_expected_hash(get_or_none(body.hash)),
            dry_run=body.dry_run,
            resolution=body.build_resolution(),
            wait_tabs=query.wait_tabs / 1000,
        )
        self.send_edit(reply)
        if not body.dry_run:
            self.log_decision("accept", author, number)


class RejectHandler(NbEditHandler):
    """``/nbedit/proposals/{proposal_id}/reject``."""

    @OperationSpec(
        "Reject a proposal",
        has_text=True,
        body=RejectBody,
        headers=[spec.IDEMPOTENCY_KEY, *spec.DECISION_HEADERS],
        replies={HTTPStatus.OK: Reply(Proposal, "The proposal as it is now.")},
        errors=[
            errors.ProposalNotFound,
            errors.ProposalClosed,
            errors.PageUnknown,
            errors.IdempotencyMismatch,
            errors.HistoryUnavailable,
        ],
    )
    async def post(self, proposal_id: str, body: RejectBody) -> None:
        """Reject the proposal, or parts of it."""
        number, author = parse_number(proposal_id), self.build_author(get_or_none(body.client))
        self.authorize("reject", author)
        proposal = await self.services.proposals.reject(
            number, get_or_none(body.parts), author, get_or_none(body.reason) or None
        )
        self.log_decision("reject", author, number)
        self.send_reply(proposal, render_proposal)


class ReopenHandler(NbEditHandler):
    """``/nbedit/proposals/{proposal_id}/reopen``."""

    @OperationSpec(
        "Reopen a proposal",
        has_text=True,
        body=DecisionBody,
        headers=[spec.IDEMPOTENCY_KEY, *spec.DECISION_HEADERS],
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
    async def post(self, proposal_id: str, body: DecisionBody) -> None:
        """Make rejected parts pending again, until the proposal expires: undo their rejection."""
        number, author = parse_number(proposal_id), self.build_author(get_or_none(body.client))
        self.authorize("reopen", author)
        proposal = await self.services.proposals.reopen(number, get_or_none(body.parts), author)
        self.log_decision("reopen", author, number)
        self.send_reply(proposal, render_proposal)


_PROPOSAL = r"/nbedit/proposals/(?P<proposal_id>[0-9]+)"
routes: list[Route] = [
    (r"/nbedit/proposals", ProposalsHandler),
    (_PROPOSAL, ProposalHandler),
    (rf"{_PROPOSAL}/accept", AcceptHandler),
    (rf"{_PROPOSAL}/reject", RejectHandler),
    (rf"{_PROPOSAL}/reopen", ReopenHandler),
]
