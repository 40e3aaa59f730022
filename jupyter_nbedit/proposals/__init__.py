"""What is said of an edit that waits for a person to decide, or did."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import ProposalClosed
from jupyter_nbedit.history.entries import Touched
from jupyter_nbedit.parts import Part

Verdict = Literal["accepted", "rejected"]
Status = Literal["pending", "accepted", "rejected", "partly_accepted", "expired"]


class ProposedPart(Part, frozen=True, kw_only=True):
    """A part of a proposal, which can be decided alone."""

    status: Literal["pending", "accepted", "rejected"]


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
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
        list[Touched],
        Meta(description="The first 20 operations, as the event of an edit has them."),
    ]
    truncated: Annotated[bool, Meta(description="Whether there are more.")]
    diff: Annotated[str, Meta(description="What it would do, as a unified diff by cell.")]


class Proposal(Proposed, frozen=True, kw_only=True):
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
class Ruling:
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
    """

    verdict: Verdict
    parts: Collection[int]
    user: str
    client: str | None = None
    edit_id: int | None = None


def closed(proposal_id: int, status: Status, **details: Any) -> ProposalClosed:
    """Say that a proposal, or parts of it that the details name, wait for no decision."""
    what = "These parts of the proposal" if details else "The proposal"
    message = (
        f"{what} cannot be decided: its status is {status!r}, and only what is "
        "pending can be accepted or rejected. Nothing was written; have the change proposed anew."
    )
    return ProposalClosed(message, proposal_id=proposal_id, status=status, **details)
