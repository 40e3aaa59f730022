"""What a file has besides its bytes, kept when another takes its place."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from jupyter_nbedit.errors import NotAPlainFile

_MTIME_STEP_NS = 1_000_000


def copy_attributes(real: str, temporary: str, descriptor: int, status: os.stat_result) -> None:
    """Give the new file the mode, owner and attributes of the old one, but a newer time.

    Parameters
    ----------
    real
        The old file.
    temporary, descriptor
        The new file, open for writing.
    status
        What the old file's ``stat`` said when it was read.

    Raises
    ------
    NotAPlainFile
        If something cannot be kept.
    """
    now = time.time_ns()
    # Those who watch the file by its time, jupyter-collaboration among them, take an equal or older
    # one for no change and write over it.
    newer = max(now, status.st_mtime_ns + _MTIME_STEP_NS)
    if os.name == "nt":
        os.utime(temporary, ns=(now, newer))
        return
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:
            message = (
                "The notebook's file belongs to another user or group, and the server may not "
                "give a new file to them; replacing it would change its owner, so it is left alone."
            )
            raise NotAPlainFile(message) from None
    if hasattr(os, "listxattr"):
        _copy_extended(real, descriptor)
    # After the owner, whose change clears set-id bits, and an access list, whose mask this is.
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
    os.utime(descriptor, ns=(now, newer))


def _copy_extended(real: str, descriptor: int) -> None:
    try:
        names = os.listxattr(real)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return
        raise
    # From a folder's default access list a new file inherits one that the old file may not have.
    for name in set(os.listxattr(descriptor)) - set(names):
        with _kept(name):
            os.removexattr(descriptor, name)
    for name in names:
        with _kept(name):
            os.setxattr(descriptor, name, os.getxattr(real, name))


@contextmanager
def _kept(name: str) -> Iterator[None]:
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
