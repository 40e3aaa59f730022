"""Find the live rooms of real-time collaboration, without side effects.

Looking for a room creates none, keeps none alive and gives no file an id: only existing rooms are
listed. Both back ends are recognized by their attributes; neither is imported.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from tornado.web import HTTPError

from jupyter_nbedit.errors import NotAPlainFile
from jupyter_nbedit.storage.contents.manager_locks import is_rooted

#: Format and type of a file in a room: the prefix of the room's id.
NOTEBOOK = "json:notebook"
TEXT = "text:file"
_COLONS = 2


class Room(Protocol):
    """A room that has a file open, and owns it while it is live."""

    @property
    def id(self) -> str:
        """The id of the room: format, type and id of the file."""

    @property
    def path(self) -> str | None:
        """The API path of the file; None if the file is gone."""

    @property
    def document(self) -> Any:
        """The shared document, one of ``jupyter_ydoc``; None if the room has another kind."""

    def is_live(self) -> bool:
        """Return whether clients still get this room."""

    def has_loaded(self) -> bool:
        """Return whether the document has been loaded, so that people may have changed it."""

    def is_ready(self) -> bool:
        """Return whether the document is loaded and is not being reloaded."""

    def has_autosave(self) -> bool:
        """Return whether the room saves automatically."""

    def save(self) -> asyncio.Future[Any] | None:
        """Start to save now, as the room itself does; None if it cannot."""

    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version on disk that the room has; None if it is not known."""


@dataclass(frozen=True)
class CollaborationRoom:
    """A room of ``jupyter_server_ydoc``, the server side of jupyter-collaboration.

    `rooms` are all rooms of the server; this mapping changes.
    """

    id: str
    path: str | None
    document: Any
    room: Any
    rooms: Mapping[str, Any]

    def is_live(self) -> bool:
        """Return whether the server still has the room."""
        return self.rooms.get(self.id) is self.room

    def has_loaded(self) -> bool:
        """Return whether the room accepts clients."""
        return bool(self.room.ready)

    def is_ready(self) -> bool:
        """Return whether the document is not being loaded; changes meanwhile would be lost."""
        file = getattr(self.room, "_file", None)
        locks = (getattr(self.room, "_update_lock", None), getattr(file, "_lock", None))
        return self.has_loaded() and _is_idle(self.document, *locks)

    def has_autosave(self) -> bool:
        """Return whether autosave is on in the room and in at least one client."""
        if getattr(self.room, "_save_delay", 1) is None:
            return False
        states = [state for state in self.room.awareness.states.values() if state]
        return not states or any(state.get("autosave", True) for state in states)

    def save(self) -> asyncio.Future[Any] | None:
        """Save as the room does when a user clicks on save."""
        begin = getattr(self.room, "_save_to_disc", None)
        saving: asyncio.Future[Any] | None = None if begin is None else begin()
        return saving

    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version that the room loaded or saved last."""
        file = getattr(self.room, "_file", None)
        return getattr(file, "last_modified", None)


@dataclass(frozen=True)
class DocumentsRoom:
    """A room of ``jupyter_server_documents``, and the manager of all its rooms."""

    id: str
    path: str | None
    document: Any
    room: Any
    manager: Any

    def is_live(self) -> bool:
        """Return whether the room has been neither stopped nor replaced."""
        is_listed = any(room is self.room for room in self.manager.list_document_rooms())
        return is_listed and not self.room.stopped

    def has_loaded(self) -> bool:
        """Return whether the file's content is in the document."""
        return bool(self.room.file_api.content_loaded)

    def is_ready(self) -> bool:
        """Return whether the document is loaded; reloading does not yield to other tasks."""
        lock = getattr(self.room.file_api, "_content_lock", None)
        return self.has_loaded() and _is_idle(self.document, lock)

    def has_autosave(self) -> bool:
        """Return True: autosave cannot be switched off."""
        return True

    def save(self) -> asyncio.Future[Any] | None:
        """Save now instead of in the next iteration of the room's own loop."""
        saving: asyncio.Future[Any] = asyncio.ensure_future(self.room.file_api.save(self.document))
        return saving

    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version that the room loaded or saved last."""
        return getattr(self.room.file_api, "_last_modified", None)


def has_rooms(settings: Mapping[str, Any]) -> bool:
    """Return whether this server has real-time collaboration."""
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    return server is not None or settings.get("yroom_manager") is not None


def find_room(
    settings: Mapping[str, Any], manager: Any, path: str, contents: str = NOTEBOOK
) -> Room | None:
    """Find the live room that has a file open, by whichever path it was opened.

    `contents` are format and type of the file in the room. Raise `NotAPlainFile` if the room is of
    an unknown kind.
    """
    # Without rooms, the file need not be identified.
    rooms = [room for room in _iterate_rooms(settings) if room.id.startswith(f"{contents}:")]
    identity = get_file_identity(manager, path) if rooms else None
    for room in rooms:
        if room.path is not None and get_file_identity(manager, room.path) == identity:
            if room.document is None:
                message = (
                    "This file is open in a room of real-time collaboration of a kind that is not "
                    "known here. Nothing was written, for the room would not notice; close the "
                    "file everywhere first."
                )
                raise NotAPlainFile(message)
            return room
    return None


def list_live_file_identities(settings: Mapping[str, Any], manager: Any) -> set[object]:
    """Return `get_file_identity` of all files in live rooms."""
    paths = [room.path for room in _iterate_rooms(settings)]
    return {get_file_identity(manager, path) for path in paths if path is not None}


def get_file_identity(manager: Any, path: str) -> object:
    """Return a value that identifies a file, also if it has several names."""
    if not is_rooted(manager):
        return path.strip("/")
    try:
        os_path: str = manager._get_os_path(path.strip("/"))  # noqa: SLF001 -- no other way
    except HTTPError:
        return None
    try:
        status = os.stat(os_path)
    except (OSError, ValueError):
        return os_path
    return status.st_dev, status.st_ino


def _iterate_rooms(settings: Mapping[str, Any]) -> Iterator[Room]:
    def find_path(room_id: str) -> str | None:
        path: str | None = settings["file_id_manager"].get_path(room_id.split(":", _COLONS)[-1])
        return path

    manager = settings.get("yroom_manager")
    for room in manager.list_document_rooms() if manager is not None else ():
        if room.file_api is not None and not room.stopped:
            document = getattr(room, "_jupyter_ydoc", None)
            yield DocumentsRoom(room.room_id, find_path(room.room_id), document, room, manager)
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    rooms: Mapping[str, Any] = {} if server is None else server.rooms
    for room_id, room in list(rooms.items()):
        # Forks and the room for user presence have no file.
        if room_id.count(":") >= _COLONS:
            document = getattr(room, "_document", None)
            yield CollaborationRoom(room_id, find_path(room_id), document, room, rooms)


def _is_idle(document: Any, *locks: asyncio.Lock | None) -> bool:
    """Return whether a document is not being loaded, saved or changed by another task.

    Each of these may yield to other tasks, and changes meanwhile may be lost.
    """
    if any(lock is not None and lock.locked() for lock in locks):
        return False
    return getattr(document.ydoc, "_txn", None) is None
