"""Notebooks that are open in a room of real-time collaboration, edited where everybody sees it.

The room owns the file while it is live: it writes what is shared over it, whoever has written there
meanwhile. So an edit goes into the shared document, and only the room's own save writes the file.
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
from jupyter_nbedit.storage.contents.file import compute_sha256
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import Room
from jupyter_nbedit.storage.rtc.shared_notebook import (
    RoomSnapshot,
    RoomSnapshotCache,
    edit,
    repair_ids,
)
from jupyter_nbedit.storage.rtc.sync import (
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
    """A notebook in a live room.

    Parameters
    ----------
    room
        The room.
    manager
        The contents manager, with which the room saves.
    beneath
        How the notebook is kept without the room; used to see what is on disk, never to write.
    locks
        Of the server.
    sights
        What is remembered of shared notebooks.
    """

    room: Room
    manager: Any
    beneath: Storage
    locks: PathLocks
    sights: RoomSnapshotCache

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same room."""
        return isinstance(other, RoomStorage) and other._get_key == self._get_key

    def __hash__(self) -> int:
        """Go with `__eq__`."""
        return hash(self._get_key)

    @property
    def _get_key(self) -> tuple[str, int]:
        # A room that was closed and opened again is another one.
        return self.room.id, id(self.room.document)

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 -- one room, many names
        """Keep other edits away; not the room's own save, which must be able to write the file."""
        return self.locks.lock(names=(f"room {self.room.id}",))

    async def read(self, path: str) -> Content:
        """Show what is shared, as the text that the room's save would make of it."""
        # What may be seen of a notebook, and whether it is there, does not depend on rooms.
        kept = await self.beneath.read(path)
        if not await wait_for_load_start(self.room):
            return kept
        await wait_until_ready(self.room)
        if not self.room.is_live():
            return kept
        seen = await self._take_snapshot()
        return Content(seen.text, kept.last_modified, seen, seen.trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Do to the shared cells what the splices do, and see that the room saves it."""
        seen = base.version
        if not isinstance(seen, RoomSnapshot):
            # It was read before the room had loaded anything; only then can it be edited there.
            await wait_until_ready(self.room)
            raise StaleContent
        steps = await asyncio.to_thread(_compute_patch, base.text, splices)
        await wait_until_synced(self.room, self.manager, NotebookNotFound)
        if not seen.is_consistent:
            repair_ids(self.room.document)
            raise StaleContent
        edit(self.room.document, steps, seen.ids)
        return await self._wait_until_saved(path, base, steps)

    async def ensure_absent(self, path: str) -> None:  # noqa: ARG002 -- the room is there
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:  # noqa: ARG002 -- the room is there
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def notify_saved(self, path: str, written: WriteResult) -> list[str]:  # noqa: ARG002 -- all know
        """Do nothing: the room saves with the contents manager, which tells everybody itself."""
        return []

    async def _wait_until_saved(self, path: str, base: Content, steps: CellPatch) -> WriteResult:
        """See that an edit gets to disk, and stays in the room."""
        kept = await wait_until_saved(
            self.room, partial(self.beneath.read, path), partial(_is_applied, steps)
        )
        if kept is not None:
            return WriteResult(
                compute_sha256(kept.text), kept.last_modified, [], kept.text, signed=True
            )
        if not self.room.is_live():
            # With a save that the room has begun the edit would be made twice.
            async with self.beneath.lock(path):
                raise StaleContent
        seen = await self._take_snapshot()
        if not await asyncio.to_thread(_is_applied, steps, seen.text):
            raise build_lost_update_error(base, compute_sha256(seen.text))
        warnings = [build_unsaved_warning(self.room)]
        digest = compute_sha256(seen.text)
        return WriteResult(
            digest, base.last_modified, warnings, seen.text, persisted=False, signed=True
        )

    async def _take_snapshot(self) -> RoomSnapshot:
        return await self.sights.get(self.room.document, self.manager.notary.check_cells)


def _compute_patch(base: bytes, splices: Sequence[Splice]) -> CellPatch:
    before = Document.parse(base)
    return compute_patch(
        before, Document.parse(apply_splices(base, splices)), _list_removed_cells(before, splices)
    )


def _list_removed_cells(document: Document, splices: Sequence[Splice]) -> set[int]:
    """Return the indexes of the cells that splices take out whole."""
    starts = [span.start for span in document.cell_spans]
    found: set[int] = set()
    for cut in splices:
        index = bisect_left(starts, cut.start)
        while index < len(starts) and document.cell_spans[index].stop <= cut.stop:
            found.add(index)
            index += 1
    return found


def _is_applied(steps: CellPatch, text: bytes) -> bool:
    try:
        return is_applied(steps, Document.parse(text))
    except InvalidNotebook:
        return False
