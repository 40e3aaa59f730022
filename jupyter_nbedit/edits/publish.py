"""What follows a write: read tracker, trust, history, events. Its failures become warnings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING

import msgspec

from jupyter_nbedit.concurrency import BackgroundTask, run_in_thread_if_large
from jupyter_nbedit.edits.planned_change import ComputedEdit
from jupyter_nbedit.history.models import NewEntry
from jupyter_nbedit.history.store import EditHistory
from jupyter_nbedit.models import EditReply
from jupyter_nbedit.notebook.diff import CellChange
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.reading.read_tracker import ReadTracker
from jupyter_nbedit.reading.versions import VersionCache
from jupyter_nbedit.storage.base import Storage, WriteResult
from jupyter_nbedit.trust.manager import PendingSignature

if TYPE_CHECKING:
    from jupyter_nbedit.events.emitters import EditEventEmitter


@dataclass(frozen=True)
class Publisher:
    """Does everything that follows a write.

    Parameters
    ----------
    history
        Stores the edits.
    read_tracker
        Remembers which session has read which version.
    versions
        The fingerprints of versions that were read.
    events
        Emits an event for each edit.
    log
        The log of the server; it gets a line for each edit.
    """

    history: EditHistory
    read_tracker: ReadTracker
    versions: VersionCache
    events: EditEventEmitter
    log: Logger

    @staticmethod
    def build_record(edit: ComputedEdit) -> BackgroundTask[bytes]:
        """Return the task that builds and encodes the undo record during the write."""
        size = len(edit.notebook.content.data)

        async def build() -> bytes:
            return await run_in_thread_if_large(size, lambda: edit.plan.build_record().encode())

        return BackgroundTask(build, size)

    async def publish(
        self,
        storage: Storage,
        edit: ComputedEdit,
        result: WriteResult,
        record: BackgroundTask[bytes],
        signature: PendingSignature | None = None,
    ) -> EditReply:
        """Publish an edit.

        Parameters
        ----------
        storage
            The storage that has written the notebook.
        edit
            The edit.
        result
            The result of the write.
        record
            The task of `build_record`.
        signature
            Signs the notebook, which was trusted before; None if it was not.

        Returns
        -------
        The reply; its warnings name what failed.
        """
        request, notebook = edit.request, edit.notebook
        reply = edit.build_reply(storage, result)
        entry = _build_entry(edit, reply, trusted=signature is not None)
        history_task = BackgroundTask(lambda: self._add_to_history(entry, edit, result, record))
        with history_task:
            # Start the task now: it runs in a thread, and nothing before its result needs it.
            await asyncio.sleep(0)
            self.read_tracker.record(request.session, request.path, result.hash)
            if self.versions.is_known(notebook.hash):
                # A reader of the old version may ask for the changes since.
                with self._report_as_warning(reply, "what has changed could not be noted"):
                    size = len(notebook.content.data)
                    await run_in_thread_if_large(size, self._remember_version, edit, result)
            if signature is not None and edit.change.may_sign and not result.is_signed:
                with self._report_as_warning(reply, "its trust could not be kept"):
                    await signature.finish(result.hash)
            with self._report_as_warning(reply, "the contents manager could not be told"):
                reply.warnings.extend(await storage.notify_saved(request.path, result))
            with self._report_as_warning(
                reply, "it could not be recorded, so that it cannot be taken back"
            ):
                reply = msgspec.structs.replace(reply, edit_id=await history_task.get_result())
        with self._report_as_warning(reply, "open tabs could not be told"):
            self._emit_event(edit, reply)
        self.log.info(
            "Edit %s of %r by %r, client %r: %r",
            reply.edit_id,
            request.path,
            request.user,
            request.client,
            request.message,
        )
        return reply

    @contextmanager
    def _report_as_warning(self, reply: EditReply, problem: str) -> Iterator[None]:
        """Turn every exception into a warning: the edit is written, and an error would deny it."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", reply.edit_id, reply.path, problem)
            reply.warnings.append(
                f"The edit is in the file, but {problem}; the server's log says why."
            )

    def _remember_version(self, edit: ComputedEdit, result: WriteResult) -> None:
        after = edit.document_after if result.text is None else Document.parse(result.text)
        self.versions.remember(result.hash, after)

    async def _add_to_history(
        self,
        entry: NewEntry,
        edit: ComputedEdit,
        result: WriteResult,
        record: BackgroundTask[bytes],
    ) -> int:
        if result.text is None:
            return await self.history.add(entry, await record.get_result())
        # The storage has written other bytes, so the reverse splices of the edit do not apply.
        without_splices = msgspec.structs.replace(edit.plan.build_record(), reverse_splices=None)
        return await self.history.add(entry, without_splices.encode())

    def _emit_event(self, edit: ComputedEdit, reply: EditReply) -> None:
        self.events.emit(
            list(edit.iterate_entries()),
            edit_id=reply.edit_id,
            path=reply.path,
            hash_before=reply.hash_before,
            hash=reply.hash,
            last_modified=msgspec.to_builtins(reply.last_modified),
            user=edit.request.user,
            client=edit.request.client,
            total_cells=reply.total_cells,
        )


def _build_entry(edit: ComputedEdit, reply: EditReply, *, trusted: bool) -> NewEntry:
    request = edit.request
    return NewEntry(
        path=request.path,
        kind=edit.change.kind,
        user=request.user,
        client=request.client,
        message=request.message,
        accepted_by=request.accepted_by,
        claim_id=None if request.acceptance is None else request.acceptance.claim_id,
        operations=list(edit.iterate_entries()),
        cells_changed=sum(1 for change in edit.plan.changes if isinstance(change, CellChange)),
        hash_before=reply.hash_before,
        hash=reply.hash,
        applied_via=reply.applied_via,
        total_cells=reply.total_cells,
        cells_delta=reply.cells_delta,
        undoes=edit.change.undoes,
        trusted=trusted,
    )
