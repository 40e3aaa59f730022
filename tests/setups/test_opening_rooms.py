"""Rooms that open or close while an edit is on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotAPlainFile
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage import Changed
from jupyter_nbedit.storage.rooms import room_of
from tests import samples
from tests.setups.live_rooms import ROOMS, LiveNotebook

_PATH = "a.ipynb"
_TEXT = samples.notebook(samples.markdown("# Title", "a"))
_AT = _TEXT.index(b"Title")
_SPLICES = [Splice(_AT, _AT + 5, b"Topic")]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(params=ROOMS)
def live(
    request: pytest.FixtureRequest, jp_asyncio_loop: asyncio.AbstractEventLoop, tmp_path: Path
) -> Iterator[LiveNotebook]:
    root = tmp_path / "root"
    root.mkdir()
    (root / _PATH).write_bytes(_TEXT)
    (root / "b.ipynb").write_bytes(_TEXT)
    store = ROOMS[request.param](tmp_path, root, _PATH)
    yield jp_asyncio_loop.run_until_complete(store.__aenter__())
    jp_asyncio_loop.run_until_complete(store.__aexit__(None, None, None))


async def test_a_file_is_not_written_under_a_room_that_has_just_opened(live: LiveNotebook) -> None:
    async with live.storages.hold(_PATH) as storage:
        assert storage.kind == "file"
        base = await storage.read(_PATH)
        await live.open(_PATH)
        with pytest.raises(Changed):
            await storage.write(_PATH, base, _SPLICES)
    assert live.file.read_bytes() == _TEXT
    async with live.storages.hold(_PATH) as storage:
        assert storage.kind == "room"


async def test_a_room_of_another_notebook_delays_an_edit_and_no_more(live: LiveNotebook) -> None:
    async with live.storages.hold(_PATH) as storage:
        base = await storage.read(_PATH)
        await live.open("b.ipynb")
        with pytest.raises(Changed):
            await storage.write(_PATH, base, _SPLICES)
    async with live.storages.hold(_PATH) as storage:
        written = await storage.write(_PATH, await storage.read(_PATH), _SPLICES)
    assert (storage.kind, written.persisted) == ("file", True)
    assert b"Topic" in live.file.read_bytes()


async def test_who_has_waited_for_a_file_is_given_the_room_that_has_opened(
    live: LiveNotebook,
) -> None:
    async def kind() -> str:
        async with live.storages.hold(_PATH) as storage:
            return storage.kind

    async with live.storages.hold(_PATH):
        waiting = asyncio.create_task(kind())
        await asyncio.sleep(0.05)
        await live.open(_PATH)
    assert await waiting == "room"


async def test_a_room_whose_document_is_out_of_reach_is_left_alone(live: LiveNotebook) -> None:
    await live.open(_PATH)
    settings = live.storages.settings
    manager = settings["contents_manager"]
    found = room_of(settings, manager, _PATH)
    assert found is not None
    room = found.room  # type: ignore[attr-defined]
    for name in ("_document", "_jupyter_ydoc"):
        if hasattr(room, name):
            kept, held = name, getattr(room, name)
            delattr(room, name)
    with pytest.raises(NotAPlainFile, match="of a kind that is not known"):
        await live.storages.of(_PATH)
    setattr(room, kept, held)
    assert (await live.storages.of(_PATH)).kind == "room"
