"""Locks of paths: one writer at a time, in this process and among the servers of one user."""

import asyncio
import hashlib
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from logging import Logger
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from jupyter_nbedit.db.notebook_names import fold_name
from jupyter_nbedit.errors import Busy
from jupyter_nbedit.storage.paths import follow_links
from jupyter_nbedit.storage.write_log import WriteLog
from jupyter_nbedit.system.concurrency import Polling

if sys.platform != "win32":
    import fcntl

_TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.005
# Lock files are never removed: removing one while another process opens it would split the lock in
# two. Therefore their number is fixed, and paths share them.
_LOCK_FILES = 256


@dataclass
class _InheritedTasks:
    """Tasks whose locks also count as locks of the tasks that they start, until `inherit` ends."""

    tasks: frozenset[asyncio.Task[Any] | None] = frozenset()


_INHERITED_TASKS: ContextVar[_InheritedTasks] = ContextVar(
    "nbedit_inherited_locks",
    default=_InheritedTasks(),  # noqa: B039 -- never changed
)


@dataclass
class _LockFile:
    """A lock file, and how many holders of its paths, current or waiting, this process has."""

    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    descriptor: int | None = None


class PathLocks:
    """The locks of one server; all servers of one user share the directory of the lock files."""

    def __init__(self, folder: Path, log: Logger) -> None:
        self._folder = folder
        self._log = log
        #: The writes of this user's servers while they held a lock.
        self.writes = WriteLog(folder, log)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._holders: dict[str, asyncio.Task[Any] | None] = {}
        self._files: defaultdict[int, _LockFile] = defaultdict(_LockFile)

    @property
    def is_holder(self) -> bool:
        """Whether the current task holds any lock."""
        return not _get_own_tasks().isdisjoint(self._holders.values())

    @staticmethod
    @contextmanager
    def inherit() -> Iterator[None]:
        """Let tasks that are started in this context use the locks of the current task."""
        inherited_tasks = _InheritedTasks(_get_own_tasks())
        token = _INHERITED_TASKS.set(inherited_tasks)
        try:
            yield
        finally:
            # Tasks that outlive the context keep this value of the variable.
            inherited_tasks.tasks = frozenset()
            _INHERITED_TASKS.reset(token)

    @asynccontextmanager
    async def lock(self, *os_paths: str, names: Iterable[str] = ()) -> AsyncIterator[list[str]]:
        """Lock paths, by whatever name or link they are given; yield them without links.

        `names` are for anything that is not in a file system. A task that holds a name must not
        lock a path. Raise `Busy` if that takes too long.
        """
        reals = [follow_links(path) for path in os_paths]
        own_tasks = _get_own_tasks()
        # A fixed order of locks prevents deadlocks. Different files may share a lock.
        keys = (*sorted({fold_name(real) for real in reals}), *sorted(set(names)))
        missing_keys = [key for key in keys if self._holders.get(key) not in own_tasks]
        async with AsyncExitStack() as stack:
            for key in missing_keys:
                await stack.enter_async_context(self._lock_in_process(key))
            for number in sorted({_compute_number(key) for key in missing_keys}):
                await stack.enter_async_context(self._lock_between_processes(number))
            yield reals

    @asynccontextmanager
    async def _lock_in_process(self, key: str) -> AsyncIterator[None]:
        async with self._locks.setdefault(key, asyncio.Lock()):
            self._holders[key] = asyncio.current_task()
            try:
                yield
            finally:
                del self._holders[key]

    @asynccontextmanager
    async def _lock_between_processes(self, number: int) -> AsyncIterator[None]:
        # Paths that share a lock file have separate locks in this process and must not wait for
        # each other: a task may hold both.
        file = self._files[number]
        file.users += 1
        try:
            async with file.opening:
                if file.descriptor is None:
                    await self._lock_file(file, number)
            yield
        finally:
            file.users -= 1
            if not file.users:
                del self._files[number]
                if file.descriptor is not None:
                    # After an error the lock is released as well, and the edit is complete.
                    with suppress(OSError):
                        os.close(file.descriptor)

    async def _lock_file(self, file: _LockFile, number: int) -> None:
        descriptor = None if sys.platform == "win32" else self._open(number)
        if descriptor is None:
            # Without a lock, only the comparison before the write protects against other processes.
            return
        try:
            await _lock_descriptor(descriptor)
        except OSError as error:
            # Some network file systems have no locks; saving must not fail because of that.
            with suppress(OSError):
                os.close(descriptor)
            self._log.warning("No lock among servers: %s", error)
            return
        except BaseException:
            os.close(descriptor)
            raise
        file.descriptor = descriptor

    def _open(self, number: int) -> int | None:
        name = os.path.join(self._folder, f"{number:02x}.lock")
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            with suppress(FileNotFoundError):
                return os.open(name, flags, 0o600)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(name, flags, 0o600)
        except OSError as error:
            # The server's own saves take these locks, too; a full disk elsewhere must not prevent
            # them.
            self._log.warning("No lock among servers: %s", error)
            return None


def _get_own_tasks() -> frozenset[asyncio.Task[Any] | None]:
    return _INHERITED_TASKS.get().tasks | {asyncio.current_task()}


def _compute_number(key: str) -> int:
    key_hash = hashlib.sha256(os.fsencode(key)).digest()
    return int.from_bytes(key_hash[:4], "big") % _LOCK_FILES


async def _lock_descriptor(descriptor: int) -> None:
    async for _ in Polling(_TIMEOUT_SECONDS, _POLL_SECONDS):
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return
    raise Busy(
        f"Another Jupyter server has been writing for more than {_TIMEOUT_SECONDS:.0f} seconds. "
        "Nothing was written; try again."
    )
