"""The proposals in SQL: their number, size and age are limited, and they survive a restart."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict, replace

from jupyter_nbedit.db.errors import ACCEPTANCE, DECISION, NEW_PROPOSAL, PROPOSALS
from jupyter_nbedit.errors import ProposalClosed, ProposalNotFound, TooManyProposals
from jupyter_nbedit.history.models import CellDiff
from jupyter_nbedit.models import Author, Claim
from jupyter_nbedit.proposals.models import (
    Proposal,
    ProposalContent,
    Status,
    Verdict,
    build_closed_error,
    check_pending,
)

if TYPE_CHECKING:
    from jupyter_nbedit.db.database import Database

# The most bytes of all pending proposals, with payloads. A closed proposal has no payload.
_MOST_BYTES = 256 * 1024 * 1024
# The most closed proposals, and their bytes.
_MOST_CLOSED = 1_000
_MOST_CLOSED_BYTES = 32 * 1024 * 1024

_SELECT = """
    SELECT proposal_id, path, status, created, expires, content, parts, edit_ids, decided_by
    FROM proposals WHERE root = :root
"""
_INSERT = """
    INSERT INTO proposals (root, path, name, status, created, expires, content, parts, payload)
    VALUES (:root, :path, :name, 'pending', :created, :expires, :content, :parts, :payload)
"""
_COUNT_PENDING = """
    SELECT count(*), total(length(content) + length(parts) + length(payload))
    FROM proposals WHERE root = :root AND status = 'pending'
"""
_DECIDE = """
    UPDATE proposals
    SET status = :status, parts = :parts, edit_ids = :edit_ids, decided_by = :decided_by,
        payload = CASE :status WHEN 'pending' THEN payload END
    WHERE proposal_id = :proposal_id
"""
_EXPIRE = "UPDATE proposals SET status = 'expired', payload = NULL WHERE proposal_id = ?"
# A claimed proposal does not expire.
_IS_OVER = """
    root = :root AND status = 'pending' AND expires <= :now
    AND proposal_id NOT IN (SELECT proposal_id FROM claims)
"""
_IS_OLD = "root = :root AND status != 'pending' AND expires <= :long_ago"
_MUST_EXPIRE = f"SELECT proposal_id FROM proposals WHERE ({_IS_OVER}) OR ({_IS_OLD}) LIMIT 1"  # noqa: S608 -- ours
# A proposal has the canonical name of its notebook, and the path that the proposer has sent.
_SELECT_PATHS = "SELECT proposal_id, path, name FROM proposals WHERE root = ?"
_UPDATE_PATHS = "UPDATE proposals SET path = ?, name = ? WHERE proposal_id = ?"
_PRUNE_CLOSED = """
    DELETE FROM proposals WHERE proposal_id IN (
        SELECT proposal_id FROM (
            SELECT proposal_id, expires, row_number() OVER newest AS number,
                sum(length(content) + length(parts)) OVER newest AS size
            FROM proposals WHERE root = :root AND status != 'pending'
            WINDOW newest AS (ORDER BY proposal_id DESC)
        ) WHERE expires <= :long_ago OR number > :most_closed OR (number > 1 AND size > :most_bytes)
    )
"""
_INSERT_CLAIM = """
    INSERT INTO claims (proposal_id, parts, server, user, client)
    VALUES (?, ?, ?, ?, ?)
"""
_SELECT_CLAIMS = """
    SELECT claim_id, proposal_id, claims.parts, server, user, client, hash_before, hash_after,
        claims.edit_id
    FROM claims JOIN proposals USING (proposal_id) WHERE
"""
_RECORD_WRITE = "UPDATE claims SET hash_before = ?, hash_after = ? WHERE claim_id = ?"
_DELETE_CLAIM = "DELETE FROM claims WHERE claim_id = ?"
_DELETE_ORPHANED_CLAIMS = """
    DELETE FROM claims WHERE proposal_id NOT IN (SELECT proposal_id FROM proposals)
"""


@dataclass(frozen=True)
class ProposalStore:
    """Stores proposals and claims.

    Methods raise `HistoryUnavailable` if the database fails, and `ProposalNotFound` if the root has
    no proposal of the number.
    """

    database: Database
    #: Returns the root folder of this server; the servers of a user share the database.
    get_root: Callable[[], str]
    #: Returns the canonical name of a path, since links give one notebook several paths.
    get_canonical_name: Callable[[str], str]
    #: How long a proposal can be decided. It is deleted after twice that time.
    hours: float = 24
    max_pending: int = 1_000
    #: Returns the time in UTC.
    get_time: Callable[[], datetime] = lambda: datetime.now(tz=timezone.utc)
    # The claims that this server is working on.
    _active: set[int] = field(default_factory=set)

    async def add(
        self, path: str, content: ProposalContent, parts: Sequence[CellDiff], payload: bytes
    ) -> Proposal:
        """Store a proposal, or raise `TooManyProposals`; ``payload`` is the change, never sent."""
        now = self.get_time()
        row: dict[str, Any] = {
            "root": self.get_root(),
            "path": path,
            "name": self.get_canonical_name(path),
            "created": _format_time(now),
            "expires": _format_time(now + timedelta(hours=self.hours)),
            "content": _encode_json(content),
            "parts": _encode_json([{**asdict(part), "status": "pending"} for part in parts]),
            "payload": payload,
        }
        size = len(row["content"]) + len(row["parts"]) + len(payload)

        def insert(connection: sqlite3.Connection) -> Proposal:
            count, total_size = connection.execute(_COUNT_PENDING, row).fetchone()
            if count >= self.max_pending or total_size + size > _MOST_BYTES:
                message = (
                    f"No more proposals are kept: {count} of {self.max_pending} "
                    f"(NbEditApp.max_proposals) wait for a decision, and all together may have "
                    f"{_MOST_BYTES} bytes. Nothing was changed or proposed; have a person accept "
                    "or reject some of them first."
                )
                raise TooManyProposals(message, pending=count)
            number = connection.execute(_INSERT, row).lastrowid
            return _select_proposal(connection, row["root"], number)

        return await self.database.write(insert, purpose=NEW_PROPOSAL)

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal, or raise `ProposalNotFound`."""
        root = self.get_root()
        return await self.database.read(
            lambda connection: _select_proposal(connection, root, proposal_id), purpose=PROPOSALS
        )

    async def get_payload(self, proposal_id: int) -> bytes:
        """Return the encoded change of a proposal; raise `ProposalClosed` if it is decided."""
        root = self.get_root()

        def select(connection: sqlite3.Connection) -> bytes:
            proposal = _select_proposal(connection, root, proposal_id)
            (payload,) = connection.execute(
                "SELECT payload FROM proposals WHERE proposal_id = ?", (proposal_id,)
            ).fetchone()
            if payload is None:
                raise build_closed_error(proposal_id, proposal.status)
            return bytes(payload)

        return await self.database.read(select, purpose=PROPOSALS)

    async def list_newest(
        self, *, path: str | None, only_pending: bool, before: int, limit: int
    ) -> list[Proposal]:
        """List proposals of a notebook, or of all, with a smaller number than ``before``."""
        row: dict[str, Any] = {
            "root": self.get_root(),
            "name": None if path is None else self.get_canonical_name(path),
            "status": "pending" if only_pending else None,
            "before": before,
            "limit": limit,
        }
        select = (
            f"{_SELECT} AND proposal_id < :before"
            " AND (:name IS NULL OR name = :name) AND (:status IS NULL OR status = :status)"
            " ORDER BY proposal_id DESC LIMIT :limit"
        )
        return await self.database.read(
            lambda connection: [
                _build_proposal(columns) for columns in connection.execute(select, row)
            ],
            purpose=PROPOSALS,
        )

    async def decide(self, claim: Claim, verdict: Verdict, edit_id: int | None = None) -> Proposal:
        """Store a decision on claimed parts, and the edit that has applied them; end the claim.

        Raise `ProposalClosed` if the claim does not exist any more.
        """
        limits = self._build_limits()
        root, proposal_id = limits["root"], claim.proposal_id

        def update(connection: sqlite3.Connection) -> Proposal:
            before = _select_proposal(connection, root, proposal_id)
            if not connection.execute(_DELETE_CLAIM, (claim.claim_id,)).rowcount:
                raise build_closed_error(proposal_id, before.status)
            parts = [
                replace(part, status=verdict) if part.part in claim.parts else part
                for part in before.parts
            ]
            edit_ids = before.edit_ids + ([] if edit_id is None else [edit_id])
            row = {
                "proposal_id": proposal_id,
                "decided_by": claim.user,
                "status": _compute_status({part.status for part in parts} or {verdict}),
                "parts": _encode_json(parts),
                "edit_ids": _encode_json(edit_ids),
            }
            connection.execute(_DECIDE, row)
            after = _select_proposal(connection, root, proposal_id)
            connection.execute(_PRUNE_CLOSED, limits)
            return after

        return await self.database.write(
            update, purpose=ACCEPTANCE if verdict == "accepted" else DECISION
        )

    async def claim(self, proposal_id: int, parts: Collection[int], author: Author) -> Claim:
        """Claim pending parts for a decision, so that nobody else decides on them.

        Raise `ProposalClosed` if a part is not pending, or is claimed already.
        """
        root, presence = self.get_root(), self.database.presence
        numbers, decider = sorted(parts), (presence.server, author.user, author.client)

        def insert(connection: sqlite3.Connection) -> Claim:
            presence.announce()
            check_pending(_select_proposal(connection, root, proposal_id), parts)
            _check_unclaimed(connection, proposal_id, parts)
            row = (proposal_id, _encode_json(numbers), *decider)
            claim_id = connection.execute(_INSERT_CLAIM, row).lastrowid
            claim = Claim(claim_id or 0, proposal_id, numbers, *decider)
            # Only the thread of the database changes and reads the set.
            self._active.add(claim.claim_id)
            return claim

        return await self.database.write(insert, purpose=PROPOSALS)

    async def record_write(self, claim: Claim, hash_before: str | None, hash_after: str) -> None:
        """Store the hashes of the notebook before and after the write that follows.

        Raise `ProposalClosed` if the claim does not exist any more.
        """
        row = (hash_before, hash_after, claim.claim_id)
        if not await self.database.write(
            lambda connection: connection.execute(_RECORD_WRITE, row).rowcount, purpose=PROPOSALS
        ):
            proposal = await self.get(claim.proposal_id)
            raise build_closed_error(claim.proposal_id, proposal.status)

    async def release(self, claim: Claim) -> None:
        """Delete a claim, so that the parts can be decided again."""
        await self.database.write(
            lambda connection: connection.execute(_DELETE_CLAIM, (claim.claim_id,)),
            purpose=PROPOSALS,
        )

    def abandon(self, claim: Claim) -> None:
        """Stop working on a claim; if it still exists, `list_abandoned_claims` lists it."""
        self._active.discard(claim.claim_id)

    async def list_abandoned_claims(self) -> list[Claim]:
        """List the claims of servers that have ended, and those that this server has abandoned."""
        root, presence = self.get_root(), self.database.presence

        def select(connection: sqlite3.Connection) -> list[Claim]:
            return [
                claim
                for claim in _select_claims(connection, "root = ?", root)
                if not presence.is_alive(claim.server)
                or (claim.server == presence.server and claim.claim_id not in self._active)
            ]

        return await self.database.read(select, purpose=PROPOSALS)

    async def expire(self) -> list[Proposal]:
        """Expire pending proposals and return them; delete those that were closed long ago."""
        row = self._build_limits()

        def update(connection: sqlite3.Connection) -> list[Proposal]:
            over = connection.execute(f"{_SELECT} AND {_IS_OVER}", row).fetchall()
            numbers = [columns[0] for columns in over]
            connection.executemany(_EXPIRE, [(number,) for number in numbers])
            expired = [_select_proposal(connection, row["root"], number) for number in numbers]
            # This deletes them as well, if no server was running for a long time.
            connection.execute(_PRUNE_CLOSED, row)
            return expired

        if not await self.database.read(
            lambda connection: connection.execute(_MUST_EXPIRE, row).fetchone(), purpose=PROPOSALS
        ):
            return []
        return await self.database.write(update, forget=True, purpose=PROPOSALS)

    async def rename_paths(self, old: str, new: str) -> None:
        """Follow a notebook, or all notebooks in a folder, to a new path."""
        root = self.get_root()
        old_name, new_name = self.get_canonical_name(old), self.get_canonical_name(new)

        def update(connection: sqlite3.Connection) -> None:
            for number, path, name in connection.execute(_SELECT_PATHS, (root,)).fetchall():
                path_now, name_now = _move(path, old, new), _move(name, old_name, new_name)
                if path_now == path and name_now != name:
                    # The path goes through a link, which leads to the old name.
                    path_now = name_now
                connection.execute(_UPDATE_PATHS, (path_now, name_now, number))

        await self.database.write(update, purpose=PROPOSALS)

    async def delete(self, path: str) -> list[Proposal]:
        """Delete the proposals for a notebook or a folder; return those that were pending."""
        root, deleted_name = self.get_root(), self.get_canonical_name(path)

        def delete(connection: sqlite3.Connection) -> list[Proposal]:
            proposals = []
            for number, old_path, name in connection.execute(_SELECT_PATHS, (root,)).fetchall():
                if _is_inside(name, deleted_name):
                    proposals.append(_select_proposal(connection, root, number))
                    connection.execute("DELETE FROM proposals WHERE proposal_id = ?", (number,))
                elif _is_inside(old_path, path):
                    # The path goes through a link that was deleted.
                    connection.execute(_UPDATE_PATHS, (name, name, number))
            connection.execute(_DELETE_ORPHANED_CLAIMS)
            return [proposal for proposal in proposals if proposal.status == "pending"]

        return await self.database.write(delete, forget=True, purpose=PROPOSALS)

    async def purge(self, path: str) -> None:
        """Delete the closed proposals for a notebook."""
        row = (self.get_root(), self.get_canonical_name(path))
        delete = "DELETE FROM proposals WHERE root = ? AND name = ? AND status != 'pending'"
        await self.database.write(
            lambda connection: connection.execute(delete, row), forget=True, purpose=PROPOSALS
        )

    def _build_limits(self) -> dict[str, Any]:
        """Return the parameters of `_PRUNE_CLOSED`, `_IS_OVER` and `_IS_OLD`."""
        now = self.get_time()
        return {
            "root": self.get_root(),
            "now": _format_time(now),
            "long_ago": _format_time(now - timedelta(hours=self.hours)),
            "most_closed": _MOST_CLOSED,
            "most_bytes": _MOST_CLOSED_BYTES,
        }


def _select_proposal(
    connection: sqlite3.Connection, root: str, proposal_id: int | None
) -> Proposal:
    """Return the proposal of a number, or raise `ProposalNotFound`."""
    row = {"root": root, "proposal_id": proposal_id}
    columns = connection.execute(f"{_SELECT} AND proposal_id = :proposal_id", row).fetchone()
    if columns is None:
        raise ProposalNotFound
    return _build_proposal(columns)


def _select_claims(connection: sqlite3.Connection, condition: str, value: object) -> list[Claim]:
    return [
        Claim(claim_id, proposal_id, json.loads(parts), *rest)
        for claim_id, proposal_id, parts, *rest in connection.execute(
            _SELECT_CLAIMS + condition, (value,)
        )
    ]


def _check_unclaimed(
    connection: sqlite3.Connection, proposal_id: int, parts: Collection[int]
) -> None:
    """Raise `ProposalClosed` if one of some parts is claimed."""
    for claim in _select_claims(connection, "proposal_id = ?", proposal_id):
        if claim.covers(parts):
            message = (
                f"A server is accepting proposal {proposal_id}, or parts of it, at this moment, so "
                "it cannot be decided here. Nothing was written; look at the proposal again in a "
                "moment."
            )
            raise ProposalClosed(
                message,
                proposal_id=proposal_id,
                status="pending",
                parts=sorted(set(claim.parts).intersection(parts)),
            )


def _is_inside(path: str, folder: str) -> bool:
    """Return whether a path is another one, or in the folder of that path."""
    return f"{path}/".startswith(f"{folder}/")


def _move(path: str, old: str, new: str) -> str:
    """Return a path after a notebook or folder was renamed."""
    return new + path[len(old) :] if _is_inside(path, old) else path


def _format_time(moment: datetime) -> str:
    """Format a time so that texts sort like times."""
    return moment.isoformat(timespec="microseconds")


def _encode_json(value: Any) -> str:
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
