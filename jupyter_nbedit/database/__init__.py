"""The SQLite file for what must outlast a restart; opened when it is first needed.

It is the user's alone: in a folder of mode 0700, and so are the files that SQLite puts beside it.
What is deleted is overwritten. Several servers of one user share it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TypeVar

from jupyter_nbedit.database.failures import NotOurs, is_broken, is_locked, refusals, said
from jupyter_nbedit.database.files import PrivateFile
from jupyter_nbedit.errors import LedgerError

_Answer = TypeVar("_Answer")
#: Asks or changes something, on the thread of the database and in one transaction.
Work = Callable[[sqlite3.Connection], _Answer]

NAME = "history.sqlite3"

# "nbed", in the header of the file.
_APPLICATION_ID = 0x6E626564
_VERSION = 1
_PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.02
_SETTINGS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
"""


@dataclass(frozen=True)
class _Opened:
    """A connection, and to which file; None for one in memory."""

    connection: sqlite3.Connection
    file: tuple[int, int] | None


class Database:
    """One file, one thread, one transaction at a time.

    Parameters
    ----------
    folder
        Where the file is, which nobody else uses.
    log
        The server's.
    is_exposed
        Tells whether a server shows what is in the folder. Then everything is kept in memory.
    keep_days
        How long a broken file that was moved aside is kept.
    """

    def __init__(
        self,
        folder: Path,
        log: Logger,
        *,
        is_exposed: Callable[[Path], bool] = lambda _: False,
        keep_days: float = 30,
    ) -> None:
        self._folder = folder
        self._file = PrivateFile(folder / NAME, keep_days)
        self._log = log
        self._is_exposed = is_exposed
        self._tables: list[str] = []
        self._looked_up: list[str] = []
        self._opened: _Opened | None = None
        self._last: tuple[int, int] | None = None
        self._must_truncate = False
        self._thread = ThreadPoolExecutor(1, "nbedit-database")

    def define(self, tables: str, *, looked_up: Sequence[str] = ()) -> None:
        """Add tables, before the first use.

        Parameters
        ----------
        tables
            Statements that do nothing where the tables are there. A file in which they are there
            in other words is broken, so a change of the words takes a new version of the file.
        looked_up
            The tables, small ones, that are read from end to end when the file is opened: what is
            kept cannot be found again if their indexes say something else.
        """
        self._tables.append(tables)
        self._looked_up += looked_up

    async def read(self, work: Work[_Answer]) -> _Answer:
        """Ask something.

        Raises
        ------
        LedgerError
            If the database fails.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        return await self._away(lambda: self._done(work, "BEGIN", deadline))

    async def write(self, work: Work[_Answer], *, forget: bool = False) -> _Answer:
        """Change something.

        Parameters
        ----------
        work
            The change; a second attempt may be made in a new file if the old one is broken.
        forget
            Whether what it deletes shall be in none of the files afterwards.

        Raises
        ------
        LedgerError
            If the database fails; nothing is changed.
        """
        # From here on: those that wait behind one another wait for the same lock.
        deadline = time.monotonic() + _PATIENCE_SECONDS

        def change() -> _Answer:
            answer = self._done(work, "BEGIN IMMEDIATE", deadline)
            self._must_truncate |= forget
            if self._must_truncate:
                self._truncate()
            return answer

        return await self._away(change)

    async def close(self) -> None:
        """Finish what was begun and close the file; nothing can be done afterwards."""
        try:
            await self._away(self._close)
        except LedgerError as error:
            self._log.warning("%s", error.message)
        self._thread.shutdown(wait=False)

    async def _away(self, function: Callable[[], _Answer]) -> _Answer:
        try:
            future = self._thread.submit(function)
        except RuntimeError:
            message = "The history of edits is closed: this server is shutting down."
            raise LedgerError(message) from None
        return await asyncio.wrap_future(future)

    # All below is done on the one thread.

    def _done(self, work: Work[_Answer], begin: str, deadline: float) -> _Answer:
        with refusals():
            try:
                return self._transaction(work, begin, deadline)
            except (sqlite3.DatabaseError, NotOurs, UnicodeDecodeError) as error:
                if not is_broken(error):
                    raise
                self._put_aside(said(error))
                return self._transaction(work, begin, deadline)

    def _transaction(self, work: Work[_Answer], begin: str, deadline: float) -> _Answer:
        connection = self._connection()
        left = max(0.0, deadline - time.monotonic())
        connection.execute(f"PRAGMA busy_timeout = {int(left * 1000)}")
        connection.execute(begin)
        try:
            answer = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answer

    def _truncate(self) -> None:
        """Empty the write-ahead log, which still has what was deleted."""
        if self._opened is None:
            return
        with suppress(sqlite3.Error):
            busy, *_ = self._opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            # While another server reads, it is left to the next change.
            self._must_truncate = bool(busy)

    def _connection(self) -> sqlite3.Connection:
        opened = self._opened
        if opened is not None and opened.file is not None and opened.file != self._file.found():
            # Somebody has removed it, or another server has moved it aside.
            self._close()
            opened = None
        if opened is None:
            opened = self._opened = self._open()
        return opened.connection

    def _open(self) -> _Opened:
        if self._is_exposed(self._folder):
            self._log.warning(
                "The history of edits is kept in memory and ends with this server: its folder "
                "%r would be shown by the Contents API. Set JUPYTER_DATA_DIR to a folder outside "
                "of the served one.",
                str(self._folder),
            )
            return self._in_memory()
        self._file.make()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            self._last = self._file.found()
            connection = self._connect(str(self._file.path))
            try:
                if self._prepare(connection):
                    return _Opened(connection, self._last)
            except BaseException as error:
                connection.close()
                # SQLite does not wait for another server that opens a new file just now.
                if not is_locked(error) or time.monotonic() > deadline:
                    raise
            else:
                connection.close()
                self._log.warning(
                    "The history of edits is kept in memory and ends with this server: %r was "
                    "made by a newer version of jupyter_nbedit.",
                    str(self._file.path),
                )
                return self._in_memory()
            time.sleep(_POLL_SECONDS)

    def _in_memory(self) -> _Opened:
        return _Opened(self._example(), None)

    def _example(self) -> sqlite3.Connection:
        """Make an empty database."""
        connection = self._connect(":memory:")
        for statements in (_SETTINGS, *self._tables):
            connection.executescript(statements)
        return connection

    def _connect(self, name: str) -> sqlite3.Connection:
        return sqlite3.connect(
            name, timeout=_PATIENCE_SECONDS, isolation_level=None, cached_statements=64
        )

    def _prepare(self, connection: sqlite3.Connection) -> bool:
        """Make the tables; false if a newer version has made them in a way of its own."""
        # One look at it: another server may be making it just now.
        connection.execute("BEGIN")
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.execute("COMMIT")
        if owner != _APPLICATION_ID and (owner, version, tables) != (0, 0, 0):
            message = "file is not a database of jupyter_nbedit"
            raise NotOurs(message)
        if version > _VERSION:
            return False
        connection.executescript(_SETTINGS)
        if version < _VERSION:
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        for statements in self._tables:
            connection.executescript(statements)
        self._verify(connection)
        return True

    def _verify(self, connection: sqlite3.Connection) -> None:
        """Refuse what SQLite takes for whole, though a bit of it has changed."""
        words = "SELECT type, name, tbl_name, sql FROM sqlite_master"
        with closing(self._example()) as example:
            wanted = set(example.execute(words))
        if not wanted.issubset(connection.execute(words)):
            message = "its tables are not those of jupyter_nbedit"
            raise NotOurs(message)
        for table in self._looked_up:
            (found,) = connection.execute(f"PRAGMA integrity_check({table})").fetchone()
            if found != "ok":
                raise NotOurs(found)

    def _put_aside(self, why: str) -> None:
        """Move a broken file out of the way, unless another server has done so already."""
        self._close()
        if self._last != self._file.found():
            return
        self._log.warning(
            "The history of edits cannot be read (%s). A new one is begun; the old one is kept as "
            "%r for %s days.",
            why,
            str(self._file.put_aside()),
            self._file.keep_days,
        )

    def _close(self) -> None:
        if self._opened is None:
            return
        if self._must_truncate:
            self._truncate()
        opened, self._opened = self._opened, None
        with suppress(sqlite3.Error):
            opened.connection.close()
