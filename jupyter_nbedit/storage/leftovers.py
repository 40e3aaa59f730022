"""Temporary files of ours that a process left which was killed in the middle of an edit."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from contextlib import suppress
from threading import Lock

from jupyter_nbedit.storage.folders import Folder, opened

if sys.platform != "win32":
    import fcntl

#: What a temporary file is called.
TEMPORARY = ".nbedit-{}.tmp"
_NAME = re.compile(re.escape(TEMPORARY).replace(r"\{\}", "[0-9a-f]{16}"))
# However slow a disk is, nobody writes one notebook for so long.
_AGE_SECONDS = 3600.0


class Leftovers:
    """Removes them, once from each folder that this server writes to.

    Only from then on do folders hold temporary files that others than a killed process have made,
    and to look through a large folder at every edit would take longer than the edit.
    """

    def __init__(self) -> None:
        self._swept: set[str] = set()
        self._lock = Lock()

    def sweep(self, real: str) -> None:
        """Look through a folder, by its path without links; one that cannot be is left as it is."""
        with self._lock:
            if real in self._swept:
                return
            self._swept.add(real)
        with suppress(OSError), opened(real) as folder:
            for name in filter(_NAME.fullmatch, folder.names()):
                with suppress(OSError):
                    _remove_old(folder, name)


def _remove_old(folder: Folder, name: str) -> None:
    status = folder.status(name)
    # The change time is the file's own; the modification time is set to suit the notebook.
    old = status.st_ctime < time.time() - _AGE_SECONDS
    own = sys.platform == "win32" or status.st_uid == os.geteuid()
    if old and own and stat.S_ISREG(status.st_mode) and not _is_held(folder, name):
        folder.unlink(name)


def show_as_held(descriptor: int) -> None:
    """Show others, as far as they can see it, that a temporary file is being written."""
    if sys.platform != "win32":
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_held(folder: Folder, name: str) -> bool:
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
