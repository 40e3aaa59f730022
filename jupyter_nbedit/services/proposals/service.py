"""The review service: add, show, reject and expire proposals. Accepting is in `edits.accept`."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from logging import Logger

import msgspec
from msgspec import UNSET

from jupyter_nbedit import errors
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.undo.part_states import PartState, list_part_states
from jupyter_nbedit.notebook.undo.record import GapAnchor, UndoRecord
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.events.models import ProposalEvent
from jupyter_nbedit.services.history.models import CellDiff, build_cell_diffs
from jupyter_nbedit.services.loading import load_notebook, repeat_while_changed
from jupyter_nbedit.services.proposals.models import (
    Proposal,
    ProposalContent,
    ProposedPart,
    Verdict,
    choose_pending_parts,
    choose_rejected_parts,
)
from jupyter_nbedit.services.proposals.store import ProposalStore, UndoFollower
from jupyter_nbedit.services.requests import Author, Claim, ProposalOrigin, WriteRequest
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

#: How long a request may wait for a decision, in seconds.
MAX_WAIT = 60

_MAX_NUMBER = 2**63 - 1
# How often proposals expire, and decisions that could not be stored are stored, without a request.
_EXPIRY_SECONDS = 10.0


@dataclass
class ProposalService:
    """Keeps changes until a person decides on them.

    Every method raises `HistoryUnavailable` if the database fails.
    """

    store: ProposalStore
    storages: StorageResolver
    events: EventEmitter
    log: Logger
    # Is set at the next change of any proposal, and is then replaced.
    _change: asyncio.Event = field(default_factory=asyncio.Event)
    _expiry_task: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Stop the task that expires proposals."""
        if self._expiry_task is not None:
            self._expiry_task.cancel()

    async def reject(
        self,
        proposal_id: int,
        parts: Collection[int] | None,
        author: Author,
        reason: str | None = None,
    ) -> Proposal:
        """Reject a proposal or parts of it; raise the errors of `choose_pending_parts`."""
        parts = choose_pending_parts(await self.get(proposal_id), parts)
        claim = Claim(proposal_id, parts, author.user, author.client)
        return await self.decide(claim, "rejected", reason)

    async def reopen(
        self, proposal_id: int, parts: Collection[int] | None, author: Author
    ) -> Proposal:
        """Make rejected parts pending again, and emit an event.

        Raise the errors of `choose_rejected_parts` and `ProposalStore.reopen`.
        """
        parts = choose_rejected_parts(await self.get(proposal_id), parts)
        proposal = await self.store.reopen(proposal_id, parts)
        self._report(proposal, author, "pending again")
        return proposal

    def report_followed(self, follower: UndoFollower, request: WriteRequest) -> list[str]:
        """Emit the events of proposals that have followed an undo or redo; return warnings."""
        by = request.claim or request.author
        for proposal in follower.changed_proposals:
            self._report(proposal, by, f"{proposal.status} after an undo or redo")
        return [
            f"The edit is written, but proposal {number} is not pending again. {error.message}"
            for number, error in follower.errors.items()
        ]

    async def compare(self, proposal: Proposal) -> Proposal:
        """Return a proposal with the states of its pending parts in the notebook as it is now.

        They are missing if the notebook cannot be read, or another request decides at this moment.
        """
        if proposal.kind == "create" or not proposal.pending:
            return proposal
        try:
            return await self._compare(proposal)
        except (errors.ProposalNotFound, errors.ProposalClosed):
            pass
        except errors.NbEditError as error:
            self.log.info(
                "Could not compare proposal %d with %r: %s",
                proposal.proposal_id,
                proposal.path,
                error.message,
            )
        return proposal

    @repeat_while_changed
    async def _compare(self, proposal: Proposal) -> Proposal:
        claim = Claim(proposal.proposal_id, proposal.pending, "", None)
        proposal, payload, accepted_hash = await self.store.get_payload(claim)
        storage = await self.storages.resolve(proposal.path)
        notebook = await load_notebook(storage, proposal.path)
        hashes = {proposal.hash_before, accepted_hash}
        is_exact = await notebook.compute_hash() in hashes
        weight = len(notebook.content.data) + len(payload)
        parts = await run_in_thread_if_large(
            weight, _compare_parts, proposal, payload, None if is_exact else notebook.document
        )
        return msgspec.structs.replace(proposal, parts=parts)

    async def add(
        self,
        path: str,
        content: ProposalContent,
        parts: Sequence[ProposedPart],
        payload: bytes,
        origin: ProposalOrigin,
    ) -> Proposal:
        """Store a proposal and emit its event; see `ProposalStore.add`."""
        # Not `expire`: the caller has locked a notebook, and that one would lock others.
        await self._expire_pending()
        proposal = await self.store.add(path, content, parts, payload, origin)
        self._emit_event(proposal, proposal.user, proposal.client)
        return proposal

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal if its notebook can be read, or raise `ProposalNotFound`."""
        await self.expire()
        proposal = await self.store.get(proposal_id)
        if not await self._is_visible(proposal):
            raise errors.ProposalNotFound
        return proposal

    async def wait(self, proposal_id: int, seconds: float) -> Proposal:
        """Return a proposal as `get` does, as soon as it is decided or closed, or after a time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(seconds, MAX_WAIT)
        while True:
            # Take this before the proposal is read, so that no change in between is missed.
            change = self._change
            proposal = await self.get(proposal_id)
            remaining_seconds = deadline - loop.time()
            if proposal.status != "pending" or remaining_seconds <= 0:
                return proposal
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(change.wait(), remaining_seconds)

    async def list_newest(
        self, path: str | None = None, *, only_pending: bool = True, limit: int
    ) -> list[Proposal]:
        """List proposals for notebooks that can be read, newest first."""
        await self.expire()
        proposals: list[Proposal] = []
        before = _MAX_NUMBER
        while len(proposals) < limit:
            page = await self.store.list_newest(
                path=path, only_pending=only_pending, before=before, limit=limit
            )
            proposals += [proposal for proposal in page if await self._is_visible(proposal)]
            if len(page) < limit:
                break
            before = page[-1].proposal_id
        return proposals[:limit]

    async def decide(self, claim: Claim, verdict: Verdict, reason: str | None = None) -> Proposal:
        """Store a decision and emit its event; see `ProposalStore.decide`."""
        proposal = await self.store.decide(claim, verdict, reason)
        self._report(proposal, claim, proposal.status)
        return proposal

    async def on_renamed(self, old: str, new: str) -> None:
        """Follow a notebook, or all notebooks in a folder, to a new path."""
        await self.store.rename_paths(old, new)

    async def on_deleted(self, path: str) -> None:
        """Delete the proposals for a notebook, or for all notebooks in a folder."""
        for proposal in await self.store.delete(path):
            self._emit_event(proposal, None, None, is_deleted=True)

    async def _find_out_if_applied(self, claim: Claim) -> bool | None:
        """Return whether the notebook has the claimed parts; None if that is unknown now."""
        if claim.edit_id is not None:
            return True
        proposal = await self.store.get(claim.proposal_id)
        try:
            # A write that is going on ends first.
            async with self.storages.lock(proposal.path) as storage:
                notebook = await load_notebook(storage, proposal.path)
                notebook_hash = await notebook.compute_hash()
                if notebook_hash in {claim.hash_before, claim.hash_after}:
                    return notebook_hash == claim.hash_after
                # The notebook was changed after the write.
                return await asyncio.to_thread(proposal.is_applied, notebook.document, claim.parts)
        except (errors.Busy, errors.StorageFailure) as error:
            self.log.warning(
                "Could not find out whether proposal %d was accepted: %s",
                claim.proposal_id,
                error.message,
            )
            return None
        except errors.NbEditError:
            # There is no notebook, so it cannot have the parts.
            return False

    async def expire(self) -> None:
        """Finish decisions that a server has begun and not stored, and expire proposals.

        Claimed parts that are in the notebook become accepted; the others can be decided again.
        """
        for claim in await self.store.list_claims():
            # Another request may finish the same claim, and the notebook may be deleted meanwhile.
            with suppress(errors.ProposalNotFound, errors.ProposalClosed):
                was_applied = await self._find_out_if_applied(claim)
                if was_applied:
                    await self.decide(claim, "accepted")
                elif was_applied is False:
                    await self.store.release(claim)
        await self._expire_pending()

    async def _expire_pending(self) -> None:
        for proposal in await self.store.expire():
            self._emit_event(proposal, None, None)
        if self._expiry_task is None:
            self._expiry_task = asyncio.create_task(self._expire_regularly())

    async def _expire_regularly(self) -> None:
        """Expire proposals in any case, so that their events are emitted without a request."""
        while True:
            await asyncio.sleep(min(_EXPIRY_SECONDS, self.store.hours * 3600))
            try:
                await self.expire()
            except errors.HistoryUnavailable as error:
                # The next request tries again.
                self.log.warning("Proposals could not expire. %s", error.message)

    async def _is_visible(self, proposal: Proposal) -> bool:
        """Return whether the notebook, or the folder of a new one, can be read."""
        if not proposal.path:
            # No path of this root leads there any more.
            return False
        if proposal.kind == "edit" or proposal.edit_ids:
            return bool(await self.storages.list_readable([proposal.path]))
        try:
            await self.storages.walk(proposal.path.rpartition("/")[0], recursive=False)
        except errors.NbEditError:
            return False
        return True

    def _report(self, proposal: Proposal, by: Author | Claim, status: str) -> None:
        """Log a decision and emit its event."""
        self.log.info(
            "Proposal %d for %r by %r is %s, by %r",
            proposal.proposal_id,
            proposal.path,
            proposal.user,
            status,
            by.user,
        )
        self._emit_event(proposal, by.user, by.client)

    def _emit_event(
        self, proposal: Proposal, user: str | None, client: str | None, *, is_deleted: bool = False
    ) -> None:
        """Emit an event, and wake the requests that wait for a decision."""
        self.events.emit(
            ProposalEvent(
                proposal_id=proposal.proposal_id,
                path=proposal.path,
                status="expired" if is_deleted else proposal.status,
                user=user,
                client=client,
                parts=len(proposal.parts),
                pending=0 if is_deleted else len(proposal.pending),
            )
        )
        self._change.set()
        self._change = asyncio.Event()


def build_proposal(plan: EditPlan, data: bytes | None) -> tuple[Sequence[ProposedPart], bytes]:
    """Return the parts and the payload of a proposal.

    ``data`` are the bytes of a new notebook; None for an edit.
    """
    if data is not None:
        cells = plan.build_record().parts
        diffs = build_cell_diffs(cell for cell in cells if not cell.is_notebook_metadata)
        return [_build_part(diff) for diff in diffs], data
    record = plan.build_forward_record()
    diffs = build_cell_diffs(part.invert() for part in record.parts)
    gaps = [
        None if part.gap_number is None else record.gaps[part.gap_number] for part in record.parts
    ]
    return [_build_part(*pair) for pair in zip(diffs, gaps, strict=True)], record.encode()


def _build_part(diff: CellDiff, gap: GapAnchor | None = None) -> ProposedPart:
    """Return a part; ``gap`` is the new place of its cell."""
    above, below = ([], []) if gap is None else (gap.keys_before, gap.keys_after)
    return ProposedPart(
        **msgspec.structs.asdict(diff),
        status="pending",
        cell_above=above[0].id if above else None,
        cell_below=below[0].id if below else None,
    )


def _compare_parts(
    proposal: Proposal, payload: bytes, document: Document | None
) -> list[ProposedPart]:
    """Return the parts, each pending part with its state.

    ``document`` is None if the notebook is the version that the proposal was made for, with or
    without the parts that were accepted.
    """
    if document is None:
        states = dict.fromkeys(proposal.pending, PartState("as_proposed"))
    else:
        states = list_part_states(
            document,
            UndoRecord.decode(payload),
            proposal.pending,
            proposal.build_history(is_complete=False),
        )
    return [
        _set_state(part, states[part.part]) if part.part in states else part
        for part in proposal.parts
    ]


def _set_state(part: ProposedPart, state: PartState) -> ProposedPart:
    if state.current is None:
        return msgspec.structs.replace(part, state=state.name)
    return msgspec.structs.replace(
        part,
        state=state.name,
        current=state.current,
        current_hash=UNSET if state.current_hash is None else state.current_hash,
        merged=UNSET if state.current_hash is None else state.merged,
    )
