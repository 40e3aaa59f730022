"""Notebooks and texts that are open in a live room, edited in the shared document.

While a room is live, it owns the file: it overwrites the file with the shared document, whatever
other programs have written. Therefore an edit goes into the shared document, and only the room's
own save writes the file.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from jupyter_nbedit.errors import InvalidNotebook, NotebookExists
from jupyter_nbedit.notebook.cell_patch import CellPatch, compute_patch, is_applied
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.notebook.text_hunks import is_still_applied, list_hunks
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import Room
from jupyter_nbedit.storage.rtc.shared_notebook import (
    ORIGIN,
    RoomSnapshot,
    RoomSnapshotCache,
    apply_hunks,
    apply_patch,
    repair_ids,
)
from jupyter_nbedit.storage.rtc.wait_for_room import (
    build_lost_update_error,
    build_unsaved_warning,
    wait_for_load_start,
    wait_until_ready,
    wait_until_saved,
    wait_until_synced,
)

_EXISTS = (
    "A notebook of this name is open in a room of real-time collaboration, and it is never "
    "overwritten. Choose another path, or edit the notebook with PATCH."
)


@dataclass(frozen=True)
class RoomStorage(ABC):
    """A file in a live room.

    `underlying_storage` is the storage of the file without the room, which is only read here.
    """

    room: Room
    manager: Any
    underlying_storage: Storage
    locks: PathLocks

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False
    #: Whether the room's save preserves the trust of a notebook.
    is_signed: ClassVar[bool]

    def lock(self, path: str) -> AbstractAsyncContextManager[object]:  # noqa: ARG002 -- one room, many names
        """Lock against other edits, but not against the room's own save of the file."""
        return self.locks.lock(names=(f"room {self.room.id}",))

    async def read(self, path: str) -> Content:
        """Read the shared document as the bytes that the room's save would write."""
        # Whether a file exists and may be seen does not depend on rooms.
        file_content: Content = await self.underlying_storage.read(path)
        if not await wait_for_load_start(self.room):
            return file_content
        await wait_until_ready(self.room)
        if not self.room.is_live():
            return file_content
        return await self._read_document(file_content.last_modified)

    @abstractmethod
    async def _read_document(self, last_modified: datetime) -> Content:
        """Return the content of the shared document."""

    @abstractmethod
    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Apply the splices to the shared document, and wait until the room has saved it."""

    async def _wait_until_saved(
        self, path: str, base: Content, contains_edit: Callable[[bytes], bool]
    ) -> WriteResult:
        """Wait until an edit is on disk, and check that it is still in the room."""
        content = await wait_until_saved(
            self.room, partial(self.underlying_storage.read, path), contains_edit
        )
        is_persisted, warnings = content is not None, []
        if content is None:
            if not self.room.is_live():
                # After a save that the room has begun, the edit would be made twice.
                async with self.underlying_storage.lock(path):
                    raise StaleContent
            content = await self._read_document(base.last_modified)
            if not await asyncio.to_thread(contains_edit, content.text):
                raise build_lost_update_error(base, compute_sha256(content.text))
            warnings.append(build_unsaved_warning(self.room))
        return WriteResult(
            compute_sha256(content.text),
            content.last_modified,
            warnings,
            content.text,
            is_persisted=is_persisted,
            is_signed=self.is_signed,
        )

    async def ensure_absent(self, path: str) -> None:  # noqa: ARG002 -- the room is there
        """Raise `NotebookExists`: the room has a file of that name."""
        raise NotebookExists(_EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:  # noqa: ARG002 -- the room is there
        """Raise `NotebookExists`: the room has a file of that name."""
        raise NotebookExists(_EXISTS)

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:  # noqa: ARG002 -- all know
        """Do nothing: the room saves with the contents manager, which notifies its listeners."""
        return []


@dataclass(frozen=True)
class NotebookRoomStorage(RoomStorage):
    """A notebook that is open as a notebook in a live room."""

    snapshots: RoomSnapshotCache

    is_signed: ClassVar[bool] = True

    async def _read_document(self, last_modified: datetime) -> Content:
        snapshot = await self.snapshots.get(self.room.document, self.manager.notary.check_cells)
        return Content(snapshot.text, last_modified, snapshot, snapshot.is_trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Apply the splices to the shared cells, and wait until the room has saved them."""
        snapshot = base.version
        if not isinstance(snapshot, RoomSnapshot):
            # It was read before the room had loaded the file; it can be edited only after that.
            await wait_until_ready(self.room)
            raise StaleContent
        patch = await asyncio.to_thread(_compute_patch, base.text, splices)
        await wait_until_synced(self.room, self.manager)
        if not snapshot.is_consistent:
            repair_ids(self.room.document)
            raise StaleContent
        apply_patch(self.room.document, patch, snapshot.ids)
        return await self._wait_until_saved(path, base, partial(_is_patch_applied, patch))


def _compute_patch(base: bytes, splices: Sequence[Splice]) -> CellPatch:
    document = Document.parse(base)
    return compute_patch(
        document,
        Document.parse(apply_splices(base, splices)),
        _list_removed_cells(document, splices),
    )


def _list_removed_cells(document: Document, splices: Sequence[Splice]) -> set[int]:
    """Return the indexes of the cells that splices remove as a whole."""
    starts = [span.start for span in document.cell_spans]
    indexes: set[int] = set()
    for splice in splices:
        index = bisect_left(starts, splice.start)
        while index < len(starts) and document.cell_spans[index].stop <= splice.stop:
            indexes.add(index)
            index += 1
    return indexes


def _is_patch_applied(patch: CellPatch, text: bytes) -> bool:
    try:
        return is_applied(patch, Document.parse(text))
    except InvalidNotebook:
        return False


@dataclass(frozen=True)
class TextRoomStorage(RoomStorage):
    """A text file, or a notebook in a text editor, that is open as text in a live room."""

    is_signed: ClassVar[bool] = False

    async def _read_document(self, last_modified: datetime) -> Content:
        return Content(self._get_text().encode(), last_modified)

    def _get_text(self) -> str:
        return str(self.room.document.ydoc["source"])

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Change the shared text, and wait until the room has saved it."""
        before, after = base.text.decode(), apply_splices(base.text, splices).decode()
        hunks = list_hunks(before, after)
        await wait_until_synced(self.room, self.manager)
        if self._get_text() != before:
            raise StaleContent
        document = self.room.document
        with document.ydoc.transaction(origin=ORIGIN):
            apply_hunks(document.ydoc["source"], hunks)
        return await self._wait_until_saved(path, base, partial(_is_text_applied, before, after))


def _is_text_applied(before: str, after: str, text: bytes) -> bool:
    """Return whether a text contains a change, although others may have edited it since."""
    try:
        return is_still_applied(before, after, text.decode())
    except UnicodeDecodeError:
        return False
