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
from jupyter_nbedit.storage import walk
from jupyter_nbedit.storage.api_paths import get_root_name, is_served, to_api_path
from jupyter_nbedit.storage.base import NotebookFile, Storage, Walker, WalkItem
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.locks import install_locks
from jupyter_nbedit.storage.contents.notebook_storage import NotebookStorage
from jupyter_nbedit.storage.contents.storage import ContentsStorage
from jupyter_nbedit.storage.files.read import OwnWriteCache
from jupyter_nbedit.storage.files.storage import FileStorage
from jupyter_nbedit.storage.files.temp_files import TempFileCleaner
from jupyter_nbedit.storage.kinds import StorageKind, detect_kind, has_plain_files, list_kinds
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.loop_calls import run_on_loop
from jupyter_nbedit.storage.paths import is_unsafe
from jupyter_nbedit.storage.rtc.notebook_room import RoomStorage
from jupyter_nbedit.storage.rtc.room_ids import RoomIdSnapshot
from jupyter_nbedit.storage.rtc.rooms import (
    TEXT,
    find_room,
    get_file_identity,
    has_rooms,
    list_live_file_identities,
)
from jupyter_nbedit.storage.rtc.shared_notebook import RoomSnapshotCache
from jupyter_nbedit.storage.rtc.text_room import RoomTextFile, TextRoomStorage
from jupyter_nbedit.storage.walk import walk_contents

# How often a way is chosen that is another one as soon as the notebook is held.
_ATTEMPTS = 8
_KIND_KEEPS_CHANGING = (
    f"The way in which this server keeps the notebook has changed {_ATTEMPTS} times while it was "
    "chosen. Most likely its Jupytext metadata name another half that cannot be; correct `formats` "
    "in them. Nothing was written."
)


@dataclass(frozen=True)
class StorageResolver:
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
    leftovers: TempFileCleaner = field(default_factory=TempFileCleaner)
    sights: RoomSnapshotCache = field(default_factory=RoomSnapshotCache)
    known: OwnWriteCache = field(default_factory=OwnWriteCache)
    room_patience: float = 5.0

    def list_kinds(self) -> list[str]:
        """List the ways in which this server keeps notebooks now, as ``applied_via`` names them."""
        rooms = ["room"] if has_rooms(self.settings) else []
        return [*list_kinds(self.settings["contents_manager"]), *rooms]

    async def resolve(self, path: str) -> Storage:
        """Choose the way for a notebook as things are now."""
        self._check_inside(path)
        manager = self.settings["contents_manager"]
        beneath = await self._resolve_contents(path)
        if (room := find_room(self.settings, manager, path)) is not None:
            return RoomStorage(room, manager, beneath, self.locks, self.sights)
        if (room := find_room(self.settings, manager, path, TEXT)) is not None:
            kept, held = partial(beneath.read, path), partial(beneath.lock, path)
            shared = RoomTextFile(room, manager, self.locks, kept, held, NotebookNotFound)
            return TextRoomStorage(shared)
        return beneath

    async def _resolve_contents(self, path: str) -> Storage:
        """Choose the way in which the contents manager keeps a notebook."""
        manager = self.settings["contents_manager"]
        way = await detect_kind(manager, self.locks, path)
        install_locks(manager, self.locks)
        if way is StorageKind.FILE:
            return FileStorage(
                manager,
                self.locks,
                links_outside_root=self.links_outside_root,
                file_ids=self.settings.get("file_id_manager"),
                leftovers=self.leftovers,
                rooms=RoomIdSnapshot.take(self.settings) if has_rooms(self.settings) else None,
                known=self.known,
            )
        if way is StorageKind.TEXT:
            return ContentsStorage(manager, self.locks)
        return NotebookStorage(manager, self.locks, paired=way is StorageKind.PAIR)

    def lock(self, path: str) -> AbstractAsyncContextManager[Storage]:
        """Choose the way for a notebook, and keep its other writers away."""
        return self._lock(path)

    @asynccontextmanager
    async def _lock(self, path: str) -> AsyncIterator[Storage]:
        storage = await self.resolve(path)
        for _ in range(_ATTEMPTS):
            async with storage.lock(path):
                # While it waited, a hook may have come, or the other half of a pair.
                now = await self.resolve(path)
                if _is_same(now, storage):
                    yield storage
                    return
            storage = now
        raise NotAPlainFile(_KIND_KEEPS_CHANGING)

    async def walk(self, path: str, *, recursive: bool) -> Walker:
        """Prepare to go through what the Contents API shows of a folder."""
        try:
            self._check_inside(path)
        except NotebookNotFound:
            raise FolderNotFound from None
        manager = self.settings["contents_manager"]
        found = await self._walk(manager, path, recursive=recursive)
        live = list_live_file_identities(self.settings, manager)
        return (
            partial(self._walk_with_rooms, found, live, asyncio.get_running_loop())
            if live
            else found
        )

    async def _walk(self, manager: Any, path: str, *, recursive: bool) -> Walker:
        if has_plain_files(manager):
            top = None if self.links_outside_root else os.path.realpath(manager.root_dir)
            return await walk.walk_files(manager, path, recursive=recursive, top=top)
        return await walk_contents(manager, self.locks, path, recursive=recursive)

    def _walk_with_rooms(
        self, walk: Walker, live: set[object], loop: asyncio.AbstractEventLoop, start: str
    ) -> Iterator[WalkItem]:
        """Go on a walk, and see what people have open as they do."""
        for entry in walk(start):
            place = get_file_identity(self.settings["contents_manager"], entry.path)
            if isinstance(entry, NotebookFile) and place in live:
                yield NotebookFile(entry.path, partial(self._read_from_thread, loop, entry.path))
            else:
                yield entry

    def _read_from_thread(self, loop: asyncio.AbstractEventLoop, path: str) -> bytes:
        """Read from another thread; a shared notebook belongs to the loop's."""
        return run_on_loop(
            loop,
            partial(self._read, path),
            source="The room that holds this notebook",
            patience=self.room_patience,
        )

    async def _read(self, path: str) -> bytes:
        return (await (await self.resolve(path)).read(path)).text

    def get_canonical_path(self, path: str) -> str:
        """Return the one path of a file that may have several, by links: the one without."""
        manager = self.settings["contents_manager"]
        return to_api_path(manager, path.strip("/"), relative=True) or path

    def get_root_name(self) -> str:
        """Name what the paths are relative to; the servers of one user may have several roots."""
        return get_root_name(self.settings["contents_manager"])

    def is_served(self, folder: Path) -> bool:
        """Return whether the Contents API shows a folder of the file system."""
        return is_served(self.settings["contents_manager"], str(folder))

    async def check(self, path: str) -> None:
        """Refuse a notebook that cannot be read now, in whatever way it is kept; it is not read.

        Raises
        ------
        InvalidRequest, NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
        """
        self._check_inside(path)
        manager = self.settings["contents_manager"]
        if has_plain_files(manager):
            storage = FileStorage(manager, self.locks, links_outside_root=self.links_outside_root)
            await storage.check(path)
        else:
            await ContentsStorage(manager, self.locks).check(path)

    async def exists(self, path: str) -> bool:
        """Return whether there is anything at a path, be it a notebook, another file or a folder.

        Raises
        ------
        NotebookNotFound
            If nothing of ours is spelled like that.
        StorageFailure, Forbidden
            If that cannot be told.
        """
        if is_unsafe(path) or not path:
            raise NotebookNotFound
        with map_contents_errors(NotebookNotFound):
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
        if to_api_path(self.settings["contents_manager"], path.strip("/"), relative=True) is None:
            raise NotebookNotFound


def _is_same(one: Storage, other: Storage) -> bool:
    return one == other or (type(one) is type(other) and vars(one) == vars(other))
