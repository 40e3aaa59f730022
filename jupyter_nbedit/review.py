"""Decide first: edits become proposals, and those that a person accepts are made."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from jupyter_nbedit.errors import (
    CellChanged,
    InvalidRequest,
    LedgerError,
    UndoConflict,
)
from jupyter_nbedit.history.entries import Touched
from jupyter_nbedit.messages import Asked, EditReply, Errand
from jupyter_nbedit.notebook.blank import blank
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.precedence import Past
from jupyter_nbedit.notebook.record import Record
from jupyter_nbedit.notebook.taking_back import take_back
from jupyter_nbedit.outcome import Job, as_given
from jupyter_nbedit.parts import Part, parts_of, parts_of_new
from jupyter_nbedit.proposals import Proposal, Proposed, Ruling, closed

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
            work = await self.board.store.work(proposal_id)
            make = self._edit if proposal.kind == "edit" else self._create
            reply = await make(proposal, parts, work, decision)
            if decision.dry_run:
                return reply
            try:
                ruling = Ruling("accepted", parts, decision.user, decision.client, reply.edit_id)
                await self.board.decide(proposal_id, ruling)
            except LedgerError as error:
                reply.warnings.append(
                    f"The edit is in, but that proposal {proposal_id} was accepted could not be "
                    f"kept. {error.message}"
                )
            return reply

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
        self, proposal: Proposal, parts: Collection[int], work: bytes, decision: Decision
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

        errand = Errand(proposal.path, hash=decision.hash, **_by(proposal, decision))
        return await self.editor.make(errand, prepare)

    async def _create(
        self, proposal: Proposal, _: Collection[int], work: bytes, decision: Decision
    ) -> EditReply:
        if decision.hash is not None:
            message = "The notebook is not there yet, so there is no version to match."
            raise InvalidRequest(message)
        asked = Asked(proposal.path, **_by(proposal, decision))
        return await self.editor.put(asked, blank(None, None), as_given(work))


def _by(proposal: Proposal, decision: Decision) -> dict[str, Any]:
    """Say whose edit it is, and who lets it be made."""
    return {
        "dry_run": decision.dry_run,
        "user": proposal.user,
        "client": proposal.client,
        "message": proposal.message,
        "session": decision.session,
        "accepted_by": decision.user,
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
    pending = proposal.pending
    if proposal.status != "pending":
        raise closed(proposal.proposal_id, proposal.status)
    if parts is None:
        return pending
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
    decided = sorted(set(parts) - set(pending))
    if decided:
        raise closed(proposal.proposal_id, proposal.status, parts=decided)
    return sorted(set(parts))


def _changed(proposal: Proposal, conflict: UndoConflict) -> CellChanged:
    message = (
        f"The notebook was changed since proposal {proposal.proposal_id} was made, in places that "
        "it changes, too; `cells` and `metadata` say where. Nothing was written. Accept its other "
        "`parts`, or reject it and have the change proposed anew."
    )
    return CellChanged(message, proposal_id=proposal.proposal_id, **conflict.details)
