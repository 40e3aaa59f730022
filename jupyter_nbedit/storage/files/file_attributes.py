"""Copy the mode, owner, extended attributes and times of a file to its replacement."""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from jupyter_nbedit.errors import NotAPlainFile
from jupyter_nbedit.storage.files import native_calls
from jupyter_nbedit.storage.files.directory import (
    OpenDirectory,
    get_account_name,
    get_own_account_name,
)

if sys.platform != "win32":
    import grp

# The steps that make a later time: usually a millisecond, on FAT two seconds.
_STEPS_NS = (1_000_000, 1_000_000_000, 2_000_000_000)


def advance_mtime(
    folder: OpenDirectory, name: str, descriptor: int | None, status: os.stat_result
) -> os.stat_result:
    """Set a later modification time than the old file has, and return the new ``stat``.

    `descriptor` is None if the new file is closed already.

    Programs that watch the file by its time, such as jupyter-collaboration, take an equal or
    earlier time for no change and overwrite the file.
    """
    now = time.time_ns()
    for step in _STEPS_NS:
        folder.set_times(name, descriptor, (now, max(now, status.st_mtime_ns + step)))
        # The file system rounds the time.
        new_status = folder.get_status(name) if descriptor is None else os.fstat(descriptor)
        if new_status.st_mtime_ns > status.st_mtime_ns:
            break
    return new_status


def copy_attributes(original: int, new_file: int, status: os.stat_result) -> None:
    """Copy mode, owner and attributes to the new file; raise `NotAPlainFile` if one cannot be."""
    if sys.platform == "win32":
        # The new file has the permissions of its folder.
        return
    new_status = os.fstat(new_file)
    if (new_status.st_uid, new_status.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(new_file, status.st_uid, status.st_gid)
        except PermissionError:
            raise NotAPlainFile(
                f"The notebook's file belongs to {get_account_name(status.st_uid)!r} and the group "
                f"{_get_group_name(status.st_gid)!r}. An edit replaces the file, and the server, "
                f"which runs as {get_own_account_name()!r}, may not give a new file to them, so it "
                "was not changed. Make a copy that belongs to the server's account, and edit that."
            ) from None
    if sys.platform == "darwin":
        _copy_macos_attributes(original, new_file)
    else:
        _copy_extended(original, new_file)
    # After the owner, whose change clears set-id bits, and after an access list, whose mask this
    # sets.
    os.fchmod(new_file, stat.S_IMODE(status.st_mode))


def _get_group_name(number: int) -> str:
    """Return the name of a group; its number if it has no name here."""
    if sys.platform != "win32":
        with suppress(KeyError):
            return grp.getgrgid(number).gr_name
    return str(number)


def _copy_macos_attributes(original: int, new_file: int) -> None:
    try:
        native_calls.copy_macos_attributes(original, new_file)
    except OSError as error:
        if error.errno not in {errno.ENOSYS, errno.ENOTSUP}:
            raise NotAPlainFile(
                "The access list and the extended attributes of the notebook's file cannot be "
                f"copied to a new file ({os.strerror(error.errno or 0)}). The file was not changed."
            ) from None


def _copy_extended(original: int, new_file: int) -> None:
    if sys.platform != "linux":
        return
    try:
        names = os.listxattr(original)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return
        raise
    # A new file may inherit an access list from its directory that the old file does not have.
    for name in set(os.listxattr(new_file)) - set(names):
        with _map_attribute_errors(name):
            os.removexattr(new_file, name)
    for name in names:
        with _map_attribute_errors(name):
            os.setxattr(new_file, name, os.getxattr(original, name))


@contextmanager
def _map_attribute_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # The system labels new files itself, by rules that users may not override.
        if not name.startswith("security."):
            message = (
                f"The extended attribute {name!r} of the notebook's file cannot be copied to a "
                f"new file ({os.strerror(error.errno or 0)}). The file was not changed."
            )
            raise NotAPlainFile(message, attribute=name) from None
