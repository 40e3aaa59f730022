"""Load a notebook: read and parse it, and wait for another program that is still writing it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property, wraps
from typing import Any, ParamSpec, TypeVar

from jupyter_nbedit.errors import Busy, ChangedDuringRead, InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.storage.base import Content, Storage
from jupyter_nbedit.system.concurrency import SMALL_BYTES, run_in_thread_if_large
from jupyter_nbedit.system.lru import LRUCache

# A file that cannot be parsed and was modified so recently may be half written.
_RECENT_SECONDS = 2.0
_POLL_SECONDS = 0.05
_TIMEOUT_SECONDS = 6.0
# The size of the cache; a cell takes some hundred bytes.
_MAX_CELLS = 30_000
# How often a notebook is read again because it changed meanwhile.
_ATTEMPTS = 8

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class LoadedNotebook:
    """A notebook at a path: its bytes and its parsed document."""

    path: str
    content: Content
    document: Document

    @cached_property
    def hash(self) -> str:
        """The sha256 of the bytes; takes time at first, unless `compute_hash` was called before."""
        known = self.content.hash
        return compute_sha256(self.content.data) if known is None else known

    async def compute_hash(self) -> str:
        """Return `hash`, computed in a thread if the notebook is large."""
        return await run_in_thread_if_large(len(self.content.data), lambda: self.hash)


class DocumentCache(LRUCache[str, Document]):
    """A cache of parsed documents by the hash of their bytes, which are not kept.

    ``max_cells`` is the largest number of cells of all documents together.
    """

    def __init__(self, max_cells: int = _MAX_CELLS) -> None:
        super().__init__(max_cells, len)

    def put(self, notebook_hash: str, document: Document) -> None:
        """Add the document of a hash; `get` returns it without its bytes."""
        super().put(notebook_hash, document.bind(b""))


def repeat_while_changed(
    read: Callable[_Parameters, Awaitable[_Result]],
) -> Callable[_Parameters, Coroutine[Any, Any, _Result]]:
    """Let an asynchronous function begin again if a notebook changes while it is read."""

    @wraps(read)
    async def repeat(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        for _ in range(_ATTEMPTS - 1):
            with suppress(ChangedDuringRead):
                return await read(*args, **kwargs)
        return await read(*args, **kwargs)

    return repeat


async def load_notebook(
    storage: Storage, path: str, documents: DocumentCache | None = None
) -> LoadedNotebook:
    """Read and parse a notebook; wait if another program is writing it in place.

    Raise `Busy` if the other program does not finish, and the errors of `Storage.read` and
    `Document.parse`.
    """
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        content = await storage.read(path)
        try:
            return await _parse_content(path, content, documents or DocumentCache())
        except ChangedDuringRead:
            pass
        except InvalidNotebook:
            age = datetime.now(tz=timezone.utc) - content.last_modified
            if not 0 <= age.total_seconds() < _RECENT_SECONDS:
                raise
        if time.monotonic() > deadline:
            raise Busy(
                "Another program keeps writing this notebook, and what is there now cannot be "
                "read. Nothing was written; try again."
            )
        await asyncio.sleep(_POLL_SECONDS)


async def _parse_content(path: str, content: Content, documents: DocumentCache) -> LoadedNotebook:
    text, notebook_hash = content.data, content.hash
    size = len(text)
    if notebook_hash is None and size <= SMALL_BYTES:
        notebook_hash = compute_sha256(text)
    document = None if notebook_hash is None else documents.get(notebook_hash)
    if document is None:
        document = await run_in_thread_if_large(size, Document.parse, text)
    else:
        document = document.bind(text)
    if notebook_hash is not None:
        documents.put(notebook_hash, document)
    return LoadedNotebook(path, replace(content, hash=notebook_hash), document)
