"""What follows a write: read tracker, history, trust, events. Its failures become warnings."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING

import msgspec

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.services.edits.planned_edit import PlannedEdit
from jupyter_nbedit.services.history.models import NewEntry
from jupyter_nbedit.services.history.store import EditHistory, FollowUndo
from jupyter_nbedit.services.models import EditReply, WriteRequest
from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.versions import VersionCache
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.storage.base import Storage, WriteResult
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.trust.manager import PendingSignature

if TYPE_CHECKING:
    from jupyter_nbedit.services.events.emitters import EventEmitter


@dataclass(frozen=True)
class Publisher:
    """Does everything that follows a write; ``versions`` are those that readers and tabs have."""

    history: EditHistory
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
        result: WriteResult,
        signature: PendingSignature | None = None,
        *,
        follow_undo: FollowUndo | None = None,
    ) -> EditReply:
        """Publish an edit that the storage has written.

        Parameters
        ----------
        request, storage, planned, result
            The edit, and the result of its write.
        signature
            Signs the notebook, which was trusted before; None if it was not.
        follow_undo
            See `EditHistory.add`.

        Returns
        -------
        The reply; its warnings name what failed.
        """
        reply = planned.build_reply(request, storage, result)
        path, size = request.path, len(planned.notebook.content.data)
        self.read_tracker.record(request.author.session, path, result.hash)
        if self.versions.is_known(planned.notebook.hash) or self.tabs.is_open(path):
            # A reader of the old version, or a tab with it, may ask for the changes since.
            with self._report_as_warning(reply, "readers cannot ask for the changes since"):
                await run_in_thread_if_large(size, self._remember_version, planned, result)
        if signature is not None and planned.may_sign and not result.is_signed:
            with self._report_as_warning(reply, "its trust could not be kept"):
                await signature.finish(result.hash)
        with self._report_as_warning(reply, "the contents manager could not be notified"):
            reply.warnings.extend(await storage.notify_saved(path, result))
        with self._report_as_warning(reply, "it is not in the history and cannot be undone"):
            entry = _build_entry(request, planned, reply, trusted=signature is not None)
            record = await run_in_thread_if_large(size, _encode_record, planned, result)
            edit_id = await self.history.add(entry, record, follow_undo)
            reply = msgspec.structs.replace(reply, edit_id=edit_id)
        with self._report_as_warning(reply, "open tabs could not be notified"):
            self._emit_event(request, planned, reply)
        return reply

    @contextmanager
    def _report_as_warning(self, reply: EditReply, problem: str) -> Iterator[None]:
        """Turn every exception into a warning: the edit is written, and an error would deny it."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", reply.edit_id, reply.path, problem)
            reply.warnings.append(f"The edit is in the file, but {problem}; see the server's log.")

    def _remember_version(self, planned: PlannedEdit, result: WriteResult) -> None:
        if result.text is not None:
            self.versions.remember(result.hash, Document.parse(result.text))
            return
        self.versions.remember_edit(
            planned.notebook.hash, result.hash, planned.get_document_after(), planned.plan
        )

    def _emit_event(self, request: WriteRequest, planned: PlannedEdit, reply: EditReply) -> None:
        self.events.emit_edit(
            planned.list_entries(),
            edit_id=reply.edit_id,
            path=reply.path,
            hash_before=reply.hash_before,
            hash=reply.hash,
            last_modified=msgspec.to_builtins(reply.last_modified),
            user=request.author.user,
            client=request.author.client,
            total_cells=reply.total_cells,
        )


def _encode_record(planned: PlannedEdit, result: WriteResult) -> bytes:
    record = planned.plan.build_record()
    if result.text is not None:
        # The storage has written other bytes, so the reverse splices of the edit do not apply.
        record = msgspec.structs.replace(record, reverse_splices=None)
    return record.encode()


def _build_entry(
    request: WriteRequest, planned: PlannedEdit, reply: EditReply, *, trusted: bool
) -> NewEntry:
    author, claim, origin = request.author, request.claim, request.origin
    account, session, decided_account = author.account, author.session_name, None
    if origin is not None:
        # The author of a proposal is another client than the one that accepts it.
        decided_account, session = account, origin.session
        account = account if origin.account is None else origin.account
    return NewEntry(
        path=request.path,
        kind=planned.kind,
        user=author.user,
        account=account,
        decided_account=decided_account,
        client=author.client,
        session=session,
        is_from_page=author.is_person and request.accepted_by is None,
        message=author.message,
        accepted_by=request.accepted_by,
        claim_id=None if claim is None else claim.claim_id,
        operations=planned.list_entries(),
        cells_changed=len(planned.plan.changes),
        hash_before=reply.hash_before,
        hash=reply.hash,
        applied_via=reply.applied_via,
        total_cells=reply.total_cells,
        cells_delta=reply.cells_delta,
        undoes=planned.undoes,
        reversed_parts=planned.reversed_parts,
        lines_added=planned.changed_lines.added,
        lines_removed=planned.changed_lines.removed,
        snippet=planned.changed_lines.snippet,
        trusted=trusted,
    )


async def add_tab_counts(
    tabs: TabRegistry, change: Awaitable[EditReply], seconds: float
) -> EditReply:
    """Make a change that is not begun yet; return its reply with the counts of open tabs.

    The reports of the tabs are awaited for at most ``seconds``.
    """
    reply = await change
    seconds = seconds if reply.is_written else 0
    counts = await tabs.wait_for_reports(reply.path, reply.edit_id, reply.hash, seconds=seconds)
    return msgspec.structs.replace(reply, tabs=counts)
