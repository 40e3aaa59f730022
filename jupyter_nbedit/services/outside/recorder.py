"""Record outside changes in the history, like edits, and report them to the tabs by events."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging import Logger
from typing import Literal

import msgspec

from jupyter_nbedit.errors import HistoryUnavailable, NbEditError
from jupyter_nbedit.notebook.diff import ChangedLines
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.document_diff import DocumentDiff
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.events.models import OutsideChangeEvent
from jupyter_nbedit.services.history.models import HistoryEdit, NewEntry
from jupyter_nbedit.services.history.rename_listener import PathObserver
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import LoadedNotebook
from jupyter_nbedit.services.modes import Mode, ModeManager
from jupyter_nbedit.services.outside.open_notebook import KnownVersion, OpenNotebook
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.trust.manager import TrustManager

ChangeKind = Literal["changed", "deleted", "renamed", "unreadable"]


@dataclass(frozen=True)
class Difference:
    """How a new version differs from the known one; without ``diff`` if that is not known."""

    diff: DocumentDiff | None = None
    record: bytes | None = None
    #: The known version, if there is a record.
    before: Document | None = None
    lines: ChangedLines | None = None


@dataclass(frozen=True)
class OutsideChangeRecorder:
    """Stores outside changes, and tells the tabs about them and about files that are gone."""

    history: EditStore
    trust: TrustManager
    modes: ModeManager
    events: EventEmitter
    #: Store something by path, which follows a notebook that was renamed.
    observers: Sequence[PathObserver]
    log: Logger

    async def record(  # noqa: PLR0913 -- what is stored
        self,
        notebook: OpenNotebook,
        found: LoadedNotebook,
        difference: Difference,
        hash_before: str | None,
        kind: str,
        *,
        is_outside: bool,
    ) -> OutsideChangeEvent:
        """Store a change in the history, and return its event; the lock of the notebook is held.

        ``kind`` is the kind of the storage. ``is_outside`` is false if another server has written.
        """
        diff, lines, total_cells = difference.diff, difference.lines, len(found.document)
        cells = [] if diff is None else diff.list_affected()
        entry = await self.find_newest_edit(notebook)
        if entry is not None:
            is_new = entry.edit_id > notebook.newest_edit
            entry = entry if is_new and entry.hash == found.hash else None
        edit_id: int | None = None
        is_undoable = False
        if entry is not None:
            # Another server of this user has made the edit, or has recorded the same change.
            is_outside, edit_id = entry.kind == "outside", entry.edit_id
            is_undoable = entry.undoable
        elif is_outside:
            edit_id = await self._add_entry(
                NewEntry(
                    path=notebook.name,
                    kind="outside",
                    operations=cells,
                    cells_changed=len(cells),
                    hash_before=hash_before,
                    hash=found.hash,
                    applied_via=kind,
                    total_cells=total_cells,
                    cells_delta=0 if diff is None else total_cells - len(diff.plan.document),
                    lines_added=None if lines is None else lines.added,
                    lines_removed=None if lines is None else lines.removed,
                    snippet=None if lines is None else lines.snippet,
                    trusted=await self._was_trusted(difference, hash_before),
                ),
                difference.record,
            )
            is_undoable = edit_id is not None and difference.record is not None
        notebook.newest_edit = max(notebook.newest_edit, edit_id or 0)
        return OutsideChangeEvent(
            kind="changed",
            path=notebook.name,
            is_outside=is_outside,
            hash_before=hash_before,
            hash=found.hash,
            last_modified=found.content.last_modified,
            edit_id=edit_id,
            undoable=is_undoable,
            cells=cells,
            cells_changed=None if diff is None else len(cells),
            metadata_changed=diff is not None and diff.changes_metadata,
            total_cells=total_cells,
        )

    async def find_newest_edit(self, notebook: OpenNotebook) -> HistoryEdit | None:
        """Return the newest edit in the history; None if there is none, or it is not known."""
        try:
            edits = await self.history.list_page(notebook.name, limit=1)
        except HistoryUnavailable:
            return None
        return edits[0] if edits else None

    async def _add_entry(self, entry: NewEntry, record: bytes | None) -> int | None:
        try:
            return await self.history.add(entry, record)
        except HistoryUnavailable as error:
            self.log.warning("A change of %r is not in the history: %s", entry.path, error.message)
            return None

    async def _was_trusted(self, difference: Difference, notebook_hash: str | None) -> bool:
        """Return whether the version before was trusted; an undo may sign only what was."""
        if difference.before is None:
            return False
        with suppress(NbEditError):
            return await self.trust.find_signature(difference.before, notebook_hash) is not None
        return False

    async def report_return(
        self, notebook: OpenNotebook, content: Content, notebook_hash: str
    ) -> None:
        """Report that the known version is there again after a problem."""
        notebook.has_problem = False
        event = OutsideChangeEvent(
            kind="changed",
            path=notebook.name,
            hash_before=notebook_hash,
            hash=notebook_hash,
            last_modified=content.last_modified,
            cells_changed=0,
        )
        await self.report(notebook, event)

    async def report_missing(self, notebook: OpenNotebook, version: KnownVersion) -> None:
        """Report that a file is deleted or renamed; its stored data follow the new name."""
        new_path = None
        if notebook.os_path is not None:
            new_path = await asyncio.to_thread(notebook.find_new_name, version.identity)
        if new_path is None:
            await self.report_problem(notebook, "deleted")
            return
        await self.report_problem(notebook, "renamed", new_path=new_path)
        for observer in self.observers:
            try:
                await observer.on_renamed(notebook.name, new_path)
            except NbEditError as error:
                self.log.warning("%r was renamed to %r: %s", notebook.name, new_path, error.message)

    async def report_problem(
        self,
        notebook: OpenNotebook,
        kind: ChangeKind,
        *,
        new_path: str | None = None,
        message: str | None = None,
    ) -> None:
        """Report that there is no notebook at the path any more that can be read."""
        notebook.has_problem, notebook.problem_identity = True, notebook.identity
        event = OutsideChangeEvent(
            kind=kind,
            path=notebook.name,
            new_path=new_path,
            is_outside=True,
            hash_before=None if notebook.version is None else notebook.version.hash,
            message=message,
        )
        await self.report(notebook, event)

    async def report(self, notebook: OpenNotebook, event: OutsideChangeEvent) -> None:
        """Emit an event for each path by which tabs call a notebook, with its mode."""
        mode: Mode | None = None
        with suppress(NbEditError):
            mode = await self.modes.get_effective(notebook.name)
        notebook.reported_at = time.monotonic()
        for path in sorted(notebook.paths):
            self.events.emit(msgspec.structs.replace(event, path=path, mode=mode))
