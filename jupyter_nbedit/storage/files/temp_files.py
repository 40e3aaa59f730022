"""Temporary files of ours that a process left which was killed in the middle of an edit."""

from __future__ import annotations

import math
import os
import re
import stat
import sys
import time
from contextlib import suppress
from threading import Lock

from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory

if sys.platform != "win32":
    import fcntl

#: What a temporary file is called.
TEMPORARY = ".nbedit-{}.tmp"
_NAME = re.compile(re.escape(TEMPORARY).replace(r"\{\}", "[0-9a-f]{16}"))
# Who still writes one holds it, so that it is younger only before it is held. Where others do not
# see that, a disk may be slower; then who writes is told to try again, and nothing is lost.
_AGE_SECONDS = 60.0


class TempFileCleaner:
    """Removes them from each folder that this server writes to.

    A folder is looked through once, and again when what was too young then has come of age: other
    leftovers can only be made by another process that is killed, and to look through a large folder
    at every edit would take longer than the edit.
    """

    def __init__(self) -> None:
        self._due: dict[str, float] = {}
        self._lock = Lock()

    def sweep(self, real: str) -> None:
        """Look through a folder, by its path without links; one that cannot be is left as it is."""
        with self._lock:
            now = time.monotonic()
            if self._due.get(real, now) > now:
                return
            self._due[real] = math.inf
        with suppress(OSError), open_directory(real) as folder:
            for name in filter(_NAME.fullmatch, folder.list_names()):
                if not _try_remove(folder, name):
                    self._due[real] = now + _AGE_SECONDS


def _try_remove(folder: OpenDirectory, name: str) -> bool:
    """Remove a leftover; False if it is to be looked at again."""
    try:
        status = folder.get_status(name)
        # Root gives a file to the notebook's owner before it takes its place.
        own = sys.platform == "win32" or os.geteuid() in {0, status.st_uid}
        if not own or not stat.S_ISREG(status.st_mode):
            return True
        # The change time is the file's own; the modification time is set to suit the notebook.
        if status.st_ctime > time.time() - _AGE_SECONDS or _is_locked(folder, name):
            return False
        folder.unlink(name)
    except OSError:
        # It has gone by itself, or is not for us to remove.
        return True
    return True


def lock_temp(descriptor: int) -> None:
    """Show others, as far as they can see it, that a temporary file is being written."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_locked(folder: OpenDirectory, name: str) -> bool:
    if sys.platform == "win32":
        # A file that is open cannot be removed there.
        return False
    descriptor = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
