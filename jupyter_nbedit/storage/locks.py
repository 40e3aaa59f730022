"""One writer at a time for each notebook, in this process and among the servers of one user."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from logging import Logger
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.storage.paths import follow_links

if sys.platform != "win32":
    import fcntl

_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.005
# Lock files are never removed, for removing one while another process opens it would split the
# lock in two. So there is a fixed number of them, and paths share.
_LOCK_FILES = 256


@dataclass
class _Shared:
    """Tasks whose locks count as those of the tasks they start, until they are done with that."""

    tasks: frozenset[asyncio.Task[Any] | None] = frozenset()


_SHARED: ContextVar[_Shared] = ContextVar("nbedit_shared_locks", default=_Shared())  # noqa: B039 -- never changed


@dataclass
class _LockFile:
    """A lock file, and how many in this process hold what it stands for, or wait to."""

    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    descriptor: int | None = None


class PathLocks:
    """The locks of one server.

    Parameters
    ----------
    folder
        Where the lock files are kept; shared by all servers of one user.
    log
        The server's.
    """

    def __init__(self, folder: Path, log: Logger) -> None:
        self._folder = folder
        self._log = log
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._holders: dict[str, asyncio.Task[Any] | None] = {}
        self._files: defaultdict[int, _LockFile] = defaultdict(_LockFile)

    @property
    def is_holder(self) -> bool:
        """Whether the task that asks holds anything."""
        return not _get_own_tasks().isdisjoint(self._holders.values())

    @staticmethod
    @contextmanager
    def inherit() -> Iterator[None]:
        """Let the tasks that are started in here have what this one holds, until it leaves."""
        shared = _Shared(_get_own_tasks())
        token = _SHARED.set(shared)
        try:
            yield
        finally:
            # Tasks that go on keep the variable as it was when they began.
            shared.tasks = frozenset()
            _SHARED.reset(token)

    @asynccontextmanager
    async def lock(self, *os_paths: str, names: Iterable[str] = ()) -> AsyncIterator[None]:
        """Be the only one to write some paths, by whatever names or links they are called.

        A task that holds a path may hold it again: a manager's method may call another one.

        Parameters
        ----------
        os_paths
            Paths of the file system.
        names
            Of what is in no file system. Nobody may hold a name and then ask for a path.

        Raises
        ------
        Busy
            If another process holds one of them for too long.
        """
        # All take their locks in the same order, or two could wait for each other.
        reals = sorted({_normalize_name(follow_links(path)) for path in os_paths})
        ours = _get_own_tasks()
        keys = (*reals, *sorted(set(names)))
        wanted = [key for key in keys if self._holders.get(key) not in ours]
        async with AsyncExitStack() as held:
            for key in wanted:
                await held.enter_async_context(self._lock_in_process(key))
            for number in sorted({_compute_number(key) for key in wanted}):
                await held.enter_async_context(self._lock_between_processes(number))
            yield

    @asynccontextmanager
    async def _lock_in_process(self, key: str) -> AsyncIterator[None]:
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            self._holders[key] = asyncio.current_task()
            try:
                yield
            finally:
                del self._holders[key]

    @asynccontextmanager
    async def _lock_between_processes(self, number: int) -> AsyncIterator[None]:
        # Names that share a lock file have locks of their own in this process, and must not wait
        # for each other: a task may hold both.
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
                    # Whatever is said of it, the lock is gone, and the edit was made.
                    with suppress(OSError):
                        os.close(file.descriptor)

    async def _lock_file(self, file: _LockFile, number: int) -> None:
        descriptor = None if sys.platform == "win32" else self._open(number)
        if descriptor is None:
            # Only the comparison before the write guards against other processes then.
            return
        try:
            await _lock_descriptor(descriptor)
        except OSError as error:
            # Some file systems of a network have no locks; saves must not fail for that.
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
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            with suppress(FileNotFoundError):
                return os.open(name, flags, 0o600)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(name, flags, 0o600)
        except OSError as error:
            # The server's own saves come by here as well; a full disk elsewhere must not stop them.
            self._log.warning("No lock among servers: %s", error)
            return None


def _get_own_tasks() -> frozenset[asyncio.Task[Any] | None]:
    return _SHARED.get().tasks | {asyncio.current_task()}


def _normalize_name(real: str) -> str:
    """Make one of names that some file system takes for the same; others may share a lock."""
    return unicodedata.normalize("NFC", real).casefold()


def _compute_number(key: str) -> int:
    digest = hashlib.sha256(os.fsencode(key)).digest()
    return int.from_bytes(digest[:4], "big") % _LOCK_FILES


async def _lock_descriptor(descriptor: int) -> None:
    if sys.platform == "win32":
        return
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = (
                    "Another Jupyter server has been writing for more than "
                    f"{_PATIENCE_SECONDS:.0f} seconds. Nothing was written; try again."
                )
                raise Busy(message) from None
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return
