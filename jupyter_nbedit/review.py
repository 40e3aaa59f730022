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
from jupyter_nbedit.history.entries import Touched
from jupyter_nbedit.messages import Acceptance, Asked, EditReply, Errand
from jupyter_nbedit.notebook.blank import blank
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.precedence import Past
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.taking_back import take_back
from jupyter_nbedit.outcome import Job, as_given
from jupyter_nbedit.parts import Part, parts_of, parts_of_new
from jupyter_nbedit.proposals import Claim, Proposal, Proposed, Ruling, check_pending

if TYPE_CHECKING:
    from jupyter_nbedit.editor import NotebookEditor
    from jupyter_nbedit.loading import Loaded
    from jupyter_nbedit.notebook.batch import Applied
    from jupyter_nbedit.proposals.board import ProposalBoard

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
        Who then has seen the notebook; see `Readings`.
    """

    user: str
    client: str | None = None
    parts: Collection[int] | None = None
    hash: str | None = None
    dry_run: bool = False
    session: str = ""


@dataclass(frozen=True)
class Review:
    """Keeps edits until a person has decided, and makes those that are accepted.

    Parameters
    ----------
    editor
        Makes them.
    board
        Keeps them.
    """

    editor: NotebookEditor
    board: ProposalBoard
    _deciding: WeakValueDictionary[int, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def propose(
        self, asked: Asked, applied: Applied, reply: EditReply, text: bytes | None
    ) -> int:
        """Keep a change until a person has decided; see `Proposer`.

        Raises
        ------
        TooManyProposals, LedgerError
        """
        parts, work = await asyncio.to_thread(_worked_out, applied, text)
        entries = [Touched(**one) for done in reply.operations for one in done.entries()]
        proposed = Proposed(
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
            parts = _chosen(proposal, decision.parts)
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
        ruling = Ruling(
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
        work = await self.board.store.work(proposal.proposal_id)
        acceptance = None
        if claim is not None:
            acceptance = Acceptance(claim.claim, partial(self.board.store.note_write, claim))
        make = self._edit if proposal.kind == "edit" else self._create
        return await make(proposal, parts, work, decision, _by(proposal, decision, acceptance))

    async def reject(self, proposal_id: int, decision: Decision) -> Proposal:
        """Do without the edit that was proposed, or without parts of it.

        Raises
        ------
        ProposalNotFound, ProposalClosed, InvalidRequest, LedgerError
        """
        async with self._deciding.setdefault(proposal_id, asyncio.Lock()):
            proposal = await self.board.get(proposal_id)
            parts = _chosen(proposal, decision.parts)
            ruling = Ruling("rejected", parts, decision.user, decision.client)
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
        offer = await asyncio.to_thread(Record.decode, work)
        past = Past(accepted={part.part for part in proposal.parts if part.status == "accepted"})

        async def prepare(read: Loaded) -> Job:
            exact = await read.hashed() == proposal.hash_before

            def run() -> Applied:
                try:
                    return take_back(
                        read.document, offer, op=_OP, exact=exact, only=only, past=past
                    )
                except UndoConflict as conflict:
                    raise _changed(proposal, conflict) from None

            return Job(run, len(read.content.raw) + len(work))

        errand = Errand(proposal.path, hash=decision.hash, **by)
        return await self.editor.make(errand, prepare)

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
        asked = Asked(proposal.path, **by)
        return await self.editor.put(asked, blank(None, None), as_given(work))


def _by(proposal: Proposal, decision: Decision, acceptance: Acceptance | None) -> dict[str, Any]:
    """Say whose edit it is, and who lets it be made."""
    return {
        "dry_run": decision.dry_run,
        "user": proposal.user,
        "client": proposal.client,
        "message": proposal.message,
        "session": decision.session,
        "accepted_by": decision.user,
        "acceptance": acceptance,
    }


def _worked_out(applied: Applied, text: bytes | None) -> tuple[Sequence[Part], bytes]:
    """Give what a proposal shows, and what accepting it takes."""
    if text is not None:
        return parts_of_new(Document.parse(text)), text
    offer = applied.offer()
    return parts_of(part.turned() for part in offer.parts), offer.encode()


def _chosen(proposal: Proposal, parts: Collection[int] | None) -> Collection[int]:
    """Give the numbers of the parts that are decided.

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


def _changed(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook was changed since proposal {proposal.proposal_id} was made, in places that "
        "it changes, too; `cells` and `metadata` say where. Nothing was written. Accept its other "
        "`parts`, or reject it and have the change proposed anew."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)
