"""An edit and the record of the file's inode, if one of the two fails."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.conftest import (
    EDIT,
    EDITED,
    NAME,
    TEXT,
    CallHook,
    Root,
    build_root,
    is_file,
    list_names,
)
from tests.storage.windows import IN_USE, Windows
from tests.support.waiting import wait_until


class FakeFileStatus:
    """The parsed ``stat`` of the manager."""

    def __init__(self, status: os.stat_result) -> None:
        self.ino = status.st_ino
        self.crtime = None
        self.mtime = status.st_mtime_ns


class FakeFileIdManager:
    """The used part of a manager of file ids; `tests/setups` has the real ones."""

    def __init__(self, database: Path) -> None:
        self.con = sqlite3.connect(database, timeout=0)
        columns = "id TEXT, path TEXT, ino INTEGER UNIQUE, crtime INTEGER, mtime INTEGER"
        self.con.execute(f"CREATE TABLE Files ({columns})")

    def _parse_raw_stat(self, status: os.stat_result) -> FakeFileStatus:
        return FakeFileStatus(status)

    def add(self, number: str, path: Path) -> None:
        status = path.stat()
        row = (number, str(path), status.st_ino, None, status.st_mtime_ns)
        with self.con:
            self.con.execute("INSERT INTO Files VALUES (?, ?, ?, ?, ?)", row)

    def list_ids(self, path: Path) -> list[tuple[str]]:
        query = "SELECT id FROM Files WHERE ino = ? AND mtime = ?"
        status = path.stat()
        return self.con.execute(query, (status.st_ino, status.st_mtime_ns)).fetchall()


@pytest.fixture
def ids(tmp_path: Path) -> Iterator[FakeFileIdManager]:
    ids = FakeFileIdManager(tmp_path / "ids.db")
    yield ids
    ids.con.close()


@pytest.fixture
def place(tmp_path: Path, ids: FakeFileIdManager) -> Root:
    return build_root(tmp_path, file_id_manager=ids)


def test_the_file_id_record_follows_the_file(
    place: Root, notebook: Path, ids: FakeFileIdManager
) -> None:
    ids.add("one", notebook)
    assert place.edit().warnings == []
    assert notebook.read_bytes() == EDITED
    assert ids.list_ids(notebook) == [("one",)]


def test_a_record_that_cannot_be_written_is_reported_and_the_edit_is_kept(
    place: Root, notebook: Path, ids: FakeFileIdManager, tmp_path: Path
) -> None:
    ids.add("one", notebook)
    other = sqlite3.connect(tmp_path / "ids.db")
    try:
        other.execute("BEGIN EXCLUSIVE")
        (warning,) = place.edit().warnings
    finally:
        other.close()
    assert str(tmp_path) not in warning
    assert notebook.read_bytes() == EDITED


def test_the_wait_for_another_program_is_not_on_the_event_loop(
    place: Root, notebook: Path, ids: FakeFileIdManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids.add("one", notebook)
    windows = Windows(refusals=[IN_USE] * 3)
    with monkeypatch.context() as patch:
        windows.install(patch)
        place.edit()
    assert [is_main for _, is_main in windows.waits] == [False] * 3
    assert notebook.read_bytes() == EDITED
    assert [number for (number,) in ids.con.execute("SELECT id FROM Files")] == ["one"]
    assert ids.con.execute("SELECT ino FROM Files").fetchone() == (notebook.stat().st_ino,)


@pytest.mark.parametrize("is_made", [False, True], ids=["before", "with the exchange"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_closes_during_an_edit_leaves_no_waiting_thread(
    place: Root, notebook: Path, interpose: CallHook, *, is_made: bool
) -> None:
    loop, has_ended = asyncio.new_event_loop(), threading.Event()
    storage = loop.run_until_complete(place.storages.resolve(NAME))
    base = loop.run_until_complete(storage.read(NAME))

    def stop() -> None:
        loop.call_soon_threadsafe(loop.stop)
        has_ended.wait()

    if is_made:
        # The exchange is made on the loop's thread, and this is asked right before it.
        interpose("stat", f".~{NAME}", loop.stop)
    else:
        interpose("fsync", is_file, stop)
    edit = loop.create_task(storage.write(NAME, base, EDIT))
    loop.run_forever()
    assert not edit.done()
    if not is_made:
        loop.close()
        has_ended.set()
    wait_until(lambda: list_names(place.root) == [NAME], what="the edit's thread to go on")
    assert notebook.read_bytes() == (EDITED if is_made else TEXT)
    if is_made:
        loop.run_until_complete(edit)
        loop.close()
