"""Which way a server keeps a notebook, decided for each request.

Contents manager, rooms and hooks are looked at when they are needed and never before: extensions
replace and register them while the server starts, and at any time after.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.errors import FolderNotFound, NotebookNotFound
from jupyter_nbedit.storage import Storage, Walk, asking, listing
from jupyter_nbedit.storage.contents import ContentsStorage
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.guards import guard
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managers import Way, keeps_plain_files, way_of
from jupyter_nbedit.storage.mapping import api_path
from jupyter_nbedit.storage.notebook import NotebookStorage


@dataclass(frozen=True)
class ServerStorages:
    """The ways of one server; see `Storages`.

    Parameters
    ----------
    settings
        Those of the server's web application, which know its contents manager and its rooms.
    locks
        Shared with the manager's own saves.
    links_outside_root
        Whether links may lead out of the root, as they may for the contents manager.
    """

    settings: Mapping[str, Any]
    locks: PathLocks
    links_outside_root: bool = True

    async def of(self, path: str) -> Storage:
        """Choose the way for a notebook as things are now."""
        self._check_inside(path)
        return await self._beneath(path)

    async def _beneath(self, path: str) -> Storage:
        """Choose the way in which the contents manager keeps a notebook."""
        manager = self.settings["contents_manager"]
        way = await way_of(manager, self.locks, path)
        guard(manager, self.locks)
        if way is Way.FILE:
            return FileStorage(
                manager,
                self.locks,
                links_outside_root=self.links_outside_root,
                file_ids=self.settings.get("file_id_manager"),
            )
        if way is Way.TEXT:
            return ContentsStorage(manager, self.locks)
        return NotebookStorage(manager, self.locks, paired=way is Way.PAIR)

    def hold(self, path: str) -> AbstractAsyncContextManager[Storage]:
        """Choose the way for a notebook, and keep its other writers away."""
        return self._hold(path)

    @asynccontextmanager
    async def _hold(self, path: str) -> AsyncIterator[Storage]:
        storage = await self.of(path)
        while True:
            async with storage.hold(path):
                # While it waited, a hook may have come, or the other half of a pair.
                now = await self.of(path)
                if _is_same(now, storage):
                    yield storage
                    return
            storage = now

    async def walk(self, path: str, *, recursive: bool) -> Walk:
        """Prepare to go through what the Contents API shows of a folder."""
        try:
            self._check_inside(path)
        except NotebookNotFound:
            raise FolderNotFound from None
        manager = self.settings["contents_manager"]
        if keeps_plain_files(manager):
            top = None if self.links_outside_root else os.path.realpath(manager.root_dir)
            return await listing.walk(manager, path, recursive=recursive, top=top)
        return await asking.walk(manager, self.locks, path, recursive=recursive)

    def _check_inside(self, path: str) -> None:
        """Refuse a path that a link leads out of the root, in whatever way things are kept there.

        Raises
        ------
        NotebookNotFound
        """
        if self.links_outside_root:
            return
        if api_path(self.settings["contents_manager"], path.strip("/"), relative=True) is None:
            raise NotebookNotFound


def _is_same(one: Storage, other: Storage) -> bool:
    return one == other or (type(one) is type(other) and vars(one) == vars(other))
