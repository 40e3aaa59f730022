"""Accept proposals: the edit that was proposed is made, on the notebook as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_nbedit.edits.plan import PlannedChange, plan_full_document
from jupyter_nbedit.errors import (
    CellChanged,
    InvalidRequest,
    LedgerError,
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
    from jupyter_nbedit.notebook.apply import EditPlan
    from jupyter_nbedit.proposals.service import ProposalService
    from jupyter_nbedit.reading.loading import LoadedNotebook

# What accepting is called where operations are told.
_OP = "accept"


@dataclass(frozen=True)
class AcceptService:
    """Makes the edits of proposals that a person accepts.

    Parameters
    ----------
    edits
        Makes them.
    proposals
        Keeps the proposals.
    """

    edits: EditService
    proposals: ProposalService

    async def accept(self, proposal_id: int, decision: Decision) -> EditReply:
        """Make the edit that was proposed, or parts of it, on the notebook as it is now.

        Raises
        ------
        CellChanged
            If somebody has changed a cell of it since it was proposed; nothing was written.
        NbEditError
            As of any edit; nothing was written.
        """
        async with self.proposals.lock_decision(proposal_id):
            proposal = await self.proposals.get(proposal_id)
            parts = choose_parts(proposal, decision.parts)
            if decision.dry_run:
                return await self._make(proposal, parts, decision)
            claim = await self.proposals.store.claim(
                proposal_id, parts, user=decision.user, client=decision.client
            )
            try:
                return await self._make_claimed(proposal, claim, decision)
            finally:
                # Whatever of it is still claimed by now is looked at by whoever asks next.
                self.proposals.store.leave(claim)

    async def _make_claimed(
        self, proposal: Proposal, claim: Claim, decision: Decision
    ) -> EditReply:
        """Make the edit of what was claimed, and store that it was accepted."""
        try:
            reply = await self._make(proposal, claim.parts, decision, claim)
        except NbEditError as error:
            if not error.details.get("applied"):
                with suppress(LedgerError):
                    await self.proposals.release(claim)
            raise
        ruling = DecisionRecord(
            "accepted", claim.parts, decision.user, decision.client, reply.edit_id, claim.claim
        )
        try:
            await self.proposals.decide(proposal.proposal_id, ruling)
        except LedgerError as error:
            self.proposals.look_soon()
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
        work = await self.proposals.store.get_payload(proposal.proposal_id)
        acceptance = None
        if claim is not None:
            acceptance = Acceptance(claim.claim, partial(self.proposals.store.record_write, claim))
        make = self._edit if proposal.kind == "edit" else self._create
        return await make(
            proposal, parts, work, decision, _build_author(proposal, decision, acceptance)
        )

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
        past = KnownHistory(
            reverted_parts={part.part for part in proposal.parts if part.status == "accepted"}
        )

        async def prepare(read: LoadedNotebook) -> PlannedChange:
            exact = await read.compute_hash() == proposal.hash_before

            def run() -> EditPlan:
                try:
                    return revert(
                        read.document,
                        offer,
                        op=_OP,
                        is_exact=exact,
                        part_numbers=only,
                        history=past,
                    )
                except UndoConflict as conflict:
                    raise _build_conflict_error(proposal, conflict) from None

            return PlannedChange(run, len(read.content.data) + len(work))

        errand = GuardedRequest(proposal.path, hash=decision.hash, **by)
        return await self.edits.run(errand, prepare)

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
        return await self.edits.create_from_bytes(
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


def _build_conflict_error(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook was changed since proposal {proposal.proposal_id} was made, in places that "
        "it changes, too; `cells` and `metadata` say where. Nothing was written. Accept its other "
        "`parts`, or reject it and have the change proposed anew."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)
