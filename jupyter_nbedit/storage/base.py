"""Where notebooks are kept: read as a whole, written as splices of what was read."""

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
    raw
        The bytes; of a large file not read yet.
    last_modified
        When they were written, as the Contents API tells it.
    version
        What the storage needs to see whether they are still current; nobody else's business.
    trusted
        Whether the notebook is trusted, where the storage knows better than the notary; None where
        the notary is to be asked.
    hash
        The sha256 of the bytes in hex, where the storage knows it without computing it.
    """

    data: Buffer
    last_modified: datetime
    version: object = None
    trusted: bool | None = None
    hash: str | None = None

    @property
    def text(self) -> bytes:
        """All the bytes, in memory."""
        return self.data[:]


#: How another program that writes a file in the moment of an edit is kept from losing what it
#: writes: by an exchange of names under a lease; by an exchange; by no more than a last look.
Guard = Literal["lease", "exchange", "compare"]


@dataclass(frozen=True)
class WriteResult:
    """What a write left behind.

    Parameters
    ----------
    hash
        The sha256 of the bytes that are kept now.
    last_modified
        When they were written, as the Contents API tells it.
    warnings
        What did not go as it should, though the bytes are written.
    text
        The bytes that are kept now, if they are not just what the splices make.
    persisted
        Whether they are on disk, or wherever else the contents manager keeps its files.
    signed
        Whether the storage has kept the notebook's trust itself.
    status
        What the new file's ``stat`` says, where there is one.
    marks
        The hash of its bytes, to go on from.
    guard
        How other programs were kept from losing what they wrote just then; None where that is not
        for us to see to.
    """

    hash: str
    last_modified: datetime
    warnings: list[str] = field(default_factory=list)
    text: bytes | None = None
    persisted: bool = True
    signed: bool = False
    status: os.stat_result | None = None
    marks: ResumableSha256 | None = None
    guard: Guard | None = None


@dataclass(frozen=True)
class NotebookFile:
    """A notebook in a folder.

    Parameters
    ----------
    path
        Its API path.
    read
        Reads its bytes, which may take time; raises what `Storage.read` does.
    """

    path: str
    read: Callable[[], bytes]


@dataclass(frozen=True)
class SkippedPath:
    """What is not looked into though it may be, or hold, notebooks.

    Parameters
    ----------
    path
        Its API path.
    reason
        ``hidden`` for what nobody may hear of, ``link``, or an error's reason.
    message
        Why, as a sentence.
    """

    path: str
    reason: str
    message: str


@dataclass(frozen=True)
class Directory:
    """A folder that is gone through from here on.

    Parameters
    ----------
    path
        Its API path.
    """

    path: str


#: What there is on a walk through a folder.
WalkItem = NotebookFile | SkippedPath | Directory
#: Goes through a folder, which may take time. Begins at a path, and goes on in the order of the
#: paths' components; folders on the way to the path are not told of.
Walker = Callable[[str], Iterator[WalkItem]]


class StaleContent(Exception):
    """What is kept is no longer what was read; nothing was written."""


class Storage(Protocol):
    """One way of keeping notebooks. ``path`` is an API path throughout."""

    @property
    def kind(self) -> str:
        """The name of the way, told to clients as ``applied_via``."""

    @property
    def preserves_bytes(self) -> bool:
        """Whether what is kept after a write is what was read, spliced, and nothing else."""

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        """Keep every other writer of this server away from a notebook.

        Raises
        ------
        NotebookNotFound
            If the path is none that may be seen.
        Busy
            If another process keeps us away for too long.
        """

    async def read(self, path: str) -> Content:
        """Read a notebook.

        Raises
        ------
        NotebookNotFound, NotAPlainFile, Forbidden, Busy, StorageFailure
        """

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Write what was read, spliced, if it is still what is kept.

        Raises
        ------
        StaleContent
            If it is not.
        NotebookNotFound, NotAPlainFile, Forbidden, NoSpace, StorageFailure
        """

    async def ensure_absent(self, path: str) -> None:
        """Raise what creating a notebook would raise, as far as that can be known before.

        Raises
        ------
        NotebookExists, NotebookNotFound, Forbidden
        """

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Keep a notebook where there was nothing.

        Raises
        ------
        NotebookExists
            If there is something.
        NotebookNotFound
            If the folder does not exist, or is none that may be seen.
        Forbidden, NoSpace, StorageFailure
        """

    async def notify_saved(self, path: str, written: WriteResult) -> list[str]:
        """Notify the contents manager, its hooks and its listeners that a notebook was written.

        Returns
        -------
        What did not go as it should, for the reply's ``warnings``.
        """


class Storages(Protocol):
    """The ways in which a server keeps its notebooks, each of them in one of them at a time."""

    async def resolve(self, path: str) -> Storage:
        """Return the way in which a notebook is kept now, or would be.

        Raises
        ------
        NotebookNotFound
            If the path is none that may be seen.
        NotAPlainFile
            If there is no way.
        """

    def lock(self, path: str) -> AbstractAsyncContextManager[Storage]:
        """Return the way in which a notebook is kept, and keep every other writer away.

        Raises
        ------
        NotebookNotFound, NotAPlainFile, Busy
            As `of` and `Storage.hold`.
        """

    async def check(self, path: str) -> None:
        """Refuse a notebook that cannot be read now, in whatever way it is kept; it is not read.

        Raises
        ------
        InvalidRequest, NotebookNotFound, NotAPlainFile, Forbidden, StorageFailure
        """

    async def walk(self, path: str, *, recursive: bool) -> Walker:
        """Prepare to go through the notebooks of a folder, or to the only one at a path.

        Parameters
        ----------
        path
            Of a folder or a notebook; empty for the root.
        recursive
            Whether to go into the folders in it, too.

        Raises
        ------
        FolderNotFound
            If there is nothing at the path, or nothing that may be seen.
        """
