"""Keep file ids that are based on inodes, although an edit creates a new inode.

The `LocalFileIdManager` of jupyter_server_fileid identifies a file by its inode, to find files that
other programs have moved. It takes a replaced file for a new file, and no method of the manager can
prevent this: even `save` looks up the new inode. The manager expects programs to write in place,
which would leave half a notebook after a crash. Therefore the record of the manager gets the new
inode at the moment of the swap. Managers that are based on paths do not need this.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.errors import Busy

_TIMEOUT_SECONDS = 10.0
_DELETE = "DELETE FROM Files WHERE ino = ?"
_MOVE = "UPDATE Files SET ino = ?, crtime = ?, mtime = ? WHERE ino = ?"


def is_inode_based(manager: Any) -> bool:
    """Return whether a manager of file ids identifies files by their inodes; False for None."""
    return isinstance(getattr(manager, "con", None), sqlite3.Connection) and callable(
        getattr(manager, "_parse_raw_stat", None)
    )


@dataclass(frozen=True)
class FileIdPreservingSwap:
    """Swaps two files and keeps the file id: a `SwapHook` for one write and its repetitions.

    The swap runs on the event loop's thread, as the manager of file ids does, so that no request
    sees the new file with the old record.
    """

    manager: Any
    loop: asyncio.AbstractEventLoop

    def __call__(
        self, swap: Callable[[], None], old_status: os.stat_result, new_status: os.stat_result
    ) -> list[str]:
        """Perform the swap from another thread; raise `Busy` if the loop does not run it."""
        # Not a coroutine: the loop may stop between its end and the delivery of its result, and
        # this thread would wait forever.
        warnings: Future[list[str]] = Future()

        def work() -> None:
            if not warnings.set_running_or_notify_cancel():
                return
            try:
                warnings.set_result(self._exchange(swap, old_status, new_status))
            except BaseException as error:  # noqa: BLE001 -- the thread that waits raises it
                warnings.set_exception(error)

        message = "The server is too busy, or it stops. Nothing was written; try again."
        try:
            self.loop.call_soon_threadsafe(work)
        except RuntimeError:
            # The loop is closed.
            raise Busy(message) from None
        if not wait([warnings], _TIMEOUT_SECONDS).done and warnings.cancel():
            raise Busy(message)
        # Once started, it finishes: it does not wait for anything.
        return warnings.result()

    def _exchange(
        self, swap: Callable[[], None], old_status: os.stat_result, new_status: os.stat_result
    ) -> list[str]:
        swap()
        connection: sqlite3.Connection = self.manager.con
        file_stat = self.manager._parse_raw_stat(new_status)  # noqa: SLF001 -- so it will compare it
        try:
            with connection:
                # The record of a deleted file whose inode is in use again.
                connection.execute(_DELETE, (file_stat.ino,))
                connection.execute(
                    _MOVE, (file_stat.ino, file_stat.crtime, file_stat.mtime, old_status.st_ino)
                )
        except sqlite3.Error as error:
            warning = (
                "The edit is in the file, but the server's file ids could not be updated "
                f"({error}): the notebook may get a new one."
            )
            return [warning]
        return []
