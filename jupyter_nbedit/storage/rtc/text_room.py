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
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.notebook.text_hunks import is_still_applied, list_hunks
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.errors import ErrorFactory
from jupyter_nbedit.storage.contents.file import compute_sha256
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import Room
from jupyter_nbedit.storage.rtc.shared_notebook import ORIGIN, replace
from jupyter_nbedit.storage.rtc.sync import (
    EXISTS,
    build_lost_update_error,
    build_unsaved_warning,
    wait_for_load_start,
    wait_until_ready,
    wait_until_saved,
    wait_until_synced,
)


@dataclass(frozen=True, eq=False)
class RoomTextFile:
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
    file_below: Callable[[], Awaitable[Content]]
    lock_below: Callable[[], AbstractAsyncContextManager[None]]
    missing: ErrorFactory

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same room."""
        return isinstance(other, RoomTextFile) and other.room.document is self.room.document

    def __hash__(self) -> int:
        """Go with `__eq__`."""
        return hash(self.room.id)

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Keep other edits away; not the room's own save, which must be able to write the file."""
        return self.locks.lock(names=(f"room {self.room.id}",))

    async def read(self) -> Content:
        """Read what is shared."""
        kept = await self.file_below()
        if not await wait_for_load_start(self.room):
            return kept
        await wait_until_ready(self.room)
        if not self.room.is_live():
            return kept
        return Content(_read_text(self.room).encode(), kept.last_modified)

    async def save(self, text: bytes, base: Content | None) -> WriteResult:
        """Change what is shared, if it still is what was read, and see that the room saves it.

        Raises
        ------
        StaleContent
            If it is not, or the room is gone.
        NbEditError
            Nothing was written.
        """
        if base is None:
            raise StaleContent
        before, after = base.text.decode(), text.decode()
        changes = list_hunks(before, after)
        await wait_until_synced(self.room, self.manager, self.missing)
        if _read_text(self.room) != before:
            raise StaleContent
        document = self.room.document
        with document.ydoc.transaction(origin=ORIGIN):
            replace(document.ydoc["source"], changes)
        return await self._wait_until_saved(base, partial(_is_applied, before, after))

    async def _wait_until_saved(self, base: Content, is_in: Callable[[bytes], bool]) -> WriteResult:
        kept = await wait_until_saved(self.room, self.file_below, is_in)
        if kept is not None:
            return WriteResult(compute_sha256(kept.text), kept.last_modified, [], kept.text)
        if not self.room.is_live():
            # With a save that the room has begun the edit would be made twice.
            async with self.lock_below():
                raise StaleContent
        text = _read_text(self.room).encode()
        if not is_in(text):
            raise build_lost_update_error(base, compute_sha256(text))
        warnings = [build_unsaved_warning(self.room)]
        return WriteResult(
            compute_sha256(text), base.last_modified, warnings, text, persisted=False
        )


@dataclass(frozen=True)
class TextRoomStorage:
    """A notebook that is open as a text in a live room.

    Parameters
    ----------
    shared
        The text.
    """

    shared: RoomTextFile

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 -- one room, many names
        """Keep other edits away."""
        return self.shared.lock()

    async def read(self, path: str) -> Content:  # noqa: ARG002
        """Read what is shared."""
        return await self.shared.read()

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:  # noqa: ARG002
        """Change what is shared, and see that the room saves it."""
        return await self.shared.save(apply_splices(base.text, splices), base)

    async def ensure_absent(self, path: str) -> None:  # noqa: ARG002
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:  # noqa: ARG002
        """Refuse: a room holds a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def notify_saved(self, path: str, written: WriteResult) -> list[str]:  # noqa: ARG002
        """Do nothing: the room saves with the contents manager, which tells everybody itself."""
        return []


def _read_text(room: Room) -> str:
    return str(room.document.ydoc["source"])


def _is_applied(before: str, after: str, text: bytes) -> bool:
    """Return whether a change is in a text, though others may have typed in it since."""
    try:
        return is_still_applied(before, after, text.decode())
    except UnicodeDecodeError:
        return False
