"""One file as it was read, and whether it still is that."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from datetime import datetime, timezone

from jupyter_nbedit.errors import NotAPlainFile, NotebookNotFound
from jupyter_nbedit.notebook.text import CHUNK_BYTES
from jupyter_nbedit.storage import Content
from jupyter_nbedit.storage.filetext import FileText, stamp
from jupyter_nbedit.storage.folders import Folder, opened
from jupyter_nbedit.storage.known import Known
from jupyter_nbedit.storage.oserrors import refusals

# jupyter_server writes in place and keeps the former bytes in `.~name` meanwhile. One that is older
# than any save takes was left by a crash.
_BACKUP_PREFIX = ".~"
_BACKUP_STALE_SECONDS = 30.0
# Two writes within one tick of a file system's clock leave the same time stamp; FAT's tick is the
# longest. Within it only the bytes themselves tell whether a file changed.
_TICK_NS = 2_000_000_000
# Should a pipe take a file's place right now, opening it must not wait for a writer.
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Snapshot:
    """What a file's ``stat`` said when it was read, and when that was.

    Parameters
    ----------
    stat
        What it said.
    read_ns
        When that was, in nanoseconds.
    is_ours
        Whether the time stamps are such as nobody else's writing leaves.
    """

    stat: os.stat_result
    read_ns: int
    is_ours: bool = False

    def is_of(self, now: os.stat_result) -> bool:
        """Tell whether a file looks as if nobody had touched it since."""
        return stamp(self.stat) == stamp(now)

    def is_of_bytes(self, now: os.stat_result) -> bool:
        """Tell whether it cannot have changed: every later write moves the change time."""
        settled = self.stat.st_ctime_ns < self.read_ns - _TICK_NS
        return self.is_of(now) and (self.is_ours or settled)


def read(real: str, known: Known | None = None) -> Content | None:
    """Read a file; None if it changed meanwhile, or is being saved.

    Parameters
    ----------
    real
        Its path without links; one that has come to stand on it leads nowhere.
    known
        The files that this server has written; None to know none.

    Raises
    ------
    NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
    """
    path, name = os.path.split(real)
    with refusals(), opened(path) as folder:
        return None if is_being_saved(folder, name) else _read(folder, name, known)


def check(real: str) -> None:
    """Refuse what is no file that can be read.

    Parameters
    ----------
    real
        Its path without links; one that has come to stand on it leads nowhere.

    Raises
    ------
    NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
    """
    path, name = os.path.split(real)
    with refusals(), opened(path) as folder:
        _check_regular(folder, name)
        os.close(folder.open(name, _READING))


def _check_regular(folder: Folder, name: str) -> None:
    mode = folder.status(name).st_mode
    if stat.S_ISLNK(mode):
        # Links were followed to get here: this one is new, and leads elsewhere.
        raise NotebookNotFound
    if not stat.S_ISREG(mode):
        raise _not_plain()


def _read(folder: Folder, name: str, known: Known | None) -> Content | None:
    read_ns = time.time_ns()
    _check_regular(folder, name)
    descriptor = folder.open(name, _READING)
    before = os.fstat(descriptor)
    marks = None if known is None else known.of(before)
    if before.st_size > CHUNK_BYTES:
        large = FileText(descriptor, before, marks)
        seen = Snapshot(before, read_ns, is_ours=marks is not None)
        return Content(large, last_modified(before), seen, hash=marks.sha256 if marks else None)
    with open(descriptor, "rb", buffering=0) as file:
        text = file.readall()
        after = os.fstat(descriptor)
    if text is None:
        # Some files of the system are no more than a way to wait for it.
        raise _not_plain()
    if stamp(before) != stamp(after) or len(text) != after.st_size:
        return None
    seen = Snapshot(after, read_ns, is_ours=marks is not None)
    return Content(text, last_modified(after), seen, hash=marks.sha256 if marks else None)


def is_being_saved(folder: Folder, name: str) -> bool:
    """Tell whether a Jupyter server is in the middle of writing a file in place."""
    try:
        backup = folder.status(_BACKUP_PREFIX + name)
    except OSError:
        return False
    # Its modification time is copied from the notebook; its change time is its own.
    return time.time() - backup.st_ctime < _BACKUP_STALE_SECONDS


def is_unchanged(folder: Folder, name: str, base: Content, snapshot: Snapshot) -> bool:
    """Tell whether a file still is what was read."""
    now = folder.status(name)
    if is_being_saved(folder, name) or not snapshot.is_of(now):
        return False
    if snapshot.is_of_bytes(now):
        return True
    descriptor = folder.open(name, _READING)
    if isinstance(base.raw, FileText):
        return FileText(descriptor, now).marks.sha256 == base.raw.marks.sha256
    with open(descriptor, "rb", buffering=0) as file:
        return file.readall() == base.raw and snapshot.is_of(os.fstat(descriptor))


def last_modified(status: os.stat_result) -> datetime:
    """Give a file's time as the Contents API tells it."""
    return datetime.fromtimestamp(status.st_mtime, tz=timezone.utc)


def _not_plain() -> NotAPlainFile:
    message = "There is something at this path, but it is not a regular file; it is left alone."
    return NotAPlainFile(message)
