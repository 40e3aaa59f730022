"""Private copies of notebooks that are open, so that a change by another program can be undone.

Most programs write files in place, which destroys the version before. The copies are files, since
they would take too much memory; where the file system can, they share the blocks of the notebook.
"""

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from logging import Logger
from pathlib import Path
from threading import Lock

from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer, iterate_chunks
from jupyter_nbedit.storage.files.lazy_bytes import LazyFileBytes, ResumableSha256

if sys.platform != "win32":
    import fcntl

_PREFIX = "versions-"
_LOCK_NAME = "lock"
# Folders without a lock are in use if they were changed so recently; on Windows there are no locks.
_NEW_SECONDS = 86_400.0 if sys.platform == "win32" else 60.0
_MAX_BYTES = 256 * 1024 * 1024
_CANNOT_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}


@dataclass(frozen=True, eq=False)
class VersionCopy:
    """A copy of the bytes of a notebook; the store may have removed it."""

    path: str
    size: int

    def read(self) -> Buffer | None:
        """Return the bytes, or a lazy buffer if they are large; None if the copy was removed."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError:
            return None
        try:
            if self.size > CHUNK_BYTES:
                status = os.fstat(descriptor)
                # The empty hash means that nothing is hashed in the background.
                return LazyFileBytes(os.dup(descriptor), status, ResumableSha256())
            data = os.read(descriptor, self.size + 1)
        except OSError:
            return None
        finally:
            os.close(descriptor)
        return data if len(data) == self.size else None


@dataclass
class VersionCopies:
    """The copies of one server, in a folder of their own that only its user can read.

    All together have at most ``max_bytes``; the oldest are removed first. Nothing is stored if the
    Contents API serves the folder. It may be used by several threads.
    """

    parent: Path
    log: Logger
    _: KW_ONLY
    is_exposed: Callable[[Path], bool] = lambda _: False
    max_bytes: int = _MAX_BYTES
    _copies: dict[VersionCopy, None] = field(default_factory=dict)
    _folder: str | None = None
    _lock_file: int | None = None
    _lock: Lock = field(default_factory=Lock)
    _has_failed: bool = False

    def add(self, data: Buffer) -> VersionCopy | None:
        """Copy the bytes of a notebook; return None if there is no room for them.

        Raise `ChangedDuringRead` if the file has changed since it was read.
        """
        size = len(data)
        if size > self.max_bytes or self.is_exposed(self.parent):
            return None
        try:
            with self._lock:
                folder = self._make_folder()
            descriptor, path = tempfile.mkstemp(dir=folder)
        except OSError as error:
            self._folder = None
            self._warn(error)
            return None
        try:
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                _copy(data, file.fileno())
        except BaseException as error:
            with suppress(OSError):
                Path(path).unlink()
            if not isinstance(error, OSError):
                raise
            self._warn(error)
            return None
        copy = VersionCopy(path, size)
        with self._lock:
            self._copies[copy] = None
            outdated = self._list_outdated()
        for old in outdated:
            self.remove(old)
        return copy

    def remove(self, copy: VersionCopy | None) -> None:
        """Remove a copy that is not needed any more."""
        if copy is None:
            return
        with self._lock:
            self._copies.pop(copy, None)
        # A reader that has the copy open can go on; on Windows the copy is removed later.
        with suppress(OSError):
            Path(copy.path).unlink()

    def close(self) -> None:
        """Remove all copies."""
        with self._lock:
            folder, self._folder = self._folder, None
            lock_file, self._lock_file = self._lock_file, None
            self._copies.clear()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        if lock_file is not None:
            os.close(lock_file)

    def _list_outdated(self) -> list[VersionCopy]:
        total = sum(copy.size for copy in self._copies)
        outdated: list[VersionCopy] = []
        for copy in self._copies:
            if total <= self.max_bytes:
                break
            outdated.append(copy)
            total -= copy.size
        return outdated

    def _make_folder(self) -> str:
        if self._folder is None:
            self.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_leftovers(self.parent)
            folder = tempfile.mkdtemp(prefix=_PREFIX, dir=self.parent)
            self._lock_file = _lock_folder(folder)
            self._folder = folder
        return self._folder

    def _warn(self, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            self.log.warning("Changes by other programs cannot be undone: %s", error)


def _copy(data: Buffer, target: int) -> None:
    """Write bytes to a file; the kernel copies them if they are the bytes of another file."""
    if isinstance(data, LazyFileBytes):
        try:
            data.copy_to(target)
        except OSError as error:
            if error.errno not in _CANNOT_COPY:
                raise
            os.ftruncate(target, 0)
        else:
            return
    os.lseek(target, 0, os.SEEK_SET)
    for chunk in iterate_chunks(data):
        position = 0
        while position < len(chunk):
            position += os.write(target, chunk[position:])


def _lock_folder(folder: str) -> int | None:
    """Show other servers that the folder is in use."""
    if sys.platform == "win32":
        return None
    descriptor = os.open(os.path.join(folder, _LOCK_NAME), os.O_CREAT | os.O_RDWR, 0o600)
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return descriptor


def _remove_leftovers(parent: Path) -> None:
    """Remove the folders of servers that were killed."""
    for folder in parent.glob(f"{_PREFIX}*"):
        if not _is_in_use(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_in_use(folder: Path) -> bool:
    try:
        is_new = time.time() - folder.stat().st_mtime < _NEW_SECONDS
        if is_new or sys.platform == "win32":
            # It may not be locked yet.
            return is_new
        descriptor = os.open(folder / _LOCK_NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
