"""What a file has besides its bytes, kept when another takes its place."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_nbedit.errors import NotAPlainFile
from jupyter_nbedit.storage.files.directory import OpenDirectory

# By how much a time must be later to be another one: mostly a millisecond, on FAT two seconds.
_STEPS_NS = (1_000_000, 1_000_000_000, 2_000_000_000)


def advance_mtime(
    folder: OpenDirectory, name: str, descriptor: int, status: os.stat_result
) -> os.stat_result:
    """Set the time of a new file to one later than that of the old file.

    Those who watch the file by its time, jupyter-collaboration among them, take an equal or older
    one for no change and write over it.

    Parameters
    ----------
    folder, name, descriptor
        The new file, open for writing, and where it is.
    status
        What the old file's ``stat`` said when it was read.

    Returns
    -------
    What the new file's says then.
    """
    now = time.time_ns()
    for step in _STEPS_NS:
        folder.set_times(name, descriptor, (now, max(now, status.st_mtime_ns + step)))
        # The file system keeps what it can express of that.
        written = os.fstat(descriptor)
        if written.st_mtime_ns > status.st_mtime_ns:
            break
    return written


def copy_attributes(old: int, made: int, status: os.stat_result) -> None:
    """Copy the mode, owner and attributes of the old file to the new one.

    Parameters
    ----------
    old, made
        The old file, and the new one, open for writing.
    status
        What the old file's ``stat`` said when it was read.

    Raises
    ------
    NotAPlainFile
        If something cannot be kept.
    """
    own = os.fstat(made)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(made, status.st_uid, status.st_gid)
        except PermissionError:
            message = (
                "The notebook's file belongs to another user or group, and the server may not "
                "give a new file to them; replacing it would change its owner, so it is left alone."
            )
            raise NotAPlainFile(message) from None
    if hasattr(os, "listxattr"):
        _copy_extended(old, made)
    # After the owner, whose change clears set-id bits, and an access list, whose mask this is.
    os.fchmod(made, stat.S_IMODE(status.st_mode))


def _copy_extended(old: int, made: int) -> None:
    try:
        names = os.listxattr(old)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return
        raise
    # From a folder's default access list a new file inherits one that the old file may not have.
    for name in set(os.listxattr(made)) - set(names):
        with _map_attribute_errors(name):
            os.removexattr(made, name)
    for name in names:
        with _map_attribute_errors(name):
            os.setxattr(made, name, os.getxattr(old, name))


@contextmanager
def _map_attribute_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The system labels new files itself, by rules an ordinary user may not override.
        if not name.startswith("security."):
            message = (
                f"The notebook's file cannot be kept as it is: its extended attribute {name!r} is "
                f"not to be copied ({os.strerror(error.errno or 0)}). The file is left alone."
            )
            raise NotAPlainFile(message, attribute=name) from None
