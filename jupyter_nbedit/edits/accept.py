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
from jupyter_nbedit.proposals.models import Proposal
from jupyter_nbedit.proposals.service import ProposalService, choose_parts
from jupyter_nbedit.reading.loading import LoadedNotebook

# The name of the operation in replies and events.
_OP = "accept"


@dataclass(frozen=True)
class AcceptService:
    """Applies the proposals that a person accepts."""

    edits: EditService
    proposals: ProposalService

    async def accept(
        self,
        proposal_id: int,
        parts: Collection[int] | None,
        author: Author,
        *,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
    ) -> EditReply:
        """Apply a proposal, or parts of it, to the notebook as it is now.

        ``author`` is the person who accepts; None for ``parts`` means all that are pending. Raise
        `CellChanged` if a cell of the proposal was changed since it was proposed, and an
        `NbEditError` as for any edit; nothing was written then.
        """
        if dry_run:
            proposal = await self.proposals.get(proposal_id)
            request = _build_request(proposal, author, hash, None)
            return await self._apply(request, proposal, choose_parts(proposal, parts))
        async with self.proposals.claim(proposal_id, parts, author) as (proposal, claim):
            request = _build_request(proposal, author, hash, claim)
            try:
                reply = await self._apply(request, proposal, claim.parts)
            except NbEditError as error:
                if not error.details.get("applied"):
                    with suppress(HistoryUnavailable):
                        await self.proposals.store.release(claim)
                raise
            try:
                await self.proposals.decide(claim, "accepted", reply.edit_id)
            except HistoryUnavailable as error:
                reply.warnings.append(
                    f"The edit is in, but it could not be stored yet that proposal {proposal_id} "
                    f"was accepted. {error.message}"
                )
            except (ProposalNotFound, ProposalClosed):
                # The proposal was deleted with its notebook, or another server has stored it.
                pass
            return reply

    async def _apply(
        self, request: WriteRequest, proposal: Proposal, parts: Collection[int]
    ) -> EditReply:
        payload = await self.proposals.store.get_payload(proposal.proposal_id)
        if proposal.kind == "edit":
            return await self.edits.run(request, ProposalPlanner(proposal, parts, payload))
        if request.hash is not None:
            message = "The notebook is not there yet, so there is no version to match."
            raise InvalidRequest(message)
        return await self.edits.create_from_bytes(request, payload)


def _build_request(
    proposal: Proposal, accepted_by: Author, digest: str | None, claim: Claim | None
) -> WriteRequest:
    """Return the request of an acceptance; a dry run without a claim."""
    # The proposer makes the edit, and the other user accepts it.
    return WriteRequest(
        proposal.path,
        Author(proposal.user, proposal.client, proposal.message, accepted_by.session),
        dry_run=claim is None,
        hash=digest,
        accepted_by=accepted_by.user,
        claim=claim,
    )


@dataclass(frozen=True)
class ProposalPlanner:
    """Plans to apply parts of a proposal; ``payload`` is its encoded record."""

    proposal: Proposal
    parts: Collection[int]
    payload: bytes

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the change; raise `CellChanged` if a cell was changed since it was proposed."""
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
