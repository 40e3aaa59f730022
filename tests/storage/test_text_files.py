"""Text files that are no notebooks, through the contents manager."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_events import EventLogger
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import (
    Busy,
    FileNotFound,
    Forbidden,
    NotAPlainFile,
    NotebookExists,
    TooLarge,
)
from jupyter_nbedit.storage import text_files
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.storage.text_files import TextFileService
from tests.handlers.error_checks import no_changes
from tests.storage.conftest import Root
from tests.support.sampling import is_nightly

NAME = "a.md"
ODD = {
    "CRLF": b"a\r\nb\r\n",
    "no line end": b"a\nb",
    "a byte order mark": b"\xef\xbb\xbfa\n",
    "nothing": b"",
    "no UTF-8": b"\xff\xfe\x00a",
    "NUL": b"a\0b",
    "a large text": b"x\n" * 200_000,
}


def change_by(
    function: Callable[[bytes], bytes],
) -> Callable[[Content | None], tuple[bytes, bytes]]:
    """Return a change of a file, which is described by the text before; empty without a file."""

    def change(base: Content | None) -> tuple[bytes, bytes]:
        text = b"" if base is None else base.text
        return function(text), text

    return change


class SavingManager(AsyncLargeFileManager):
    """A manager with a save of its own, which our guard leaves alone."""

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        saved: dict[str, Any] = await super().save(model, path)  # type: ignore[no-untyped-call]
        return saved


class OlderManager(SavingManager):
    """A manager from before there were hashes."""

    async def get(  # type: ignore[override] # as older managers have it
        self,
        path: str,
        content: bool = True,  # noqa: FBT001, FBT002 -- as its parent's
        type: str | None = None,  # noqa: A002 -- as its parent's
        format: str | None = None,  # noqa: A002 -- as its parent's
    ) -> dict[str, Any]:
        found: dict[str, Any] = await super().get(path, content, type, format)  # type: ignore[no-untyped-call]
        return found


@pytest.fixture
def root(place: Root) -> Path:
    return place.root


@pytest.fixture(
    params=[AsyncLargeFileManager, *([SavingManager] if is_nightly() else []), OlderManager]
)
def manager(request: pytest.FixtureRequest, root: Path) -> AsyncLargeFileManager:
    return request.param(root_dir=str(root))  # type: ignore[no-any-return] # a kind of manager


@pytest.fixture
def files(manager: AsyncLargeFileManager, place: Root) -> TextFileService:
    return TextFileService({"contents_manager": manager}, place.locks)


@pytest.fixture
def stock(place: Root) -> TextFileService:
    """Return the stock manager, whose saves wait for edits."""
    return TextFileService({"contents_manager": place.manager}, place.locks)


@pytest.mark.parametrize("kind", ODD)
async def test_a_file_is_read_and_written_byte_for_byte(
    files: TextFileService, root: Path, kind: str
) -> None:
    await files.create(NAME, ODD[kind])
    assert (await files.read(NAME)).text == (root / NAME).read_bytes() == ODD[kind]
    for before in (b"other", None):
        (root / NAME).unlink() if before is None else (root / NAME).write_bytes(before)
        result, read = await files.update(NAME, change_by(lambda _: ODD[kind]))
        assert read == (before or b"")
        assert (root / NAME).read_bytes() == ODD[kind]
        assert result is not None
        assert result.hash == hashlib.sha256(ODD[kind]).hexdigest()
        assert not result.warnings


async def test_a_new_file_does_not_overwrite_one_created_meanwhile(
    files: TextFileService, root: Path
) -> None:
    (root / NAME).write_text("mine")
    with no_changes(root), pytest.raises(NotebookExists):
        await files.create(NAME, b"theirs")


async def test_one_of_two_concurrent_creates_succeeds(stock: TextFileService, root: Path) -> None:
    saves = [stock.create(NAME, str(n).encode() * 300_000) for n in range(5)]
    results = await asyncio.gather(*saves, return_exceptions=True)
    assert [type(one) for one in results].count(NotebookExists) == 4
    content = (root / NAME).read_bytes()
    assert len(set(content)) == 1
    assert len(content) == 300_000


async def test_two_concurrent_changes_of_a_file_are_both_made(
    stock: TextFileService, root: Path
) -> None:
    (root / NAME).write_bytes(b"")

    async def add(n: int) -> None:
        await stock.update(NAME, change_by(lambda text: text + b"%d\n" % n))

    await asyncio.gather(*map(add, range(6)))
    assert sorted((root / NAME).read_text().split()) == list("012345")


async def test_a_change_is_computed_again_after_a_concurrent_change(
    files: TextFileService, root: Path
) -> None:
    (root / NAME).write_text("a")
    seen: list[bytes] = []

    def change(text: bytes) -> bytes:
        seen.append(text)
        if len(seen) == 1:
            (root / NAME).write_text("between")
        return text + b"!"

    assert (await files.update(NAME, change_by(change)))[1] == b"between"
    assert seen == [b"a", b"between"]
    assert (root / NAME).read_text() == "between!"


async def test_a_change_that_always_conflicts_gives_up(files: TextFileService, root: Path) -> None:
    (root / NAME).write_text("0")

    def change(text: bytes) -> bytes:
        (root / NAME).write_bytes(b"%d" % (int(text) + 1))
        return b"never"

    with pytest.raises(Busy):
        await files.update(NAME, change_by(change))
    assert b"never" not in (root / NAME).read_bytes()


async def test_a_file_whose_storage_changes_each_time_is_given_up(place: Root, root: Path) -> None:
    (root / "a.md").write_bytes(b"old")

    class Settings(dict[str, Any]):
        def __getitem__(self, _: str) -> AsyncLargeFileManager:
            return AsyncLargeFileManager(root_dir=str(root))

    files = TextFileService(Settings(), place.locks)
    with no_changes(root), pytest.raises(Busy):
        await files.create("a.md", b"new")


async def test_an_empty_change_writes_nothing(files: TextFileService, root: Path) -> None:
    (root / NAME).write_text("a")
    with no_changes(root):
        assert await files.update(NAME, change_by(lambda text: text)) == (None, b"a")


@pytest.mark.parametrize(
    "path", [".hidden", ".folder/a.md", "sub/.a.md", "../a.md", "no/a.md", "a.md/b", "x" * 300]
)
async def test_hidden_outside_and_missing_files_get_the_same_error(
    files: TextFileService, root: Path, path: str
) -> None:
    (root.parent / "a.md").touch()
    for name in (".folder", "sub"):
        (root / name).mkdir()
    for name in (".hidden", ".folder/a.md", "sub/.a.md", "a.md"):
        (root / name).touch()
    with no_changes(root):
        with pytest.raises(FileNotFound):
            await files.read(path)
        with pytest.raises(FileNotFound):
            await files.create(path, b"x")


async def test_a_hidden_file_is_read_if_the_server_allows_it(
    files: TextFileService, manager: AsyncLargeFileManager, root: Path
) -> None:
    manager.allow_hidden = True
    (root / ".hidden").write_text("x")
    assert (await files.read(".hidden")).text == b"x"


async def test_a_folder_is_refused(files: TextFileService, root: Path) -> None:
    (root / "folder").mkdir()
    with pytest.raises(NotAPlainFile):
        await files.read("folder")
    with no_changes(root), pytest.raises(NotebookExists):
        await files.create("folder", b"x")


async def test_a_pipe_is_refused_without_blocking(files: TextFileService, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(FileNotFound):
        await files.read("pipe")
    with pytest.raises(NotebookExists):
        await files.create("pipe", b"x")


async def test_a_file_above_the_limit_is_not_read(
    files: TextFileService, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files.TextFileStorage, "max_bytes", 1000)
    (root / NAME).write_bytes(b"x" * 1000)
    assert len((await files.read(NAME)).text) == 1000
    (root / NAME).write_bytes(b"x" * 1001)
    with pytest.raises(TooLarge) as error:
        await files.read(NAME)
    assert error.value.details == {"bytes": 1001, "limit": 1000}


async def test_the_save_event_is_emitted_for_open_tabs(
    files: TextFileService, manager: AsyncLargeFileManager
) -> None:
    heard: list[dict[str, Any]] = []

    async def hear(logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        assert (logger, schema_id) == (manager.event_logger, manager.event_schema_id)
        heard.append(data)

    manager.event_logger.add_listener(schema_id=manager.event_schema_id, listener=hear)
    await files.create(NAME, b"x")
    await asyncio.sleep(0)
    assert [data["path"] for data in heard if data["action"] == "save"] == [NAME]


async def test_hooks_run_on_save_and_may_refuse_it(
    files: TextFileService, manager: AsyncLargeFileManager, root: Path
) -> None:
    def forbid(model: dict[str, Any], **more: Any) -> None:
        assert (model["type"], more["path"]) == ("file", NAME)
        raise HTTPError(400, "not in /home/ada")

    manager.register_pre_save_hook(forbid)
    with no_changes(root), pytest.raises(Forbidden) as error:
        await files.create(NAME, b"x")
    assert "/home" not in str(error.value)


async def test_changes_by_a_hook_to_a_text_are_returned(
    files: TextFileService, manager: AsyncLargeFileManager, root: Path
) -> None:
    def shout(model: dict[str, Any], **_: Any) -> None:
        model["content"] = model["content"].upper()

    manager.register_pre_save_hook(shout)
    result = await files.create(NAME, b"x")
    assert (root / NAME).read_bytes() == b"X"
    assert result.hash == hashlib.sha256(b"X").hexdigest()
    assert len(result.warnings) == 1


async def test_a_hook_that_fails_after_the_write_is_a_warning(
    files: TextFileService, manager: AsyncLargeFileManager, root: Path
) -> None:
    def fail(**_: Any) -> None:
        message = "in /home/ada"
        raise RuntimeError(message)

    manager.register_post_save_hook(fail)
    result = await files.create(NAME, b"x")
    assert (root / NAME).read_bytes() == b"x"
    (warning,) = result.warnings
    assert "/home" not in warning


async def test_the_first_read_of_a_text_does_not_see_a_partial_save(
    stock: TextFileService, root: Path
) -> None:
    text = "a line of text\n" * 500_000
    (root / NAME).write_text(text)
    manager = stock.manager
    model = {"type": "file", "format": "text", "content": text}

    async def saves() -> None:
        for _ in range(4):
            await manager.save(dict(model), NAME)

    await stock.read(NAME)
    saving, sizes = asyncio.create_task(saves()), set()
    while not saving.done():
        sizes.add(len((await stock.read(NAME)).text))
        await asyncio.sleep(0)
    await saving
    assert sizes == {len(text)}
