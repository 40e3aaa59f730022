"""The SQLite file: private, shared, and recovered from failures."""

import asyncio
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.db.database import NAME, Database
from jupyter_nbedit.db.schema import Schema
from jupyter_nbedit.errors import HistoryUnavailable
from tests.support.clock import Clock
from tests.support.services import ServiceBuilder
from tests.support.waiting import LIMIT_SECONDS

SCHEMA = Schema((("CREATE TABLE texts (text TEXT)",),))
CANARY = "a text that is deleted and shall be nowhere"
PRIVATE = {(True, 0o700), (False, 0o600)}
# Longer than a locked file is waited for.
LATER_SECONDS = 10


class DatabaseFolder:
    """A folder with the file, and connections to it that are closed at the end."""

    def __init__(self, services: ServiceBuilder) -> None:
        self.services = services
        self.file = services.database_file
        self.path = self.file.parent

    def open(self, **options: Any) -> Database:
        return self.services.build_database(**{"schema": SCHEMA, **options})

    def connect(self) -> sqlite3.Connection:
        """Connect as another program does."""
        return sqlite3.connect(self.file, isolation_level=None)

    def read_files(self) -> bytes:
        return self.services.read_database_files()

    def list_quarantined(self) -> list[Path]:
        """List the files that were moved aside."""
        return list(self.path.glob(f"{NAME}.corrupt-*"))

    def list_modes(self) -> set[tuple[bool, int]]:
        return {
            (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
            for path in (self.path, *self.path.iterdir())
        }


@pytest.fixture
def folder(services: ServiceBuilder) -> DatabaseFolder:
    return DatabaseFolder(services)


@pytest.fixture
def database(folder: DatabaseFolder) -> Database:
    return folder.open()


async def write_text(base: Database, text: str) -> None:
    await base.write(lambda found: found.execute("INSERT INTO texts (text) VALUES (?)", (text,)))


async def read_texts(base: Database) -> list[str]:
    return await base.read(
        lambda found: [text for (text,) in found.execute("SELECT text FROM texts ORDER BY rowid")]
    )


async def test_files_that_others_could_read_are_made_private(
    database: Database, folder: DatabaseFolder
) -> None:
    await write_text(database, "x")
    for path in folder.path.iterdir():
        path.chmod(0o666)
    folder.path.chmod(0o755)
    base = folder.open()
    await write_text(base, "y")
    assert folder.list_modes() == PRIVATE
    # What is sorted goes to no file at all.
    assert await base.read(lambda found: found.execute("PRAGMA temp_store").fetchone()) == (2,)


async def test_a_failed_transaction_changes_nothing(database: Database) -> None:
    def half(found: sqlite3.Connection) -> None:
        found.execute("INSERT INTO texts VALUES ('x')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.write(half)
    assert await read_texts(database) == []


async def test_a_purge_that_another_server_blocked_is_completed_later(
    database: Database, folder: DatabaseFolder
) -> None:
    await write_text(database, CANARY)
    with closing(folder.connect()) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM texts").fetchall()
        await database.write(lambda base: base.execute("DELETE FROM texts"), forget=True)
        assert CANARY.encode() in folder.read_files()
        reader.execute("COMMIT")
    await write_text(database, "x")
    assert CANARY.encode() not in folder.read_files()


# Failures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_open", [False, True])
async def test_a_corrupt_file_is_quarantined_and_replaced_by_a_new_one(
    database: Database, folder: DatabaseFolder, caplog: pytest.LogCaptureFixture, *, is_open: bool
) -> None:
    for number in range(200):
        await write_text(database, str(number) * 100)
    if is_open:
        await database.write(lambda _: None, forget=True)
    else:
        await database.close()
        database = folder.open()
    size = folder.file.stat().st_size
    with folder.file.open("r+b") as raw:
        raw.seek(4096 if is_open else 0)
        raw.write(b"\xff" * (size - 4096))
    # What is in SQLite's own memory is not looked at again by the one that has it open.
    finder = folder.open() if is_open else database
    await write_text(finder, "x")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    # A server with the old file open continues with the new one.
    assert await read_texts(finder) == await read_texts(database) == ["x"]
    (aside,) = folder.list_quarantined()
    assert aside.stat().st_size == size
    assert folder.list_modes() == PRIVATE


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param(b"note TEXT", b"nope TEXT", id="the name of a column"),
        pytest.param(b"\x00\x00\x00\x04\x00\x00\x00\x00", b"\x00\x00\x00\x09", id="the format"),
        pytest.param(b"a canary", b"b canary", id="a text in a table that an index has, too"),
        pytest.param(b"a canary", b"\xff canary", id="a text that is none"),
    ],
)
async def test_a_file_with_a_flipped_bit_that_sqlite_accepts_is_quarantined(
    folder: DatabaseFolder, was: bytes, now: bytes
) -> None:
    schema = Schema((("CREATE TABLE notes (note TEXT, UNIQUE (note))",),), ["notes"])

    async def add(base: Database, note: str) -> None:
        await base.write(lambda found: found.execute("INSERT INTO notes VALUES (?)", (note,)))

    base = folder.open(schema=schema)
    await add(base, "a canary")
    await base.close()
    text = folder.file.read_bytes()
    at = text.index(was)
    folder.file.write_bytes(text[:at] + now + text[at + len(now) :])
    base = folder.open(schema=schema)
    await add(base, "a canary")
    await add(base, "another")
    found = await base.read(lambda found: found.execute("SELECT note FROM notes").fetchall())
    assert found == [("a canary",), ("another",)]
    assert len(folder.list_quarantined()) == 1


async def test_a_file_of_another_program_is_quarantined_and_deleted_later(
    folder: DatabaseFolder,
) -> None:
    folder.path.mkdir()
    with closing(folder.connect()) as other:
        other.execute("CREATE TABLE edits (x)")
    first = folder.open()
    await write_text(first, "x")
    await first.close()
    for days, count in ((1, 1), (-1, 0)):
        assert await read_texts(folder.open(max_days=days)) == ["x"]
        assert len(folder.list_quarantined()) == count


async def test_a_file_removed_while_open_is_created_again(
    database: Database, folder: DatabaseFolder
) -> None:
    await write_text(database, "x")
    for path in folder.path.iterdir():
        path.unlink()
    await write_text(database, "y")
    assert await read_texts(database) == ["y"]
    assert folder.file.is_file()


async def test_a_file_locked_by_another_server_is_waited_for_until_a_timeout_error(
    database: Database, folder: DatabaseFolder, clock: Clock
) -> None:
    await write_text(database, "x")
    clock.is_stopped = True
    # Only ends a test that hangs.
    guard = threading.Timer(LIMIT_SECONDS, clock.advance, [2 * LATER_SECONDS])
    guard.start()
    with closing(folder.connect()) as other:
        other.execute("BEGIN IMMEDIATE")
        # All wait at once: one after the other, the second would begin to wait now.
        waiting = [asyncio.create_task(write_text(database, f"y{n}")) for n in range(6)]
        await asyncio.sleep(0)
        clock.advance(LATER_SECONDS)
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(one) for one in found] == [HistoryUnavailable] * 6
        guard.cancel()
        assert clock.shift == LATER_SECONDS
        # Readers do not wait for writers.
        assert await read_texts(database) == ["x"]
    await write_text(database, "z")
    assert await read_texts(database) == ["x", "z"]


async def test_the_error_for_a_folder_that_cannot_be_created_contains_no_path(
    database: Database, folder: DatabaseFolder
) -> None:
    folder.path.write_text("a file")
    with pytest.raises(HistoryUnavailable) as error:
        await write_text(database, "x")
    assert str(folder.path.parent) not in error.value.message


async def test_tables_are_recognized_whatever_the_formatting_of_their_statements(
    folder: DatabaseFolder, caplog: pytest.LogCaptureFixture
) -> None:
    statement = 'CREATE TABLE "texts"("text" TEXT /* of a cell */, more INTEGER)'
    first = folder.open(schema=Schema(((statement,),)))
    await write_text(first, "x")
    await first.close()
    assert await read_texts(folder.open()) == ["x"]
    assert not caplog.records


async def test_a_failed_migration_leaves_the_file_unchanged(
    database: Database, folder: DatabaseFolder
) -> None:
    await write_text(database, "x")
    await database.close()
    failing = ("CREATE TABLE more (x)", "INSERT INTO more SELECT abs(text, 1) FROM texts")
    with pytest.raises(HistoryUnavailable):
        await read_texts(folder.open(schema=Schema((*SCHEMA.migrations, failing))))
    third = folder.open()
    assert await read_texts(third) == ["x"]
    tables = await third.read(
        lambda found: found.execute("SELECT name FROM sqlite_master").fetchall()
    )
    assert tables == [("texts",)]
    assert folder.list_quarantined() == []


async def test_a_damaged_table_that_a_migration_would_change_is_quarantined(
    database: Database, folder: DatabaseFolder
) -> None:
    await write_text(database, "x")
    await database.close()
    content = folder.file.read_bytes()
    assert content.count(b"(text TEXT)") == 1
    folder.file.write_bytes(content.replace(b"(text TEXT)", b"(tezt TEXT)"))
    renaming = ("ALTER TABLE texts RENAME COLUMN text TO words", "ALTER TABLE texts ADD text")
    second = folder.open(schema=Schema((*SCHEMA.migrations, renaming)))
    await write_text(second, "y")
    assert await read_texts(second) == ["y"]
    assert len(folder.list_quarantined()) == 1


async def test_servers_that_start_at_once_share_the_file(services: ServiceBuilder) -> None:
    for attempt in range(8):
        there = ServiceBuilder(services.folder / str(attempt))
        # Each of them has a thread and a connection of its own.
        servers = [there.build_database(schema=SCHEMA) for _ in range(4)]
        await asyncio.gather(*[write_text(server, f"{n}") for n in range(5) for server in servers])
        assert len(await read_texts(servers[0])) == 20
        await there.close()
