"""The SQLite file: private, shared, and never in the way."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from jupyter_nbedit import database as module
from jupyter_nbedit.database import NAME, Database
from jupyter_nbedit.database.failures import MODES
from jupyter_nbedit.database.schema import Schema
from jupyter_nbedit.errors import LedgerError
from tests.support.ratios import least_ratio_awaited

SCHEMA = Schema((("CREATE TABLE texts (text TEXT)",),))
CANARY = "a text that is deleted and shall be nowhere"
ROOT = Path(__file__).parents[1]
LOG = logging.getLogger("tests")


def database(folder: Path, **options: object) -> Database:
    options.setdefault("schema", SCHEMA)
    return Database(folder / "nbedit", LOG, **options)  # type: ignore[arg-type] # as given


@pytest.fixture
def opened(tmp_path: Path, jp_asyncio_loop: asyncio.AbstractEventLoop) -> Iterator[Database]:
    made = database(tmp_path)
    yield made
    jp_asyncio_loop.run_until_complete(made.close())


async def put(base: Database, text: str) -> None:
    await base.write(lambda found: found.execute("INSERT INTO texts VALUES (?)", (text,)))


async def texts(base: Database) -> list[str]:
    return await base.read(
        lambda found: [text for (text,) in found.execute("SELECT text FROM texts ORDER BY rowid")]
    )


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def modes(folder: Path) -> set[tuple[bool, int]]:
    return {
        (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
        for path in (folder / "nbedit", *(folder / "nbedit").iterdir())
    }


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


async def test_what_was_written_is_read_after_a_restart(tmp_path: Path) -> None:
    first = database(tmp_path)
    await put(first, "x")
    await first.close()
    second = database(tmp_path)
    assert await texts(second) == ["x"]
    await second.close()


async def test_nothing_is_made_before_it_is_needed(opened: Database, tmp_path: Path) -> None:
    assert names(tmp_path) == []
    await texts(opened)
    assert (tmp_path / "nbedit" / NAME).is_file()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
async def test_folder_and_files_are_their_owners_alone_under_any_umask(
    tmp_path: Path, mask: int
) -> None:
    base = database(tmp_path)
    with umask(mask):
        await put(base, "x")
        assert len(list((tmp_path / "nbedit").iterdir())) == 3
    assert modes(tmp_path) == {(True, 0o700), (False, 0o600)}
    await base.close()


async def test_files_that_others_could_read_are_made_private(tmp_path: Path) -> None:
    first = database(tmp_path)
    await put(first, "x")
    for path in (tmp_path / "nbedit").iterdir():
        path.chmod(0o666)
    (tmp_path / "nbedit").chmod(0o755)
    second = database(tmp_path)
    await put(second, "y")
    assert modes(tmp_path) == {(True, 0o700), (False, 0o600)}
    await first.close()
    await second.close()


async def test_a_change_that_fails_changes_nothing(opened: Database) -> None:
    def half(found: sqlite3.Connection) -> None:
        found.execute("INSERT INTO texts VALUES ('x')")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await opened.write(half)
    assert await texts(opened) == []


async def test_a_mistake_in_a_statement_is_no_refusal(opened: Database) -> None:
    with pytest.raises(sqlite3.ProgrammingError):
        await opened.write(lambda found: found.execute("INSERT INTO texts VALUES (?)", ()))


async def test_the_loop_goes_on_while_the_database_works(opened: Database) -> None:
    over = threading.Event()
    work = asyncio.create_task(opened.read(lambda _: over.wait(20)))
    await asyncio.sleep(0.05)
    assert not work.done()
    over.set()
    assert await work


async def test_what_is_forgotten_is_in_no_byte_of_the_files(
    opened: Database, tmp_path: Path
) -> None:
    def found() -> bool:
        files = (tmp_path / "nbedit").iterdir()
        return any(CANARY.encode() in path.read_bytes() for path in files)

    for _ in range(100):
        await put(opened, CANARY)
    assert found()
    await opened.write(lambda base: base.execute("DELETE FROM texts"), forget=True)
    assert not found()


async def test_what_another_server_kept_from_being_forgotten_is_forgotten_later(
    opened: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.05)
    await put(opened, CANARY)
    reader = sqlite3.connect(tmp_path / "nbedit" / NAME, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM texts").fetchall()
    await opened.write(lambda base: base.execute("DELETE FROM texts"), forget=True)
    wal = tmp_path / "nbedit" / f"{NAME}-wal"
    assert CANARY.encode() in wal.read_bytes()
    reader.execute("COMMIT")
    reader.close()
    await put(opened, "x")
    assert CANARY.encode() not in wal.read_bytes()


# Failures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_broken_file_is_moved_aside_and_a_new_one_begun(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    base = database(tmp_path)
    for number in range(1000):
        await put(base, str(number) * 100)
    file = tmp_path / "nbedit" / NAME
    if when == "before":
        await base.close()
        base = database(tmp_path)
    else:
        await base.write(lambda _: None, forget=True)
    size = file.stat().st_size
    with file.open("r+b") as raw:
        raw.seek(0 if when == "before" else 4096)
        raw.write(b"\xff" * (size - 4096))
    if when == "meanwhile":
        # What is in SQLite's own memory is not looked at again, else.
        other = database(tmp_path)
        with caplog.at_level(logging.WARNING):
            await put(other, "x")
            assert await texts(other) == ["x"]
        await other.close()
    else:
        with caplog.at_level(logging.WARNING):
            await put(base, "x")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "A new one is begun" in caplog.text
    # Who had the old one open goes on with the new one.
    assert await texts(base) == ["x"]
    aside = list((tmp_path / "nbedit").glob(f"{NAME}.corrupt-*"))
    assert len(aside) == 1
    assert aside[0].stat().st_size == size
    assert modes(tmp_path) == {(True, 0o700), (False, 0o600)}
    await base.close()


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param(b"note TEXT", b"nope TEXT", id="the name of a column"),
        pytest.param(b"\x00\x00\x00\x04\x00\x00\x00\x00", b"\x00\x00\x00\x09", id="the format"),
        pytest.param(b"a canary", b"b canary", id="a text in a table that an index has, too"),
        pytest.param(b"a canary", b"\xff canary", id="a text that is none"),
    ],
)
async def test_a_file_that_sqlite_takes_for_whole_though_a_bit_of_it_has_changed_is_moved_aside(
    tmp_path: Path, was: bytes, now: bytes
) -> None:
    schema = Schema((("CREATE TABLE notes (note TEXT, UNIQUE (note))",),), ["notes"])

    def opened() -> Database:
        return database(tmp_path, schema=schema)

    base = opened()
    await base.write(lambda found: found.execute("INSERT INTO notes VALUES ('a canary')"))
    await base.close()
    file = tmp_path / "nbedit" / NAME
    text = file.read_bytes()
    at = text.index(was)
    file.write_bytes(text[:at] + now + text[at + len(now) :])
    base = opened()

    async def add(note: str) -> None:
        await base.write(lambda found: found.execute("INSERT INTO notes VALUES (?)", (note,)))

    await add("a canary")
    await add("another")
    assert await base.read(lambda found: found.execute("SELECT note FROM notes").fetchall()) == [
        ("a canary",),
        ("another",),
    ]
    assert len(list((tmp_path / "nbedit").glob(f"{NAME}.corrupt-*"))) == 1
    await base.close()


async def test_a_file_of_another_program_is_moved_aside(tmp_path: Path) -> None:
    (tmp_path / "nbedit").mkdir()
    other = sqlite3.connect(tmp_path / "nbedit" / NAME)
    other.execute("CREATE TABLE edits (x)")
    other.close()
    base = database(tmp_path)
    await put(base, "x")
    assert len(list((tmp_path / "nbedit").glob(f"{NAME}.corrupt-*"))) == 1
    await base.close()


async def test_a_file_that_was_moved_aside_is_not_kept_for_ever(tmp_path: Path) -> None:
    (tmp_path / "nbedit").mkdir()
    (tmp_path / "nbedit" / NAME).write_bytes(b"not a database" * 1000)
    first = database(tmp_path)
    await put(first, "x")
    await first.close()
    for days, count in ((1, 1), (-1, 0)):
        base = database(tmp_path, keep_days=days)
        assert await texts(base) == ["x"]
        assert len(list((tmp_path / "nbedit").glob("*.corrupt-*"))) == count
        await base.close()


async def test_a_file_of_a_newer_release_is_left_alone_and_only_its_modes_are_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    modes = "CREATE TABLE modes (mode TEXT)"
    first = database(tmp_path, schema=Schema(((modes,), ("CREATE TABLE news (x)",))))
    await first.write(lambda found: found.execute("INSERT INTO modes VALUES ('plan')"))
    await first.close()
    before = (tmp_path / "nbedit" / NAME).read_bytes()
    base = database(tmp_path, schema=Schema(((modes,),)))

    def read_modes(found: sqlite3.Connection) -> list[tuple[str]]:
        return found.execute("SELECT mode FROM modes").fetchall()

    assert await base.read_modes(read_modes, purpose=MODES) == ([("plan",)], None)
    for work in (base.read(read_modes), base.write(read_modes)):
        with pytest.raises(LedgerError, match="newer release"):
            await work
    with pytest.raises(LedgerError, match="readonly"):
        await base.read_modes(
            lambda found: found.execute("INSERT INTO modes VALUES ('edit')"), purpose=MODES
        )
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    await base.close()
    assert (tmp_path / "nbedit" / NAME).read_bytes() == before
    assert not list((tmp_path / "nbedit").glob("*.corrupt-*"))


async def test_a_file_that_is_removed_meanwhile_is_made_anew(
    opened: Database, tmp_path: Path
) -> None:
    await put(opened, "x")
    for path in (tmp_path / "nbedit").iterdir():
        path.unlink()
    await put(opened, "y")
    assert await texts(opened) == ["y"]
    assert (tmp_path / "nbedit" / NAME).is_file()


async def test_a_file_that_another_server_has_locked_is_waited_for_and_then_refused(
    opened: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.3)
    await put(opened, "x")
    other = sqlite3.connect(tmp_path / "nbedit" / NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="database is locked"):
        await put(opened, "y")
    # Who reads does not wait for who writes.
    assert await texts(opened) == ["x"]
    other.execute("COMMIT")
    other.close()
    await put(opened, "z")
    assert await texts(opened) == ["x", "z"]


async def test_a_folder_that_cannot_be_made_is_a_refusal_that_names_no_path(
    tmp_path: Path,
) -> None:
    (tmp_path / "nbedit").write_text("a file")
    base = database(tmp_path)
    with pytest.raises(LedgerError) as refused:
        await put(base, "x")
    assert str(tmp_path) not in refused.value.message
    await base.close()


async def test_a_full_disk_is_a_refusal(opened: Database) -> None:
    await put(opened, "x")
    # SQLite's own limit has the same end as a disk's.
    await opened.write(lambda base: base.execute("PRAGMA max_page_count = 1"))
    with pytest.raises(LedgerError, match="full"):
        await put(opened, "y" * 1_000_000)
    assert await texts(opened) == ["x"]


async def test_nothing_can_be_done_after_the_end(opened: Database) -> None:
    await put(opened, "x")
    await opened.close()
    with pytest.raises(LedgerError, match="shutting down"):
        await texts(opened)


async def test_what_would_be_shown_is_kept_in_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = database(tmp_path, is_exposed=lambda folder: folder == tmp_path / "nbedit")
    await put(base, "x")
    assert await texts(base) == ["x"]
    assert names(tmp_path) == []
    # What is sorted or deleted goes to no disk and stays in no page, either.
    assert await base.read(lambda found: found.execute("PRAGMA temp_store").fetchone()) == (2,)
    assert await base.read(lambda found: found.execute("PRAGMA secure_delete").fetchone()) == (1,)
    assert "kept in memory" in caplog.text
    await base.close()


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("CREATE TABLE texts(text TEXT)", id="other spaces"),
        pytest.param("CREATE TABLE texts (text TEXT /* of a cell */)", id="a comment"),
        pytest.param('CREATE TABLE "texts" ("text" TEXT, more INTEGER)', id="one more column"),
    ],
)
async def test_tables_are_recognized_however_their_statements_are_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, written: str
) -> None:
    first = database(tmp_path, schema=Schema(((written,),)))
    await first.write(lambda found: found.execute("INSERT INTO texts (text) VALUES ('x')"))
    await first.close()
    second = database(tmp_path)
    assert await texts(second) == ["x"]
    await second.close()
    assert not caplog.records


async def test_migrations_are_made_in_order_and_once(tmp_path: Path) -> None:
    steps = (
        ("CREATE TABLE texts (text TEXT)",),
        ("ALTER TABLE texts ADD COLUMN size INTEGER", "UPDATE texts SET size = length(text)"),
        ("CREATE TABLE later (x)", "INSERT INTO later VALUES (1)"),
    )
    sizes: list[list[tuple[int]]] = []
    for count in (1, 3, 3):
        base = database(tmp_path, schema=Schema(steps[:count]))
        if count == 1:
            await put(base, "four")
        else:
            sizes.append(
                await base.read(lambda found: found.execute("SELECT size FROM texts").fetchall())
            )
            assert await base.read(
                lambda found: found.execute("SELECT count(*) FROM later").fetchone()
            ) == (1,)
        await base.close()
    assert sizes == [[(4,)], [(4,)]]


async def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    good = "CREATE TABLE texts (text TEXT)"
    first = database(tmp_path)
    await put(first, "x")
    await first.close()
    steps = ((good,), ("CREATE TABLE more (x)", "INSERT INTO more SELECT abs(text, 1) FROM texts"))
    second = database(tmp_path, schema=Schema(steps))
    with pytest.raises(LedgerError):
        await texts(second)
    await second.close()
    third = database(tmp_path)
    assert await texts(third) == ["x"]
    assert await third.read(
        lambda found: found.execute("SELECT name FROM sqlite_master").fetchall()
    ) == [("texts",)]
    await third.close()
    assert not list((tmp_path / "nbedit").glob("*.corrupt-*"))


def test_servers_that_start_at_once_share_the_file(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import asyncio, logging, sys
        from pathlib import Path
        from tests.test_database import database, put

        async def main():
            base = database(Path(sys.argv[1]))
            for number in range(50):
                await put(base, f"{sys.argv[2]} {number}")
            await base.close()

        asyncio.run(main())
        """
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(number)], cwd=ROOT)
        for number in range(4)
    ]
    assert [child.wait(60) for child in running] == [0] * 4
    found = sqlite3.connect(tmp_path / "nbedit" / NAME)
    assert found.execute("SELECT count(DISTINCT text) FROM texts").fetchone() == (200,)
    found.close()


async def test_all_that_wait_for_a_locked_file_wait_at_once(
    opened: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", 0.5)
    await opened.write(lambda base: base.execute("SELECT 1").fetchone())
    other = sqlite3.connect(tmp_path / "nbedit" / NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def wait(count: int) -> None:
        works = [lambda base: base.execute("SELECT 1").fetchone()] * count
        found = await asyncio.gather(*map(opened.write, works), return_exceptions=True)
        assert [type(one) for one in found] == [LedgerError] * count

    # One after the other, six would wait for six times as long as one.
    ratio = await least_ratio_awaited(partial(wait, 6), partial(wait, 1))
    other.close()
    assert ratio < 3, ratio
