"""What follows a write: read tracker, history, trust, events. Its failures become warnings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from logging import Logger

import msgspec

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.services.edits.planned_edit import EditResult, PlannedEdit
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.events.models import EditEvent
from jupyter_nbedit.services.history.models import NewEntry
from jupyter_nbedit.services.history.store import EditStore, FollowUndo
from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.versions import VersionCache
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.storage.base import Storage, WriteResult
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.trust.manager import PendingSignature


@dataclass(frozen=True)
class Publisher:
    """Does everything that follows a write; readers and tabs have the ``versions``."""

    history: EditStore
    read_tracker: ReadTracker
    versions: VersionCache
    tabs: TabRegistry
    events: EventEmitter
    log: Logger

    async def publish(  # noqa: PLR0913 -- all that follows a write
        self,
        request: WriteRequest,
        storage: Storage,
        planned: PlannedEdit,
        written: WriteResult,
        signature: PendingSignature | None = None,
        *,
        follow_undo: FollowUndo | None = None,
    ) -> EditResult:
        """Publish an edit that the storage has written.

        Parameters
        ----------
        request, storage, planned, written
            The edit, and the result of its write.
        signature
            Signs the notebook, if it was trusted before the edit; else None.
        follow_undo
            See `EditStore.add`.

        Returns
        -------
        What was published; its warnings name what failed.
        """
        result = EditResult(written)
        path, size = request.path, len(planned.notebook.content.data)
        self.read_tracker.record(request.author.session, path, written.hash)
        if self.versions.is_known(planned.notebook.hash) or self.tabs.is_open(path):
            # A reader of the old version, or a tab with it, may ask for the changes since.
            with self._report_as_warning(path, result, "readers cannot ask for the changes since"):
                await run_in_thread_if_large(size, self._remember_version, planned, written)
        if signature is not None and planned.may_sign and not written.is_signed:
            with self._report_as_warning(path, result, "its trust could not be kept"):
                await signature.finish(written.hash)
        with self._report_as_warning(path, result, "the contents manager could not be notified"):
            result.warnings.extend(await storage.notify_saved(path, written))
        with self._report_as_warning(path, result, "it is not in the history and cannot be undone"):
            entry = _build_entry(request, storage, planned, written, signature is not None)
            record = await run_in_thread_if_large(size, _encode_record, planned, written)
            result.edit_id = await self.history.add(entry, record, follow_undo)
        with self._report_as_warning(path, result, "open tabs could not be notified"):
            self.events.emit(
                EditEvent(
                    edit_id=result.edit_id,
                    path=path,
                    hash_before=planned.hash_before,
                    hash=written.hash,
                    last_modified=written.last_modified,
                    user=request.author.user,
                    client=request.author.client,
                    total_cells=planned.plan.total_cells,
                    operations=planned.affected_cells,
                )
            )
        return result

    @contextmanager
    def _report_as_warning(self, path: str, result: EditResult, problem: str) -> Iterator[None]:
        """Turn every exception into a warning: the edit is written, and an error would deny it."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", result.edit_id, path, problem)
            result.warnings.append(f"The edit is in the file, but {problem}; see the server's log.")

    def _remember_version(self, planned: PlannedEdit, written: WriteResult) -> None:
        if written.text is not None:
            self.versions.remember(written.hash, Document.parse(written.text))
            return
        self.versions.remember_edit(
            planned.notebook.hash, written.hash, planned.document_after, planned.plan
        )


def _encode_record(planned: PlannedEdit, written: WriteResult) -> bytes:
    record = planned.plan.build_record()
    if written.text is not None:
        # The storage has written other bytes, so the reverse splices of the edit do not apply.
        record = msgspec.structs.replace(record, reverse_splices=None)
    return record.encode()


def _build_entry(
    request: WriteRequest,
    storage: Storage,
    planned: PlannedEdit,
    written: WriteResult,
    is_trusted: bool,  # noqa: FBT001 -- one call
) -> NewEntry:
    author, claim, origin = request.author, request.claim, request.origin
    decided_account = None
    if origin is not None:
        # The client that made a proposal is not the client that accepts it.
        decided_account = author.account
        account = author.account if origin.account is None else origin.account
        author = replace(author, account=account, session=f"\n{origin.session}")
    lines, total_cells = planned.changed_lines, planned.plan.total_cells
    return NewEntry(
        path=request.path,
        kind=planned.kind,
        author=author,
        decided_account=decided_account,
        accepted_by=None if claim is None else claim.user,
        claim_id=None if claim is None else claim.claim_id,
        operations=planned.affected_cells,
        cells_changed=len(planned.plan.changes),
        hash_before=planned.hash_before,
        hash=written.hash,
        applied_via=storage.kind,
        total_cells=total_cells,
        cells_delta=total_cells - len(planned.notebook.document),
        undoes=planned.undoes,
        reversed_parts=planned.reversed_parts,
        lines_added=lines.added,
        lines_removed=lines.removed,
        snippet=lines.snippet,
        trusted=is_trusted,
    )
