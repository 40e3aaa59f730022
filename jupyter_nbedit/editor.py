"""The service: lock, read, check, apply, write, sign, tell."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from logging import Logger
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from jupyter_nbedit import trust
from jupyter_nbedit.errors import Busy, HashMismatch, PlanMode
from jupyter_nbedit.loading import Loaded, away, is_trusted, settled, sha256
from jupyter_nbedit.messages import CreateRequest, EditReply, EditRequest
from jupyter_nbedit.notebook.batch import Applied, apply
from jupyter_nbedit.notebook.blank import blank
from jupyter_nbedit.notebook.diff import unified
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Operation, SetMetadata
from jupyter_nbedit.notebook.splices import Splice, join, pieces
from jupyter_nbedit.readings import Readings
from jupyter_nbedit.storage import Changed, Content, Storage, Storages, Written
from jupyter_nbedit.versions import Versions

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary

    from jupyter_nbedit.events import EditEvents

# How often a batch is applied anew because somebody else wrote meanwhile.
_ATTEMPTS = 8
# What one operation costs to work out, in bytes of a notebook to read.
_OPERATION_WEIGHT = 2_000


@dataclass
class NotebookEditor:
    """Edits notebooks.

    Parameters
    ----------
    storages
        The ways in which notebooks are kept.
    notary
        Gives the notary that knows which notebooks are trusted.
    events
        Tells of edits.
    readings
        Knows who has read what.
    versions
        Knows what versions looked like that somebody has read.
    log
        The server's; each edit leaves a line there.
    mode
        ``edit``, or ``plan`` to refuse every change that is not a dry run.
    """

    storages: Storages
    notary: Callable[[], NotebookNotary]
    events: EditEvents
    readings: Readings
    versions: Versions
    log: Logger
    mode: str = "edit"
    _edit_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def edit(self, request: EditRequest) -> EditReply:
        """Apply a batch of operations, all of them or none.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        self._check_mode(request)
        for _ in range(_ATTEMPTS):
            # What has changed may be the way, too: rooms open and close.
            async with self.storages.hold(request.path) as storage:
                reply = await self._attempt(storage, request)
            if reply is not None:
                return reply
        message = (
            f"Others changed the notebook {_ATTEMPTS} times while the edit was being made. "
            "Nothing was written; try again."
        )
        raise Busy(message)

    async def create(self, request: CreateRequest) -> EditReply:
        """Create a notebook; never in the place of anything, and never in a folder that is not.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        self._check_mode(request)
        text = blank(request.language, request.kernelspec)
        base = Loaded(Content(text, datetime.now(tz=timezone.utc)), Document.parse(text), "")
        done = await away(_weight(base, request.cells), _Done.of, request, base, request.cells)
        text = join(text, done.applied.splices)
        async with self.storages.hold(request.path) as storage:
            if request.dry_run:
                await storage.check_vacant(request.path)
                return done.reply(storage, Written(sha256(text), base.content.last_modified), None)
            written = await storage.create(request.path, text)
            reply = done.reply(storage, written, next(self._edit_ids))
            await self._finish(storage, request, reply, written)
        return reply

    def _check_mode(self, request: EditRequest | CreateRequest) -> None:
        if self.mode == "plan" and not request.dry_run:
            message = (
                "This server is in plan mode: notebooks are not changed. Send `dry_run: true` "
                "to see what the edit would do."
            )
            raise PlanMode(message)

    async def _attempt(self, storage: Storage, request: EditRequest) -> EditReply | None:
        """Edit what is there now; None if somebody else wrote meanwhile."""
        read = await settled(storage, request.path)
        if request.hash not in {None, read.hash}:
            message = (
                "The notebook is not the version the request was made for. Read it again, and "
                "send the edit anew with the hash you then get."
            )
            raise HashMismatch(message, expected=request.hash, hash=read.hash)
        if request.must_have_read and not request.dry_run:
            self.readings.require(request.session, request.path, read.hash)
        operations = request.operations
        if callable(operations):
            operations = operations(read.document)
        done = await away(_weight(read, operations), _Done.of, request, read, operations)
        splices = done.applied.splices
        if not splices:
            return done.reply(storage, Written(read.hash, read.content.last_modified), None)
        if request.dry_run:
            digest = await away(len(read.content.text), _hash_of, read.content.text, splices)
            return done.reply(storage, Written(digest, read.content.last_modified), None)
        trusted = await is_trusted(self.notary, read.content)
        try:
            written = await storage.write(request.path, read.content, splices)
        except Changed:
            return None
        reply = done.reply(storage, written, next(self._edit_ids))
        if self.versions.knows(read.hash):
            # Who has read what was there may ask what has changed since.
            with self._after_the_fact(reply, "what has changed could not be noted"):
                await away(len(read.content.text), self._note, written, read, splices)
        if trusted and not written.signed:
            with self._after_the_fact(reply, "its trust could not be kept"):
                await trust.sign(self.notary(), join(read.content.text, splices))
        await self._finish(storage, request, reply, written)
        return reply

    def _note(self, written: Written, read: Loaded, splices: Sequence[Splice]) -> None:
        text = written.text
        after = join(read.content.text, splices) if text is None else text
        self.versions.note(written.hash, Document.parse(after))

    async def _finish(
        self,
        storage: Storage,
        request: EditRequest | CreateRequest,
        reply: EditReply,
        written: Written,
    ) -> None:
        """Tell everybody that a notebook was written."""
        self.readings.note(request.session, request.path, written.hash)
        with self._after_the_fact(reply, "the contents manager could not be told"):
            reply.warnings.extend(await storage.announce(request.path, written))
        with self._after_the_fact(reply, "open tabs could not be told"):
            self._tell(request, reply)
        self.log.info(
            "Edit %s of %r by %r, client %r: %r",
            reply.edit_id,
            request.path,
            request.user,
            request.client,
            request.message,
        )

    @contextmanager
    def _after_the_fact(self, reply: EditReply, what: str) -> Iterator[None]:
        """Turn any failure into a warning: the edit is in, and an error would say it is not."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", reply.edit_id, reply.path, what)
            reply.warnings.append(
                f"The edit is in the file, but {what}; the server's log says why."
            )

    def _tell(self, request: EditRequest | CreateRequest, reply: EditReply) -> None:
        self.events.emit(
            [entry for done in reply.operations for entry in done.entries()],
            edit_id=reply.edit_id,
            path=reply.path,
            hash_before=reply.hash_before,
            hash=reply.hash,
            last_modified=msgspec.to_builtins(reply.last_modified),
            user=request.user,
            client=request.client,
            total_cells=reply.total_cells,
        )


def _weight(read: Loaded, operations: Sequence[Operation]) -> int:
    """Guess how much work a batch is, in bytes of a notebook that are as much."""
    sources = sum(len(getattr(operation, "source", None) or "") for operation in operations)
    return len(read.content.text) + sources + len(operations) * _OPERATION_WEIGHT


def _hash_of(text: bytes, splices: Sequence[Splice]) -> str:
    digest = hashlib.sha256()
    for piece in pieces(text, splices):
        digest.update(piece)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Done:
    """A batch worked out, and all that is said of it whether it is written or not."""

    request: EditRequest | CreateRequest
    read: Loaded
    applied: Applied
    diff: str
    language: str | None

    @classmethod
    def of(
        cls,
        request: EditRequest | CreateRequest,
        read: Loaded,
        operations: Sequence[Operation],
    ) -> _Done:
        applied = apply(read.document, operations, fresh_id=lambda: uuid.uuid4().hex[:8])
        after = read.document
        if any(isinstance(done, SetMetadata) and done.cell is UNSET for done in operations):
            after = Document.parse(join(read.content.text, applied.splices))
        diff = unified(request.path, applied.changes)
        return cls(request, read, applied, diff, after.language)

    def reply(self, storage: Storage, written: Written, edit_id: int | None) -> EditReply:
        total = self.applied.total_cells
        return EditReply(
            path=self.request.path,
            edit_id=edit_id,
            hash_before=self.read.hash or None,
            hash=written.hash,
            last_modified=written.last_modified,
            applied_via=storage.kind,
            bytes_preserved=storage.preserves_bytes,
            persisted=written.persisted and not self.request.dry_run,
            dry_run=self.request.dry_run,
            total_cells=total,
            cells_delta=total - len(self.read.document),
            language=self.language,
            operations=self.applied.results,
            diff=self.diff,
            warnings=written.warnings,
        )
