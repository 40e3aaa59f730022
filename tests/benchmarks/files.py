"""The ways to edit one cell of a file: the floor, ours, and what scripts do without us."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import orjson
import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.loading import Documents, settled
from jupyter_nbedit.notebook.batch import apply
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.known import Known
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.swapping import Swap

#: A cell by its id, or by its index.
Cell = str | int
_Remembering = tuple[FileStorage, Documents]

FLOOR = "copy + fsync + rename"
COLD = "ours, first edit"
WARM = "ours, next edit"
NBFORMAT = "nbformat"
ORJSON = "orjson"


def source(turn: int) -> str:
    """Give the source of the n-th edit: never that of the one before."""
    return f"x = 'edit number {turn}'\nprint(x)"


def copy(file: Path) -> float:
    """Copy, fsync, rename: what writing a file durably costs at the least."""
    temporary = file.with_suffix(".copy")
    began = time.perf_counter()
    shutil.copyfile(file, temporary)
    descriptor = os.open(temporary, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    os.replace(temporary, file)  # noqa: PTH105 - as little as can be
    return time.perf_counter() - began


def with_nbformat(file: Path, cell: Cell, text: str) -> float:
    """Read the notebook with nbformat, change the cell, write the notebook."""
    began = time.perf_counter()
    notebook = nbformat.read(file, as_version=4)
    change(notebook, cell, text)
    nbformat.write(notebook, file)
    return time.perf_counter() - began


def with_orjson(file: Path, cell: Cell, text: str) -> float:
    """Parse the whole file as fast as can be, change the cell, write all of it durably."""
    temporary = file.with_suffix(".orjson")
    began = time.perf_counter()
    notebook = orjson.loads(file.read_bytes())
    change(notebook, cell, text)
    with temporary.open("wb") as written:
        written.write(orjson.dumps(notebook, option=orjson.OPT_INDENT_2))
        written.flush()
        os.fsync(written.fileno())
    temporary.replace(file)
    return time.perf_counter() - began


def change(notebook: Any, cell: Cell, text: str) -> None:
    """Change the cell of a notebook that was parsed."""
    found = find(notebook["cells"], cell)
    found["source"] = text
    if found["cell_type"] == "code":
        found["outputs"] = []
        found["execution_count"] = None


def find(cells: Any, cell: Cell) -> Any:
    """Give a cell among others."""
    if isinstance(cell, int):
        return cells[cell]
    return next(one for one in cells if one.get("id") == cell)


class Library:
    """Our document and our file storage, without a server.

    An edit counts as the floor does: from the opening of the file to the rename that puts a durable
    one into its place, the sha256 of the result included. ``whole`` has how long all of it took:
    the lock before, and after the rename the folder's own flush and what the next edit can use.
    """

    def __init__(self, root: Path) -> None:
        self._manager = AsyncLargeFileManager(root_dir=str(root))
        self._locks = PathLocks(root / ".locks", self._manager.log)
        self._kept = self._remembering()
        self._runner = asyncio.new_event_loop()
        self.whole: list[float] = []

    def _remembering(self) -> _Remembering:
        return FileStorage(self._manager, self._locks, known=Known()), Documents()

    def cold(self, file: Path, cell: Cell, text: str) -> float:
        """Edit with a storage that has never seen the file."""
        return self._runner.run_until_complete(self._edit(self._remembering(), file, cell, text))

    def warm(self, file: Path, cell: Cell, text: str) -> float:
        """Edit with the storage that made the last edit, too."""
        return self._runner.run_until_complete(self._edit(self._kept, file, cell, text))

    async def _edit(self, kept: _Remembering, file: Path, cell: Cell, text: str) -> float:
        storage, documents = kept
        asked = [{"op": "replace", "cell": cell, "source": text}]
        operations = msgspec.convert(asked, list[Operation])
        path = file.relative_to(self._manager.root_dir).as_posix()
        asked_for = time.perf_counter()
        async with storage.hold(path):
            opening = time.perf_counter()
            read = await settled(storage, path, documents)
            applied = apply(read.document, operations, fresh_id=_no_id_is_needed)
            with _renames() as renamed:
                written = await storage.write(path, read.content, applied.splices)
            documents.note(written.hash, read.document.after(applied.splices))
        self.whole.append(time.perf_counter() - asked_for)
        return renamed[-1] - opening

    def close(self) -> None:
        """Close the event loop."""
        self._runner.close()


@contextmanager
def _renames() -> Iterator[list[float]]:
    """Take the times at which a new file has come into the place of an old one."""
    times: list[float] = []
    put = Swap.put

    def timed(swap: Swap) -> None:
        put(swap)
        times.append(time.perf_counter())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Swap, "put", timed)
        yield times


def _no_id_is_needed() -> str:
    raise AssertionError("A replaced cell keeps its id.")


def check_edited(file: Path, cell: Cell, text: str) -> None:
    """See that an edit was made; what made none was not measured."""
    found = find(orjson.loads(file.read_bytes())["cells"], cell)
    if "".join(found["source"]) != text:
        raise RuntimeError(f"{file.name} was not edited: the figures mean nothing.")
