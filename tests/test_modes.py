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
from jupyter_nbedit.errors import Forbidden, LedgerError
from jupyter_nbedit.events import MODE_SCHEMA_ID, SCHEMAS, DecisionEvents
from jupyter_nbedit.modes import ServerModes

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
    modes.change_server("review", "ada")
    assert (await modes.of("a.ipynb"), await modes.of("b.ipynb")) == ("edit", "review")
    await modes.change("a.ipynb", None, "ada")
    assert (await modes.of("a.ipynb"), await modes.own("a.ipynb")) == ("review", None)


async def test_after_a_restart_notebooks_have_their_modes_and_the_server_the_configured_one(
    house: House,
) -> None:
    before = house.modes()
    await before.change("a.ipynb", "plan", "ada")
    before.change_server("review", "ada")
    after = house.modes()
    assert (await after.of("a.ipynb"), after.server) == ("plan", "edit")


async def test_none_gives_the_server_back_its_configured_mode(house: House) -> None:
    modes = house.modes(configured="review")
    modes.change_server("edit", "ada")
    modes.change_server(None, "ada")
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
        fixed.change_server("edit", "ada")
    assert (await fixed.of("a.ipynb"), fixed.server) == ("plan", "review")


async def test_every_change_is_told_and_nothing_else(house: House) -> None:
    modes = house.modes()
    modes.change_server("edit", "ada")
    await modes.change("a.ipynb", None, "ada")
    modes.change_server("review", "ada")
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


async def test_a_mode_that_cannot_be_kept_is_refused_and_what_is_known_holds(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_FRESH_SECONDS", 0.0)
    modes = house.modes()
    await modes.change("a.ipynb", "plan", "ada")
    assert await modes.of("a.ipynb") == "plan"
    file = house.folder / "nbedit" / NAME
    file.unlink()
    file.mkdir()
    assert await modes.of("a.ipynb") == "plan"
    with pytest.raises(LedgerError):
        await modes.change("a.ipynb", "edit", "ada")
    assert await modes.of("a.ipynb") == "plan"
