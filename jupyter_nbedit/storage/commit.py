"""One file: read whole, replaced whole.

A file is never written in place. What is to stand there is written beside it, made durable, and
renamed over it, so that a reader sees the old or the new bytes and a crash leaves one of them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone

from jupyter_nbedit.errors import (
    Forbidden,
    NoSpace,
    NotAPlainFile,
    NotebookExists,
    NotebookNotFound,
    StorageFailure,
)
from jupyter_nbedit.notebook.splices import Splice, pieces
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.attributes import copy_attributes

# jupyter_server writes in place and keeps the former bytes in `.~name` meanwhile. One that is older
# than any save takes was left by a crash.
_BACKUP_PREFIX = ".~"
_BACKUP_STALE_SECONDS = 30.0
# Two writes within one tick of a file system's clock leave the same time stamp; FAT's tick is the
# longest. Within it only the bytes themselves tell whether a file changed.
_TICK_NS = 2_000_000_000
# Up to here, another thread costs more than the hashing.
_SMALL_BYTES = 100_000
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# FAT and some network file systems have no hard links.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True)
class _Version:
    """What a file's ``stat`` said when it was read, and when that was."""

    stat: os.stat_result
    read_ns: int

    def same_stamp(self, now: os.stat_result) -> bool:
        return _stamp(self.stat) == _stamp(now)

    @property
    def certain(self) -> bool:
        """Whether an equal stamp proves equal bytes: every later write moves the change time."""
        return self.stat.st_ctime_ns < self.read_ns - _TICK_NS


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def read(real: str) -> Content | None:
    """Read a file; None if it changed meanwhile.

    Raises
    ------
    NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
    """
    read_ns = time.time_ns()
    with _failures():
        if not stat.S_ISREG(os.stat(real).st_mode):
            message = (
                "There is something at this path, but it is not a regular file; it is left alone."
            )
            raise NotAPlainFile(message)
        # Should a pipe take the file's place right now, opening it must not wait for a writer.
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb", buffering=0) as file:
            before = os.fstat(descriptor)
            text = file.readall()
            after = os.fstat(descriptor)
    if _stamp(before) != _stamp(after) or len(text) != after.st_size:
        return None
    return Content(text, _last_modified(after), _Version(after, read_ns))


def is_being_saved(real: str) -> bool:
    """Tell whether a Jupyter server is in the middle of writing a file in place."""
    folder, name = os.path.split(real)
    try:
        backup = os.lstat(os.path.join(folder, _BACKUP_PREFIX + name))
    except OSError:
        return False
    # Its modification time is copied from the notebook; its change time is its own.
    return time.time() - backup.st_ctime < _BACKUP_STALE_SECONDS


def replace(real: str, base: Content, splices: Sequence[Splice]) -> Written:
    """Put the spliced bytes in the file's place, durably, if it still is what was read.

    Parameters
    ----------
    real
        The file's path; no link.
    base
        What `read` gave.
    splices
        What changes in it.

    Raises
    ------
    Changed
        If the file is not what was read any more.
    NotebookNotFound, NotAPlainFile, Forbidden, NoSpace, StorageFailure
        Nothing was written.
    """
    version = base.version
    if not isinstance(version, _Version):
        message = f"Expected content that was read from a file, found {version!r}."
        raise TypeError(message)
    with _failures():
        _check_replaceable(real, version.stat)
        parts = pieces(base.text, splices)
        with _beside(real) as temporary:
            # What the old file lets others read is not theirs before it has its mode.
            with _created(temporary, 0o600) as descriptor, _hashing(parts) as digest:
                _write_all(descriptor, parts)
                copy_attributes(real, temporary, descriptor, version.stat)
                os.fsync(descriptor)
                written = os.fstat(descriptor)
            _check_unchanged(real, base, version)
            os.replace(temporary, real)
    return Written(digest.result(), _last_modified(written), _sync_folder_of(real))


def create(path: str, text: bytes) -> Written:
    """Write a file that was not there, durably, with the mode that new files get.

    Parameters
    ----------
    path
        Where; even a link that leads nowhere counts as something.
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
    with _failures():
        # A refusal that can be known before leaves not even a trace of a temporary file.
        check_vacant(path)
        try:
            with _beside(path) as temporary:
                with _created(temporary, 0o666) as descriptor:
                    _write_all(descriptor, parts)
                    os.fsync(descriptor)
                    written = os.fstat(descriptor)
                _put_where_nothing_is(temporary, path)
        except FileExistsError:
            raise _exists() from None
    return Written(_sha256(parts), _last_modified(written), _sync_folder_of(path))


def check_vacant(path: str) -> None:
    """Raise what `create` would raise, as far as that can be known before.

    Raises
    ------
    NotebookExists, NotebookNotFound, Forbidden
    """
    folder = os.path.dirname(path)
    if os.path.lexists(path):
        raise _exists()
    if not os.path.isdir(folder):
        raise NotebookNotFound
    if not os.access(folder, os.W_OK | os.X_OK):
        message = "The server may not write to this folder."
        raise Forbidden(message)


def _exists() -> NotebookExists:
    message = (
        "There is something at this path already, and it is never overwritten. Choose another "
        "path, or edit the notebook with PATCH."
    )
    return NotebookExists(message)


@contextmanager
def _beside(path: str) -> Iterator[str]:
    """Give a name for a temporary file in the same folder; a failure leaves nothing under it."""
    temporary = os.path.join(os.path.dirname(path), f".nbedit-{secrets.token_hex(8)}.tmp")
    try:
        yield temporary
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _put_where_nothing_is(temporary: str, path: str) -> None:
    try:
        # Unlike a rename, a link never replaces anything.
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
        os.replace(temporary, path)
    else:
        os.unlink(temporary)


def _sync_folder_of(path: str) -> list[str]:
    """Make a new name durable; gives warnings, for the file itself is written."""
    try:
        _sync_folder(os.path.dirname(path))
    except OSError as error:
        warning = (
            "The edit is in the file, but the folder could not be made durable "
            f"({os.strerror(error.errno or 0)}): a power failure may still undo it."
        )
        return [warning]
    return []


def _check_replaceable(real: str, status: os.stat_result) -> None:
    if status.st_nlink > 1:
        message = (
            f"The notebook's file has {status.st_nlink} names (hard links). Replacing it would "
            "separate them, so it is left alone; make a copy with a single name first."
        )
        raise NotAPlainFile(message, links=status.st_nlink)
    if not os.access(real, os.W_OK):
        # If it is only gone, this says so.
        os.stat(real)
        message = "The server may not write this notebook's file; nothing was written."
        raise Forbidden(message)


def _check_unchanged(real: str, base: Content, version: _Version) -> None:
    """Refuse to replace anything but what was read."""
    if is_being_saved(real) or not version.same_stamp(os.stat(real)):
        raise Changed
    if not version.certain:
        with open(real, "rb", buffering=0) as file:
            if file.readall() != base.text or not version.same_stamp(os.fstat(file.fileno())):
                raise Changed


@contextmanager
def _created(temporary: str, mode: int) -> Iterator[int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(temporary, flags | getattr(os, "O_BINARY", 0), mode)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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


def _sync_folder(folder: str) -> None:
    if os.name == "nt":
        # Windows has no way to flush a folder; its rename is a transaction of the file system.
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _last_modified(status: os.stat_result) -> datetime:
    return datetime.fromtimestamp(status.st_mtime, tz=timezone.utc)


@contextmanager
def _failures() -> Iterator[None]:
    """Turn what the operating system says into refusals, which name no path."""
    try:
        yield
    except OSError as error:
        code = error.errno or 0
        said = os.strerror(code)
        if code in _NOT_THERE:
            raise NotebookNotFound from error
        if code in _NOT_ALLOWED:
            message = (
                f"The server may not do this to the notebook's file ({said}); nothing was written."
            )
            raise Forbidden(message) from error
        if code in _NO_SPACE:
            message = f"There is no room for the edited notebook ({said}); nothing was written."
            raise NoSpace(message) from error
        message = f"The operating system failed ({said}); the file is as it was."
        raise StorageFailure(message, applied=False) from error
