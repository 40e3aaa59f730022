"""Accept proposals: apply the proposed change to the notebook as it is now."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from jupyter_nbedit.errors import CellChanged, InvalidRequest, UndoConflict
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.record import UndoRecord
from jupyter_nbedit.notebook.undo.revert import NO_RESOLUTION, Resolution, revert
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.policy import build_refusal, decide
from jupyter_nbedit.services.proposals.models import Proposal, choose_pending_parts
from jupyter_nbedit.services.proposals.service import ProposalService
from jupyter_nbedit.services.proposals.store import ProposalStore
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import Author, Claim, ProposalOrigin, WriteRequest
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

# The name of the operation in replies and events.
_OP = "accept"


@dataclass(frozen=True)
class AcceptService:
    """Applies the proposals that a person accepts."""

    edits: EditService
    proposals: ProposalService
    #: Whether a client may accept what it has proposed.
    own_decisions: bool = True

    async def accept(  # noqa: PLR0913 -- the fields of a request
        self,
        proposal_id: int,
        parts: Collection[int] | None,
        author: Author,
        *,
        hash: str | None = None,  # noqa: A002 -- the name of the field in the REST API
        dry_run: bool = False,
        resolution: Resolution = NO_RESOLUTION,
        wait_tabs: float = 0.0,
    ) -> EditReply:
        """Apply a proposal, or parts of it, to the notebook as it is now.

        ``author`` is the person who accepts; None for ``parts`` means all that are pending. Raise
        `CellChanged` if a cell of the proposal was changed since it was proposed and ``resolution``
        does not say what becomes of it, `InvalidRequest` if it chooses a source for a part that has
        none, and an `NbEditError` as for any edit; nothing was written then.
        """
        proposal = await self.proposals.get(proposal_id)
        parts = choose_pending_parts(proposal, parts)
        _check_chosen_sources(proposal, parts, resolution)
        origin = await self.proposals.store.get_origin(proposal_id)
        refused = None
        if not self.own_decisions:
            account = author.account if origin.account is None else origin.account
            session = f"\n{origin.session}"
            refused = Author(client=proposal.client, session=session, account=account)
        if decide("accept", author, refused_proposer=refused) == "refuse":
            raise build_refusal("accept", author)
        claim = Claim(proposal_id, parts, author.user, author.client)
        # The proposer makes the edit, and the other user accepts it.
        request = WriteRequest(
            proposal.path,
            replace(author, user=proposal.user, client=proposal.client, message=proposal.message),
            dry_run=dry_run,
            hash=hash,
            must_have_read=False,
            claim=claim,
            origin=origin,
            wait_tabs=wait_tabs,
        )
        if proposal.kind == "edit":
            planner = ProposalPlanner(self.proposals.store, claim, resolution, origin)
            return await self.edits.run(request, planner, "accept")
        if request.hash is not None:
            raise InvalidRequest(
                "The notebook does not exist yet, so there is no version to match. Leave "
                "`If-Match` and `hash` out."
            )
        _, payload, _ = await self.proposals.store.get_payload(claim)
        return await self.edits.create_from_bytes(request, payload)


@dataclass(frozen=True)
class ProposalPlanner:
    """Plans to apply the parts of a proposal that a person accepts."""

    store: ProposalStore
    claim: Claim
    resolution: Resolution
    origin: ProposalOrigin

    async def plan(self, notebook: LoadedNotebook) -> PlannedEdit:
        """Plan the change, for the proposal as it is while the notebook is locked.

        Raise `CellChanged` if a cell was changed since it was proposed and the resolution does not
        say what becomes of it, and `ProposalClosed` if a part is not pending any more.
        """
        proposal, payload, accepted_hash = await self.store.get_payload(self.claim)
        notebook_hash = await notebook.compute_hash()
        history = proposal.build_history(is_complete=notebook_hash == accepted_hash)
        weight = len(notebook.content.data) + len(payload)
        planned = await run_in_thread_if_large(
            weight, self._revert, notebook, proposal, payload, history
        )
        # If nothing is written, no claim is stored.
        self.claim.hash_before = notebook_hash
        self.claim.hash_after = None if planned.plan.splices else notebook_hash
        return planned

    def _revert(
        self, notebook: LoadedNotebook, proposal: Proposal, payload: bytes, history: KnownHistory
    ) -> PlannedEdit:
        parts = self.claim.parts
        is_whole = len(parts) == len(proposal.parts)
        try:
            plan = revert(
                notebook.document,
                UndoRecord.decode(payload),
                op=_OP,
                is_exact=notebook.hash == proposal.hash_before and not history.is_complete,
                part_numbers=None if is_whole else frozenset(parts),
                history=history,
                resolution=self.resolution,
                is_same_change_allowed=True,
            )
        except UndoConflict as conflict:
            raise _build_conflict_error(proposal, conflict) from None
        if not is_whole or self.resolution.chosen_sources:
            # It is not the undo that was proposed.
            return PlannedEdit.from_plan(notebook, plan)
        return PlannedEdit.from_plan(
            notebook, plan, kind=self.origin.edit_kind, undoes=self.origin.undoes
        )


def _build_conflict_error(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook has changed since proposal {proposal.proposal_id} was made, in the same "
        "places; `cells` and `metadata` list them. Nothing was written. Read the proposal for its "
        "cells as they are now; accept the other `parts`, or send `merge` or `sources`."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)


def _check_chosen_sources(
    proposal: Proposal, parts: Collection[int], resolution: Resolution
) -> None:
    """Raise `InvalidRequest` if a source is chosen for a part that cannot have it."""
    numbers = frozenset(parts)
    for number, chosen in resolution.chosen_sources.items():
        if proposal.kind == "create" or number not in numbers:
            problem = "this request accepts no such part of an existing notebook"
        elif (part := proposal.parts[number]).index_before is None and part.index is None:
            problem = "it changes the metadata of the notebook"
        elif (part.after is None) == (chosen.source is None):
            continue
        elif chosen.source is None:
            problem = "`source` is null, which deletes a cell, and this part does not"
        else:
            problem = "it deletes its cell, so that `source` must be null"
        message = f"`sources` cannot have part {number}: {problem}. Nothing was written."
        raise InvalidRequest(message)
