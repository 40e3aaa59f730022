"""The SQLite file of the history, the modes and the proposals: transactions, recovery, migration.

Only its owner can read it (folder 0700, files 0600), and deleted rows are overwritten. The servers
of one user share the file, also servers of different releases; see `schema`.
"""

import asyncio
import errno
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass
from logging import Logger
from pathlib import Path
from typing import TypeVar

from jupyter_nbedit.db.database_files import DAY_SECONDS, FileState, PrivateFile
from jupyter_nbedit.db.errors import (
    HISTORY,
    NewerFile,
    Purpose,
    UnknownDatabase,
    is_broken,
    is_connection_stale,
    is_locked,
    map_sqlite_errors,
)
from jupyter_nbedit.db.schema import SCHEMA, Schema
from jupyter_nbedit.errors import HistoryUnavailable

_Result = TypeVar("_Result")
#: Reads or changes rows, on the thread of the database and in one transaction. The function may run
#: a second time, on a new file, if the old file is damaged.
Query = Callable[[sqlite3.Connection], _Result]

NAME = "history.sqlite3"

_TIMEOUT_SECONDS = 2.0
_POLL_SECONDS = 0.02
# What `PRAGMA auto_vacuum` returns for a file that can shrink step by step.
_INCREMENTAL = 2
# Damage is found at most once in a transaction, and tables disappear at most once.
_ATTEMPTS = 3
# A new file can shrink; an older one after VACUUM.
_SETTINGS = """
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
"""


@dataclass(eq=False)
class Database:
    """One file, one thread, one transaction at a time. The file is opened when it is first used.

    Methods raise `HistoryUnavailable` with the words of ``purpose`` if the database fails. Nothing
    is changed then.
    """

    #: The folder of the file, which no other program uses.
    folder: Path
    log: Logger
    _: KW_ONLY
    #: Returns whether the Contents API serves a folder. If so, the database is in memory.
    is_exposed: Callable[[Path], bool]
    #: How many days the history, and a quarantined file, are kept.
    max_days: float
    schema: Schema = SCHEMA
    _connection: sqlite3.Connection | None = None
    _is_in_memory: bool = False
    # The state, after the last transaction, of the file that was opened, or tried, last.
    _last_state: FileState | None = None
    _must_truncate: bool = False
    _has_warned_of_newer: bool = False

    def __post_init__(self) -> None:
        self._file = PrivateFile(self.folder / NAME, self.max_days)
        self._thread = ThreadPoolExecutor(1, "nbedit-database")

    @property
    def has_file(self) -> bool:
        """Whether there is a file already, which another server may have made."""
        return self._file.read_state() is not None

    def compute_oldest_time(self) -> float:
        """Return the time, in seconds of the epoch, before which nothing is kept."""
        return time.time() - self.max_days * DAY_SECONDS

    async def read(self, query: Query[_Result], *, purpose: Purpose = HISTORY) -> _Result:
        """Run a query that only reads."""
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        return await self._submit(
            lambda: self._run_with_recovery(query, "BEGIN", deadline), purpose
        )

    async def read_modes(
        self, query: Query[_Result], *, purpose: Purpose
    ) -> tuple[_Result | None, str | None]:
        """Run a query on the table ``modes``, also in a file of a newer release.

        Return the result, or None if there is no database (no database is made), and the reason of
        the last quarantine, or None if there was no quarantine.
        """
        deadline = time.monotonic() + _TIMEOUT_SECONDS

        def run() -> tuple[_Result | None, str | None]:
            result = None
            if self._file.read_state() is not None or self.is_exposed(self.folder):
                result = self._run_with_recovery(query, "BEGIN", deadline, may_be_newer=True)
            # The note is read last, because a quarantine writes it before it moves the file.
            return result, self._file.read_quarantine_reason()

        return await self._submit(run, purpose)

    async def write(
        self, query: Query[_Result], *, forget: bool = False, purpose: Purpose = HISTORY
    ) -> _Result:
        """Run a query that changes rows.

        With ``forget``, no file contains the deleted rows afterwards.
        """
        # Before the thread is waited for: all waiting queries wait for the same lock.
        deadline = time.monotonic() + _TIMEOUT_SECONDS

        def run() -> _Result:
            result = self._run_with_recovery(query, "BEGIN IMMEDIATE", deadline)
            self._must_truncate |= forget
            if self._must_truncate:
                self._truncate()
            return result

        return await self._submit(run, purpose)

    async def close(self) -> None:
        """Finish the pending queries and close the file; later queries fail."""
        try:
            await self._submit(self._close, HISTORY)
        except HistoryUnavailable as error:
            self.log.warning("%s", error.message)
        self._thread.shutdown(wait=False)

    async def _submit(self, function: Callable[[], _Result], purpose: Purpose) -> _Result:
        def run() -> _Result:
            with map_sqlite_errors(purpose):
                return function()

        try:
            future = self._thread.submit(run)
        except RuntimeError:
            message = f"{purpose.problem}: this server is shutting down. {purpose.consequence}"
            raise HistoryUnavailable(message) from None
        return await asyncio.wrap_future(future)

    # All methods below run on the thread of the database.

    def _run_with_recovery(
        self, query: Query[_Result], begin: str, deadline: float, *, may_be_newer: bool = False
    ) -> _Result:
        for attempt in range(_ATTEMPTS):
            try:
                connection = self._get_connection()
                seconds = max(0.0, deadline - time.monotonic())
                connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
                result = _run_in_transaction(connection, begin, query)
                self._update_state()
            except NewerFile as error:
                if not self._has_warned_of_newer:
                    self._has_warned_of_newer = True
                    self.log.warning("%s: %s.", HISTORY.problem, error)
                if not may_be_newer:
                    raise
                with closing(self._connect_to_file("ro")) as connection:
                    return query(connection)
            except (sqlite3.DatabaseError, UnknownDatabase, UnicodeDecodeError) as error:
                if attempt == _ATTEMPTS - 1:
                    raise
                if is_broken(error):
                    self._quarantine(error)
                elif is_connection_stale(error):
                    # Opening the file again finds out whether it is damaged, and whether it is
                    # writable by now: a read-only connection stays read-only.
                    self._close()
                else:
                    raise
            else:
                return result
        raise AssertionError

    def _truncate(self) -> None:
        """Empty the write-ahead log, which still contains deleted rows."""
        if self._connection is None:
            return
        with suppress(sqlite3.Error):
            checkpoint = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            is_busy, *_ = checkpoint.fetchone()
            # While another server reads, the log stays until the next change.
            self._must_truncate = bool(is_busy)
            self._update_state()

    def _update_state(self) -> None:
        """Read the size and the time of the open file, unless there is another file by now."""
        state = self._file.read_state()
        if state is not None and state.is_same_file(self._last_state):
            self._last_state = state

    def _get_connection(self) -> sqlite3.Connection:
        if not self._is_in_memory and self._last_state != self._file.read_state():
            # The file was removed, moved by another server, or overwritten, which SQLite does not
            # notice as long as it has the pages in its cache; so it is opened again. Regular writes
            # of other servers cause this only rarely, because they go to the write-ahead log first.
            self._close()
        if self._connection is None:
            self._connection = self._open()
            self._update_state()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        self._is_in_memory = self.is_exposed(self.folder)
        if self._is_in_memory:
            self.log.warning(
                "The edit history is kept in memory and is lost when this server stops: its "
                "folder %r would be shown by the Contents API. Set JUPYTER_DATA_DIR to a folder "
                "outside of the served one.",
                str(self.folder),
            )
            return self._prepare(_connect(":memory:"))
        self._file.make_folder()
        deadline = time.monotonic() + _TIMEOUT_SECONDS
        while True:
            if self._file.read_state() is None:
                self._create()
            self._last_state = state = self._file.read_state()
            if state is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            if state.size == 0:
                # SQLite would use it as a new database.
                raise UnknownDatabase("the file is empty")
            try:
                with closing(self._connect_to_file("ro")) as reader:
                    self.schema.check_owner(reader)
                connection = self._prepare(self._connect_to_file("rw"))
            except sqlite3.OperationalError as error:
                # Another server may be migrating the file, for which SQLite does not wait, or may
                # have moved it.
                is_temporary = is_locked(error) or not state.is_same_file(self._file.read_state())
                if not is_temporary or time.monotonic() > deadline:
                    raise
            else:
                return connection
            time.sleep(_POLL_SECONDS)

    def _create(self) -> None:
        """Make the file under another name first, so that no server opens an incomplete file."""
        path = self._file.create_new_file()
        try:
            self._prepare(_connect(path.as_uri())).close()
            self._file.publish_new_file(path)
        finally:
            self._file.discard_new_file(path)

    def _prepare(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        """Migrate a database to the newest version, and check its tables."""
        try:
            connection.executescript(_SETTINGS)
            if self.schema.is_outdated(connection):
                _run_in_transaction(connection, "BEGIN IMMEDIATE", self.schema.migrate)
                if connection.execute("PRAGMA auto_vacuum").fetchone() != (_INCREMENTAL,):
                    try:
                        connection.execute("VACUUM")
                    except sqlite3.OperationalError as error:
                        # Another server may use the file, or the disk be full.
                        self.log.info("The file of the edit history cannot shrink: %s", error)
            self.schema.check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_file(self, rights: str) -> sqlite3.Connection:
        # This never makes a file: another server may be moving the existing one at this moment.
        return _connect(f"{self._file.path.absolute().as_uri()}?mode={rights}")

    def _quarantine(self, error: BaseException) -> None:
        """Rename the damaged file, unless another server has done so already."""
        self._close()
        state = self._file.read_state()
        if state is None or not state.is_same_file(self._last_state):
            return
        # SQLite's texts may quote contents of the file.
        reason = str(error) if isinstance(error, UnknownDatabase) else "it is damaged"
        problem = f"the database of jupyter_nbedit could not be read ({reason})"
        self.log.warning(
            "The edit history cannot be read (%s). A new one was created; the old file is kept "
            "as %r for %s days.",
            error,
            str(self._file.quarantine(problem)),
            self.max_days,
        )

    def _close(self) -> None:
        if self._connection is None:
            return
        if self._must_truncate:
            self._truncate()
        connection, self._connection = self._connection, None
        with suppress(sqlite3.Error):
            connection.close()


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, timeout=_TIMEOUT_SECONDS, isolation_level=None, cached_statements=64, uri=True
    )


def _run_in_transaction(
    connection: sqlite3.Connection, begin: str, query: Query[_Result]
) -> _Result:
    connection.execute(begin)
    try:
        result = query(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return result
