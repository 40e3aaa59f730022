"""Rooms without browsers, for the contract of all storages."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import nbformat
from jupyter_events import EventLogger
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import Content, Storage, WriteResult
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.setups.needs import needs

#: Opens the room of a notebook and returns its shared document.
OpenRoom = Callable[[str], Awaitable[Any]]


@dataclass
class RoomNotebook:
    """One notebook file and its room; `open` opens the room."""

    path: str
    file: Path
    storages: StorageResolver
    open: OpenRoom
    document: Any = None

    async def write(self, text: bytes) -> None:
        """Open the room, or type a whole notebook in it, and save."""
        if self.document is None:
            self.file.write_bytes(text)
            self.document = await self.open(self.path)
            return
        self.document.source = nbformat.from_dict(nbformat.reads(text.decode(), as_version=4))
        storage: Any = await self.storages.resolve(self.path)
        await storage.room.save()

    def build_storage(self) -> Storage:
        return _CurrentStorage(self.storages)


@dataclass
class _CurrentStorage(Storage):
    """The storage there is at any time: before the room is opened, and after it is gone."""

    storages: StorageResolver
    read_with: dict[int, Storage] = field(default_factory=dict)

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False
    is_shared: ClassVar[bool] = True

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncIterator[None]:
        async with self.storages.lock(path):
            yield

    async def read(self, path: str) -> Content:
        storage = await self.storages.resolve(path)
        content = await storage.read(path)
        self.read_with[id(content.data)] = storage
        return content

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        return await self.read_with[id(base.data)].write(path, base, splices)

    async def ensure_absent(self, path: str) -> None:
        await (await self.storages.resolve(path)).ensure_absent(path)

    async def create(self, path: str, text: bytes) -> WriteResult:
        return await (await self.storages.resolve(path)).create(path, text)

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:
        return await (await self.storages.resolve(path)).notify_saved(path, result)


def _build_settings(root: Path, folder: Path) -> dict[str, Any]:
    from jupyter_server_fileid.manager import ArbitraryFileIdManager  # noqa: PLC0415

    ids = ArbitraryFileIdManager(root_dir=str(root), db_path=str(folder / "ids.db"))
    manager = AsyncLargeFileManager(root_dir=str(root))
    return {"contents_manager": manager, "file_id_manager": ids}


def _build_resolver(settings: dict[str, Any], folder: Path) -> StorageResolver:
    return StorageResolver(settings, PathLocks(folder / "locks", logging.getLogger(__name__)))


@asynccontextmanager
async def open_collaboration_room(
    folder: Path, root: Path, path: str
) -> AsyncIterator[RoomNotebook]:
    """A room of jupyter-collaboration."""
    needs("jupyter_server_ydoc")
    from jupyter_server_ydoc.loaders import FileLoaderMapping  # noqa: PLC0415
    from jupyter_server_ydoc.rooms import DocumentRoom  # noqa: PLC0415
    from jupyter_server_ydoc.websocketserver import JupyterWebsocketServer  # noqa: PLC0415

    settings = _build_settings(root, folder)
    log = logging.getLogger(__name__)
    loaders = FileLoaderMapping(settings, log, 0.1)
    server = JupyterWebsocketServer(lambda **_: None, rooms_ready=False, auto_clean_rooms=False)
    settings["jupyter_server_ydoc"] = SimpleNamespace(ywebsocket_server=server)

    async def open_room(path: str) -> Any:
        file_id = settings["file_id_manager"].index(path)
        name = f"json:notebook:{file_id}"
        room = DocumentRoom(
            name, "json", "notebook", loaders[file_id], EventLogger(), None, log, save_delay=60
        )
        await server.start_room(room)
        server.add_room(name, room)
        await room.initialize()
        return room._document

    serving = asyncio.create_task(server.start())
    await server.started.wait()
    try:
        yield RoomNotebook(path, root / path, _build_resolver(settings, folder), open_room)
    finally:
        await loaders.clear()
        await server.stop()
        await serving
        settings["file_id_manager"].con.close()


@asynccontextmanager
async def open_documents_room(folder: Path, root: Path, path: str) -> AsyncIterator[RoomNotebook]:
    """A room of jupyter-server-documents."""
    needs("jupyter_server_documents", "documents")
    from jupyter_server_documents.app import ServerDocsApp  # noqa: PLC0415
    from jupyter_server_documents.rooms.yroom_manager import YRoomManager  # noqa: PLC0415

    settings = _build_settings(root, folder)
    app = ServerDocsApp()
    app.serverapp = SimpleNamespace(
        web_app=SimpleNamespace(settings=settings),
        contents_manager=settings["contents_manager"],
        event_logger=EventLogger(),
    )
    manager = YRoomManager(parent=app)
    settings["yroom_manager"] = manager

    async def open_room(path: str) -> Any:
        file_id = settings["file_id_manager"].index(path)
        return await manager.get_room(f"json:notebook:{file_id}").get_jupyter_ydoc()

    try:
        yield RoomNotebook(path, root / path, _build_resolver(settings, folder), open_room)
    finally:
        await manager.stop()
        settings["file_id_manager"].con.close()


#: The kinds of rooms there are.
ROOMS: dict[str, Callable[[Path, Path, str], AbstractAsyncContextManager[RoomNotebook]]] = {
    "collaboration": open_collaboration_room,
    "documents": open_documents_room,
}
