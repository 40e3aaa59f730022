"""Find out which servers of a user are running, so that the claims of a killed one are resolved.

Each server that makes a claim holds the lock of a file of its own. The operating system releases
the lock when the process ends. Process ids are not used, because they are reused.
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
    """Announces that this server is running, and checks whether another one is.

    The files with the locks are in the folder of the database. Methods raise `OSError` if a file
    cannot be made, opened or locked.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor: int | None = None
        #: The id of this run of this server.
        self.server = uuid.uuid4().hex

    def announce(self) -> None:
        """Announce that this server is running."""
        if self._descriptor is not None or not self._folder.is_dir():
            # Without a folder the database is in memory, where no other server reads it.
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
        """Return whether a server that has announced itself is still running."""
        if server == self.server:
            return True
        path = self._build_path(server)
        if sys.platform == "win32":
            # Windows does not remove the file of a running process.
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
        """Withdraw the announcement."""
        if self._descriptor is None:
            return
        os.close(self._descriptor)
        self._descriptor = None
        with suppress(OSError):
            self._build_path(self.server).unlink()

    def _build_path(self, server: str) -> Path:
        return self._folder / f"{_PREFIX}{server}.lock"
