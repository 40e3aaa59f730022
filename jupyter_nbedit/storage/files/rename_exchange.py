"""Replace a file by another file, but only if nobody has changed the file since it was read.

Between a last check of a file and a rename over it, other programs can write, and their data would
be lost. Therefore the two files exchange their names, which loses nothing. Then the replaced file
is checked. If it has changed since it was read, the names are exchanged back.

The exchange detects programs that replace the file. A program that writes into the file before the
last check changes its times. From the last check until after the exchange, a read lease (see
fcntl(2)) protects the file: no other program can open it for writing until the lease is released,
and the holder can see whether a program is waiting. If a program is waiting, the names are
exchanged back, too, before the program continues.
"""

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from jupyter_nbedit.errors import StorageFailure
from jupyter_nbedit.storage.base import Guard, StaleContent
from jupyter_nbedit.storage.files.directory import OpenDirectory
from jupyter_nbedit.storage.files.lazy_bytes import get_stat_identity
from jupyter_nbedit.storage.files.native_calls import UNSUPPORTED_ERRNOS, find_rename

if sys.platform == "linux":
    import fcntl

# Programs that write in place have the file open for moments; some never close it.
_TIMEOUT_SECONDS = 0.5
_POLL_SECONDS = 0.005
_NO_HANDLERS = {signal.SIG_DFL, signal.SIG_IGN}


def list_guards() -> list[Guard]:
    """Return the guards of this system, the best first; not every file allows each of them."""
    if find_rename() is None:
        return ["compare"]
    return ["lease", "exchange", "compare"] if sys.platform == "linux" else ["exchange", "compare"]


@dataclass
class FileExchange:
    """Puts a new file in the place of an old one, in one directory.

    `temporary` is the name of the new file, and `name` that of the old file. The old file is also
    open for reading, except where the system locks open files. `is_unchanged` returns whether the
    file with this name has not changed since it was read.
    """

    folder: OpenDirectory
    temporary: str
    name: str
    original: int | None
    original_status: os.stat_result
    new_status: os.stat_result
    is_unchanged: Callable[[], bool]
    guard: Guard = "compare"
    _had_no_writers: bool = False

    def wait_for_writers(self) -> None:
        """Wait, for a short time, until no program has the old file open for writing.

        Data that it writes after the file was replaced are lost. Call this before `commit`, which
        may run on a thread that must not wait.
        """
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while self.original is not None and time.monotonic() < deadline:
            try:
                _ask_for_lease(self.original)
            except BlockingIOError:
                time.sleep(_POLL_SECONDS)
            except OSError:
                # Leases are not supported here.
                return
            else:
                _release_lease(self.original)
                self._had_no_writers = True
                return

    def commit(self) -> None:
        """Exchange the two files; then the old file has the temporary name, if it has a name.

        Raise `StaleContent` or `OSError` if nothing has changed: the old file is not what was read,
        or is being written now. Raise `StorageFailure` if it is unknown which file has which name.
        """
        with _take_lease(self.original, had_no_writers=self._had_no_writers) as lease:
            if not self.is_unchanged():
                raise StaleContent
            try:
                self.folder.exchange(self.temporary, self.name)
            except OSError as error:
                if error.errno not in UNSUPPORTED_ERRNOS:
                    raise
                self.folder.replace(self.temporary, self.name)
                return
            try:
                is_sure = self._is_replaced_original() and (lease is None or lease())
            except OSError:
                self._roll_back()
                raise
            if not is_sure:
                self._roll_back()
                raise StaleContent
        self.guard = "exchange" if lease is None else "lease"

    def _is_replaced_original(self) -> bool:
        """Return whether the replaced file is the old file, unmodified."""
        # The exchange itself changes the change time, which is the last of the fields.
        replaced_identity = get_stat_identity(self._get_replaced_status())
        return replaced_identity[:-1] == get_stat_identity(self.original_status)[:-1]

    def _roll_back(self) -> None:
        """Exchange back, until the newest file of other programs has the name."""
        try:
            expected_inode = self.new_status.st_ino
            while True:
                replaced_inode = self._get_replaced_status().st_ino
                self.folder.exchange(self.temporary, self.name)
                if self._get_replaced_status().st_ino == expected_inode:
                    return
                # Meanwhile another file was put there.
                expected_inode = replaced_inode
        except OSError as error:
            message = (
                f"The operating system failed ({os.strerror(error.errno or 0)}) while another "
                "program was writing the notebook. What is there now is either the edit or what "
                "the other program wrote; read it before you go on."
            )
            raise StorageFailure(message, applied=None) from error

    def _get_replaced_status(self) -> os.stat_result:
        return self.folder.get_status(self.temporary)


@contextmanager
def _take_lease(
    descriptor: int | None, *, had_no_writers: bool
) -> Iterator[Callable[[], bool] | None]:
    """Keep other programs from opening a file for writing.

    Yields a function that returns whether no program has opened the file or waits for it, or None
    without a lease. Raises `StaleContent` if a program has newly opened the file for writing.
    """
    if descriptor is None:
        yield None
        return
    try:
        _ask_for_lease(descriptor)
    except OSError as error:
        # Data written after the check must not be lost; a program that always has the file open is
        # accepted.
        if had_no_writers and error.errno == errno.EAGAIN:
            raise StaleContent from error
        yield None
        return
    try:
        yield lambda: _has_lease(descriptor)
    finally:
        _release_lease(descriptor)


def _ask_for_lease(descriptor: int) -> None:
    """Take a lease; raise `BlockingIOError` if a program has the file open for writing."""
    # A waiting program makes the system send a signal, which by default ends this process. SIGURG
    # is ignored unless a handler is set.
    if sys.platform == "linux" and signal.getsignal(signal.SIGURG) in _NO_HANDLERS:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))


def _has_lease(descriptor: int) -> bool:
    """Return whether no program waits for the lease."""
    return sys.platform == "linux" and fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK


def _release_lease(descriptor: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            # The system revokes a lease that is held for too long, as by a stopped process.
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
