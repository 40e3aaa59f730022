"""Files that are not notebooks, through the contents manager: its rules, hooks and events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.errors import Busy, FileNotFound, NotAPlainFile
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.manager_calls import ContentsFile, emit_save
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import TEXT, find_room
from jupyter_nbedit.storage.rtc.text_room import RoomTextFile

#: Larger files are not read: they would be in memory several times.
MAX_BYTES = 32 * 1024 * 1024

# How often a change is repeated because another program wrote meanwhile.
_ATTEMPTS = 8


@dataclass
class TextFileService:
    """Reads and writes text files by their API paths.

    `manager` returns the contents manager, which extensions may replace at any time. `locks` are
    shared with its own saves. `settings`, of the server's web application, have its rooms.
    """

    manager: Callable[[], Any]
    locks: PathLocks
    settings: Mapping[str, Any] = field(default_factory=dict)

    async def read(self, path: str) -> Content:
        """Read a whole file; raise `FileNotFound` if it is missing, hidden or outside the root."""
        # The manager truncates a file and writes it anew, so that readers must wait, too.
        async with self._lock(path) as file:
            return await file.read()

    async def update(self, path: str, change: Callable[[Content], bytes]) -> WriteResult | None:
        """Change a file depending on its content; repeat if another program writes meanwhile.

        `change` returns the new bytes; its exceptions are raised. Return None if the file already
        has them. After an error nothing was written.
        """
        for _ in range(_ATTEMPTS):
            async with self._lock(path) as file:
                content = await file.read()
                text = await run_in_thread_if_large(len(content.text), change, content)
                if text == content.text:
                    return None
                with suppress(StaleContent):
                    return await self._build_write_result(path, file, text, content)
        message = (
            f"Others changed the file {_ATTEMPTS} times while it was being edited. Nothing was "
            "written; try again."
        )
        raise Busy(message)

    async def save(self, path: str, text: bytes, base: Content | None) -> WriteResult:
        """Write a file; raise `StaleContent` if it is not what was read, and was not written.

        `base` is None if the file must not exist yet. Raise `FileNotFound` if the directory is
        missing, hidden or outside the root.
        """
        async with self._lock(path) as file:
            return await self._build_write_result(path, file, text, base)

    @asynccontextmanager
    async def _lock(self, path: str) -> AsyncIterator[ContentsFile | RoomTextFile]:
        """Lock a file, in whichever storage it is then."""
        file = self._get_file(path)
        for _ in range(_ATTEMPTS):
            async with file.lock():
                # Meanwhile a room may have been opened or closed.
                if (current := self._get_file(path)) == file:
                    yield file
                    return
            file = current
        message = (
            f"Where this file is kept has changed {_ATTEMPTS} times while it was waited for, as "
            "when rooms that hold it are opened and closed. Nothing was written; try again."
        )
        raise Busy(message)

    async def _build_write_result(
        self, path: str, file: ContentsFile | RoomTextFile, text: bytes, base: Content | None
    ) -> WriteResult:
        if (
            isinstance(file, ContentsFile)
            and find_room(self.settings, file.manager, path) is not None
        ):
            message = (
                "This file is open as a notebook in a room of real-time collaboration, which would "
                "not notice. Nothing was written; close it everywhere, and try again when the room "
                "is gone, a minute later."
            )
            raise NotAPlainFile(message)
        result = await file.save(text, base)
        emit_save(file.manager, path, result)
        return result

    def _get_file(self, path: str) -> ContentsFile | RoomTextFile:
        manager = self.manager()
        file = ContentsFile(manager, self.locks, path, FileNotFound, MAX_BYTES)
        room = find_room(self.settings, manager, path, TEXT)
        if room is None:
            return file
        return RoomTextFile(room, manager, self.locks, file.read_locked, file.lock, FileNotFound)
