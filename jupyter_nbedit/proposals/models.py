"""What is said of an edit that waits for a person to decide, or did."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import ProposalClosed
from jupyter_nbedit.history.models import CellDiff, TouchedCellEntry

Verdict = Literal["accepted", "rejected"]
Status = Literal["pending", "accepted", "rejected", "partly_accepted", "expired"]


class ProposedPart(CellDiff, frozen=True, kw_only=True):
    """A part of a proposal, which can be decided alone."""

    status: Literal["pending", "accepted", "rejected"]


class ProposalContent(msgspec.Struct, frozen=True, kw_only=True):
    """What was proposed, by whom, and why."""

    kind: Annotated[
        Literal["edit", "create"],
        Meta(description="What accepting it does: edit the notebook, or create it."),
    ]
    user: Annotated[str, Meta(description="The user name the server knows the proposer by.")]
    client: Annotated[str | None, Meta(description="What the proposer calls itself; not verified.")]
    message: Annotated[str | None, Meta(description="Why, in the proposer's words.")]
    hash_before: Annotated[
        str | None, Meta(description="The version it was made for; null for a new notebook.")
    ]
    operations: Annotated[
        list[TouchedCellEntry],
        Meta(description="The first 20 operations, as the event of an edit has them."),
    ]
    truncated: Annotated[bool, Meta(description="Whether there are more.")]
    diff: Annotated[str, Meta(description="What it would do, as a unified diff by cell.")]
    # Null, too, for what was proposed to a server that did not store it yet.
    language: Annotated[
        str | None,
        Meta(description="The language of the code cells; null if the notebook does not name it."),
    ] = None


class Proposal(ProposalContent, frozen=True, kw_only=True):
    """An edit that waits for a person to decide, or did."""

    proposal_id: int
    path: str
    status: Annotated[
        Status,
        Meta(
            description="What has become of it: `pending` as long as any part is, `expired` if "
            "time has ended it, whatever had been accepted before."
        ),
    ]
    created: datetime
    expires: Annotated[datetime, Meta(description="Until when it can be decided.")]
    parts: list[ProposedPart]
    edit_ids: Annotated[list[int], Meta(description="The edits that accepting it has made.")]
    decided_by: Annotated[
        str | None, Meta(description="Who decided last; null if nobody did yet, or time.")
    ]

    @property
    def pending(self) -> list[int]:
        """The numbers of the parts that wait."""
        return [part.part for part in self.parts if part.status == "pending"]


@dataclass(frozen=True)
class DecisionRecord:
    """What was decided.

    Parameters
    ----------
    verdict
        Whether it is to be done.
    parts
        The numbers of the parts that this is about.
    user
        The user name the server knows the person by who decided.
    client
        What they decided with; not verified.
    edit_id
        The number of the edit that was made of the parts.
    claim
        The number of the claim that this ends; None if nothing had to be claimed.
    """

    verdict: Verdict
    parts: Collection[int]
    user: str
    client: str | None = None
    edit_id: int | None = None
    claim: int | None = None


@dataclass(frozen=True)
class Claim:
    """What a server is accepting; until that is decided, nobody else decides on it.

    Parameters
    ----------
    claim
        Its number.
    proposal_id, parts
        The proposal and the numbers of its parts; there are none if the proposal has none.
    server
        The run of the server; see `Presence`.
    user, client
        Who accepts them, and with what.
    hash_before, hash_after
        Of the notebook right before and right after the write; the first is None for a new
        notebook, and both are if the write has not begun.
    edit_id
        The number of the edit, once that is in the history.
    """

    claim: int
    proposal_id: int
    parts: Collection[int]
    server: str
    user: str
    client: str | None
    hash_before: str | None = None
    hash_after: str | None = None
    edit_id: int | None = None

    def is_about(self, parts: Collection[int]) -> bool:
        """Return whether it is about one of some parts, or about a proposal that has none."""
        return not self.parts or not parts or not set(self.parts).isdisjoint(parts)


def check_pending(proposal: Proposal, parts: Collection[int]) -> None:
    """Raise an error if a proposal, or one of some parts of it, waits for no decision.

    Raises
    ------
    ProposalClosed
    """
    if proposal.status != "pending":
        raise build_closed_error(proposal.proposal_id, proposal.status)
    decided = sorted(set(parts) - set(proposal.pending))
    if decided:
        raise build_closed_error(proposal.proposal_id, proposal.status, parts=decided)


def check_unclaimed(claims: Iterable[Claim], parts: Collection[int]) -> None:
    """Raise an error if a server is accepting one of some parts at this moment.

    Raises
    ------
    ProposalClosed
    """
    for claim in claims:
        if claim.is_about(parts):
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
    """Return the error that a proposal, or parts of it, are decided already."""
    what = "These parts of the proposal" if details else "The proposal"
    message = (
        f"{what} cannot be decided: its status is {status!r}, and only what is "
        "pending can be accepted or rejected. Nothing was written; have the change proposed anew."
    )
    return ProposalClosed(message, proposal_id=proposal_id, status=status, **details)


@dataclass(frozen=True)
class Decision:
    """Who decides on a proposal, and on what of it.

    Parameters
    ----------
    user
        The user name the server knows the person by.
    client
        What they decide with; not verified.
    parts
        The numbers of the parts that are decided; None for all that wait.
    hash
        The only version of the notebook they may be accepted for; None takes whatever is there.
    dry_run
        Answer what accepting would do, and do nothing.
    session
        Who then has seen the notebook; see `ReadTracker`.
    """

    user: str
    client: str | None = None
    parts: Collection[int] | None = None
    hash: str | None = None
    dry_run: bool = False
    session: str = ""
