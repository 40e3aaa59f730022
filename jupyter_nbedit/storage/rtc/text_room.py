"""Text files that are open in a room of real-time collaboration, edited in the shared document.

A notebook may also be open in a text editor; then its bytes are shared.
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
from jupyter_nbedit.storage.contents.manager_calls import compute_sha256
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import Room
from jupyter_nbedit.storage.rtc.shared_notebook import ORIGIN, apply_hunks
from jupyter_nbedit.storage.rtc.wait_for_room import (
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
    """A text file in a live room."""

    room: Room
    manager: Any
    locks: PathLocks
    read_file: Callable[[], Awaitable[Content]]
    lock_file: Callable[[], AbstractAsyncContextManager[None]]
    not_found: ErrorFactory

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same room."""
        return isinstance(other, RoomTextFile) and other.room.document is self.room.document

    def __hash__(self) -> int:
        """Return a hash that matches `__eq__`."""
        return hash(self.room.id)

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Lock against other edits, but not against the room's own save of the file."""
        return self.locks.lock(names=(f"room {self.room.id}",))

    async def read(self) -> Content:
        """Read the shared text."""
        file_content = await self.read_file()
        if not await wait_for_load_start(self.room):
            return file_content
        await wait_until_ready(self.room)
        if not self.room.is_live():
            return file_content
        return Content(_read_text(self.room).encode(), file_content.last_modified)

    async def save(self, text: bytes, base: Content | None) -> WriteResult:
        """Change the shared text, and wait until the room has saved it.

        Raise `StaleContent` if it is not what was read, or the room is gone.
        """
        if base is None:
            raise StaleContent
        before, after = base.text.decode(), text.decode()
        hunks = list_hunks(before, after)
        await wait_until_synced(self.room, self.manager, self.not_found)
        if _read_text(self.room) != before:
            raise StaleContent
        document = self.room.document
        with document.ydoc.transaction(origin=ORIGIN):
            apply_hunks(document.ydoc["source"], hunks)
        return await self._wait_until_saved(base, partial(_is_applied, before, after))

    async def _wait_until_saved(
        self, base: Content, contains_edit: Callable[[bytes], bool]
    ) -> WriteResult:
        file_content = await wait_until_saved(self.room, self.read_file, contains_edit)
        if file_content is not None:
            return WriteResult(
                compute_sha256(file_content.text), file_content.last_modified, [], file_content.text
            )
        if not self.room.is_live():
            # After a save that the room has begun, the edit would be made twice.
            async with self.lock_file():
                raise StaleContent
        text = _read_text(self.room).encode()
        if not contains_edit(text):
            raise build_lost_update_error(base, compute_sha256(text))
        warnings = [build_unsaved_warning(self.room)]
        return WriteResult(
            compute_sha256(text), base.last_modified, warnings, text, is_persisted=False
        )


@dataclass(frozen=True)
class TextRoomStorage:
    """A notebook that is open as text in a live room."""

    room_file: RoomTextFile

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 -- one room, many names
        """Lock against other edits."""
        return self.room_file.lock()

    async def read(self, path: str) -> Content:  # noqa: ARG002
        """Read the shared text."""
        return await self.room_file.read()

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:  # noqa: ARG002
        """Change the shared text, and wait until the room has saved it."""
        return await self.room_file.save(apply_splices(base.text, splices), base)

    async def ensure_absent(self, path: str) -> None:  # noqa: ARG002
        """Raise `NotebookExists`: the room has a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:  # noqa: ARG002
        """Raise `NotebookExists`: the room has a notebook of that name."""
        raise NotebookExists(EXISTS)

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:  # noqa: ARG002
        """Do nothing: the room saves with the contents manager, which notifies its listeners."""
        return []


def _read_text(room: Room) -> str:
    return str(room.document.ydoc["source"])


def _is_applied(before: str, after: str, text: bytes) -> bool:
    """Return whether a text contains a change, although others may have edited it since."""
    try:
        return is_still_applied(before, after, text.decode())
    except UnicodeDecodeError:
        return False
