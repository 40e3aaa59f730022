"""An edit and the record of the file's inode, when one of the two cannot be made."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.storage import Written, file_ids
from jupyter_nbedit.storage.commit import replace
from jupyter_nbedit.storage.file_ids import KeptIds, go_by_inode
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.snapshots import read
from tests.storage.conftest import EDIT, EDITED, NAME, Place, assert_as_it_was

#: Only ends a test that hangs.
HANGING_SECONDS = 60


class Known:
    """What a file's ``stat`` is to the manager."""

    def __init__(self, status: os.stat_result) -> None:
        self.ino = status.st_ino
        self.crtime = None
        self.mtime = status.st_mtime_ns


class Ids:
    """As much of a manager of file ids as we touch; `tests/setups` has the real ones."""

    def __init__(self, database: Path) -> None:
        self.con = sqlite3.connect(database, timeout=0)
        columns = "id TEXT, path TEXT, ino INTEGER UNIQUE, crtime INTEGER, mtime INTEGER"
        self.con.execute(f"CREATE TABLE Files ({columns})")

    def _parse_raw_stat(self, status: os.stat_result) -> Known:
        return Known(status)

    def add(self, number: str, path: Path) -> None:
        status = path.stat()
        row = (number, str(path), status.st_ino, None, status.st_mtime_ns)
        with self.con:
            self.con.execute("INSERT INTO Files VALUES (?, ?, ?, ?, ?)", row)

    def of(self, path: Path) -> list[tuple[str]]:
        query = "SELECT id FROM Files WHERE ino = ? AND mtime = ?"
        status = path.stat()
        return self.con.execute(query, (status.st_ino, status.st_mtime_ns)).fetchall()


@pytest.fixture
def ids(tmp_path: Path) -> Iterator[Ids]:
    ids = Ids(tmp_path / "ids.db")
    yield ids
    ids.con.close()


def edit(place: Place, ids: Ids) -> Written:
    storage = FileStorage(place.manager, place.locks, file_ids=ids)

    async def work() -> Written:
        return await storage.write(NAME, await storage.read(NAME), EDIT)

    return asyncio.run(work())


def test_only_what_keeps_inodes_is_told_of_them(ids: Ids) -> None:
    assert go_by_inode(ids)
    assert not go_by_inode(None)
    assert not go_by_inode(object())


def test_the_record_follows_the_file(place: Place, notebook: Path, ids: Ids) -> None:
    ids.add("one", notebook)
    assert edit(place, ids).warnings == []
    assert notebook.read_bytes() == EDITED
    assert ids.of(notebook) == [("one",)]


def test_a_record_that_cannot_be_written_is_told_of_and_the_edit_is_in(
    place: Place, notebook: Path, ids: Ids, tmp_path: Path
) -> None:
    ids.add("one", notebook)
    other = sqlite3.connect(tmp_path / "ids.db")
    try:
        other.execute("BEGIN EXCLUSIVE")
        (warning,) = edit(place, ids).warnings
    finally:
        other.close()
    assert "may get a new one" in warning
    assert str(tmp_path) not in warning
    assert notebook.read_bytes() == EDITED


def test_a_loop_that_has_ended_keeps_no_thread_waiting(
    notebook: Path, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_ids, "_PATIENCE_SECONDS", 0.1)
    base = read(str(notebook))
    assert base is not None
    loop = asyncio.new_event_loop()
    raised: list[Exception] = []

    def work() -> None:
        try:
            replace(str(notebook), base, EDIT, KeptIds(ids, loop))
        except Busy as busy:
            raised.append(busy)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert len(raised) == 1
    # Should it go on after all, nothing comes of it.
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()
    assert_as_it_was(notebook)


def test_a_loop_that_stops_with_the_exchange_keeps_no_thread_waiting(
    notebook: Path, ids: Ids
) -> None:
    ids.add("one", notebook)
    status = notebook.stat()
    loop = asyncio.new_event_loop()
    warnings: list[list[str]] = []
    thread = threading.Thread(
        target=lambda: warnings.append(KeptIds(ids, loop)(loop.stop, status, status)), daemon=True
    )
    loop.call_soon(thread.start)
    loop.run_forever()
    thread.join(HANGING_SECONDS)
    assert warnings == [[]]
    loop.close()


def test_a_loop_that_is_closed_makes_no_exchange(notebook: Path, ids: Ids) -> None:
    base = read(str(notebook))
    assert base is not None
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(Busy):
        replace(str(notebook), base, EDIT, KeptIds(ids, loop))
    assert_as_it_was(notebook)
