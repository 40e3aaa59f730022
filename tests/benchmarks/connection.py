"""Edits over HTTP, on one connection that is kept open."""

from __future__ import annotations

import os
import time
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from tests.benchmarks.files import Cell, change

if TYPE_CHECKING:
    from jupyter_nbedit.demo.server import Server

PATCH = "ours, `PATCH`"
CONTENTS = "Contents API `GET` + `PUT`"
TIMEOUT = 120.0  # seconds


class Connection:
    """A client of one server, as fast a one as can be had in Python."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._headers = {
            "Authorization": f"token {server.token}",
            "Content-Type": "application/json",
        }
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT)

    def patch(self, file: Path, cell: Cell, text: str) -> float:
        """Edit the cell by one request to us."""
        operations = [{"op": "replace", "cell": cell, "source": text}]
        began = time.perf_counter()
        self._ok("PATCH", f"/nbedit/notebooks/{quote(file.name)}", {"operations": operations})
        return time.perf_counter() - began

    def contents(self, file: Path, cell: Cell, text: str) -> float:
        """Get the notebook from the Contents API, change the cell, put the notebook back."""
        path = f"/api/contents/{quote(file.name)}"
        began = time.perf_counter()
        model = self._ok("GET", f"{path}?type=notebook&content=1")
        change(model["content"], cell, text)
        self._ok("PUT", path, {key: model[key] for key in ("type", "format", "content")})
        return time.perf_counter() - began

    def request(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send JSON; return the status and the JSON that came back."""
        content = None if body is None else orjson.dumps(body)
        self._connection.request(verb, path, body=content, headers=self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        return response.status, orjson.loads(answer)

    def _ok(self, verb: str, path: str, body: Any = None) -> Any:
        status, answer = self.request(verb, path, body)
        if status != HTTPStatus.OK:
            raise RuntimeError(f"{verb} {path}: {status} {str(answer)[:500]}")
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def pid(server: Server) -> int:
    """Give the number of the server's process, which it has written down itself."""
    runtime = server.root.parent / "runtime"
    (file,) = runtime.glob("jpserver-*.json")
    number = orjson.loads(file.read_bytes())["pid"]
    os.kill(number, 0)
    return int(number)
