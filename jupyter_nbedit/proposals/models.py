"""Proposals, decisions and claims, and the checks of their status."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import ProposalClosed
from jupyter_nbedit.history.models import CellDiff, TouchedCellEntry
from jupyter_nbedit.models import Claim

Verdict = Literal["accepted", "rejected"]
Status = Literal["pending", "accepted", "rejected", "partly_accepted", "expired"]


class ProposedPart(CellDiff, frozen=True, kw_only=True):
    """A part of a proposal, which can be decided separately."""

    status: Literal["pending", "accepted", "rejected"]


class ProposalContent(msgspec.Struct, frozen=True, kw_only=True):
    """What is proposed, by whom, and why."""

    kind: Annotated[
        Literal["edit", "create"],
        Meta(description="What accepting it does: edit the notebook, or create it."),
    ]
    user: Annotated[str, Meta(description="The user who proposed it, as known by the server.")]
    client: Annotated[
        str | None, Meta(description="The name of the client, as it states it; not verified.")
    ]
    message: Annotated[str | None, Meta(description="The reason, as the client states it.")]
    hash_before: Annotated[
        str | None, Meta(description="The version it was made for; null for a new notebook.")
    ]
    operations: Annotated[
        list[TouchedCellEntry],
        Meta(description="The first 20 operations, as the event of an edit has them."),
    ]
    truncated: Annotated[bool, Meta(description="Whether there are more.")]
    diff: Annotated[str, Meta(description="What it would do, as a unified diff by cell.")]
    # Null for proposals that an older release has stored, too.
    language: Annotated[
        str | None,
        Meta(description="The language of the code cells; null if the notebook does not name it."),
    ] = None


class Proposal(ProposalContent, frozen=True, kw_only=True):
    """A proposal and its status."""

    proposal_id: int
    path: str
    status: Annotated[
        Status,
        Meta(
            description="`pending` as long as any part is pending; `expired` if its time is over, "
            "whatever was accepted before."
        ),
    ]
    created: datetime
    expires: Annotated[datetime, Meta(description="Until when it can be decided.")]
    parts: list[ProposedPart]
    edit_ids: Annotated[list[int], Meta(description="The edits that have applied it.")]
    decided_by: Annotated[
        str | None, Meta(description="The user who decided last; null if no person has decided.")
    ]

    @property
    def pending(self) -> list[int]:
        """The numbers of the pending parts."""
        return [part.part for part in self.parts if part.status == "pending"]


@dataclass(frozen=True)
class DecisionRecord:
    """A decision to be stored.

    Parameters
    ----------
    verdict
        The decision.
    parts
        The numbers of the decided parts.
    user
        The person who decided, as known by the server.
    client
        The client of that person, as it states itself; not verified.
    edit_id
        The number of the edit that applied the parts.
    claim_id
        The number of the claim that the decision ends; None if there was no claim.
    """

    verdict: Verdict
    parts: Collection[int]
    user: str
    client: str | None = None
    edit_id: int | None = None
    claim_id: int | None = None


def check_pending(proposal: Proposal, parts: Collection[int]) -> None:
    """Check that a proposal and some of its parts are pending.

    Raises
    ------
    ProposalClosed
        If the proposal or one of the parts is not.
    """
    if proposal.status != "pending":
        raise build_closed_error(proposal.proposal_id, proposal.status)
    decided_parts = sorted(set(parts) - set(proposal.pending))
    if decided_parts:
        raise build_closed_error(proposal.proposal_id, proposal.status, parts=decided_parts)


def check_unclaimed(claims: Iterable[Claim], parts: Collection[int]) -> None:
    """Check that no server has claimed one of some parts.

    Raises
    ------
    ProposalClosed
        If a server has.
    """
    for claim in claims:
        if claim.covers(parts):
            message = (
                f"A server is accepting proposal {claim.proposal_id}, or parts of it, at this "
                "moment, so it cannot be decided here. Nothing was written; look at the proposal "
                "again in a moment."
            )
            raise ProposalClosed(
                message,
                proposal_id=claim.proposal_id,
                status="pending",
                parts=sorted(set(claim.parts).intersection(parts)),
            )


def build_closed_error(proposal_id: int, status: Status, **details: Any) -> ProposalClosed:
    """Return the error for a proposal, or parts of it, that is not pending."""
    subject = "These parts of the proposal" if details else "The proposal"
    message = (
        f"{subject} cannot be decided: its status is {status!r}, and only what is "
        "pending can be accepted or rejected. Nothing was written; have the change proposed anew."
    )
    return ProposalClosed(message, proposal_id=proposal_id, status=status, **details)


@dataclass(frozen=True)
class Decision:
    """The request of a person to accept or reject a proposal.

    Parameters
    ----------
    user
        The person, as known by the server.
    client
        The client of the person, as it states itself; not verified.
    parts
        The numbers of the parts to decide; None for all pending parts.
    hash
        The only version of the notebook that the parts may be applied to; None for any version.
    dry_run
        Compute the reply, and store nothing.
    session
        The session that counts as having read the notebook afterwards; see `ReadTracker`.
    """

    user: str
    client: str | None = None
    parts: Collection[int] | None = None
    hash: str | None = None
    dry_run: bool = False
    session: str = ""
