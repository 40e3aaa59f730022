"""The storages that one contract applies to, each with its real store."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.storage.base import Storage
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.setups import room_storages
from tests.setups.needs import is_available
from tests.setups.s3_bucket import make_bucket
from tests.support import samples
from tests.support.memory_storage import MemoryStorage

PATH = "folder/a.ipynb"
# Rooms add what of this is missing.
METADATA = {
    "kernelspec": {"display_name": "P", "language": "python", "name": "p"},
    "language_info": {"name": "python"},
}


def build_notebook(*cells: dict[str, Any]) -> bytes:
    """Write a notebook as nbformat does, which is how rooms do."""
    text = samples.notebook(*cells, metadata=METADATA).decode()
    return f"{nbformat.writes(nbformat.reads(text, as_version=4))}\n".encode()


TEXT = build_notebook(
    samples.code("x = 1\nx", "alpha", execution_count=3, outputs=[samples.HTML_OUTPUT]),
    samples.markdown("# Title", "beta"),
)


@dataclass(frozen=True)
class StorageCase:
    """A storage, and functions that bypass it to write, read and remove the file at `PATH`."""

    storage: Storage
    write: Callable[[bytes], Awaitable[object] | object]
    read: Callable[[], Awaitable[bytes] | bytes]
    remove: Callable[[], Awaitable[object] | object]
    has_increasing_times: bool = True


#: Opens an empty store in a folder.
OpenCase = Callable[[Path], AbstractAsyncContextManager[StorageCase]]


@asynccontextmanager
async def open_memory(_folder: Path) -> AsyncIterator[StorageCase]:
    """The storage in memory, which other tests rely on."""
    notebooks: dict[str, bytes] = {}
    yield StorageCase(
        MemoryStorage(notebooks),
        lambda text: notebooks.update({PATH: text}),
        lambda: notebooks[PATH],
        lambda: notebooks.pop(PATH),
    )


@asynccontextmanager
async def open_file(folder: Path) -> AsyncIterator[StorageCase]:
    """Plain files of the stock manager."""
    manager = AsyncLargeFileManager(root_dir=str(_make_root(folder)))
    yield _build_disk_case(folder, await _build_storage(manager, folder))


@asynccontextmanager
async def open_hook(folder: Path) -> AsyncIterator[StorageCase]:
    """The stock manager with a pre-save hook."""
    manager = AsyncLargeFileManager(root_dir=str(_make_root(folder)))
    manager.register_pre_save_hook(lambda **_: None)
    yield _build_disk_case(folder, await _build_storage(manager, folder))


@asynccontextmanager
async def open_pair(folder: Path) -> AsyncIterator[StorageCase]:
    """A pair of Jupytext, by its configuration."""
    from jupytext.async_contentsmanager import build_async_jupytext_contents_manager_class as derive  # noqa: PLC0415 -- is not always there

    yield await _build_pair_case(folder, derive(AsyncLargeFileManager))


@asynccontextmanager
async def open_synchronous_pair(folder: Path) -> AsyncIterator[StorageCase]:
    """The same of a manager that is not asynchronous."""
    from jupytext.sync_contentsmanager import TextFileContentsManager  # noqa: PLC0415

    yield await _build_pair_case(folder, TextFileContentsManager)


async def _build_pair_case(folder: Path, manager_class: Callable[..., Any]) -> StorageCase:
    (_make_root(folder) / "jupytext.toml").write_text('formats = "ipynb,py:percent"\n')
    manager = manager_class(root_dir=str(_make_root(folder)), delete_to_trash=False)
    disk_case = _build_disk_case(folder, await _build_storage(manager, folder))
    path = _make_root(folder) / PATH

    def put(text: bytes) -> None:
        """Write the one half; the other one is out of date, and gone."""
        path.with_suffix(".py").unlink(missing_ok=True)
        path.write_bytes(text)

    def remove() -> None:
        path.unlink()
        path.with_suffix(".py").unlink(missing_ok=True)

    return StorageCase(disk_case.storage, put, disk_case.read, remove)


@asynccontextmanager
async def open_drive(folder: Path) -> AsyncIterator[StorageCase]:
    """A local drive of jupyter-fs."""
    from jupyterfs.manager import FSSpecManager  # noqa: PLC0415

    manager = FSSpecManager(f"file://{_make_root(folder)}")
    yield _build_disk_case(folder, await _build_storage(manager, folder))


@asynccontextmanager
async def open_s3(folder: Path) -> AsyncIterator[StorageCase]:
    """A bucket, on a server of the test's own."""
    with make_bucket() as store:
        from s3contents import S3ContentsManager  # noqa: PLC0415

        manager = S3ContentsManager(**store.options)
        manager.save({"type": "directory"}, "folder")
        yield StorageCase(
            await _build_storage(manager, folder),
            lambda text: store.put(PATH, text),
            lambda: store.get(PATH),
            lambda: store.remove(PATH),
            has_increasing_times=False,
        )


@asynccontextmanager
async def open_collaboration(folder: Path) -> AsyncIterator[StorageCase]:
    """A live room of jupyter-collaboration."""
    async with room_storages.open_collaboration_room(folder, _make_root(folder), PATH) as live:
        yield _build_room_case(live)


@asynccontextmanager
async def open_documents(folder: Path) -> AsyncIterator[StorageCase]:
    """A live room of jupyter-server-documents."""
    async with room_storages.open_documents_room(folder, _make_root(folder), PATH) as live:
        yield _build_room_case(live)


def _build_room_case(live: room_storages.RoomNotebook) -> StorageCase:
    return StorageCase(live.build_storage(), live.write, live.file.read_bytes, live.file.unlink)


#: All of them.
KINDS: dict[str, OpenCase] = {
    "memory": open_memory,
    "file": open_file,
    "hook": open_hook,
    "pair": open_pair,
    "pair at once": open_synchronous_pair,
    "drive": open_drive,
    "s3": open_s3,
    "collaboration": open_collaboration,
    "documents": open_documents,
}
#: The packages that they need, each with the environment that has it.
PACKAGES = {
    "jupytext": "setups",
    "jupyterfs": "setups",
    "s3contents": "setups",
    "moto": "setups",
    "jupyter_server_ydoc": "setups",
    "jupyter_server_documents": "documents",
}
_PACKAGES_OF = {
    "pair": ["jupytext"],
    "pair at once": ["jupytext"],
    "drive": ["jupyterfs"],
    "s3": ["s3contents", "moto"],
    "collaboration": ["jupyter_server_ydoc"],
    "documents": ["jupyter_server_documents"],
}
#: Those whose packages are here.
AVAILABLE = [
    kind
    for kind in KINDS
    if all(is_available(package, PACKAGES[package]) for package in _PACKAGES_OF.get(kind, ()))
]
#: Those that know a notebook as a whole, and not what in it has changed.
WHOLE = ("memory", "file", "hook", "pair", "pair at once", "drive", "s3")
#: Those that keep any bytes as they are.
EXACT = ("memory", "file", "drive", "s3")


async def _build_storage(manager: Any, folder: Path) -> Storage:
    return await StorageResolver({"contents_manager": manager}, _build_locks(folder)).resolve(PATH)


def _build_locks(folder: Path) -> PathLocks:
    return PathLocks(folder / "locks", logging.getLogger(__name__))


def _make_root(folder: Path) -> Path:
    (folder / "root" / PATH).parent.mkdir(parents=True, exist_ok=True)
    return folder / "root"


def _build_disk_case(folder: Path, storage: Storage) -> StorageCase:
    path = _make_root(folder) / PATH
    return StorageCase(storage, path.write_bytes, path.read_bytes, path.unlink)
