"""Which servers of a user are alive, so that what a killed one has left behind is found out.

Each server that leaves something to be found holds the lock of a file of its own. The operating
system gives the lock back when the process ends, in whatever way; numbers of processes, which are
used again, play no part.
"""

from __future__ import annotations

import os
import sys
import uuid
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIX = "server-"


class Presence:
    """Shows that this server is alive, and finds out whether another one is.

    Parameters
    ----------
    folder
        The folder of the database, where the files with the locks are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        #: Names this run of this server.
        self.server = uuid.uuid4().hex

    def announce(self) -> None:
        """Show from now on that this server is alive.

        Raises
        ------
        OSError
            If its file cannot be made or locked.
        """
        if self._descriptor is not None or not self._folder.is_dir():
            # Without a folder the database is in memory, and nobody else looks into that.
            return
        descriptor = os.open(
            self._build_path(self.server), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def is_alive(self, server: str) -> bool:
        """Return whether a server that has announced itself still runs.

        Raises
        ------
        OSError
            If that cannot be told.
        """
        if server == self.server:
            return True
        path = self._build_path(server)
        if sys.platform == "win32":
            # The file of a process that runs cannot be removed.
            try:
                path.unlink(missing_ok=True)
            except PermissionError:
                return True
            return False
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            with suppress(FileNotFoundError):
                path.unlink()
            return False
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Show no longer that this server is alive."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        with suppress(OSError):
            self._build_path(self.server).unlink()

    def _build_path(self, server: str) -> Path:
        return self._folder / f"{_PREFIX}{server}.lock"
