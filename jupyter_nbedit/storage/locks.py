"""One writer at a time for each real path, in this process and among the servers of one user."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from jupyter_nbedit.errors import Busy

if sys.platform != "win32":
    import fcntl

_PATIENCE_SECONDS = 10.0
_POLL_SECONDS = 0.005
# Lock files are never removed, for removing one while another process opens it would split the
# lock in two. So there is a fixed number of them, and paths share.
_LOCK_FILES = 256


class PathLocks:
    """The locks of one server.

    Parameters
    ----------
    folder
        Where the lock files are kept; shared by all servers of one user.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def hold(self, os_path: str) -> AsyncIterator[None]:
        """Be the only one to write a path, by whatever name or link it is called.

        Raises
        ------
        Busy
            If another process holds it for too long.
        """
        real = os.path.realpath(os_path)
        lock = self._locks.get(real)
        if lock is None:
            lock = self._locks[real] = asyncio.Lock()
        async with lock, self._among_processes(real):
            yield

    @asynccontextmanager
    async def _among_processes(self, real: str) -> AsyncIterator[None]:
        if sys.platform == "win32":
            # There, only the comparison before the write guards against other processes.
            yield
            return
        number = int.from_bytes(hashlib.sha256(os.fsencode(real)).digest()[:4], "big")
        name = f"{number % _LOCK_FILES:02x}.lock"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            await _lock(descriptor)
            yield
        finally:
            os.close(descriptor)


async def _lock(descriptor: int) -> None:
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
