"""Notebooks that are open in a live room, edited in the shared document.

While a room is live, it owns the file: it overwrites the file with the shared document, whatever
other programs have written. Therefore an edit goes into the shared document, and only the room's
own save writes the file.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from jupyter_nbedit.errors import InvalidNotebook, NotebookExists, NotebookNotFound
from jupyter_nbedit.notebook.cell_patch import CellPatch, compute_patch, is_applied
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.contents.manager_calls import compute_sha256
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import Room
from jupyter_nbedit.storage.rtc.shared_notebook import (
    RoomSnapshot,
    RoomSnapshotCache,
    apply_patch,
    repair_ids,
)
from jupyter_nbedit.storage.rtc.wait_for_room import (
    EXISTS,
    build_lost_update_error,
    build_unsaved_warning,
    wait_for_load_start,
    wait_until_ready,
    wait_until_saved,
    wait_until_synced,
)


@dataclass(frozen=True)
class RoomStorage:
    """A notebook in a live room; its storage without the room is only read here."""

    room: Room
    manager: Any
    underlying_storage: Storage
    locks: PathLocks
    snapshots: RoomSnapshotCache

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same room."""
        return isinstance(other, RoomStorage) and other._get_key == self._get_key

    def __hash__(self) -> int:
        """Return a hash that matches `__eq__`."""
        return hash(self._get_key)

    @property
    def _get_key(self) -> tuple[str, int]:
        # A room that was closed and opened again is another room.
        return self.room.id, id(self.room.document)

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 -- one room, many names
        """Lock against other edits, but not against the room's own save of the file."""
        return self.locks.lock(names=(f"room {self.room.id}",))

    async def read(self, path: str) -> Content:
        """Read the shared notebook as the bytes that the room's save would write."""
        # Whether a notebook exists and may be seen does not depend on rooms.
        file_content = await self.underlying_storage.read(path)
        if not await wait_for_load_start(self.room):
            return file_content
        await wait_until_ready(self.room)
        if not self.room.is_live():
            return file_content
        snapshot = await self._take_snapshot()
        return Content(snapshot.text, file_content.last_modified, snapshot, snapshot.is_trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Apply the splices to the shared cells, and wait until the room has saved them."""
        snapshot = base.version
        if not isinstance(snapshot, RoomSnapshot):
            # It was read before the room had loaded the file; it can be edited only after that.
            await wait_until_ready(self.room)
            raise StaleContent
        patch = await asyncio.to_thread(_compute_patch, base.text, splices)
        await wait_until_synced(self.room, self.manager, NotebookNotFound)
        if not snapshot.is_consistent:
            repair_ids(self.room.document)
            raise StaleContent
        apply_patch(self.room.document, patch, snapshot.ids)
        return await self._wait_until_saved(path, base, patch)

    async def ensure_absent(self, path: str) -> None:  # noqa: ARG002 -- the room is there
        """Raise `NotebookExists`: the room has a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:  # noqa: ARG002 -- the room is there
        """Raise `NotebookExists`: the room has a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:  # noqa: ARG002 -- all know
        """Do nothing: the room saves with the contents manager, which notifies its listeners."""
        return []

    async def _wait_until_saved(self, path: str, base: Content, patch: CellPatch) -> WriteResult:
        """Wait until an edit is on disk, and check that it is still in the room."""
        file_content = await wait_until_saved(
            self.room, partial(self.underlying_storage.read, path), partial(_is_applied, patch)
        )
        if file_content is not None:
            return WriteResult(
                compute_sha256(file_content.text),
                file_content.last_modified,
                [],
                file_content.text,
                is_signed=True,
            )
        if not self.room.is_live():
            # After a save that the room has begun, the edit would be made twice.
            async with self.underlying_storage.lock(path):
                raise StaleContent
        snapshot = await self._take_snapshot()
        if not await asyncio.to_thread(_is_applied, patch, snapshot.text):
            raise build_lost_update_error(base, compute_sha256(snapshot.text))
        warnings = [build_unsaved_warning(self.room)]
        digest = compute_sha256(snapshot.text)
        return WriteResult(
            digest, base.last_modified, warnings, snapshot.text, is_persisted=False, is_signed=True
        )

    async def _take_snapshot(self) -> RoomSnapshot:
        return await self.snapshots.get(self.room.document, self.manager.notary.check_cells)


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


def _is_applied(patch: CellPatch, text: bytes) -> bool:
    try:
        return is_applied(patch, Document.parse(text))
    except InvalidNotebook:
        return False
