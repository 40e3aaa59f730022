"""Which way a server keeps a notebook, decided for each request.

Contents manager, rooms and hooks are looked at when they are needed and never before: extensions
replace and register them while the server starts, and at any time after.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.storage import Storage, Walk
from jupyter_nbedit.storage.listing import walk
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managers import storage_for


@dataclass(frozen=True)
class ServerStorages:
    """The ways of one server; see `Storages`.

    Parameters
    ----------
    settings
        Those of the server's web application, which know its contents manager and its rooms.
    locks
        Shared with the manager's own saves.
    """

    settings: Mapping[str, Any]
    locks: PathLocks

    async def of(self, path: str) -> Storage:  # noqa: ARG002 -- one way for all paths
        """Choose the way for a notebook as things are now."""
        return storage_for(self.settings["contents_manager"], self.settings, self.locks)

    def hold(self, path: str) -> AbstractAsyncContextManager[Storage]:
        """Choose the way for a notebook, and keep its other writers away."""
        return self._hold(path)

    @asynccontextmanager
    async def _hold(self, path: str) -> AsyncIterator[Storage]:
        storage = await self.of(path)
        async with storage.hold(path):
            yield storage

    async def walk(self, path: str, *, recursive: bool) -> Walk:
        """Prepare to go through what the Contents API shows of a folder."""
        manager = self.settings["contents_manager"]
        storage_for(manager, self.settings, self.locks)
        return await walk(manager, path, recursive=recursive)
