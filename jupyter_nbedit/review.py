"""Decide first: edits become proposals, and those that a person accepts are made."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from jupyter_nbedit.errors import (
    CellChanged,
    InvalidRequest,
    LedgerError,
    NbEditError,
    ProposalClosed,
    ProposalNotFound,
    UndoConflict,
)
from jupyter_nbedit.history.entries import TouchedCellEntry
from jupyter_nbedit.messages import Acceptance, EditReply, GuardedRequest, WriteRequest
from jupyter_nbedit.notebook.blank import write_new_notebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.precedence import Past
from jupyter_nbedit.notebook.record import UndoRecord
from jupyter_nbedit.notebook.taking_back import revert
from jupyter_nbedit.outcome import PlannedChange, plan_full_document
from jupyter_nbedit.parts import CellDiff, build_cell_diffs, build_cell_diffs_of_new
from jupyter_nbedit.proposals import Claim, DecisionRecord, Proposal, ProposalContent, check_pending

if TYPE_CHECKING:
    from jupyter_nbedit.editor import EditService
    from jupyter_nbedit.loading import LoadedNotebook
    from jupyter_nbedit.notebook.batch import EditPlan
    from jupyter_nbedit.proposals.board import ProposalService

_MOST_OPERATIONS = 20
# What accepting is called where operations are told.
_OP = "accept"


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


@dataclass(frozen=True)
class ReviewService:
    """Keeps edits until a person has decided, and makes those that are accepted.

    Parameters
    ----------
    editor
        Makes them.
    board
        Keeps them.
    """

    editor: EditService
    board: ProposalService
    _deciding: WeakValueDictionary[int, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def propose(
        self, asked: WriteRequest, applied: EditPlan, reply: EditReply, text: bytes | None
    ) -> int:
        """Keep a change until a person has decided; see `Proposer`.

        Raises
        ------
        TooManyProposals, LedgerError
        """
        parts, work = await asyncio.to_thread(_build_proposal, applied, text)
        entries = [
            TouchedCellEntry(**one) for done in reply.operations for one in done.iterate_entries()
        ]
        proposed = ProposalContent(
            kind="edit" if text is None else "create",
            user=asked.user,
            client=asked.client,
            message=asked.message,
            hash_before=reply.hash_before,
            operations=entries[:_MOST_OPERATIONS],
            truncated=len(entries) > _MOST_OPERATIONS,
            diff=reply.diff,
            language=reply.language,
        )
        return (await self.board.add(asked.path, proposed, parts, work)).proposal_id

    async def accept(self, proposal_id: int, decision: Decision) -> EditReply:
        """Make the edit that was proposed, or parts of it, on the notebook as it is now.

        Raises
        ------
        CellChanged
            If somebody has changed a cell of it since it was proposed; nothing was written.
        NbEditError
            As of any edit; nothing was written.
        """
        async with self._deciding.setdefault(proposal_id, asyncio.Lock()):
            proposal = await self.board.get(proposal_id)
            parts = _choose_parts(proposal, decision.parts)
            if decision.dry_run:
                return await self._make(proposal, parts, decision)
            claim = await self.board.store.claim(
                proposal_id, parts, user=decision.user, client=decision.client
            )
            try:
                return await self._make_claimed(proposal, claim, decision)
            finally:
                # Whatever of it is still claimed by now is looked at by whoever asks next.
                self.board.store.leave(claim)

    async def _make_claimed(
        self, proposal: Proposal, claim: Claim, decision: Decision
    ) -> EditReply:
        """Make the edit of what was claimed, and store that it was accepted."""
        try:
            reply = await self._make(proposal, claim.parts, decision, claim)
        except NbEditError as error:
            if not error.details.get("applied"):
                with suppress(LedgerError):
                    await self.board.release(claim)
            raise
        ruling = DecisionRecord(
            "accepted", claim.parts, decision.user, decision.client, reply.edit_id, claim.claim
        )
        try:
            await self.board.decide(proposal.proposal_id, ruling)
        except LedgerError as error:
            self.board.look_soon()
            reply.warnings.append(
                f"The edit is in, but it could not be stored yet that proposal "
                f"{proposal.proposal_id} was accepted. {error.message}"
            )
        except (ProposalNotFound, ProposalClosed):
            # It was forgotten with its notebook, or somebody has stored it already.
            pass
        return reply

    async def _make(
        self,
        proposal: Proposal,
        parts: Collection[int],
        decision: Decision,
        claim: Claim | None = None,
    ) -> EditReply:
        work = await self.board.store.get_payload(proposal.proposal_id)
        acceptance = None
        if claim is not None:
            acceptance = Acceptance(claim.claim, partial(self.board.store.record_write, claim))
        make = self._edit if proposal.kind == "edit" else self._create
        return await make(
            proposal, parts, work, decision, _build_author(proposal, decision, acceptance)
        )

    async def reject(self, proposal_id: int, decision: Decision) -> Proposal:
        """Do without the edit that was proposed, or without parts of it.

        Raises
        ------
        ProposalNotFound, ProposalClosed, InvalidRequest, LedgerError
        """
        async with self._deciding.setdefault(proposal_id, asyncio.Lock()):
            proposal = await self.board.get(proposal_id)
            parts = _choose_parts(proposal, decision.parts)
            ruling = DecisionRecord("rejected", parts, decision.user, decision.client)
            return await self.board.decide(proposal_id, ruling)

    async def _edit(
        self,
        proposal: Proposal,
        parts: Collection[int],
        work: bytes,
        decision: Decision,
        by: Mapping[str, Any],
    ) -> EditReply:
        only = None if len(parts) == len(proposal.parts) else parts
        offer = await asyncio.to_thread(UndoRecord.decode, work)
        past = Past(accepted={part.part for part in proposal.parts if part.status == "accepted"})

        async def prepare(read: LoadedNotebook) -> PlannedChange:
            exact = await read.compute_hash() == proposal.hash_before

            def run() -> EditPlan:
                try:
                    return revert(read.document, offer, op=_OP, exact=exact, only=only, past=past)
                except UndoConflict as conflict:
                    raise _build_conflict_error(proposal, conflict) from None

            return PlannedChange(run, len(read.content.data) + len(work))

        errand = GuardedRequest(proposal.path, hash=decision.hash, **by)
        return await self.editor.run(errand, prepare)

    async def _create(
        self,
        proposal: Proposal,
        _: Collection[int],
        work: bytes,
        decision: Decision,
        by: Mapping[str, Any],
    ) -> EditReply:
        if decision.hash is not None:
            message = "The notebook is not there yet, so there is no version to match."
            raise InvalidRequest(message)
        asked = WriteRequest(proposal.path, **by)
        return await self.editor.create_from_bytes(
            asked, write_new_notebook(None, None), plan_full_document(work)
        )


def _build_author(
    proposal: Proposal, decision: Decision, acceptance: Acceptance | None
) -> dict[str, Any]:
    """Return whose edit it is, and who lets it be made."""
    return {
        "dry_run": decision.dry_run,
        "user": proposal.user,
        "client": proposal.client,
        "message": proposal.message,
        "session": decision.session,
        "accepted_by": decision.user,
        "acceptance": acceptance,
    }


def _build_proposal(applied: EditPlan, text: bytes | None) -> tuple[Sequence[CellDiff], bytes]:
    """Return what a proposal shows, and what accepting it takes."""
    if text is not None:
        return build_cell_diffs_of_new(Document.parse(text)), text
    offer = applied.build_forward_record()
    return build_cell_diffs(part.invert() for part in offer.parts), offer.encode()


def _choose_parts(proposal: Proposal, parts: Collection[int] | None) -> Collection[int]:
    """Return the numbers of the parts that are decided.

    Raises
    ------
    ProposalClosed
        If they are decided already.
    InvalidRequest
        If the proposal has none of these, or they cannot be decided alone.
    """
    check_pending(proposal, ())
    if parts is None:
        return proposal.pending
    if proposal.kind == "create":
        message = (
            "A new notebook is created whole or not at all. Leave `parts` out; cells can be "
            "deleted once it is there."
        )
        raise InvalidRequest(message)
    unknown = set(parts) - {part.part for part in proposal.parts}
    if unknown:
        message = (
            f"Expected `parts` to be numbers of parts of proposal {proposal.proposal_id}, from 0 "
            f"to {len(proposal.parts) - 1}; found {min(unknown)}."
        )
        raise InvalidRequest(message)
    check_pending(proposal, parts)
    return sorted(set(parts))


def _build_conflict_error(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook was changed since proposal {proposal.proposal_id} was made, in places that "
        "it changes, too; `cells` and `metadata` say where. Nothing was written. Accept its other "
        "`parts`, or reject it and have the change proposed anew."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)
