"""The protocol of all storages: read a notebook, and write splices of what was read."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ClassVar, Literal, Protocol

import msgspec
from msgspec import Meta

from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.files.lazy_bytes import ResumableSha256


@dataclass(frozen=True)
class Content:
    """A notebook's bytes as they were read.

    `data` is read when needed if the file is large. The storage checks by `version` whether the
    bytes are current; only the storage knows its form. `is_trusted` is None if the notary decides.
    `hash` is a sha256 in hex, or None if it is not computed yet.
    """

    data: Buffer
    last_modified: datetime
    version: object = None
    is_trusted: bool | None = None
    hash: str | None = None

    @property
    def text(self) -> bytes:
        """All the bytes, in memory."""
        return self.data[:]


#: How a write protects data that another program writes to the file at the same moment: by an
#: exchange of names under a lease, by an exchange alone, or only by a comparison before.
Guard = Literal["lease", "exchange", "compare"]


@dataclass(frozen=True)
class WriteResult:
    """The result of a write: the sha256 of the stored bytes in hex, and when they were written.

    `text` are the stored bytes if they differ from the result of the splices. `is_persisted` says
    whether the contents manager has stored them, and `is_signed` whether the storage itself has
    kept the notebook trusted. `status` is the ``stat`` of the new file, `resumable_hash` the hash
    for its next edit. `guard` is None if the contents manager protects the file from other writers.
    """

    hash: str
    last_modified: datetime
    warnings: list[str] = field(default_factory=list)
    text: bytes | None = None
    is_persisted: bool = True
    is_signed: bool = False
    status: os.stat_result | None = None
    resumable_hash: ResumableSha256 | None = None
    guard: Guard | None = None


@dataclass(frozen=True)
class NotebookFile:
    """A notebook in a directory; `read` may take time, and raises what `Storage.read` raises."""

    path: str
    read: Callable[[], bytes]


class SkippedNotebook(msgspec.Struct, frozen=True):
    """A notebook or a folder that was not searched, or not to its end, with the reason."""

    path: str
    # "hidden" is not sent.
    reason: Annotated[
        str, Meta(description="`link`, or the `reason` of the error that reading it would give.")
    ]
    message: str


@dataclass(frozen=True)
class Directory:
    """A directory whose items follow."""

    path: str


#: An item of a walk through a directory.
WalkItem = NotebookFile | SkippedNotebook | Directory
#: Walks through a directory, which may take time. It begins at a path and continues in the order of
#: path components; directories on the way to that path are not yielded.
Walker = Callable[[str], Iterator[WalkItem]]


class StaleContent(Exception):
    """The stored bytes have changed since they were read; nothing was written."""


class Storage(Protocol):
    """One way of storing notebooks. ``path`` is an API path throughout."""

    #: The name of the storage, reported to clients as ``applied_via``.
    kind: ClassVar[str]
    #: Whether the stored bytes after a write are exactly the spliced bytes that were read.
    preserves_bytes: ClassVar[bool]
    #: Whether notebooks are exactly the files that the Contents API shows.
    is_plain_file: ClassVar[bool] = False
    #: Whether people edit the notebook together, in a room that owns the file.
    is_shared: ClassVar[bool] = False

    def lock(self, path: str) -> AbstractAsyncContextManager[object]:
        """Lock a notebook against all other writers; raise `NotebookNotFound` or `Busy`."""

    async def read(self, path: str) -> Content:
        """Read a notebook; raise the error if it is missing, not a plain file, or unreadable."""

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Write spliced content; raise `StaleContent` if the stored bytes are not the base's."""

    async def ensure_absent(self, path: str) -> None:
        """Raise what `create` would raise, as far as that is known in advance."""

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Store a new notebook; raise `NotebookExists` if the path exists.

        Raise `NotebookNotFound` if the directory does not exist or may not be seen.
        """

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:  # noqa: ARG002 -- of others
        """Notify the manager, its hooks and listeners of a write; return problems as warnings.

        A storage that saves with the contents manager does nothing, because the manager has.
        """
        return []
