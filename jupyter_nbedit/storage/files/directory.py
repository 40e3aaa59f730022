"""An open folder, in which a name means the same however often its path is given to others.

Who checks a path and then uses it may by then be led elsewhere, by a link that somebody has put in
the place of a folder. So a folder is opened once, no link on its path being followed, and all that
is done in it is done to what was opened.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from jupyter_nbedit.storage.files import linux

_CALLS = {os.access, os.link, os.open, os.rename, os.stat, os.unlink}
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
# A folder on the way need not be readable, only to be passed through.
_PASSING = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_LINK


@contextmanager
def open_directory(real: str) -> Iterator[OpenDirectory]:
    """Open a folder.

    Parameters
    ----------
    real
        Its absolute path without links; a link that has come to stand on it is an error.

    Raises
    ------
    OSError
    """
    if not os.supports_dir_fd >= _CALLS:
        # Windows opens no folders, and only its administrators make links.
        yield OpenDirectory(real, None)
        return
    descriptor = _open(real)
    try:
        yield OpenDirectory(real, descriptor)
    finally:
        _close(descriptor)


def _open(real: str) -> int:
    try:
        return linux.open_no_symlinks(real, _PASSING | _CLOSED_ON_EXEC)
    except OSError as error:
        # One path given to the system is short, and a folder may nest as deep as it likes.
        if error.errno not in linux.UNSUPPORTED_ERRNOS | {errno.ENAMETOOLONG}:
            raise
    descriptor = os.open(os.sep, _PASSING | _CLOSED_ON_EXEC)
    for name in filter(None, real.split(os.sep)):
        outer = descriptor
        try:
            descriptor = os.open(name, _PASSING | _CLOSED_ON_EXEC, dir_fd=outer)
        finally:
            _close(outer)
    return descriptor


def _close(descriptor: int) -> None:
    # Nothing was written by it, and what was done in the folder is done, whatever is said now.
    with suppress(OSError):
        os.close(descriptor)


class OpenDirectory:
    """What is done to the files of an open folder; a link among them is never followed.

    Parameters
    ----------
    path
        Where it was when it was opened.
    descriptor
        The open folder, kept open by who has opened it; None where the system has no such thing.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path = path
        self.descriptor = descriptor

    def get_path(self, name: str) -> str:
        """Return what the system's calls want for a name: itself, or a path without descriptors."""
        return os.path.join(self._path, name) if self.descriptor is None else name

    def list_names(self) -> list[str]:
        """List the folder."""
        if self.descriptor is None:
            return os.listdir(self._path)
        descriptor = os.open(os.curdir, os.O_RDONLY | _CLOSED_ON_EXEC, dir_fd=self.descriptor)
        try:
            return os.listdir(descriptor)
        finally:
            os.close(descriptor)

    def get_status(self, name: str) -> os.stat_result:
        """Return a file's ``lstat``."""
        return os.stat(self.get_path(name), dir_fd=self.descriptor, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file, or make it."""
        flags |= _NO_LINK | _CLOSED_ON_EXEC | _BINARY
        return os.open(self.get_path(name), flags, mode, dir_fd=self.descriptor)

    def may_write(self, name: str = os.curdir) -> bool:
        """Return whether this process may write a file, or new files in the folder itself."""
        mode = os.W_OK | os.X_OK if name == os.curdir else os.W_OK
        return os.access(self.get_path(name), mode, dir_fd=self.descriptor)

    def set_times(self, name: str, descriptor: int, times: tuple[int, int]) -> None:
        """Set when an open file was read and written, in nanoseconds."""
        os.utime(descriptor if os.utime in os.supports_fd else self.get_path(name), ns=times)

    def replace(self, source: str, target: str) -> None:
        """Rename a file, and replace what has that name."""
        here = self.descriptor
        os.replace(self.get_path(source), self.get_path(target), src_dir_fd=here, dst_dir_fd=here)

    def rename(self, source: str, target: str) -> None:
        """Rename a file to a name that nothing has.

        Raises
        ------
        OSError
            One of `linux.REFUSED` if that is not to be had here.
        """
        if self.descriptor is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        linux.rename(self.descriptor, source, target)

    def exchange(self, one: str, other: str) -> None:
        """Let each of two names stand for what the other stood for, at once.

        Raises
        ------
        OSError
            One of `linux.REFUSED` if that is not to be had here.
        """
        if self.descriptor is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        linux.exchange(self.descriptor, one, other)

    def link(self, source: str, target: str) -> None:
        """Link a file under a second name that nothing has."""
        here = self.descriptor
        os.link(
            self.get_path(source),
            self.get_path(target),
            src_dir_fd=here,
            dst_dir_fd=here,
            follow_symlinks=here is None,
        )

    def unlink(self, name: str) -> None:
        """Take a name from a file."""
        os.unlink(self.get_path(name), dir_fd=self.descriptor)

    def sync(self) -> None:
        """Make the names durable."""
        if self.descriptor is None:
            # Windows has no way to flush a folder; its rename is a transaction of the file system.
            return
        descriptor = os.open(os.curdir, os.O_RDONLY | _CLOSED_ON_EXEC, dir_fd=self.descriptor)
        try:
            os.fsync(descriptor)
        finally:
            _close(descriptor)
