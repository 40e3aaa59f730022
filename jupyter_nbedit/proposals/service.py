"""Propose changes, show and reject proposals, and let them expire."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from logging import Logger
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from jupyter_nbedit.errors import (
    Busy,
    InvalidRequest,
    LedgerError,
    NbEditError,
    ProposalClosed,
    ProposalNotFound,
    StorageFailure,
)
from jupyter_nbedit.history.models import (
    CellDiff,
    TouchedCellEntry,
    build_cell_diffs,
    build_cell_diffs_of_new,
)
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.proposals.models import (
    Claim,
    Decision,
    DecisionRecord,
    Proposal,
    ProposalContent,
    check_pending,
)
from jupyter_nbedit.proposals.traces import is_applied
from jupyter_nbedit.reading.loading import DocumentCache, load_notebook

if TYPE_CHECKING:
    from jupyter_nbedit.events.emitters import ReviewEventEmitter
    from jupyter_nbedit.models import EditReply, WriteRequest
    from jupyter_nbedit.notebook.apply import EditPlan
    from jupyter_nbedit.proposals.store import ProposalStore
    from jupyter_nbedit.storage.base import Storages

#: The longest that a request waits for a decision, in seconds.
LONGEST_WAIT = 60

_LAST = 2**63 - 1
# How many operations a proposal lists.
_MOST_OPERATIONS = 20
_NEVER = datetime.max.replace(tzinfo=timezone.utc)
# How long the loop is asked to wait at most; what is due later is looked at then.
_LONGEST_ALARM_SECONDS = 86_400.0
# When it is tried again to store a decision.
_SOON_SECONDS = 5.0


@dataclass
class ProposalService:
    """Keeps changes until a person has decided. It may fail with a `LedgerError` anywhere.

    Parameters
    ----------
    store
        Keeps them.
    storages
        Tell which notebooks can be seen.
    events
        Tells of proposals.
    log
        The server's.
    documents
        Those that need not be parsed again.
    """

    store: ProposalStore
    storages: Storages
    events: ReviewEventEmitter
    log: Logger
    documents: DocumentCache = field(default_factory=DocumentCache)
    _decision_locks: WeakValueDictionary[int, asyncio.Lock] = field(
        default_factory=WeakValueDictionary
    )
    _changes: WeakValueDictionary[int, asyncio.Event] = field(default_factory=WeakValueDictionary)
    # When the next one expires or is forgotten; None while nobody has looked.
    _due: datetime | None = None
    _alarm: asyncio.TimerHandle | None = None
    _expiring: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Look for what expires no longer."""
        if self._alarm is not None:
            self._alarm.cancel()
        if self._expiring is not None:
            self._expiring.cancel()

    async def propose(
        self, asked: WriteRequest, applied: EditPlan, reply: EditReply, text: bytes | None
    ) -> int:
        """Keep a change until a person has decided; return its number.

        Parameters
        ----------
        asked
            What was asked, and by whom.
        applied
            What it does.
        reply
            The reply to it; its hash is that of the stored notebook.
        text
            The whole notebook, if it is a new one.

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
        return (await self.add(asked.path, proposed, parts, work)).proposal_id

    async def reject(self, proposal_id: int, decision: Decision) -> Proposal:
        """Reject the edit that was proposed, or parts of it.

        Raises
        ------
        ProposalNotFound, ProposalClosed, InvalidRequest, LedgerError
        """
        async with self.lock_decision(proposal_id):
            proposal = await self.get(proposal_id)
            parts = choose_parts(proposal, decision.parts)
            ruling = DecisionRecord("rejected", parts, decision.user, decision.client)
            return await self.decide(proposal_id, ruling)

    def lock_decision(self, proposal_id: int) -> asyncio.Lock:
        """Return the lock that whoever decides on a proposal takes."""
        return self._decision_locks.setdefault(proposal_id, asyncio.Lock())

    async def add(
        self, path: str, proposed: ProposalContent, parts: Sequence[CellDiff], work: bytes
    ) -> Proposal:
        """Keep a proposal and tell of it; see `ProposalStore.add`.

        Raises
        ------
        TooManyProposals
        """
        # Whoever proposes holds a notebook, and must not wait for that of another proposal.
        await self._expire()
        proposal = await self.store.add(path, proposed, parts, work)
        self._emit_event(proposal, proposal.user, proposal.client)
        self._schedule_expiry(min(self._due or _NEVER, proposal.expires))
        return proposal

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal, if its notebook can be seen.

        Raises
        ------
        ProposalNotFound
        """
        await self.expire()
        proposal = await self.store.get(proposal_id)
        if not await self._is_visible(proposal):
            raise ProposalNotFound
        return proposal

    async def wait(self, proposal_id: int, seconds: float) -> Proposal:
        """Return a proposal once it waits no longer, or so many seconds have gone by.

        Raises
        ------
        ProposalNotFound
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(seconds, LONGEST_WAIT)
        while True:
            # Asked for before the proposal is read, lest a change between the two is missed.
            change = self._changes.setdefault(proposal_id, asyncio.Event())
            proposal = await self.get(proposal_id)
            left = deadline - loop.time()
            if proposal.status != "pending" or left <= 0:
                return proposal
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(change.wait(), left)

    async def list_newest(
        self, path: str | None = None, *, only_pending: bool = True, limit: int
    ) -> list[Proposal]:
        """List proposals for notebooks that can be seen, the newest first."""
        await self.expire()
        found: list[Proposal] = []
        before = _LAST
        while len(found) < limit:
            page = await self.store.list_newest(
                path=path, only_pending=only_pending, before=before, limit=limit
            )
            found += [proposal for proposal in page if await self._is_visible(proposal)]
            if len(page) < limit:
                break
            before = page[-1].proposal_id
        return found[:limit]

    async def decide(self, proposal_id: int, ruling: DecisionRecord) -> Proposal:
        """Keep what was decided and tell of it; see `ProposalStore.decide`.

        Raises
        ------
        ProposalNotFound
        """
        after = await self.store.decide(proposal_id, ruling)
        self.log.info(
            "Proposal %d of %r by %r is %s, by %r",
            proposal_id,
            after.path,
            after.user,
            after.status,
            ruling.user,
        )
        self._emit_event(after, ruling.user, ruling.client)
        return after

    async def on_renamed(self, old: str, new: str) -> None:
        """Follow a notebook, or all that are in a folder, to another path."""
        await self.store.rename_paths(old, new)

    async def on_deleted(self, path: str) -> None:
        """Forget the proposals for a notebook, or for all that are in a folder."""
        for proposal in await self.store.forget(path):
            self._emit_event(proposal, None, None, is_over=True)

    async def purge(self, path: str) -> None:
        """Forget the proposals for a notebook that wait no longer: they are of its past."""
        await self.store.purge(path)

    async def release(self, claim: Claim) -> None:
        """Let others decide on what this server has claimed."""
        await self.store.release(claim)
        # It may have expired meanwhile.
        self._due = None

    async def settle(self) -> None:
        """Finish what was being accepted when a server ended or could not store that.

        What is in the notebook was accepted; what is not can be decided again.
        """
        for claim in await self.store.list_abandoned_claims():
            ruling = DecisionRecord(
                "accepted", claim.parts, claim.user, claim.client, claim.edit_id, claim.claim
            )
            # Others may look after the same claim, and a notebook may be deleted meanwhile.
            with suppress(ProposalNotFound, ProposalClosed):
                was_applied = await self._find_out_if_applied(claim)
                if was_applied:
                    await self.decide(claim.proposal_id, ruling)
                elif was_applied is False:
                    await self.release(claim)

    async def _find_out_if_applied(self, claim: Claim) -> bool | None:
        """Return whether what was claimed is in the notebook; None if that cannot be told now."""
        if claim.edit_id is not None:
            return True
        if claim.hash_after is None:
            return False
        proposal = await self.store.get(claim.proposal_id)
        try:
            async with self.storages.lock(proposal.path) as storage:
                read = await load_notebook(storage, proposal.path, self.documents)
                digest = await read.compute_hash()
                if digest in {claim.hash_before, claim.hash_after}:
                    return digest == claim.hash_after
                # Somebody has changed it since.
                return await asyncio.to_thread(is_applied, read.document, proposal, claim.parts)
        except (Busy, StorageFailure) as error:
            self.log.warning(
                "Whether proposal %d was accepted cannot be told now: %s",
                claim.proposal_id,
                error.message,
            )
            return None
        except NbEditError:
            # There is no notebook that could have it.
            return False

    def look_soon(self) -> None:
        """Look soon at what could not be finished now."""
        soon = self.store.clock() + timedelta(seconds=_SOON_SECONDS)
        self._schedule_expiry(min(self._due or _NEVER, soon))

    async def expire(self) -> None:
        """End those whose time is over."""
        await self.settle()
        await self._expire()

    async def _expire(self) -> None:
        if self._due is not None and self.store.clock() < self._due:
            return
        for proposal in await self.store.expire():
            self._emit_event(proposal, None, None)
        self._schedule_expiry(await self.store.find_next_expiry() or _NEVER)

    def _schedule_expiry(self, due: datetime) -> None:
        """Look again when the next one is over, though nobody asks."""
        self._due = due
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if due == _NEVER:
            return
        seconds = (due - self.store.clock()).total_seconds()
        loop = asyncio.get_running_loop()
        delay = max(0.0, min(seconds, _LONGEST_ALARM_SECONDS))
        self._alarm = loop.call_later(delay, self._on_expiry_timer)

    def _on_expiry_timer(self) -> None:
        self._expiring = asyncio.get_running_loop().create_task(self._expire_quietly())

    async def _expire_quietly(self) -> None:
        try:
            await self.expire()
        except LedgerError as error:
            # Whoever asks next looks again.
            self.log.warning("Proposals could not expire. %s", error.message)

    async def _is_visible(self, proposal: Proposal) -> bool:
        """Return whether the notebook is there for all to see; of a new one, its folder."""
        try:
            if proposal.kind == "edit" or proposal.edit_ids:
                await self.storages.check(proposal.path)
            else:
                await self.storages.walk(proposal.path.rpartition("/")[0], recursive=False)
        except NbEditError:
            return False
        return True

    def _emit_event(
        self, proposal: Proposal, user: str | None, client: str | None, *, is_over: bool = False
    ) -> None:
        """Emit the event, and wake the requests that wait for a decision."""
        self.events.emit_proposal(
            proposal_id=proposal.proposal_id,
            path=proposal.path,
            status="expired" if is_over else proposal.status,
            user=user,
            client=client,
            parts=len(proposal.parts),
            pending=0 if is_over else len(proposal.pending),
        )
        change = self._changes.pop(proposal.proposal_id, None)
        if change is not None:
            change.set()


def _build_proposal(applied: EditPlan, text: bytes | None) -> tuple[Sequence[CellDiff], bytes]:
    """Return what a proposal shows, and what accepting it takes."""
    if text is not None:
        return build_cell_diffs_of_new(Document.parse(text)), text
    offer = applied.build_forward_record()
    return build_cell_diffs(part.invert() for part in offer.parts), offer.encode()


def choose_parts(proposal: Proposal, parts: Collection[int] | None) -> Collection[int]:
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
