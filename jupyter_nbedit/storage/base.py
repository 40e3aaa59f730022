"""The protocol of all storages: read a notebook, and write splices of what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol

from jupyter_nbedit.notebook.lazy.buffer import Buffer
from jupyter_nbedit.notebook.splices import Splice

if TYPE_CHECKING:
    import os

    from jupyter_nbedit.storage.files.lazy_bytes import ResumableSha256


@dataclass(frozen=True)
class Content:
    """A notebook's bytes as they were read.

    Parameters
    ----------
    data
        The bytes; of a large file, read when needed.
    last_modified
        When they were written, as in the Contents API.
    version
        What the storage needs to check whether they are current; opaque to all others.
    is_trusted
        Whether the notebook is trusted, if the storage knows; None if the notary decides.
    hash
        The sha256 of the bytes in hex, if the storage knows it without computing it.
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
    """The result of a write.

    Parameters
    ----------
    hash
        The sha256 of the stored bytes in hex.
    last_modified
        When they were written, as in the Contents API.
    warnings
        Problems after the bytes were written.
    text
        The stored bytes, if they differ from what the splices make.
    is_persisted
        Whether the contents manager has stored them on disk or elsewhere.
    is_signed
        Whether the storage has preserved the notebook's trust itself.
    status
        The ``stat`` of the new file, if there is one.
    resumable_hash
        The state of the hash of its bytes, for the next edit.
    guard
        How other writers were protected; None if that is up to the contents manager.
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
    """A notebook in a directory.

    Parameters
    ----------
    path
        Its API path.
    read
        Reads its bytes, which may take time; raises what `Storage.read` raises.
    """

    path: str
    read: Callable[[], bytes]


@dataclass(frozen=True)
class SkippedPath:
    """A path that a walk skips although it may be, or contain, notebooks.

    Parameters
    ----------
    path
        Its API path.
    reason
        ``hidden`` for paths that must not be reported, ``link``, or the reason of an error.
    message
        The explanation, as a sentence.
    """

    path: str
    reason: str
    message: str


@dataclass(frozen=True)
class Directory:
    """A directory whose items follow.

    Parameters
    ----------
    path
        Its API path.
    """

    path: str


#: An item of a walk through a directory.
WalkItem = NotebookFile | SkippedPath | Directory
#: Walks through a directory, which may take time. It begins at a path and continues in the order of
#: path components; directories on the way to that path are not yielded.
Walker = Callable[[str], Iterator[WalkItem]]


class StaleContent(Exception):
    """The stored bytes are no longer those that were read; nothing was written."""


class Storage(Protocol):
    """One way of storing notebooks. ``path`` is an API path throughout."""

    @property
    def kind(self) -> str:
        """The name of the storage, reported to clients as ``applied_via``."""

    @property
    def preserves_bytes(self) -> bool:
        """Whether the stored bytes after a write are exactly the spliced bytes that were read."""

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        """Lock a notebook against all other writers of this server.

        Raises
        ------
        NotebookNotFound
            If the path may not be seen.
        Busy
            If another process holds the lock for too long.
        """

    async def read(self, path: str) -> Content:
        """Read a notebook.

        Raises
        ------
        NotebookNotFound, NotAPlainFile, Forbidden, Busy, StorageFailure
        """

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Write spliced content, if the stored bytes still are those of ``base``.

        Raises
        ------
        StaleContent
            If they are not.
        NotebookNotFound, NotAPlainFile, Forbidden, NoSpace, StorageFailure
        """

    async def ensure_absent(self, path: str) -> None:
        """Raise what `create` would raise, as far as that is known in advance.

        Raises
        ------
        NotebookExists, NotebookNotFound, Forbidden
        """

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Store a new notebook.

        Raises
        ------
        NotebookExists
            If the path exists.
        NotebookNotFound
            If the directory does not exist or may not be seen.
        Forbidden, NoSpace, StorageFailure
        """

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:
        """Notify the contents manager, its hooks and its listeners that a notebook was written.

        Returns
        -------
        Problems, for the reply's ``warnings``.
        """


class Storages(Protocol):
    """The storages of a server; each notebook is in one of them at a time."""

    async def resolve(self, path: str) -> Storage:
        """Return the storage in which a notebook is now, or would be created.

        Raises
        ------
        NotebookNotFound
            If the path may not be seen.
        NotAPlainFile
            If no storage can hold it.
        """

    def lock(self, path: str) -> AbstractAsyncContextManager[Storage]:
        """Return the storage of a notebook, locked against all other writers of this server.

        Raises
        ------
        NotebookNotFound, NotAPlainFile, Busy
            As `resolve` and `Storage.lock` do.
        """

    async def check(self, path: str) -> None:
        """Raise if a notebook cannot be read now, in whichever storage; its bytes are not read.

        Raises
        ------
        InvalidRequest, NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
        """

    async def walk(self, path: str, *, recursive: bool) -> Walker:
        """Prepare a walk through the notebooks of a directory, or to a single notebook.

        Parameters
        ----------
        path
            The API path of a directory or a notebook; empty for the root.
        recursive
            Whether to descend into subdirectories.

        Raises
        ------
        FolderNotFound
            If the path does not exist or may not be seen.
        """
