"""Signatures on their way to the notary's database: known at once, committed together."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbformat.sign import MemorySignatureStore, NotebookNotary, SQLiteSignatureStore

from jupyter_nbedit import signatures
from jupyter_nbedit.signatures import Gathering

PATIENCE_SECONDS = 5.0


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "signatures.db"


@pytest.fixture
def notary(tmp_path: Path, database: Path) -> Iterator[NotebookNotary]:
    notary = NotebookNotary(db_file=str(database), data_dir=str(tmp_path))
    yield notary
    notary.close()


def committed(database: Path) -> list[str]:
    """Look as another process does."""
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT signature FROM nbsignatures ORDER BY id").fetchall()
    connection.close()
    return [row[0] for row in rows]


async def settled(database: Path, *digests: str) -> None:
    async def poll() -> None:
        while committed(database) != list(digests):  # noqa: ASYNC110 -- another process tells nobody
            await asyncio.sleep(0.005)

    await asyncio.wait_for(poll(), PATIENCE_SECONDS)


async def test_a_signature_is_committed_at_once(notary: NotebookNotary, database: Path) -> None:
    assert signatures.is_empty(notary)
    signatures.add(notary, "one")
    assert committed(database) == ["one"]
    assert not signatures.is_empty(notary)


async def test_those_that_follow_closely_are_known_at_once_and_committed_together(
    notary: NotebookNotary, database: Path
) -> None:
    names = [f"signature {n}" for n in range(20)]
    for name in names:
        signatures.add(notary, name)
        assert signatures.has(notary, name)
        # As Jupyter asks.
        assert notary.store.check_signature(name, notary.algorithm)
    assert committed(database)[0] == names[0]
    await settled(database, *names)
    assert all(signatures.has(notary, name) for name in names)


async def test_what_waits_is_in_no_transaction_that_would_keep_others_away(
    notary: NotebookNotary, database: Path
) -> None:
    for name in ("one", "two", "three"):
        signatures.add(notary, name)
    other = sqlite3.connect(database, timeout=0)
    other.execute("DELETE FROM nbsignatures")
    other.commit()
    other.close()
    assert not signatures.has(notary, "one")
    assert signatures.has(notary, "two")


@pytest.mark.parametrize("end", ["settle", "close"])
async def test_who_ends_in_order_loses_nothing(
    notary: NotebookNotary, database: Path, end: str
) -> None:
    for name in ("one", "two", "three"):
        signatures.add(notary, name)
    if end == "settle":
        signatures.settle(notary)
    else:
        notary.close()
    assert committed(database) == ["one", "two", "three"]


async def test_a_signature_taken_back_does_not_come_back(
    notary: NotebookNotary, database: Path
) -> None:
    for name in ("one", "two", "three"):
        signatures.add(notary, name)
    notary.store.remove_signature("two", notary.algorithm)
    assert not signatures.has(notary, "two")
    await settled(database, "one", "three")


async def test_a_signature_that_is_known_already_is_kept_once(
    notary: NotebookNotary, database: Path
) -> None:
    for name in ("one", "one", "two", "one"):
        signatures.add(notary, name)
    await settled(database, "one", "two")


async def test_signatures_that_others_take_away_are_gone(
    notary: NotebookNotary, database: Path
) -> None:
    signatures.add(notary, "one")
    assert signatures.has(notary, "one")
    # `jupyter trust --reset` removes the file; a running server keeps its own until it ends.
    connection = sqlite3.connect(database)
    connection.execute("DELETE FROM nbsignatures")
    connection.commit()
    connection.close()
    assert not signatures.has(notary, "one")
    assert signatures.is_empty(notary)


async def test_of_too_many_signatures_the_oldest_go(notary: NotebookNotary, database: Path) -> None:
    notary.store.cache_size = 8
    for n in range(12):
        signatures.add(notary, str(n))
    signatures.settle(notary)
    assert committed(database) == [str(n) for n in range(6, 12)]


async def test_a_database_that_fails_while_the_reply_waits_says_so_and_later_in_the_log(
    notary: NotebookNotary, database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    signatures.add(notary, "one")
    notary.store.db.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(database)
    other.execute("BEGIN IMMEDIATE")
    signatures.add(notary, "two")
    signatures.settle(notary)
    assert "could not be kept" in caplog.text
    assert not signatures.has(notary, "two")
    await asyncio.sleep(signatures._MOST_GATHER_SECONDS)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        signatures.add(notary, "three")
    other.rollback()
    other.close()
    assert committed(database) == ["one"]
    await asyncio.sleep(signatures._MOST_GATHER_SECONDS)
    signatures.add(notary, "four")
    assert committed(database) == ["one", "four"]


class Own(SQLiteSignatureStore):
    """A store of somebody else, that writes down what it is asked."""

    asked: list[Any]

    def check_signature(self, digest: str, algorithm: str) -> bool:
        self.asked.append((digest, algorithm))
        return bool(super().check_signature(digest, algorithm))  # type: ignore[no-untyped-call]


async def test_a_store_of_another_kind_is_always_asked(
    notary: NotebookNotary, tmp_path: Path
) -> None:
    own = Own(str(tmp_path / "own.db"))  # type: ignore[no-untyped-call]
    own.asked = []
    notary.store = own
    assert not signatures.is_empty(notary)
    assert not signatures.has(notary, "one")
    signatures.add(notary, "one")
    assert signatures.has(notary, "one")
    signatures.settle(notary)
    assert notary.store is own
    assert ("one", notary.algorithm) in own.asked


async def test_a_store_in_memory_is_asked_if_there_is_anything_in_it(
    notary: NotebookNotary,
) -> None:
    notary.store.close()
    notary.store = MemorySignatureStore()
    assert signatures.is_empty(notary)
    signatures.add(notary, "one")
    assert not signatures.is_empty(notary)
    assert signatures.has(notary, "one")


async def test_a_store_that_the_notary_is_given_later_is_taken_as_it_comes(
    notary: NotebookNotary, database: Path
) -> None:
    signatures.add(notary, "one")
    first = notary.store
    assert isinstance(first, Gathering)
    # What jupyter_server does if a store fails.
    notary.store = notary.store_factory()
    signatures.add(notary, "two")
    assert notary.store is not first
    assert signatures.has(notary, "one")
    assert committed(database) == ["one", "two"]
    first.close()
