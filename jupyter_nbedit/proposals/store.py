"""Where proposals are kept over restarts, for a time and in a number that are bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from jupyter_nbedit.database.failures import ACCEPTANCE, DECISION, NEW_PROPOSAL, PROPOSALS
from jupyter_nbedit.errors import TooManyProposals
from jupyter_nbedit.parts import CellDiff
from jupyter_nbedit.proposals import (
    Claim,
    DecisionRecord,
    Proposal,
    ProposalContent,
    build_closed_error,
    rows,
)

if TYPE_CHECKING:
    from jupyter_nbedit.database import Database

# Of all that wait, with what they would change. One that is decided is only what it says.
_MOST_BYTES = 256 * 1024 * 1024
# How many that are decided can still be asked for, and how much of them.
_MOST_CLOSED = 1_000
_MOST_CLOSED_BYTES = 32 * 1024 * 1024
# After how long it is looked again whether one expires that a server is accepting.
_CLAIMED_SECONDS = 10


def _get_time() -> datetime:
    return datetime.now(tz=timezone.utc)


@dataclass(frozen=True)
class ProposalStore:
    """The proposals that a server keeps. Whatever it is asked may fail with a `LedgerError`.

    Parameters
    ----------
    database
        Where.
    root
        Says which of all folders that are served this server's is.
    name
        Gives one name for all by which a notebook may be called.
    hours
        How long one can be decided. It is remembered for as long again.
    most
        How many may wait at the same time.
    clock
        Tells the time, in UTC.
    """

    database: Database
    root: Callable[[], str]
    name: Callable[[str], str]
    hours: float = 24
    most: int = 1_000
    clock: Callable[[], datetime] = _get_time
    # The claims of this server that it still works on.
    _active: set[int] = field(default_factory=set)

    async def add(
        self, path: str, proposed: ProposalContent, parts: Sequence[CellDiff], work: bytes
    ) -> Proposal:
        """Keep a proposal.

        Parameters
        ----------
        path
            Of the notebook.
        proposed, parts
            What it says.
        work
            What accepting it takes; nobody else's business.

        Raises
        ------
        TooManyProposals
            If too many wait already.
        """
        now = self.clock()
        row = self._build_row(
            path=path,
            name=self.name(path),
            created=_format_time(now),
            expires=_format_time(now + timedelta(hours=self.hours)),
            proposed=rows.encode_json(proposed),
            parts=rows.encode_json([{**asdict(part), "status": "pending"} for part in parts]),
            work=work,
        )
        size = sum(len(row[name]) for name in ("proposed", "parts", "work"))

        def insert(database: sqlite3.Connection) -> Proposal:
            count, kept = rows.count_pending(database, row)
            if count >= self.most or kept + size > _MOST_BYTES:
                raise self._build_full_error(count)
            return rows.insert_proposal(database, row)

        return await self.database.write(insert, purpose=NEW_PROPOSAL)

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal.

        Raises
        ------
        ProposalNotFound
        """
        row = self._build_row(proposal_id=proposal_id)
        return await self.database.read(
            lambda database: rows.select_proposal(database, row), purpose=PROPOSALS
        )

    async def get_payload(self, proposal_id: int) -> bytes:
        """Return what accepting a proposal takes, which is kept while it waits.

        Raises
        ------
        ProposalClosed
            If it waits no longer.
        """
        row = self._build_row(proposal_id=proposal_id)

        def read(database: sqlite3.Connection) -> bytes:
            work = rows.select_payload(database, row)
            if work is None:
                raise build_closed_error(proposal_id, rows.select_proposal(database, row).status)
            return work

        return await self.database.read(read, purpose=PROPOSALS)

    async def list_newest(
        self, *, path: str | None, only_pending: bool, before: int, limit: int
    ) -> list[Proposal]:
        """List proposals, the newest first.

        Parameters
        ----------
        path
            Only those for the notebook at this path; None for all.
        only_pending
            Whether to leave out those that wait no longer.
        before
            Only those with a smaller number.
        limit
            How many at most.
        """
        row = self._build_row(
            name=None if path is None else self.name(path),
            status="pending" if only_pending else None,
            before=before,
            limit=limit,
        )
        return await self.database.read(
            lambda database: rows.select_newest(database, row), purpose=PROPOSALS
        )

    async def decide(self, proposal_id: int, ruling: DecisionRecord) -> Proposal:
        """Keep what was decided about parts that wait, or about all of one that has no parts.

        Raises
        ------
        ProposalNotFound
        ProposalClosed
            If others have decided already, or do so at this moment.
        """
        row = self._build_row(
            proposal_id=proposal_id, most_closed=_MOST_CLOSED, most_bytes=_MOST_CLOSED_BYTES
        )
        return await self.database.write(
            lambda database: rows.store_decision(database, row, ruling),
            purpose=DECISION if ruling.claim is None else ACCEPTANCE,
        )

    async def claim(
        self, proposal_id: int, parts: Collection[int], *, user: str, client: str | None
    ) -> Claim:
        """Claim parts that wait for this server, so that nobody else decides on them.

        Raises
        ------
        ProposalNotFound
        ProposalClosed
            If others have decided already, or do so at this moment.
        """
        presence = self.database.presence
        row = self._build_row(
            proposal_id=proposal_id, server=presence.server, user=user, client=client
        )

        def claim(database: sqlite3.Connection) -> Claim:
            presence.announce()
            made = rows.claim_parts(database, row, parts)
            # On this thread, on which alone it is looked whether a claim is abandoned.
            self._active.add(made.claim)
            return made

        return await self.database.write(claim, purpose=PROPOSALS)

    async def record_write(self, claim: Claim, hash_before: str | None, hash_after: str) -> None:
        """Note that what was claimed is written next, and how that can be seen.

        Raises
        ------
        ProposalClosed
            If it is not claimed any more.
        """
        row = {"claim": claim.claim, "hash_before": hash_before, "hash_after": hash_after}
        if not await self.database.write(
            lambda database: rows.record_write(database, row), purpose=PROPOSALS
        ):
            proposal = await self.get(claim.proposal_id)
            raise build_closed_error(claim.proposal_id, proposal.status)

    async def release(self, claim: Claim) -> None:
        """Let others decide on what was claimed."""
        row = {"claim": claim.claim}
        await self.database.write(
            lambda database: rows.release_claim(database, row), purpose=PROPOSALS
        )

    def leave(self, claim: Claim) -> None:
        """Work on a claim no longer; if it is still there, it is abandoned."""
        self._active.discard(claim.claim)

    async def list_abandoned_claims(self) -> list[Claim]:
        """List the claims of servers that run no longer, and those that this one has left."""
        row = self._build_row()
        presence = self.database.presence

        def find(database: sqlite3.Connection) -> list[Claim]:
            return [
                claim
                for claim in rows.select_claims(database, row)
                if not presence.is_alive(claim.server)
                or (claim.server == presence.server and claim.claim not in self._active)
            ]

        return await self.database.read(find, purpose=PROPOSALS)

    async def expire(self) -> list[Proposal]:
        """End those whose time is over, and give them; forget those that ended long ago."""
        now = self.clock()
        row = self._build_row(
            now=_format_time(now),
            long_ago=_format_time(now - timedelta(hours=self.hours)),
            most_closed=_MOST_CLOSED,
        )
        return await self.database.write(
            lambda database: rows.expire_proposals(database, row), forget=True, purpose=PROPOSALS
        )

    async def find_next_expiry(self) -> datetime | None:
        """Return when `expire` has something to do; None if there is nothing to come."""
        row = self._build_row(soon=_format_time(self.clock() + timedelta(seconds=_CLAIMED_SECONDS)))
        waiting, closed = await self.database.read(
            lambda database: rows.select_next_expiry(database, row), purpose=PROPOSALS
        )
        times = [] if waiting is None else [datetime.fromisoformat(waiting)]
        if closed is not None:
            times.append(datetime.fromisoformat(closed) + timedelta(hours=self.hours))
        return min(times, default=None)

    async def rename_paths(self, old: str, new: str) -> None:
        """Follow a notebook, or all that are in a folder, to another path."""
        row = self._build_row(old=old, new=new, old_name=self.name(old), new_name=self.name(new))
        await self.database.write(
            lambda database: rows.rename_paths(database, row), purpose=PROPOSALS
        )

    async def forget(self, path: str) -> list[Proposal]:
        """Forget all for a notebook, or for those in a folder; give those that waited."""
        row = self._build_row(old=path, old_name=self.name(path))
        return await self.database.write(
            lambda database: rows.delete_paths(database, row), forget=True, purpose=PROPOSALS
        )

    async def purge(self, path: str) -> None:
        """Forget those for a notebook that wait no longer."""
        row = self._build_row(name=self.name(path))
        await self.database.write(
            lambda database: rows.purge_proposals(database, row), forget=True, purpose=PROPOSALS
        )

    def _build_row(self, **values: Any) -> dict[str, Any]:
        return {"root": self.root(), **values}

    def _build_full_error(self, count: int) -> TooManyProposals:
        message = (
            f"No more proposals are kept: {count} of {self.most} (NbEditApp.max_proposals) wait "
            f"for a decision, and all together may have {_MOST_BYTES} bytes. Nothing was changed "
            "or proposed; have a person accept or reject some of them first."
        )
        return TooManyProposals(message, pending=count)


def _format_time(moment: datetime) -> str:
    """Write a time in a form whose order is that of the times."""
    return moment.isoformat(timespec="microseconds")
