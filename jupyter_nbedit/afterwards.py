"""What follows when a notebook was written: remember, sign, record, tell. None of it undoes it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING, Protocol

import msgspec

from jupyter_nbedit.beside import Beside, away
from jupyter_nbedit.history.entries import NewEntry
from jupyter_nbedit.messages import EditReply
from jupyter_nbedit.notebook.diff import Change
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.outcome import Outcome
from jupyter_nbedit.readings import Readings
from jupyter_nbedit.storage import Storage, Written
from jupyter_nbedit.trust import Signing
from jupyter_nbedit.versions import Versions

if TYPE_CHECKING:
    from jupyter_nbedit.events import EditEvents


class Recorder(Protocol):
    """Keeps edits; the ledger does."""

    async def add(self, entry: NewEntry, record: bytes | None) -> int:
        """Keep an edit and what it takes to take it back, and give its number."""


@dataclass(frozen=True)
class Afterwards:
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

    ledger: Recorder
    readings: Readings
    versions: Versions
    events: EditEvents
    log: Logger

    @staticmethod
    def record(done: Outcome) -> Beside[bytes]:
        """Give what makes the record of a change, beside the write; see `of`."""
        size = len(done.read.content.raw)

        async def make() -> bytes:
            return await away(size, lambda: done.applied.record().encode())

        return Beside(make, size)

    async def of(
        self,
        storage: Storage,
        done: Outcome,
        written: Written,
        record: Beside[bytes],
        signing: Signing | None = None,
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
        reply = done.reply(storage, written)
        entry = _entry(done, reply, trusted=signing is not None)
        recording = Beside(lambda: self._record(entry, done, written, record))
        with recording:
            # Nothing of what comes first needs the edit's number, for which there is a thread.
            await asyncio.sleep(0)
            self.readings.note(asked.session, asked.path, written.hash)
            if self.versions.knows(read.hash):
                # Who has read what was there may ask what has changed since.
                with self._kept(reply, "what has changed could not be noted"):
                    await away(len(read.content.raw), self._note, done, written)
            if signing is not None and done.job.may_sign and not written.signed:
                with self._kept(reply, "its trust could not be kept"):
                    await signing.finish(written.hash)
            with self._kept(reply, "the contents manager could not be told"):
                reply.warnings.extend(await storage.announce(asked.path, written))
            with self._kept(reply, "it could not be recorded, so that it cannot be taken back"):
                reply = msgspec.structs.replace(reply, edit_id=await recording.answer())
        with self._kept(reply, "open tabs could not be told"):
            self._tell(done, reply)
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
    def _kept(self, reply: EditReply, what: str) -> Iterator[None]:
        """Turn any failure into a warning: the edit is in, and an error would say it is not."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", reply.edit_id, reply.path, what)
            reply.warnings.append(
                f"The edit is in the file, but {what}; the server's log says why."
            )

    def _note(self, done: Outcome, written: Written) -> None:
        after = done.after if written.text is None else Document.parse(written.text)
        self.versions.note(written.hash, after)

    async def _record(
        self, entry: NewEntry, done: Outcome, written: Written, record: Beside[bytes]
    ) -> int:
        if written.text is None:
            return await self.ledger.add(entry, await record.answer())
        # The splices backwards would be for bytes that were never kept.
        kept = msgspec.structs.replace(done.applied.record(), back=None)
        return await self.ledger.add(entry, kept.encode())

    def _tell(self, done: Outcome, reply: EditReply) -> None:
        self.events.emit(
            list(done.entries()),
            edit_id=reply.edit_id,
            path=reply.path,
            hash_before=reply.hash_before,
            hash=reply.hash,
            last_modified=msgspec.to_builtins(reply.last_modified),
            user=done.asked.user,
            client=done.asked.client,
            total_cells=reply.total_cells,
        )


def _entry(done: Outcome, reply: EditReply, *, trusted: bool) -> NewEntry:
    asked, applied = done.asked, done.applied
    return NewEntry(
        path=asked.path,
        kind=done.job.kind,
        user=asked.user,
        client=asked.client,
        message=asked.message,
        accepted_by=asked.accepted_by,
        claim=None if asked.acceptance is None else asked.acceptance.claim,
        operations=list(done.entries()),
        cells_changed=sum(1 for change in applied.changes if isinstance(change, Change)),
        hash_before=reply.hash_before,
        hash=reply.hash,
        applied_via=reply.applied_via,
        total_cells=reply.total_cells,
        cells_delta=reply.cells_delta,
        undoes=done.job.undoes,
        trusted=trusted,
    )
