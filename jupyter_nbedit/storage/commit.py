"""One file: replaced whole, or made.

A file is never written in place. What is to stand there is written beside it, made durable, and
renamed over it, so that a reader sees the old or the new bytes and a crash leaves one of them.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from jupyter_nbedit.beside import waiting
from jupyter_nbedit.errors import Forbidden, NotAPlainFile, NotebookExists, StorageFailure
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.attributes import copy_attributes, newer
from jupyter_nbedit.storage.copying import copied, hash_of, write_all
from jupyter_nbedit.storage.folders import Folder, opened
from jupyter_nbedit.storage.kernel import REFUSED
from jupyter_nbedit.storage.leftovers import TEMPORARY, show_as_held
from jupyter_nbedit.storage.oserrors import refusals
from jupyter_nbedit.storage.snapshots import (
    Snapshot,
    has_its_bytes,
    last_modified,
    looks_unchanged,
    stamp_suffices,
)
from jupyter_nbedit.storage.swapping import Swap

# FAT and some network file systems have no hard links.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

#: Calls its first argument, which puts the new file in the place of the old one; it is told what
#: the two are, may see to it that others take the one for the other, and gives warnings.
Exchange = Callable[[Callable[[], None], os.stat_result, os.stat_result], list[str]]


def at_once(put: Callable[[], None], _old: os.stat_result, _new: os.stat_result) -> list[str]:
    """Exchange the files and tell nobody."""
    put()
    return []


def replace(
    real: str, base: Content, splices: Sequence[Splice], exchange: Exchange = at_once
) -> Written:
    """Put the spliced bytes in the file's place, durably, if it still is what was read.

    Parameters
    ----------
    real
        The file's path without links; one that has come to stand on it leads nowhere.
    base
        What was read.
    splices
        What changes in it.
    exchange
        Does the last step.

    Raises
    ------
    Changed
        If the file is not what was read any more.
    NotebookNotFound, NotAPlainFile, Forbidden, NoSpace, StorageFailure
        Nothing was written.
    """
    snapshot = base.version
    if not isinstance(snapshot, Snapshot):
        message = f"Expected content that was read from a file, found {snapshot!r}."
        raise TypeError(message)
    path, name = os.path.split(real)
    with refusals(), opened(path) as folder:
        _check_replaceable(folder, name, snapshot)
        with _still(folder, name, snapshot) as old, _beside(folder) as temporary:
            # What the old file lets others read is not theirs before it has its mode.
            with (
                _made(folder, temporary, 0o600) as made,
                copied(base.raw, splices, made) as hashing,
            ):
                if old is not None:  # pragma: no branch -- it is None on Windows only
                    copy_attributes(old, made, snapshot.stat)
                status = newer(folder, temporary, made, snapshot.stat)
                by_stamp = stamp_suffices(base, snapshot, made)
                waiting()
                os.fsync(made)

            def unchanged() -> bool:
                is_same = looks_unchanged(folder, name, snapshot)
                return is_same and (by_stamp or has_its_bytes(folder, name, base))

            marks = hashing.result()
            swap = Swap(folder, (temporary, name), old, (snapshot.stat, status), unchanged)
            # Here, for the exchange may be made on the loop's thread.
            swap.wait()
            warnings = exchange(swap.put, snapshot.stat, status)
            with suppress(OSError):
                # If it cannot go now, it is swept up later.
                folder.unlink(temporary)
            now = _status_of(folder, name, status)
        warnings.extend(_synced(folder))
    when = last_modified(status)
    return Written(marks.sha256, when, warnings, guard=swap.guard, status=now, marks=marks)


def create(path: str, text: bytes) -> Written:
    """Write a file that was not there, durably, with the mode that new files get.

    Parameters
    ----------
    path
        Where, in a folder by its path without links; even a link that leads nowhere counts as
        something.
    text
        Its bytes.

    Raises
    ------
    NotebookExists
        If there is something.
    NotebookNotFound, Forbidden, NoSpace, StorageFailure
        Nothing was written.
    """
    path, name = os.path.split(path)
    with refusals(), opened(path) as folder:
        # A refusal that can be known before leaves not even a trace of a temporary file.
        _check_vacant(folder, name)
        try:
            with _beside(folder) as temporary:
                with _made(folder, temporary, 0o666) as made:
                    write_all(made, text)
                    os.fsync(made)
                    written = os.fstat(made)
                _put_where_nothing_is(folder, temporary, name)
        except FileExistsError:
            raise _exists() from None
        warnings = _synced(folder)
    return Written(hash_of(text).sha256, last_modified(written), warnings)


def check_vacant(path: str) -> None:
    """Raise what `create` would raise, as far as that can be known before.

    Raises
    ------
    NotebookExists, NotebookNotFound, Forbidden
    """
    path, name = os.path.split(path)
    with refusals(), opened(path) as folder:
        _check_vacant(folder, name)


def _check_vacant(folder: Folder, name: str) -> None:
    with suppress(FileNotFoundError):
        folder.status(name)
        raise _exists()
    if not folder.may_write():
        message = "The server may not write to this folder."
        raise Forbidden(message)


def _exists() -> NotebookExists:
    message = (
        "There is something at this path already, and it is never overwritten. Choose another "
        "path, or edit the notebook with PATCH."
    )
    return NotebookExists(message)


def _check_replaceable(folder: Folder, name: str, snapshot: Snapshot) -> None:
    links = snapshot.stat.st_nlink
    if links > 1:
        message = (
            f"The notebook's file has {links} names (hard links). Replacing it would separate "
            "them, so it is left alone; make a copy with a single name first."
        )
        raise NotAPlainFile(message, links=links)
    # What is there instead may be a link by now, and what it leads to is nobody's business here.
    if not snapshot.is_of(folder.status(name)):
        raise Changed
    if not folder.may_write(name):
        message = "The server may not write this notebook's file; nothing was written."
        raise Forbidden(message)


def _status_of(folder: Folder, name: str, made: os.stat_result) -> os.stat_result | None:
    """Give a new file's status now that it has its name, unless somebody has written it since."""
    try:
        now = folder.status(name)
    except OSError:
        return None
    is_same = (now.st_ino, now.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)
    return now if is_same else None


@contextmanager
def _still(folder: Folder, name: str, snapshot: Snapshot) -> Iterator[int | None]:
    """Open the file that was read, where the system lets open files be replaced."""
    if os.name == "nt":
        yield None
        return
    old = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not snapshot.is_of(os.fstat(old)):
            raise Changed
        yield old
    finally:
        with suppress(OSError):
            # Nothing was written by it, and the new file may be in its place already.
            os.close(old)


@contextmanager
def _beside(folder: Folder) -> Iterator[str]:
    """Give a name for a temporary file; a failure leaves nothing under it."""
    temporary = TEMPORARY.format(secrets.token_hex(8))
    try:
        yield temporary
    except BaseException as error:
        # Where nobody knows what has which name, it may be what another program wrote.
        known = not isinstance(error, StorageFailure) or error.details["applied"] is not None
        if known:
            with suppress(OSError):
                folder.unlink(temporary)
        raise


@contextmanager
def _made(folder: Folder, temporary: str, mode: int) -> Iterator[int]:
    descriptor = folder.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        show_as_held(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _put_where_nothing_is(folder: Folder, temporary: str, name: str) -> None:
    try:
        folder.rename(temporary, name)
    except OSError as error:
        if error.errno not in REFUSED:
            raise
    else:
        return
    try:
        # Nor does a link ever replace anything.
        folder.link(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        folder.replace(temporary, name)
    else:
        with suppress(OSError):
            # The notebook is there; if this cannot go now, it is swept up later.
            folder.unlink(temporary)


def _synced(folder: Folder) -> list[str]:
    """Make a new name durable; gives warnings, for the file itself is written."""
    waiting()
    try:
        folder.sync()
    except OSError as error:
        warning = (
            "The edit is in the file, but the folder could not be made durable "
            f"({os.strerror(error.errno or 0)}): a power failure may still undo it."
        )
        return [warning]
    return []
