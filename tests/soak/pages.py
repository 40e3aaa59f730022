"""Pages of JupyterLab that open and close: each with a socket for events and one for tabs."""

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.support.http import Client

PAGES = 20
MIN_STAY = 0.1  # seconds


@dataclass
class Pages:
    """Pages that open a notebook, receive events for a while, and leave.

    The seed decides how many seconds each stays, up to `longest_stay`, and how it leaves.
    """

    client: Client
    seed: int
    longest_stay: float
    visits: int = 0
    received: int = 0
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Come and go while the block runs; in the end all are gone."""
        ended = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._run_pages(ended)))
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    async def _run_pages(self, ended: threading.Event) -> None:
        chances = (random.Random(self.seed + number) for number in range(PAGES))  # noqa: S311 - not secret
        await asyncio.gather(*(self._run_page(chance, ended) for chance in chances))

    async def _run_page(self, chance: random.Random, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                await self._visit(chance)
            except (OSError, asyncio.TimeoutError) as error:
                self.failures.append(repr(error))
            self.visits += 1

    async def _visit(self, chance: random.Random) -> None:
        events = await self._connect("/api/events/subscribe")
        tabs = await self._connect("/nbedit/tabs")
        name = f"small-{chance.randrange(10)}.ipynb"
        await tabs.write_message(json.dumps({"tabs": {name: 1}}))
        loop = asyncio.get_running_loop()
        until = loop.time() + chance.uniform(MIN_STAY, self.longest_stay)
        while (left := until - loop.time()) > 0:
            try:
                message = await asyncio.wait_for(events.read_message(), left)
            except asyncio.TimeoutError:
                break
            if message is None:
                self.failures.append("The server closed the socket for events.")
                break
            self.received += 1
        for socket in (events, tabs):
            stream = socket.protocol.stream if socket.protocol is not None else None
            if chance.random() < 0.5 and stream is not None:
                # As a program does that crashes.
                stream.close()
            socket.close()
            while await socket.read_message() is not None:
                self.received += 1

    async def _connect(self, path: str) -> WebSocketClientConnection:
        address = f"ws://127.0.0.1:{self.client.port}{path}"
        headers = {"Authorization": f"token {self.client.token}"}
        return await websocket_connect(HTTPRequest(address, headers=headers, request_timeout=30))
