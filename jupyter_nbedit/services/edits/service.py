"""The edit service: lock, enforce the mode, load, plan, write, publish."""

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.notebook.document import Document, write_new_notebook
from jupyter_nbedit.notebook.lazy.buffer import Buffer, compute_sha256
from jupyter_nbedit.notebook.operations import Insert, Operation
from jupyter_nbedit.notebook.splices import Splice, apply_splices, iterate_spliced_chunks
from jupyter_nbedit.services.edits.batch import BatchPlanner
from jupyter_nbedit.services.edits.planned_edit import (
    EditResult,
    NewNotebookPlanner,
    PlannedEdit,
    Planner,
)
from jupyter_nbedit.services.edits.publish import Publisher
from jupyter_nbedit.services.edits.restore import RestorePlanner, RestoreReply
from jupyter_nbedit.services.edits.undo import UndoPlanner
from jupyter_nbedit.services.loading import DocumentCache, LoadedNotebook, load_notebook
from jupyter_nbedit.services.modes import ModeManager
from jupyter_nbedit.services.outside.examiner import OutsideChangeExaminer
from jupyter_nbedit.services.policy import Action, build_refusal, decide
from jupyter_nbedit.services.proposals.models import MAX_OPERATIONS, ProposalContent
from jupyter_nbedit.services.proposals.service import ProposalService, build_proposal
from jupyter_nbedit.services.proposals.store import UndoFollower
from jupyter_nbedit.services.replies import EditReply, RevisionChanges
from jupyter_nbedit.services.requests import (
    Claim,
    OperationFactory,
    ProposalOrigin,
    Whose,
    WriteRequest,
)
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.trust.manager import PendingSignature, TrustManager

# How often a change is planned again because the notebook was changed meanwhile.
_ATTEMPTS = 8
_SHOWN_CHANGES = 50
# A file system may not answer. The request that pauses edits must be answered all the same.
_WRITE_TIMEOUT = 10.0


@dataclass
class EditService:
    """The one pipeline that carries out every change of a notebook.

    Every method raises an `NbEditError` if the change is not possible. Nothing was written then,
    unless ``details`` has ``applied: true``.

    ``documents`` are parsed notebooks. ``outside_changes`` is None if nobody follows these.
    """

    storages: StorageResolver
    publisher: Publisher
    trust: TrustManager
    proposals: ProposalService
    modes: ModeManager
    documents: DocumentCache = field(default_factory=DocumentCache)
    outside_changes: OutsideChangeExaminer | None = None
    #: Whether a session must have read a notebook, unless the request says otherwise.
    read_before_edit: bool = False
    # One for each change that is being decided on and written; it is set afterwards.
    _writes: set[asyncio.Event] = field(default_factory=set)

    async def edit(
        self, request: WriteRequest, operations: Sequence[Operation] | OperationFactory
    ) -> EditReply:
        """Apply a batch of operations to a notebook, all of them or none."""
        planner = BatchPlanner(operations, request, self.publisher.history)
        return await self.run(request, planner)

    async def undo(
        self,
        request: WriteRequest,
        edit_id: int | None = None,
        *,
        redo: bool = False,
        whose: Whose = "own",
    ) -> EditReply:
        """Undo or redo an edit; later changes of other cells stay.

        Without ``edit_id`` it is the newest possible of the same client, or of all; see `RedoBody`.
        This is an edit itself, which can be undone.
        """
        author = request.author if whose == "own" else None
        planner = UndoPlanner(self.publisher.history, edit_id, redo, author)
        return await self.run(request, planner, "redo" if redo else "undo")

    async def restore(self, request: WriteRequest, edit_id: int) -> RestoreReply:
        """Return a notebook to what it was after an edit, as one edit.

        Raise `EditNotFound` if the history does not have the edit, or not all that is needed;
        `UndoConflict` if a later change that is not in the history is in the way.
        """
        planner = RestorePlanner(self.publisher.history, edit_id)
        reply = await self.run(request, planner, "restore")
        assert isinstance(reply, RestoreReply)  # noqa: S101 -- for mypy: `PlannedRestore` builds it
        return reply

    async def create(
        self,
        request: WriteRequest,
        cells: Sequence[Insert] = (),
        *,
        language: str | None = None,
        kernelspec: str | None = None,
    ) -> EditReply:
        """Create a notebook; never replace a file, and never create a folder.

        ``language`` and ``kernelspec`` are for its metadata; see `write_new_notebook`.
        """
        data = write_new_notebook(language, kernelspec)
        planner = BatchPlanner(cells, request, self.publisher.history, kind="create")
        return await self.run_creation(request, data, planner)

    async def create_from_bytes(self, request: WriteRequest, data: bytes) -> EditReply:
        """Create a notebook with given bytes; see `create`."""
        base = write_new_notebook(None, None)
        return await self.run_creation(request, base, NewNotebookPlanner(data))

    async def run(
        self, request: WriteRequest, planner: Planner, action: Action = "edit"
    ) -> EditReply:
        """Change a notebook; the planner plans the change for the version that is stored now.

        Whether the change is written, proposed or refused depends on ``action``; see `policy`.
        """
        for _ in range(_ATTEMPTS):
            # The storage is resolved each time, because rooms open and close.
            async with self.storages.lock(request.path) as storage:
                # A change that is refused reads nothing.
                await self._must_propose(request, action)
                # Neither error is raised after the write.
                with suppress(errors.ChangedDuringRead, StaleContent):
                    notebook = await load_notebook(storage, request.path, self.documents)
                    if self.outside_changes is not None:
                        await self.outside_changes.record_unexamined_change(notebook)
                    await self._check_preconditions(request, notebook)
                    planned = await planner.plan(notebook)
                    changes = await self._find_changes_since(request, planned)
                    if request.dry_run or not planned.plan.splices:
                        result = EditResult(await self._predict_result(request, planned))
                    else:
                        with self._note_write():
                            # A person may have paused edits meanwhile.
                            must_propose = await self._must_propose(request, action)
                            carry_out = self._propose if must_propose else self._write
                            result = await carry_out(request, storage, planned)
                    result.changed_since = changes
                    break
        else:
            raise errors.Busy(
                f"Others changed the notebook {_ATTEMPTS} times while the edit was being made. "
                "Nothing was written; try again."
            )
        return await self._finish(request, storage, planned, result)

    async def run_creation(self, request: WriteRequest, data: bytes, planner: Planner) -> EditReply:
        """Create a notebook by a change of ``data``, a notebook without cells; see `create`."""
        async with self.storages.lock(request.path) as storage:
            action: Action = "create" if request.claim is None else "accept"
            await self._must_propose(request, action)
            # The empty hash means that there was no notebook.
            content = Content(data, datetime.now(tz=timezone.utc), hash="")
            base = LoadedNotebook(request.path, content, Document.parse(data))
            planned = await planner.plan(base)
            data = apply_splices(data, planned.plan.splices)
            result = EditResult(WriteResult(compute_sha256(data), content.last_modified))
            with self._note_write():
                must_propose = await self._must_propose(request, action)
                if request.dry_run or must_propose:
                    await storage.ensure_absent(request.path)
                    if not request.dry_run:
                        result.proposal_id = await self._add_proposal(request, planned, data)
                else:
                    if request.claim is not None:
                        await self.proposals.store.record_write(
                            request.claim, None, result.written.hash
                        )
                    written = await storage.create(request.path, data)
            if not (request.dry_run or must_propose):
                result = await self.publisher.publish(request, storage, planned, written)
        return await self._finish(request, storage, planned, result)

    async def _finish(
        self, request: WriteRequest, storage: Storage, planned: PlannedEdit, result: EditResult
    ) -> EditReply:
        """Store what follows from an edit, wait for the tabs, and return the reply."""
        if not request.dry_run and result.proposal_id is UNSET:
            if planned.store_follow_up is not None:
                try:
                    await planned.store_follow_up(result.edit_id)
                except errors.NbEditError as error:
                    # The notebook may also be locked, or changed, again.
                    result.warnings.append(
                        f"The undo is done, but what you have seen is not stored. {error.message}"
                    )
            if request.claim is not None:
                await self._store_acceptance(request.claim, result)
        reply = planned.build_reply(request, storage, result)
        seconds = request.wait_tabs if reply.is_written else 0
        tabs = await self.publisher.tabs.wait_for_reports(
            request.path, reply.edit_id, reply.hash, seconds=seconds
        )
        return msgspec.structs.replace(reply, tabs=tabs)

    async def _store_acceptance(self, claim: Claim, result: EditResult) -> None:
        """Store that a proposal was accepted; a failure becomes a warning."""
        claim.edit_id = result.edit_id
        try:
            await self.proposals.decide(claim, "accepted")
        except errors.HistoryUnavailable as error:
            result.warnings.append(
                f"The edit is written, but the acceptance of proposal {claim.proposal_id} is not "
                f"stored yet. {error.message}"
            )
        except (errors.ProposalNotFound, errors.ProposalClosed):
            # The proposal was deleted with its notebook, or another request has stored it.
            pass

    @contextmanager
    def _note_write(self) -> Iterator[None]:
        """Let `wait_for_writes` wait for the decision on a change and for its write."""
        written = asyncio.Event()
        self._writes.add(written)
        try:
            yield
        finally:
            self._writes.discard(written)
            written.set()

    async def wait_for_writes(self) -> None:
        """Return when no change is being written that was decided on before; at most seconds later.

        A person who has paused edits then sees no later edit.
        """
        writes = asyncio.gather(*(written.wait() for written in self._writes))
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(writes, _WRITE_TIMEOUT)

    async def _must_propose(self, request: WriteRequest, action: Action) -> bool:
        """Return whether the change becomes a proposal; False if it is written.

        Raise `PlanMode` if it is refused, and `ModesUnreadable`.
        """
        if request.dry_run:
            return False
        mode = await self.modes.get_effective(request.path)
        outcome = decide(action, request.author, mode, self.modes.server)
        if outcome == "refuse":
            raise build_refusal(action, request.author, mode, self.modes.server)
        return outcome == "propose"

    async def _check_preconditions(self, request: WriteRequest, notebook: LoadedNotebook) -> None:
        """Check the hash of the request, and that the session has read the notebook."""
        if request.hash is not None and request.hash != await notebook.compute_hash():
            message = (
                "The notebook has another hash than the request expects. Read it again, and "
                "send the edit with its new hash."
            )
            raise errors.HashMismatch(message, expected=request.hash, hash=notebook.hash)
        must_have_read = request.must_have_read
        if must_have_read is None:
            must_have_read = self.read_before_edit
        if must_have_read and not request.dry_run:
            self.publisher.read_tracker.require(
                request.author.session, request.path, await notebook.compute_hash()
            )

    async def _find_changes_since(
        self, request: WriteRequest, planned: PlannedEdit
    ) -> RevisionChanges | UnsetType:
        """Return what was changed after the version that the request knows, if it is older."""
        rev = request.rev
        if rev is None or (await planned.notebook.compute_hash()).startswith(rev):
            return UNSET
        size = len(planned.notebook.content.data)
        return await run_in_thread_if_large(size, self._compare_with_rev, rev, planned)

    def _compare_with_rev(self, rev: str, planned: PlannedEdit) -> RevisionChanges:
        versions, after = self.publisher.versions, planned.document_after
        try:
            changed_indexes, _ = versions.compare(versions.find(rev), after)
        except errors.VersionUnknown:
            return RevisionChanges(rev=rev, cells=None, count=0)
        own_indexes = {change.index for change in planned.plan.changes}
        indexes = [index for index in changed_indexes if index not in own_indexes]
        names = [str(after.get_name(index)) for index in indexes[:_SHOWN_CHANGES]]
        return RevisionChanges(rev=rev, cells=names, count=len(indexes))

    async def _predict_result(self, request: WriteRequest, planned: PlannedEdit) -> WriteResult:
        """Return the result of a write that is not made; a proposal has the hash before it."""
        content, splices = planned.notebook.content, planned.plan.splices
        notebook_hash = await planned.notebook.compute_hash()
        if request.dry_run and splices:
            notebook_hash = await _compute_spliced_sha256(content.data, splices)
        return WriteResult(notebook_hash, content.last_modified)

    async def _propose(
        self, request: WriteRequest, _storage: Storage, planned: PlannedEdit
    ) -> EditResult:
        written = await self._predict_result(request, planned)
        return EditResult(written, proposal_id=await self._add_proposal(request, planned))

    async def _add_proposal(
        self, request: WriteRequest, planned: PlannedEdit, data: bytes | None = None
    ) -> int:
        """Store a proposal, and return its number; ``data`` are the bytes of a new notebook."""
        author, plan = request.author, planned.plan
        origin = ProposalOrigin(
            account=author.account,
            session=author.session_name,
            edit_kind="edit" if planned.kind == "outside" else planned.kind,
            undoes=planned.undoes,
            way=author.way,
        )
        operations = [cell for result in plan.results for cell in result.list_affected()]
        content = ProposalContent(
            kind="edit" if data is None else "create",
            user=author.user,
            client=author.client,
            message=author.message,
            hash_before=planned.hash_before,
            operations=operations[:MAX_OPERATIONS],
            truncated=len(operations) > MAX_OPERATIONS,
            diff=planned.diff,
            language=planned.language,
        )
        parts, payload = await asyncio.to_thread(build_proposal, plan, data)
        proposal = await self.proposals.add(request.path, content, parts, payload, origin)
        return proposal.proposal_id

    async def _write(
        self, request: WriteRequest, storage: Storage, planned: PlannedEdit
    ) -> EditResult:
        """Write the notebook and publish the edit.

        Raises
        ------
        StaleContent, errors.ChangedDuringRead
            If the notebook was changed since it was loaded; nothing was written.
        """
        notebook, splices = planned.notebook, planned.plan.splices
        if request.claim is not None:
            notebook_hash = await _compute_spliced_sha256(notebook.content.data, splices)
            await self.proposals.store.record_write(
                request.claim, await notebook.compute_hash(), notebook_hash
            )
        signature = await self._start_signature(planned)
        try:
            written = await storage.write(request.path, notebook.content, splices)
            await self._remember_documents(planned, written)
            may_reopen = _may_reopen_parts(request)
            follower = UndoFollower(self.proposals.store, request.path, may_reopen)
            result = await self.publisher.publish(
                request, storage, planned, written, signature, follow_undo=follower.follow
            )
            if result.edit_id is not None:
                result.warnings.extend(self.proposals.report_followed(follower, request))
            return result
        finally:
            if signature is not None:
                signature.cancel()

    async def _remember_documents(self, planned: PlannedEdit, written: WriteResult) -> None:
        """Compute what follows a write needs: the hash before, and the document after."""
        try:
            await planned.notebook.compute_hash()
            if written.text is None:
                size = len(planned.notebook.content.data)
                after = await run_in_thread_if_large(size, lambda: planned.document_after)
                self.documents.put(written.hash, after)
        except errors.NbEditError as error:
            message = (
                "The edit is in the file, but the previous version could not be read "
                "completely, so the edit is not in the history. Read the notebook before you "
                "continue."
            )
            raise errors.StorageFailure(message, applied=True, hash=written.hash) from error

    async def _start_signature(self, planned: PlannedEdit) -> PendingSignature | None:
        """Return the signature of the notebook after the edit; None if it is not trusted now."""
        document, content = planned.notebook.document, planned.notebook.content
        is_trusted, signature = content.is_trusted, None
        if is_trusted is None:
            signature = await self.trust.find_signature(document, content.hash)
            is_trusted = signature is not None
        if not is_trusted:
            return None
        return PendingSignature(
            self.trust,
            document,
            lambda: planned.document_after,
            planned.plan.splices[0].start,
            signature,
        )


def _may_reopen_parts(request: WriteRequest) -> bool:
    """Return whether an undo makes the parts that the undone edit has accepted pending again.

    An undo by a tool does not, not even if the tool proposes the undo: a person must decide this.
    """
    author = request.author
    if request.origin is not None:
        author = replace(author, way=request.origin.way)
    return decide("reopen", author) != "refuse"


async def _compute_spliced_sha256(data: Buffer, splices: Sequence[Splice]) -> str:
    return await run_in_thread_if_large(len(data), _hash_chunks, data, splices)


def _hash_chunks(data: Buffer, splices: Sequence[Splice]) -> str:
    hasher = hashlib.sha256()
    for chunk in iterate_spliced_chunks(data, splices):
        hasher.update(chunk)
    return hasher.hexdigest()
