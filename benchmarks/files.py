"""Ways to edit one cell of a file: a plain copy, this package, and scripts with nbformat."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import orjson
import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.services.loading import DocumentCache, load_notebook
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.files.read import FileHashCache
from jupyter_nbedit.storage.files.rename_exchange import FileExchange
from jupyter_nbedit.storage.locks import PathLocks

#: A cell by its id, or by its index.
Cell = str | int
#: Edits the cell of a file; returns how many seconds it took.
Edit = Callable[[Path, Cell, str], float]
_Memory = tuple[FileStorage, DocumentCache]

FLOOR = "copy + fsync + rename"
FIRST = "ours, first edit"
NEXT = "ours, next edit"
NBFORMAT = "nbformat"
ORJSON = "orjson"


def source(turn: int) -> str:
    """Return the source of the n-th edit, which is never that of the one before."""
    return f"x = 'edit number {turn}'\nprint(x)"


def copy(file: Path, _cell: Cell, _text: str) -> float:
    """Copy, fsync, rename: the least that writing a file durably costs."""
    temporary = file.with_suffix(".copy")
    began = time.perf_counter()
    shutil.copyfile(file, temporary)
    descriptor = os.open(temporary, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    os.replace(temporary, file)  # noqa: PTH105 - as little as can be
    return time.perf_counter() - began


def edit_with_nbformat(file: Path, cell: Cell, text: str) -> float:
    """Read the notebook with nbformat, change the cell, write the notebook."""
    began = time.perf_counter()
    notebook = nbformat.read(file, as_version=4)
    change_source(notebook, cell, text)
    nbformat.write(notebook, file)
    return time.perf_counter() - began


def edit_with_orjson(file: Path, cell: Cell, text: str) -> float:
    """Parse the whole file as fast as can be, change the cell, write all of it durably."""
    temporary = file.with_suffix(".orjson")
    began = time.perf_counter()
    notebook = orjson.loads(file.read_bytes())
    change_source(notebook, cell, text)
    with temporary.open("wb") as result:
        result.write(orjson.dumps(notebook, option=orjson.OPT_INDENT_2))
        result.flush()
        os.fsync(result.fileno())
    temporary.replace(file)
    return time.perf_counter() - began


def change_source(notebook: Any, cell: Cell, text: str) -> None:
    """Change the cell of a parsed notebook."""
    found = find(notebook["cells"], cell)
    found["source"] = text
    if found["cell_type"] == "code":
        found["outputs"] = []
        found["execution_count"] = None


def find(cells: Any, cell: Cell) -> Any:
    if isinstance(cell, int):
        return cells[cell]
    return next(one for one in cells if one.get("id") == cell)


class Library:
    """Our document and our file storage, without a server.

    An edit counts as the floor does: from the opening of the file to the rename that puts a durable
    one into its place, the sha256 of the result included. What comes before and after does not
    count: the lock, the folder's own flush, and what the next edit can use.
    """

    def __init__(self, root: Path) -> None:
        self._manager = AsyncLargeFileManager(root_dir=str(root))
        self._locks = PathLocks(root / ".locks", self._manager.log)
        self._memory = self._new_memory()
        self._loop = asyncio.new_event_loop()
        self.close = self._loop.close

    def _new_memory(self) -> _Memory:
        return FileStorage(self._manager, self._locks, hashes=FileHashCache()), DocumentCache()

    def edit_first(self, file: Path, cell: Cell, text: str) -> float:
        """Edit with a storage that has never seen the file."""
        return self._loop.run_until_complete(self._edit(self._new_memory(), file, cell, text))

    def edit_next(self, file: Path, cell: Cell, text: str) -> float:
        """Edit with the storage that made the last edit, too."""
        return self._loop.run_until_complete(self._edit(self._memory, file, cell, text))

    async def _edit(self, memory: _Memory, file: Path, cell: Cell, text: str) -> float:
        storage, documents = memory
        body = [{"op": "replace", "cell": cell, "source": text}]
        operations = msgspec.convert(body, list[Operation])
        path = file.relative_to(self._manager.root_dir).as_posix()
        async with storage.lock(path):
            began = time.perf_counter()
            read = await load_notebook(storage, path, documents)
            # A replaced cell keeps its id.
            applied = apply_operations(read.document, operations, fresh_id=str)
            with _record_renames() as renames:
                result = await storage.write(path, read.content, applied.splices)
            documents.put(result.hash, read.document.apply_splices(applied.splices))
        return renames[-1] - began


def list_contenders(library: Library) -> dict[str, Edit]:
    """Return the ways to edit a file in this process, the floor first."""
    return {
        FLOOR: copy,
        FIRST: library.edit_first,
        NEXT: library.edit_next,
        ORJSON: edit_with_orjson,
        NBFORMAT: edit_with_nbformat,
    }


@contextmanager
def _record_renames() -> Iterator[list[float]]:
    """Return the times at which a new file has replaced an old one."""
    times: list[float] = []
    put = FileExchange.commit

    def put_and_note(swap: FileExchange) -> None:
        put(swap)
        times.append(time.perf_counter())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileExchange, "commit", put_and_note)
        yield times


def check_edit(file: Path, cell: Cell, text: str) -> None:
    """Raise RuntimeError if an edit was not made: its time would mean nothing."""
    found = find(orjson.loads(file.read_bytes())["cells"], cell)
    if "".join(found["source"]) != text:
        raise RuntimeError(f"{file.name} was not edited: the figures mean nothing.")
