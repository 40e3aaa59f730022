"""The bytes of a large file, read when needed, as long as the file does not change."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress

from jupyter_nbedit.errors import ChangedDuringRead, NbEditError
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, LazyBytes
from jupyter_nbedit.storage.os_errors import map_os_errors

# The distance of the states from which hashing can continue after an edit.
_STATE_BYTES = 8 * CHUNK_BYTES


class ResumableSha256:
    """A sha256 with intermediate states, from which it can continue after an edit."""

    def __init__(self, beginning: bytes = b"") -> None:
        self._offsets = [0]
        self._states = [hashlib.sha256()]
        self._hasher = hashlib.sha256()
        #: The number of hashed bytes.
        self.size = 0
        self.update(beginning)

    def update(self, part: memoryview | bytes) -> None:
        """Add the next bytes."""
        self._hasher.update(part)
        self.size += len(part)
        if self.size - self._offsets[-1] >= _STATE_BYTES:
            self._offsets.append(self.size)
            self._states.append(self._hasher.copy())

    def copy_prefix(self, offset: int) -> ResumableSha256:
        """Return the hash of a prefix, up to the last known state at or before an offset."""
        size = self.size if offset >= self.size else self._offsets[self._find_last(offset)]
        prefix = ResumableSha256()
        state_count = self._find_last(size) + 1
        prefix._offsets, prefix._states = self._offsets[:state_count], self._states[:state_count]
        prefix._hasher = (
            self._hasher if size == self.size else self._states[state_count - 1]
        ).copy()
        prefix.size = size
        return prefix

    def _find_last(self, offset: int) -> int:
        return bisect_right(self._offsets, offset) - 1

    @property
    def hexdigest(self) -> str:
        """The hash of all added bytes, in hex."""
        return self._hasher.hexdigest()


class LazyFileBytes(LazyBytes):
    """The bytes of an open file; the descriptor is closed when this object is no longer used.

    Several threads may use it. Each read raises `ChangedDuringRead` if the file has changed since
    it was opened, because new bytes would not match the bytes that were read before. `on_hash` is
    called with the status of the file and its hash, when the hash is computed.
    """

    def __init__(
        self,
        descriptor: int,
        status: os.stat_result,
        resumable_hash: ResumableSha256 | None = None,
        on_hash: Callable[[os.stat_result, ResumableSha256], None] | None = None,
    ) -> None:
        super().__init__(status.st_size)
        self._status = status
        self._on_hash = on_hash
        self.descriptor = descriptor
        self._identity = get_stat_identity(status)
        self._is_unchecked = False
        self._hash = ResumableSha256() if resumable_hash is None else resumable_hash
        self._hash_lock = threading.Lock()
        self._offset_lock = threading.Lock()
        self._is_hash_requested = False
        # At the end of the process the system closes the file, and no thread can be started.
        weakref.finalize(self, _close, descriptor).atexit = False
        if resumable_hash is None:
            # Hashing releases the interpreter lock while the cells are parsed.
            threading.Thread(
                target=self._hash_in_background, name="nbedit-hash", daemon=True
            ).start()

    def _read(self, start: int, stop: int) -> bytes:
        if not hasattr(os, "pread"):
            return super()._read(start, stop)
        with map_os_errors():
            data: bytes = os.pread(self.descriptor, stop - start, start)
        if len(data) < stop - start:
            # One system call reads at most two gigabytes.
            remainder = bytearray(stop - start - len(data))
            self.read_into(start + len(data), memoryview(remainder))
            return data + remainder
        self._check()
        return data

    def read_into(self, start: int, buffer: memoryview) -> None:
        """Fill a buffer from an offset; the file must have that many bytes."""
        filled_bytes = 0
        while filled_bytes < len(buffer):
            with map_os_errors():
                count = self._read_part(start + filled_bytes, buffer[filled_bytes:])
            if not count:
                raise _build_changed_error()
            filled_bytes += count
        self._check()

    def _read_part(self, start: int, buffer: memoryview) -> int:
        if hasattr(os, "preadv"):
            count: int = os.preadv(self.descriptor, [buffer], start)
            return count
        # Windows and older builds for macOS; other threads move the offset of the file, too.
        with self._offset_lock:
            os.lseek(self.descriptor, start, os.SEEK_SET)
            part = os.read(self.descriptor, min(len(buffer), CHUNK_BYTES))
        buffer[: len(part)] = part
        return len(part)

    def copy_to(self, target: int) -> None:
        """Copy the file to another open file, in the kernel; raise `OSError` if that cannot be."""
        if not hasattr(os, "copy_file_range"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        position = 0
        while position < self._size:
            count = os.copy_file_range(
                self.descriptor, target, self._size - position, position, position
            )
            if not count:
                raise _build_changed_error()
            position += count
        self._check()

    def _check(self) -> None:
        if self._is_unchecked:
            return
        with map_os_errors():
            status = os.fstat(self.descriptor)
        if get_stat_identity(status) != self._identity:
            raise _build_changed_error()

    def stop_checking(self) -> None:
        """Stop checking for changes: the file has been replaced and is no longer written."""
        self._is_unchecked = True

    def compute_sha256(self) -> str:
        """Return the hash of the whole file, in hex; computed once.

        Raises
        ------
        ChangedDuringRead
            If the file is no longer what was opened.
        """
        with self._hash_lock:
            self._continue_hash(lambda: True)
            return self._hash.hexdigest

    def hash_beginning(self, offset: int) -> ResumableSha256:
        """Return the hash of the longest known prefix up to an offset."""
        self._is_hash_requested = True
        with self._hash_lock:
            return self._hash.copy_prefix(offset)

    def _hash_in_background(self) -> None:
        """Hash the file until another thread needs the hash."""
        # A caller that needs the hash will get the same error.
        with self._hash_lock, suppress(NbEditError):
            self._continue_hash(lambda: not self._is_hash_requested)

    def _continue_hash(self, may_continue: Callable[[], bool]) -> None:
        buffer = memoryview(bytearray(min(CHUNK_BYTES, self._size - self._hash.size)))
        while self._hash.size < self._size and may_continue():
            part = buffer[: self._size - self._hash.size]
            self.read_into(self._hash.size, part)
            self._hash.update(part)
        if self._on_hash is not None and self._hash.size == self._size:
            self._on_hash(self._status, self._hash)
            self._on_hash = None


def get_stat_identity(status: os.stat_result) -> tuple[int, ...]:
    """Return the fields of a file's status of which at least one changes with every write."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, get_change_ns(status))


def get_change_ns(status: os.stat_result) -> int:
    """Return when a file was changed last, in nanoseconds, by a time that programs rarely set."""
    # On Windows `ctime` is the time of the creation, and Python has no other time of changes.
    return status.st_mtime_ns if sys.platform == "win32" else status.st_ctime_ns


def _build_changed_error() -> ChangedDuringRead:
    return ChangedDuringRead(
        "Another program changed the notebook while it was being read. Nothing was written; try "
        "again."
    )


def _close(descriptor: int) -> None:
    # If the file has no name, the system frees its pages here, which takes as long as reading it.
    threading.Thread(target=_close_quietly, args=(descriptor,), name="nbedit-close").start()


def _close_quietly(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)
