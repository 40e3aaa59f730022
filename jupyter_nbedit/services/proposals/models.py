"""Proposals and their parts, and the check of their status."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidRequest, ProposalClosed
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import AffectedCell
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.part_states import PartStateName
from jupyter_nbedit.notebook.undo.record import CellState
from jupyter_nbedit.services.history.models import CellDiff

#: The most operations that a proposal lists.
MAX_OPERATIONS = 20
Verdict = Literal["accepted", "rejected"]
Status = Literal["pending", "accepted", "rejected", "partly_accepted", "expired"]


class ProposedPart(CellDiff, frozen=True, kw_only=True):
    """A part of a proposal, which can be decided separately.

    The fields from `state` on are only in the reply to a GET of one proposal, for its pending
    parts. They are missing for a new notebook, if the notebook cannot be read now, and while
    another request decides.
    """

    status: Literal["pending", "accepted", "rejected"]
    reason: Annotated[
        str | None, Meta(description="Why a person rejected it; null without a reason.")
    ] = None
    edit_id: Annotated[
        int | None,
        Meta(
            description="The edit that has accepted it. While that edit is undone, the part is "
            "pending again."
        ),
    ] = None
    cell_above: Annotated[
        str | None,
        Meta(
            description="Of a cell to insert or to move: the id of the nearest cell above its new "
            "place that the proposal neither moves nor deletes. It is null if there is no such "
            "cell, or if the cell has no id."
        ),
    ] = None
    cell_below: Annotated[str | None, Meta(description="The same below its new place.")] = None
    state: Annotated[
        PartStateName | UnsetType,
        Meta(
            description="Its cell in the notebook as it is now: `as_proposed` if the part can "
            "be accepted, `changed` since the part was proposed, `gone`, or `ambiguous` if "
            "the cell or its place is not certain."
        ),
    ] = UNSET
    current: Annotated[
        CellState | UnsetType, Meta(description="The cell as it is now, if it is `changed`.")
    ] = UNSET
    current_hash: Annotated[
        str | UnsetType,
        Meta(description="The source hash of the `changed` cell, for `sources` of `accept`."),
    ] = UNSET
    merged: Annotated[
        str | UnsetType | None,
        Meta(
            description="The source of the `changed` cell with both changes merged by line, as "
            "`merge` of `accept` writes it; null if that is not possible."
        ),
    ] = UNSET

    def is_applied(self, cells: Mapping[str | None, Collection[tuple[str, str]]]) -> bool | None:
        """Return whether the part was applied; None if its cell has both states, or no state.

        ``cells`` are the type and source of each cell by id, and of all cells under the key None.
        """
        states = cells.get(self.cell_id, ())
        if self.cell_id is not None and (self.before is None or self.after is None):
            return bool(states) == (self.after is not None)
        has_before, has_after = (
            state is not None and (state.cell_type, state.source) in states
            for state in (self.before, self.after)
        )
        return None if has_before == has_after else has_after


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
        list[AffectedCell],
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
            description="`pending` as long as any part is pending; `expired` if its time is "
            "over, even if parts were accepted before."
        ),
    ]
    created: datetime
    expires: Annotated[datetime, Meta(description="Until when it can be decided.")]
    parts: list[ProposedPart]
    edit_ids: Annotated[
        list[int],
        Meta(description="The edits that have applied it; some of them may be undone since."),
    ]
    decided_by: Annotated[
        str | None,
        Meta(
            description="The user who decided last; null if no person has decided. A redo that "
            "accepts parts again restores the decision of the user who had accepted them."
        ),
    ]
    reason: Annotated[
        str | None,
        Meta(
            description="Why a person rejected it, or parts of it, as that person last said; null "
            "without a reason."
        ),
    ] = None

    @property
    def pending(self) -> list[int]:
        """The numbers of the pending parts."""
        return [part.part for part in self.parts if part.status == "pending"]

    def build_history(self, *, is_complete: bool) -> KnownHistory:
        """Return what is known of the notebook's history: the parts that were accepted before.

        ``is_complete`` says that nothing else has changed the notebook since the proposal was made.
        """
        accepted_parts = {part.part for part in self.parts if part.status == "accepted"}
        return KnownHistory(reverted_parts=accepted_parts, is_complete=is_complete)

    @property
    def rejected(self) -> list[int]:
        """The numbers of the rejected parts."""
        return [part.part for part in self.parts if part.status == "rejected"]

    def is_applied(self, document: Document, parts: Collection[int]) -> bool:
        """Return whether a notebook has the new cells of some parts, and no old cells of them.

        The notebook may have changed since; all parts are looked for if ``parts`` is empty.
        """
        cells: dict[str | None, set[tuple[str, str]]] = {}
        for cell in map(document.get_cell, range(len(document))):
            for key in (cell.id, None):
                cells.setdefault(key, set()).add((cell.cell_type, cell.source))
        numbers = frozenset(parts) or frozenset(part.part for part in self.parts)
        votes = {part.is_applied(cells) for part in self.parts if part.part in numbers}
        return True in votes and False not in votes


def check_pending(proposal: Proposal, parts: Collection[int]) -> None:
    """Raise `ProposalClosed` if a proposal or one of some parts is not pending."""
    if proposal.status != "pending":
        raise build_closed_error(proposal.proposal_id, proposal.status)
    decided_parts = sorted(set(parts) - set(proposal.pending))
    if decided_parts:
        raise build_closed_error(proposal.proposal_id, proposal.status, parts=decided_parts)


def choose_pending_parts(proposal: Proposal, parts: Collection[int] | None) -> Collection[int]:
    """Return the numbers of the parts to decide: ``parts``, or all pending parts.

    Raise `ProposalClosed` if one of the parts is not pending, and `InvalidRequest` if the proposal
    does not have one of the parts, or is for a new notebook and ``parts`` is given.
    """
    check_pending(proposal, ())
    if parts is None:
        return proposal.pending
    _check_numbers(proposal, parts)
    check_pending(proposal, parts)
    return sorted(set(parts))


def choose_rejected_parts(proposal: Proposal, parts: Collection[int] | None) -> Collection[int]:
    """Return the numbers of the parts to reopen: ``parts``, or all rejected parts.

    Raise `ProposalClosed` if one of the parts is not rejected, or if there is none, and
    `InvalidRequest` as `choose_pending_parts` does.
    """
    if parts is not None:
        _check_numbers(proposal, parts)
    rejected = proposal.rejected
    numbers = rejected if parts is None else sorted(set(parts))
    is_rejected = bool(numbers) or proposal.status == "rejected"
    if not is_rejected or proposal.status == "expired" or not set(numbers) <= set(rejected):
        raise build_final_error(proposal)
    return numbers


def _check_numbers(proposal: Proposal, parts: Collection[int]) -> None:
    if proposal.kind == "create":
        raise InvalidRequest(
            "A new notebook is created whole or not at all. Leave `parts` out; cells can be "
            "deleted after the notebook is created."
        )
    unknown = set(parts) - {part.part for part in proposal.parts}
    if unknown:
        raise InvalidRequest(
            f"Expected `parts` to be numbers of parts of proposal {proposal.proposal_id}, from 0 "
            f"to {len(proposal.parts) - 1}; found {min(unknown)}."
        )


def build_final_error(proposal: Proposal) -> ProposalClosed:
    """Return the error for a proposal that cannot be reopened, or not all of the parts."""
    message = (
        f"This cannot be reopened: the status of proposal {proposal.proposal_id} is "
        f"{proposal.status!r}, and only rejected parts can be reopened, until the proposal "
        "expires. If a part was accepted, undo the edit that has accepted it; else propose the "
        "change again."
    )
    return ProposalClosed(
        message, proposal_id=proposal.proposal_id, status=proposal.status, parts=proposal.rejected
    )


def build_closed_error(proposal_id: int, status: Status, **details: Any) -> ProposalClosed:
    """Return the error for a proposal, or parts of it, that is not pending."""
    subject = "These parts of the proposal" if details else "The proposal"
    message = (
        f"{subject} cannot be decided: its status is {status!r}, and only pending proposals can "
        "be accepted or rejected. Nothing was written; propose the change again."
    )
    return ProposalClosed(message, proposal_id=proposal_id, status=status, **details)
