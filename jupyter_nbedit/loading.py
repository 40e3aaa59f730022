"""A notebook as it is kept now, read and parsed whole, however it is being written."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property

from jupyter_nbedit.beside import SMALL_BYTES, away
from jupyter_nbedit.errors import Busy, InvalidNotebook, Overtaken
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.text import Text
from jupyter_nbedit.storage import Content, Storage
from jupyter_nbedit.storage.filetext import FileText

# A file that cannot be parsed may be half written, if it was written just now.
_TORN_SECONDS = 2.0
_TORN_POLL_SECONDS = 0.05
_TORN_PATIENCE_SECONDS = 6.0
# Of remembered documents; a cell takes some hundred bytes.
_MOST_CELLS = 30_000


@dataclass(frozen=True)
class Loaded:
    """A notebook's bytes and where its cells stand in them."""

    content: Content
    document: Document

    @cached_property
    def hash(self) -> str:
        """The sha256 of the bytes; takes time, unless it was asked for or `hashed` before."""
        known = self.content.hash
        return sha256(self.content.raw) if known is None else known

    async def hashed(self) -> str:
        """Give the same, without keeping the loop waiting."""
        return await away(len(self.content.raw), lambda: self.hash)


class Documents:
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

    def note(self, digest: str, document: Document) -> None:
        """Remember what a notebook with a hash looks like; its bytes are not kept."""
        self._forget(digest)
        self._kept[digest] = document.on(b"")
        self._cells += len(document)
        while self._cells > self._most_cells and len(self._kept) > 1:
            self._forget(next(iter(self._kept)))

    def of(self, digest: str, text: Text) -> Document | None:
        """Give the document of a text that has a hash; None if it is not remembered."""
        known = self._kept.get(digest)
        if known is None:
            return None
        self._kept.move_to_end(digest)
        return known.on(text)

    def _forget(self, digest: str) -> None:
        forgotten = self._kept.pop(digest, ())
        self._cells -= len(forgotten)


async def settled(storage: Storage, path: str, documents: Documents | None = None) -> Loaded:
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
            read = await _parsed(content, documents or Documents())
        except Overtaken:
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


async def _parsed(content: Content, documents: Documents) -> Loaded:
    text, digest = content.raw, content.hash
    size = len(text)
    if digest is None and size <= SMALL_BYTES:
        digest = sha256(text)
    known = None if digest is None else documents.of(digest, text)
    document = await away(size, Document.parse, text) if known is None else known
    if digest is not None:
        documents.note(digest, document)
    return Loaded(replace(content, hash=digest), document)


def sha256(text: Text) -> str:
    """Give the hash of a notebook's bytes, the Contents API's ``hash``."""
    if isinstance(text, FileText):
        return text.marks.sha256
    return hashlib.sha256(text[:]).hexdigest()
