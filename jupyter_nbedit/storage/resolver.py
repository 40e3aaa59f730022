"""Choose the storage of a notebook, anew for each request.

The contents manager, rooms and hooks are looked up when they are needed and never before:
extensions replace and register them while the server starts, and at any time after.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from jupyter_core.paths import is_hidden
from jupyter_server.services.contents.manager import ContentsManager
from jupyter_server.utils import ensure_async

from jupyter_nbedit.db.notebook_names import NotebookNames
from jupyter_nbedit.errors import FolderNotFound, NbEditError, NotAPlainFile, NotebookNotFound
from jupyter_nbedit.storage.api_paths import ManagerNames, get_root_folder, to_api_path
from jupyter_nbedit.storage.base import NotebookFile, Storage, Walker, WalkItem
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage, check_visible
from jupyter_nbedit.storage.contents.errors import map_contents_errors
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs, is_pair
from jupyter_nbedit.storage.contents.manager_kinds import get_drives, has_plain_files, is_rooted
from jupyter_nbedit.storage.contents.manager_locks import (
    get_model_identity,
    get_write_name,
    install_locks,
)
from jupyter_nbedit.storage.contents.notebook_storage import NotebookStorage
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.files.read import FileHashCache
from jupyter_nbedit.storage.files.temp_files import TempFileCleaner
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import SUFFIX, check_suffix, is_below, is_unsafe, map_to_os_path
from jupyter_nbedit.storage.rtc.room_storage import (
    NotebookRoomStorage,
    RoomStorage,
    TextRoomStorage,
)
from jupyter_nbedit.storage.rtc.rooms import (
    NOTEBOOK,
    TEXT,
    Room,
    find_room,
    get_file_identity,
    has_rooms,
    list_live_file_identities,
    lock_file_or_room,
    watch_rooms,
)
from jupyter_nbedit.storage.walk import walk_contents, walk_files
from jupyter_nbedit.storage.write_log import Identity, Writer
from jupyter_nbedit.system.concurrency import run_on_loop

# For how long a list shows a notebook that has become unreadable: pages ask for lists every second.
_READABLE_SECONDS = 5.0


@dataclass(frozen=True)
class StorageResolver:
    """The storages of one server; each notebook is in one of them at a time.

    `settings` are the settings of the server's web application, with its contents manager and its
    rooms. `locks` are shared with the manager's own saves. A search waits `room_patience` seconds
    for a room.
    """

    settings: Mapping[str, Any]
    locks: PathLocks
    links_outside_root: bool = True
    temp_files: TempFileCleaner = field(default_factory=TempFileCleaner)
    hashes: FileHashCache = field(default_factory=FileHashCache)
    room_patience: float = 5.0
    # Until when, in monotonic seconds, a path counts as readable.
    _readable_until: dict[str, float] = field(default_factory=dict)

    @property
    def manager(self) -> Any:
        """The contents manager, which extensions may replace at any time."""
        return self.settings["contents_manager"]

    def list_kinds(self) -> list[str]:
        """Return the storages that this server uses now, as in ``applied_via``."""
        rooms = [RoomStorage.kind] if has_rooms(self.settings) else []
        manager = self.manager
        if not isinstance(manager, ContentsManager):
            return rooms
        if _has_pre_save_hook(manager):
            return [NotebookStorage.kind, *rooms]
        pairs = [] if get_known_pairs(manager) is None else [NotebookStorage.kind]
        storage = FileStorage if has_plain_files(manager) else ContentsStorage
        return [storage.kind, *pairs, *rooms]

    async def resolve(self, path: str) -> Storage:
        """Return the storage in which a notebook is now, or would be created.

        Raise `NotebookNotFound` if it may not be seen, and `NotAPlainFile` if no storage can hold
        it.
        """
        self._check_inside(path)
        check_suffix(path)
        return await self._resolve(path, find_room(self.settings, path))

    async def _resolve(self, path: str, room: Room | None, real_path: str | None = None) -> Storage:
        manager = self.manager
        storage = await self._resolve_contents(path, real_path)
        if room is None:
            return storage
        if room.id.startswith(f"{TEXT}:"):
            return TextRoomStorage(room, manager, storage, self.locks)
        return NotebookRoomStorage(room, manager, storage, self.locks)

    async def _resolve_contents(self, path: str, real_path: str | None) -> Storage:
        """Return the storage in which the contents manager has a notebook."""
        manager = self.manager
        _check_manager(manager)
        is_paired = False
        if get_known_pairs(manager) is not None:
            await check_visible(manager, path)
            # Jupytext may fail on metadata that it did not write.
            with map_contents_errors():
                is_paired = await is_pair(manager, path)
        install_locks(manager, self.locks)
        if is_paired or _has_pre_save_hook(manager):
            return NotebookStorage(manager, self.locks, is_paired=is_paired)
        if not has_plain_files(manager):
            return ContentsStorage(manager, self.locks)
        return FileStorage(
            manager,
            self.locks,
            links_outside_root=self.links_outside_root,
            file_ids=self.settings.get("file_id_manager"),
            temp_files=self.temp_files,
            check_rooms=watch_rooms(self.settings) if has_rooms(self.settings) else None,
            hashes=self.hashes,
            real_paths={} if real_path is None else {path: real_path},
        )

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncIterator[Storage]:
        """Return the storage of a notebook, locked; raise as `resolve` and `Storage.lock` do."""
        self._check_inside(path)
        _check_manager(self.manager)
        check_suffix(path)
        async with lock_file_or_room(self.settings, self.locks, path, (NOTEBOOK, TEXT)) as (
            room,
            real_path,
        ):
            # Only now, because meanwhile a hook may have been registered, or a notebook paired.
            yield await self._resolve(path, room, real_path)

    async def walk(self, path: str, *, recursive: bool) -> Walker:
        """Prepare a walk through the notebooks of a directory, or to a single notebook.

        The path of the root is empty. Raise `FolderNotFound` if the path does not exist or is
        hidden.
        """
        try:
            self._check_inside(path)
            walker = await self._walk(self.manager, path.strip("/"), recursive=recursive)
        except NotebookNotFound:
            raise FolderNotFound from None
        live_files = self.find_live_files()
        return (
            partial(self._walk_with_rooms, walker, live_files, asyncio.get_running_loop())
            if live_files
            else walker
        )

    async def _walk(self, manager: Any, path: str, *, recursive: bool) -> Walker:
        if has_plain_files(manager):
            top = None if self.links_outside_root else os.path.realpath(manager.root_dir)
            return await walk_files(manager, path, recursive=recursive, top=top)
        return await walk_contents(manager, self.locks, path, recursive=recursive)

    def _walk_with_rooms(
        self, walker: Walker, live_files: set[object], loop: asyncio.AbstractEventLoop, start: str
    ) -> Iterator[WalkItem]:
        """Walk, and read notebooks in live rooms as people see them there."""
        for item in walker(start):
            identity = get_file_identity(self.manager, item.path)
            if isinstance(item, NotebookFile) and identity in live_files:
                yield NotebookFile(item.path, partial(self._read_from_thread, loop, item.path))
            else:
                yield item

    def _read_from_thread(self, loop: asyncio.AbstractEventLoop, path: str) -> bytes:
        """Read from another thread; a shared notebook may only be used on the loop's thread."""
        return run_on_loop(
            loop,
            self._read(path),
            source="The room that holds this notebook",
            timeout=self.room_patience,
        )

    async def _read(self, path: str) -> bytes:
        return (await (await self.resolve(path)).read(path)).text

    @property
    def names(self) -> NotebookNames:
        """The names of the notebooks."""
        return ManagerNames(lambda: self.manager)

    async def find_os_path(self, path: str) -> str | None:
        """Return the path on disk of a notebook, links included; None if it has none.

        Raise `NotebookNotFound` if it may not be seen.
        """
        self._check_inside(path)
        check_suffix(path)
        return await map_to_os_path(self.manager, path) if is_rooted(self.manager) else None

    async def read_model_identity(self, path: str) -> Identity:
        """Return the identity of a notebook that has no file; None if there is no notebook.

        Raise `StorageFailure` or `Forbidden` if the manager fails.
        """
        try:
            with map_contents_errors():
                return get_model_identity(await ensure_async(self.manager.get(path, content=False)))
        except NotebookNotFound:
            return None

    def find_writer(self, path: str, identity: Identity) -> Writer | None:
        """Return which of the user's servers has left a notebook as it is; see `WriteLog`."""
        name = get_write_name(self.manager, path)
        return None if name is None else self.locks.writes.find_writer(name, identity)

    def read_last_write(self, path: str) -> bytes | None:
        """Return a mark of the last write of a notebook by the user's servers; see `WriteLog`."""
        name = get_write_name(self.manager, path)
        return None if name is None else self.locks.writes.read_last_write(name)

    def find_live_files(self) -> set[object]:
        """Return the files that are open in rooms: device and inode, or the API path."""
        return list_live_file_identities(self.settings) if has_rooms(self.settings) else set()

    def is_served(self, folder: Path) -> bool:
        """Return whether the Contents API shows a directory of the file system."""
        top, real = get_root_folder(self.manager), os.path.realpath(folder)
        if top is None or not is_below(real, top):
            return False
        return self.manager.allow_hidden or not is_hidden(real, top)

    async def check(self, path: str) -> None:
        """Raise if a notebook cannot be read now, in whichever storage; its bytes are not read."""
        self._check_inside(path)
        check_suffix(path)
        manager = self.manager
        if has_plain_files(manager):
            storage = FileStorage(manager, self.locks, links_outside_root=self.links_outside_root)
            await storage.check(path)
        else:
            await ContentsStorage(manager, self.locks).check(path)

    async def list_readable(self, paths: Collection[str]) -> frozenset[str]:
        """Return the paths whose notebooks can be read, as `check` finds out.

        What was readable some seconds ago is not checked again.
        """
        now = time.monotonic()
        for path in [path for path, until in self._readable_until.items() if until < now]:
            del self._readable_until[path]
        unknown = [path for path in paths if path not in self._readable_until]
        readable = set(paths).difference(unknown) | await self._check_readable(unknown)
        for path in readable.intersection(unknown):
            self._readable_until[path] = now + _READABLE_SECONDS
        return frozenset(readable)

    async def _check_readable(self, paths: Sequence[str]) -> frozenset[str]:
        manager = self.manager
        if has_plain_files(manager):
            storage = FileStorage(manager, self.locks, links_outside_root=self.links_outside_root)
            return await storage.list_readable([path for path in paths if path.endswith(SUFFIX)])
        readable: set[str] = set()
        for path in paths:
            with suppress(NbEditError):
                await self.check(path)
                readable.add(path)
        return frozenset(readable)

    async def exists(self, path: str) -> bool:
        """Return whether a path exists, as a notebook, another file or a directory.

        Raise `NotebookNotFound` if it `is_unsafe`, and `StorageFailure` or `Forbidden` if the
        manager fails.
        """
        if is_unsafe(path) or not path:
            raise NotebookNotFound
        with map_contents_errors():
            return bool(await ensure_async(self.manager.exists(path)))

    def _check_inside(self, path: str) -> None:
        """Raise `NotebookNotFound` if a link on the path leads out of the root."""
        # The root itself is always inside.
        if self.links_outside_root or not path.strip("/"):
            return
        if to_api_path(self.manager, path.strip("/"), allow_relative=True) is None:
            raise NotebookNotFound


def _check_manager(manager: object) -> None:
    """Raise `NotAPlainFile` if an object is not a contents manager."""
    if not isinstance(manager, ContentsManager):
        raise NotAPlainFile(
            f"This server stores its notebooks with {type(manager).__name__}, which is not a "
            "contents manager of Jupyter Server; nothing was written."
        )


def _has_pre_save_hook(manager: Any) -> bool:
    """Return whether a hook may change or refuse what is saved."""
    if manager.pre_save_hook is not None or manager._pre_save_hooks:  # noqa: SLF001 -- no other way
        return True
    return any(map(_has_pre_save_hook, get_drives(manager).values()))
