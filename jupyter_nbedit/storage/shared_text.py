"""Files that are open as texts in a room of real-time collaboration, edited where all see it.

Also a notebook may be, in an editor for texts; then its bytes are what is shared.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from jupyter_nbedit.errors import NotebookExists
from jupyter_nbedit.notebook.hunks import hunks, outlives
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.failures import Missing
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
from jupyter_nbedit.storage.shared_cells import ORIGIN, replace


@dataclass(frozen=True, eq=False)
class SharedText:
    """A text in a live room.

    Parameters
    ----------
    room
        The room.
    manager
        The contents manager, with which the room saves.
    locks
        Of the server.
    kept
        Reads what is on disk, by the rules for what may be seen.
    kept_held
        Keeps the room's save away from the file.
    missing
        Makes the refusal for what is gone.
    """

    room: Room
    manager: Any
    locks: PathLocks
    kept: Callable[[], Awaitable[Content]]
    kept_held: Callable[[], AbstractAsyncContextManager[None]]
    missing: Missing

    def __eq__(self, other: object) -> bool:
        """Tell whether this is the same room."""
        return isinstance(other, SharedText) and other.room.document is self.room.document

    def __hash__(self) -> int:
        """Go with `__eq__`."""
        return hash(self.room.id)

    def held(self) -> AbstractAsyncContextManager[None]:
        """Keep other edits away; not the room's own save, which must be able to write the file."""
        return self.locks.hold(names=(f"room {self.room.id}",))

    async def read(self) -> Content:
        """Read what is shared."""
        kept = await self.kept()
        if not await has_begun(self.room):
            return kept
        await settled(self.room)
        if not self.room.is_live():
            return kept
        return Content(_text(self.room).encode(), kept.last_modified)

    async def save(self, text: bytes, base: Content | None) -> Written:
        """Change what is shared, if it still is what was read, and see that the room saves it.

        Raises
        ------
        Changed
            If it is not, or the room is gone.
        NbEditError
            Nothing was written.
        """
        if base is None:
            raise Changed
        before, after = base.text.decode(), text.decode()
        changes = hunks(before, after)
        await up_to_date(self.room, self.manager, self.missing)
        if _text(self.room) != before:
            raise Changed
        document = self.room.document
        with document.ydoc.transaction(origin=ORIGIN):
            replace(document.ydoc["source"], changes)
        return await self._saved(base, partial(_is_in, before, after))

    async def _saved(self, base: Content, is_in: Callable[[bytes], bool]) -> Written:
        kept = await saved(self.room, self.kept, is_in)
        if kept is not None:
            return Written(sha256(kept.text), kept.last_modified, [], kept.text)
        if not self.room.is_live():
            # With a save that the room has begun the edit would be made twice.
            async with self.kept_held():
                raise Changed
        text = _text(self.room).encode()
        if not is_in(text):
            raise overtaken(base, sha256(text))
        warnings = [not_saved(self.room)]
        return Written(sha256(text), base.last_modified, warnings, text, persisted=False)


@dataclass(frozen=True)
class TextRoomStorage:
    """A notebook that is open as a text in a live room.

    Parameters
    ----------
    shared
        The text.
    """

    shared: SharedText

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False

    def hold(self, path: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 -- one room, many names
        """Keep other edits away."""
        return self.shared.held()

    async def read(self, path: str) -> Content:  # noqa: ARG002
        """Read what is shared."""
        return await self.shared.read()

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> Written:  # noqa: ARG002
        """Change what is shared, and see that the room saves it."""
        return await self.shared.save(join(base.text, splices), base)

    async def check_vacant(self, path: str) -> None:  # noqa: ARG002
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def create(self, path: str, text: bytes) -> Written:  # noqa: ARG002
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def announce(self, path: str, written: Written) -> list[str]:  # noqa: ARG002
        """Do nothing: the room saves with the contents manager, which tells everybody itself."""
        return []


def _text(room: Room) -> str:
    return str(room.document.ydoc["source"])


def _is_in(before: str, after: str, text: bytes) -> bool:
    """Tell whether a change is in a text, though others may have typed in it since."""
    try:
        return outlives(before, after, text.decode())
    except UnicodeDecodeError:
        return False
