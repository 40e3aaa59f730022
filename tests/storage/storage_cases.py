"""The ways of keeping notebooks that one contract holds for, each with its real store behind it."""

from __future__ import annotations

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
from tests.setups.s3_bucket import bucket
from tests.support import samples
from tests.support.memory_storage import MemoryStorage

PATH = "folder/a.ipynb"
# Rooms add what of this is missing.
METADATA = {
    "kernelspec": {"display_name": "P", "language": "python", "name": "p"},
    "language_info": {"name": "python"},
}


def written(*cells: dict[str, Any]) -> bytes:
    """Write a notebook as nbformat does, which is how rooms do."""
    text = samples.notebook(*cells, metadata=METADATA).decode()
    return f"{nbformat.writes(nbformat.reads(text, as_version=4))}\n".encode()


TEXT = written(
    samples.code("x = 1\nx", "alpha", execution_count=3, outputs=[samples.HTML_OUTPUT]),
    samples.markdown("# Title", "beta"),
)


@dataclass(frozen=True)
class Kept:
    """A storage, and what somebody else can do to what it keeps at `PATH`.

    Parameters
    ----------
    storage
        The storage.
    put, now, remove
        Write, read or remove it, in a way that is none of ours.
    ticks
        Whether each write has a newer time than the one before.
    """

    storage: Storage
    put: Callable[[bytes], Awaitable[object] | object]
    now: Callable[[], Awaitable[bytes] | bytes]
    remove: Callable[[], Awaitable[object] | object]
    ticks: bool = True


#: Opens an empty store in a folder.
Kind = Callable[[Path], AbstractAsyncContextManager[Kept]]


@asynccontextmanager
async def memory(_folder: Path) -> AsyncIterator[Kept]:
    """The twin: what it did not keep to, would prove nothing above it."""
    notebooks: dict[str, bytes] = {}
    yield Kept(
        MemoryStorage(notebooks),
        lambda text: notebooks.update({PATH: text}),
        lambda: notebooks[PATH],
        lambda: notebooks.pop(PATH),
    )


@asynccontextmanager
async def file(folder: Path) -> AsyncIterator[Kept]:
    """Plain files of the stock manager."""
    manager = AsyncLargeFileManager(root_dir=str(_root(folder)))
    yield _on_disk(folder, await _storage(manager, folder))


@asynccontextmanager
async def hook(folder: Path) -> AsyncIterator[Kept]:
    """The stock manager with a pre-save hook."""
    manager = AsyncLargeFileManager(root_dir=str(_root(folder)))
    manager.register_pre_save_hook(lambda **_: None)
    yield _on_disk(folder, await _storage(manager, folder))


@asynccontextmanager
async def pair(folder: Path) -> AsyncIterator[Kept]:
    """A pair of Jupytext, by its configuration."""
    from jupytext.async_contentsmanager import (  # noqa: PLC0415 -- is not always there
        build_async_jupytext_contents_manager_class as derive,
    )

    yield await _paired(folder, derive(AsyncLargeFileManager))


@asynccontextmanager
async def pair_at_once(folder: Path) -> AsyncIterator[Kept]:
    """The same of a manager that is not asynchronous."""
    from jupytext.sync_contentsmanager import TextFileContentsManager  # noqa: PLC0415

    yield await _paired(folder, TextFileContentsManager)


async def _paired(folder: Path, manager_class: Callable[..., Any]) -> Kept:
    (_root(folder) / "jupytext.toml").write_text('formats = "ipynb,py:percent"\n')
    manager = manager_class(root_dir=str(_root(folder)), delete_to_trash=False)
    kept = _on_disk(folder, await _storage(manager, folder))
    path = _root(folder) / PATH

    def put(text: bytes) -> None:
        """Write the one half; the other one is out of date, and gone."""
        path.with_suffix(".py").unlink(missing_ok=True)
        path.write_bytes(text)

    def remove() -> None:
        path.unlink()
        path.with_suffix(".py").unlink(missing_ok=True)

    return Kept(kept.storage, put, kept.now, remove)


@asynccontextmanager
async def drive(folder: Path) -> AsyncIterator[Kept]:
    """A local drive of jupyter-fs."""
    from jupyterfs.manager import FSSpecManager  # noqa: PLC0415

    manager = FSSpecManager(f"file://{_root(folder)}")
    yield _on_disk(folder, await _storage(manager, folder))


@asynccontextmanager
async def s3(folder: Path) -> AsyncIterator[Kept]:
    """A bucket, on a server of the test's own."""
    with bucket() as store:
        from s3contents import S3ContentsManager  # noqa: PLC0415

        manager = S3ContentsManager(**store.options)
        manager.save({"type": "directory"}, "folder")
        yield Kept(
            await _storage(manager, folder),
            lambda text: store.put(PATH, text),
            lambda: store.get(PATH),
            lambda: store.remove(PATH),
            ticks=False,
        )


@asynccontextmanager
async def collaboration(folder: Path) -> AsyncIterator[Kept]:
    """A live room of jupyter-collaboration."""
    async with room_storages.collaboration(folder, _root(folder), PATH) as live:
        yield _live(live)


@asynccontextmanager
async def documents(folder: Path) -> AsyncIterator[Kept]:
    """A live room of jupyter-server-documents."""
    async with room_storages.documents(folder, _root(folder), PATH) as live:
        yield _live(live)


def _live(live: room_storages.LiveNotebook) -> Kept:
    return Kept(live.storage(), live.put, live.file.read_bytes, live.file.unlink)


#: All of them.
KINDS: dict[str, Kind] = {
    "memory": memory,
    "file": file,
    "hook": hook,
    "pair": pair,
    "pair at once": pair_at_once,
    "drive": drive,
    "s3": s3,
    "collaboration": collaboration,
    "documents": documents,
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


async def _storage(manager: Any, folder: Path) -> Storage:
    return await StorageResolver({"contents_manager": manager}, _locks(folder)).resolve(PATH)


def _locks(folder: Path) -> PathLocks:
    return PathLocks(folder / "locks", logging.getLogger(__name__))


def _root(folder: Path) -> Path:
    (folder / "root" / PATH).parent.mkdir(parents=True, exist_ok=True)
    return folder / "root"


def _on_disk(folder: Path, storage: Storage) -> Kept:
    path = _root(folder) / PATH
    return Kept(storage, path.write_bytes, path.read_bytes, path.unlink)
