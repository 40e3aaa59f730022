"""Notebooks in plain files, as the stock contents manager keeps them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy, ChangedDuringRead, NotebookNotFound
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.files.atomic_write import (
    SwapHook,
    atomic_create,
    atomic_replace,
    ensure_absent,
    swap_directly,
)
from jupyter_nbedit.storage.files.file_ids import FileIdPreservingSwap, is_inode_based
from jupyter_nbedit.storage.files.lazy_bytes import LazyFileBytes
from jupyter_nbedit.storage.files.read import OwnWriteCache, check_file, read_file
from jupyter_nbedit.storage.files.temp_files import TempFileCleaner
from jupyter_nbedit.storage.os_errors import map_os_errors
from jupyter_nbedit.storage.paths import resolve, resolve_new, to_os_path
from jupyter_nbedit.storage.rtc.room_ids import RoomIdSnapshot

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager

    from jupyter_nbedit.storage.locks import PathLocks

_PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.02


class FileStorage:
    """Notebooks under the root folder of the stock file manager.

    Parameters
    ----------
    manager
        The contents manager, which knows the root and what is hidden.
    locks
        Shared with the manager's own saves.
    links_outside_root
        Whether links may lead out of the root, as they may for the manager.
    file_ids
        The server's manager of file ids; None if it has none.
    leftovers
        Of this server; None to leave them where they are.
    rooms
        The rooms of which none holds the notebook; None if there never are any.
    known
        The files that this server has written; None to know none.
    """

    kind: ClassVar[str] = "file"
    preserves_bytes: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913 -- all but two may be left out
        self,
        manager: AsyncFileContentsManager,
        locks: PathLocks,
        *,
        links_outside_root: bool = True,
        file_ids: object = None,
        leftovers: TempFileCleaner | None = None,
        rooms: RoomIdSnapshot | None = None,
        known: OwnWriteCache | None = None,
    ) -> None:
        self._manager = manager
        self._locks = locks
        self._links_outside_root = links_outside_root
        self._file_ids = file_ids
        self._leftovers = leftovers
        self._rooms = rooms
        self._known = known or OwnWriteCache()
        self._held: dict[str, str] = {}

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        """Keep this server's other writers, and those of its user's other servers, away."""
        return self._lock(path)

    @asynccontextmanager
    async def _lock(self, path: str) -> AsyncIterator[None]:
        given = await to_os_path(self._manager, path)
        async with self._locks.lock(given):
            self._held[path] = given
            try:
                yield
            finally:
                self._held.pop(path, None)

    async def _get_os_path(self, path: str) -> str:
        """Map a path to where it is on disk, once for as long as it is held."""
        return self._held.get(path) or await to_os_path(self._manager, path)

    def __eq__(self, other: object) -> bool:
        """Return whether notebooks are kept in the same way, whatever is held."""
        return isinstance(other, FileStorage) and all(
            value == vars(other)[name] for name, value in vars(self).items() if name != "_held"
        )

    __hash__ = object.__hash__

    async def read(self, path: str) -> Content:
        """Read a file, waiting for a save of another process to end."""
        given = await self._get_os_path(path)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            content = await asyncio.to_thread(self._read, given)
            if content is not None:
                return content
            if time.monotonic() > deadline:
                message = (
                    f"Another program has been writing this notebook for more than "
                    f"{_PATIENCE_SECONDS:.0f} seconds. Nothing was written; try again."
                )
                raise Busy(message)
            await asyncio.sleep(_POLL_SECONDS)

    async def check(self, path: str) -> None:
        """Refuse what cannot be read, as far as that shows without reading it."""
        given = await to_os_path(self._manager, path)
        await asyncio.to_thread(lambda: check_file(self._resolve(given)))

    def _read(self, given: str) -> Content | None:
        real = self._resolve(given)
        try:
            return read_file(real, self._known)
        except NotebookNotFound:
            # It was there just before.
            return None

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Replace the file by its spliced bytes, durably, if it still is what was read."""
        given = await self._get_os_path(path)
        exchange: SwapHook = swap_directly
        if is_inode_based(self._file_ids):
            exchange = FileIdPreservingSwap(self._file_ids, asyncio.get_running_loop())
        if self._rooms is not None:
            exchange = partial(_swap_unless_opened, self._rooms, exchange)
        return await asyncio.to_thread(self._write, given, base, splices, exchange)

    def _write(
        self, given: str, base: Content, splices: Sequence[Splice], exchange: SwapHook
    ) -> WriteResult:
        real = self._resolve(given)
        # One that is a second name of the notebook itself would be in the way.
        self._sweep(real)
        try:
            written = atomic_replace(real, base, splices, exchange)
            if isinstance(base.data, LazyFileBytes):
                base.data.pin()
            if written.status is not None and written.marks is not None:
                self._known.put(written.status, written.marks)
        except (NotebookNotFound, ChangedDuringRead):
            raise StaleContent from None
        return written

    async def ensure_absent(self, path: str) -> None:
        """See whether there is nothing of that name, in a folder that may be written."""
        given = await to_os_path(self._manager, path)
        await asyncio.to_thread(lambda: ensure_absent(self._resolve_new(given)))

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Write a new file, durably, if there is nothing of its name."""
        given = await to_os_path(self._manager, path)
        return await asyncio.to_thread(self._create, given, text)

    def _create(self, given: str, text: bytes) -> WriteResult:
        real = self._resolve_new(given)
        self._sweep(real)
        return atomic_create(real, text)

    def _sweep(self, real: str) -> None:
        if self._leftovers is not None:
            self._leftovers.sweep(os.path.dirname(real))

    def _resolve(self, given: str) -> str:
        with map_os_errors():
            return resolve(given, self._top)

    def _resolve_new(self, given: str) -> str:
        with map_os_errors():
            return resolve_new(given, self._top)

    @property
    def _top(self) -> str | None:
        """The folder that links may not lead out of."""
        return None if self._links_outside_root else os.path.realpath(self._manager.root_dir)

    async def notify_saved(self, path: str, written: WriteResult) -> list[str]:
        """Run the post-save hooks and emit the ``save`` event, as the manager's own save does."""
        manager = self._manager
        warnings = []
        if manager.post_save_hook is not None or manager._post_save_hooks:  # noqa: SLF001 -- no other way
            model = await manager.get(path, content=False)
            model.update(hash=written.hash, hash_algorithm="sha256")
            try:
                manager.run_post_save_hooks(model=model, os_path=await to_os_path(manager, path))
            except HTTPError:
                # What the hook said may name paths; the manager has logged it.
                warnings.append(
                    "The edit is in the file, but a post-save hook of this server failed "
                    "afterwards; the server's log says why."
                )
        manager.emit(data={"action": "save", "path": path})
        return warnings


def _swap_unless_opened(
    rooms: RoomIdSnapshot,
    exchange: SwapHook,
    put: Callable[[], None],
    old: os.stat_result,
    new: os.stat_result,
) -> list[str]:
    """Exchange the files, unless a room may have read the old one just now."""
    rooms.check()
    return exchange(put, old, new)
