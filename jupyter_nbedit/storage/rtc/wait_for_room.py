"""Wait for a room: until its file is loaded, in sync with the disk, or saved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.concurrency import Polling
from jupyter_nbedit.errors import Busy, Forbidden, HashMismatch, NbEditError, NotebookNotFound
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.storage.base import Content, StaleContent
from jupyter_nbedit.storage.rtc.rooms import Room

# The time that a room may take to load a file, or changes of another program.
_LOADING_SECONDS = 10.0
# The time that a read waits for a room that has not loaded its file.
_BEGINNING_SECONDS = 2.0
# The time that a reply waits for the room's save.
_SAVING_SECONDS = 4.0
_NOT_SAVED = (
    "The edit is in the room, where everybody who has the file open sees it, but not on disk yet: "
)
_BY_HAND = "the room's users have switched saving by itself off, so one of them must save it."
_LATER = (
    "the room saves it as soon as it can, usually when nobody has typed for a second, or a hook of "
    "the server refuses it; the server's log says why."
)


async def wait_for_load_start(room: Room) -> bool:
    """Wait a short time for a room to load its file; return whether it has, or is gone.

    A room never loads a file that is broken, or if no client joined after the room was requested.
    """
    async for _ in Polling(_BEGINNING_SECONDS):
        if room.has_loaded() or not room.is_live():
            return True
    return False


async def wait_until_ready(room: Room) -> None:
    """Wait until the document is loaded, or the room is gone; raise `Busy` after a time."""
    async for _ in Polling(_LOADING_SECONDS):
        if room.is_ready() or not room.is_live():
            return
    message = (
        "The room of real-time collaboration that holds this file has been loading it for more "
        f"than {_LOADING_SECONDS:.0f} seconds. Nothing was written; try again."
    )
    raise Busy(message)


async def wait_until_synced(room: Room, manager: Any) -> None:
    """Wait until the room has loaded what other programs wrote to the file.

    A room loads the whole file, which would discard an edit of the shared document. When this
    returns, and before any other task runs, the document may be edited. Raise `StaleContent` if the
    room is gone, `Busy` after a time, and `Forbidden` if the file may not be written.
    """
    async for _ in Polling(_LOADING_SECONDS):
        await wait_until_ready(room)
        try:
            model = await ensure_async(manager.get(room.path, content=False))
        except HTTPError:
            raise NotebookNotFound from None
        if not model.get("writable", True):
            message = "The server may not write this file; nothing was written."
            raise Forbidden(message)
        if not room.is_live():
            raise StaleContent
        if room.get_loaded_time() in {None, model["last_modified"]} and room.is_ready():
            return
    message = (
        "Another program has changed this file, and the room of real-time collaboration that holds "
        "it has not taken that over yet. Nothing was written; try again."
    )
    raise Busy(message)


async def wait_until_saved(
    room: Room, read: Callable[[], Awaitable[Content]], contains_edit: Callable[[bytes], bool]
) -> Content | None:
    """Wait until an edit is on disk, and return the content that has it.

    Return None if it is not there yet, or was lost with the room. `contains_edit` says whether the
    edit is in a text; it is called in another thread.
    """
    async for _ in Polling(_SAVING_SECONDS):
        if not room.has_autosave():
            return None
        if room.is_live() and (saving := room.save()) is not None:
            # Typing delays the save; then it is started again.
            await asyncio.wait({saving}, timeout=_SAVING_SECONDS)
        # The edit was made; an error of reading, also of the bytes, must not fail the request.
        with suppress(NbEditError):
            content = await read()
            if await asyncio.to_thread(contains_edit, content.text):
                return content
    return None


def build_unsaved_warning(room: Room) -> str:
    """Return the warning that an edit is not on disk yet, and when it will be."""
    return _NOT_SAVED + (_LATER if room.has_autosave() else _BY_HAND)


def build_lost_update_error(base: Content, digest: str) -> HashMismatch:
    """Return the error for an edit that another change has undone before it was saved."""
    message = (
        "Something else was done to the file at the same moment, in its room or on disk, and the "
        "edit is gone or not as it was made. Read the file again."
    )
    return HashMismatch(message, expected=compute_sha256(base.text), hash=digest)
