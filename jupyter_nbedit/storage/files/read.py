"""One file as it was read, and whether it still is that."""

from __future__ import annotations

import os
import stat
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timezone
from threading import Lock

from jupyter_nbedit.errors import NotAPlainFile, NotebookNotFound
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.storage.files.directory import OpenDirectory, open_directory
from jupyter_nbedit.storage.files.lazy_bytes import (
    LazyFileBytes,
    ResumableSha256,
    get_stat_identity,
)
from jupyter_nbedit.storage.os_errors import map_os_errors

# jupyter_server writes in place and keeps the former bytes in `.~name` meanwhile. One that is older
# than any save takes was left by a crash.
_BACKUP_PREFIX = ".~"
_BACKUP_STALE_SECONDS = 30.0
# Two writes within one tick of a file system's clock leave the same time stamp; FAT's tick is the
# longest. Within it only the bytes themselves tell whether a file changed.
_TICK_NS = 2_000_000_000
# So many changes in so short a time have as many times only if each gets one of its own.
_CHANGES = 8
_CHANGES_NS = 5_000_000
# Should a pipe take a file's place right now, opening it must not wait for a writer.
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Snapshot:
    """What a file's ``stat`` said when it was read, and when that was.

    Parameters
    ----------
    stat
        What it said.
    read_ns
        When that was, in nanoseconds.
    is_ours
        Whether the time stamps are such as nobody else's writing leaves.
    """

    stat: os.stat_result
    read_ns: int
    is_ours: bool = False

    def matches(self, now: os.stat_result) -> bool:
        """Return whether a file looks as if nobody had touched it since."""
        return get_stat_identity(self.stat) == get_stat_identity(now)

    @property
    def is_quiet(self) -> bool:
        """Whether every write since then has moved the time stamps."""
        return self.is_ours or self.stat.st_ctime_ns < self.read_ns - _TICK_NS


def read_file(real: str, known: OwnWriteCache | None = None) -> Content | None:
    """Read a file; None if it changed meanwhile, or is being saved.

    Parameters
    ----------
    real
        Its path without links; one that has come to stand on it leads nowhere.
    known
        The files that this server has written; None to know none.

    Raises
    ------
    NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
    """
    path, name = os.path.split(real)
    with map_os_errors(), open_directory(path) as folder:
        return None if is_being_saved(folder, name) else _read(folder, name, known)


def check_file(real: str) -> None:
    """Refuse what is no file that can be read.

    Parameters
    ----------
    real
        Its path without links; one that has come to stand on it leads nowhere.

    Raises
    ------
    NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
    """
    path, name = os.path.split(real)
    with map_os_errors(), open_directory(path) as folder:
        _check_regular(folder, name)
        os.close(folder.open(name, _READING))


def _check_regular(folder: OpenDirectory, name: str) -> None:
    mode = folder.get_status(name).st_mode
    if stat.S_ISLNK(mode):
        # Links were followed to get here: this one is new, and leads elsewhere.
        raise NotebookNotFound
    if not stat.S_ISREG(mode):
        raise _build_not_plain_error()


def _read(folder: OpenDirectory, name: str, known: OwnWriteCache | None) -> Content | None:
    read_ns = time.time_ns()
    _check_regular(folder, name)
    descriptor = folder.open(name, _READING)
    try:
        before = os.fstat(descriptor)
        marks = None if known is None else known.get(before)
        if before.st_size > CHUNK_BYTES:
            large = LazyFileBytes(os.dup(descriptor), before, marks)
            seen = Snapshot(before, read_ns, is_ours=marks is not None)
            return Content(
                large, get_last_modified(before), seen, hash=marks.hexdigest if marks else None
            )
        text = _read_bytes(descriptor, before.st_size)
        after = os.fstat(descriptor)
    except BlockingIOError:
        # Some files of the system are no more than a way to wait for it.
        raise _build_not_plain_error() from None
    finally:
        os.close(descriptor)
    if get_stat_identity(before) != get_stat_identity(after) or len(text) != after.st_size:
        return None
    seen = Snapshot(after, read_ns, is_ours=marks is not None)
    return Content(text, get_last_modified(after), seen, hash=marks.hexdigest if marks else None)


def is_being_saved(folder: OpenDirectory, name: str) -> bool:
    """Return whether a Jupyter server is in the middle of writing a file in place."""
    try:
        backup = folder.get_status(_BACKUP_PREFIX + name)
    except OSError:
        return False
    # Its modification time is copied from the notebook; its change time is its own.
    return time.time() - backup.st_ctime < _BACKUP_STALE_SECONDS


def are_timestamps_reliable(base: Content, snapshot: Snapshot, made: int) -> bool:
    """Return whether a file that has changed since it was read shows it in its times.

    Parameters
    ----------
    base, snapshot
        What was read of the file.
    made
        A new file beside it, open for writing; what is set of it is what it has.
    """
    if snapshot.is_quiet:
        return True
    # What is open stays in the system's memory, and with it that its times were looked at.
    return isinstance(base.data, LazyFileBytes) and _has_fine_grained_ctime(
        made, snapshot.stat.st_dev
    )


def _has_fine_grained_ctime(made: int, device: int) -> bool:
    """Find out whether each change of a file gets a time of its own once the last was looked at.

    Linux does so since 6.13 on the usual file systems of a disk. Whose clock it is does not matter.
    """
    status = os.fstat(made)
    if os.name == "nt" or status.st_dev != device:
        return False
    times = {status.st_ctime_ns}
    until = time.monotonic_ns() + _CHANGES_NS
    for _ in range(_CHANGES):
        os.fchmod(made, stat.S_IMODE(status.st_mode))
        times.add(os.fstat(made).st_ctime_ns)
    # A clock that ticks, be it each millisecond, does not tick as often in this time.
    return len(times) > _CHANGES and time.monotonic_ns() < until


def is_unmodified(folder: OpenDirectory, name: str, snapshot: Snapshot) -> bool:
    """Return whether a file still is what was read, as far as that shows in its times."""
    return snapshot.matches(folder.get_status(name)) and not is_being_saved(folder, name)


def has_same_content(folder: OpenDirectory, name: str, base: Content) -> bool:
    """Return whether a file has the bytes that were read."""
    descriptor = folder.open(name, _READING)
    try:
        now = os.fstat(descriptor)
        if isinstance(base.data, LazyFileBytes):
            text = LazyFileBytes(os.dup(descriptor), now)
            return text.hash_all.hexdigest == base.data.hash_all.hexdigest
        return _read_bytes(descriptor, now.st_size) == base.data
    finally:
        os.close(descriptor)


def _read_bytes(descriptor: int, size: int) -> bytes:
    # One byte more, to see that there is none.
    text = os.read(descriptor, size + 1)
    while len(text) < size and (more := os.read(descriptor, size + 1 - len(text))):
        # The system may give fewer than it is asked for.
        text += more
    return text


def get_last_modified(status: os.stat_result) -> datetime:
    """Return a file's time as the Contents API tells it."""
    return datetime.fromtimestamp(status.st_mtime, tz=timezone.utc)


def _build_not_plain_error() -> NotAPlainFile:
    message = "There is something at this path, but it is not a regular file; it is left alone."
    return NotAPlainFile(message)


_MOST = 256
_MICROSECOND = 1000


class OwnWriteCache:
    """Knows files again by what their ``stat`` says.

    A file that was just written may be written again within one tick of the file system's clock,
    and its times be the same. But a file of ours was given a modification time of its own, to the
    nanosecond, which whoever writes it takes away.

    May be used by several threads.
    """

    def __init__(self) -> None:
        self._marks: OrderedDict[tuple[int, ...], ResumableSha256] = OrderedDict()
        self._lock = Lock()

    def put(self, status: os.stat_result, marks: ResumableSha256) -> None:
        """Remember a file of ours.

        Parameters
        ----------
        status
            What its ``stat`` says, now that it has its name and its times.
        marks
            The hash of its bytes.
        """
        # A file system that does not keep nanoseconds has cut it to what others may get as well.
        if not status.st_mtime_ns % _MICROSECOND or status.st_mtime_ns == status.st_ctime_ns:
            return
        with self._lock:
            self._marks[get_stat_identity(status)] = marks
            if len(self._marks) > _MOST:
                self._marks.popitem(last=False)

    def get(self, status: os.stat_result) -> ResumableSha256 | None:
        """Return the hash of a file of ours that nobody has written since; None for all others."""
        with self._lock:
            return self._marks.get(get_stat_identity(status))
