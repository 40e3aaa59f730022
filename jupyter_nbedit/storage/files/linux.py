"""What Linux can do to files and Python has no call for; elsewhere it cannot be done.

Each of these may be refused by a file system, or by a container that allows only certain calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable

_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_NOTHING_THERE = 1
_EXCHANGE = 2
_WRITE_BACK = 2
_HERE = -100
_OPENAT2 = 437
_NO_SYMLINKS = 4
#: What a call answers that is not to be had here.
UNSUPPORTED_ERRNOS = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def _call(name: str, *types: object) -> Callable[..., int] | None:
    function = getattr(_LIBC, name, None)
    if function is None:
        return None
    function.argtypes = types

    def call(*arguments: object) -> int:
        while (answer := int(function(*arguments))) < 0:
            code = ctypes.get_errno()
            if code != errno.EINTR:
                raise OSError(code, os.strerror(code))
        return answer

    return call


_INT, _NAME, _SIZE = ctypes.c_int, ctypes.c_char_p, ctypes.c_int64
_renameat2 = _call("renameat2", _INT, _NAME, _INT, _NAME, ctypes.c_uint)
_fallocate = _call("fallocate64", _INT, _INT, _SIZE, _SIZE)
_sync_file_range = _call("sync_file_range", _INT, _SIZE, _SIZE, ctypes.c_uint)
_openat2 = _call("syscall", ctypes.c_long, _INT, _NAME, _NAME, ctypes.c_size_t)

#: Whether two names can be exchanged, if the file system can do it.
CAN_EXCHANGE = _renameat2 is not None


def rename(folder: int, one: str, other: str) -> None:
    """Rename an entry of an open folder to a name that nothing has.

    Raises
    ------
    OSError
        One of `UNSUPPORTED_ERRNOS` if that is not to be had here.
    """
    _rename(folder, one, other, _NOTHING_THERE)


def exchange(folder: int, one: str, other: str) -> None:
    """Let each of two names in an open folder stand for what the other stood for, at once.

    Raises
    ------
    OSError
        One of `UNSUPPORTED_ERRNOS` if that is not to be had here.
    """
    _rename(folder, one, other, _EXCHANGE)


def _rename(folder: int, one: str, other: str, how: int) -> None:
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    _renameat2(folder, os.fsencode(one), folder, os.fsencode(other), how)


def preallocate(descriptor: int, size: int) -> None:
    """Set so many bytes of the disk aside for a new file, where the file system can.

    Raises
    ------
    OSError
        If there is no room.
    """
    if _fallocate is None:
        return
    try:
        _fallocate(descriptor, 0, 0, size)
    except OSError as error:
        if error.errno not in UNSUPPORTED_ERRNOS:
            raise


def start_writeback(descriptor: int, start: int, size: int) -> None:
    """Have the system begin to bring a range of a file to the disk, where it can be told to."""
    if _sync_file_range is None:
        return
    try:
        _sync_file_range(descriptor, start, size, _WRITE_BACK)
    except OSError as error:
        # What the disk cannot take, `fsync` tells.
        if error.errno not in UNSUPPORTED_ERRNOS | {errno.EIO, errno.ENOSPC, errno.ESPIPE}:
            raise


def open_no_symlinks(path: str, flags: int) -> int:
    """Open a path none of whose parts is a link.

    Raises
    ------
    OSError
        One of `UNSUPPORTED_ERRNOS` if that is not to be had here; also what `os.open` raises.
    ValueError
        As `os.open` for what cannot be a path.
    """
    if _openat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if "\0" in path:
        message = "embedded null byte"
        raise ValueError(message)
    how = struct.pack("=QQQ", flags, 0, _NO_SYMLINKS)
    return _openat2(_OPENAT2, _HERE, os.fsencode(path), how, len(how))
