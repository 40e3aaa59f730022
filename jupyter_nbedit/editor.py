"""The whole service: lock, read, check, apply, write, sign, tell."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from logging import Logger
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from jupyter_nbedit import trust
from jupyter_nbedit.errors import Busy, HashMismatch, InvalidNotebook, PlanMode
from jupyter_nbedit.messages import EditReply, EditRequest, Kernelspec, ReadReply, Selection
from jupyter_nbedit.notebook.batch import Applied, apply
from jupyter_nbedit.notebook.diff import unified
from jupyter_nbedit.notebook.document import CellAddress, Document, plain_index
from jupyter_nbedit.notebook.splices import Splice, join, pieces
from jupyter_nbedit.notebook.view import cell_views
from jupyter_nbedit.storage import Changed, Content, Storage, Written

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary

    from jupyter_nbedit.events import EditEvents

_Answer = TypeVar("_Answer")

# How often a batch is applied anew because somebody else wrote meanwhile.
_ATTEMPTS = 8
# A file that cannot be parsed may be half written, if it was written just now.
_TORN_SECONDS = 2.0
_TORN_POLL_SECONDS = 0.05
_TORN_PATIENCE_SECONDS = 6.0
# Up to here, handing work to another thread costs more than the work.
_SMALL_BYTES = 100_000
_OPERATION_WEIGHT = 2_000


@dataclass(frozen=True)
class _Read:
    content: Content
    document: Document
    hash: str


@dataclass
class NotebookEditor:
    """Reads and edits notebooks.

    Parameters
    ----------
    storage
        Gives the storage for a request; looked up each time, because servers swap their managers.
    notary
        Gives the notary that knows which notebooks are trusted.
    events
        Tells of edits.
    log
        The server's; each edit leaves a line there.
    mode
        ``edit``, or ``plan`` to refuse every change that is not a dry run.
    """

    storage: Callable[[], Storage]
    notary: Callable[[], NotebookNotary]
    events: EditEvents
    log: Logger
    mode: str = "edit"
    _edit_ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def read(
        self, path: str, selection: Selection, *, known: Callable[[str], bool]
    ) -> ReadReply | str:
        """Read a notebook.

        Parameters
        ----------
        path
            Its API path.
        selection
            Which cells, and how much of them.
        known
            Tells whether the reader has the version with a hash already; then only the hash is
            returned.

        Raises
        ------
        NbEditError
            Of the storage or the notebook, or `CellNotFound` and `AmbiguousCell` of the selection.
        """
        storage = self.storage()
        read = await _settled(storage, path)
        if known(read.hash):
            return read.hash
        document = read.document
        if selection.cells:
            chosen = sorted({document.locate(_address(cell, document)) for cell in selection.cells})
        else:
            chosen = list(range(len(document)))
        page = [index for index in chosen if index >= selection.start][: selection.limit]
        rest = [index for index in chosen if page and index > page[-1]]
        views = await _away(
            len(document.text), cell_views, [document.cell(i) for i in page], selection.view
        )
        return ReadReply(
            path=path,
            hash=read.hash,
            last_modified=read.content.last_modified,
            nbformat=4,
            nbformat_minor=document.nbformat_minor,
            language=document.language,
            kernelspec=_kernelspec(document.metadata.get("kernelspec")),
            trusted=await trust.is_trusted(self.notary(), document.text),
            live=False,
            total_cells=len(document),
            cells=views,
            next=rest[0] if rest else None,
        )

    async def edit(self, request: EditRequest) -> EditReply:
        """Apply a batch of operations, all of them or none.

        Raises
        ------
        NbEditError
            Nothing was written.
        """
        if self.mode == "plan" and not request.dry_run:
            message = (
                "This server is in plan mode: notebooks are not changed. Send `dry_run: true` "
                "to see what the edit would do."
            )
            raise PlanMode(message)
        storage = self.storage()
        async with storage.hold(request.path):
            for _ in range(_ATTEMPTS):
                reply = await self._attempt(storage, request)
                if reply is not None:
                    return reply
        message = (
            f"Others changed the notebook {_ATTEMPTS} times while the edit was being made. "
            "Nothing was written; try again."
        )
        raise Busy(message)

    async def _attempt(self, storage: Storage, request: EditRequest) -> EditReply | None:
        """Edit what is there now; None if somebody else wrote meanwhile."""
        read = await _settled(storage, request.path)
        if request.hash not in {None, read.hash}:
            message = (
                "The notebook is not the version the request was made for. Read it again, and "
                "send the edit anew with the hash you then get."
            )
            raise HashMismatch(message, expected=request.hash, hash=read.hash)
        done = await _away(_weight(read, request), _Done.of, storage, request, read)
        splices = done.applied.splices
        if not splices:
            return done.reply(Written(read.hash, read.content.last_modified), None)
        if request.dry_run:
            digest = await _away(len(read.content.text), _hash_of, read.content.text, splices)
            return done.reply(Written(digest, read.content.last_modified), None)
        trusted = await trust.is_trusted(self.notary(), read.content.text)
        try:
            written = await storage.write(request.path, read.content, splices)
        except Changed:
            return None
        reply = done.reply(written, next(self._edit_ids))
        if trusted:
            with self._after_the_fact(reply, "its trust could not be kept"):
                await trust.sign(self.notary(), join(read.content.text, splices))
        with self._after_the_fact(reply, "the contents manager could not be told"):
            reply.warnings.extend(await storage.announce(request.path, written))
        with self._after_the_fact(reply, "open tabs could not be told"):
            self._tell(request, reply)
        self.log.info(
            "Edit %s of %r by %r, client %r: %r",
            reply.edit_id,
            request.path,
            request.user,
            request.client,
            request.message,
        )
        return reply

    @contextmanager
    def _after_the_fact(self, reply: EditReply, what: str) -> Iterator[None]:
        """Turn any failure into a warning: the edit is in, and an error would say it is not."""
        try:
            yield
        except Exception:
            self.log.exception("After edit %s of %r, %s", reply.edit_id, reply.path, what)
            reply.warnings.append(
                f"The edit is in the file, but {what}; the server's log says why."
            )

    def _tell(self, request: EditRequest, reply: EditReply) -> None:
        self.events.emit(
            [
                {"op": done.op, "cell_id": done.cell_id, "index": done.index}
                for done in reply.operations
            ],
            edit_id=reply.edit_id,
            path=reply.path,
            hash_before=reply.hash_before,
            hash=reply.hash,
            last_modified=msgspec.to_builtins(reply.last_modified),
            user=request.user,
            client=request.client,
            total_cells=reply.total_cells,
        )


async def _away(size: int, function: Callable[..., _Answer], *arguments: Any) -> _Answer:
    """Work on a notebook of so many bytes, off the loop's thread if that may take long."""
    if size <= _SMALL_BYTES:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


async def _settled(storage: Storage, path: str) -> _Read:
    """Read and parse a notebook; one that is being written in place is waited for."""
    deadline = time.monotonic() + _TORN_PATIENCE_SECONDS
    while True:
        content = await storage.read(path)
        try:
            document, digest = await _parsed(content.text)
        except InvalidNotebook:
            age = datetime.now(tz=timezone.utc) - content.last_modified
            if not 0 <= age.total_seconds() < _TORN_SECONDS:
                raise
        else:
            return _Read(content, document, digest)
        if time.monotonic() > deadline:
            message = (
                "Another program keeps writing this notebook, and what is there now cannot be "
                "read. Nothing was written; try again."
            )
            raise Busy(message)
        await asyncio.sleep(_TORN_POLL_SECONDS)


async def _parsed(text: bytes) -> tuple[Document, str]:
    size = len(text)
    # Hashing leaves the interpreter to others, so the two run side by side.
    return await asyncio.gather(_away(size, Document.parse, text), _away(size, _sha256, text))


def _sha256(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _weight(read: _Read, request: EditRequest) -> int:
    """Guess how much work a batch is, in bytes of a notebook that are as much."""
    sources = sum(len(getattr(operation, "source", None) or "") for operation in request.operations)
    return len(read.content.text) + sources + len(request.operations) * _OPERATION_WEIGHT


def _hash_of(text: bytes, splices: Sequence[Splice]) -> str:
    digest = hashlib.sha256()
    for piece in pieces(text, splices):
        digest.update(piece)
    return digest.hexdigest()


@dataclass(frozen=True)
class _Done:
    """A batch worked out, and all that is said of it whether it is written or not."""

    storage: Storage
    request: EditRequest
    read: _Read
    applied: Applied
    diff: str

    @classmethod
    def of(cls, storage: Storage, request: EditRequest, read: _Read) -> _Done:
        applied = apply(read.document, request.operations, fresh_id=lambda: uuid.uuid4().hex[:8])
        return cls(storage, request, read, applied, unified(request.path, applied.changes))

    def reply(self, written: Written, edit_id: int | None) -> EditReply:
        total = self.applied.total_cells
        return EditReply(
            path=self.request.path,
            edit_id=edit_id,
            hash_before=self.read.hash,
            hash=written.hash,
            last_modified=written.last_modified,
            applied_via=self.storage.kind,
            bytes_preserved=True,
            persisted=not self.request.dry_run,
            dry_run=self.request.dry_run,
            total_cells=total,
            cells_delta=total - len(self.read.document),
            language=self.read.document.language,
            operations=self.applied.results,
            diff=self.diff,
            warnings=written.warnings,
        )


def _address(text: str, document: Document) -> CellAddress:
    """Read an address from a text, where only an index can be all digits, unless it is an id."""
    index = None if text in document.ids else plain_index(text)
    return text if index is None else index


def _kernelspec(value: Any) -> Kernelspec | None:
    if not isinstance(value, dict):
        return None
    name, display_name = value.get("name"), value.get("display_name")
    return Kernelspec(
        name if isinstance(name, str) else None,
        display_name if isinstance(display_name, str) else None,
    )
