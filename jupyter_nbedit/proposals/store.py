"""The proposals in SQL: their number, size and age are limited, and they survive a restart."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.db.errors import ACCEPTANCE, DECISION, NEW_PROPOSAL, PROPOSALS
from jupyter_nbedit.errors import ProposalClosed, ProposalNotFound, TooManyProposals
from jupyter_nbedit.models import Claim
from jupyter_nbedit.proposals.models import (
    Proposal,
    ProposalContent,
    ProposedPart,
    Status,
    Verdict,
    build_final_error,
    check_pending,
)

if TYPE_CHECKING:
    from jupyter_nbedit.db.database import Database

# The most bytes of all pending proposals, with payloads.
_MOST_BYTES = 256 * 1024 * 1024
# The most closed proposals, and their bytes; the payloads of those with rejected parts, which can
# be reopened, may take as many again.
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
    SET status = :status, content = :content, parts = :parts, edit_ids = :edit_ids,
        decided_by = :decided_by, payload = CASE WHEN :keeps_payload THEN payload END
    WHERE proposal_id = :proposal_id
"""
_REOPEN = """
    UPDATE proposals
    SET status = 'pending', content = :content, parts = :parts, decided_by = :decided_by
    WHERE proposal_id = :proposal_id
"""
_EXPIRE = "UPDATE proposals SET status = 'expired', payload = NULL WHERE proposal_id = ?"
# A claimed proposal does not expire.
_IS_OVER = """
    root = :root AND status = 'pending' AND expires <= :now
    AND proposal_id NOT IN (SELECT proposal_id FROM claims)
"""
# Rejected parts can be reopened as long as they could be decided.
_IS_FINAL = """
    root = :root AND status != 'pending' AND expires <= :now AND payload IS NOT NULL
"""
_FINISH = f"UPDATE proposals SET payload = NULL WHERE {_IS_FINAL}"  # noqa: S608 -- ours
_IS_OLD = "root = :root AND status != 'pending' AND expires <= :long_ago"
_MUST_EXPIRE = f"""
    SELECT proposal_id FROM proposals WHERE ({_IS_OVER}) OR ({_IS_FINAL}) OR ({_IS_OLD}) LIMIT 1
"""  # noqa: S608 -- ours
# A proposal has the canonical name of its notebook, and the path that the proposer has sent.
_SELECT_PATHS = "SELECT proposal_id, path, name FROM proposals WHERE root = ?"
_UPDATE_PATHS = "UPDATE proposals SET path = ?, name = ? WHERE proposal_id = ?"
# "0" is the character after the slash.
_IS_IN_FOLDER = "root = :other_root AND name > :folder || '/' AND name < :folder || '0'"
_MUST_ADOPT = f"SELECT proposal_id FROM proposals WHERE {_IS_IN_FOLDER} LIMIT 1"  # noqa: S608 -- ours
_ADOPT = f"""
    UPDATE proposals
    SET root = :root, path = substr(name, length(:folder) + 2),
        name = substr(name, length(:folder) + 2)
    WHERE {_IS_IN_FOLDER}
"""  # noqa: S608 -- ours
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
_PRUNE_PAYLOADS = """
    UPDATE proposals SET payload = NULL WHERE proposal_id IN (
        SELECT proposal_id FROM (
            SELECT proposal_id, sum(length(payload)) OVER newest AS size
            FROM proposals WHERE root = :root AND status != 'pending' AND payload IS NOT NULL
            WINDOW newest AS (ORDER BY proposal_id DESC)
        ) WHERE size > :most_bytes
    )
"""
# The column ``server`` is not used any more.
_INSERT_CLAIM = """
    INSERT OR REPLACE INTO claims
        (claim_id, proposal_id, parts, server, user, client, hash_before, hash_after)
    VALUES (?, ?, ?, '', ?, ?, ?, ?)
"""
_SELECT_CLAIMS = """
    SELECT proposal_id, claims.parts, user, client, claim_id, hash_before, hash_after,
        claims.edit_id
    FROM claims JOIN proposals USING (proposal_id) WHERE
"""
_SELECT_CONTENT = "SELECT content FROM proposals WHERE proposal_id = ?"
_SELECT_SIZE = """
    SELECT length(content) + length(parts) + length(payload), expires
    FROM proposals WHERE proposal_id = ?
"""
_SELECT_EDIT_ID = "SELECT edit_id FROM claims WHERE claim_id = ?"
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

    async def add(
        self, path: str, content: ProposalContent, parts: Sequence[ProposedPart], payload: bytes
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
            "parts": _encode_json(parts),
            "payload": payload,
        }
        size = len(row["content"]) + len(row["parts"]) + len(payload)

        def insert(connection: sqlite3.Connection) -> Proposal:
            self._check_room(connection, row["root"], size)
            number = connection.execute(_INSERT, row).lastrowid
            return _select_proposal(connection, row["root"], number)

        return await self.database.write(insert, purpose=NEW_PROPOSAL)

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal, or raise `ProposalNotFound`."""
        root = self.get_root()
        return await self.database.read(
            lambda connection: _select_proposal(connection, root, proposal_id), purpose=PROPOSALS
        )

    async def get_payload(self, claim: Claim) -> tuple[Proposal, bytes]:
        """Return the proposal of a decision as it is now, and its encoded change.

        Parts whose edit is in the history count as accepted, though that may not be stored yet.
        Raise `ProposalClosed` if a part is not pending, or is in another claim.
        """
        root = self.get_root()

        def select(connection: sqlite3.Connection) -> tuple[Proposal, bytes]:
            proposal = _select_undecided(connection, root, claim)
            (payload,) = connection.execute(
                "SELECT payload FROM proposals WHERE proposal_id = ?", (claim.proposal_id,)
            ).fetchone()
            for other in _select_claims(connection, "proposal_id = ?", claim.proposal_id):
                if other.edit_id is not None:
                    parts = _set_status(proposal.parts, other.parts, "accepted")
                    proposal = replace(proposal, parts=parts)
            return proposal, bytes(payload)

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

    async def decide(self, claim: Claim, verdict: Verdict, reason: str | None = None) -> Proposal:
        """Store a decision and the edit that has applied the parts; delete its claim.

        ``reason`` is why a person rejects. Raise `ProposalClosed` if a part is not pending, or is
        in another claim.
        """
        limits = self._build_limits()
        root, proposal_id = limits["root"], claim.proposal_id

        def update(connection: sqlite3.Connection) -> Proposal:
            row = connection.execute(_SELECT_EDIT_ID, (claim.claim_id,)).fetchone()
            (edit_id,) = row or (claim.edit_id,)
            connection.execute(_DELETE_CLAIM, (claim.claim_id,))
            before = _select_undecided(connection, root, claim)
            parts = _set_status(before.parts, claim.parts, verdict, reason)
            statuses = {part.status for part in parts} or {verdict}
            edit_ids = before.edit_ids + ([] if edit_id is None else [edit_id])
            row = {
                "proposal_id": proposal_id,
                "decided_by": claim.user,
                "status": _compute_status(statuses),
                "content": _set_reason(connection, proposal_id, reason or before.reason),
                "parts": _encode_json(parts),
                "edit_ids": _encode_json(edit_ids),
                "keeps_payload": not statuses.isdisjoint(("pending", "rejected")),
            }
            connection.execute(_DECIDE, row)
            after = _select_proposal(connection, root, proposal_id)
            connection.execute(_PRUNE_CLOSED, limits)
            connection.execute(_PRUNE_PAYLOADS, limits)
            return after

        return await self.database.write(
            update, purpose=ACCEPTANCE if verdict == "accepted" else DECISION
        )

    async def reopen(self, proposal_id: int, numbers: Collection[int]) -> Proposal:
        """Make rejected parts pending again.

        Raise `ProposalClosed` if one of them is not rejected, the proposal has expired or its
        change is not stored any more, and `TooManyProposals`.
        """
        limits = self._build_limits()
        root = limits["root"]

        def update(connection: sqlite3.Connection) -> Proposal:
            before = _select_proposal(connection, root, proposal_id)
            if not set(numbers) <= set(before.rejected) or before.status == "expired":
                raise build_final_error(before)
            size, expires = connection.execute(_SELECT_SIZE, (proposal_id,)).fetchone()
            if size is None or expires <= limits["now"]:
                raise build_final_error(before)
            if before.status != "pending":
                self._check_room(connection, root, size)
            parts = _set_status(before.parts, numbers, "pending")
            reasons = [part.reason for part in parts if part.status == "rejected"]
            reason = (
                before.reason if before.reason in reasons else next(filter(None, reasons), None)
            )
            is_decided = any(part.status != "pending" for part in parts)
            row = {
                "proposal_id": proposal_id,
                "content": _set_reason(connection, proposal_id, reason),
                "parts": _encode_json(parts),
                "decided_by": before.decided_by if is_decided else None,
            }
            connection.execute(_REOPEN, row)
            return _select_proposal(connection, root, proposal_id)

        return await self.database.write(update, purpose=DECISION)

    async def record_write(self, claim: Claim, hash_before: str | None, hash_after: str) -> None:
        """Store a claim with the hashes of the notebook before and after the write that follows.

        The caller has locked the notebook. Raise `ProposalClosed` if a part is not pending, or is
        in another claim.
        """
        root = self.get_root()
        row = (claim.proposal_id, _encode_json(claim.parts), claim.user, claim.client)

        def insert(connection: sqlite3.Connection) -> int | None:
            _select_undecided(connection, root, claim)
            # An earlier attempt may have found that the notebook was changed by others.
            values = (claim.claim_id, *row, hash_before, hash_after)
            return connection.execute(_INSERT_CLAIM, values).lastrowid

        claim.claim_id = await self.database.write(insert, purpose=PROPOSALS)

    async def release(self, claim: Claim) -> None:
        """Delete a claim, so that the parts can be decided again."""
        await self.database.write(
            lambda connection: connection.execute(_DELETE_CLAIM, (claim.claim_id,)),
            purpose=PROPOSALS,
        )

    async def list_claims(self) -> list[Claim]:
        """List the claims of writes that are going on, or that a killed server has begun."""
        root = self.get_root()
        return await self.database.read(
            lambda connection: _select_claims(connection, "root = ?", root), purpose=PROPOSALS
        )

    async def expire(self) -> list[Proposal]:
        """Expire pending proposals and return them; delete those that were closed long ago."""
        row = self._build_limits()

        def update(connection: sqlite3.Connection) -> list[Proposal]:
            over = connection.execute(f"{_SELECT} AND {_IS_OVER}", row).fetchall()
            numbers = [columns[0] for columns in over]
            connection.executemany(_EXPIRE, [(number,) for number in numbers])
            connection.execute(_FINISH, row)
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

    async def adopt(self, other_root: str, folder: str) -> None:
        """Move the proposals of a folder of another root to this root, which is that folder."""
        row = {"root": self.get_root(), "other_root": other_root, "folder": folder}
        if await self.database.read(
            lambda connection: connection.execute(_MUST_ADOPT, row).fetchone(), purpose=PROPOSALS
        ):
            await self.database.write(
                lambda connection: connection.execute(_ADOPT, row), purpose=PROPOSALS
            )

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

    def _check_room(self, connection: sqlite3.Connection, root: str, size: int) -> None:
        """Raise `TooManyProposals` if there is no room for one more pending proposal of a size."""
        count, total_size = connection.execute(_COUNT_PENDING, {"root": root}).fetchone()
        if count >= self.max_pending or total_size + size > _MOST_BYTES:
            message = (
                f"There are too many proposals: {count} of {self.max_pending} "
                "(NbEditApp.max_proposals) are pending, and all together may have at most "
                f"{_MOST_BYTES} bytes. Nothing was changed or proposed; ask a person to "
                "accept or reject some of them first."
            )
            raise TooManyProposals(message, pending=count)

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
        Claim(proposal_id, json.loads(parts), *rest)
        for proposal_id, parts, *rest in connection.execute(_SELECT_CLAIMS + condition, (value,))
    ]


def _select_undecided(connection: sqlite3.Connection, root: str, claim: Claim) -> Proposal:
    """Return the proposal of a claim.

    Raise `ProposalClosed` if a part is not pending, or is in another claim.
    """
    proposal = _select_proposal(connection, root, claim.proposal_id)
    check_pending(proposal, claim.parts)
    for other in _select_claims(connection, "proposal_id = ?", claim.proposal_id):
        if other.claim_id != claim.claim_id and other.covers(claim.parts):
            message = (
                f"A server is accepting proposal {claim.proposal_id}, or parts of it, at this "
                "moment, so it cannot be decided here. Nothing was written; look at the proposal "
                "again in a moment."
            )
            raise ProposalClosed(
                message,
                proposal_id=claim.proposal_id,
                status="pending",
                parts=sorted(set(other.parts).intersection(claim.parts)),
            )
    return proposal


def _set_status(
    parts: Sequence[ProposedPart],
    numbers: Collection[int],
    status: Literal["pending", "accepted", "rejected"],
    reason: str | None = None,
) -> list[ProposedPart]:
    number_set = frozenset(numbers)
    return [
        replace(part, status=status, reason=reason) if part.part in number_set else part
        for part in parts
    ]


def _set_reason(connection: sqlite3.Connection, proposal_id: int, reason: str | None) -> str:
    """Return the content of a proposal with the reason of a person who rejected it."""
    (content,) = connection.execute(_SELECT_CONTENT, (proposal_id,)).fetchone()
    return _encode_json({**json.loads(content), "reason": reason})


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
