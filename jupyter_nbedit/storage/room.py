"""Notebooks that are open in a room of real-time collaboration, edited where everybody sees it.

The room owns the file while it is live: it writes what is shared over it, whoever has written there
meanwhile. So an edit goes into the shared document, and only the room's own save writes the file.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.errors import (
    Busy,
    Forbidden,
    HashMismatch,
    InvalidNotebook,
    NbEditError,
    NotebookExists,
    NotebookNotFound,
)
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.script import Script, is_in, script
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.storage import Changed, Content, Storage, Written
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rooms import Room
from jupyter_nbedit.storage.shared_cells import Sight, edit, mend, sight

# How long a room may take to load a notebook, or to take over what another program wrote.
_LOADING_SECONDS = 10.0
# How long a reply waits for the room's save.
_SAVING_SECONDS = 4.0
_POLL_SECONDS = 0.02
_EXISTS = (
    "A notebook of this name is open in a room of real-time collaboration, and it is never "
    "overwritten. Choose another path, or edit the notebook with PATCH."
)
_NOT_SAVED = (
    "The edit is in the room, where everybody who has the notebook open sees it, but not in the "
    "file yet: "
)
_BY_HAND = "the room's users have switched saving by itself off, so one of them must save it."
_LATER = "the room saves it as soon as it can, usually when nobody has typed for a second."


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
    """

    room: Room
    manager: Any
    beneath: Storage
    locks: PathLocks

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
        await self._settled()
        if not self.room.is_live():
            return kept
        seen = await self._sight()
        return Content(seen.text, kept.last_modified, seen, seen.trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> Written:
        """Do to the shared cells what the splices do, and see that the room saves it."""
        seen = base.version
        if not isinstance(seen, Sight):
            raise Changed
        steps = await asyncio.to_thread(_steps, base.text, splices)
        await self._up_to_date()
        # From here to the end of the edit nothing else runs.
        if not self.room.is_live() or not self.room.is_ready():
            raise Changed
        if not seen.sound:
            mend(self.room.document)
            raise Changed
        edit(self.room.document, steps, seen.ids)
        return await self._saved(path, base, steps)

    async def check_vacant(self, path: str) -> None:  # noqa: ARG002 -- the room is there
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(_EXISTS)

    async def create(self, path: str, text: bytes) -> Written:  # noqa: ARG002 -- the room is there
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(_EXISTS)

    async def announce(self, path: str, written: Written) -> list[str]:  # noqa: ARG002 -- all know
        """Do nothing: the room saves with the contents manager, which tells everybody itself."""
        return []

    async def _settled(self) -> None:
        """Wait until the document is loaded, or the room is gone."""
        deadline = time.monotonic() + _LOADING_SECONDS
        while self.room.is_live() and not self.room.is_ready():
            if time.monotonic() > deadline:
                message = (
                    "The room of real-time collaboration that holds this notebook has been loading "
                    f"it for more than {_LOADING_SECONDS:.0f} seconds. Nothing was written; try "
                    "again."
                )
                raise Busy(message)
            await asyncio.sleep(_POLL_SECONDS)

    async def _up_to_date(self) -> None:
        """Wait until the room has taken over what other programs wrote to the file.

        It would take it over whole, and an edit that is only shared by then would be gone.
        """
        deadline = time.monotonic() + _LOADING_SECONDS
        while True:
            await self._settled()
            try:
                model = await ensure_async(self.manager.get(self.room.path, content=False))
            except HTTPError:
                raise NotebookNotFound from None
            if not model.get("writable", True):
                message = "The server may not write this notebook's file; nothing was written."
                raise Forbidden(message)
            if self.room.loaded() in {None, model["last_modified"]}:
                return
            if time.monotonic() > deadline:
                message = (
                    "Another program has changed the file of this notebook, and the room of "
                    "real-time collaboration that holds it has not taken that over yet. Nothing "
                    "was written; try again."
                )
                raise Busy(message)
            await asyncio.sleep(_POLL_SECONDS)

    async def _saved(self, path: str, base: Content, steps: Script) -> Written:
        """See that an edit gets to disk, and stays in the room."""
        deadline = time.monotonic() + _SAVING_SECONDS
        saves_itself = self.room.saves_itself()
        while saves_itself and time.monotonic() < deadline:
            if self.room.is_live() and (saving := self.room.save()) is not None:
                # Whoever types meanwhile puts it off; then it is begun again.
                await asyncio.wait({saving}, timeout=_SAVING_SECONDS)
            kept = await self._kept(path)
            if kept is not None and await asyncio.to_thread(_is_in, steps, kept.text):
                return Written(_sha256(kept.text), kept.last_modified, [], kept.text, signed=True)
            await asyncio.sleep(_POLL_SECONDS)
        if not self.room.is_live():
            # With the save of a room that is being closed the edit would come a second time.
            async with self.beneath.hold(path):
                raise Changed
        seen = await self._sight()
        if not await asyncio.to_thread(_is_in, steps, seen.text):
            message = (
                "Something else was done to the notebook at the same moment, in its room or in its "
                "file, and the edit is gone or not as it was made. Read the notebook again."
            )
            raise HashMismatch(message, expected=_sha256(base.text), hash=_sha256(seen.text))
        warning = _NOT_SAVED + (_LATER if saves_itself else _BY_HAND)
        return Written(
            _sha256(seen.text),
            base.last_modified,
            [warning],
            seen.text,
            persisted=False,
            signed=True,
        )

    async def _kept(self, path: str) -> Content | None:
        try:
            return await self.beneath.read(path)
        except NbEditError:
            # The edit is made, and no refusal any more.
            return None

    async def _sight(self) -> Sight:
        show = sight(self.room.document)
        return await asyncio.to_thread(show, self.manager.notary.check_cells)


def _steps(base: bytes, splices: Sequence[Splice]) -> Script:
    return script(Document.parse(base), Document.parse(join(base, splices)))


def _is_in(steps: Script, text: bytes) -> bool:
    try:
        return is_in(steps, Document.parse(text))
    except InvalidNotebook:
        return False


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
