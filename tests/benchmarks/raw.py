"""The leanest client there can be in Python: bytes on one connection, to measure the server."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

from tests.benchmarks.files import Cell

if TYPE_CHECKING:
    from jupyter_nbedit.demo.server import Server

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class Raw:
    """One connection to a server."""

    def __init__(self, server: Server) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = (
            f" HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: token {server.token}\r\nContent-Type: application/json\r\n"
        )

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def patch(self, file: Path, cell: Cell, text: str) -> bytes:
        """Give the request that edits a cell."""
        operations = [{"op": "replace", "cell": cell, "source": text}]
        body = orjson.dumps({"operations": operations})
        head = f"PATCH /nbedit/notebooks/{quote(file.name)}{self._headers}"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def get(self, path: str) -> bytes:
        """Give the request for what is at a path."""
        return f"GET {path}{self._headers}\r\n".encode()

    def send(self, request: bytes) -> bytes:
        """Send a request and give the body of the answer, which is 200."""
        self._socket.sendall(request)
        received = b""
        while _END not in received:
            received += self._received()
        head, _, body = received.partition(_END)
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(f"{request[:80]!r}: {received[:500]!r}")
        length = int(head.lower().partition(_LENGTH)[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += self._received()
        return body

    def _received(self) -> bytes:
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("The server closed the connection.")
        return received
