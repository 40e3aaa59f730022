"""The SQLite file of the history, the modes and the proposals: transactions, recovery, migration.

Only its owner can read it (folder 0700, files 0600), and deleted rows are overwritten. The servers
of one user share the file, also servers of different releases; see `schema`.
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

from jupyter_nbedit.db.database_files import PrivateFile
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
from jupyter_nbedit.db.running_servers import Presence
from jupyter_nbedit.db.schema import SCHEMA, Schema
from jupyter_nbedit.db.structure_check import check_contents, check_structure, describe_structure
from jupyter_nbedit.errors import HistoryUnavailable

_Result = TypeVar("_Result")
#: Reads or changes rows, on the thread of the database and in one transaction.
Query = Callable[[sqlite3.Connection], _Result]

NAME = "history.sqlite3"

# "nbed", in the header of the file.
_APPLICATION_ID = 0x6E626564
_PATIENCE_SECONDS = 2.0
_POLL_SECONDS = 0.02
# Damage is found at most once in a transaction, and tables disappear at most once.
_ATTEMPTS = 3
_SETTINGS = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA secure_delete = ON;
    PRAGMA temp_store = MEMORY;
"""


@dataclass(frozen=True)
class _Connection:
    """A connection and the identity of its file; None for a database in memory."""

    sqlite: sqlite3.Connection
    identity: tuple[int, int] | None


class Database:
    """One file, one thread, one transaction at a time. The file is opened when it is first used.

    Parameters
    ----------
    folder
        The folder of the file, which no other program uses.
    log
        The log of the server.
    is_exposed
        Returns whether the Contents API serves a folder. If so, the database is in memory.
    keep_days
        How many days a quarantined file is kept.
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
        self._connection: _Connection | None = None
        # The file that was opened, or tried, last.
        self._last_identity: tuple[int, int] | None = None
        self._last_size_and_time = (0, 0)
        self._must_truncate = False
        self._has_warned_of_newer = False
        self._thread = ThreadPoolExecutor(1, "nbedit-database")
        #: Which servers of this user are running; to be used on the thread of the database.
        self.presence = Presence(folder)

    async def read(self, query: Query[_Result], *, purpose: Purpose = HISTORY) -> _Result:
        """Run a query that only reads.

        Parameters
        ----------
        query
            It may run a second time, on a new file, if the old one is damaged.
        purpose
            The words of the message if the database fails.

        Raises
        ------
        HistoryUnavailable
            If the database fails.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS
        return await self._submit(
            lambda: self._run_with_recovery(query, "BEGIN", deadline, purpose), purpose
        )

    async def read_modes(
        self, query: Query[_Result], *, purpose: Purpose
    ) -> tuple[_Result | None, str | None]:
        """Run a query on the table ``modes``, also in a file of a newer release.

        Returns
        -------
        The result, None if there is no database (none is made); and the reason of the last
        quarantine, None if there was none.

        Raises
        ------
        HistoryUnavailable
            If the database fails.
        """
        deadline = time.monotonic() + _PATIENCE_SECONDS

        def run() -> tuple[_Result | None, str | None]:
            result = None
            with map_sqlite_errors(purpose):
                has_database = self._file.read_identity() is not None or self._is_exposed(
                    self._folder
                )
            if has_database:
                result = self._run_with_recovery(
                    query, "BEGIN", deadline, purpose, may_be_newer=True
                )
            # The mark is read last, because a quarantine writes it before it moves the file.
            with map_sqlite_errors(purpose):
                return result, self._file.read_mark()

        return await self._submit(run, purpose)

    async def write(
        self, query: Query[_Result], *, forget: bool = False, purpose: Purpose = HISTORY
    ) -> _Result:
        """Run a query that changes rows.

        Parameters
        ----------
        query
            It may run a second time, on a new file, if the old one is damaged.
        forget
            Whether no file may contain the deleted rows afterwards.
        purpose
            The words of the message if the database fails.

        Raises
        ------
        HistoryUnavailable
            If the database fails; nothing is changed.
        """
        # Before the thread is waited for: all waiting queries wait for the same lock.
        deadline = time.monotonic() + _PATIENCE_SECONDS

        def run() -> _Result:
            result = self._run_with_recovery(query, "BEGIN IMMEDIATE", deadline, purpose)
            self._must_truncate |= forget
            if self._must_truncate:
                self._truncate()
            return result

        return await self._submit(run, purpose)

    async def close(self) -> None:
        """Finish the pending queries and close the file; later queries fail."""
        try:
            await self._submit(self._close_all, HISTORY)
        except HistoryUnavailable as error:
            self._log.warning("%s", error.message)
        self._thread.shutdown(wait=False)

    async def _submit(self, function: Callable[[], _Result], purpose: Purpose) -> _Result:
        try:
            future = self._thread.submit(function)
        except RuntimeError:
            message = f"{purpose.problem}: this server is shutting down. {purpose.consequence}"
            raise HistoryUnavailable(message) from None
        return await asyncio.wrap_future(future)

    # All methods below run on the thread of the database.

    def _run_with_recovery(
        self,
        query: Query[_Result],
        begin: str,
        deadline: float,
        purpose: Purpose,
        *,
        may_be_newer: bool = False,
    ) -> _Result:
        with map_sqlite_errors(purpose):
            for attempt in range(_ATTEMPTS):
                try:
                    return self._run_transaction(query, begin, deadline)
                except NewerFile as error:
                    self._warn_of_newer(error)
                    if not may_be_newer:
                        raise
                    return self._read_newer(query)
                except (sqlite3.DatabaseError, UnknownDatabase, UnicodeDecodeError) as error:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    if is_broken(error):
                        self._quarantine(error)
                    elif is_table_lost(error) or is_read_only(error):
                        # Opening the file again finds out whether it is damaged, and whether it is
                        # writable by now: a read-only connection stays read-only.
                        self._close()
                    else:
                        raise
        raise AssertionError

    def _run_transaction(self, query: Query[_Result], begin: str, deadline: float) -> _Result:
        connection = self._get_connection()
        seconds = max(0.0, deadline - time.monotonic())
        connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
        connection.execute(begin)
        try:
            result = query(connection)
            connection.execute("COMMIT")
            self._last_size_and_time = self._file.read_size_and_time()
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result

    def _truncate(self) -> None:
        """Empty the write-ahead log, which still contains deleted rows."""
        if self._connection is None:
            return
        with suppress(sqlite3.Error):
            is_busy, *_ = self._connection.sqlite.execute(
                "PRAGMA wal_checkpoint(TRUNCATE)"
            ).fetchone()
            # While another server reads, the log stays until the next change.
            self._must_truncate = bool(is_busy)
            self._last_size_and_time = self._file.read_size_and_time()

    def _get_connection(self) -> sqlite3.Connection:
        connection = self._connection
        if (
            connection is not None
            and connection.identity is not None
            and (connection.identity, self._last_size_and_time)
            != (self._file.read_identity(), self._file.read_size_and_time())
        ):
            # The file was removed, moved by another server, or overwritten, which SQLite does not
            # notice as long as it has the pages in its cache; so it is opened again. Regular writes
            # of other servers cause this only rarely, because they go to the write-ahead log first.
            self._close()
        if self._connection is None:
            self._connection = self._open()
            self._last_size_and_time = self._file.read_size_and_time()
        return self._connection.sqlite

    def _check_size(self) -> None:
        """Raise an error if the file is empty, which SQLite would use as a new database."""
        if self._file.read_size_and_time()[0] == 0:
            message = "the file is empty"
            raise UnknownDatabase(message)

    def _open(self) -> _Connection:
        if self._is_exposed(self._folder):
            self._log.warning(
                "The history of edits is kept in memory and ends with this server: its folder "
                "%r would be shown by the Contents API. Set JUPYTER_DATA_DIR to a folder outside "
                "of the served one.",
                str(self._folder),
            )
            return _Connection(self._make_in_memory(), None)
        self._file.make_folder()
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            self._last_identity = self._file.read_identity()
            if self._last_identity is None:
                self._create()
                self._last_identity = self._file.read_identity()
            if self._last_identity is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            self._check_size()
            try:
                return _Connection(self._open_file(), self._last_identity)
            except sqlite3.OperationalError as error:
                # Another server may be migrating the file, for which SQLite does not wait, or may
                # have moved it.
                is_temporary = is_locked(error) or self._file.read_identity() != self._last_identity
                if not is_temporary or time.monotonic() > deadline:
                    raise
            time.sleep(_POLL_SECONDS)

    def _open_file(self) -> sqlite3.Connection:
        """Open the existing file and migrate it to the newest version."""
        with closing(self._connect_to_file("ro")) as reader:
            self._check_owner(reader)
        connection = self._connect_to_file("rw")
        try:
            connection.executescript(_SETTINGS)
            self._migrate(connection)
            check_structure(connection, self._newest_structure)
            check_contents(connection, self._schema.checked_tables)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Make the file under another name first, so that no server opens an incomplete one."""
        path = self._file.prepare_new()
        try:
            with closing(self._connect(path.as_uri(), uri=True)) as connection:
                connection.executescript(_SETTINGS)
                self._migrate(connection)
            self._file.publish_new(path)
        finally:
            self._file.discard_new(path)

    @cached_property
    def _newest_structure(self) -> set[tuple[object, ...]]:
        return self._describe_version(len(self._schema.migrations))

    def _describe_version(self, version: int) -> set[tuple[object, ...]]:
        with closing(self._connect(":memory:")) as connection:
            for statements in self._schema.migrations[:version]:
                for statement in statements:
                    connection.execute(statement)
            return describe_structure(connection)

    def _make_in_memory(self) -> sqlite3.Connection:
        connection = self._connect(":memory:")
        connection.executescript(_SETTINGS)
        self._migrate(connection)
        return connection

    def _connect_to_file(self, rights: str) -> sqlite3.Connection:
        # This never makes a file: another server may be moving the existing one at this moment.
        return self._connect(f"{self._file.path.absolute().as_uri()}?mode={rights}", uri=True)

    def _connect(self, name: str, *, uri: bool = False) -> sqlite3.Connection:
        return sqlite3.connect(
            name, timeout=_PATIENCE_SECONDS, isolation_level=None, cached_statements=64, uri=uri
        )

    def _check_owner(self, connection: sqlite3.Connection) -> None:
        """Raise an error if the file is not of this package, or is of a newer release."""
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if owner != _APPLICATION_ID or version < 1:
            message = "file is not a database of jupyter_nbedit"
            raise UnknownDatabase(message)
        if version > len(self._schema.migrations):
            raise NewerFile(version, len(self._schema.migrations))

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Execute the migrations that the database has not had."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version >= len(self._schema.migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another server may have migrated it meanwhile.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            # A damaged file is found here, before a migration fails on it.
            check_structure(connection, self._describe_version(version))
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

    def _read_newer(self, query: Query[_Result]) -> _Result:
        """Run a query on a file of a newer release, which is opened read-only and then closed."""
        with closing(self._connect_to_file("ro")) as connection:
            return query(connection)

    def _warn_of_newer(self, error: NewerFile) -> None:
        if not self._has_warned_of_newer:
            self._has_warned_of_newer = True
            self._log.warning("%s: %s.", HISTORY.problem, error)

    def _quarantine(self, error: BaseException) -> None:
        """Rename the damaged file, unless another server has done so already."""
        self._close()
        if self._last_identity != self._file.read_identity():
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
        if self._connection is None:
            return
        if self._must_truncate:
            self._truncate()
        connection, self._connection = self._connection, None
        with suppress(sqlite3.Error):
            connection.sqlite.close()


def _explain_damage(error: BaseException) -> str:
    """Return what is wrong with the file, without contents of it that SQLite's texts may quote."""
    problem = str(error) if isinstance(error, UnknownDatabase) else "it is damaged"
    return f"the database of jupyter_nbedit could not be read ({problem})"
