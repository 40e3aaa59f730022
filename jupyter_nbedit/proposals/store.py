"""The proposals in SQL: their number, size and age are limited, and they survive a restart."""

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

# The most bytes of all pending proposals, with payloads. A closed proposal has no payload.
_MOST_BYTES = 256 * 1024 * 1024
# The most closed proposals, and their bytes.
_MOST_CLOSED = 1_000
_MOST_CLOSED_BYTES = 32 * 1024 * 1024
# After how long the expiry of a claimed proposal is checked again.
_CLAIMED_SECONDS = 10


def _get_utc_time() -> datetime:
    return datetime.now(tz=timezone.utc)


@dataclass(frozen=True)
class ProposalStore:
    """Stores proposals and claims. Every method raises `HistoryUnavailable` if the database fails.

    Parameters
    ----------
    database
        The database, which all servers of a user share.
    get_root
        Returns the root folder of this server.
    get_canonical_name
        Returns the canonical name of a path, since links give one notebook several paths.
    hours
        How long a proposal can be decided. It is deleted after twice that time.
    max_pending
        The largest number of pending proposals.
    get_time
        Returns the time in UTC.
    """

    database: Database
    get_root: Callable[[], str]
    get_canonical_name: Callable[[str], str]
    hours: float = 24
    max_pending: int = 1_000
    get_time: Callable[[], datetime] = _get_utc_time
    # The claims that this server is working on.
    _active: set[int] = field(default_factory=set)

    async def add(
        self, path: str, content: ProposalContent, parts: Sequence[CellDiff], payload: bytes
    ) -> Proposal:
        """Store a proposal.

        Parameters
        ----------
        path
            The path of the notebook.
        content, parts
            What the proposal shows.
        payload
            The encoded change, which `get_payload` returns; it is never sent.

        Raises
        ------
        TooManyProposals
            If too many proposals are pending.
        """
        now = self.get_time()
        row = self._build_row(
            path=path,
            name=self.get_canonical_name(path),
            created=_format_time(now),
            expires=_format_time(now + timedelta(hours=self.hours)),
            content=encode_json(content),
            parts=encode_json([{**asdict(part), "status": "pending"} for part in parts]),
            payload=payload,
        )
        size = sum(len(row[name]) for name in ("content", "parts", "payload"))

        def insert(database: sqlite3.Connection) -> Proposal:
            count, total_size = count_pending(database, row)
            if count >= self.max_pending or total_size + size > _MOST_BYTES:
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
        """Return the encoded change of a pending proposal.

        Raises
        ------
        ProposalClosed
            If the proposal is not pending.
        """
        row = self._build_row(proposal_id=proposal_id)

        def read(database: sqlite3.Connection) -> bytes:
            payload = select_payload(database, row)
            if payload is None:
                raise build_closed_error(proposal_id, select_proposal(database, row).status)
            return payload

        return await self.database.read(read, purpose=PROPOSALS)

    async def list_newest(
        self, *, path: str | None, only_pending: bool, before: int, limit: int
    ) -> list[Proposal]:
        """List proposals, newest first.

        Parameters
        ----------
        path
            The path of a notebook; None for all notebooks.
        only_pending
            Whether to leave out closed proposals.
        before
            Only proposals with a smaller number.
        limit
            The largest number of proposals to list.
        """
        row = self._build_row(
            name=None if path is None else self.get_canonical_name(path),
            status="pending" if only_pending else None,
            before=before,
            limit=limit,
        )
        return await self.database.read(
            lambda database: select_newest(database, row), purpose=PROPOSALS
        )

    async def decide(self, proposal_id: int, decision: DecisionRecord) -> Proposal:
        """Store a decision on pending parts, or on a whole proposal without parts.

        Raises
        ------
        ProposalNotFound
        ProposalClosed
            If a part is not pending, or is claimed by a server.
        """
        row = self._build_row(
            proposal_id=proposal_id, most_closed=_MOST_CLOSED, most_bytes=_MOST_CLOSED_BYTES
        )
        return await self.database.write(
            lambda database: store_decision(database, row, decision),
            purpose=DECISION if decision.claim_id is None else ACCEPTANCE,
        )

    async def claim(
        self, proposal_id: int, parts: Collection[int], *, user: str, client: str | None
    ) -> Claim:
        """Claim pending parts for this server, so that no other server decides on them.

        Raises
        ------
        ProposalNotFound
        ProposalClosed
            If a part is not pending, or is claimed by a server.
        """
        presence = self.database.presence
        row = self._build_row(
            proposal_id=proposal_id, server=presence.server, user=user, client=client
        )

        def insert(database: sqlite3.Connection) -> Claim:
            presence.announce()
            claim = claim_parts(database, row, parts)
            # Only the thread of the database changes and reads the set.
            self._active.add(claim.claim_id)
            return claim

        return await self.database.write(insert, purpose=PROPOSALS)

    async def record_write(self, claim: Claim, hash_before: str | None, hash_after: str) -> None:
        """Store the hashes of the notebook before and after the write that follows.

        Raises
        ------
        ProposalClosed
            If the claim does not exist any more.
        """
        row = {"claim_id": claim.claim_id, "hash_before": hash_before, "hash_after": hash_after}
        if not await self.database.write(
            lambda database: record_write(database, row), purpose=PROPOSALS
        ):
            proposal = await self.get(claim.proposal_id)
            raise build_closed_error(claim.proposal_id, proposal.status)

    async def release(self, claim: Claim) -> None:
        """Delete a claim, so that the parts can be decided again."""
        row = {"claim_id": claim.claim_id}
        await self.database.write(lambda database: release_claim(database, row), purpose=PROPOSALS)

    def abandon(self, claim: Claim) -> None:
        """Stop working on a claim; if it still exists, `list_abandoned_claims` lists it."""
        self._active.discard(claim.claim_id)

    async def list_abandoned_claims(self) -> list[Claim]:
        """List the claims of servers that have ended, and those that this server has abandoned."""
        row = self._build_row()
        presence = self.database.presence

        def find(database: sqlite3.Connection) -> list[Claim]:
            return [
                claim
                for claim in select_claims(database, row)
                if not presence.is_alive(claim.server)
                or (claim.server == presence.server and claim.claim_id not in self._active)
            ]

        return await self.database.read(find, purpose=PROPOSALS)

    async def expire(self) -> list[Proposal]:
        """Expire pending proposals and return them; delete those that were closed long ago."""
        now = self.get_time()
        row = self._build_row(
            now=_format_time(now),
            long_ago=_format_time(now - timedelta(hours=self.hours)),
            most_closed=_MOST_CLOSED,
        )
        return await self.database.write(
            lambda database: expire_proposals(database, row), forget=True, purpose=PROPOSALS
        )

    async def find_next_expiry(self) -> datetime | None:
        """Return when `expire` has to run next; None if there are no proposals."""
        row = self._build_row(
            soon=_format_time(self.get_time() + timedelta(seconds=_CLAIMED_SECONDS))
        )
        pending_expiry, closed_expiry = await self.database.read(
            lambda database: select_next_expiry(database, row), purpose=PROPOSALS
        )
        times = [] if pending_expiry is None else [datetime.fromisoformat(pending_expiry)]
        if closed_expiry is not None:
            times.append(datetime.fromisoformat(closed_expiry) + timedelta(hours=self.hours))
        return min(times, default=None)

    async def rename_paths(self, old: str, new: str) -> None:
        """Follow a notebook, or all notebooks in a folder, to a new path."""
        row = self._build_row(
            old=old,
            new=new,
            old_name=self.get_canonical_name(old),
            new_name=self.get_canonical_name(new),
        )
        await self.database.write(lambda database: rename_paths(database, row), purpose=PROPOSALS)

    async def delete(self, path: str) -> list[Proposal]:
        """Delete the proposals for a notebook or a folder; return those that were pending."""
        row = self._build_row(old=path, old_name=self.get_canonical_name(path))
        return await self.database.write(
            lambda database: delete_paths(database, row), forget=True, purpose=PROPOSALS
        )

    async def purge(self, path: str) -> None:
        """Delete the closed proposals for a notebook."""
        row = self._build_row(name=self.get_canonical_name(path))
        await self.database.write(
            lambda database: purge_proposals(database, row), forget=True, purpose=PROPOSALS
        )

    def _build_row(self, **values: Any) -> dict[str, Any]:
        return {"root": self.get_root(), **values}

    def _build_full_error(self, count: int) -> TooManyProposals:
        message = (
            f"No more proposals are kept: {count} of {self.max_pending} (NbEditApp.max_proposals) "
            f"wait for a decision, and all together may have {_MOST_BYTES} bytes. Nothing was "
            "changed or proposed; have a person accept or reject some of them first."
        )
        return TooManyProposals(message, pending=count)


def _format_time(moment: datetime) -> str:
    """Format a time so that texts sort like times."""
    return moment.isoformat(timespec="microseconds")


Row = Mapping[str, Any]

_SELECT = (
    "SELECT proposal_id, path, status, created, expires, content, parts, edit_ids, decided_by "
    "FROM proposals WHERE root = :root"
)
_INSERT = """
    INSERT INTO proposals (root, path, name, status, created, expires, content, parts, payload)
    VALUES (:root, :path, :name, 'pending', :created, :expires, :content, :parts, :payload)
"""
_COUNT_PENDING = """
    SELECT count(*), total(length(content) + length(parts) + length(payload))
    FROM proposals WHERE root = :root AND status = 'pending'
"""
_PAYLOAD = "SELECT payload FROM proposals WHERE root = :root AND proposal_id = :proposal_id"
_DECIDE = """
    UPDATE proposals
    SET status = :status, parts = :parts, edit_ids = :edit_ids, decided_by = :decided_by,
        payload = CASE :status WHEN 'pending' THEN payload END
    WHERE proposal_id = :proposal_id
"""
_EXPIRE = "UPDATE proposals SET status = 'expired', payload = NULL WHERE proposal_id = ?"
# A claimed proposal does not expire; its expiry is checked again soon.
_IS_CLAIMED = "proposal_id IN (SELECT proposal_id FROM claims)"
_NEXT_EXPIRY = f"""
    SELECT
        min(CASE WHEN {_IS_CLAIMED} THEN max(expires, :soon) ELSE expires END)
            FILTER (WHERE status = 'pending'),
        min(expires) FILTER (WHERE status != 'pending')
    FROM proposals WHERE root = :root
"""  # noqa: S608 -- ours
# A proposal has the canonical name of its notebook, and the path that the proposer has sent. A
# rename changes both; a path that goes through a link which is not renamed becomes the name.
_RENAME = """
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
# The rest are proposals whose path goes through a link that was itself renamed or deleted.
_HAS_PATH = "root = :root AND (path = :old OR substr(path, 1, length(:old) + 1) = :old || '/')"
_RENAME_LINK = "UPDATE proposals SET path = :new || substr(path, length(:old) + 1) WHERE "
_DELETE_LINK = "UPDATE proposals SET path = name WHERE "
_HAS_NAME = " AND (name = :old_name OR substr(name, 1, length(:old_name) + 1) = :old_name || '/')"
_DELETE = "DELETE FROM proposals WHERE root = :root"
_PURGE = "DELETE FROM proposals WHERE root = :root AND name = :name AND status != 'pending'"
_TRIM_CLOSED = """
    DELETE FROM proposals WHERE proposal_id IN (
        SELECT proposal_id FROM (
            SELECT proposal_id, row_number() OVER newest AS number,
                sum(length(content) + length(parts)) OVER newest AS size
            FROM proposals WHERE root = :root AND status != 'pending'
            WINDOW newest AS (ORDER BY proposal_id DESC)
        ) WHERE number > :most_closed OR (number > 1 AND size > :most_bytes)
    )
"""
_DELETE_OLD = """
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
    claim_id, proposal_id, claims.parts, server, user, client, hash_before, hash_after,
    claims.edit_id
"""
_SELECT_CLAIMS = f"SELECT {_CLAIM_COLUMNS} FROM claims WHERE proposal_id = :proposal_id"  # noqa: S608 -- ours
_SELECT_ALL_CLAIMS = f"""
    SELECT {_CLAIM_COLUMNS} FROM claims JOIN proposals USING (proposal_id) WHERE root = :root
"""  # noqa: S608 -- ours
_RECORD_WRITE = """
    UPDATE claims SET hash_before = :hash_before, hash_after = :hash_after
    WHERE claim_id = :claim_id
"""
_RELEASE = "DELETE FROM claims WHERE claim_id = :claim_id"
_DELETE_ORPHANED_CLAIMS = """
    DELETE FROM claims WHERE proposal_id NOT IN (SELECT proposal_id FROM proposals)
"""


def insert_proposal(database: sqlite3.Connection, row: Row) -> Proposal:
    """Insert a pending proposal."""
    number = database.execute(_INSERT, row).lastrowid
    return select_proposal(database, {**row, "proposal_id": number})


def count_pending(database: sqlite3.Connection, row: Row) -> tuple[int, float]:
    """Return the number of pending proposals and their bytes."""
    count, size = database.execute(_COUNT_PENDING, row).fetchone()
    return count, size


def select_proposal(database: sqlite3.Connection, row: Row) -> Proposal:
    """Return the proposal of a number.

    Raises
    ------
    ProposalNotFound
    """
    select = f"{_SELECT} AND proposal_id = :proposal_id"
    result = database.execute(select, row).fetchone()
    if result is None:
        raise ProposalNotFound
    return _build_proposal(result)


def select_payload(database: sqlite3.Connection, row: Row) -> bytes | None:
    """Return the encoded change of a proposal; None if it is closed."""
    result = database.execute(_PAYLOAD, row).fetchone()
    return None if result is None else result[0]


def select_newest(database: sqlite3.Connection, row: Row) -> list[Proposal]:
    """List proposals, newest first; ``name`` and ``status`` may be None, which means any."""
    select = (
        f"{_SELECT} AND proposal_id < :before"
        " AND (:name IS NULL OR name = :name) AND (:status IS NULL OR status = :status)"
        " ORDER BY proposal_id DESC LIMIT :limit"
    )
    return [_build_proposal(result) for result in database.execute(select, row)]


def store_decision(database: sqlite3.Connection, row: Row, decision: DecisionRecord) -> Proposal:
    """Change the status of parts, or of a whole proposal without parts.

    Raises
    ------
    ProposalNotFound
    ProposalClosed
        If a part is not pending, or is claimed by a server.
    """
    before = select_proposal(database, row)
    if decision.claim_id is None:
        check_pending(before, decision.parts)
        check_unclaimed(_select_claims(database, row), decision.parts)
    elif not release_claim(database, {"claim_id": decision.claim_id}):
        raise build_closed_error(before.proposal_id, before.status)
    parts = [
        replace(part, status=decision.verdict) if part.part in decision.parts else part
        for part in before.parts
    ]
    edit_ids = before.edit_ids + ([] if decision.edit_id is None else [decision.edit_id])
    columns = {
        "decided_by": decision.user,
        "status": _compute_status({part.status for part in parts} or {decision.verdict}),
        "parts": encode_json(parts),
        "edit_ids": encode_json(edit_ids),
    }
    database.execute(_DECIDE, {**row, **columns})
    after = select_proposal(database, row)
    database.execute(_TRIM_CLOSED, row)
    return after


def expire_proposals(database: sqlite3.Connection, row: Row) -> list[Proposal]:
    """Expire pending proposals and return them; delete old closed ones."""
    select = f"{_SELECT} AND status = 'pending' AND expires <= :now AND NOT {_IS_CLAIMED}"
    numbers = [_build_proposal(result).proposal_id for result in database.execute(select, row)]
    database.executemany(_EXPIRE, [(number,) for number in numbers])
    expired_proposals = [
        select_proposal(database, {**row, "proposal_id": number}) for number in numbers
    ]
    database.execute(_DELETE_OLD, row)
    return expired_proposals


def select_next_expiry(database: sqlite3.Connection, row: Row) -> tuple[str | None, str | None]:
    """Return the earliest expiry of the pending proposals, and that of the closed ones."""
    pending_expiry, closed_expiry = database.execute(_NEXT_EXPIRY, row).fetchone()
    return pending_expiry, closed_expiry


def rename_paths(database: sqlite3.Connection, row: Row) -> None:
    """Replace a path, also where it is the beginning of a longer path."""
    if row["old_name"] != row["new_name"]:
        database.execute(_RENAME, row)
    database.execute(_RENAME_LINK + _HAS_PATH, row)


def delete_paths(database: sqlite3.Connection, row: Row) -> list[Proposal]:
    """Delete the proposals of a path and below; return those that were pending."""
    select = f"{_SELECT} AND status = 'pending'{_HAS_NAME}"
    pending = [_build_proposal(result) for result in database.execute(select, row)]
    database.execute(_DELETE + _HAS_NAME, row)
    database.execute(_DELETE_LINK + _HAS_PATH, row)
    database.execute(_DELETE_ORPHANED_CLAIMS)
    return pending


def claim_parts(database: sqlite3.Connection, row: Row, parts: Collection[int]) -> Claim:
    """Claim parts of a proposal for a server.

    Raises
    ------
    ProposalNotFound
    ProposalClosed
        If a part is not pending, or is claimed by a server.
    """
    check_pending(select_proposal(database, row), parts)
    check_unclaimed(_select_claims(database, row), parts)
    number = database.execute(_INSERT_CLAIM, {**row, "parts": encode_json(sorted(parts))}).lastrowid
    (claim,) = (claim for claim in _select_claims(database, row) if claim.claim_id == number)
    return claim


def select_claims(database: sqlite3.Connection, row: Row) -> list[Claim]:
    """List the claims of all servers on proposals of a root."""
    return [_build_claim(result) for result in database.execute(_SELECT_ALL_CLAIMS, row)]


def record_write(database: sqlite3.Connection, row: Row) -> bool:
    """Store the hashes of a write with a claim; return whether the claim exists."""
    return database.execute(_RECORD_WRITE, row).rowcount == 1


def release_claim(database: sqlite3.Connection, row: Row) -> bool:
    """Delete a claim; return whether it existed."""
    return database.execute(_RELEASE, row).rowcount == 1


def _select_claims(database: sqlite3.Connection, row: Row) -> list[Claim]:
    return [_build_claim(result) for result in database.execute(_SELECT_CLAIMS, row)]


def _build_claim(columns: Sequence[Any]) -> Claim:
    claim_id, proposal_id, parts, *rest = columns
    return Claim(claim_id, proposal_id, json.loads(parts), *rest)


def purge_proposals(database: sqlite3.Connection, row: Row) -> None:
    """Delete the closed proposals for a notebook."""
    database.execute(_PURGE, row)


def encode_json(value: Any) -> str:
    """Encode a value as JSON."""
    # A source may have lone surrogates, which only the escapes of the json module can encode.
    return json.dumps(msgspec.to_builtins(value))


def _compute_status(verdicts: Collection[str]) -> Status:
    if "pending" in verdicts:
        return "pending"
    if len(verdicts) > 1:
        return "partly_accepted"
    return "accepted" if "accepted" in verdicts else "rejected"


def _build_proposal(columns: Sequence[Any]) -> Proposal:
    proposal_id, path, status, created, expires, content, parts, edit_ids, decided_by = columns
    fields = {
        **json.loads(content),
        "proposal_id": proposal_id,
        "path": path,
        "status": status,
        "created": created,
        "expires": expires,
        "parts": json.loads(parts),
        "edit_ids": json.loads(edit_ids),
        "decided_by": decided_by,
    }
    return msgspec.convert(fields, Proposal)
