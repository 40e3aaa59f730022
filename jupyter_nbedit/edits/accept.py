"""Accept proposals: apply the proposed change to the notebook as it is now."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.edits.planned_edit import PlannedEdit
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.errors import (
    CellChanged,
    HistoryUnavailable,
    InvalidRequest,
    NbEditError,
    ProposalClosed,
    ProposalNotFound,
    UndoConflict,
)
from jupyter_nbedit.models import Author, Claim, EditReply, WriteRequest
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.proposals.models import Decision, DecisionRecord, Proposal
from jupyter_nbedit.proposals.service import ProposalService, choose_parts
from jupyter_nbedit.reading.loading import LoadedNotebook

# The name of the operation in replies and events.
_OP = "accept"


@dataclass(frozen=True)
class AcceptService:
    """Applies the proposals that a person accepts."""

    edits: EditService
    proposals: ProposalService

    async def accept(self, proposal_id: int, decision: Decision) -> EditReply:
        """Apply a proposal, or parts of it, to the notebook as it is now.

        Raises
        ------
        CellChanged
            If a cell of the proposal was changed since it was proposed; nothing was written.
        NbEditError
            As for any edit; nothing was written.
        """
        async with self.proposals.lock_decision(proposal_id):
            proposal = await self.proposals.get(proposal_id)
            parts = choose_parts(proposal, decision.parts)
            if decision.dry_run:
                return await self._apply(proposal, parts, decision)
            claim = await self.proposals.store.claim(
                proposal_id, parts, user=decision.user, client=decision.client
            )
            try:
                return await self._apply_claimed(proposal, claim, decision)
            finally:
                # The next request for proposals resolves the claim if it still exists.
                self.proposals.store.abandon(claim)

    async def _apply_claimed(
        self, proposal: Proposal, claim: Claim, decision: Decision
    ) -> EditReply:
        """Apply the claimed parts, and store that they are accepted."""
        try:
            reply = await self._apply(proposal, claim.parts, decision, claim)
        except NbEditError as error:
            if not error.details.get("applied"):
                with suppress(HistoryUnavailable):
                    await self.proposals.release(claim)
            raise
        record = DecisionRecord(
            "accepted", claim.parts, decision.user, decision.client, reply.edit_id, claim.claim_id
        )
        try:
            await self.proposals.decide(proposal.proposal_id, record)
        except HistoryUnavailable as error:
            reply.warnings.append(
                f"The edit is in, but it could not be stored yet that proposal "
                f"{proposal.proposal_id} was accepted. {error.message}"
            )
        except (ProposalNotFound, ProposalClosed):
            # The proposal was deleted with its notebook, or another server has stored the decision.
            pass
        return reply

    async def _apply(
        self,
        proposal: Proposal,
        parts: Collection[int],
        decision: Decision,
        claim: Claim | None = None,
    ) -> EditReply:
        payload = await self.proposals.store.get_payload(proposal.proposal_id)
        # The proposer makes the edit, and the other user accepts it.
        request = WriteRequest(
            proposal.path,
            Author(proposal.user, proposal.client, proposal.message, decision.session),
            dry_run=decision.dry_run,
            hash=decision.hash,
            accepted_by=decision.user,
            claim=claim,
        )
        if proposal.kind == "edit":
            return await self.edits.run(request, ProposalPlanner(proposal, parts, payload))
        if request.hash is not None:
            message = "The notebook is not there yet, so there is no version to match."
            raise InvalidRequest(message)
        return await self.edits.create_from_bytes(request, payload)


@dataclass(frozen=True)
class ProposalPlanner:
    """Plans to apply parts of a proposal; ``payload`` is its encoded record."""

    proposal: Proposal
    parts: Collection[int]
    payload: bytes

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the change.

        Raises
        ------
        CellChanged
            If a cell of the proposal was changed since it was proposed.
        """
        await notebook.compute_hash()
        weight = len(notebook.content.data) + len(self.payload)
        return await run_in_thread_if_large(weight, self._revert, notebook)

    def _revert(self, notebook: LoadedNotebook) -> PlannedEdit:
        proposal, parts = self.proposal, self.parts
        accepted_parts = {part.part for part in proposal.parts if part.status == "accepted"}
        try:
            plan = revert(
                notebook.document,
                UndoRecord.decode(self.payload),
                op=_OP,
                is_exact=notebook.hash == proposal.hash_before,
                part_numbers=None if len(parts) == len(proposal.parts) else parts,
                history=KnownHistory(reverted_parts=accepted_parts),
            )
        except UndoConflict as conflict:
            raise _build_conflict_error(proposal, conflict) from None
        return PlannedEdit.from_plan(notebook, plan)


def _build_conflict_error(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook was changed since proposal {proposal.proposal_id} was made, in places that "
        "it changes, too; `cells` and `metadata` say where. Nothing was written. Accept its other "
        "`parts`, or reject it and have the change proposed anew."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)
