"""The SQLite file for what must outlast a restart; opened when it is first needed.

It is the user's alone: in a folder of mode 0700, and so are the files that SQLite puts beside it.
What is deleted is overwritten. Several servers of one user share it, and they may be of several
releases: `schema` says how.
"""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from logging import Logger
from pathlib import Path
from typing import TypeVar

from jupyter_nbedit.db.errors import (
    HISTORY,
    NewerFile,
    Purpose,
    UnknownDatabase,
    get_error_text,
    is_broken,
    is_locked,
    is_read_only,
    is_table_lost,
    map_sqlite_errors,
)
from jupyter_nbedit.db.files import PrivateFile
from jupyter_nbedit.db.presence import Presence
from jupyter_nbedit.db.schema import SCHEMA, Schema
from jupyter_nbedit.db.structure import check_contents, check_structure, describe_structure
from jupyter_nbedit.errors import LedgerError

_Result = TypeVar("_Result")
#: Asks or changes something, on the thread of the database and in one transaction.
Work = Callable[[sqlite3.Connection], _Result]

NAME = "history.sqlite3"

# "nbed", in the header of the file.
_APPLICATION_ID = 0x6E626564
_PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.02
# A damaged file is found out at most once in a transaction, and its tables are lost at most once.
_ATTEMPTS = 3
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
    schema
        The tables.
    """

    def __init__(
        self,
        folder: Path,
        log: Logger,
        *,
        is_exposed: Callable[[Path], bool] = lambda _: False,
        keep_days: float = 30,
        schema: Schema = SCHEMA,
    ) -> None:
        self._folder = folder
        self._file = PrivateFile(folder / NAME, keep_days)
        self._log = log
        self._is_exposed = is_exposed
        self._schema = schema
        self._opened: _Opened | None = None
        self._last: tuple[int, int] | None = None
        self._stamp = (0, 0)
        self._must_truncate = False
        self._has_warned_of_newer = False
        self._thread = ThreadPoolExecutor(1, "nbedit-database")
        #: Says which servers of this user are alive; to be used on the thread of the database.
        self.presence = Presence(folder)

    async def read(self, work: Work[_Result], *, purpose: Purpose = HISTORY) -> _Result:
        """Ask something.

        Parameters
        ----------
        work
            The question.
        purpose
            Says what has failed if the database does.

        Raises
        ------
        LedgerError
            If the database fails.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        return await self._submit(
            lambda: self._run_with_recovery(work, "BEGIN", deadline, purpose), purpose
        )

    async def read_modes(
        self, work: Work[_Result], *, purpose: Purpose
    ) -> tuple[_Result | None, str | None]:
        """Ask the table ``modes`` something, in a file of a newer release, too.

        Returns
        -------
        The answer, None if there is no database and none is made; and why a database was moved
        aside, None if none ever was.

        Raises
        ------
        LedgerError
            If the database fails.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS

        def look() -> tuple[_Result | None, str | None]:
            answer = None
            with map_sqlite_errors(purpose):
                is_kept = self._file.read_identity() is not None or self._is_exposed(self._folder)
            if is_kept:
                answer = self._run_with_recovery(
                    work, "BEGIN", deadline, purpose, may_be_newer=True
                )
            # Last of all: whoever moves the file aside writes the mark before.
            with map_sqlite_errors(purpose):
                return answer, self._file.read_mark()

        return await self._submit(look, purpose)

    async def write(
        self, work: Work[_Result], *, forget: bool = False, purpose: Purpose = HISTORY
    ) -> _Result:
        """Change something.

        Parameters
        ----------
        work
            The change; a second attempt may be made in a new file if the old one is broken.
        forget
            Whether what it deletes shall be in none of the files afterwards.
        purpose
            Says what has failed if the database does.

        Raises
        ------
        LedgerError
            If the database fails; nothing is changed.
        """
        # From here on: those that wait behind one another wait for the same lock.
        deadline = time.monotonic() + _PATIENCE_SECONDS

        def change() -> _Result:
            answer = self._run_with_recovery(work, "BEGIN IMMEDIATE", deadline, purpose)
            self._must_truncate |= forget
            if self._must_truncate:
                self._truncate()
            return answer

        return await self._submit(change, purpose)

    async def close(self) -> None:
        """Finish what was begun and close the file; nothing can be done afterwards."""
        try:
            await self._submit(self._close_all, HISTORY)
        except LedgerError as error:
            self._log.warning("%s", error.message)
        self._thread.shutdown(wait=False)

    async def _submit(self, function: Callable[[], _Result], purpose: Purpose) -> _Result:
        try:
            future = self._thread.submit(function)
        except RuntimeError:
            message = f"{purpose.problem}: this server is shutting down. {purpose.consequence}"
            raise LedgerError(message) from None
        return await asyncio.wrap_future(future)

    # All below is done on the one thread.

    def _run_with_recovery(
        self,
        work: Work[_Result],
        begin: str,
        deadline: float,
        purpose: Purpose,
        *,
        may_be_newer: bool = False,
    ) -> _Result:
        with map_sqlite_errors(purpose):
            for attempt in range(_ATTEMPTS):
                try:
                    return self._run_transaction(work, begin, deadline)
                except NewerFile as error:
                    self._warn_of_newer(error)
                    if not may_be_newer:
                        raise
                    return self._read_newer(work)
                except (sqlite3.DatabaseError, UnknownDatabase, UnicodeDecodeError) as error:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    if is_broken(error):
                        self._quarantine(error)
                    elif is_table_lost(error) or is_read_only(error):
                        # To open the file anew tells whether it is damaged, and whether it may be
                        # written by now; a connection that only reads stays one.
                        self._close()
                    else:
                        raise
        raise AssertionError

    def _run_transaction(self, work: Work[_Result], begin: str, deadline: float) -> _Result:
        connection = self._get_connection()
        left = max(0.0, deadline - time.monotonic())
        connection.execute(f"PRAGMA busy_timeout = {int(left * 1000)}")
        connection.execute(begin)
        try:
            answer = work(connection)
            connection.execute("COMMIT")
            self._stamp = self._file.read_size_and_time()
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
            self._stamp = self._file.read_size_and_time()

    def _get_connection(self) -> sqlite3.Connection:
        opened = self._opened
        if (
            opened is not None
            and opened.file is not None
            and (opened.file, self._stamp)
            != (self._file.read_identity(), self._file.read_size_and_time())
        ):
            # Somebody may have removed it, another server may have moved it aside, or something
            # may have written over it, which SQLite does not see as long as it remembers what was
            # there. To open it anew tells. Other servers write it as well, but seldom: what they
            # change is in the write-ahead log at first.
            self._close()
        if self._opened is None:
            self._opened = self._open()
            self._stamp = self._file.read_size_and_time()
        return self._opened.connection

    def _check_size(self) -> None:
        """Raise an error if the file is empty, which SQLite takes for a new database."""
        if self._file.read_size_and_time()[0] == 0:
            message = "the file is empty"
            raise UnknownDatabase(message)

    def _open(self) -> _Opened:
        if self._is_exposed(self._folder):
            self._log.warning(
                "The history of edits is kept in memory and ends with this server: its folder "
                "%r would be shown by the Contents API. Set JUPYTER_DATA_DIR to a folder outside "
                "of the served one.",
                str(self._folder),
            )
            return _Opened(self._make_in_memory(), None)
        self._file.make_folder()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            self._last = self._file.read_identity()
            if self._last is None:
                self._create()
                self._last = self._file.read_identity()
            if self._last is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            self._check_size()
            try:
                return _Opened(self._open_file(), self._last)
            except sqlite3.OperationalError as error:
                # SQLite does not wait for another server that migrates the file just now, and
                # another one may have moved it aside meanwhile.
                is_passing = is_locked(error) or self._file.read_identity() != self._last
                if not is_passing or time.monotonic() > deadline:
                    raise
            time.sleep(_POLL_SECONDS)

    def _open_file(self) -> sqlite3.Connection:
        """Open the file that is there, and bring it to the newest version."""
        with closing(self._connect_to_file("ro")) as reader:
            self._check_owner(reader)
        connection = self._connect_to_file("rw")
        try:
            connection.executescript(_SETTINGS)
            self._migrate(connection)
            check_structure(connection, self._structure)
            check_contents(connection, self._schema.checked_tables)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Make the file complete under another name first: nobody ever finds an unfinished one."""
        path = self._file.prepare_new()
        try:
            with closing(self._connect(path.as_uri(), uri=True)) as connection:
                connection.executescript(_SETTINGS)
                self._migrate(connection)
            self._file.publish_new(path)
        finally:
            self._file.discard_new(path)

    @cached_property
    def _structure(self) -> set[tuple[object, ...]]:
        with closing(self._make_in_memory()) as connection:
            return describe_structure(connection)

    def _make_in_memory(self) -> sqlite3.Connection:
        connection = self._connect(":memory:")
        connection.executescript(_SETTINGS)
        self._migrate(connection)
        return connection

    def _connect_to_file(self, rights: str) -> sqlite3.Connection:
        # It never makes a file: the one that was there may be moved aside at this moment.
        return self._connect(f"{self._file.path.absolute().as_uri()}?mode={rights}", uri=True)

    def _connect(self, name: str, *, uri: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(
            name, timeout=_PATIENCE_SECONDS, isolation_level=None, cached_statements=64, uri=uri
        )

    def _check_owner(self, connection: sqlite3.Connection) -> None:
        """Raise an error if the file is not a database of ours, or that of a newer release."""
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if owner != _APPLICATION_ID or version < 1:
            message = "file is not a database of jupyter_nbedit"
            raise UnknownDatabase(message)
        if version > len(self._schema.migrations):
            raise NewerFile(version, len(self._schema.migrations))

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Make the tables, or what is new in this release."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version >= len(self._schema.migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another server may have done so meanwhile.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for statements in self._schema.migrations[version:]:
                for statement in statements:
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(
                f"PRAGMA user_version = {max(version, len(self._schema.migrations))}"
            )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _read_newer(self, work: Work[_Result]) -> _Result:
        """Ask a file of a newer release, which is opened for reading alone and not kept open."""
        with closing(self._connect_to_file("ro")) as connection:
            return work(connection)

    def _warn_of_newer(self, error: NewerFile) -> None:
        if not self._has_warned_of_newer:
            self._has_warned_of_newer = True
            self._log.warning("%s: %s.", HISTORY.problem, error)

    def _quarantine(self, error: BaseException) -> None:
        """Move a broken file out of the way, unless another server has done so already."""
        self._close()
        if self._last != self._file.read_identity():
            return
        self._log.warning(
            "The history of edits cannot be read (%s). A new one is begun; the old one is kept as "
            "%r for %s days.",
            get_error_text(error),
            str(self._file.quarantine(_explain_damage(error))),
            self._file.keep_days,
        )

    def _close_all(self) -> None:
        self._close()
        self.presence.close()

    def _close(self) -> None:
        if self._opened is None:
            return
        if self._must_truncate:
            self._truncate()
        opened, self._opened = self._opened, None
        with suppress(sqlite3.Error):
            opened.connection.close()


def _explain_damage(error: BaseException) -> str:
    """Return what is wrong with a file, without the texts of it that SQLite repeats."""
    why = str(error) if isinstance(error, UnknownDatabase) else "it is damaged"
    return f"the database of jupyter_nbedit could not be read ({why})"
