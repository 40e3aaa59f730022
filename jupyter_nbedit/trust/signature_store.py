"""The store of signatures that Jupyter's notary has: asked and filled without waiting for the disk.

All is done on the thread of the loop, for the store's connection belongs to it. Each commit of the
stock store waits for the disk several times, which takes longer than an edit. So of signatures that
follow one another closely only the first is committed at once. The others are known from the moment
they are given, and in the database some milliseconds later, all in one transaction: a server that
is killed meanwhile has lost the trust of what it edited last, and nothing else.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import OrderedDict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from nbformat.sign import MemorySignatureStore, SignatureStore, SQLiteSignatureStore

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary

# How long a signature may wait for others, to be committed together with them: longer on a slow
# disk, so that no more than a tenth of the loop's time is spent on waiting for it.
_GATHER_SECONDS = 0.02
_MOST_GATHER_SECONDS = 0.5
_GATHER_COMMITS = 10
# How long the store need not be told again that a signature is in use.
_FRESH_SECONDS = 600.0
_MOST_FRESH = 4096
_FIND = "SELECT id FROM nbsignatures WHERE algorithm = ? AND signature = ?"
_ADD = "INSERT INTO nbsignatures (algorithm, signature, last_seen) VALUES (?, ?, ?)"


class BatchingSignatureStore(SignatureStore):
    """The stock store, with signatures that are on their way to it.

    Parameters
    ----------
    stock
        The store, whose methods do all that is not ours.
    """

    def __init__(self, stock: SQLiteSignatureStore) -> None:
        self._stock = stock
        self._waiting: dict[tuple[str, str], datetime] = {}
        self._seen: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._committed = float("-inf")
        self._gather = _GATHER_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        """Be the stock store in all else."""
        return getattr(self._stock, name)

    def check_signature(self, digest: str, algorithm: str) -> bool:
        """Return whether a signature is known, and that it is in use."""
        known = (digest, algorithm) in self._waiting
        return known or bool(self._stock.check_signature(digest, algorithm))

    def store_signature(self, digest: str, algorithm: str) -> None:
        """Keep a signature."""
        self._stock.store_signature(digest, algorithm)

    def remove_signature(self, digest: str, algorithm: str) -> None:
        """Forget a signature."""
        self._waiting.pop((digest, algorithm), None)
        self._stock.remove_signature(digest, algorithm)

    def close(self) -> None:
        """Commit what waits and close the database."""
        self.settle()
        self._stock.close()

    def is_empty(self) -> bool:
        """Return whether no signature is known."""
        found = self._stock.db.execute("SELECT id FROM nbsignatures LIMIT 1").fetchone()
        return not self._waiting and found is None

    def has(self, digest: str, algorithm: str) -> bool:
        """Return whether a signature is known; the store hears of its use now and then only."""
        key = (digest, algorithm)
        if key in self._waiting:
            return True
        if time.monotonic() > self._seen.get(key, 0.0) + _FRESH_SECONDS:
            known = bool(self._stock.check_signature(digest, algorithm))
            if known:
                self._note(key)
            return known
        return self._stock.db.execute(_FIND, (algorithm, digest)).fetchone() is not None

    def add(self, digest: str, algorithm: str) -> None:
        """Keep a signature, at once or in good company."""
        key = (digest, algorithm)
        self._note(key)
        self._waiting[key] = datetime.now(tz=timezone.utc)
        if time.monotonic() > self._committed + self._gather:
            self.commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._gather, self.settle)

    def commit(self) -> None:
        """Put what waits into the database.

        Raises
        ------
        sqlite3.Error
            If that fails; then it does not wait any longer.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        database: sqlite3.Connection | None = self._stock.db
        if not waiting or database is None:
            return
        began = time.monotonic()
        try:
            for (digest, algorithm), when in waiting.items():
                if database.execute(_FIND, (algorithm, digest)).fetchone() is None:
                    database.execute(_ADD, (algorithm, digest, when))
            (count,) = database.execute("SELECT count(*) FROM nbsignatures").fetchone()
            if count > self._stock.cache_size:
                self._stock.cull_db()
            database.commit()
        except sqlite3.Error:
            database.rollback()
            raise
        finally:
            self._committed = time.monotonic()
            needed = _GATHER_COMMITS * (self._committed - began)
            self._gather = min(max(_GATHER_SECONDS, needed), _MOST_GATHER_SECONDS)

    def settle(self) -> None:
        """Put what waits into the database, and leave it to the log if that fails."""
        try:
            self.commit()
        except sqlite3.Error:
            self._stock.log.exception("The trust of notebooks that were edited could not be kept")

    def _note(self, key: tuple[str, str]) -> None:
        self._seen[key] = time.monotonic()
        self._seen.move_to_end(key)
        if len(self._seen) > _MOST_FRESH:
            self._seen.popitem(last=False)


def _get_batching_store(notary: NotebookNotary) -> BatchingSignatureStore | None:
    """Return the notary's store as ours; None if it is of a kind that is not known here."""
    store = notary.store
    if type(store) is SQLiteSignatureStore and store.db is not None:
        # The notary is given another store if something is wrong with this one.
        store = notary.store = BatchingSignatureStore(store)
    return store if isinstance(store, BatchingSignatureStore) else None


def is_empty(notary: NotebookNotary) -> bool:
    """Return whether no notebook at all is trusted, as far as that shows without asking for one."""
    store = _get_batching_store(notary)
    if store is not None:
        return store.is_empty()
    return type(notary.store) is MemorySignatureStore and not notary.store.data


def has(notary: NotebookNotary, digest: str) -> bool:
    """Return whether a signature is known."""
    store = _get_batching_store(notary)
    if store is None:
        return bool(notary.store.check_signature(digest, notary.algorithm))
    return store.has(digest, notary.algorithm)


def add(notary: NotebookNotary, digest: str) -> None:
    """Keep a signature."""
    store = _get_batching_store(notary)
    if store is None:
        notary.store.store_signature(digest, notary.algorithm)
    else:
        store.add(digest, notary.algorithm)


def settle(notary: NotebookNotary) -> None:
    """Put into the database what waits for it."""
    if isinstance(notary.store, BatchingSignatureStore):
        notary.store.settle()
