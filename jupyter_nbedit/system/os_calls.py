"""Calls to the operating system that need more care on macOS or Windows."""

import errno
import os
import random
import sys
import time
from collections.abc import Callable
from typing import TypeVar

if sys.platform != "win32":
    import fcntl

_Result = TypeVar("_Result")

# The codes of Windows for a file that another program has open, and for a locked file.
_IN_USE_CODES = {32, 33}
#: The code of Windows for a missing permission, and for some files that another program has open.
_ACCESS_DENIED = 5
#: The longest waits between the tries, in seconds: less than two seconds together.
_WAITS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.4, 0.4, 0.4)
# The errors of file systems that cannot empty the cache of their disk.
_NO_FULL_SYNC_ERRNOS = {errno.ENOTSUP, errno.EINVAL, errno.ENOTTY}


def sync_file(descriptor: int) -> None:
    """Make the bytes of an open file, or the names in an open folder, durable."""
    if sys.platform == "darwin":
        # There, `fsync` leaves the bytes in the cache of the disk.
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC_ERRNOS:
                raise
        else:
            return
    os.fsync(descriptor)


def retry_while_in_use(call: Callable[[], _Result]) -> _Result:
    """Make a call again while Windows refuses it because another program has the file open.

    Antivirus programs and indexers open new files for moments. This waits for up to two seconds:
    use it on a thread that may wait. Raise the error of the last try.
    """
    for wait in _WAITS:
        try:
            return call()
        except PermissionError as error:
            if not is_in_use(error) and not is_denied_by_windows(error):
                raise
        # Two servers that wait for each other must not go on in step.
        time.sleep(wait * random.uniform(0.5, 1))  # noqa: S311 -- it is no secret
    return call()


def is_in_use(error: OSError) -> bool:
    """Return whether Windows has refused a call because another program has the file open."""
    return getattr(error, "winerror", None) in _IN_USE_CODES


def is_denied_by_windows(error: OSError) -> bool:
    """Return whether Windows has denied access: it may be forbidden, or the file may be in use."""
    return getattr(error, "winerror", None) == _ACCESS_DENIED
