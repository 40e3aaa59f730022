"""Which way a server keeps a notebook, decided for each request.

Contents manager, rooms and hooks are looked at when they are needed and never before: extensions
replace and register them while the server starts, and at any time after.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_server.utils import ensure_async

from jupyter_nbedit.errors import FolderNotFound, NotAPlainFile, NotebookNotFound
from jupyter_nbedit.storage import Entry, Found, Storage, Walk, asking, listing
from jupyter_nbedit.storage.contents import ContentsStorage
from jupyter_nbedit.storage.failures import failures
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.guards import guard
from jupyter_nbedit.storage.known import Known
from jupyter_nbedit.storage.leftovers import Leftovers
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.loop_calls import run_on_loop
from jupyter_nbedit.storage.managers import Way, keeps_plain_files, kinds_of, way_of
from jupyter_nbedit.storage.mapping import api_path, root_name, shows
from jupyter_nbedit.storage.notebook import NotebookStorage
from jupyter_nbedit.storage.paths import is_odd
from jupyter_nbedit.storage.room import RoomStorage
from jupyter_nbedit.storage.rooms import TEXT, RoomsThen, has_rooms, live_places, place_of, room_of
from jupyter_nbedit.storage.shared_cells import Sights
from jupyter_nbedit.storage.shared_text import SharedText, TextRoomStorage

# How often a way is chosen that is another one as soon as the notebook is held.
_ATTEMPTS = 8
_UNSETTLED = (
    f"The way in which this server keeps the notebook has changed {_ATTEMPTS} times while it was "
    "chosen. Most likely its Jupytext metadata name another half that cannot be; correct `formats` "
    "in them. Nothing was written."
)


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
    leftovers
        Removes what killed processes have left.
    sights
        Remembers what is shared in rooms.
    known
        Remembers which files this server has written.
    room_patience
        How many seconds a search waits for what is shared in a room.
    """

    settings: Mapping[str, Any]
    locks: PathLocks
    links_outside_root: bool = True
    leftovers: Leftovers = field(default_factory=Leftovers)
    sights: Sights = field(default_factory=Sights)
    known: Known = field(default_factory=Known)
    room_patience: float = 5.0

    def kinds(self) -> list[str]:
        """List the ways in which this server keeps notebooks now, as ``applied_via`` names them."""
        rooms = ["room"] if has_rooms(self.settings) else []
        return [*kinds_of(self.settings["contents_manager"]), *rooms]

    async def of(self, path: str) -> Storage:
        """Choose the way for a notebook as things are now."""
        self._check_inside(path)
        manager = self.settings["contents_manager"]
        beneath = await self._beneath(path)
        if (room := room_of(self.settings, manager, path)) is not None:
            return RoomStorage(room, manager, beneath, self.locks, self.sights)
        if (room := room_of(self.settings, manager, path, TEXT)) is not None:
            kept, held = partial(beneath.read, path), partial(beneath.hold, path)
            shared = SharedText(room, manager, self.locks, kept, held, NotebookNotFound)
            return TextRoomStorage(shared)
        return beneath

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
                leftovers=self.leftovers,
                rooms=RoomsThen.of(self.settings) if has_rooms(self.settings) else None,
                known=self.known,
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
        for _ in range(_ATTEMPTS):
            async with storage.hold(path):
                # While it waited, a hook may have come, or the other half of a pair.
                now = await self.of(path)
                if _is_same(now, storage):
                    yield storage
                    return
            storage = now
        raise NotAPlainFile(_UNSETTLED)

    async def walk(self, path: str, *, recursive: bool) -> Walk:
        """Prepare to go through what the Contents API shows of a folder."""
        try:
            self._check_inside(path)
        except NotebookNotFound:
            raise FolderNotFound from None
        manager = self.settings["contents_manager"]
        found = await self._walk(manager, path, recursive=recursive)
        live = live_places(self.settings, manager)
        return partial(self._with_rooms, found, live, asyncio.get_running_loop()) if live else found

    async def _walk(self, manager: Any, path: str, *, recursive: bool) -> Walk:
        if keeps_plain_files(manager):
            top = None if self.links_outside_root else os.path.realpath(manager.root_dir)
            return await listing.walk(manager, path, recursive=recursive, top=top)
        return await asking.walk(manager, self.locks, path, recursive=recursive)

    def _with_rooms(
        self, walk: Walk, live: set[object], loop: asyncio.AbstractEventLoop, start: str
    ) -> Iterator[Entry]:
        """Go on a walk, and see what people have open as they do."""
        for entry in walk(start):
            place = place_of(self.settings["contents_manager"], entry.path)
            if isinstance(entry, Found) and place in live:
                yield Found(entry.path, partial(self._read_in, loop, entry.path))
            else:
                yield entry

    def _read_in(self, loop: asyncio.AbstractEventLoop, path: str) -> bytes:
        """Read from another thread; a shared notebook belongs to the loop's."""
        return run_on_loop(
            loop,
            partial(self._read, path),
            source="The room that holds this notebook",
            patience=self.room_patience,
        )

    async def _read(self, path: str) -> bytes:
        return (await (await self.of(path)).read(path)).text

    def name(self, path: str) -> str:
        """Give the one path of a file that may have several, by links: the one without."""
        manager = self.settings["contents_manager"]
        return api_path(manager, path.strip("/"), relative=True) or path

    def root(self) -> str:
        """Name what the paths are relative to; the servers of one user may have several roots."""
        return root_name(self.settings["contents_manager"])

    def shows(self, folder: Path) -> bool:
        """Tell whether the Contents API shows a folder of the file system."""
        return shows(self.settings["contents_manager"], str(folder))

    async def check(self, path: str) -> None:
        """Refuse a notebook that cannot be read now, in whatever way it is kept; it is not read.

        Raises
        ------
        InvalidRequest, NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
        """
        self._check_inside(path)
        manager = self.settings["contents_manager"]
        if keeps_plain_files(manager):
            storage = FileStorage(manager, self.locks, links_outside_root=self.links_outside_root)
            await storage.check(path)
        else:
            await ContentsStorage(manager, self.locks).check(path)

    async def is_there(self, path: str) -> bool:
        """Tell whether there is anything at a path, be it a notebook, another file or a folder.

        Raises
        ------
        NotebookNotFound
            If nothing of ours is spelled like that.
        StorageFailure, Forbidden
            If that cannot be told.
        """
        if is_odd(path) or not path:
            raise NotebookNotFound
        with failures(NotebookNotFound):
            return bool(await ensure_async(self.settings["contents_manager"].exists(path)))

    def _check_inside(self, path: str) -> None:
        """Refuse a path that a link leads out of the root, in whatever way things are kept there.

        Raises
        ------
        NotebookNotFound
        """
        # The root is inside, in whatever way it is kept.
        if self.links_outside_root or not path.strip("/"):
            return
        if api_path(self.settings["contents_manager"], path.strip("/"), relative=True) is None:
            raise NotebookNotFound


def _is_same(one: Storage, other: Storage) -> bool:
    return one == other or (type(one) is type(other) and vars(one) == vars(other))
