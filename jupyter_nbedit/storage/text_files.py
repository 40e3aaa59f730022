"""Files that are not notebooks, through the contents manager: its rules, hooks and events."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from jupyter_nbedit import errors
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.room_storage import TextRoomStorage
from jupyter_nbedit.storage.rtc.rooms import NOTEBOOK, TEXT, find_room, lock_file_or_room
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

# How often a change is repeated because another program wrote meanwhile.
_ATTEMPTS = 8

_Description = TypeVar("_Description")


class TextFileStorage(ContentsStorage):
    """Any file, of limited size."""

    # It is in memory several times.
    max_bytes: ClassVar[int | None] = 32 * 1024 * 1024

    async def read(self, path: str) -> Content:
        """Read a file; wait for a save, which truncates the file and writes it anew."""
        async with self.lock(path):
            return await super().read(path)


@dataclass(frozen=True)
class TextFileService:
    """Reads and writes text files by their API paths.

    `settings` are the settings of the server's web application, with its contents manager and its
    rooms. `locks` are shared with the manager's own saves.
    """

    settings: Mapping[str, Any]
    locks: PathLocks

    @property
    def manager(self) -> Any:
        """The contents manager, which extensions may replace at any time."""
        return self.settings["contents_manager"]

    async def read(self, path: str) -> Content:
        """Read a whole file; raise `FileNotFound` if it is missing, hidden or outside the root."""
        async with self._lock(path) as storage:
            return await storage.read(path)

    async def update(
        self, path: str, change: Callable[[Content | None], tuple[bytes, _Description]]
    ) -> tuple[WriteResult | None, _Description]:
        """Change or create a file depending on its content; repeat if another program writes it.

        `change` gets the content, None if there is no file, and returns the new bytes and whatever
        describes the change; its exceptions are raised. The result is None if the file already has
        these bytes. After an error nothing was written. Raise `FileNotFound` if the directory is
        missing, hidden or outside the root.
        """
        for _ in range(_ATTEMPTS):
            async with self._lock(path) as storage:
                base: Content | None = None
                with suppress(errors.NotebookNotFound):
                    base = await storage.read(path)
                size = 0 if base is None else len(base.text)
                data, description = await run_in_thread_if_large(size, change, base)
                if base is not None and data == base.text:
                    return None, description
                with suppress(StaleContent, errors.NotebookExists):
                    return await self._save(storage, path, data, base), description
        raise errors.Busy(
            f"Others changed the file {_ATTEMPTS} times while it was being edited. Nothing was "
            "written; try again."
        )

    async def create(self, path: str, data: bytes) -> WriteResult:
        """Write a new file; raise `NotebookExists` if there is something at the path.

        Raise `FileNotFound` as `update` does.
        """
        async with self._lock(path) as storage:
            return await self._save(storage, path, data, None)

    @asynccontextmanager
    async def _lock(self, path: str) -> AsyncIterator[Storage]:
        """Lock a file, in whichever storage it is then; nothing here is a notebook."""
        try:
            async with lock_file_or_room(self.settings, self.locks, path, (TEXT,)) as (room, _):
                storage = TextFileStorage(self.manager, self.locks)
                if room is None:
                    yield storage
                else:
                    yield TextRoomStorage(room, self.manager, storage, self.locks)
        except errors.NotebookNotFound:
            raise errors.FileNotFound from None

    async def _save(
        self, storage: Storage, path: str, data: bytes, base: Content | None
    ) -> WriteResult:
        if not isinstance(storage, TextRoomStorage) and find_room(self.settings, path, (NOTEBOOK,)):
            raise errors.NotAPlainFile(
                "This file is open as a notebook in a room of real-time collaboration, which would "
                "not notice. Nothing was written; close it everywhere, and try again when the room "
                "is gone, a minute later."
            )
        if base is None:
            result = await storage.create(path, data)
        else:
            result = await storage.write(path, base, [Splice(0, len(base.text), data)])
        await storage.notify_saved(path, result)
        return result
