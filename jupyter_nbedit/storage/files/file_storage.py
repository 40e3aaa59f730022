"""Notebooks in plain files, as the stock contents manager stores them."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import Future, wait
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy, ChangedDuringRead, NbEditError, NotebookNotFound
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.files.atomic_write import (
    SwapHook,
    atomic_create,
    atomic_replace,
    ensure_absent,
    swap_directly,
)
from jupyter_nbedit.storage.files.lazy_bytes import LazyFileBytes, get_stat_identity
from jupyter_nbedit.storage.files.read import FileHashCache, check_file, read_file
from jupyter_nbedit.storage.files.temp_files import TempFileCleaner
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.os_errors import map_os_errors
from jupyter_nbedit.storage.paths import (
    check_below,
    map_to_os_path,
    map_to_visible_path,
    resolve_new_path,
    resolve_path,
)
from jupyter_nbedit.system.concurrency import Polling

if TYPE_CHECKING:
    from jupyter_server.services.contents.filemanager import AsyncFileContentsManager


_TIMEOUT_SECONDS = 2.0
# The time that the event loop may take to begin a swap.
_LOOP_TIMEOUT_SECONDS = 10.0
_DELETE = "DELETE FROM Files WHERE ino = ?"
_MOVE = "UPDATE Files SET ino = ?, crtime = ?, mtime = ? WHERE ino = ?"


@dataclass(frozen=True, eq=False)
class FileStorage(Storage):
    """Notebooks under the root directory of the stock file manager.

    `links_outside_root` says whether links may lead out of the root. `file_ids` is the server's
    manager of file ids. `check_rooms` raises `StaleContent` if a room was opened since this storage
    was chosen. `real_paths` has the API paths that are locked, and their paths on disk without
    links. These paths are not resolved again: links that are placed there later are not followed.
    `temp_files` removes the temporary files of killed servers.
    """

    manager: AsyncFileContentsManager
    locks: PathLocks
    _: KW_ONLY
    links_outside_root: bool = True
    file_ids: object = None
    temp_files: TempFileCleaner | None = None
    check_rooms: Callable[[], None] | None = None
    hashes: FileHashCache = field(default_factory=FileHashCache)
    real_paths: dict[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "file"
    preserves_bytes: ClassVar[bool] = True
    is_plain_file: ClassVar[bool] = True

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncIterator[None]:
        """Lock a notebook against other writers of this server and of the user's other servers."""
        async with self.locks.lock(await map_to_os_path(self.manager, path)) as (real_path,):
            self.real_paths[path] = real_path
            try:
                yield
            finally:
                del self.real_paths[path]

    async def _get_os_path(self, path: str) -> str:
        os_path = self.real_paths.get(path)
        return await map_to_os_path(self.manager, path) if os_path is None else os_path

    async def read(self, path: str) -> Content:
        """Read a file; wait for the end of another program's save."""
        os_path = await self._get_os_path(path)
        async for _ in Polling(_TIMEOUT_SECONDS):
            content = await asyncio.to_thread(self._read, os_path)
            if content is not None:
                return content
        raise Busy(
            f"Another program has been writing this notebook for more than "
            f"{_TIMEOUT_SECONDS:.0f} seconds. Nothing was written; try again."
        )

    async def check(self, path: str) -> None:
        """Raise if a notebook cannot be read, as far as that is known without reading it."""
        os_path = await map_to_os_path(self.manager, path)
        await asyncio.to_thread(lambda: check_file(self._resolve(os_path)))

    async def list_readable(self, paths: Collection[str]) -> frozenset[str]:
        """Return the paths of the files that can be read, as far as that is known without reading.

        They are checked in one thread, because hundreds of thread switches take long.
        """
        return await asyncio.to_thread(lambda: frozenset(filter(self._is_readable, paths)))

    def _is_readable(self, path: str) -> bool:
        try:
            check_file(self._resolve(map_to_visible_path(self.manager, path)))
        except NbEditError:
            return False
        return True

    def _read(self, os_path: str) -> Content | None:
        real = self._resolve(os_path)
        try:
            return read_file(real, self.hashes)
        except NotebookNotFound:
            # It existed a moment ago.
            return None

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Replace the file by its spliced bytes, durably, if it is unchanged since it was read."""
        os_path = await self._get_os_path(path)
        swap_hook: SwapHook = swap_directly
        if _is_inode_based(self.file_ids):
            swap_hook = _FileIdPreservingSwap(self.file_ids, asyncio.get_running_loop())
        if self.check_rooms is not None:
            swap_hook = partial(_swap_unless_opened, self.check_rooms, swap_hook)
        return await asyncio.to_thread(self._write, os_path, base, splices, swap_hook)

    def _write(
        self, os_path: str, base: Content, splices: Sequence[Splice], swap_hook: SwapHook
    ) -> WriteResult:
        real = self._resolve(os_path)
        # A temporary file may be a second name of the notebook, which must have one name only.
        self._remove_old_temp_files(real)
        try:
            result = atomic_replace(real, base, splices, swap_hook)
            if isinstance(base.data, LazyFileBytes):
                base.data.stop_checking()
            if result.status is not None:
                self.locks.writes.record(real, get_stat_identity(result.status))
                if result.resumable_hash is not None:
                    self.hashes.add_own_write(result.status, result.resumable_hash)
        except (NotebookNotFound, ChangedDuringRead):
            raise StaleContent from None
        return result

    async def ensure_absent(self, path: str) -> None:
        """Raise if the path exists, or its directory may not be written."""
        os_path = await map_to_os_path(self.manager, path)
        await asyncio.to_thread(self._ensure_absent, os_path)

    def _ensure_absent(self, os_path: str) -> None:
        with map_os_errors():
            ensure_absent(resolve_new_path(os_path, self._top))

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Create a file, durably."""
        os_path = await map_to_os_path(self.manager, path)
        return await asyncio.to_thread(self._create, os_path, text)

    def _create(self, os_path: str, text: bytes) -> WriteResult:
        with map_os_errors():
            real = resolve_new_path(os_path, self._top)
            self._remove_old_temp_files(real)
            result = atomic_create(real, text)
        with suppress(OSError):
            self.locks.writes.record(real, get_stat_identity(os.stat(real)))
        return result

    def _remove_old_temp_files(self, real: str) -> None:
        """Remove the leftovers of killed servers, unless this storage is used for one edit only."""
        if self.temp_files is not None:
            self.temp_files.remove_old_files(os.path.dirname(real))

    def _resolve(self, os_path: str) -> str:
        with map_os_errors():
            if os_path in self.real_paths.values():
                check_below(os_path, self._top)
                os.lstat(os_path)
                return os_path
            return resolve_path(os_path, self._top)

    @property
    def _top(self) -> str | None:
        """The directory out of which links must not lead, or None."""
        return None if self.links_outside_root else os.path.realpath(self.manager.root_dir)

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:
        """Run the post-save hooks and emit the ``save`` event, as the manager's own save does."""
        manager = self.manager
        warnings = []
        if manager.post_save_hook is not None or manager._post_save_hooks:  # noqa: SLF001 -- no other way
            model = await manager.get(path, content=False)
            model.update(hash=result.hash, hash_algorithm="sha256")
            try:
                manager.run_post_save_hooks(
                    model=model, os_path=await map_to_os_path(manager, path)
                )
            except HTTPError:
                # The message of the hook may contain paths; the manager has logged it.
                warnings.append(
                    "The edit is in the file, but a post-save hook of this server failed "
                    "afterwards; see the server's log."
                )
        manager.emit(data={"action": "save", "path": path})
        return warnings


def _swap_unless_opened(
    check_rooms: Callable[[], None],
    swap_hook: SwapHook,
    swap: Callable[[], None],
    old_status: os.stat_result,
    new_status: os.stat_result,
) -> list[str]:
    """Swap the files, unless a room may have read the old one just now."""
    check_rooms()
    return swap_hook(swap, old_status, new_status)


def _is_inode_based(manager: Any) -> bool:
    """Return whether a manager of file ids identifies files by their inodes; False for None."""
    return isinstance(getattr(manager, "con", None), sqlite3.Connection) and callable(
        getattr(manager, "_parse_raw_stat", None)
    )


@dataclass(frozen=True)
class _FileIdPreservingSwap:
    """Swaps two files and keeps the file id: a `SwapHook` for one write and its repetitions.

    The `LocalFileIdManager` of jupyter_server_fileid identifies a file by its inode, to find files
    that other programs have moved. It takes a replaced file for a new file, and no method of the
    manager can prevent this: even `save` looks up the new inode. The manager expects programs to
    write in place, which would leave half a notebook after a crash. Therefore the record of the
    manager gets the new inode at the moment of the swap. Managers that are based on paths do not
    need this.

    The swap runs on the event loop's thread, as the manager of file ids does, so that no request
    sees the new file with the old record.
    """

    manager: Any
    loop: asyncio.AbstractEventLoop

    def __call__(
        self, swap: Callable[[], None], old_status: os.stat_result, new_status: os.stat_result
    ) -> list[str]:
        """Perform the swap from another thread; raise `Busy` if the loop does not run it."""
        # Not a coroutine: the loop may stop between its end and the delivery of its result, and
        # this thread would wait forever.
        warnings: Future[list[str]] = Future()

        def work() -> None:
            if not warnings.set_running_or_notify_cancel():
                return
            try:
                warnings.set_result(self._exchange(swap, old_status, new_status))
            except BaseException as error:  # noqa: BLE001 -- the thread that waits raises it
                warnings.set_exception(error)

        message = "The server is too busy, or it stops. Nothing was written; try again."
        try:
            self.loop.call_soon_threadsafe(work)
        except RuntimeError:
            # The loop is closed.
            raise Busy(message) from None
        if not wait([warnings], _LOOP_TIMEOUT_SECONDS).done and warnings.cancel():
            raise Busy(message)
        # Once started, it finishes: it does not wait for anything.
        return warnings.result()

    def _exchange(
        self, swap: Callable[[], None], old_status: os.stat_result, new_status: os.stat_result
    ) -> list[str]:
        swap()
        connection: sqlite3.Connection = self.manager.con
        file_stat = self.manager._parse_raw_stat(new_status)  # noqa: SLF001 -- so it will compare it
        try:
            with connection:
                # The record of a deleted file whose inode is in use again.
                connection.execute(_DELETE, (file_stat.ino,))
                connection.execute(
                    _MOVE, (file_stat.ino, file_stat.crtime, file_stat.mtime, old_status.st_ino)
                )
        except sqlite3.Error as error:
            warning = (
                "The edit is in the file, but the server's file ids could not be updated "
                f"({error}): the notebook may get a new one."
            )
            return [warning]
        return []
