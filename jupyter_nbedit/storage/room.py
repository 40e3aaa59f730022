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
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.script import Script, is_in, script
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.storage import Changed, Content, Storage, Written
from jupyter_nbedit.storage.live import (
    EXISTS,
    has_begun,
    not_saved,
    overtaken,
    saved,
    settled,
    up_to_date,
)
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managed import sha256
from jupyter_nbedit.storage.rooms import Room
from jupyter_nbedit.storage.shared_cells import Sight, Sights, edit, mend


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
    sights: Sights

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False

    def __eq__(self, other: object) -> bool:
        """Tell whether this is the same room."""
        return isinstance(other, RoomStorage) and other._key == self._key

    def __hash__(self) -> int:
        """Go with `__eq__`."""
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, int]:
        # A room that was closed and opened again is another one.
        return self.room.id, id(self.room.document)

    def hold(self, path: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 -- one room, many names
        """Keep other edits away; not the room's own save, which must be able to write the file."""
        return self.locks.hold(names=(f"room {self.room.id}",))

    async def read(self, path: str) -> Content:
        """Show what is shared, as the text that the room's save would make of it."""
        # What may be seen of a notebook, and whether it is there, does not depend on rooms.
        kept = await self.beneath.read(path)
        if not await has_begun(self.room):
            return kept
        await settled(self.room)
        if not self.room.is_live():
            return kept
        seen = await self._sight()
        return Content(seen.text, kept.last_modified, seen, seen.trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> Written:
        """Do to the shared cells what the splices do, and see that the room saves it."""
        seen = base.version
        if not isinstance(seen, Sight):
            # It was read before the room had loaded anything; only then can it be edited there.
            await settled(self.room)
            raise Changed
        steps = await asyncio.to_thread(_steps, base.text, splices)
        await up_to_date(self.room, self.manager, NotebookNotFound)
        if not seen.sound:
            mend(self.room.document)
            raise Changed
        edit(self.room.document, steps, seen.ids)
        return await self._saved(path, base, steps)

    async def check_vacant(self, path: str) -> None:  # noqa: ARG002 -- the room is there
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def create(self, path: str, text: bytes) -> Written:  # noqa: ARG002 -- the room is there
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def announce(self, path: str, written: Written) -> list[str]:  # noqa: ARG002 -- all know
        """Do nothing: the room saves with the contents manager, which tells everybody itself."""
        return []

    async def _saved(self, path: str, base: Content, steps: Script) -> Written:
        """See that an edit gets to disk, and stays in the room."""
        kept = await saved(self.room, partial(self.beneath.read, path), partial(_is_in, steps))
        if kept is not None:
            return Written(sha256(kept.text), kept.last_modified, [], kept.text, signed=True)
        if not self.room.is_live():
            # With a save that the room has begun the edit would be made twice.
            async with self.beneath.hold(path):
                raise Changed
        seen = await self._sight()
        if not await asyncio.to_thread(_is_in, steps, seen.text):
            raise overtaken(base, sha256(seen.text))
        warnings = [not_saved(self.room)]
        digest = sha256(seen.text)
        return Written(
            digest, base.last_modified, warnings, seen.text, persisted=False, signed=True
        )

    async def _sight(self) -> Sight:
        return await self.sights.of(self.room.document, self.manager.notary.check_cells)


def _steps(base: bytes, splices: Sequence[Splice]) -> Script:
    before = Document.parse(base)
    return script(before, Document.parse(join(base, splices)), _taken(before, splices))


def _taken(document: Document, splices: Sequence[Splice]) -> set[int]:
    """Give the indexes of the cells that splices take out whole."""
    starts = [span.start for span in document.cell_spans]
    found: set[int] = set()
    for cut in splices:
        index = bisect_left(starts, cut.start)
        while index < len(starts) and document.cell_spans[index].stop <= cut.stop:
            found.add(index)
            index += 1
    return found


def _is_in(steps: Script, text: bytes) -> bool:
    try:
        return is_in(steps, Document.parse(text))
    except InvalidNotebook:
        return False
