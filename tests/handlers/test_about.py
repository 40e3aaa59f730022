from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from tests.support import samples
from tests.support.http import Local


class ArchiveManager(AsyncLargeFileManager):
    """Keeps files in a way of its own."""

    async def _read_notebook(self, *arguments: Any, **named: Any) -> Any:
        return await super()._read_notebook(*arguments, **named)


async def get_storage_kinds(local: Local) -> tuple[list[str], str]:
    """Return the storages that the server reports, and the one of an edit."""
    (local.root / "a.ipynb").write_bytes(samples.three_cells())
    storage = (await local.request("GET", "nbedit")).json["storage"]
    edited = await local.patch("a.ipynb", {"op": "delete", "cell": "alpha"})
    assert edited.status == 200, edited.body
    return storage, edited.json["applied_via"]


async def test_the_stock_manager_uses_file_storage(local: Local) -> None:
    assert await get_storage_kinds(local) == (["file"], "file")


@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"contents_manager_class": ArchiveManager}}], indirect=True
)
async def test_another_manager_uses_contents_storage(local: Local) -> None:
    assert await get_storage_kinds(local) == (["contents"], "contents")


async def test_notebook_storage_is_used_with_a_hook(local: Local, jp_serverapp: Any) -> None:
    assert await get_storage_kinds(local) == (["file"], "file")

    jp_serverapp.contents_manager.register_pre_save_hook(lambda **_: None)

    assert await get_storage_kinds(local) == (["notebook"], "notebook")
