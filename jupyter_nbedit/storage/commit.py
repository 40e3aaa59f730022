"""One file: replaced whole, or made.

A file is never written in place. What is to stand there is written beside it, made durable, and
renamed over it, so that a reader sees the old or the new bytes and a crash leaves one of them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

from jupyter_nbedit.errors import Forbidden, NotAPlainFile, NotebookExists
from jupyter_nbedit.notebook.splices import Splice, pieces
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.attributes import copy_attributes, newer
from jupyter_nbedit.storage.folders import Folder, opened
from jupyter_nbedit.storage.leftovers import TEMPORARY, show_as_held
from jupyter_nbedit.storage.oserrors import refusals
from jupyter_nbedit.storage.snapshots import Snapshot, is_unchanged, last_modified

# Up to here, another thread costs more than the hashing.
_SMALL_BYTES = 100_000
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
        parts = list(pieces(base.raw, splices))
        with _beside(folder) as temporary:
            # What the old file lets others read is not theirs before it has its mode.
            with _made(folder, temporary, 0o600) as made, _hashing(parts) as digest:
                _write_all(made, parts)
                _copy_attributes(folder, name, made, snapshot)
                newer(folder, temporary, made, snapshot.stat)
                os.fsync(made)
                written = os.fstat(made)

            def put() -> None:
                if not is_unchanged(folder, name, base, snapshot):
                    raise Changed
                folder.replace(temporary, name)

            warnings = exchange(put, snapshot.stat, written)
        warnings.extend(_synced(folder))
    return Written(digest.result(), last_modified(written), warnings)


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
    parts = [memoryview(text)]
    path, name = os.path.split(path)
    with refusals(), opened(path) as folder:
        # A refusal that can be known before leaves not even a trace of a temporary file.
        _check_vacant(folder, name)
        try:
            with _beside(folder) as temporary:
                with _made(folder, temporary, 0o666) as made:
                    _write_all(made, parts)
                    os.fsync(made)
                    written = os.fstat(made)
                _put_where_nothing_is(folder, temporary, name)
        except FileExistsError:
            raise _exists() from None
        warnings = _synced(folder)
    return Written(_sha256(parts), last_modified(written), warnings)


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


def _copy_attributes(folder: Folder, name: str, made: int, snapshot: Snapshot) -> None:
    if os.name == "nt":
        return
    old = folder.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not snapshot.is_of(os.fstat(old)):
            raise Changed
        copy_attributes(old, made, snapshot.stat)
    finally:
        os.close(old)


@contextmanager
def _beside(folder: Folder) -> Iterator[str]:
    """Give a name for a temporary file; a failure leaves nothing under it."""
    temporary = TEMPORARY.format(secrets.token_hex(8))
    try:
        yield temporary
    except BaseException:
        with suppress(FileNotFoundError):
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
        # Unlike a rename, a link never replaces anything.
        folder.link(temporary, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        folder.replace(temporary, name)
    else:
        folder.unlink(temporary)


def _synced(folder: Folder) -> list[str]:
    """Make a new name durable; gives warnings, for the file itself is written."""
    try:
        folder.sync()
    except OSError as error:
        warning = (
            "The edit is in the file, but the folder could not be made durable "
            f"({os.strerror(error.errno or 0)}): a power failure may still undo it."
        )
        return [warning]
    return []


def _write_all(descriptor: int, parts: Iterable[memoryview]) -> None:
    """Write every byte; the system may take fewer than it is given."""
    for part in parts:
        pending = part
        while pending:
            pending = pending[os.write(descriptor, pending) :]


@contextmanager
def _hashing(parts: Sequence[memoryview]) -> Iterator[Future[str]]:
    """Hash while the caller writes: neither holds the interpreter for long."""
    if sum(map(len, parts)) <= _SMALL_BYTES:
        hashed: Future[str] = Future()
        hashed.set_result(_sha256(parts))
        yield hashed
        return
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(_sha256, parts)


def _sha256(parts: Sequence[memoryview]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
