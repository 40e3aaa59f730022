"""Add signatures to the store of Jupyter's notary in batches: a commit takes longer than an edit.

Everything runs on the thread of the event loop, which owns the connection of the store. The first
of several signatures is committed at once, all others up to half a second later in one transaction.
Signatures count as stored immediately. If the server is killed before the commit, the notebooks
that were edited last are no longer trusted.
"""

import asyncio
import sqlite3
import time
from datetime import datetime, timezone
from typing import Any

from nbformat.sign import MemorySignatureStore, NotebookNotary, SQLiteSignatureStore

_BATCH_SECONDS = 0.5
_FIND = "SELECT id FROM nbsignatures WHERE algorithm = ? AND signature = ?"
_ADD = "INSERT INTO nbsignatures (algorithm, signature, last_seen) VALUES (?, ?, ?)"


class BatchingSignatureStore:
    """A stock store and the signatures that are not committed yet.

    No transaction is open for them: other servers of the user could not sign during it.
    """

    def __init__(self, stock: SQLiteSignatureStore) -> None:
        self._stock = stock
        self._pending: dict[tuple[str, str], datetime] = {}
        self._last_commit = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the stock store."""
        return getattr(self._stock, name)

    def check_signature(self, signature: str, algorithm: str) -> bool:
        """Return whether the store has a signature, and update the time of its last use."""
        is_pending = (signature, algorithm) in self._pending
        return is_pending or bool(self._stock.check_signature(signature, algorithm))

    def remove_signature(self, signature: str, algorithm: str) -> None:
        """Remove a signature."""
        self._pending.pop((signature, algorithm), None)
        self._stock.remove_signature(signature, algorithm)

    def close(self) -> None:
        """Commit pending signatures and close the database."""
        self.flush()
        self._stock.close()

    def is_empty(self) -> bool:
        """Return whether the store has no signatures."""
        row = self._stock.db.execute("SELECT id FROM nbsignatures LIMIT 1").fetchone()
        return not self._pending and row is None

    def has(self, signature: str, algorithm: str) -> bool:
        """Return whether the store has a signature; a commit of the time of its use is spared."""
        if (signature, algorithm) in self._pending:
            return True
        return self._stock.db.execute(_FIND, (algorithm, signature)).fetchone() is not None

    def add(self, signature: str, algorithm: str) -> None:
        """Add a signature, and commit it now or with the next batch."""
        self._pending[signature, algorithm] = datetime.now(tz=timezone.utc)
        if time.monotonic() > self._last_commit + _BATCH_SECONDS:
            self.commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_BATCH_SECONDS, self.flush)

    def commit(self) -> None:
        """Commit the pending signatures, or drop them and raise `sqlite3.Error`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pending, self._pending = self._pending, {}
        database: sqlite3.Connection | None = self._stock.db
        if not pending or database is None:
            return
        try:
            for (signature, algorithm), last_seen in pending.items():
                if database.execute(_FIND, (algorithm, signature)).fetchone() is None:
                    database.execute(_ADD, (algorithm, signature, last_seen))
            (count,) = database.execute("SELECT count(*) FROM nbsignatures").fetchone()
            if count > self._stock.cache_size:
                self._stock.cull_db()
            database.commit()
        except sqlite3.Error:
            database.rollback()
            raise
        finally:
            self._last_commit = time.monotonic()

    def flush(self) -> None:
        """Commit the pending signatures, and log a failure."""
        try:
            self.commit()
        except sqlite3.Error:
            self._stock.log.exception("The trust of notebooks that were edited could not be kept")


def _get_batching_store(notary: NotebookNotary) -> BatchingSignatureStore | None:
    """Replace the stock store of a notary by a batching one; None for a store of another class."""
    store = notary.store
    if type(store) is SQLiteSignatureStore and store.db is not None:
        # The notary may get a new stock store, if its database is damaged.
        store = notary.store = BatchingSignatureStore(store)
    return store if isinstance(store, BatchingSignatureStore) else None


def is_empty(notary: NotebookNotary) -> bool:
    """Return whether the store certainly has no signatures; False if that is unknown."""
    store = _get_batching_store(notary)
    if store is not None:
        return store.is_empty()
    return type(notary.store) is MemorySignatureStore and not notary.store.data


def has(notary: NotebookNotary, signature: str) -> bool:
    """Return whether the store has a signature."""
    store = _get_batching_store(notary)
    if store is None:
        return bool(notary.store.check_signature(signature, notary.algorithm))
    return store.has(signature, notary.algorithm)


def add(notary: NotebookNotary, signature: str) -> None:
    """Add a signature."""
    store = _get_batching_store(notary)
    if store is None:
        notary.store.store_signature(signature, notary.algorithm)
    else:
        store.add(signature, notary.algorithm)


def flush(notary: NotebookNotary) -> None:
    """Commit the pending signatures."""
    if isinstance(notary.store, BatchingSignatureStore):
        notary.store.flush()
