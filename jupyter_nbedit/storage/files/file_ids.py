"""File ids that go by inode, kept though the edited file is another one.

The `LocalFileIdManager` of jupyter_server_fileid knows a file by its inode, so that it finds what
was moved behind its back, and takes a file that was replaced for a new one. None of its methods
says otherwise: even its `save` looks for the new inode. To write in place instead, as the manager
expects, would leave half a notebook after a crash. So its record is given the new inode in the
moment in which the file gets it. Managers that go by path need nothing of the kind.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from jupyter_nbedit.errors import Busy

_PATIENCE_SECONDS = 10.0
_DELETE = "DELETE FROM Files WHERE ino = ?"
_MOVE = "UPDATE Files SET ino = ?, crtime = ?, mtime = ? WHERE ino = ?"


def is_inode_based(manager: Any) -> bool:
    """Return whether a manager of file ids, or None, is one that knows files by their inodes."""
    return isinstance(getattr(manager, "con", None), sqlite3.Connection) and callable(
        getattr(manager, "_parse_raw_stat", None)
    )


class FileIdPreservingSwap:
    """Exchanges a file for another under the same id, once; see `commit.Exchange`.

    Parameters
    ----------
    manager
        The manager of file ids.
    loop
        The loop on whose thread it works; the exchange is made there, too, so that no request
        comes between the file and its record.
    """

    def __init__(self, manager: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._manager = manager
        self._loop = loop

    def __call__(
        self, put: Callable[[], None], old: os.stat_result, new: os.stat_result
    ) -> list[str]:
        """Make the exchange; called on another thread than the loop's.

        Raises
        ------
        Busy
            If the loop does not come to it, as one that ends never does.
        """
        # Not a coroutine: the loop may stop between the end of one and the moment its result is
        # known, and this thread would wait for ever.
        made: Future[list[str]] = Future()

        def work() -> None:
            if not made.set_running_or_notify_cancel():
                return
            try:
                made.set_result(self._exchange(put, old, new))
            except BaseException as error:  # noqa: BLE001 -- the thread that waits raises it
                made.set_exception(error)

        message = "The server is too busy, or it stops. Nothing was written; try again."
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            # The loop is closed.
            raise Busy(message) from None
        if not wait([made], _PATIENCE_SECONDS).done and made.cancel():
            raise Busy(message)
        # What has begun ends: it waits for nothing.
        return made.result()

    def _exchange(
        self, put: Callable[[], None], old: os.stat_result, new: os.stat_result
    ) -> list[str]:
        put()
        connection: sqlite3.Connection = self._manager.con
        known = self._manager._parse_raw_stat(new)  # noqa: SLF001 -- so it will compare it
        try:
            with connection:
                # The record of a file that is no more, whose inode has been given out again.
                connection.execute(_DELETE, (known.ino,))
                connection.execute(_MOVE, (known.ino, known.crtime, known.mtime, old.st_ino))
        except sqlite3.Error as error:
            warning = (
                "The edit is in the file, but the server's file ids could not be told "
                f"({error}): the notebook may get a new one."
            )
            return [warning]
        return []
