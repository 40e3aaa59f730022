"""Names of notebooks from before they were the paths of their files."""

import asyncio
import dataclasses
import logging
import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.db.database import NAME, Database
from jupyter_nbedit.db.link_paths import resolve_link_paths
from jupyter_nbedit.db.schema import SCHEMA
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.history.models import NewEntry, encode_entry
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.modes import ModeManager
from jupyter_nbedit.services.requests import Author
from jupyter_nbedit.services.unseen.store import SeenEditStore
from tests.support.names import FolderNames
from tests.support.services import ServiceBuilder

LOG = logging.getLogger("tests")
#: The schema of the release before.
BEFORE = dataclasses.replace(SCHEMA, migrations=SCHEMA.migrations[:5])


def write_file(folder: Path, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
    """Write a database of the release before."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / NAME, isolation_level=None)) as connection:
        BEFORE.migrate(connection)
        for statement, values in statements:
            connection.execute(statement, values)
    (folder / NAME).chmod(0o600)


def add_notebook(number: int, root: str, name: str) -> tuple[str, tuple[Any, ...]]:
    return "INSERT INTO notebooks VALUES (?, ?, ?)", (number, root, name)


def add_edit(number: int, notebook: int) -> tuple[str, tuple[Any, ...]]:
    columns = "edit_id, notebook_id, time, kind, size, payload, has_record"
    payload = encode_entry(NewEntry(path="", author=Author("bob"), hash="1", applied_via="file"))
    return (
        f"INSERT INTO edits ({columns}) VALUES (?, ?, ?, 'edit', 1, ?, 1)",  # noqa: S608 -- ours
        (number, notebook, time.time(), payload),
    )


def add_mode(root: str, name: str, mode: str) -> tuple[str, tuple[Any, ...]]:
    return "INSERT INTO modes VALUES (?, ?, ?)", (root, name, mode)


def select(folder: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(folder / NAME)) as connection:
        return connection.execute(statement).fetchall()


@pytest.fixture
def folder(services: ServiceBuilder) -> Path:
    return services.database_file.parent


async def migrate(services: ServiceBuilder) -> Database:
    database = services.build_database()
    await database.read(lambda connection: connection.execute("SELECT 1").fetchone())
    return database


@pytest.mark.parametrize(
    ("root", "name", "file_name"),
    [
        ("/r", "sub/x.ipynb", "/r/sub/x.ipynb"),
        ("/", "r/x.ipynb", "/r/x.ipynb"),
        ("offline:/", "/r/x.ipynb", "/r/x.ipynb"),
        ("/r", "a\\b.ipynb", "/r/a\\b.ipynb"),
        ("C:\\u\\v", "d/e.ipynb", "C:/u/v/d/e.ipynb"),
        ("D:\\", "e.ipynb", "D:/e.ipynb"),
        ("offline:C:\\", "/u/e.ipynb", "C:/u/e.ipynb"),
        ("\\\\server\\share", "e.ipynb", "//server/share/e.ipynb"),
    ],
)
async def test_a_notebook_in_a_file_gets_the_path_of_the_file(
    services: ServiceBuilder, folder: Path, root: str, name: str, file_name: str
) -> None:
    write_file(folder, [add_notebook(1, root, name), add_mode(root, name, "plan")])
    await migrate(services)
    assert select(folder, "SELECT root, name FROM notebooks") == [("file:", file_name)]
    found = select(folder, "SELECT name, mode FROM modes WHERE root = 'file:'")
    assert found == [(file_name, "plan")]
    # Where an older release looks for it.
    assert (root, name, "plan") in select(folder, "SELECT * FROM modes")


async def test_notebooks_of_other_managers_keep_their_names(
    services: ServiceBuilder, folder: Path
) -> None:
    root = 's3contents.S3ContentsManager {"bucket": "b"}'
    write_file(folder, [add_notebook(1, root, "x.ipynb"), add_mode(root, "x.ipynb", "plan")])
    await migrate(services)
    assert select(folder, "SELECT root, name FROM notebooks") == [(root, "x.ipynb")]
    assert select(folder, "SELECT * FROM modes") == [(root, "x.ipynb", "plan")]


async def test_histories_of_one_file_come_together_and_what_was_unseen_stays_so(
    services: ServiceBuilder, folder: Path
) -> None:
    write_file(
        folder,
        [
            add_notebook(1, "/r", "sub/x.ipynb"),
            add_notebook(2, "/r/sub", "x.ipynb"),
            add_notebook(3, "offline:/", "/r/sub/x.ipynb"),
            *(add_edit(number, (number - 1) % 3 + 1) for number in range(1, 10)),
            # At the first root ada has seen all until edit 7, at the second nothing but edit 5.
            ("INSERT INTO seen_edits VALUES (1, 'ada', 7, NULL, 1)", ()),
            ("INSERT INTO seen_edits VALUES (2, 'ada', 5, '[0]', 1)", ()),
        ],
    )
    database = await migrate(services)
    names = FolderNames(folder="/r")
    history = EditStore(database, names=names)
    edits = await history.list_page("sub/x.ipynb", limit=20)
    assert [edit.edit_id for edit in edits] == list(range(9, 0, -1))
    seen = await SeenEditStore(database, names=names).read("sub/x.ipynb", "ada")
    assert seen.last_edit == 0
    assert {*seen.whole_edits, *seen.parts} == {1, 4, 7, 5}
    (unseen,) = await SeenEditStore(database, names=names).list_notebooks("ada")
    assert (unseen.path, unseen.edits) == ("sub/x.ipynb", 5)


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (["review", "plan"], "plan"),
        (["plan", "edit"], "plan"),
        (["edit", "review"], "review"),
        (["server", "edit"], "edit"),
        (["server", "server"], "server"),
    ],
)
async def test_of_two_modes_of_one_file_the_stricter_holds(
    services: ServiceBuilder, folder: Path, modes: list[str], expected: str
) -> None:
    write_file(
        folder, [add_mode("/r", "sub/x.ipynb", modes[0]), add_mode("/r/sub", "x.ipynb", modes[1])]
    )
    await migrate(services)
    found = select(folder, "SELECT mode FROM modes WHERE root = 'file:'")
    assert found == [(expected,)]


async def test_a_notebook_that_gets_its_only_name_keeps_what_was_seen_of_it(
    services: ServiceBuilder, folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (tmp_path / "x.ipynb").touch()
    (root / "link.ipynb").symlink_to(tmp_path / "x.ipynb")
    write_file(
        folder,
        [
            add_notebook(1, str(root), "link.ipynb"),
            *(add_edit(number, 1) for number in range(1, 6)),
            ("INSERT INTO seen_edits VALUES (1, 'ada', 4, NULL, 1)", ()),
        ],
    )
    database = await migrate(services)
    await resolve_link_paths(database, LOG)
    names = FolderNames(folder=str(root))
    seen = await SeenEditStore(database, names=names).read("link.ipynb", "ada")
    assert (seen.last_edit, seen.whole_edits) == (4, frozenset())


def build_modes(services: ServiceBuilder, database: Database, root: str) -> ModeManager:
    events = EventEmitter(services.event_logger)
    return ModeManager(database, events, LOG, names=FolderNames(folder=root))


async def test_a_value_that_is_no_mode_stays_unreadable(
    services: ServiceBuilder, folder: Path
) -> None:
    write_file(folder, [add_mode("/r", "x.ipynb", "nonsense")])
    modes = build_modes(services, await migrate(services), "/r")
    assert await modes.explain_unreadable() is not None


async def test_links_of_the_release_before_are_resolved(
    services: ServiceBuilder, folder: Path, tmp_path: Path
) -> None:
    root, elsewhere = tmp_path / "r", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (elsewhere / "x.ipynb").touch()
    (root / "one.ipynb").symlink_to(elsewhere / "x.ipynb")
    (root / "two").symlink_to(elsewhere)
    write_file(
        folder,
        [
            add_notebook(1, str(root), "one.ipynb"),
            add_notebook(2, str(root), "two/x.ipynb"),
            *(add_edit(number, number % 2 + 1) for number in range(1, 5)),
            ("INSERT INTO seen_edits VALUES (1, 'ada', 4, NULL, 1)", ()),
            add_mode(str(root), "one.ipynb", "review"),
            add_mode(str(root), "two/x.ipynb", "plan"),
        ],
    )
    database = await migrate(services)
    await resolve_link_paths(database, LOG)
    names = FolderNames(folder=str(root))
    for path in ("one.ipynb", "two/x.ipynb"):
        edits = await EditStore(database, names=names).list_page(path, limit=20)
        assert [edit.edit_id for edit in edits] == [4, 3, 2, 1]
        assert await build_modes(services, database, str(root)).read_own(path) == ("plan", None)
        seen = await SeenEditStore(database, names=names).read(path, "ada")
        assert sorted(seen.whole_edits) == [2, 4]
    listed = await EditStore(database, names=names).list_page(None, limit=20)
    assert {edit.path for edit in listed} <= {"one.ipynb", "two/x.ipynb"}
    # An older release looks there.
    rows = select(folder, "SELECT root, name, mode FROM modes")
    assert {(str(root), "one.ipynb", "plan"), (str(root), "two/x.ipynb", "plan")} <= set(rows)


async def test_a_file_system_that_does_not_answer_holds_no_start(
    services: ServiceBuilder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(folder, [add_notebook(1, "/r", "x.ipynb")])
    database = await migrate(services)
    pipe, end = os.pipe()
    resolve = os.path.realpath

    def hang(path: str, **options: bool) -> str:
        if path == "/r/x.ipynb":
            os.read(pipe, 1)
        return resolve(path, **options)

    monkeypatch.setattr(os.path, "realpath", hang)
    task = asyncio.create_task(resolve_link_paths(database, LOG))
    history = EditStore(database, names=FolderNames(folder="/r"))
    assert await history.list_page("x.ipynb", limit=1) == []
    assert not task.done()
    os.write(end, b"x")
    await task
    assert select(folder, "SELECT * FROM link_paths") == []


async def test_modes_are_written_where_an_older_release_looks_for_them(
    services: ServiceBuilder, folder: Path
) -> None:
    write_file(folder, [add_notebook(1, "/r/sub", "y.ipynb"), add_notebook(2, "/q", "z.ipynb")])
    database = await migrate(services)
    modes = build_modes(services, database, "/r")
    await modes.change("sub/x.ipynb", "plan", "ada")
    rows = set(select(folder, "SELECT * FROM modes"))
    assert rows == {
        ("file:", "/r/sub/x.ipynb", "plan"),
        ("/r", "sub/x.ipynb", "plan"),
        ("/r/sub", "x.ipynb", "plan"),
        ("offline:/", "/r/sub/x.ipynb", "plan"),
    }
    await modes.on_renamed("sub", "new")
    rows = set(select(folder, "SELECT * FROM modes"))
    assert rows == {
        ("file:", "/r/new/x.ipynb", "plan"),
        ("/r", "new/x.ipynb", "plan"),
        ("offline:/", "/r/new/x.ipynb", "plan"),
    }
    await modes.change("new/x.ipynb", None, "ada")
    assert select(folder, "SELECT * FROM modes") == []


async def test_an_older_release_finds_a_mode_by_the_new_path_of_a_link(
    services: ServiceBuilder, folder: Path, tmp_path: Path
) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (tmp_path / "x.ipynb").touch()
    (root / "old.ipynb").symlink_to(tmp_path / "x.ipynb")
    write_file(folder, [])
    database = await migrate(services)
    modes = build_modes(services, database, str(root))
    await modes.change("old.ipynb", "plan", "ada")
    (root / "old.ipynb").rename(root / "new.ipynb")
    for observer in (EditStore(database, names=FolderNames(folder=str(root))), modes):
        await observer.on_renamed("old.ipynb", "new.ipynb")
    rows = select(folder, "SELECT * FROM modes")
    assert (str(root), "new.ipynb", "plan") in rows
    assert (str(root), "old.ipynb", "plan") not in rows
    assert await modes.read_own("new.ipynb") == ("plan", None)
