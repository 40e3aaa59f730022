"""Accept proposals: apply the proposed change to the notebook as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_nbedit.edits.planned_change import PlannedChange, plan_full_document
from jupyter_nbedit.errors import (
    CellChanged,
    HistoryUnavailable,
    InvalidRequest,
    NbEditError,
    ProposalClosed,
    ProposalNotFound,
    UndoConflict,
)
from jupyter_nbedit.models import Acceptance, EditReply, GuardedRequest, WriteRequest
from jupyter_nbedit.notebook.document import write_new_notebook
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import revert
from jupyter_nbedit.proposals.models import (
    Claim,
    Decision,
    DecisionRecord,
    Proposal,
)
from jupyter_nbedit.proposals.service import choose_parts

if TYPE_CHECKING:
    from jupyter_nbedit.edits.service import EditService
    from jupyter_nbedit.notebook.apply_batch import EditPlan
    from jupyter_nbedit.proposals.service import ProposalService
    from jupyter_nbedit.reading.loading import LoadedNotebook

# The name of the operation in replies and events.
_OP = "accept"


@dataclass(frozen=True)
class AcceptService:
    """Applies the proposals that a person accepts.

    Parameters
    ----------
    edits
        Makes the edits.
    proposals
        The proposals.
    """

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
        acceptance = None
        if claim is not None:
            acceptance = Acceptance(
                claim.claim_id, partial(self.proposals.store.record_write, claim)
            )
        fields = _build_request_fields(proposal, decision, acceptance)
        if proposal.kind == "create":
            return await self._create(proposal, payload, decision, fields)
        return await self._edit(proposal, parts, payload, decision, fields)

    async def _edit(
        self,
        proposal: Proposal,
        parts: Collection[int],
        payload: bytes,
        decision: Decision,
        fields: Mapping[str, Any],
    ) -> EditReply:
        part_numbers = None if len(parts) == len(proposal.parts) else parts
        record = await asyncio.to_thread(UndoRecord.decode, payload)
        known_history = KnownHistory(
            reverted_parts={part.part for part in proposal.parts if part.status == "accepted"}
        )

        async def plan(notebook: LoadedNotebook) -> PlannedChange:
            is_exact = await notebook.compute_hash() == proposal.hash_before

            def build() -> EditPlan:
                try:
                    return revert(
                        notebook.document,
                        record,
                        op=_OP,
                        is_exact=is_exact,
                        part_numbers=part_numbers,
                        history=known_history,
                    )
                except UndoConflict as conflict:
                    raise _build_conflict_error(proposal, conflict) from None

            return PlannedChange(build, len(notebook.content.data) + len(payload))

        request = GuardedRequest(proposal.path, hash=decision.hash, **fields)
        return await self.edits.run(request, plan)

    async def _create(
        self, proposal: Proposal, payload: bytes, decision: Decision, fields: Mapping[str, Any]
    ) -> EditReply:
        if decision.hash is not None:
            message = "The notebook is not there yet, so there is no version to match."
            raise InvalidRequest(message)
        request = WriteRequest(proposal.path, **fields)
        return await self.edits.create_from_bytes(
            request, write_new_notebook(None, None), plan_full_document(payload)
        )


def _build_request_fields(
    proposal: Proposal, decision: Decision, acceptance: Acceptance | None
) -> dict[str, Any]:
    """Return the fields of the request: the proposer makes the edit, the other user accepts it."""
    return {
        "dry_run": decision.dry_run,
        "user": proposal.user,
        "client": proposal.client,
        "message": proposal.message,
        "session": decision.session,
        "accepted_by": decision.user,
        "acceptance": acceptance,
    }


def _build_conflict_error(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook was changed since proposal {proposal.proposal_id} was made, in places that "
        "it changes, too; `cells` and `metadata` say where. Nothing was written. Accept its other "
        "`parts`, or reject it and have the change proposed anew."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)
