"""What follows when a notebook was written: remember, sign, record, tell. None of it undoes it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING, Protocol

import msgspec

from jupyter_nbedit.concurrency import BackgroundTask, run_in_thread_if_large
from jupyter_nbedit.edits.plan import ComputedEdit
from jupyter_nbedit.history.models import NewEntry
from jupyter_nbedit.models import EditReply
from jupyter_nbedit.notebook.diff import CellChange
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.reading.read_tracker import ReadTracker
from jupyter_nbedit.reading.versions import VersionCache
from jupyter_nbedit.storage.base import Storage, WriteResult
from jupyter_nbedit.trust.manager import PendingSignature

if TYPE_CHECKING:
    from jupyter_nbedit.events.emitters import EditEventEmitter


class HistoryWriter(Protocol):
    """Keeps edits; the ledger does."""

    async def add(self, entry: NewEntry, record: bytes | None) -> int:
        """Keep an edit and what it takes to take it back, and give its number."""


@dataclass(frozen=True)
class Publisher:
    """Does what follows.

    Parameters
    ----------
    ledger
        Keeps what was done, and what it takes to take it back.
    readings
        Knows who has read what.
    versions
        Knows what versions looked like that somebody has read.
    events
        Tells of edits.
    log
        The server's; each edit leaves a line there.
    """

    ledger: HistoryWriter
    readings: ReadTracker
    versions: VersionCache
    events: EditEventEmitter
    log: Logger

    @staticmethod
    def record(done: ComputedEdit) -> BackgroundTask[bytes]:
        """Return what makes the record of a change, beside the write; see `of`."""
        size = len(done.read.content.data)

        async def make() -> bytes:
            return await run_in_thread_if_large(size, lambda: done.applied.build_record().encode())

        return BackgroundTask(make, size)

    async def publish(
        self,
        storage: Storage,
        done: ComputedEdit,
        written: WriteResult,
        record: BackgroundTask[bytes],
        signing: PendingSignature | None = None,
    ) -> EditReply:
        """Do what follows a write, and say what was done.

        Parameters
        ----------
        storage
            What has written it.
        done
            The change.
        written
            What the storage says of it.
        record
            As `record` gave it.
        signing
            Signs the notebook, which was trusted before; None if it was not.

        Returns
        -------
        The reply; what could not be done is among its warnings.
        """
        asked, read = done.asked, done.read
        reply = done.build_reply(storage, written)
        entry = _build_entry(done, reply, trusted=signing is not None)
        recording = BackgroundTask(lambda: self._record(entry, done, written, record))
        with recording:
            # Nothing of what comes first needs the edit's number, for which there is a thread.
            await asyncio.sleep(0)
            self.readings.record(asked.session, asked.path, written.hash)
            if self.versions.is_known(read.hash):
                # Who has read what was there may ask what has changed since.
                with self._report_as_warning(reply, "what has changed could not be noted"):
                    await run_in_thread_if_large(len(read.content.data), self._note, done, written)
            if signing is not None and done.job.may_sign and not written.is_signed:
                with self._report_as_warning(reply, "its trust could not be kept"):
                    await signing.finish(written.hash)
            with self._report_as_warning(reply, "the contents manager could not be told"):
                reply.warnings.extend(await storage.notify_saved(asked.path, written))
            with self._report_as_warning(
                reply, "it could not be recorded, so that it cannot be taken back"
            ):
                reply = msgspec.structs.replace(reply, edit_id=await recording.get_result())
        with self._report_as_warning(reply, "open tabs could not be told"):
            self._emit_events(done, reply)
        self.log.info(
            "Edit %s of %r by %r, client %r: %r",
            reply.edit_id,
            asked.path,
            asked.user,
            asked.client,
            asked.message,
        )
        return reply

    @contextmanager
    def _report_as_warning(self, reply: EditReply, what: str) -> Iterator[None]:
        """Turn any failure into a warning: the edit is in, and an error would say it is not."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", reply.edit_id, reply.path, what)
            reply.warnings.append(
                f"The edit is in the file, but {what}; the server's log says why."
            )

    def _note(self, done: ComputedEdit, written: WriteResult) -> None:
        after = done.after if written.text is None else Document.parse(written.text)
        self.versions.remember(written.hash, after)

    async def _record(
        self,
        entry: NewEntry,
        done: ComputedEdit,
        written: WriteResult,
        record: BackgroundTask[bytes],
    ) -> int:
        if written.text is None:
            return await self.ledger.add(entry, await record.get_result())
        # The splices backwards would be for bytes that were never kept.
        kept = msgspec.structs.replace(done.applied.build_record(), reverse_splices=None)
        return await self.ledger.add(entry, kept.encode())

    def _emit_events(self, done: ComputedEdit, reply: EditReply) -> None:
        self.events.emit(
            list(done.iterate_entries()),
            edit_id=reply.edit_id,
            path=reply.path,
            hash_before=reply.hash_before,
            hash=reply.hash,
            last_modified=msgspec.to_builtins(reply.last_modified),
            user=done.asked.user,
            client=done.asked.client,
            total_cells=reply.total_cells,
        )


def _build_entry(done: ComputedEdit, reply: EditReply, *, trusted: bool) -> NewEntry:
    asked, applied = done.asked, done.applied
    return NewEntry(
        path=asked.path,
        kind=done.job.kind,
        user=asked.user,
        client=asked.client,
        message=asked.message,
        accepted_by=asked.accepted_by,
        claim=None if asked.acceptance is None else asked.acceptance.claim,
        operations=list(done.iterate_entries()),
        cells_changed=sum(1 for change in applied.changes if isinstance(change, CellChange)),
        hash_before=reply.hash_before,
        hash=reply.hash,
        applied_via=reply.applied_via,
        total_cells=reply.total_cells,
        cells_delta=reply.cells_delta,
        undoes=done.job.undoes,
        trusted=trusted,
    )
