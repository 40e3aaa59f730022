"""What this user's servers write is told from what other programs write."""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.contents.manager_locks import (
    get_model_identity,
    get_write_name,
    read_file_identity,
)
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.write_log import NAME as LOG_NAME
from jupyter_nbedit.storage.write_log import Writer
from tests.storage.conftest import NAME
from tests.support import samples

TEXT = samples.three_cells()
LOG = logging.getLogger(__name__)


class Bucket(AsyncLargeFileManager):
    """A manager that need not have files: it says itself which exist."""

    async def file_exists(self, path: str = "") -> bool:
        return bool(await super().file_exists(path))


class OneServer:
    """A server of the user, over a folder."""

    def __init__(
        self, folder: Path, kind: type[FileContentsManager] = AsyncLargeFileManager
    ) -> None:
        root = folder / "root"
        root.mkdir(exist_ok=True)
        self.manager = kind(root_dir=str(root), delete_to_trash=False)
        self.manager.log = LOG
        self.locks = PathLocks(folder / "locks", LOG)
        self.storages = StorageResolver({"contents_manager": self.manager}, self.locks)
        self.file = root / NAME
        self.file.write_bytes(TEXT)

    def find_writer(self) -> Writer | None:
        name = get_write_name(self.manager, NAME)
        assert name is not None
        return self.locks.writes.find_writer(name, read_file_identity(name))

    async def edit(self) -> None:
        async with self.storages.lock(NAME) as storage:
            base = await storage.read(NAME)
            await storage.write(NAME, base, [Splice(0, 1, base.text[:1])])

    async def create(self) -> None:
        self.file.unlink()
        await (await self.storages.resolve(NAME)).create(NAME, TEXT)

    async def call(self, method: str, *arguments: Any) -> None:
        await self.storages.resolve(NAME)
        result = getattr(self.manager, method)(*arguments)
        if asyncio.iscoroutine(result):
            await result

    async def save(self) -> None:
        await self.call("save", {"type": "file", "format": "text", "content": TEXT.decode()}, NAME)

    async def delete(self) -> None:
        await self.call("delete_file", NAME)

    async def rename(self) -> None:
        self.file.rename(self.file.with_name("old.ipynb"))
        await self.call("rename_file", "old.ipynb", NAME)

    async def restore(self) -> None:
        await self.storages.resolve(NAME)
        checkpoint = await self.manager.create_checkpoint(NAME)
        self.file.write_bytes(b"{}")
        await self.manager.restore_checkpoint(checkpoint["id"], NAME)


WRITES = [
    OneServer.edit,
    OneServer.create,
    OneServer.save,
    OneServer.delete,
    OneServer.rename,
    OneServer.restore,
]


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_by_a_server_is_known_to_all_until_another_program_writes(
    tmp_path: Path, write: Callable[[OneServer], Any]
) -> None:
    server, other = OneServer(tmp_path), OneServer(tmp_path)
    assert server.find_writer() is None
    await write(server)
    assert (server.find_writer(), other.find_writer()) == ("this server", "other server")
    server.file.write_bytes(TEXT)
    os.utime(server.file, ns=(0, 0))
    assert (server.find_writer(), other.find_writer()) == (None, None)


async def test_a_save_of_a_synchronous_manager_is_known(tmp_path: Path) -> None:
    server = OneServer(tmp_path, FileContentsManager)
    await server.save()
    assert server.find_writer() == "this server"


async def test_a_save_by_a_manager_without_files_is_known_by_its_model(tmp_path: Path) -> None:
    server = OneServer(tmp_path, Bucket)
    await server.save()
    name = get_write_name(server.manager, NAME)
    assert name == f"Bucket {NAME}"
    for writer in ("this server", None):
        model = await server.manager.get(NAME, content=False)
        assert server.locks.writes.find_writer(name, get_model_identity(model)) == writer
        server.file.write_bytes(b"{}")


async def test_a_refused_save_is_not_taken_for_the_write_of_another_program(tmp_path: Path) -> None:
    server = OneServer(tmp_path)
    await server.storages.resolve(NAME)
    model = {"type": "file", "format": "text", "content": "", "nbedit_expected_hash": "x"}
    with pytest.raises(Exception, match="changed since"):
        await server.manager.save(model, NAME)
    assert server.find_writer() is None


async def test_saves_do_not_need_the_log(tmp_path: Path) -> None:
    server, other = OneServer(tmp_path), OneServer(tmp_path)
    (tmp_path / "locks" / LOG_NAME).mkdir(parents=True)
    await server.save()
    assert (server.find_writer(), other.find_writer()) == ("this server", None)
