"""The ways to edit one cell that are compared: ours, and what agents do without us."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from http import HTTPStatus
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import msgspec
import nbformat
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.batch import apply
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.locks import PathLocks
from tests.benchmarks.notebooks import EDITED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_nbedit.demo.server import Server

SOURCE = "x = 'this cell was edited'\nprint(x)"
OPERATIONS = [{"op": "replace", "cell": EDITED, "source": SOURCE}]


def copy(file: Path) -> None:
    """Copy, fsync, rename: what writing a file durably costs at the least."""
    temporary = file.with_suffix(".copy")
    shutil.copyfile(file, temporary)
    with temporary.open("rb+") as copied:
        os.fsync(copied.fileno())
    temporary.replace(file)


class Library:
    """Our document and file storage, without a server."""

    def __init__(self, root: Path) -> None:
        manager = AsyncLargeFileManager(root_dir=str(root))
        self._storage = FileStorage(manager, PathLocks(root / ".locks", manager.log))
        self._runner = asyncio.new_event_loop()

    def __call__(self, file: Path) -> None:
        """Edit the cell."""
        self._runner.run_until_complete(self._edit(file.name))

    async def _edit(self, path: str) -> None:
        operations = msgspec.convert(OPERATIONS, list[Operation])
        async with self._storage.hold(path):
            content = await self._storage.read(path)
            document = Document.parse(content.text)
            applied = apply(document, operations, fresh_id=_no_id_is_needed)
            await self._storage.write(path, content, applied.splices)

    def close(self) -> None:
        """Close the event loop."""
        self._runner.close()


def _no_id_is_needed() -> str:
    raise AssertionError("A replaced cell keeps its id.")


def with_nbformat(file: Path) -> None:
    """Read the notebook with nbformat, change the cell, write the notebook."""
    notebook = nbformat.read(file, as_version=4)
    _edit_parsed(notebook)
    nbformat.write(notebook, file)


class Over:
    """Requests to a server on one connection that is kept open."""

    def __init__(self, server: Server) -> None:
        self._headers = {
            "Authorization": f"token {server.token}",
            "Content-Type": "application/json",
        }
        self._connection = HTTPConnection("127.0.0.1", server.port, timeout=60)

    def patch(self, file: Path) -> None:
        """Edit the cell by one request to us."""
        self._request("PATCH", f"/nbedit/notebooks/{file.name}", {"operations": OPERATIONS})

    def contents(self, file: Path) -> None:
        """Get the notebook from the Contents API, change the cell, put the notebook back."""
        path = f"/api/contents/{file.name}"
        model = self._request("GET", f"{path}?type=notebook&content=1")
        _edit_parsed(model["content"])
        kept = {key: model[key] for key in ("type", "format", "content")}
        self._request("PUT", path, kept)

    def _request(self, verb: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body)
        self._connection.request(verb, path, body=content, headers=self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != HTTPStatus.OK:
            raise RuntimeError(f"{verb} {path}: {response.status} {answer[:500]!r}")
        return json.loads(answer)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextlib.contextmanager
def closing_all(*closable: Library | Over) -> Iterator[None]:
    """Close what was opened, in the end."""
    try:
        yield
    finally:
        for one in closable:
            one.close()


def _edit_parsed(notebook: Any) -> None:
    (cell,) = (cell for cell in notebook["cells"] if cell["id"] == EDITED)
    cell["source"] = SOURCE
    cell["outputs"] = []
    cell["execution_count"] = None


def is_edited(file: Path) -> bool:
    """Tell whether the cell says what it should."""
    cells = json.loads(file.read_bytes())["cells"]
    (cell,) = (cell for cell in cells if cell["id"] == EDITED)
    return "".join(cell["source"]) == SOURCE and cell["outputs"] == []
