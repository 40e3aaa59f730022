"""Edits over HTTP on one connection that stays open."""

import socket
import time
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from benchmarks.files import Cell, change_source
from tests.support.http import Client

CONTENTS = "Contents API `GET` + `PUT`"
TIMEOUT = 120.0  # seconds


class Connection:
    """A client of one server, and the id of the server's process."""

    def __init__(self, server: Client, process_id: int) -> None:
        self.server = server
        self.process_id = process_id
        self._headers = {
            "Authorization": f"token {server.token}",
            "Content-Type": "application/json",
        }
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)
        self.close = self._connection.close

    def patch(self, file: Path, cell: Cell, text: str) -> float:
        """Edit the cell by one request to the extension."""
        began = time.perf_counter()
        self.request_ok("PATCH", f"/nbedit/notebooks/{quote(file.name)}", build_replace(cell, text))
        return time.perf_counter() - began

    def edit_by_contents_api(self, file: Path, cell: Cell, text: str) -> float:
        """Get the notebook from the Contents API, change the cell, put the notebook back."""
        path = f"/api/contents/{quote(file.name)}"
        began = time.perf_counter()
        model = self.request_ok("GET", f"{path}?type=notebook&content=1")
        change_source(model["content"], cell, text)
        self.request_ok("PUT", path, {key: model[key] for key in ("type", "format", "content")})
        return time.perf_counter() - began

    def request(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send JSON; return the status and the JSON that came back."""
        content = None if body is None else orjson.dumps(body)
        self._connection.request(verb, path, body=content, headers=self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        return response.status, orjson.loads(answer)

    def request_ok(
        self, verb: str, path: str, body: Any = None, expected: HTTPStatus = HTTPStatus.OK
    ) -> Any:
        """Send JSON; return the JSON that came back, or raise RuntimeError for another status."""
        status, answer = self.request(verb, path, body)
        if status != expected:
            raise RuntimeError(f"{verb} {path}: {status} {str(answer)[:500]}")
        return answer


class RawConnection:
    """As little as a client in Python can do, to measure the server alone."""

    def __init__(self, server: Client) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = (
            f"Host: 127.0.0.1:{server.port}\r\nAuthorization: token {server.token}\r\n"
            "Content-Type: application/json\r\n"
        )
        self.close = self._socket.close

    def build(self, verb: str, path: str, body: bytes = b"") -> bytes:
        """Return the bytes of a request."""
        head = f"{verb} {path} HTTP/1.1\r\n{self._headers}Content-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def build_patch(self, file: Path, cell: Cell, text: str) -> bytes:
        body = orjson.dumps(build_replace(cell, text))
        return self.build("PATCH", f"/nbedit/notebooks/{quote(file.name)}", body)

    def send(self, request: bytes) -> None:
        """Send a request and read the reply; raise RuntimeError if its status is not 200."""
        self._socket.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._receive()
        head, _, body = answer.partition(b"\r\n\r\n")
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(f"{request[:80]!r}: {answer[:500]!r}")
        missing = int(head.lower().partition(b"content-length:")[2].split()[0]) - len(body)
        while missing > 0:
            missing -= len(self._receive())

    def _receive(self) -> bytes:
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("The server closed the connection.")
        return received


def build_replace(cell: Cell, text: str) -> dict[str, Any]:
    """Return the body of a request that replaces the source of a cell."""
    return {"operations": [{"op": "replace", "cell": cell, "source": text}]}
