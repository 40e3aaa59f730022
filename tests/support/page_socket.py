"""The connection of a page of JupyterLab, on the event loop of a test."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tornado.websocket import WebSocketClientConnection

from tests.support.http import Answer

NAME = "a.ipynb"


class PageSocket:
    """A page of JupyterLab, as far as the server sees it."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket = socket

    async def send(self, **message: Any) -> None:
        await self.socket.write_message(json.dumps(message))

    async def open_notebooks(self, *paths: str) -> None:
        await self.send(tabs=dict.fromkeys(paths, 1))

    async def report(self, edit: Answer, state: str = "shown", **fields: Any) -> None:
        message = {"path": NAME, "state": state, "hash": edit.json["hash"], **fields}
        await self.send(saw={"edit_id": edit.json["edit_id"], **message})

    async def close_code(self) -> tuple[int | None, str | None]:
        """Wait until the server closes."""
        assert await asyncio.wait_for(self.socket.read_message(), 60) is None
        return self.socket.close_code, self.socket.close_reason


@asynccontextmanager
async def open_page_socket(fetch: Any, *paths: str) -> AsyncIterator[PageSocket]:
    found = PageSocket(await fetch("nbedit", "tabs"))
    try:
        # The first message is the id of the page.
        assert "page" in json.loads(await found.socket.read_message() or "")
        await found.open_notebooks(*paths)
        yield found
    finally:
        found.socket.close()
