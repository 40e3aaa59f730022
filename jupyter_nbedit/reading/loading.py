"""A notebook as it is kept now, read and parsed whole, however it is being written."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property

from jupyter_nbedit.concurrency import SMALL_BYTES, run_in_thread_if_large
from jupyter_nbedit.errors import Busy, ChangedDuringRead, InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.storage.base import Content, Storage
from jupyter_nbedit.storage.files.lazy_bytes import LazyFileBytes

# A file that cannot be parsed may be half written, if it was written just now.
_TORN_SECONDS = 2.0
_TORN_POLL_SECONDS = 0.05
_TORN_PATIENCE_SECONDS = 6.0
# Of remembered documents; a cell takes some hundred bytes.
_MOST_CELLS = 30_000


@dataclass(frozen=True)
class LoadedNotebook:
    """A notebook's bytes and where its cells stand in them."""

    content: Content
    document: Document

    @cached_property
    def hash(self) -> str:
        """The sha256 of the bytes; takes time, unless it was asked for or `compute_hash` before."""
        known = self.content.hash
        return compute_sha256(self.content.data) if known is None else known

    async def compute_hash(self) -> str:
        """Return the same, without keeping the loop waiting."""
        return await run_in_thread_if_large(len(self.content.data), lambda: self.hash)


class DocumentCache:
    """The documents that were read or made last, known again by the hash of their bytes.

    Parameters
    ----------
    most_cells
        How many cells they have together.
    """

    def __init__(self, most_cells: int = _MOST_CELLS) -> None:
        self._most_cells = most_cells
        self._kept: OrderedDict[str, Document] = OrderedDict()
        self._cells = 0

    def put(self, digest: str, document: Document) -> None:
        """Remember what a notebook with a hash looks like; its bytes are not kept."""
        self._forget(digest)
        self._kept[digest] = document.bind(b"")
        self._cells += len(document)
        while self._cells > self._most_cells and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))

    def get(self, digest: str, text: Buffer) -> Document | None:
        """Return the document of a text that has a hash; None if it is not remembered."""
        known = self._kept.get(digest)
        if known is None:
            return None
        self._kept.move_to_end(digest)
        return known.bind(text)

    def _forget(self, digest: str) -> None:
        forgotten = self._kept.pop(digest, ())
        self._cells -= len(forgotten)


async def load_notebook(
    storage: Storage, path: str, documents: DocumentCache | None = None
) -> LoadedNotebook:
    """Read and parse a notebook; one that is being written in place is waited for.

    Parameters
    ----------
    storage
        How it is kept.
    path
        Its API path.
    documents
        Those that need not be parsed again.
    """
    deadline = time.monotonic() + _TORN_PATIENCE_SECONDS
    while True:
        content = await storage.read(path)
        try:
            read = await _parse_content(content, documents or DocumentCache())
        except ChangedDuringRead:
            pass
        except InvalidNotebook:
            age = datetime.now(tz=timezone.utc) - content.last_modified
            if not 0 <= age.total_seconds() < _TORN_SECONDS:
                raise
        else:
            return read
        if time.monotonic() > deadline:
            message = (
                "Another program keeps writing this notebook, and what is there now cannot be "
                "read. Nothing was written; try again."
            )
            raise Busy(message)
        await asyncio.sleep(_TORN_POLL_SECONDS)


async def _parse_content(content: Content, documents: DocumentCache) -> LoadedNotebook:
    text, digest = content.data, content.hash
    size = len(text)
    if digest is None and size <= SMALL_BYTES:
        digest = compute_sha256(text)
    known = None if digest is None else documents.get(digest, text)
    document = await run_in_thread_if_large(size, Document.parse, text) if known is None else known
    if digest is not None:
        documents.put(digest, document)
    return LoadedNotebook(replace(content, hash=digest), document)


def compute_sha256(text: Buffer) -> str:
    """Return the hash of a notebook's bytes, the Contents API's ``hash``."""
    if isinstance(text, LazyFileBytes):
        return text.full_hash.hexdigest
    return hashlib.sha256(text[:]).hexdigest()
