"""Where proposals are kept over restarts, for a time and in a number that are bounded."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from jupyter_nbedit.db.errors import ACCEPTANCE, DECISION, NEW_PROPOSAL, PROPOSALS
from jupyter_nbedit.errors import TooManyProposals
from jupyter_nbedit.history.models import CellDiff
from jupyter_nbedit.proposals.models import (
    Claim,
    DecisionRecord,
    Proposal,
    ProposalContent,
    build_closed_error,
)

if TYPE_CHECKING:
    from jupyter_nbedit.db.database import Database


import json
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.errors import ProposalNotFound
from jupyter_nbedit.proposals.models import Status, check_pending, check_unclaimed

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
            proposed=encode_json(proposed),
            parts=encode_json([{**asdict(part), "status": "pending"} for part in parts]),
            work=work,
        )
        size = sum(len(row[name]) for name in ("proposed", "parts", "work"))

        def insert(database: sqlite3.Connection) -> Proposal:
            count, kept = count_pending(database, row)
            if count >= self.most or kept + size > _MOST_BYTES:
                raise self._build_full_error(count)
            return insert_proposal(database, row)

        return await self.database.write(insert, purpose=NEW_PROPOSAL)

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal.

        Raises
        ------
        ProposalNotFound
        """
        row = self._build_row(proposal_id=proposal_id)
        return await self.database.read(
            lambda database: select_proposal(database, row), purpose=PROPOSALS
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
            work = select_payload(database, row)
            if work is None:
                raise build_closed_error(proposal_id, select_proposal(database, row).status)
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
            lambda database: select_newest(database, row), purpose=PROPOSALS
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
            lambda database: store_decision(database, row, ruling),
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
            made = claim_parts(database, row, parts)
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
            lambda database: record_write(database, row), purpose=PROPOSALS
        ):
            proposal = await self.get(claim.proposal_id)
            raise build_closed_error(claim.proposal_id, proposal.status)

    async def release(self, claim: Claim) -> None:
        """Let others decide on what was claimed."""
        row = {"claim": claim.claim}
        await self.database.write(lambda database: release_claim(database, row), purpose=PROPOSALS)

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
                for claim in select_claims(database, row)
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
            lambda database: expire_proposals(database, row), forget=True, purpose=PROPOSALS
        )

    async def find_next_expiry(self) -> datetime | None:
        """Return when `expire` has something to do; None if there is nothing to come."""
        row = self._build_row(soon=_format_time(self.clock() + timedelta(seconds=_CLAIMED_SECONDS)))
        waiting, closed = await self.database.read(
            lambda database: select_next_expiry(database, row), purpose=PROPOSALS
        )
        times = [] if waiting is None else [datetime.fromisoformat(waiting)]
        if closed is not None:
            times.append(datetime.fromisoformat(closed) + timedelta(hours=self.hours))
        return min(times, default=None)

    async def rename_paths(self, old: str, new: str) -> None:
        """Follow a notebook, or all that are in a folder, to another path."""
        row = self._build_row(old=old, new=new, old_name=self.name(old), new_name=self.name(new))
        await self.database.write(lambda database: rename_paths(database, row), purpose=PROPOSALS)

    async def forget(self, path: str) -> list[Proposal]:
        """Forget all for a notebook, or for those in a folder; give those that waited."""
        row = self._build_row(old=path, old_name=self.name(path))
        return await self.database.write(
            lambda database: delete_paths(database, row), forget=True, purpose=PROPOSALS
        )

    async def purge(self, path: str) -> None:
        """Forget those for a notebook that wait no longer."""
        row = self._build_row(name=self.name(path))
        await self.database.write(
            lambda database: purge_proposals(database, row), forget=True, purpose=PROPOSALS
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


Row = Mapping[str, Any]

_SELECT = (
    "SELECT proposal_id, path, status, created, expires, proposed, parts, edit_ids, decided_by "
    "FROM proposals WHERE root = :root"
)
_INSERT = """
    INSERT INTO proposals (root, path, name, status, created, expires, proposed, parts, work)
    VALUES (:root, :path, :name, 'pending', :created, :expires, :proposed, :parts, :work)
"""
_WAITING = """
    SELECT count(*), total(length(proposed) + length(parts) + length(work))
    FROM proposals WHERE root = :root AND status = 'pending'
"""
_WORK = "SELECT work FROM proposals WHERE root = :root AND proposal_id = :proposal_id"
_DECIDE = """
    UPDATE proposals
    SET status = :status, parts = :parts, edit_ids = :edit_ids, decided_by = :by,
        work = CASE :status WHEN 'pending' THEN work END
    WHERE proposal_id = :proposal_id
"""
_EXPIRE = "UPDATE proposals SET status = 'expired', work = NULL WHERE proposal_id = ?"
# What a server is accepting does not expire meanwhile, and is looked at again soon.
_CLAIMED = "proposal_id IN (SELECT proposal_id FROM claims)"
_DUE = f"""
    SELECT
        min(CASE WHEN {_CLAIMED} THEN max(expires, :soon) ELSE expires END)
            FILTER (WHERE status = 'pending'),
        min(expires) FILTER (WHERE status != 'pending')
    FROM proposals WHERE root = :root
"""  # noqa: S608 -- ours
# A proposal is kept by the name without links, and made at the path that its proposer knows. That
# path follows as well, and becomes the name if it does not lead there any more.
_FOLLOW = """
    UPDATE proposals SET
        name = :new_name || substr(name, length(:old_name) + 1),
        path = CASE
            WHEN path = :old OR substr(path, 1, length(:old) + 1) = :old || '/'
            THEN :new || substr(path, length(:old) + 1)
            ELSE :new_name || substr(name, length(:old_name) + 1)
        END
    WHERE root = :root
        AND (name = :old_name OR substr(name, 1, length(:old_name) + 1) = :old_name || '/')
"""
# What is left has a path through a link that was renamed or deleted itself.
_AT_PATH = "root = :root AND (path = :old OR substr(path, 1, length(:old) + 1) = :old || '/')"
_FOLLOW_LINK = "UPDATE proposals SET path = :new || substr(path, length(:old) + 1) WHERE "
_LOSE_LINK = "UPDATE proposals SET path = name WHERE "
_BELOW = " AND (name = :old_name OR substr(name, 1, length(:old_name) + 1) = :old_name || '/')"
_FORGET = "DELETE FROM proposals WHERE root = :root"
_PURGE = "DELETE FROM proposals WHERE root = :root AND name = :name AND status != 'pending'"
_FORGET_MOST = """
    DELETE FROM proposals WHERE proposal_id IN (
        SELECT proposal_id FROM (
            SELECT proposal_id, row_number() OVER newest AS place,
                sum(length(proposed) + length(parts)) OVER newest AS size
            FROM proposals WHERE root = :root AND status != 'pending'
            WINDOW newest AS (ORDER BY proposal_id DESC)
        ) WHERE place > :most_closed OR (place > 1 AND size > :most_bytes)
    )
"""
_FORGET_OLD = """
    DELETE FROM proposals
    WHERE root = :root AND status != 'pending' AND (expires <= :long_ago OR proposal_id IN (
        SELECT proposal_id FROM proposals WHERE root = :root AND status != 'pending'
        ORDER BY proposal_id DESC LIMIT -1 OFFSET :most_closed
    ))
"""

_INSERT_CLAIM = """
    INSERT INTO claims (proposal_id, parts, server, user, client)
    VALUES (:proposal_id, :parts, :server, :user, :client)
"""
_CLAIM_COLUMNS = """
    claim, proposal_id, claims.parts, server, user, client, hash_before, hash_after, claims.edit_id
"""
_CLAIMS = f"SELECT {_CLAIM_COLUMNS} FROM claims WHERE proposal_id = :proposal_id"  # noqa: S608 -- ours
_ALL_CLAIMS = f"""
    SELECT {_CLAIM_COLUMNS} FROM claims JOIN proposals USING (proposal_id) WHERE root = :root
"""  # noqa: S608 -- ours
_WRITING = """
    UPDATE claims SET hash_before = :hash_before, hash_after = :hash_after WHERE claim = :claim
"""
_RELEASE = "DELETE FROM claims WHERE claim = :claim"
_RELEASE_FORGOTTEN = """
    DELETE FROM claims WHERE proposal_id NOT IN (SELECT proposal_id FROM proposals)
"""


def insert_proposal(database: sqlite3.Connection, row: Row) -> Proposal:
    """Add one that waits."""
    number = database.execute(_INSERT, row).lastrowid
    return select_proposal(database, {**row, "proposal_id": number})


def count_pending(database: sqlite3.Connection, row: Row) -> tuple[int, float]:
    """Return how many wait, and how much room they take."""
    count, size = database.execute(_WAITING, row).fetchone()
    return count, size


def select_proposal(database: sqlite3.Connection, row: Row) -> Proposal:
    """Return the one with a number.

    Raises
    ------
    ProposalNotFound
    """
    select = f"{_SELECT} AND proposal_id = :proposal_id"
    found = database.execute(select, row).fetchone()
    if found is None:
        raise ProposalNotFound
    return _build_proposal(found)


def select_payload(database: sqlite3.Connection, row: Row) -> bytes | None:
    """Return what accepting one takes; None if it waits no longer."""
    found = database.execute(_WORK, row).fetchone()
    return None if found is None else found[0]


def select_newest(database: sqlite3.Connection, row: Row) -> list[Proposal]:
    """List some; ``name`` and ``status`` may be None, for any."""
    select = (
        f"{_SELECT} AND proposal_id < :before"
        " AND (:name IS NULL OR name = :name) AND (:status IS NULL OR status = :status)"
        " ORDER BY proposal_id DESC LIMIT :limit"
    )
    return [_build_proposal(found) for found in database.execute(select, row)]


def store_decision(database: sqlite3.Connection, row: Row, ruling: DecisionRecord) -> Proposal:
    """Change parts of one, or the whole of one that has none.

    Raises
    ------
    ProposalNotFound
    ProposalClosed
        If others have decided already, or do so at this moment.
    """
    before = select_proposal(database, row)
    if ruling.claim is None:
        check_pending(before, ruling.parts)
        check_unclaimed(_select_claims(database, row), ruling.parts)
    elif not release_claim(database, {"claim": ruling.claim}):
        raise build_closed_error(before.proposal_id, before.status)
    after = [
        replace(part, status=ruling.verdict) if part.part in ruling.parts else part
        for part in before.parts
    ]
    edit_ids = before.edit_ids + ([] if ruling.edit_id is None else [ruling.edit_id])
    kept = {
        "by": ruling.user,
        "status": _compute_status({part.status for part in after} or {ruling.verdict}),
        "parts": encode_json(after),
        "edit_ids": encode_json(edit_ids),
    }
    database.execute(_DECIDE, {**row, **kept})
    decided = select_proposal(database, row)
    database.execute(_FORGET_MOST, row)
    return decided


def expire_proposals(database: sqlite3.Connection, row: Row) -> list[Proposal]:
    """End those whose time is over, and forget old ones; give the former."""
    select = f"{_SELECT} AND status = 'pending' AND expires <= :now AND NOT {_CLAIMED}"
    due = [_build_proposal(found).proposal_id for found in database.execute(select, row)]
    database.executemany(_EXPIRE, [(number,) for number in due])
    ended = [select_proposal(database, {**row, "proposal_id": number}) for number in due]
    database.execute(_FORGET_OLD, row)
    return ended


def select_next_expiry(database: sqlite3.Connection, row: Row) -> tuple[str | None, str | None]:
    """Return when the next one that waits is over, and when the first of the others was."""
    waiting, closed = database.execute(_DUE, row).fetchone()
    return waiting, closed


def rename_paths(database: sqlite3.Connection, row: Row) -> None:
    """Put a new path in the place of an old one, and of all below it."""
    if row["old_name"] != row["new_name"]:
        database.execute(_FOLLOW, row)
    database.execute(_FOLLOW_LINK + _AT_PATH, row)


def delete_paths(database: sqlite3.Connection, row: Row) -> list[Proposal]:
    """Remove those at a path and below; give those of them that waited."""
    select = f"{_SELECT} AND status = 'pending'{_BELOW}"
    pending = [_build_proposal(found) for found in database.execute(select, row)]
    database.execute(_FORGET + _BELOW, row)
    database.execute(_LOSE_LINK + _AT_PATH, row)
    database.execute(_RELEASE_FORGOTTEN)
    return pending


def claim_parts(database: sqlite3.Connection, row: Row, parts: Collection[int]) -> Claim:
    """Claim parts of one for a server.

    Raises
    ------
    ProposalNotFound
    ProposalClosed
        If others have decided already, or do so at this moment.
    """
    check_pending(select_proposal(database, row), parts)
    check_unclaimed(_select_claims(database, row), parts)
    number = database.execute(_INSERT_CLAIM, {**row, "parts": encode_json(sorted(parts))}).lastrowid
    (made,) = (made for made in _select_claims(database, row) if made.claim == number)
    return made


def select_claims(database: sqlite3.Connection, row: Row) -> list[Claim]:
    """List what all servers have claimed of a root."""
    return [_read_claim(found) for found in database.execute(_ALL_CLAIMS, row)]


def record_write(database: sqlite3.Connection, row: Row) -> bool:
    """Note that what was claimed is being written; false if nobody has claimed it any more."""
    return database.execute(_WRITING, row).rowcount == 1


def release_claim(database: sqlite3.Connection, row: Row) -> bool:
    """End a claim; false if somebody else has done so."""
    return database.execute(_RELEASE, row).rowcount == 1


def _select_claims(database: sqlite3.Connection, row: Row) -> list[Claim]:
    return [_read_claim(found) for found in database.execute(_CLAIMS, row)]


def _read_claim(found: Sequence[Any]) -> Claim:
    number, proposal_id, parts, *more = found
    return Claim(number, proposal_id, json.loads(parts), *more)


def purge_proposals(database: sqlite3.Connection, row: Row) -> None:
    """Remove those for a notebook that wait no longer."""
    database.execute(_PURGE, row)


def encode_json(value: Any) -> str:
    """Write what a row has as JSON."""
    # A source may have lone surrogates, which JSON's escapes alone can say.
    return json.dumps(msgspec.to_builtins(value))


def _compute_status(verdicts: Collection[str]) -> Status:
    if "pending" in verdicts:
        return "pending"
    if len(verdicts) > 1:
        return "partly_accepted"
    return "accepted" if "accepted" in verdicts else "rejected"


def _build_proposal(found: Sequence[Any]) -> Proposal:
    number, path, status, created, expires, proposed, parts, edit_ids, decided_by = found
    told = {
        **json.loads(proposed),
        "proposal_id": number,
        "path": path,
        "status": status,
        "created": created,
        "expires": expires,
        "parts": json.loads(parts),
        "edit_ids": json.loads(edit_ids),
        "decided_by": decided_by,
    }
    return msgspec.convert(told, Proposal)
