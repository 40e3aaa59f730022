"""A new file in the place of the one that was read, and of no other.

Between a last look at a file and a rename over it, other programs can write, and what they wrote
would be gone without a word. So the two files exchange their names instead, which loses nothing,
and what has come away is looked at: is it not what was read, they are exchanged back.

That catches who puts another file in the place of this one. Who writes into it shows in its times
until it is exchanged, and is kept from opening it from before the last look until after the
exchange, by a read lease (see fcntl(2)): the system lets no other program open it for writing until
the lease is given back, and tells whether one waits for that. Then the files are exchanged back,
too, before it is let in.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from jupyter_nbedit.errors import StorageFailure
from jupyter_nbedit.storage.base import Guard, StaleContent
from jupyter_nbedit.storage.files.directory import OpenDirectory
from jupyter_nbedit.storage.files.linux import CAN_EXCHANGE, UNSUPPORTED_ERRNOS

if sys.platform == "linux":
    import fcntl

# Who writes a file in place has it open for moments; some programs never close what they opened.
_PATIENCE_SECONDS = 0.5
_POLL_SECONDS = 0.005
_DEAF = {signal.SIG_DFL, signal.SIG_IGN}

#: Those that there are on this system, the best first; not every file allows each of them.
GUARDS: tuple[Guard, ...] = ("lease", "exchange", "compare") if CAN_EXCHANGE else ("compare",)


class FileExchange:
    """Puts a new file in the place of an old one.

    Parameters
    ----------
    folder
        Where the two are.
    names
        The temporary name, which the new file has, and the one that the old file has.
    old
        The old file, open for reading; None where the system locks open files.
    statuses
        What the ``stat`` of the old and of the new file said.
    is_unchanged
        Tells whether what has the name still is what was read.
    """

    def __init__(
        self,
        folder: OpenDirectory,
        names: tuple[str, str],
        old: int | None,
        statuses: tuple[os.stat_result, os.stat_result],
        is_unchanged: Callable[[], bool],
    ) -> None:
        self.folder = folder
        self._temporary, self._name = names
        self._old = old
        self._old_status, self._made_status = statuses
        self._is_unchanged = is_unchanged
        self._was_free = False
        self.guard: Guard = "compare"

    def wait_for_writers(self) -> None:
        """Wait until nobody has the old file open for writing, but not for long.

        What they write into it when it has been replaced is lost. To be called before `put`, which
        may be done where nobody can wait.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._old is not None and time.monotonic() < deadline:
            try:
                _ask_for_lease(self._old)
            except BlockingIOError:
                time.sleep(_POLL_SECONDS)
            except OSError:
                # There is no lease to be had.
                return
            else:
                _release_lease(self._old)
                self._was_free = True
                return

    def commit(self) -> None:
        """Exchange the two; the old file has the temporary name then, if it has one at all.

        Raises
        ------
        StaleContent
            If the old file is not what was read, or somebody writes it now: all is as it was.
        OSError
            All is as it was, too.
        StorageFailure
            The system failed in the middle of it, and it is not known what has which name.
        """
        with _take_lease(self._old, was_free=self._was_free) as lease:
            if not self._is_unchanged():
                raise StaleContent
            try:
                self.folder.exchange(self._temporary, self._name)
            except OSError as error:
                if error.errno not in UNSUPPORTED_ERRNOS:
                    raise
                self.folder.replace(self._temporary, self._name)
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
        """Return whether it is the old file that has come away, and untouched."""
        now, old = self._get_replaced_status(), self._old_status
        # An exchange of names changes the change time.
        return (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns) == (
            old.st_dev,
            old.st_ino,
            old.st_size,
            old.st_mtime_ns,
        )

    def _roll_back(self) -> None:
        """Exchange back, until what is newest of what others wrote has the name."""
        try:
            expected = self._made_status.st_ino
            while True:
                theirs = self._get_replaced_status().st_ino
                self.folder.exchange(self._temporary, self._name)
                if self._get_replaced_status().st_ino == expected:
                    return
                # Meanwhile somebody has put another file there.
                expected = theirs
        except OSError as error:
            message = (
                f"The operating system failed ({os.strerror(error.errno or 0)}) while another "
                "program was writing the notebook. What is there now is either the edit or what "
                "the other program wrote; read it before you go on."
            )
            raise StorageFailure(message, applied=None) from error

    def _get_replaced_status(self) -> os.stat_result:
        return self.folder.get_status(self._temporary)


@contextmanager
def _take_lease(descriptor: int | None, *, was_free: bool) -> Iterator[Callable[[], bool] | None]:
    """Keep others from opening a file for writing.

    Yields
    ------
    Tells whether nobody can have opened it, or be waiting for that; None if there is no lease to be
    had.

    Raises
    ------
    StaleContent
        If somebody has it open for writing though it was free.
    """
    if sys.platform != "linux" or descriptor is None:  # pragma: no cover -- never on Linux
        yield None
        return
    try:
        _ask_for_lease(descriptor)
    except OSError as error:
        # What they write into it is for who edits it next; what they have always open is not.
        if was_free and error.errno == errno.EAGAIN:
            raise StaleContent from error
        yield None
        return
    try:
        yield lambda: fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    finally:
        _release_lease(descriptor)


def _ask_for_lease(descriptor: int) -> None:
    """Take a lease.

    Raises
    ------
    BlockingIOError
        If somebody has the file open for writing.
    OSError
        If there is no lease to be had.
    """
    # Who waits makes the system send a signal; by default one that ends the process. This one is
    # ignored unless somebody listens to it.
    if sys.platform != "linux" or signal.getsignal(signal.SIGURG) not in _DEAF:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def _release_lease(descriptor: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):
            # The system takes it back itself if it was held for long, as by a process that stood.
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
