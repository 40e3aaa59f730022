"""System calls of Linux and macOS for which Python has no function; unsupported elsewhere.

A file system may not support a call, and a container may forbid it.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable

_LIBC = None if sys.platform == "win32" else ctypes.CDLL(None, use_errno=True)
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
# The same on macOS.
_RENAME_EXCL = 4
_RENAME_SWAP = 2
_COPYFILE_ACL = 1
_COPYFILE_XATTR = 4
_SYNC_FILE_RANGE_WRITE = 2
_AT_FDCWD = -100
_OPENAT2 = 437
_RESOLVE_NO_SYMLINKS = 4
#: The errors of calls that are unsupported here.
UNSUPPORTED_ERRNOS = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}


def _bind(name: str, *types: object) -> Callable[..., int] | None:
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
_renameat2 = _bind("renameat2", _INT, _NAME, _INT, _NAME, ctypes.c_uint)
_fallocate = _bind("fallocate64", _INT, _INT, _SIZE, _SIZE)
_sync_file_range = _bind("sync_file_range", _INT, _SIZE, _SIZE, ctypes.c_uint)
# Elsewhere the number means another call.
_openat2 = (
    _bind("syscall", ctypes.c_long, _INT, _NAME, _NAME, ctypes.c_size_t)
    if sys.platform == "linux"
    else None
)


def find_rename() -> Callable[..., int] | None:
    """Return the call that can exchange two names; None if the system has none."""
    types = (_INT, _NAME, _INT, _NAME, ctypes.c_uint)
    return _bind("renameatx_np", *types) if sys.platform == "darwin" else _renameat2


def rename(folder: int | None, one: str, other: str, *, exchanges: bool) -> None:
    """Exchange two names in an open directory, or rename to a name that does not exist.

    Raise `OSError`, with one of `UNSUPPORTED_ERRNOS` if the system cannot do that.
    """
    call = find_rename()
    if call is None or folder is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if sys.platform == "darwin":
        flags = _RENAME_SWAP if exchanges else _RENAME_EXCL
    else:
        flags = _RENAME_EXCHANGE if exchanges else _RENAME_NOREPLACE
    call(folder, os.fsencode(one), folder, os.fsencode(other), flags)


def copy_macos_attributes(source: int, target: int) -> None:
    """Copy the access list and the extended attributes of an open file, such as Finder's tags.

    Raise `OSError`, with one of `UNSUPPORTED_ERRNOS` if the system cannot do that.
    """
    call = _bind("fcopyfile", _INT, _INT, ctypes.c_void_p, ctypes.c_uint32)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    call(source, target, None, _COPYFILE_ACL | _COPYFILE_XATTR)


def preallocate(descriptor: int, size: int) -> None:
    """Reserve disk space for a new file, if possible; raise `OSError` if there is not enough."""
    if _fallocate is None:
        return
    try:
        _fallocate(descriptor, 0, 0, size)
    except OSError as error:
        if error.errno not in UNSUPPORTED_ERRNOS:
            raise


def start_writeback(descriptor: int, start: int, size: int) -> None:
    """Start to write a range of a file to disk, where the system supports it."""
    if _sync_file_range is None:
        return
    try:
        _sync_file_range(descriptor, start, size, _SYNC_FILE_RANGE_WRITE)
    except OSError as error:
        # `fsync` reports errors of the disk.
        if error.errno not in UNSUPPORTED_ERRNOS | {errno.EIO, errno.ENOSPC, errno.ESPIPE}:
            raise


def open_no_symlinks(path: str, flags: int) -> int:
    """Open a path, refusing symbolic links in any of its parts; raise as `os.open` does.

    The error has one of `UNSUPPORTED_ERRNOS` if the system cannot do that.
    """
    if _openat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if "\0" in path:
        raise ValueError("embedded null byte")
    open_how = struct.pack("=QQQ", flags, 0, _RESOLVE_NO_SYMLINKS)
    return _openat2(_OPENAT2, _AT_FDCWD, os.fsencode(path), open_how, len(open_how))
