"""Rooms that open during an edit, that do not save, and that are unknown."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.web import HTTPError

from jupyter_nbedit.errors import Busy, ChangedDuringRead, NotAPlainFile
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, StaleContent
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.rtc.rooms import find_room
from tests.setups.room_storages import ROOMS, RoomNotebook
from tests.support import samples
from tests.support.waiting import wait_until_async

_PATH = "a.ipynb"
_TEXT = samples.notebook(samples.markdown("# Title", "a"))
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def _splices(text: bytes) -> list[Splice]:
    at = text.index(b"Title")
    return [Splice(at, at + 5, b"Topic")]


@pytest.fixture(params=ROOMS)
def live(
    request: pytest.FixtureRequest, jp_asyncio_loop: asyncio.AbstractEventLoop, tmp_path: Path
) -> Iterator[RoomNotebook]:
    root = tmp_path / "root"
    root.mkdir()
    (root / _PATH).write_bytes(_TEXT)
    (root / "b.ipynb").write_bytes(_TEXT)
    store = ROOMS[request.param](tmp_path, root, _PATH)
    yield jp_asyncio_loop.run_until_complete(store.__aenter__())
    jp_asyncio_loop.run_until_complete(store.__aexit__(None, None, None))


async def _begin_to_open(live: RoomNotebook, path: str) -> asyncio.Future[Any]:
    """Open a room, which can read the file only without a writer."""
    opening = asyncio.ensure_future(live.open(path))
    settings = live.storages.settings
    await wait_until_async(lambda: find_room(settings, path))
    return opening


async def test_a_file_is_not_written_if_a_room_has_just_opened(live: RoomNotebook) -> None:
    async with live.storages.lock(_PATH) as storage:
        assert storage.kind == "file"
        base = await storage.read(_PATH)
        opening = await _begin_to_open(live, _PATH)
        with pytest.raises(StaleContent):
            await storage.write(_PATH, base, _splices(_TEXT))
    await opening
    assert live.file.read_bytes() == _TEXT
    async with live.storages.lock(_PATH) as storage:
        assert storage.kind == "room"


async def test_a_room_of_another_notebook_only_delays_an_edit(live: RoomNotebook) -> None:
    async with live.storages.lock(_PATH) as storage:
        base = await storage.read(_PATH)
        opening = await _begin_to_open(live, "b.ipynb")
        with pytest.raises(StaleContent):
            await storage.write(_PATH, base, _splices(_TEXT))
    await opening
    async with live.storages.lock(_PATH) as storage:
        result = await storage.write(_PATH, await storage.read(_PATH), _splices(_TEXT))
    assert (storage.kind, result.is_persisted) == ("file", True)
    assert b"Topic" in live.file.read_bytes()


async def test_a_room_that_never_loads_does_not_block_reads(
    live: RoomNotebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    await live.open(_PATH)
    room = (await live.storages.resolve(_PATH)).room  # type: ignore[attr-defined]
    monkeypatch.setattr(type(room), "has_loaded", lambda _: False)
    async with live.storages.lock(_PATH) as storage:
        base = await storage.read(_PATH)
        assert (storage.kind, base.text) == ("room", _TEXT)
        with pytest.raises(Busy):
            await storage.write(_PATH, base, _splices(_TEXT))
    monkeypatch.undo()
    async with live.storages.lock(_PATH) as storage:
        with pytest.raises(StaleContent):
            await storage.write(_PATH, base, _splices(_TEXT))
        result = await storage.write(_PATH, now := await storage.read(_PATH), _splices(now.text))
    assert result.is_persisted
    assert compute_sha256(live.file.read_bytes()) == result.hash


class _ChangedContent(Content):
    """A large file that was changed after it was opened, before its bytes were read."""

    @property
    def text(self) -> bytes:
        message = "It has changed."
        raise ChangedDuringRead(message)


async def test_an_edit_is_reported_although_the_file_changes_while_it_is_checked(
    live: RoomNotebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_changed(storage: FileStorage, path: str) -> Content:
        monkeypatch.undo()
        content = await storage.read(path)
        return _ChangedContent(content.data, content.last_modified)

    await live.open(_PATH)
    async with live.storages.lock(_PATH) as storage:
        base = await storage.read(_PATH)
        monkeypatch.setattr(FileStorage, "read", read_changed)
        result = await storage.write(_PATH, base, _splices(base.text))
    assert result.is_persisted
    assert compute_sha256(live.file.read_bytes()) == result.hash


async def test_a_lock_that_waited_for_a_file_returns_its_new_room(
    live: RoomNotebook,
) -> None:
    async def kind() -> str:
        async with live.storages.lock(_PATH) as storage:
            return storage.kind

    async with live.storages.lock(_PATH):
        waiting = asyncio.create_task(kind())
        await asyncio.sleep(0.05)
        opening = await _begin_to_open(live, _PATH)
    assert await waiting == "room"
    await opening


async def test_a_room_with_an_unreachable_document_is_refused(live: RoomNotebook) -> None:
    await live.open(_PATH)
    settings = live.storages.settings
    found = find_room(settings, _PATH)
    assert found is not None
    room = found.room
    for name in ("_document", "_jupyter_ydoc"):
        if hasattr(room, name):
            method_name, held = name, getattr(room, name)
            delattr(room, name)
    with pytest.raises(NotAPlainFile):
        await live.storages.resolve(_PATH)
    setattr(room, method_name, held)
    assert (await live.storages.resolve(_PATH)).kind == "room"


async def test_unsaved_changes_of_a_room_are_reported(live: RoomNotebook) -> None:
    def refuse(**_: object) -> None:
        raise HTTPError(403, "No more.")

    document = await live.open(_PATH)
    live.storages.settings["contents_manager"].register_pre_save_hook(refuse)
    async with live.storages.lock(_PATH) as storage:
        result = await storage.write(_PATH, base := await storage.read(_PATH), _splices(base.text))
        after = await storage.read(_PATH)
    assert (storage.kind, result.is_persisted) == ("room", False)
    assert len(result.warnings) == 1
    assert result.hash == compute_sha256(after.text)
    assert str(document.ycells[0]["source"]) == "# Topic"
    assert live.file.read_bytes() == _TEXT
