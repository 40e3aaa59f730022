"""Find the live rooms of real-time collaboration, without side effects.

Only existing rooms are listed. A search for a room creates no room, keeps no room alive, and gives
no file an id. Both back ends are recognized by their attributes, and not imported.
"""

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jupyter_nbedit.errors import Busy, NotAPlainFile
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage
from jupyter_nbedit.storage.contents.manager_kinds import get_os_path, is_rooted
from jupyter_nbedit.storage.locks import PathLocks

#: Format and type of a file in a room: the prefix of the room's id.
NOTEBOOK = "json:notebook"
TEXT = "text:file"
_COLONS = 2
# How often rooms may open and close while a lock is acquired.
_ATTEMPTS = 8


@dataclass(frozen=True)
class Room(ABC):
    """A room that has a file open, and owns it while it is live.

    `id` consists of format, type and id of the file; `path` is its API path. `document` is the
    shared document of ``jupyter_ydoc``, or None if the room has a document of another kind. `room`
    is the room of the back end.
    """

    id: str
    path: str
    document: Any
    room: Any

    @abstractmethod
    def is_live(self) -> bool:
        """Return whether clients still get this room."""

    @abstractmethod
    def has_loaded(self) -> bool:
        """Return whether the document has been loaded; people may then have changed it."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Return whether the document is loaded and is not being reloaded."""

    @abstractmethod
    def has_autosave(self) -> bool:
        """Return whether the room saves automatically."""

    @abstractmethod
    def save(self) -> asyncio.Future[Any] | None:
        """Start to save now, as the room itself does; return None if it cannot."""

    @abstractmethod
    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version on disk that the room has; None if it is not known."""


@dataclass(frozen=True)
class _CollaborationRoom(Room):
    """A room of ``jupyter_server_ydoc``, the server side of jupyter-collaboration."""

    #: All rooms of the server; this mapping changes.
    rooms: Mapping[str, Any]

    def is_live(self) -> bool:
        return self.rooms.get(self.id) is self.room

    def has_loaded(self) -> bool:
        return bool(self.room.ready)

    def is_ready(self) -> bool:
        file = getattr(self.room, "_file", None)
        locks = (getattr(self.room, "_update_lock", None), getattr(file, "_lock", None))
        return self.has_loaded() and _is_idle(self.document, *locks)

    def has_autosave(self) -> bool:
        if getattr(self.room, "_save_delay", 1) is None:
            return False
        # It must be on in at least one client.
        states = [state for state in self.room.awareness.states.values() if state]
        return not states or any(state.get("autosave", True) for state in states)

    def save(self) -> asyncio.Future[Any] | None:
        begin = getattr(self.room, "_save_to_disc", None)
        saving: asyncio.Future[Any] | None = None if begin is None else begin()
        return saving

    def get_loaded_time(self) -> datetime | None:
        return getattr(getattr(self.room, "_file", None), "last_modified", None)


@dataclass(frozen=True)
class _DocumentsRoom(Room):
    """A room of ``jupyter_server_documents``."""

    #: The manager of all rooms.
    manager: Any

    def is_live(self) -> bool:
        is_listed = any(room is self.room for room in self.manager.list_document_rooms())
        return is_listed and not self.room.stopped

    def has_loaded(self) -> bool:
        return bool(self.room.file_api.content_loaded)

    def is_ready(self) -> bool:
        # Reloading does not yield to other tasks.
        lock = getattr(self.room.file_api, "_content_lock", None)
        return self.has_loaded() and _is_idle(self.document, lock)

    def has_autosave(self) -> bool:
        # It cannot be switched off.
        return True

    def save(self) -> asyncio.Future[Any] | None:
        # Not in the next iteration of the room's own loop.
        saving: asyncio.Future[Any] = asyncio.ensure_future(self.room.file_api.save(self.document))
        return saving

    def get_loaded_time(self) -> datetime | None:
        return getattr(self.room.file_api, "_last_modified", None)


def _is_idle(document: Any, *locks: asyncio.Lock | None) -> bool:
    # Loading and saving may yield to other tasks, and changes meanwhile may be lost.
    if any(lock is not None and lock.locked() for lock in locks):
        return False
    return getattr(document.ydoc, "_txn", None) is None


def watch_rooms(settings: Mapping[str, Any]) -> Callable[[], None]:
    """Return a function that raises `StaleContent` if any room was opened since this call.

    Call this for a file that no room has open now. Any thread may call the returned function.
    """
    known_ids = _list_ids(settings)

    def check() -> None:
        try:
            is_opened = not _list_ids(settings) <= known_ids
        except RuntimeError:
            # A room is being opened in another thread.
            is_opened = True
        if is_opened:
            raise StaleContent

    return check


def _list_ids(settings: Mapping[str, Any]) -> frozenset[str]:
    manager, rooms = _get_back_ends(settings)
    ids = [] if manager is None else [room.room_id for room in manager.list_document_rooms()]
    return frozenset([*ids, *rooms])


def has_rooms(settings: Mapping[str, Any]) -> bool:
    """Return whether this server has real-time collaboration."""
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    return server is not None or settings.get("yroom_manager") is not None


def _get_back_ends(settings: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
    """Return the manager of jupyter-server-documents, and the rooms of jupyter-collaboration."""
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    return settings.get("yroom_manager"), {} if server is None else server.rooms


def find_room(
    settings: Mapping[str, Any], path: str, kinds: Sequence[str] = (NOTEBOOK, TEXT)
) -> Room | None:
    """Find the live room that has a file open, by whichever path it was opened.

    `kinds` are the formats and types that the room may have, the preferred one first. Raise
    `NotAPlainFile` if the room's document is unknown here.
    """
    # Without rooms, the file need not be identified.
    if not has_rooms(settings) or not (rooms := list(_iterate_rooms(settings))):
        return None
    manager = settings["contents_manager"]
    identity = get_file_identity(manager, path)
    for kind in kinds:
        for room in rooms:
            if room.id.startswith(f"{kind}:") and get_file_identity(manager, room.path) == identity:
                if room.document is None:
                    raise NotAPlainFile(
                        "This file is open in a room of real-time collaboration of an unknown "
                        "kind. Nothing was written, because the room would not notice; close "
                        "the file everywhere first."
                    )
                return room
    return None


def list_live_file_identities(settings: Mapping[str, Any]) -> set[object]:
    """Return `get_file_identity` of all files in live rooms."""
    manager = settings["contents_manager"]
    return {get_file_identity(manager, room.path) for room in _iterate_rooms(settings)}


def get_file_identity(manager: Any, path: str) -> object:
    """Return a value that identifies a file, also if it has several names."""
    if not is_rooted(manager):
        return path.strip("/")
    os_path = get_os_path(manager, path)
    if os_path is None:
        return None
    try:
        status = os.stat(os_path)
    except (OSError, ValueError):
        return os_path
    return status.st_dev, status.st_ino


def _iterate_rooms(settings: Mapping[str, Any]) -> Iterator[Room]:
    """Yield the rooms of files that are still there."""

    def find_path(room_id: str) -> str | None:
        path: str | None = settings["file_id_manager"].get_path(room_id.split(":", _COLONS)[-1])
        return path

    manager, rooms = _get_back_ends(settings)
    for room in manager.list_document_rooms() if manager is not None else ():
        if room.file_api is not None and not room.stopped and (path := find_path(room.room_id)):
            document = getattr(room, "_jupyter_ydoc", None)
            yield _DocumentsRoom(room.room_id, path, document, room, manager)
    for room_id, room in list(rooms.items()):
        # Forks and the room for user presence have no file.
        if room_id.count(":") >= _COLONS and (path := find_path(room_id)):
            document = getattr(room, "_document", None)
            yield _CollaborationRoom(room_id, path, document, room, rooms)


@asynccontextmanager
async def lock_file_or_room(
    settings: Mapping[str, Any], locks: PathLocks, path: str, kinds: Sequence[str]
) -> AsyncIterator[tuple[Room | None, str | None]]:
    """Lock a file against all other writers; yield the room that has it open, or None.

    Yields also the path on disk without links; None if there is a room, or no such path.

    A room is locked instead of its file, because it locks the file when it saves. Raise `Busy` if
    the lock cannot be had, and `NotebookNotFound` if the file is hidden or outside the root.
    """
    for _ in range(_ATTEMPTS):
        manager, room = settings["contents_manager"], find_room(settings, path, kinds)
        lock = (
            ContentsStorage(manager, locks).lock(path)
            if room is None
            else locks.lock(names=(f"room {room.id}",))
        )
        async with lock as real_path:
            # Meanwhile a room may have been opened or closed, or the manager replaced.
            current_room = find_room(settings, path, kinds)
            # A room that was closed and opened again has another document.
            documents = [None if each is None else each.document for each in (room, current_room)]
            if documents[0] is documents[1] and settings["contents_manager"] is manager:
                yield current_room, real_path if isinstance(real_path, str) else None
                return
    raise Busy(
        f"The storage of this file changed {_ATTEMPTS} times while it was being locked, for "
        "example because its room was opened and closed. Nothing was written; try again."
    )
