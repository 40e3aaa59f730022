"""Files that are no notebooks, through the contents manager: its rules, its hooks, its events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from jupyter_nbedit.beside import away
from jupyter_nbedit.errors import Busy, FileNotFound, NotAPlainFile
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managed import Managed, tell
from jupyter_nbedit.storage.rooms import TEXT, room_of
from jupyter_nbedit.storage.shared_text import SharedText

#: Larger files are not read: they would be held several times over, and nobody reads them.
MOST_BYTES = 32 * 1024 * 1024

# How often a change is made anew because somebody else wrote meanwhile.
_ATTEMPTS = 8


@dataclass
class TextFiles:
    """Files by their API paths.

    Parameters
    ----------
    manager
        Gives the contents manager; looked up each time, because servers swap it.
    locks
        Shared with the manager's own saves.
    settings
        Those of the server's web application, which know its rooms.
    """

    manager: Callable[[], Any]
    locks: PathLocks
    settings: Mapping[str, Any] = field(default_factory=dict)

    async def read(self, path: str) -> Content:
        """Read a file whole.

        Raises
        ------
        FileNotFound
            If it is missing, hidden or outside the root.
        NotAPlainFile, TooLarge, Forbidden, StorageFailure
        """
        # The manager truncates a file and writes it anew, so that even a reader must wait.
        async with self._held(path) as file:
            return await file.read()

    async def rewrite(self, path: str, change: Callable[[Content], bytes]) -> Written | None:
        """Change a file in view of what it holds, again if somebody else writes meanwhile.

        Parameters
        ----------
        path
            Its API path.
        change
            Gives what it is to hold instead; what it raises is the answer.

        Returns
        -------
        None if it holds that already.

        Raises
        ------
        Busy
            If others write all the time.
        NbEditError
            Of reading, of writing, or of the change; nothing was written.
        """
        for _ in range(_ATTEMPTS):
            async with self._held(path) as file:
                content = await file.read()
                text = await away(len(content.text), change, content)
                if text == content.text:
                    return None
                with suppress(Changed):
                    return await self._saved(path, file, text, content)
        message = (
            f"Others changed the file {_ATTEMPTS} times while it was being edited. Nothing was "
            "written; try again."
        )
        raise Busy(message)

    async def save(self, path: str, text: bytes, base: Content | None) -> Written:
        """Write a file, if what is there still is what was read.

        Parameters
        ----------
        path
            Its API path.
        text
            What it is to hold, byte for byte.
        base
            What `read` gave; None if there must be nothing yet.

        Raises
        ------
        Changed
            If something else is there; nothing was written.
        FileNotFound
            If the folder is missing, hidden or outside the root.
        Busy, Forbidden, NoSpace, StorageFailure
        """
        async with self._held(path) as file:
            return await self._saved(path, file, text, base)

    @asynccontextmanager
    async def _held(self, path: str) -> AsyncIterator[Managed | SharedText]:
        """Keep others away from a file, wherever it is then."""
        file = self._file(path)
        for _ in range(_ATTEMPTS):
            async with file.held():
                # While it waited, a room may have been opened or closed.
                if (now := self._file(path)) == file:
                    yield file
                    return
            file = now
        message = (
            f"Where this file is kept has changed {_ATTEMPTS} times while it was waited for, as "
            "when rooms that hold it are opened and closed. Nothing was written; try again."
        )
        raise Busy(message)

    async def _saved(
        self, path: str, file: Managed | SharedText, text: bytes, base: Content | None
    ) -> Written:
        if isinstance(file, Managed) and room_of(self.settings, file.manager, path) is not None:
            message = (
                "This file is open as a notebook in a room of real-time collaboration, which would "
                "not notice. Nothing was written; close it everywhere, and try again when the room "
                "is gone, a minute later."
            )
            raise NotAPlainFile(message)
        written = await file.save(text, base)
        tell(file.manager, path, written)
        return written

    def _file(self, path: str) -> Managed | SharedText:
        manager = self.manager()
        file = Managed(manager, self.locks, path, FileNotFound, MOST_BYTES)
        room = room_of(self.settings, manager, path, TEXT)
        if room is None:
            return file
        return SharedText(room, manager, self.locks, file.shown, file.held, FileNotFound)
