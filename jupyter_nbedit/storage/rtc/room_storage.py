"""Notebooks and texts that are open in a live room, edited in the shared document.

While a room is live, it owns the file: it overwrites the file with the shared document, whatever
other programs have written. Therefore an edit goes into the shared document, and only the room's
own save writes the file.
"""

import asyncio
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit import errors
from jupyter_nbedit.notebook.cell_patch import CellPatch, compute_patch, is_applied
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.notebook.sequence_diff import is_still_applied, list_hunks
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, Storage, WriteResult
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.rtc.rooms import Room
from jupyter_nbedit.storage.rtc.shared_notebook import (
    ORIGIN,
    RoomSnapshot,
    apply_hunks,
    apply_patch,
    repair_ids,
    take_snapshot,
)
from jupyter_nbedit.system.concurrency import Polling

# The time that a room may take to load a file, or changes of another program.
_LOADING_TIMEOUT_SECONDS = 10.0
# The time that a read waits for a room that has not loaded its file.
_LOADING_START_TIMEOUT_SECONDS = 2.0
# The time that a reply waits for the room's save.
_SAVING_TIMEOUT_SECONDS = 4.0
_EXISTS = (
    "A notebook of this name is open in a room of real-time collaboration, and it is never "
    "overwritten. Choose another path, or edit the notebook with PATCH."
)
_NOT_SAVED = (
    "The edit is in the room, where everybody who has the file open sees it, but not on disk yet: "
)
_AUTOSAVE_IS_OFF = "autosave is off in the room, so one of its users must save it."
_SAVED_LATER = (
    "the room saves it as soon as it can, usually when nobody has typed for a second, unless a "
    "hook of the server refuses it; see the server's log."
)


@dataclass(frozen=True)
class RoomStorage(Storage, ABC):
    """A file in a live room.

    `underlying_storage` is the storage of the file without the room, which is only read here.
    """

    room: Room
    manager: Any
    underlying_storage: Storage
    locks: PathLocks

    kind: ClassVar[str] = "room"
    preserves_bytes: ClassVar[bool] = False
    is_shared: ClassVar[bool] = True
    #: Whether the room's save preserves the trust of a notebook.
    is_signed: ClassVar[bool]

    def lock(self, path: str) -> AbstractAsyncContextManager[object]:  # noqa: ARG002 -- one room, many names
        """Lock against other edits, but not against the room's own save of the file."""
        return self.locks.lock(names=(f"room {self.room.id}",))

    async def read(self, path: str) -> Content:
        """Read the shared document as the bytes that the room's save would write."""
        # Whether a file exists and may be seen does not depend on rooms.
        file_content: Content = await self.underlying_storage.read(path)
        async for _ in Polling(_LOADING_START_TIMEOUT_SECONDS):
            if self.room.has_loaded() or not self.room.is_live():
                await self._wait_until_ready()
                if self.room.is_live():
                    return await self._read_document(file_content.last_modified)
                break
        # A room never loads a file that is broken, or if no client joined after it was requested.
        return file_content

    @abstractmethod
    async def _read_document(self, last_modified: datetime) -> Content:
        """Return the content of the shared document."""

    async def _wait_until_ready(self) -> None:
        """Wait until the document is loaded, or the room is gone; raise `Busy` after a time."""
        async for _ in Polling(_LOADING_TIMEOUT_SECONDS):
            if self.room.is_ready() or not self.room.is_live():
                return
        raise errors.Busy(
            "The room of real-time collaboration that holds this file has been loading it for more "
            f"than {_LOADING_TIMEOUT_SECONDS:.0f} seconds. Nothing was written; try again."
        )

    async def _wait_until_synced(self) -> None:
        """Wait until the room has loaded what other programs wrote to the file.

        A room loads the whole file, which would discard an edit of the shared document. When this
        returns, and before any other task runs, the document may be edited. Raise `StaleContent` if
        the room is gone, `Busy` after a time, and `Forbidden` if the file may not be written.
        """
        room = self.room
        async for _ in Polling(_LOADING_TIMEOUT_SECONDS):
            await self._wait_until_ready()
            try:
                model = await ensure_async(self.manager.get(room.path, content=False))
            except HTTPError:
                raise errors.NotebookNotFound from None
            if not model.get("writable", True):
                raise errors.Forbidden("The server may not write this file; nothing was written.")
            if not room.is_live():
                raise StaleContent
            if room.get_loaded_time() in {None, model["last_modified"]} and room.is_ready():
                return
        raise errors.Busy(
            "Another program has changed this file, and the room of real-time collaboration "
            "that holds it has not loaded the change yet. Nothing was written; try again."
        )

    async def _wait_until_saved(
        self, path: str, base: Content, text: bytes, contains_edit: Callable[[Content], bool]
    ) -> WriteResult:
        """Wait until an edited text is on disk, and check that the edit is still in the room.

        `contains_edit` says whether the edit is in a content; it is called in another thread.
        """
        content = await self._read_saved(path, contains_edit)
        is_persisted, warnings = content is not None, []
        if content is None:
            if not self.room.is_live():
                # After a save that the room has begun, the edit would be made twice.
                async with self.underlying_storage.lock(path):
                    raise StaleContent
            content = await self._read_document(base.last_modified)
            if not await asyncio.to_thread(contains_edit, content):
                message = (
                    "The file was changed at the same moment, in its room or on disk, and the "
                    "edit is lost or differs. Read the file again."
                )
                hashes = {
                    "expected": compute_sha256(base.text),
                    "hash": compute_sha256(content.text),
                }
                raise errors.HashMismatch(message, **hashes)
            warnings.append(
                _NOT_SAVED + (_SAVED_LATER if self.room.has_autosave() else _AUTOSAVE_IS_OFF)
            )
        return WriteResult(
            compute_sha256(content.text),
            content.last_modified,
            warnings,
            None if content.text == text else content.text,
            is_persisted=is_persisted,
            is_signed=self.is_signed,
        )

    async def _read_saved(
        self, path: str, contains_edit: Callable[[Content], bool]
    ) -> Content | None:
        """Wait until an edit is on disk, and return the content that has it.

        Return None if the edit is not on disk yet, or was lost with the room.
        """
        async for _ in Polling(_SAVING_TIMEOUT_SECONDS):
            if not self.room.has_autosave():
                return None
            if self.room.is_live() and (saving := self.room.save()) is not None:
                # Typing delays the save; then it is started again.
                await asyncio.wait({saving}, timeout=_SAVING_TIMEOUT_SECONDS)
            # The edit was made; an error of reading must not fail the request.
            with suppress(errors.NbEditError):
                content: Content = await self.underlying_storage.read(path)
                # The bytes of a large file are read only here.
                if await asyncio.to_thread(contains_edit, content):
                    return content
        return None

    async def ensure_absent(self, path: str) -> None:  # noqa: ARG002 -- the room is there
        """Raise `NotebookExists`: the room has a file of that name."""
        raise errors.NotebookExists(_EXISTS)

    async def create(self, path: str, text: bytes) -> WriteResult:  # noqa: ARG002 -- the room is there
        """Raise `NotebookExists`: the room has a file of that name."""
        raise errors.NotebookExists(_EXISTS)


@dataclass(frozen=True)
class NotebookRoomStorage(RoomStorage):
    """A notebook that is open as a notebook in a live room."""

    is_signed: ClassVar[bool] = True

    async def _read_document(self, last_modified: datetime) -> Content:
        snapshot = await take_snapshot(self.room.document, self.manager.notary.check_cells)
        return Content(snapshot.text, last_modified, snapshot, snapshot.is_trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Apply the splices to the shared cells, and wait until the room has saved them."""
        snapshot = base.version
        if not isinstance(snapshot, RoomSnapshot):
            # It was read before the room had loaded the file; it can be edited only after that.
            await self._wait_until_ready()
            raise StaleContent
        text = apply_splices(base.text, splices)
        patch = await asyncio.to_thread(_compute_patch, base.text, text, splices)
        await self._wait_until_synced()
        if not snapshot.is_consistent:
            repair_ids(self.room.document)
            raise StaleContent
        apply_patch(self.room.document, patch, snapshot.ids)
        return await self._wait_until_saved(path, base, text, partial(_is_patch_applied, patch))


def _compute_patch(base: bytes, text: bytes, splices: Sequence[Splice]) -> CellPatch:
    document = Document.parse(base)
    removed_cells = _list_removed_cells(document, splices)
    return compute_patch(document, Document.parse(text), removed_cells)


def _list_removed_cells(document: Document, splices: Sequence[Splice]) -> set[int]:
    """Return the indexes of the cells that splices remove as a whole."""
    starts, stops = zip(*document.cell_spans, strict=True) if len(document) else ((), ())
    return {
        index
        for start, stop, _ in splices
        for index in range(bisect_left(starts, start), bisect_right(stops, stop))
    }


def _is_patch_applied(patch: CellPatch, content: Content) -> bool:
    return is_applied(patch, Document.parse(content.text))


@dataclass(frozen=True)
class TextRoomStorage(RoomStorage):
    """A text file, or a notebook in a text editor, that is open as text in a live room."""

    is_signed: ClassVar[bool] = False

    async def _read_document(self, last_modified: datetime) -> Content:
        return Content(self._get_text().encode(), last_modified)

    def _get_text(self) -> str:
        return str(self.room.document.ydoc["source"])

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Change the shared text, and wait until the room has saved it."""
        text = apply_splices(base.text, splices)
        before, after = base.text.decode(), text.decode()
        hunks = list_hunks(before, after)
        await self._wait_until_synced()
        if self._get_text() != before:
            raise StaleContent
        document = self.room.document
        with document.ydoc.transaction(origin=ORIGIN):
            apply_hunks(document.ydoc["source"], hunks)
        contains_edit = partial(_is_text_applied, before, after)
        return await self._wait_until_saved(path, base, text, contains_edit)


def _is_text_applied(before: str, after: str, content: Content) -> bool:
    """Return whether a text contains a change, although others may have edited it since."""
    try:
        return is_still_applied(before, after, content.text.decode())
    except UnicodeDecodeError:
        return False
