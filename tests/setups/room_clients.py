"""Servers with real-time collaboration, and clients that speak its protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.support.http import JSON, Answer, Client
from tests.support.servers import run_server
from tests.support.waiting import wait_until_async

_SYNC = 0


@dataclass(frozen=True)
class CollaborationBackend:
    """jupyter-collaboration."""

    extensions = ("jupyter_server_ydoc", "jupyter_server_fileid")

    def build_options(self, folder: Path) -> list[str]:
        return [f"--SQLiteYStore.db_path={folder / 'ystore.db'}"]

    def build_room_address(self, client: Client, path: str, contents: str) -> str:
        kept_as, kind = contents.split(":")
        body = json.dumps({"format": kept_as, "type": kind}).encode()
        answer = client.request("PUT", f"api/collaboration/session/{path}", body, JSON)
        reply = answer.json
        return f"{contents}:{reply['fileId']}?sessionId={reply['sessionId']}"


@dataclass(frozen=True)
class DocumentsBackend:
    """jupyter-server-documents."""

    extensions = ("jupyter_server_documents", "jupyter_server_fileid")

    def build_options(self, _folder: Path) -> list[str]:
        return []

    def build_room_address(self, client: Client, path: str, contents: str) -> str:
        answer = client.request("POST", f"api/fileid/index?path={path}", b"")
        return f"{contents}:{answer.json['id']}"


@dataclass(frozen=True)
class RoomServer:
    """A server with rooms in a process of its own."""

    client: Client
    backend: CollaborationBackend | DocumentsBackend
    folder: Path

    @property
    def root(self) -> Path:
        return self.client.root

    async def enter(self, path: str, contents: str = "json:notebook") -> RoomClient:
        """Open a file as a browser does."""
        return await RoomClient.enter(self, path, contents)

    async def request(self, verb: str, target: str, body: Any = None) -> Answer:
        """Send one request, with JSON if there is a body."""
        sent = None if body is None else json.dumps(body).encode()
        headers = {**JSON, "X-NbEdit-Session": "one"}
        return await asyncio.to_thread(self.client.request, verb, target, sent, headers)

    async def edit(self, path: str, *operations: dict[str, Any], **fields: Any) -> Answer:
        return await asyncio.to_thread(self.client.patch, path, *operations, **fields)

    async def read(self, path: str, **query: Any) -> Any:
        answer = await asyncio.to_thread(self.client.read, path, **query)
        assert answer.status == 200, answer.body
        return answer.json

    async def get_contents(self, path: str) -> Any:
        """GET a notebook from the Contents API."""
        answer = await self.request("GET", f"api/contents/{path}?hash=1")
        assert answer.status == 200, answer.body
        return answer.json

    async def wait_until_closed(self, path: str) -> None:
        """Wait until the room of a notebook is closed."""

        async def is_closed() -> bool:
            return not (await self.read(path))["live"]

        await wait_until_async(is_closed, f"the end of the room of {path}")

    def list_file_ids(self) -> set[str]:
        """Return the paths of the files that have an id."""
        found: set[str] = set()
        for file in self.folder.rglob("file_id_manager.db"):
            with contextlib.closing(sqlite3.connect(file)) as database:
                found |= {path for (path,) in database.execute("SELECT path FROM Files")}
        return found

    def read_log(self) -> str:
        return (self.folder / "server.log").read_text()


@contextlib.contextmanager
def run_room_server(
    backend: CollaborationBackend | DocumentsBackend,
    folder: Path,
    *options: str,
    pairs: bool = False,
) -> Iterator[RoomServer]:
    """Run a server with rooms while the block does."""
    extensions = (*backend.extensions, *(("jupytext", "jupyterlab_jupytext") if pairs else ()))
    options = (*backend.build_options(folder), *options)
    with run_server(folder, *options, extensions=extensions) as client:
        yield RoomServer(client, backend, folder)


class RoomClient:
    """A client that has a file open, and shares its changes."""

    def __init__(self, document: Any, socket: WebSocketClientConnection) -> None:
        self.document = document
        self._socket = socket
        self._subscription = document.ydoc.observe(self._send_update)
        self._is_receiving = False
        self._task = asyncio.create_task(self._receive())

    @classmethod
    async def enter(cls, rooms: RoomServer, path: str, contents: str) -> RoomClient:
        # Not everywhere there are.
        import jupyter_ydoc  # noqa: PLC0415
        from pycrdt import create_sync_message  # noqa: PLC0415

        client = rooms.client
        room = await asyncio.to_thread(rooms.backend.build_room_address, client, path, contents)
        url = f"ws://127.0.0.1:{client.port}{client.base_url}api/collaboration/room/{room}"
        headers = {"Authorization": f"token {client.token}"}
        socket = await websocket_connect(HTTPRequest(url, headers=headers))
        person = cls(jupyter_ydoc.ydocs[contents.split(":")[1]](), socket)
        await socket.write_message(create_sync_message(person.document.ydoc), binary=True)
        kind = person.document
        await person.wait_until(
            lambda: bool(len(kind.ycells) if hasattr(kind, "ycells") else kind.get())
        )
        return person

    async def __aenter__(self) -> RoomClient:  # noqa: PYI034 -- Python 3.10 has no Self
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        """Close the browser."""
        self.document.ydoc.unobserve(self._subscription)
        self._socket.close()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the document fulfils a condition."""
        await wait_until_async(condition)

    def source(self, index: int) -> str:
        return str(self.document.ycells[index]["source"])

    def sources(self) -> list[str]:
        return [str(cell["source"]) for cell in self.document.ycells]

    async def set_awareness(self, **state: Any) -> None:
        """Send a state to the other clients, as JupyterLab does for autosave."""
        from pycrdt import Awareness, create_awareness_message  # noqa: PLC0415

        awareness = Awareness(self.document.ydoc)
        awareness.set_local_state(state)
        update = awareness.encode_awareness_update([awareness.client_id])
        await self._socket.write_message(create_awareness_message(update), binary=True)

    def _send_update(self, event: Any) -> None:
        from pycrdt import create_update_message  # noqa: PLC0415

        if not self._is_receiving:
            message = create_update_message(event.update)
            _ = self._socket.write_message(message, binary=True)

    async def _receive(self) -> None:
        from pycrdt import handle_sync_message  # noqa: PLC0415

        while (message := await self._socket.read_message()) is not None:
            if not isinstance(message, bytes) or message[0] != _SYNC:
                continue
            self._is_receiving = True
            try:
                reply = handle_sync_message(message[1:], self.document.ydoc)
            finally:
                self._is_receiving = False
            if reply is not None:
                await self._socket.write_message(reply, binary=True)
