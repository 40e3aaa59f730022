"""An open directory, in which names stay valid when links on its path change.

Between checking a path and using it, a directory on the path may be replaced by a link. Therefore a
directory is opened once, without following links, and all operations apply to the open directory.
"""

from __future__ import annotations

import errno
import getpass
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from jupyter_nbedit.storage.files import native_calls
from jupyter_nbedit.system.os_calls import sync_file

if sys.platform != "win32":
    import pwd

_CALLS = {os.access, os.link, os.open, os.rename, os.stat, os.unlink}
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
# Directories on the path need not be readable.
_PATH_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_LINK

# Longer paths need a prefix, which switches all conversions of the path off.
_MAX_WINDOWS_PATH = 260


def get_account_name(number: int) -> str:
    """Return the name of a system account; its number if it has no name here."""
    if sys.platform != "win32":
        with suppress(KeyError):
            return pwd.getpwuid(number).pw_name
    return str(number)


def get_own_account_name() -> str:
    """Return the name of the system account that this process runs as."""
    return getpass.getuser() if sys.platform == "win32" else get_account_name(os.geteuid())


@contextmanager
def open_directory(real: str) -> Iterator[OpenDirectory]:
    """Open a directory by its path without links; raise `OSError` if it has one meanwhile."""
    if not os.supports_dir_fd >= _CALLS:
        # Windows cannot open directories, and only administrators create links there.
        yield OpenDirectory(real, None)
        return
    descriptor = _open(real)
    try:
        yield OpenDirectory(real, descriptor)
    finally:
        _close(descriptor)


def _open(real: str) -> int:
    try:
        return native_calls.open_no_symlinks(real, _PATH_FLAGS | _CLOSED_ON_EXEC)
    except OSError as error:
        # The length of a path in one system call is limited, the depth of directories is not.
        if error.errno not in native_calls.UNSUPPORTED_ERRNOS | {errno.ENAMETOOLONG}:
            raise
    descriptor = os.open(os.sep, _PATH_FLAGS | _CLOSED_ON_EXEC)
    for name in filter(None, real.split(os.sep)):
        outer = descriptor
        try:
            descriptor = os.open(name, _PATH_FLAGS | _CLOSED_ON_EXEC, dir_fd=outer)
        finally:
            _close(outer)
    return descriptor


def _close(descriptor: int) -> None:
    # Nothing was written through it, so a failure changes nothing.
    with suppress(OSError):
        os.close(descriptor)


class OpenDirectory:
    """Operations on the files of an open directory; links among them are never followed.

    The caller closes the descriptor. It is None if the system cannot open directories.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path = path
        self.descriptor = descriptor

    def get_path(self, name: str) -> str:
        """Return a name as system calls need it: itself, or a path if there is no descriptor."""
        if self.descriptor is not None:
            return name
        path = os.path.join(self._path, name)
        if sys.platform == "win32" and len(path) >= _MAX_WINDOWS_PATH:
            # The temporary name may be longer than that of the notebook.
            return f"\\\\?\\UNC{path[1:]}" if path.startswith("\\\\") else f"\\\\?\\{path}"
        return path

    def list_entries(self) -> list[tuple[str, bool]]:
        """Return the names in the directory, and whether they are, or link to, directories.

        Links that cannot be followed, such as links in a circle, are left out.
        """
        names = []
        with self._open_readable() as folder, os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    names.append((entry.name, entry.is_dir()))
        return names

    @contextmanager
    def _open_readable(self) -> Iterator[int | str]:
        """Yield what reads the directory: a descriptor, or its path if there is none."""
        if self.descriptor is None:
            yield self._path
            return
        descriptor = os.open(os.curdir, os.O_RDONLY | _CLOSED_ON_EXEC, dir_fd=self.descriptor)
        try:
            yield descriptor
        finally:
            _close(descriptor)

    def get_status(self, name: str) -> os.stat_result:
        """Return a file's ``lstat``."""
        return os.stat(self.get_path(name), dir_fd=self.descriptor, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file, or create it."""
        flags |= _NO_LINK | _CLOSED_ON_EXEC | _BINARY
        return os.open(self.get_path(name), flags, mode, dir_fd=self.descriptor)

    def may_write(self, name: str = os.curdir) -> bool:
        """Return whether this process may write a file, or create files in the directory itself."""
        mode = os.W_OK | os.X_OK if name == os.curdir else os.W_OK
        return os.access(self.get_path(name), mode, dir_fd=self.descriptor)

    def describe_denial(self) -> str:
        """Return that this process may not create files here; of the path only the last name."""
        owner = get_account_name(self.get_status(os.curdir).st_uid)
        name = os.path.basename(self._path) or os.sep
        return (
            f"the server, which runs as {get_own_account_name()!r}, may not create files in the "
            f"folder {name!r}, which belongs to {owner!r}"
        )

    def set_times(self, name: str, descriptor: int | None, times: tuple[int, int]) -> None:
        """Set the access and modification times of a file, in nanoseconds; it may be open."""
        if descriptor is None or os.utime not in os.supports_fd:
            os.utime(self.get_path(name), ns=times)
        else:
            os.utime(descriptor, ns=times)

    def replace(self, source: str, target: str) -> None:
        """Rename a file over another file."""
        folder = self.descriptor
        os.replace(
            self.get_path(source), self.get_path(target), src_dir_fd=folder, dst_dir_fd=folder
        )

    def rename(self, source: str, target: str) -> None:
        """Rename a file to a new name; raise `OSError` as `native_calls.rename` does."""
        native_calls.rename(self.descriptor, source, target, exchanges=False)

    def exchange(self, one: str, other: str) -> None:
        """Exchange two names atomically; raise `OSError` as `native_calls.rename` does."""
        native_calls.rename(self.descriptor, one, other, exchanges=True)

    def link(self, source: str, target: str) -> None:
        """Create a hard link with a name that does not exist."""
        folder = self.descriptor
        # Windows refuses the option, whatever its value.
        options = {"follow_symlinks": False} if os.link in os.supports_follow_symlinks else {}
        os.link(
            self.get_path(source),
            self.get_path(target),
            src_dir_fd=folder,
            dst_dir_fd=folder,
            **options,
        )

    def unlink(self, name: str) -> None:
        """Remove a name."""
        os.unlink(self.get_path(name), dir_fd=self.descriptor)

    def sync(self) -> None:
        """Make the names durable."""
        with self._open_readable() as folder:
            # Windows cannot flush a directory; its rename is a transaction of the file system.
            if isinstance(folder, int):
                sync_file(folder)
