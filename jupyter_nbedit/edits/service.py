"""The edit service: lock, read, compute, write, publish."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Protocol

import msgspec

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.edits.plan import (
    ComputedEdit,
    PlannedChange,
    compute_spliced_sha256,
    plan_operations,
)
from jupyter_nbedit.edits.publish import Publisher
from jupyter_nbedit.errors import (
    Busy,
    ChangedDuringRead,
    HashMismatch,
    NbEditError,
    PlanMode,
    StorageFailure,
)
from jupyter_nbedit.models import (
    CreateRequest,
    EditReply,
    EditRequest,
    GuardedRequest,
    WriteRequest,
)
from jupyter_nbedit.notebook.document import Document, write_new_notebook
from jupyter_nbedit.notebook.splices import apply_splices
from jupyter_nbedit.proposals.service import ProposalService
from jupyter_nbedit.reading.loading import (
    DocumentCache,
    LoadedNotebook,
    compute_sha256,
    load_notebook,
)
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, Storages, WriteResult
from jupyter_nbedit.trust.manager import PendingSignature, TrustManager

# How often a change is worked out anew because somebody else wrote meanwhile.
_ATTEMPTS = 8

#: Prepares a change in view of the notebook as it is when it is changed. Called again if somebody
#: else writes meanwhile; what it refuses is the answer.
ChangeBuilder = Callable[[LoadedNotebook], Awaitable[PlannedChange]]


class Modes(Protocol):
    """What requests may do."""

    @property
    def server(self) -> str:
        """The server's mode: ``edit``, ``review`` or ``plan``."""

    async def get_effective(self, path: str) -> str:
        """Return the mode that holds for a notebook: its own, or else the server's.

        Raises
        ------
        ModesUnreadable
            If nobody knows whether it has one of its own.
        """


@dataclass(frozen=True)
class FixedMode:
    """One mode for all notebooks."""

    server: str = "edit"

    async def get_effective(self, path: str) -> str:  # noqa: ARG002 -- it is the same for all
        """Return the mode."""
        return self.server


@dataclass
class EditService:
    """Edits notebooks.

    Parameters
    ----------
    storages
        The ways in which notebooks are kept.
    publisher
        Does what follows a write.
    trust
        Knows which notebooks are trusted.
    modes
        What requests may do: ``edit`` notebooks; have their edits kept as proposals in ``review``;
        nothing but dry runs in ``plan``.
    proposals
        Keeps changes until a person has decided.
    documents
        Those that need not be parsed again.
    """

    storages: Storages
    publisher: Publisher
    trust: TrustManager
    proposals: ProposalService
    modes: Modes = field(default_factory=FixedMode)
    documents: DocumentCache = field(default_factory=DocumentCache)

    async def edit(self, request: EditRequest) -> EditReply:
        """Apply a batch of operations, all of them or none.

        Raises
        ------
        NbEditError
            Nothing was written.
        """

        async def prepare(read: LoadedNotebook) -> PlannedChange:
            operations = request.operations
            return plan_operations(
                read, operations(read.document) if callable(operations) else operations
            )

        return await self.run(request, prepare)

    async def run(self, errand: GuardedRequest, prepare: ChangeBuilder) -> EditReply:
        """Change a notebook in a way that is worked out when it is locked and read.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        await self.enforce_mode(errand)
        for _ in range(_ATTEMPTS):
            # What has changed may be the way, too: rooms open and close.
            async with self.storages.lock(errand.path) as storage:
                # Once it is written, nothing is read that others can write.
                with suppress(ChangedDuringRead):
                    reply = await self._try_change(storage, errand, prepare)
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
        text = write_new_notebook(request.language, request.kernelspec)
        return await self.create_from_bytes(
            request, text, lambda base: plan_operations(base, request.cells)
        )

    async def create_from_bytes(
        self, asked: WriteRequest, text: bytes, prepare: Callable[[LoadedNotebook], PlannedChange]
    ) -> EditReply:
        """Create a notebook in a way that begins with one without cells; see `create`.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        await self.enforce_mode(asked)
        # There was nothing, which has no hash.
        content = Content(text, datetime.now(tz=timezone.utc), hash="")
        base = LoadedNotebook(content, Document.parse(text))
        job = replace(prepare(base), kind="create")
        done = await run_in_thread_if_large(job.weight, ComputedEdit.compute, asked, base, job)
        text = apply_splices(text, done.applied.splices)
        async with self.storages.lock(asked.path) as storage:
            would_be = WriteResult(compute_sha256(text), base.content.last_modified)
            if asked.dry_run or await self._is_reviewed(asked):
                await storage.ensure_absent(asked.path)
                if asked.dry_run:
                    return done.build_reply(storage, would_be)
                return await self._propose(asked, done, done.build_reply(storage, would_be), text)
            if asked.acceptance is not None:
                await asked.acceptance.announce(None, would_be.hash)
            written = await storage.create(asked.path, text)
            record = self.publisher.record(done)
            return await self.publisher.publish(storage, done, written, record)

    async def enforce_mode(self, asked: WriteRequest) -> str:
        """Refuse a change that the mode does not allow, and give the mode; ``edit`` for a dry run.

        A notebook's own plan mode is how a person pauses agents there: it does not stop what
        people do then, which is to take back and to accept.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        if asked.dry_run:
            return "edit"
        mode = await self.modes.get_effective(asked.path)
        if mode != "plan":
            return mode
        if self.modes.server == "plan":
            message = (
                "This server is in plan mode: notebooks are not changed. Send `dry_run: true` "
                "to see what the edit would do."
            )
            raise PlanMode(message)
        if not asked.bypasses_review:
            message = (
                "Edits of this notebook are paused by a person who works on it. Ask them, or send "
                "`dry_run: true` to see what the edit would do."
            )
            raise PlanMode(message)
        return mode

    async def _is_reviewed(self, asked: WriteRequest) -> bool:
        """Return whether a person decides first, who may have paused edits while this one waited.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        return await self.enforce_mode(asked) == "review" and not asked.bypasses_review

    async def _propose(
        self, asked: WriteRequest, done: ComputedEdit, reply: EditReply, text: bytes | None = None
    ) -> EditReply:
        number = await self.proposals.propose(asked, done.applied, reply, text)
        return msgspec.structs.replace(reply, proposal_id=number, persisted=False)

    async def _try_change(
        self, storage: Storage, errand: GuardedRequest, prepare: ChangeBuilder
    ) -> EditReply | None:
        """Change what is there now; None if somebody else wrote meanwhile."""
        read = await load_notebook(storage, errand.path, self.documents)
        if errand.hash is not None and errand.hash != await read.compute_hash():
            message = (
                "The notebook is not the version the request was made for. Read it again, and "
                "send the edit anew with the hash you then get."
            )
            raise HashMismatch(message, expected=errand.hash, hash=read.hash)
        if errand.must_have_read and not errand.dry_run:
            self.publisher.readings.require(errand.session, errand.path, await read.compute_hash())
        job = await prepare(read)
        done = await run_in_thread_if_large(job.weight, ComputedEdit.compute, errand, read, job)
        splices = done.applied.splices
        stays = not splices or errand.dry_run or await self._is_reviewed(errand)
        current = WriteResult(
            await read.compute_hash() if stays else "", read.content.last_modified
        )
        if not splices:
            return done.build_reply(storage, current)
        if errand.dry_run:
            digest = await run_in_thread_if_large(
                len(read.content.data), compute_spliced_sha256, read.content.data, splices
            )
            return done.build_reply(storage, WriteResult(digest, read.content.last_modified))
        if stays:
            return await self._propose(errand, done, done.build_reply(storage, current))
        if errand.acceptance is not None:
            digest = await run_in_thread_if_large(
                len(read.content.data), compute_spliced_sha256, read.content.data, splices
            )
            await errand.acceptance.announce(await read.compute_hash(), digest)
        signing = await self._start_signature(read, done)
        record = self.publisher.record(done)
        with record, signing or nullcontext():
            try:
                written = await storage.write(errand.path, read.content, splices)
            except StaleContent:
                return None
            try:
                await read.compute_hash()
                if written.text is None:
                    after = await run_in_thread_if_large(len(read.content.data), lambda: done.after)
                    self.documents.put(written.hash, after)
            except NbEditError as error:
                message = (
                    "The edit is in the file, but what was there before could not be read to the "
                    "end any more, so that the edit is not in the history. Read the notebook "
                    "before you go on."
                )
                raise StorageFailure(message, applied=True, hash=written.hash) from error
            return await self.publisher.publish(storage, done, written, record, signing)

    async def _start_signature(
        self, read: LoadedNotebook, done: ComputedEdit
    ) -> PendingSignature | None:
        """Return what will sign the notebook; None if it is not trusted."""
        trusted, before = read.content.is_trusted, None
        if trusted is None:
            before = await self.trust.find_digest(read.document, read.content.hash)
            trusted = before is not None
        if not trusted:
            return None
        return PendingSignature(
            self.trust, read.document, lambda: done.after, done.applied.splices[0].start, before
        )
