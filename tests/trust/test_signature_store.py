"""Signatures on their way to the notary's database: known at once, batched."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from nbformat.sign import MemorySignatureStore, NotebookNotary, SQLiteSignatureStore

from jupyter_nbedit.trust import signature_store
from tests.support.clock import Clock
from tests.support.services import ServiceBuilder
from tests.support.waiting import wait_until_async

NAMES = ["one", "two", "three"]
# Longer than signatures are gathered.
LATER_SECONDS = 10


@pytest.fixture
def notary(services: ServiceBuilder) -> NotebookNotary:
    return services.build_notary()


@pytest.fixture
def database(notary: NotebookNotary) -> Path:
    return Path(notary.db_file)


def list_committed(database: Path) -> list[str]:
    """Read the database as another process does."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT signature FROM nbsignatures ORDER BY id").fetchall()
    return [row[0] for row in rows]


async def wait_for_commit(database: Path, *signatures: str) -> None:
    await wait_until_async(lambda: list_committed(database) == list(signatures))


def add_all(notary: NotebookNotary, *names: str) -> None:
    for name in names:
        signature_store.add(notary, name)


async def test_the_first_signature_is_committed_at_once_and_the_next_ones_together(
    notary: NotebookNotary, database: Path
) -> None:
    names = [f"signature {n}" for n in range(20)]
    assert signature_store.is_empty(notary)
    for name in names:
        signature_store.add(notary, name)
        assert signature_store.has(notary, name)
        # As Jupyter asks.
        assert notary.store.check_signature(name, notary.algorithm)
    assert list_committed(database)[0] == names[0]
    await wait_for_commit(database, *names)
    assert all(signature_store.has(notary, name) for name in names)
    assert not signature_store.is_empty(notary)


async def test_signatures_that_others_remove_go(notary: NotebookNotary, database: Path) -> None:
    add_all(notary, *NAMES)
    # What waits is in no transaction that would keep others away. `jupyter trust --reset` removes
    # the file; a running server keeps its own until it ends.
    with closing(sqlite3.connect(database, timeout=0)) as other, other:
        other.execute("DELETE FROM nbsignatures")
    assert [signature_store.has(notary, name) for name in NAMES] == [False, True, True]


@pytest.mark.parametrize("end", ["settle", "close"])
async def test_a_regular_shutdown_loses_no_signature(
    notary: NotebookNotary, database: Path, end: str
) -> None:
    add_all(notary, *NAMES)
    if end == "settle":
        signature_store.flush(notary)
    else:
        notary.store.close()
    assert list_committed(database) == NAMES


async def test_a_removed_signature_does_not_return_and_none_is_stored_twice(
    notary: NotebookNotary, database: Path
) -> None:
    add_all(notary, "one", "one", "two", "three", "one")
    notary.store.remove_signature("two", notary.algorithm)
    assert not signature_store.has(notary, "two")
    await wait_for_commit(database, "one", "three")


async def test_the_oldest_of_too_many_signatures_are_pruned(
    notary: NotebookNotary, database: Path
) -> None:
    notary.store.cache_size = 8
    add_all(notary, *map(str, range(12)))
    signature_store.flush(notary)
    committed = list_committed(database)
    # Two signatures may be of the same microsecond: which of them is older is not stored.
    assert len(committed) == 6
    assert committed[1:] == [str(n) for n in range(7, 12)]


async def test_a_failing_database_is_reported_in_the_reply_or_in_the_log(
    notary: NotebookNotary, database: Path, caplog: pytest.LogCaptureFixture, clock: Clock
) -> None:
    signature_store.add(notary, "one")
    notary.store.db.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(database)) as other:
        other.execute("BEGIN IMMEDIATE")
        signature_store.add(notary, "two")
        signature_store.flush(notary)
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert not signature_store.has(notary, "two")
        clock.advance(LATER_SECONDS)
        with pytest.raises(sqlite3.OperationalError):
            signature_store.add(notary, "three")
        other.rollback()
    assert list_committed(database) == ["one"]
    clock.advance(LATER_SECONDS)
    signature_store.add(notary, "four")
    assert list_committed(database) == ["one", "four"]


class ForeignStore(SQLiteSignatureStore):
    """A foreign store, which records its queries."""

    asked: list[Any]

    def check_signature(self, signature: str, algorithm: str) -> bool:
        self.asked.append((signature, algorithm))
        return bool(super().check_signature(signature, algorithm))  # type: ignore[no-untyped-call]


async def test_a_foreign_store_is_always_queried(notary: NotebookNotary, tmp_path: Path) -> None:
    store = ForeignStore(str(tmp_path / "own.db"))  # type: ignore[no-untyped-call]
    store.asked = []
    notary.store = store
    assert not signature_store.is_empty(notary)
    assert not signature_store.has(notary, "one")
    signature_store.add(notary, "one")
    assert signature_store.has(notary, "one")
    signature_store.flush(notary)
    assert notary.store is store
    assert ("one", notary.algorithm) in store.asked


async def test_a_memory_store_is_queried_if_it_is_not_empty(notary: NotebookNotary) -> None:
    notary.store = MemorySignatureStore()
    assert signature_store.is_empty(notary)
    signature_store.add(notary, "one")
    assert not signature_store.is_empty(notary)
    assert signature_store.has(notary, "one")


async def test_a_store_set_later_on_the_notary_is_used_unchanged(
    notary: NotebookNotary, database: Path
) -> None:
    signature_store.add(notary, "one")
    first = notary.store
    # What jupyter_server does if a store fails.
    notary.store = notary.store_factory()
    signature_store.add(notary, "two")
    assert notary.store is not first
    assert signature_store.has(notary, "one")
    assert list_committed(database) == ["one", "two"]
    first.close()
