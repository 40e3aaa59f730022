"""The proposals in SQL: their number, size and age are limited, and they survive a restart."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.errors import ACCEPTANCE, DECISION, NEW_PROPOSAL, PROPOSALS
from jupyter_nbedit.db.link_paths import IS_IN_ROOT, PathFinder, build_root_values, store_path
from jupyter_nbedit.db.notebook_names import NotebookName, NotebookNames
from jupyter_nbedit.errors import ProposalClosed, ProposalNotFound, TooManyProposals
from jupyter_nbedit.services.proposals.models import (
    Proposal,
    ProposalContent,
    ProposedPart,
    Status,
    Verdict,
    build_closed_error,
    build_final_error,
    check_pending,
)
from jupyter_nbedit.services.requests import Claim, ProposalOrigin

# The most bytes of all pending proposals, with payloads.
_MAX_BYTES = 256 * 1024 * 1024
# The most closed proposals, and their bytes. The payloads of closed proposals that can be pending
# again may take the same number of bytes in addition.
_MAX_CLOSED = 1_000
_MAX_CLOSED_BYTES = 32 * 1024 * 1024

# In the content of a proposal, but never sent. The second is the version of the notebook in which
# the accepted parts, and nothing else, were applied to the version that the proposal was made for.
# It is null if there is no such version. The third has the user and the parts of each acceptance,
# by the number of its edit, also if the edit is undone.
_ORIGIN, _ACCEPTED_HASH, _ACCEPTANCES = "origin", "accepted_hash", "acceptances"

_SELECT = """
    SELECT proposal_id, path, status, created, expires, content, parts, edit_ids, decided_by,
        root, name
    FROM proposals
"""
_SELECT_OWN = f"{_SELECT} WHERE {IS_IN_ROOT}"
_SELECT_BY_ID = f"{_SELECT} WHERE proposal_id = ?"
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
_IS_OF_NOTEBOOK = "root = :root AND name = :name"
_SELECT_EDIT_IDS = f"""
    SELECT proposal_id, edit_ids FROM proposals WHERE {_IS_OF_NOTEBOOK} AND edit_ids != '[]'
"""  # noqa: S608 -- ours
_EXPIRE = "UPDATE proposals SET status = 'expired', payload = NULL WHERE proposal_id = ?"
# A claimed proposal does not expire.
_IS_OVER = """
    root = :root AND status = 'pending' AND expires <= :now
    AND proposal_id NOT IN (SELECT proposal_id FROM claims)
"""
_SELECT_OVER = f"SELECT proposal_id FROM proposals WHERE {_IS_OVER}"  # noqa: S608 -- ours
# The payload is kept until `expires`, because decided parts can be pending again until then.
_IS_FINAL = """
    root = :root AND status != 'pending' AND expires <= :now AND payload IS NOT NULL
"""
_FINISH = f"UPDATE proposals SET payload = NULL WHERE {_IS_FINAL}"  # noqa: S608 -- ours
_IS_OLD = "root = :root AND status != 'pending' AND expires <= :long_ago"
_MUST_EXPIRE = f"""
    SELECT proposal_id FROM proposals WHERE ({_IS_OVER}) OR ({_IS_FINAL}) OR ({_IS_OLD}) LIMIT 1
"""  # noqa: S608 -- ours
# A proposal has the name of its notebook, and the path that the proposer has sent. The server of
# another root may know the notebook by another path.
_SELECT_PATHS = "SELECT proposal_id, path, name FROM proposals WHERE root = ?"
_UPDATE_PATHS = "UPDATE proposals SET path = ?, name = ? WHERE proposal_id = ?"
_PRUNE_CLOSED = """
    DELETE FROM proposals WHERE proposal_id IN (
        SELECT proposal_id FROM (
            SELECT proposal_id, expires, row_number() OVER newest AS number,
                sum(length(content) + length(parts)) OVER newest AS size
            FROM proposals WHERE root = :root AND status != 'pending'
            WINDOW newest AS (ORDER BY proposal_id DESC)
        ) WHERE expires <= :long_ago OR number > :max_closed OR (number > 1 AND size > :max_bytes)
    )
"""
_PRUNE_PAYLOADS = """
    UPDATE proposals SET payload = NULL WHERE proposal_id IN (
        SELECT proposal_id FROM (
            SELECT proposal_id, sum(length(payload)) OVER newest AS size
            FROM proposals WHERE root = :root AND status != 'pending' AND payload IS NOT NULL
            WINDOW newest AS (ORDER BY proposal_id DESC)
        ) WHERE size > :max_bytes
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
_IS_OF_CLAIM = "proposal_id = :proposal_id"
_SELECT_CONTENT = "SELECT content FROM proposals WHERE proposal_id = ?"
_DELETE = "DELETE FROM proposals WHERE proposal_id = ?"
_SELECT_SIZE = """
    SELECT length(content) + length(parts) + length(payload), expires
    FROM proposals WHERE proposal_id = ?
"""
_SELECT_WRITE = "SELECT edit_id, hash_before, hash_after FROM claims WHERE claim_id = ?"
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
    names: NotebookNames
    #: How long a proposal can be decided. It is deleted after twice that time.
    hours: float
    max_pending: int
    #: Returns the time in UTC.
    get_time: Callable[[], datetime] = lambda: datetime.now(tz=timezone.utc)

    async def add(
        self,
        path: str,
        content: ProposalContent,
        parts: Sequence[ProposedPart],
        payload: bytes,
        origin: ProposalOrigin,
    ) -> Proposal:
        """Store a proposal, or raise `TooManyProposals`.

        ``payload`` is the change, and ``origin`` its request; both are never sent.
        """
        now = self.get_time()
        name = self.names.find(path)
        row: dict[str, Any] = {
            **name._asdict(),
            "path": path,
            "created": _format_time(now),
            "expires": _format_time(now + timedelta(hours=self.hours)),
            "content": _encode_json({**msgspec.to_builtins(content), _ORIGIN: origin}),
            "parts": _encode_json(parts),
            "payload": payload,
        }
        size = len(row["content"]) + len(row["parts"]) + len(payload)

        def insert(connection: sqlite3.Connection) -> Proposal:
            self._check_room(connection, size)
            store_path(connection, self.names, path, name)
            number = connection.execute(_INSERT, row).lastrowid
            return self._select_proposal(connection, number)

        return await self.database.write(insert, purpose=NEW_PROPOSAL)

    async def get(self, proposal_id: int) -> Proposal:
        """Return a proposal, or raise `ProposalNotFound`."""
        return await self.database.read(
            lambda connection: self._select_proposal(connection, proposal_id), purpose=PROPOSALS
        )

    async def get_origin(self, proposal_id: int) -> ProposalOrigin:
        """Return the request that a proposal comes from."""

        def select(connection: sqlite3.Connection) -> ProposalOrigin:
            row = connection.execute(_SELECT_CONTENT, (proposal_id,)).fetchone()
            if row is None:
                raise ProposalNotFound
            # Older releases stored none.
            return msgspec.convert(json.loads(row[0]).get(_ORIGIN, {}), ProposalOrigin)

        return await self.database.read(select, purpose=PROPOSALS)

    async def get_payload(self, claim: Claim) -> tuple[Proposal, bytes, str | None]:
        """Return the proposal of a decision as it is now, its encoded change, and a hash.

        Parts whose edit is in the history count as accepted, though that may not be stored yet.
        The hash is of the version that has the accepted parts, and no other change; None if there
        is none, or it is not known. Raise `ProposalClosed` if a part is not pending, or is in
        another claim.
        """

        def select(connection: sqlite3.Connection) -> tuple[Proposal, bytes, str | None]:
            proposal = self._select_undecided(connection, claim)
            content = _read_content(connection, claim.proposal_id)
            accepted_hash = _get_accepted_hash(content, proposal.parts)
            (payload,) = connection.execute(
                "SELECT payload FROM proposals WHERE proposal_id = ?", (claim.proposal_id,)
            ).fetchone()
            for other in _select_claims(
                connection, _IS_OF_CLAIM, {"proposal_id": claim.proposal_id}
            ):
                if other.edit_id is not None:
                    parts = _set_status(proposal.parts, other.parts, "accepted")
                    proposal, accepted_hash = replace(proposal, parts=parts), None
            return proposal, bytes(payload), accepted_hash

        return await self.database.read(select, purpose=PROPOSALS)

    async def list_newest(
        self, *, path: str | None, only_pending: bool, before: int, limit: int
    ) -> list[Proposal]:
        """List proposals of a notebook, or of all, with a smaller number than ``before``."""
        row: dict[str, Any] = {
            **build_root_values(self.names),
            "status": "pending" if only_pending else None,
            "before": before,
            "limit": limit,
        }
        is_chosen = IS_IN_ROOT
        if path is not None:
            row |= self.names.find(path)._asdict()
            is_chosen = _IS_OF_NOTEBOOK
        select = (
            f"{_SELECT} WHERE {is_chosen} AND proposal_id < :before"
            " AND (:status IS NULL OR status = :status)"
            " ORDER BY proposal_id DESC LIMIT :limit"
        )

        def read(connection: sqlite3.Connection) -> list[Proposal]:
            finder = PathFinder.read(connection, self.names)
            return [
                _build_proposal(columns, finder, path)
                for columns in connection.execute(select, row)
            ]

        return await self.database.read(read, purpose=PROPOSALS)

    async def decide(self, claim: Claim, verdict: Verdict, reason: str | None = None) -> Proposal:
        """Store a decision and the edit that has applied the parts; delete its claim.

        ``reason`` is why a person rejects. Raise `ProposalClosed` if a part is not pending, or is
        in another claim.
        """
        limits = self._build_limits()

        def update(connection: sqlite3.Connection) -> Proposal:
            after = self._decide(connection, claim, verdict, reason)
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

        def update(connection: sqlite3.Connection) -> Proposal:
            before = self._select_proposal(connection, proposal_id)
            if not set(numbers) <= set(before.rejected) or before.status == "expired":
                raise build_final_error(before)
            return self._reopen(connection, before, numbers)

        return await self.database.write(update, purpose=DECISION)

    def list_accepted(
        self, connection: sqlite3.Connection, path: str, edit_ids: Collection[int]
    ) -> list[int]:
        """List the proposals for a notebook that some edits have accepted, wholly or in part.

        Decisions that are not stored yet are stored first.
        """
        row = self.names.find(path)._asdict()
        for claim in _select_claims(connection, _IS_OF_NOTEBOOK, row):
            if claim.edit_id in edit_ids:
                self._decide(connection, claim, "accepted", None)
        return [
            number
            for number, numbers in connection.execute(_SELECT_EDIT_IDS, row)
            if not set(edit_ids).isdisjoint(json.loads(numbers))
        ]

    def accept_again(
        self, connection: sqlite3.Connection, proposal_id: int, edit_id: int
    ) -> Proposal | None:
        """After the redo of an edit, mark the parts that it had accepted as accepted again.

        Return None if nothing has changed. A proposal that has expired stays as it is.
        """
        before = self._select_proposal(connection, proposal_id)
        acceptances = _read_content(connection, proposal_id).get(_ACCEPTANCES, {})
        acceptance = acceptances.get(str(edit_id))
        if acceptance is None or before.status == "expired":
            return None
        parts = [
            part.part
            for part in before.parts
            if part.part in acceptance["parts"] and part.status != "accepted"
        ]
        if not parts:
            return None
        # The decision of that user counts again, whoever has redone the edit.
        claim = Claim(proposal_id, parts, acceptance["user"], None, edit_id=edit_id)
        return self._store_verdict(connection, before, claim, "accepted")

    def reopen_undone(
        self, connection: sqlite3.Connection, proposal_id: int, edit_id: int
    ) -> Proposal | None:
        """After the undo of an edit, make the parts that it had accepted pending again.

        Return None if nothing has changed. A proposal that has expired, or whose change is not
        stored any more, stays as it is. Raise `TooManyProposals`.
        """
        before = self._select_proposal(connection, proposal_id)
        parts = [
            part.part
            for part in before.parts
            if part.edit_id == edit_id and part.status == "accepted"
        ]
        if parts and before.status != "expired":
            with suppress(ProposalClosed):
                return self._reopen(connection, before, parts)
        return None

    async def record_write(self, claim: Claim, hash_before: str | None, hash_after: str) -> None:
        """Store a claim with the hashes of the notebook before and after the write that follows.

        The caller has locked the notebook. Raise `ProposalClosed` if a part is not pending, or is
        in another claim.
        """
        row = (claim.proposal_id, _encode_json(claim.parts), claim.user, claim.client)

        def insert(connection: sqlite3.Connection) -> int | None:
            self._select_undecided(connection, claim)
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
        values = build_root_values(self.names)
        return await self.database.read(
            lambda connection: _select_claims(connection, IS_IN_ROOT, values), purpose=PROPOSALS
        )

    async def expire(self) -> list[Proposal]:
        """Expire pending proposals; delete proposals that were closed long ago.

        Return the expired proposals to whose notebook a path of this root leads. Proposals of other
        roots expire, too, because the server of another root may not run.
        """
        row = self._build_limits()

        def update(connection: sqlite3.Connection) -> list[Proposal]:
            numbers = [number for (number,) in connection.execute(_SELECT_OVER, row)]
            connection.executemany(_EXPIRE, [(number,) for number in numbers])
            connection.execute(_FINISH, row)
            expired = self._list_proposals(connection, numbers)
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
        old_name, new_name = self.names.find(old), self.names.find(new)
        is_link = self.names.is_link(new)

        def update(connection: sqlite3.Connection) -> None:
            rows = connection.execute(_SELECT_PATHS, (old_name.root,)).fetchall()
            for number, path, name in rows:
                path_now = _move(path, old, new)
                name_now = name if is_link else _move(name, old_name.name, new_name.name)
                if path_now == path and name_now != name:
                    # The path goes through a link, or is a path of another server.
                    path_now = self.names.get_path(NotebookName(old_name.root, name_now)) or path
                connection.execute(_UPDATE_PATHS, (path_now, name_now, number))

        await self.database.write(update, purpose=PROPOSALS)

    async def delete(self, path: str) -> list[Proposal]:
        """Delete the proposals for a notebook or a folder.

        Return the proposals that were pending and to whose notebook a path of this root leads.
        """
        root, deleted_name = self.names.find(path)

        def delete(connection: sqlite3.Connection) -> list[Proposal]:
            rows = connection.execute(_SELECT_PATHS, (root,)).fetchall()
            numbers = [number for number, _, name in rows if _is_inside(name, deleted_name)]
            proposals = self._list_proposals(connection, numbers)
            connection.executemany(_DELETE, [(number,) for number in numbers])
            connection.execute(_DELETE_ORPHANED_CLAIMS)
            return [proposal for proposal in proposals if proposal.status == "pending"]

        return await self.database.write(delete, forget=True, purpose=PROPOSALS)

    async def purge(self, path: str) -> None:
        """Delete the closed proposals for a notebook."""
        row = self.names.find(path)
        delete = "DELETE FROM proposals WHERE root = ? AND name = ? AND status != 'pending'"
        await self.database.write(
            lambda connection: connection.execute(delete, row), forget=True, purpose=PROPOSALS
        )

    def _list_proposals(
        self, connection: sqlite3.Connection, numbers: Iterable[int]
    ) -> list[Proposal]:
        """Return proposals by number, without proposals that no path of this root reaches."""
        finder = PathFinder.read(connection, self.names)
        proposals = [
            _build_proposal(connection.execute(_SELECT_BY_ID, (number,)).fetchone(), finder, None)
            for number in numbers
        ]
        return [proposal for proposal in proposals if proposal.path]

    def _select_proposal(self, connection: sqlite3.Connection, proposal_id: int | None) -> Proposal:
        """Return the proposal of a number, or raise `ProposalNotFound`."""
        row = {**build_root_values(self.names), "proposal_id": proposal_id}
        select = f"{_SELECT_OWN} AND proposal_id = :proposal_id"
        columns = connection.execute(select, row).fetchone()
        if columns is None:
            raise ProposalNotFound
        return _build_proposal(columns, PathFinder.read(connection, self.names), None)

    def _select_undecided(self, connection: sqlite3.Connection, claim: Claim) -> Proposal:
        """Return the proposal of a claim.

        Raise `ProposalClosed` if a part is not pending, or is in another claim.
        """
        proposal = self._select_proposal(connection, claim.proposal_id)
        check_pending(proposal, claim.parts)
        for other in _select_claims(connection, _IS_OF_CLAIM, {"proposal_id": claim.proposal_id}):
            if other.claim_id != claim.claim_id and other.covers(claim.parts):
                message = (
                    f"A server is accepting proposal {claim.proposal_id}, or parts of it, at this "
                    "moment, so it cannot be decided here. Nothing was written; look at the "
                    "proposal again in a moment."
                )
                raise ProposalClosed(
                    message,
                    proposal_id=claim.proposal_id,
                    status="pending",
                    parts=sorted(set(other.parts).intersection(claim.parts)),
                )
        return proposal

    def _decide(
        self, connection: sqlite3.Connection, claim: Claim, verdict: Verdict, reason: str | None
    ) -> Proposal:
        row = connection.execute(_SELECT_WRITE, (claim.claim_id,)).fetchone()
        connection.execute(_DELETE_CLAIM, (claim.claim_id,))
        before = self._select_undecided(connection, claim)
        if row is not None:
            claim.edit_id, claim.hash_before, claim.hash_after = row
        elif claim.edit_id is not None:
            # Another request has stored the decision, and the edit may be undone since.
            raise build_closed_error(claim.proposal_id, before.status)
        return self._store_verdict(connection, before, claim, verdict, reason)

    def _store_verdict(
        self,
        connection: sqlite3.Connection,
        before: Proposal,
        claim: Claim,
        verdict: Verdict,
        reason: str | None = None,
    ) -> Proposal:
        """Store a decision that is possible."""
        edit_id, proposal_id = claim.edit_id, before.proposal_id
        parts = _set_status(before.parts, claim.parts, verdict, reason, edit_id)
        statuses = {part.status for part in parts} or {verdict}
        edit_ids = before.edit_ids
        if edit_id is not None and edit_id not in edit_ids:
            edit_ids = [*edit_ids, edit_id]
        content = _read_content(connection, proposal_id)
        if verdict == "accepted":
            accepted_hash = _get_accepted_hash(content, before.parts)
            is_next = accepted_hash is not None and accepted_hash == claim.hash_before
            content[_ACCEPTED_HASH] = claim.hash_after if is_next else None
            if edit_id is not None:
                acceptance = {"user": claim.user, "parts": list(claim.parts)}
                content.setdefault(_ACCEPTANCES, {}).setdefault(str(edit_id), acceptance)
        row = {
            "proposal_id": proposal_id,
            "decided_by": claim.user,
            "status": _compute_status(statuses),
            "content": _encode_json({**content, "reason": reason or before.reason}),
            "parts": _encode_json(parts),
            "edit_ids": _encode_json(edit_ids),
            # A new notebook cannot be undone.
            "keeps_payload": before.kind == "edit" or statuses != {"accepted"},
        }
        connection.execute(_DECIDE, row)
        return self._select_proposal(connection, proposal_id)

    def _reopen(
        self, connection: sqlite3.Connection, before: Proposal, numbers: Collection[int]
    ) -> Proposal:
        """Make decided parts pending again.

        Raise `ProposalClosed` if the proposal is over or its change is not stored any more, and
        `TooManyProposals`.
        """
        proposal_id = before.proposal_id
        size, expires = connection.execute(_SELECT_SIZE, (proposal_id,)).fetchone()
        if size is None or expires <= _format_time(self.get_time()):
            raise build_final_error(before)
        if before.status != "pending":
            self._check_room(connection, size)
        parts = _set_status(before.parts, numbers, "pending")
        reasons = [part.reason for part in parts if part.status == "rejected"]
        reason = before.reason if before.reason in reasons else next(filter(None, reasons), None)
        is_decided = any(part.status != "pending" for part in parts)
        content = _read_content(connection, proposal_id)
        if set(numbers) & {part.part for part in before.parts if part.status == "accepted"}:
            content[_ACCEPTED_HASH] = None
        if not any(part.status == "accepted" for part in parts):
            # The notebook may be again as it was when the proposal was made.
            content.pop(_ACCEPTED_HASH, None)
        row = {
            "proposal_id": proposal_id,
            "content": _encode_json({**content, "reason": reason}),
            "parts": _encode_json(parts),
            "decided_by": before.decided_by if is_decided else None,
        }
        connection.execute(_REOPEN, row)
        return self._select_proposal(connection, proposal_id)

    def _check_room(self, connection: sqlite3.Connection, size: int) -> None:
        """Raise `TooManyProposals` if there is no room for one more pending proposal of a size."""
        row = {"root": self.names.get_range().root}
        count, total_size = connection.execute(_COUNT_PENDING, row).fetchone()
        if count >= self.max_pending or total_size + size > _MAX_BYTES:
            message = (
                f"There are too many proposals: {count} of {self.max_pending} "
                "(NbEditApp.max_proposals) are pending, and all together may have at most "
                f"{_MAX_BYTES} bytes. Nothing was changed or proposed; ask a person to "
                "accept or reject some of them first."
            )
            raise TooManyProposals(message, pending=count)

    def _build_limits(self) -> dict[str, Any]:
        """Return the parameters of `_PRUNE_CLOSED`, `_IS_OVER` and `_IS_OLD`."""
        now = self.get_time()
        return {
            **build_root_values(self.names),
            "now": _format_time(now),
            "long_ago": _format_time(now - timedelta(hours=self.hours)),
            "max_closed": _MAX_CLOSED,
            "max_bytes": _MAX_CLOSED_BYTES,
        }


@dataclass
class UndoFollower:
    """Lets accepted parts follow one undo or redo, in the transaction that stores its edit.

    So the history and the proposals agree, also if the server is killed or the database fails.
    """

    store: ProposalStore
    path: str
    #: Whether parts become pending again; else they only become accepted again.
    may_reopen: bool
    #: What has changed, and the proposals that could not be pending again.
    changed_proposals: list[Proposal] = field(default_factory=list)
    errors: dict[int, TooManyProposals] = field(default_factory=dict)

    def follow(self, connection: sqlite3.Connection, effects: Mapping[int, bool]) -> None:
        """Change the proposals that some edits have accepted; see `FollowUndo`."""
        self.changed_proposals, self.errors = [], {}
        for number in self.store.list_accepted(connection, self.path, effects):
            for edit_id, is_in_effect in effects.items():
                try:
                    if is_in_effect:
                        proposal = self.store.accept_again(connection, number, edit_id)
                    elif self.may_reopen:
                        proposal = self.store.reopen_undone(connection, number, edit_id)
                    else:
                        continue
                except TooManyProposals as error:
                    self.errors[number] = error
                else:
                    if proposal is not None:
                        self.changed_proposals.append(proposal)


def _select_claims(
    connection: sqlite3.Connection, condition: str, values: Mapping[str, object]
) -> list[Claim]:
    return [
        Claim(proposal_id, json.loads(parts), *rest)
        for proposal_id, parts, *rest in connection.execute(_SELECT_CLAIMS + condition, values)
    ]


def _set_status(
    parts: Sequence[ProposedPart],
    numbers: Collection[int],
    status: Literal["pending", "accepted", "rejected"],
    reason: str | None = None,
    edit_id: int | None = None,
) -> list[ProposedPart]:
    """Return the parts with a new status of some; a part keeps the number of the undone edit."""
    number_set = frozenset(numbers)
    return [
        replace(part, status=status, reason=reason, edit_id=edit_id or part.edit_id)
        if part.part in number_set
        else part
        for part in parts
    ]


def _read_content(connection: sqlite3.Connection, proposal_id: int) -> dict[str, Any]:
    (text,) = connection.execute(_SELECT_CONTENT, (proposal_id,)).fetchone()
    return dict(json.loads(text))


def _get_accepted_hash(content: Mapping[str, Any], parts: Iterable[ProposedPart]) -> str | None:
    """Return the version with the accepted parts; without such parts, the proposal's version."""
    # Older releases stored no version.
    has_accepted = any(part.status == "accepted" for part in parts)
    found: str | None = content.get(
        _ACCEPTED_HASH, None if has_accepted else content["hash_before"]
    )
    return found


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


def _build_proposal(columns: Sequence[Any], finder: PathFinder, path: str | None) -> Proposal:
    """Return the proposal of a row; ``path`` is that of its notebook if it is known."""
    proposal_id, sent_path, status, created, expires, content, parts, edit_ids, decided_by = (
        columns[:-2]
    )
    name = NotebookName(*columns[-2:])
    fields = {
        **json.loads(content),
        "proposal_id": proposal_id,
        # Without a path the notebook cannot be read.
        "path": path or finder.find(name, [sent_path]) or "",
        "status": status,
        "created": created,
        "expires": expires,
        "parts": json.loads(parts),
        "edit_ids": json.loads(edit_ids),
        "decided_by": decided_by,
    }
    return msgspec.convert(fields, Proposal)
