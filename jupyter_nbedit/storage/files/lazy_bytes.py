"""A large file's bytes, read as they are wanted and only as long as they are what was opened."""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from typing import overload

from jupyter_nbedit.errors import ChangedDuringRead, NbEditError
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from jupyter_nbedit.storage.os_errors import map_os_errors

# Many small parts that stand together are read together.
_BLOCK_BYTES = 1 << 16
# How far apart the states of the hash are kept from which it goes on after an edit.
_MARK_BYTES = 8 * CHUNK_BYTES


class ResumableSha256:
    """The sha256 of a text, and its states on the way, from which it goes on after an edit."""

    def __init__(self) -> None:
        self._offsets = [0]
        self._states = [hashlib.sha256()]
        self._digest = hashlib.sha256()
        #: How many bytes are in it.
        self.size = 0

    def update(self, part: memoryview | bytes) -> None:
        """Add the bytes that follow."""
        self._digest.update(part)
        self.size += len(part)
        if self.size - self._offsets[-1] >= _MARK_BYTES:
            self._offsets.append(self.size)
            self._states.append(self._digest.copy())

    def cut(self, offset: int) -> ResumableSha256:
        """Return those of the beginning, up to the last state that is known before an offset."""
        at = self.size if offset >= self.size else self._offsets[self._find_last(offset)]
        begun = ResumableSha256()
        known = self._find_last(at) + 1
        begun._offsets, begun._states = self._offsets[:known], self._states[:known]
        begun._digest = (self._digest if at == self.size else self._states[known - 1]).copy()
        begun.size = at
        return begun

    def _find_last(self, offset: int) -> int:
        return bisect_right(self._offsets, offset) - 1

    @property
    def hexdigest(self) -> str:
        """The hash of all that was added, in hex."""
        return self._digest.hexdigest()


class LazyFileBytes:
    """The bytes of an open file.

    May be used by several threads. Each reading raises `ChangedDuringRead` if the file is no longer
    what was opened, for what is read then fits nothing that was read before.

    Parameters
    ----------
    descriptor
        The file, open for reading; closed when the text is no longer in use.
    status
        What its ``stat`` said when it was opened.
    marks
        Its hash, if it is known.
    """

    def __init__(
        self, descriptor: int, status: os.stat_result, marks: ResumableSha256 | None = None
    ) -> None:
        self.descriptor = descriptor
        self._size = status.st_size
        self._stamp = get_stat_identity(status)
        self._is_kept = False
        self._block: tuple[int, bytes] = (0, b"")
        self._marks = ResumableSha256() if marks is None else marks
        self._hashing = threading.Lock()
        self._hurry = False
        # At the end of the process the system closes it, and no thread can be started any more.
        weakref.finalize(self, _close, descriptor).atexit = False
        if marks is None:
            # It leaves the interpreter to whoever looks for the cells meanwhile.
            threading.Thread(
                target=self._hash_in_background, name="nbedit-hash", daemon=True
            ).start()

    def __len__(self) -> int:
        """Count the bytes."""
        return self._size

    @overload
    def __getitem__(self, part: int) -> int: ...

    @overload
    def __getitem__(self, part: slice) -> bytes: ...

    def __getitem__(self, part: int | slice) -> int | bytes:
        """Read a byte, or a range of them."""
        if isinstance(part, int):
            at = part + self._size if part < 0 else part
            return self[at : at + 1][0]
        start, stop, step = part.indices(self._size)
        if step != 1:
            message = "Only what stands together is read."
            raise ValueError(message)
        if stop <= start:
            return b""
        if stop - start > _BLOCK_BYTES // 2:
            return self._read(start, stop)
        begin, block = self._block
        if not begin <= start <= stop <= begin + len(block):
            begin = max(0, start - _BLOCK_BYTES // 4)
            block = self._read(begin, min(begin + _BLOCK_BYTES, self._size))
            self._block = begin, block
        return block[start - begin : stop - begin]

    def _read(self, start: int, stop: int) -> bytes:
        with map_os_errors():
            found = os.pread(self.descriptor, stop - start, start)
        if len(found) < stop - start:
            # One call reads no more than two gigabytes.
            rest = bytearray(stop - start - len(found))
            self.read_into(start + len(found), memoryview(rest))
            return found + rest
        self._check()
        return found

    def read_into(self, start: int, room: memoryview) -> None:
        """Fill a buffer with what stands at an offset; there must be so much.

        Raises
        ------
        ChangedDuringRead
            If the file is no longer what was opened.
        """
        done = 0
        while done < len(room):
            with map_os_errors():
                count = os.preadv(self.descriptor, [room[done:]], start + done)
            if not count:
                raise _build_changed_error()
            done += count
        self._check()

    def _check(self) -> None:
        if self._is_kept:
            return
        with map_os_errors():
            now = os.fstat(self.descriptor)
        if get_stat_identity(now) != self._stamp:
            raise _build_changed_error()

    def pin(self) -> None:
        """Take what is read from here on for what it is: the file has left its place."""
        self._is_kept = True

    @property
    def hash_all(self) -> ResumableSha256:
        """The hash of all of it; waits until the file is read for it, once.

        Raises
        ------
        ChangedDuringRead
            If it is no longer what was opened.
        """
        with self._hashing:
            self._continue_hash(lambda: True)
            return self._marks

    def hash_beginning(self, offset: int) -> ResumableSha256:
        """Return the hash of a beginning, as far as it is known by now, to go on from."""
        self._hurry = True
        with self._hashing:
            return self._marks.cut(offset)

    def _hash_in_background(self) -> None:
        """Hash as long as nobody needs the hash of something else first."""
        # Whoever needs the hash meets what is in the way again.
        with self._hashing, suppress(NbEditError):
            self._continue_hash(lambda: not self._hurry)

    def _continue_hash(self, go_on: Callable[[], bool]) -> None:
        room = memoryview(bytearray(min(CHUNK_BYTES, self._size - self._marks.size)))
        while self._marks.size < self._size and go_on():
            part = room[: self._size - self._marks.size]
            self.read_into(self._marks.size, part)
            self._marks.update(part)


def get_stat_identity(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes about a file whenever it is written."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _build_changed_error() -> ChangedDuringRead:
    message = (
        "Another program changed the notebook while it was being read. Nothing was written; try "
        "again."
    )
    return ChangedDuringRead(message)


def _close(descriptor: int) -> None:
    # If the file has no name any more, the system frees all its pages here, which takes as long as
    # reading it.
    threading.Thread(target=_close_quietly, args=(descriptor,), name="nbedit-close").start()


def _close_quietly(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)
