"""Temporary files of edits, and their removal if a process was killed during an edit."""

import math
import os
import re
import stat
import sys
import time
from contextlib import suppress
from threading import Lock

from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory

#: The name of a temporary file.
TEMPORARY = ".nbedit-{}.tmp"
_NAME = re.compile(re.escape(TEMPORARY).replace(r"\{\}", "[0-9a-f]{16}"))
# Longer than any write; if not, it fails and nothing is lost.
_AGE_SECONDS = 1800.0


class TempFileCleaner:
    """Removes old temporary files from directories that this server writes to.

    A directory is listed once, because listing a large directory at every edit would take longer
    than the edit. It is listed again if a temporary file was too young to be removed.
    """

    def __init__(self) -> None:
        self._next_removals: dict[str, float] = {}
        self._lock = Lock()

    def remove_old_files(self, real: str) -> None:
        """Clean a directory, by its path without links; errors are ignored."""
        with self._lock:
            now = time.monotonic()
            if self._next_removals.get(real, now) > now:
                return
            self._next_removals[real] = math.inf
        with suppress(OSError), open_directory(real) as folder:
            for name, _ in folder.list_entries():
                if _NAME.fullmatch(name) and not _try_remove(folder, name):
                    self._next_removals[real] = now + _AGE_SECONDS


def _try_remove(folder: OpenDirectory, name: str) -> bool:
    """Remove an old temporary file; return False if it must be checked again."""
    try:
        status = folder.get_status(name)
        # If this is root, the file may already belong to the notebook's owner.
        is_own = sys.platform == "win32" or os.geteuid() in {0, status.st_uid}
        if not is_own or not stat.S_ISREG(status.st_mode):
            return True
        # The modification time is set from the notebook's, the change time is not.
        if status.st_ctime > time.time() - _AGE_SECONDS:
            return False
        folder.unlink(name)
    except OSError:
        # It is gone, or may not be removed.
        return True
    return True
