"""The service: lock, read, check, work out, write, and what follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Protocol

import msgspec

from jupyter_nbedit.afterwards import Afterwards
from jupyter_nbedit.beside import away
from jupyter_nbedit.errors import (
    Busy,
    HashMismatch,
    NbEditError,
    Overtaken,
    PlanMode,
    StorageFailure,
)
from jupyter_nbedit.loading import Documents, Loaded, settled, sha256
from jupyter_nbedit.messages import Asked, CreateRequest, EditReply, EditRequest, Errand
from jupyter_nbedit.notebook.batch import Applied
from jupyter_nbedit.notebook.blank import blank
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import join
from jupyter_nbedit.outcome import Job, Outcome, batch, digest_of
from jupyter_nbedit.storage import Changed, Content, Storage, Storages, Written
from jupyter_nbedit.trust import Signing, Trust

# How often a change is worked out anew because somebody else wrote meanwhile.
_ATTEMPTS = 8

#: Prepares a change in view of the notebook as it is when it is changed. Called again if somebody
#: else writes meanwhile; what it refuses is the answer.
Prepare = Callable[[Loaded], Awaitable[Job]]


class Modes(Protocol):
    """What requests may do."""

    @property
    def server(self) -> str:
        """The server's mode: ``edit``, ``review`` or ``plan``."""

    async def of(self, path: str) -> str:
        """Give the mode that holds for a notebook: its own, or else the server's.

        Raises
        ------
        ModesUnreadable
            If nobody knows whether it has one of its own.
        """


class Proposer(Protocol):
    """Keeps changes until a person has decided."""

    async def propose(
        self, asked: Asked, applied: Applied, reply: EditReply, text: bytes | None
    ) -> int:
        """Keep a change, and give its number.

        Parameters
        ----------
        asked
            What was asked, and by whom.
        applied
            What it does.
        reply
            What is said of it; the hash is that of what is kept of the notebook now.
        text
            The whole notebook, if it is a new one.
        """


@dataclass(frozen=True)
class Always:
    """One mode for all notebooks."""

    server: str = "edit"

    async def of(self, path: str) -> str:  # noqa: ARG002 -- it is the same for all
        """Give it."""
        return self.server


@dataclass
class NotebookEditor:
    """Edits notebooks.

    Parameters
    ----------
    storages
        The ways in which notebooks are kept.
    afterwards
        Does what follows when something was written.
    trust
        Knows which notebooks are trusted.
    modes
        What requests may do: ``edit`` notebooks; have their edits kept as proposals in ``review``;
        nothing but dry runs in ``plan``.
    proposer
        Keeps the proposals.
    documents
        Those that need not be parsed again.
    """

    storages: Storages
    afterwards: Afterwards
    trust: Trust
    modes: Modes = field(default_factory=Always)
    proposer: Proposer | None = None
    documents: Documents = field(default_factory=Documents)

    async def edit(self, request: EditRequest) -> EditReply:
        """Apply a batch of operations, all of them or none.

        Raises
        ------
        NbEditError
            Nothing was written.
        """

        async def prepare(read: Loaded) -> Job:
            operations = request.operations
            return batch(read, operations(read.document) if callable(operations) else operations)

        return await self.make(request, prepare)

    async def make(self, errand: Errand, prepare: Prepare) -> EditReply:
        """Change a notebook in a way that is worked out when it is locked and read.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        await self.check_mode(errand)
        for _ in range(_ATTEMPTS):
            # What has changed may be the way, too: rooms open and close.
            async with self.storages.hold(errand.path) as storage:
                # Once it is written, nothing is read that others can write.
                with suppress(Overtaken):
                    reply = await self._attempt(storage, errand, prepare)
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
        text = blank(request.language, request.kernelspec)
        return await self.put(request, text, lambda base: batch(base, request.cells))

    async def put(self, asked: Asked, text: bytes, prepare: Callable[[Loaded], Job]) -> EditReply:
        """Create a notebook in a way that begins with one without cells; see `create`.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        await self.check_mode(asked)
        # There was nothing, which has no hash.
        content = Content(text, datetime.now(tz=timezone.utc), hash="")
        base = Loaded(content, Document.parse(text))
        job = replace(prepare(base), kind="create")
        done = await away(job.weight, Outcome.of, asked, base, job)
        text = join(text, done.applied.splices)
        async with self.storages.hold(asked.path) as storage:
            would_be = Written(sha256(text), base.content.last_modified)
            if asked.dry_run or await self._is_reviewed(asked):
                await storage.check_vacant(asked.path)
                if asked.dry_run:
                    return done.reply(storage, would_be)
                return await self._propose(asked, done, done.reply(storage, would_be), text)
            if asked.acceptance is not None:
                await asked.acceptance.announce(None, would_be.hash)
            written = await storage.create(asked.path, text)
            record = self.afterwards.record(done)
            return await self.afterwards.of(storage, done, written, record)

    async def check_mode(self, asked: Asked) -> str:
        """Refuse a change that the mode does not allow, and give the mode; ``edit`` for a dry run.

        A notebook's own plan mode is how a person pauses agents there: it does not stop what
        people do then, which is to take back and to accept.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        if asked.dry_run:
            return "edit"
        mode = await self.modes.of(asked.path)
        if mode != "plan":
            return mode
        if self.modes.server == "plan":
            message = (
                "This server is in plan mode: notebooks are not changed. Send `dry_run: true` "
                "to see what the edit would do."
            )
            raise PlanMode(message)
        if not asked.is_decision:
            message = (
                "Edits of this notebook are paused by a person who works on it. Ask them, or send "
                "`dry_run: true` to see what the edit would do."
            )
            raise PlanMode(message)
        return mode

    async def _is_reviewed(self, asked: Asked) -> bool:
        """Tell whether a person decides first, who may have paused edits while this one waited.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        return await self.check_mode(asked) == "review" and not asked.is_decision

    async def _propose(
        self, asked: Asked, done: Outcome, reply: EditReply, text: bytes | None = None
    ) -> EditReply:
        if self.proposer is None:
            message = "An editor needs somewhere to keep proposals, or no notebook in review mode."
            raise TypeError(message)
        number = await self.proposer.propose(asked, done.applied, reply, text)
        return msgspec.structs.replace(reply, proposal_id=number, persisted=False)

    async def _attempt(
        self, storage: Storage, errand: Errand, prepare: Prepare
    ) -> EditReply | None:
        """Change what is there now; None if somebody else wrote meanwhile."""
        read = await settled(storage, errand.path, self.documents)
        if errand.hash is not None and errand.hash != await read.hashed():
            message = (
                "The notebook is not the version the request was made for. Read it again, and "
                "send the edit anew with the hash you then get."
            )
            raise HashMismatch(message, expected=errand.hash, hash=read.hash)
        if errand.must_have_read and not errand.dry_run:
            self.afterwards.readings.require(errand.session, errand.path, await read.hashed())
        job = await prepare(read)
        done = await away(job.weight, Outcome.of, errand, read, job)
        splices = done.applied.splices
        stays = not splices or errand.dry_run or await self._is_reviewed(errand)
        current = Written(await read.hashed() if stays else "", read.content.last_modified)
        if not splices:
            return done.reply(storage, current)
        if errand.dry_run:
            digest = await away(len(read.content.raw), digest_of, read.content.raw, splices)
            return done.reply(storage, Written(digest, read.content.last_modified))
        if stays:
            return await self._propose(errand, done, done.reply(storage, current))
        if errand.acceptance is not None:
            digest = await away(len(read.content.raw), digest_of, read.content.raw, splices)
            await errand.acceptance.announce(await read.hashed(), digest)
        signing = await self._signing(read, done)
        record = self.afterwards.record(done)
        with record, signing or nullcontext():
            try:
                written = await storage.write(errand.path, read.content, splices)
            except Changed:
                return None
            try:
                await read.hashed()
                if written.text is None:
                    after = await away(len(read.content.raw), lambda: done.after)
                    self.documents.note(written.hash, after)
            except NbEditError as error:
                message = (
                    "The edit is in the file, but what was there before could not be read to the "
                    "end any more, so that the edit is not in the history. Read the notebook "
                    "before you go on."
                )
                raise StorageFailure(message, applied=True, hash=written.hash) from error
            return await self.afterwards.of(storage, done, written, record, signing)

    async def _signing(self, read: Loaded, done: Outcome) -> Signing | None:
        """Give what will sign the notebook; None if it is not trusted."""
        trusted, before = read.content.trusted, None
        if trusted is None:
            before = await self.trust.known(read.document, read.content.hash)
            trusted = before is not None
        if not trusted:
            return None
        return Signing(
            self.trust, read.document, lambda: done.after, done.applied.splices[0].start, before
        )
