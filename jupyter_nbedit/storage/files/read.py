"""Read one file, and check whether the file has changed since it was read."""

from __future__ import annotations

import os
import stat
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from threading import Lock

from jupyter_nbedit.errors import NotAPlainFile, NotebookNotFound
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory
from jupyter_nbedit.storage.files.lazy_bytes import (
    LazyFileBytes,
    ResumableSha256,
    get_change_ns,
    get_stat_identity,
)
from jupyter_nbedit.storage.os_errors import map_os_errors
from jupyter_nbedit.storage.write_log import Identity
from jupyter_nbedit.system.lru import LRUCache

# jupyter_server writes in place; meanwhile `.~name` contains the previous bytes. If `.~name` is
# older than the time that any save takes, a crash has left it.
_BACKUP_PREFIX = ".~"
_BACKUP_STALE_SECONDS = 30.0
# Two writes within one tick of the file system's clock leave the same time; FAT has the longest
# tick. Within a tick only the bytes show whether a file has changed.
_TICK_NS = 2_000_000_000
# If so many changes in so short a time have different times, each change gets a time of its own.
_CHANGES = 8
_CHANGES_NS = 5_000_000
# If a pipe has replaced the file, opening it must not wait for a writer.
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


# The most files whose hashes are remembered.
_MAX_ENTRIES = 256
_MICROSECOND_NS = 1000


@dataclass(frozen=True)
class Snapshot:
    """The ``stat`` of a file when it was read, and the time of reading in nanoseconds.

    `has_unique_times` says that no later write leaves the same time stamps.
    """

    stat: os.stat_result
    read_ns: int
    has_unique_times: bool = False

    def matches(self, status: os.stat_result) -> bool:
        """Return whether a file looks unmodified since."""
        return get_stat_identity(self.stat) == get_stat_identity(status)

    @property
    def is_quiet(self) -> bool:
        """Whether every write since then has changed the time stamps."""
        return self.has_unique_times or get_change_ns(self.stat) < self.read_ns - _TICK_NS


def read_file(real: str, hashes: FileHashCache | None = None) -> Content | None:
    """Read a file by its path without links; return None if it changes, or is being saved.

    If a link has replaced the file, it is not followed. Raise `NotebookNotFound`, `NotAPlainFile`,
    `Forbidden` or `StorageFailure`.
    """
    path, name = os.path.split(real)
    with map_os_errors(), open_directory(path) as folder:
        return None if is_being_saved(folder, name) else _read(folder, name, hashes)


def check_file(real: str) -> None:
    """Raise as `read_file` does if a path is not a regular, readable file."""
    path, name = os.path.split(real)
    with map_os_errors(), open_directory(path) as folder:
        _check_regular(folder, name)
        os.close(folder.open(name, _READING))


def _check_regular(folder: OpenDirectory, name: str) -> None:
    mode = folder.get_status(name).st_mode
    if stat.S_ISLNK(mode):
        # Links were resolved before: this one is new and leads elsewhere.
        raise NotebookNotFound
    if not stat.S_ISREG(mode):
        raise _build_not_plain_error()


def _read(folder: OpenDirectory, name: str, hashes: FileHashCache | None) -> Content | None:
    read_ns = time.time_ns()
    _check_regular(folder, name)
    descriptor = folder.open(name, _READING)
    try:
        status = os.fstat(descriptor)
        known_hash = None if hashes is None else hashes.get(status)
        data: Buffer
        # Windows does not replace a file that is open.
        is_kept_open = status.st_size > CHUNK_BYTES and sys.platform != "win32"
        if is_kept_open:
            is_quiet = Snapshot(status, read_ns).is_quiet
            on_hash = hashes.add if hashes is not None and is_quiet else None
            data = LazyFileBytes(os.dup(descriptor), status, known_hash, on_hash)
        else:
            data = _read_bytes(descriptor, status.st_size)
            status_after = os.fstat(descriptor)
            if (
                get_stat_identity(status) != get_stat_identity(status_after)
                or len(data) != status.st_size
            ):
                return None
    except BlockingIOError:
        # Reading some files of the system blocks.
        raise _build_not_plain_error() from None
    finally:
        os.close(descriptor)
    snapshot = Snapshot(status, read_ns, has_unique_times=known_hash is not None)
    file_hash = None if known_hash is None else known_hash.hexdigest
    return Content(data, get_last_modified(status), snapshot, hash=file_hash)


def is_being_saved(folder: OpenDirectory, name: str) -> bool:
    """Return whether a Jupyter server is writing a file in place now."""
    try:
        backup = folder.get_status(_BACKUP_PREFIX + name)
    except OSError:
        return False
    # Its modification time is copied from the notebook; its change time is not.
    return time.time() - backup.st_ctime < _BACKUP_STALE_SECONDS


def are_timestamps_reliable(base: Content, snapshot: Snapshot, new_file: int) -> bool:
    """Return whether a change of a file since it was read is certain to change its times.

    Parameters
    ----------
    base, snapshot
        What was read of the file.
    new_file
        The descriptor of a new file next to it, open for writing; its mode is set anew.
    """
    if snapshot.is_quiet:
        return True
    # The inode of an open file stays in memory, together with the mark that its times were read.
    return isinstance(base.data, LazyFileBytes) and _has_fine_grained_ctime(
        new_file, snapshot.stat.st_dev
    )


def _has_fine_grained_ctime(new_file: int, device: int) -> bool:
    """Return whether each change of a file gets a time of its own after its times were read.

    Linux does so since 6.13 on the usual file systems of disks.
    """
    status = os.fstat(new_file)
    if sys.platform == "win32" or status.st_dev != device:
        return False
    times = {status.st_ctime_ns}
    deadline = time.monotonic_ns() + _CHANGES_NS
    for _ in range(_CHANGES):
        os.fchmod(new_file, stat.S_IMODE(status.st_mode))
        times.add(os.fstat(new_file).st_ctime_ns)
    # A clock with ticks, even of a millisecond, does not tick so often in this time.
    return len(times) > _CHANGES and time.monotonic_ns() < deadline


def has_same_content(folder: OpenDirectory, name: str, base: Content) -> bool:
    """Return whether a file has the bytes that were read."""
    descriptor = folder.open(name, _READING)
    try:
        status = os.fstat(descriptor)
        if isinstance(base.data, LazyFileBytes):
            text = LazyFileBytes(os.dup(descriptor), status)
            return text.compute_sha256() == base.data.compute_sha256()
        return _read_bytes(descriptor, status.st_size) == base.data
    finally:
        os.close(descriptor)


def _read_bytes(descriptor: int, size: int) -> bytes:
    # One byte more, to detect a longer file.
    text = os.read(descriptor, size + 1)
    while len(text) < size and (part := os.read(descriptor, size + 1 - len(text))):
        # One system call may read fewer bytes.
        text += part
    return text


def get_content_identity(content: Content) -> Identity:
    """Return the identity of the file that was read; None if it was not read from a file."""
    snapshot = content.version
    return get_stat_identity(snapshot.stat) if isinstance(snapshot, Snapshot) else None


def get_last_modified(status: os.stat_result) -> datetime:
    """Return a file's modification time as in the Contents API."""
    return datetime.fromtimestamp(status.st_mtime, tz=timezone.utc)


def _build_not_plain_error() -> NotAPlainFile:
    message = "There is something at this path, but it is not a regular file; it was not changed."
    return NotAPlainFile(message)


class FileHashCache:
    """Stores hashes of files, and recognizes files that were not written since they were hashed.

    A file is recognized by its times. Two writes within one tick of the file system's clock leave
    the same times, so the hash of a new file is not stored at once. Files that this server has
    written are an exception: they get a modification time that no later write leaves, to the
    nanosecond. Windows has no such exception, because its clock has long ticks. Several threads may
    use a cache.
    """

    def __init__(self) -> None:
        self._hashes: LRUCache[tuple[int, ...], ResumableSha256] = LRUCache(_MAX_ENTRIES)
        self._lock = Lock()

    def add_own_write(self, status: os.stat_result, resumable_hash: ResumableSha256) -> None:
        """Remember a file of ours by its ``stat`` under its final name, with its final times."""
        # A time without nanoseconds may also be the time of another write.
        is_own_time = (
            status.st_mtime_ns % _MICROSECOND_NS and status.st_mtime_ns != status.st_ctime_ns
        )
        if is_own_time and sys.platform != "win32":
            self.add(status, resumable_hash)

    def add(self, status: os.stat_result, resumable_hash: ResumableSha256) -> None:
        """Remember a file whose ``stat`` no later write leaves: see `Snapshot.is_quiet`."""
        with self._lock:
            self._hashes.put(get_stat_identity(status), resumable_hash)

    def get(self, status: os.stat_result) -> ResumableSha256 | None:
        """Return the hash of a file that was not written since; None if it is not known."""
        with self._lock:
            return self._hashes.get(get_stat_identity(status))
