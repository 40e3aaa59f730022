"""The edit service: lock, read, compute, write, publish."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

import msgspec

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.edits.modes import ModeManager
from jupyter_nbedit.edits.planned_change import (
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

# How often a change is computed again because the notebook was changed meanwhile.
_ATTEMPTS = 8

#: Plans a change of the notebook as it is now. It is called again if the notebook changes before
#: the write; the errors that it raises reach the client.
ChangePlanner = Callable[[LoadedNotebook], Awaitable[PlannedChange]]


@dataclass
class EditService:
    """The one pipeline that carries out every change of a notebook.

    Parameters
    ----------
    storages
        Find and lock the storage of a path.
    publisher
        Does what follows a write.
    trust
        Finds out whether a notebook is trusted.
    proposals
        Stores changes that wait for a decision.
    modes
        The modes of the server and of single notebooks.
    documents
        Parsed notebooks.
    """

    storages: Storages
    publisher: Publisher
    trust: TrustManager
    proposals: ProposalService
    modes: ModeManager
    documents: DocumentCache = field(default_factory=DocumentCache)

    async def edit(self, request: EditRequest) -> EditReply:
        """Apply a batch of operations, all of them or none.

        Raises
        ------
        NbEditError
            Nothing was written.
        """

        async def plan(notebook: LoadedNotebook) -> PlannedChange:
            operations = request.operations
            return plan_operations(
                notebook, operations(notebook.document) if callable(operations) else operations
            )

        return await self.run(request, plan)

    async def run(self, request: GuardedRequest, plan: ChangePlanner) -> EditReply:
        """Change a notebook; the change is planned when the notebook is locked and loaded.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        await self.enforce_mode(request)
        for _ in range(_ATTEMPTS):
            # The storage is resolved each time, because rooms open and close.
            async with self.storages.lock(request.path) as storage:
                # It is not raised after the write, which loads nothing that others can change.
                with suppress(ChangedDuringRead):
                    reply = await self._try_change(storage, request, plan)
                    if reply is not None:
                        return reply
        message = (
            f"Others changed the notebook {_ATTEMPTS} times while the edit was being made. "
            "Nothing was written; try again."
        )
        raise Busy(message)

    async def create(self, request: CreateRequest) -> EditReply:
        """Create a notebook; never replace a file, and never create a folder.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        data = write_new_notebook(request.language, request.kernelspec)
        return await self.create_from_bytes(
            request, data, lambda base: plan_operations(base, request.cells)
        )

    async def create_from_bytes(
        self, request: WriteRequest, data: bytes, plan: Callable[[LoadedNotebook], PlannedChange]
    ) -> EditReply:
        """Create a notebook by a planned change of a notebook without cells; see `create`.

        Parameters
        ----------
        request
            The request.
        data
            The bytes of the notebook without cells.
        plan
            Plans the change.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        await self.enforce_mode(request)
        # The empty hash means that there was no notebook.
        content = Content(data, datetime.now(tz=timezone.utc), hash="")
        base = LoadedNotebook(content, Document.parse(data))
        change = replace(plan(base), kind="create")
        edit = await run_in_thread_if_large(
            change.weight, ComputedEdit.compute, request, base, change
        )
        data = apply_splices(data, edit.plan.splices)
        async with self.storages.lock(request.path) as storage:
            expected_result = WriteResult(compute_sha256(data), base.content.last_modified)
            if request.dry_run or await self._is_reviewed(request):
                await storage.ensure_absent(request.path)
                reply = edit.build_reply(storage, expected_result)
                return reply if request.dry_run else await self._propose(edit, reply, data)
            if request.acceptance is not None:
                await request.acceptance.announce(None, expected_result.hash)
            result = await storage.create(request.path, data)
            record = self.publisher.build_record(edit)
            return await self.publisher.publish(storage, edit, result, record)

    async def enforce_mode(self, request: WriteRequest) -> str:
        """Return the effective mode if it allows a change; always ``edit`` for a dry run.

        A person pauses agents in a notebook by giving it the mode ``plan``. This does not stop the
        undo and accept requests of people.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        if request.dry_run:
            return "edit"
        mode = await self.modes.get_effective(request.path)
        if mode != "plan":
            return mode
        if self.modes.server == "plan":
            message = (
                "This server is in plan mode: notebooks are not changed. Send `dry_run: true` "
                "to see what the edit would do."
            )
            raise PlanMode(message)
        if not request.bypasses_review:
            message = (
                "Edits of this notebook are paused by a person who works on it. Ask them, or send "
                "`dry_run: true` to see what the edit would do."
            )
            raise PlanMode(message)
        return mode

    async def _is_reviewed(self, request: WriteRequest) -> bool:
        """Return whether the change becomes a proposal; the mode may have changed meanwhile."""
        return await self.enforce_mode(request) == "review" and not request.bypasses_review

    async def _propose(
        self, edit: ComputedEdit, reply: EditReply, data: bytes | None = None
    ) -> EditReply:
        proposal_id = await self.proposals.propose(edit.request, edit.plan, reply, data)
        return msgspec.structs.replace(reply, proposal_id=proposal_id, persisted=False)

    async def _try_change(
        self, storage: Storage, request: GuardedRequest, plan: ChangePlanner
    ) -> EditReply | None:
        """Change the notebook as it is now; return None if it was changed before the write."""
        notebook = await load_notebook(storage, request.path, self.documents)
        await self._check_preconditions(request, notebook)
        change = await plan(notebook)
        edit = await run_in_thread_if_large(
            change.weight, ComputedEdit.compute, request, notebook, change
        )
        data, last_modified = notebook.content.data, notebook.content.last_modified
        splices = edit.plan.splices
        is_reviewed = bool(splices) and not request.dry_run and await self._is_reviewed(request)
        if not splices or is_reviewed:
            reply = edit.build_reply(
                storage, WriteResult(await notebook.compute_hash(), last_modified)
            )
            return await self._propose(edit, reply) if is_reviewed else reply
        if request.dry_run:
            await notebook.compute_hash()
            digest = await run_in_thread_if_large(len(data), compute_spliced_sha256, data, splices)
            return edit.build_reply(storage, WriteResult(digest, last_modified))
        if request.acceptance is not None:
            digest = await run_in_thread_if_large(len(data), compute_spliced_sha256, data, splices)
            await request.acceptance.announce(await notebook.compute_hash(), digest)
        signature = await self._start_signature(edit)
        record = self.publisher.build_record(edit)
        with record, signature or nullcontext():
            try:
                result = await storage.write(request.path, notebook.content, splices)
            except StaleContent:
                return None
            try:
                await notebook.compute_hash()
                if result.text is None:
                    after = await run_in_thread_if_large(len(data), lambda: edit.document_after)
                    self.documents.put(result.hash, after)
            except NbEditError as error:
                message = (
                    "The edit is in the file, but what was there before could not be read to the "
                    "end any more, so that the edit is not in the history. Read the notebook "
                    "before you go on."
                )
                raise StorageFailure(message, applied=True, hash=result.hash) from error
            return await self.publisher.publish(storage, edit, result, record, signature)

    async def _check_preconditions(self, request: GuardedRequest, notebook: LoadedNotebook) -> None:
        """Check the hash of the request, and that the session has read the notebook."""
        if request.hash is not None and request.hash != await notebook.compute_hash():
            message = (
                "The notebook is not the version the request was made for. Read it again, and "
                "send the edit anew with the hash you then get."
            )
            raise HashMismatch(message, expected=request.hash, hash=notebook.hash)
        if request.must_have_read and not request.dry_run:
            self.publisher.read_tracker.require(
                request.session, request.path, await notebook.compute_hash()
            )

    async def _start_signature(self, edit: ComputedEdit) -> PendingSignature | None:
        """Return the signature of the notebook after the edit; None if it is not trusted now."""
        document, content = edit.notebook.document, edit.notebook.content
        trusted, digest = content.is_trusted, None
        if trusted is None:
            digest = await self.trust.find_digest(document, content.hash)
            trusted = digest is not None
        if not trusted:
            return None
        return PendingSignature(
            self.trust, document, lambda: edit.document_after, edit.plan.splices[0].start, digest
        )
