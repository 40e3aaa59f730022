"""A cheap connection to a server, so that a machine of two cores can have many.

It speaks what the servers of these tests do of HTTP/1.1, keeps the connection open, and says when
it broke.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

SECONDS = 60.0


@dataclass(frozen=True)
class AsyncAnswer:
    """A reply of a server."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class AsyncConnection:
    """One connection, for one request at a time."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, token: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._token = token

    @classmethod
    async def open(cls, port: int, token: str) -> AsyncConnection:
        """Open a connection to a server of this machine."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        return cls(reader, writer, token)

    async def request(
        self, verb: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> AsyncAnswer:
        """Send a request and wait for its answer; without one, an `OSError` is raised."""
        await self.send(verb, target, body, headers)
        try:
            return await asyncio.wait_for(self._read_answer(), SECONDS)
        except (asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            message = "The connection broke before the answer came."
            raise ConnectionError(message) from error

    async def send(
        self, verb: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a request and do not wait."""
        lines = [
            f"{verb} {target} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: token {self._token}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in (headers or {}).items()),
        ]
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await self._writer.drain()

    async def _read_answer(self) -> AsyncAnswer:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status, *lines = head.splitlines()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        return AsyncAnswer(int(status.split(" ", 2)[1]), body)

    def close(self) -> None:
        """Leave, whatever is under way."""
        self._writer.close()
