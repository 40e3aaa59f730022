"""The modes of a server and of its notebooks, kept in real files of SQLite."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_events import EventLogger

from jupyter_nbedit import modes as module
from jupyter_nbedit.database import NAME, Database
from jupyter_nbedit.errors import Forbidden, LedgerError, ModesUnreadable
from jupyter_nbedit.events import MODE_SCHEMA_ID, SCHEMAS, DecisionEvents
from jupyter_nbedit.modes import Mode, ServerModes

LOG = logging.getLogger("tests")


class House:
    """Servers on one file, one after the other or side by side, and what they tell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.databases: list[Database] = []
        self.heard: list[dict[str, Any]] = []
        self.logger = EventLogger()
        self.logger.register_event_schema(SCHEMAS[MODE_SCHEMA_ID])
        self.logger.add_listener(schema_id=MODE_SCHEMA_ID, listener=self._hear)

    async def _hear(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        assert (logger, schema_id) == (self.logger, MODE_SCHEMA_ID)
        self.heard.append(data)

    def modes(self, root: str = "/root", **options: Any) -> ServerModes:
        database = Database(self.folder / "nbedit", LOG)
        self.databases.append(database)
        options.setdefault("name", lambda path: path.removeprefix("link/"))
        events = DecisionEvents(self.logger, "epoch")
        return ServerModes(database, events, LOG, root=lambda: root, **options)

    async def close(self) -> None:
        for database in self.databases:
            await database.close()


@pytest.fixture
def house(tmp_path: Path, jp_asyncio_loop: asyncio.AbstractEventLoop) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    jp_asyncio_loop.run_until_complete(made.close())


async def test_a_notebooks_own_mode_goes_before_the_servers(house: House) -> None:
    modes = house.modes(configured="plan")
    assert await modes.of("a.ipynb") == modes.server == "plan"
    await modes.change("a.ipynb", "edit", "ada")
    assert (await modes.of("a.ipynb"), await modes.of("b.ipynb")) == ("edit", "plan")
    await modes.change_server("review", "ada")
    assert (await modes.of("a.ipynb"), await modes.of("b.ipynb")) == ("edit", "review")
    await modes.change("a.ipynb", None, "ada")
    assert (await modes.of("a.ipynb"), await modes.own("a.ipynb")) == ("review", None)


async def test_after_a_restart_notebooks_have_their_modes_and_the_server_the_configured_one(
    house: House,
) -> None:
    before = house.modes()
    await before.change("a.ipynb", "plan", "ada")
    await before.change_server("review", "ada")
    after = house.modes()
    assert (await after.of("a.ipynb"), after.server) == ("plan", "edit")


async def test_none_gives_the_server_back_its_configured_mode(house: House) -> None:
    modes = house.modes(configured="review")
    await modes.change_server("edit", "ada")
    await modes.change_server(None, "ada")
    assert modes.server == "review"


async def test_no_other_name_of_a_notebook_is_a_way_around_its_mode(house: House) -> None:
    modes = house.modes()
    await modes.change("link/a.ipynb", "plan", "ada")
    assert await modes.of("a.ipynb") == "plan"
    await modes.change("a.ipynb", "review", "ada")
    assert await modes.of("link/a.ipynb") == "review"


async def test_another_root_has_modes_of_its_own(house: House) -> None:
    await house.modes("/one").change("a.ipynb", "plan", "ada")
    other = house.modes("/other")
    assert await other.of("a.ipynb") == "edit"
    await other.gone("a.ipynb")
    await other.renamed("a.ipynb", "b.ipynb")
    assert await house.modes("/one").of("a.ipynb") == "plan"


async def test_what_another_server_on_the_same_folder_changes_holds_soon(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FRESH_SECONDS", 0.05)
    one, other = house.modes(), house.modes()
    assert await other.of("a.ipynb") == "edit"
    await one.change("a.ipynb", "plan", "ada")
    await asyncio.sleep(0.06)
    assert await other.of("a.ipynb") == "plan"


async def test_a_mode_follows_its_notebook_and_its_folder(house: House) -> None:
    modes = house.modes()
    for path in ("a.ipynb", "f/a.ipynb", "f/g/b.ipynb", "fg/c.ipynb"):
        await modes.change(path, "plan", "ada")
    await modes.renamed("a.ipynb", "z.ipynb")
    await modes.renamed("f", "h%_")
    for path in ("z.ipynb", "h%_/a.ipynb", "h%_/g/b.ipynb", "fg/c.ipynb"):
        assert await modes.own(path) == "plan", path
    for path in ("a.ipynb", "f/a.ipynb", "f/g/b.ipynb"):
        assert await modes.own(path) is None, path


async def test_a_mode_that_comes_with_a_rename_replaces_the_one_that_was_there(
    house: House,
) -> None:
    modes = house.modes()
    await modes.change("a.ipynb", "plan", "ada")
    await modes.change("b.ipynb", "review", "ada")
    await modes.renamed("a.ipynb", "b.ipynb")
    assert (await modes.own("a.ipynb"), await modes.own("b.ipynb")) == (None, "plan")


async def test_a_mode_goes_with_its_notebook_and_its_folder(house: House) -> None:
    modes = house.modes()
    for path in ("a.ipynb", "f/a.ipynb", "fg/c.ipynb"):
        await modes.change(path, "plan", "ada")
    await modes.gone("a.ipynb")
    await modes.gone("f")
    assert [await modes.own(path) for path in ("a.ipynb", "f/a.ipynb")] == [None, None]
    assert await modes.own("fg/c.ipynb") == "plan"
    assert await house.modes().own("f/a.ipynb") is None


async def test_fixed_modes_are_not_changed(house: House) -> None:
    await house.modes().change("a.ipynb", "plan", "ada")
    fixed = house.modes(configured="review", is_fixed=True)
    with pytest.raises(Forbidden, match="mode_is_fixed"):
        await fixed.change("a.ipynb", "edit", "ada")
    with pytest.raises(Forbidden, match="mode_is_fixed"):
        await fixed.change_server("edit", "ada")
    assert (await fixed.of("a.ipynb"), fixed.server) == ("plan", "review")


async def test_every_change_is_told_and_nothing_else(house: House) -> None:
    modes = house.modes()
    await modes.change_server("edit", "ada")
    await modes.change("a.ipynb", None, "ada")
    await modes.change_server("review", "ada")
    await modes.change("a.ipynb", "plan", "grace")
    await modes.change("a.ipynb", "plan", "ada")
    await modes.change("a.ipynb", None, "ada")
    await asyncio.sleep(0)
    told = [(event["path"], event["mode"], event["user"]) for event in house.heard]
    assert told == [
        (None, "review", "ada"),
        ("a.ipynb", "plan", "grace"),
        ("a.ipynb", "review", "ada"),
    ]
    assert {event["epoch"] for event in house.heard} == {"epoch"}


async def test_modes_follow_renames_and_deletions_by_any_name_of_the_folder(house: House) -> None:
    modes = house.modes()
    for name in ("a.ipynb", "b.ipynb"):
        await modes.change(name, "plan", "ada")
    await modes.renamed("link/a.ipynb", "link/z.ipynb")
    await modes.gone("link/b.ipynb")
    assert [await modes.own(name) for name in ("a.ipynb", "z.ipynb", "b.ipynb")] == [
        None,
        "plan",
        None,
    ]


# If nobody knows the modes ------------------------------------------------------------------------


def damage(house: House) -> None:
    """Write nonsense over the database, which no server has open."""
    file = house.folder / "nbedit" / NAME
    file.write_bytes(b"\xff" * file.stat().st_size)


async def damaged(house: House, *paused: str, **options: Any) -> ServerModes:
    """Give the modes of a server that finds the database damaged."""
    before = house.modes()
    for path in paused or ("a.ipynb",):
        await before.change(path, "plan", "ada")
    await before.database.close()
    damage(house)
    return house.modes(**options)


async def test_without_a_database_no_notebook_has_a_mode_and_none_is_made(house: House) -> None:
    modes = house.modes()
    assert (await modes.of("a.ipynb"), await modes.explain_unreadable()) == ("edit", None)
    assert list(house.folder.iterdir()) == []


async def test_after_a_damage_no_mode_is_known_until_a_person_decides_for_all(house: House) -> None:
    modes = await damaged(house)
    for path in ("a.ipynb", "b.ipynb"):
        with pytest.raises(ModesUnreadable, match="PUT /nbedit/mode"):
            await modes.of(path)
    # Other servers of the user see it, and those that start later.
    for other in (house.modes(), house.modes("/other root")):
        with pytest.raises(ModesUnreadable, match="corrupt-"):
            await other.of("b.ipynb")
    await modes.change_server("review", "ada")
    assert (await modes.of("a.ipynb"), await modes.explain_unreadable()) == ("review", None)
    assert await house.modes().of("a.ipynb") == "edit"
    # Whose modes of another root were lost has not decided.
    with pytest.raises(ModesUnreadable):
        await house.modes("/other root").of("a.ipynb")


@pytest.mark.parametrize("mode", ["edit", "plan", None])
async def test_after_a_damage_a_person_decides_for_one_notebook(
    house: House, mode: Mode | None
) -> None:
    modes = await damaged(house)
    await modes.change("a.ipynb", mode, "ada")
    for one in (modes, house.modes()):
        assert await one.of("a.ipynb") == (mode or "edit")
        assert await one.own("a.ipynb") == mode
        assert await one.explain_unreadable("a.ipynb") is None
        assert await one.explain_unreadable() is not None
        with pytest.raises(ModesUnreadable):
            await one.of("b.ipynb")
    await modes.renamed("a.ipynb", "c.ipynb")
    assert await modes.own("c.ipynb") == mode
    with pytest.raises(ModesUnreadable):
        await modes.of("a.ipynb")
    await modes.change_server(None, "ada")
    assert (await modes.own("b.ipynb"), await modes.own("c.ipynb")) == (None, mode)


async def test_what_was_decided_after_a_damage_does_not_hold_after_the_next_one(
    house: House,
) -> None:
    modes = await damaged(house)
    await modes.change_server("edit", "ada")
    await modes.database.close()
    damage(house)
    with pytest.raises(ModesUnreadable):
        await house.modes().of("a.ipynb")


async def test_a_file_that_was_moved_aside_is_deleted_in_time_and_its_mark_stays(
    house: House,
) -> None:
    modes = await damaged(house)
    assert await modes.explain_unreadable() is not None
    await modes.database.close()
    later = Database(house.folder / "nbedit", LOG, keep_days=-1)
    house.databases.append(later)
    events = DecisionEvents(house.logger, "epoch")
    modes = ServerModes(later, events, LOG, root=lambda: "/root", name=str)
    with pytest.raises(ModesUnreadable):
        await modes.of("a.ipynb")
    assert not list((house.folder / "nbedit").glob("*.corrupt-*"))


async def test_a_mark_is_there_before_the_file_is_moved(house: House) -> None:
    modes = await damaged(house)
    # A folder where the mark belongs is a disk on which it cannot be written.
    mark = house.folder / "nbedit" / f"{NAME}.quarantined"
    mark.mkdir()
    with pytest.raises(ModesUnreadable):
        await modes.of("a.ipynb")
    assert not list((house.folder / "nbedit").glob("*.corrupt-*"))
    mark.rmdir()
    for one in (modes, house.modes()):
        await one.database.read(lambda _: None)
        with pytest.raises(ModesUnreadable):
            await one.of("a.ipynb")
    assert len(list((house.folder / "nbedit").glob("*.corrupt-*"))) == 1
    assert mark.is_file()


@pytest.mark.parametrize("written", ["edit", "damaged"])
async def test_a_mode_that_no_release_has_written_is_not_guessed(
    house: House, written: str
) -> None:
    modes = house.modes()
    await modes.change("a.ipynb", "plan", "ada")
    await modes.database.write(
        lambda found: found.execute("UPDATE modes SET mode = ?", (written,)), forget=True
    )
    other = house.modes()
    if written == "edit":
        assert await other.of("a.ipynb") == "edit"
        return
    with pytest.raises(ModesUnreadable):
        await other.of("a.ipynb")
    await other.change("a.ipynb", "review", "ada")
    assert (await other.of("a.ipynb"), await other.explain_unreadable()) == ("review", None)


async def test_modes_that_cannot_be_read_are_unknown_until_they_can_be(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FRESH_SECONDS", 0.0)
    modes = house.modes()
    await modes.change("a.ipynb", "plan", "ada")
    await modes.change("b.ipynb", "edit", "ada")
    await modes.database.close()
    modes = house.modes()
    file = house.folder / "nbedit" / NAME
    kept = file.rename(file.with_name("kept"))
    file.mkdir()
    for path in ("a.ipynb", "b.ipynb", "c.ipynb"):
        with pytest.raises(ModesUnreadable, match="cannot be read now"):
            await modes.of(path)
    with pytest.raises(LedgerError, match="The mode cannot be stored now"):
        await modes.change("a.ipynb", "edit", "ada")
    # A person may decide for all, in this server and for as long as the reason is the same.
    await modes.change_server(None, "ada")
    assert await modes.of("a.ipynb") == "edit"
    with pytest.raises(ModesUnreadable):
        await house.modes().of("a.ipynb")
    file.rmdir()
    kept.rename(file)
    assert [await modes.of(path) for path in ("a.ipynb", "b.ipynb", "c.ipynb")] == [
        "plan",
        "edit",
        "edit",
    ]


async def test_fixed_modes_that_were_lost_are_for_whoever_runs_the_server(house: House) -> None:
    fixed = await damaged(house, configured="edit", is_fixed=True)
    with pytest.raises(ModesUnreadable, match="mode_is_fixed"):
        await fixed.of("a.ipynb")
    with pytest.raises(Forbidden):
        await fixed.change_server(None, "ada")
    with pytest.raises(ModesUnreadable):
        await fixed.of("a.ipynb")
    await house.modes().change_server(None, "ada")
    assert await house.modes(is_fixed=True).of("a.ipynb") == "edit"


async def test_pages_are_told_when_modes_are_lost_and_when_a_person_has_decided(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FRESH_SECONDS", 0.0)
    modes = await damaged(house)
    await asyncio.sleep(0)
    house.heard.clear()
    for _ in range(2):
        await modes.explain_unreadable()
    await modes.change_server(None, "ada")
    await modes.explain_unreadable()
    await asyncio.sleep(0)
    told = [(event["path"], event["mode"], event["user"]) for event in house.heard]
    assert told == [(None, "edit", ""), (None, "edit", "ada")]


@pytest.mark.parametrize("mode", ["plan", "edit"])
async def test_modes_of_a_newer_release_hold_and_cannot_be_changed(
    house: House, mode: Mode
) -> None:
    modes = house.modes(configured="review")
    await modes.change("a.ipynb", mode, "ada")
    await modes.database.write(lambda found: found.execute("PRAGMA user_version = 99"))
    await modes.database.close()
    file = house.folder / "nbedit" / NAME
    before = file.read_bytes()
    older = house.modes(configured="review")
    assert [await older.of(path) for path in ("a.ipynb", "b.ipynb")] == [mode, "review"]
    with pytest.raises(LedgerError, match="newer release"):
        await older.change("a.ipynb", "review", "ada")
    assert await older.of("a.ipynb") == mode
    await older.database.close()
    assert file.read_bytes() == before
