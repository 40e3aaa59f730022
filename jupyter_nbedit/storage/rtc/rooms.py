"""The live rooms of real-time collaboration, found without leaving a trace.

A probe makes no room, keeps none alive and gives no file an id: it looks through the rooms there
are. Both back ends are known by what they offer; neither is imported.
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
from jupyter_nbedit.storage.contents.locks import is_rooted

#: What the rooms hold files as, the way their ids begin.
NOTEBOOK = "json:notebook"
TEXT = "text:file"
_COLONS = 2


class Room(Protocol):
    """A room that holds a file, and owns it while it is live."""

    @property
    def id(self) -> str:
        """What the room is called: format, type and id of the file."""

    @property
    def path(self) -> str | None:
        """The API path of the file; None if it is gone."""

    @property
    def document(self) -> Any:
        """The shared document, one of ``jupyter_ydoc``; None if that is kept in another way."""

    def is_live(self) -> bool:
        """Return whether the room still is the one that clients get."""

    def has_loaded(self) -> bool:
        """Return whether the document has been loaded, so that people may have changed it."""

    def is_ready(self) -> bool:
        """Return whether the document is loaded, and nobody is reading the file into it anew."""

    def has_autosave(self) -> bool:
        """Return whether the room saves without being told to, or its users want to say when."""

    def save(self) -> asyncio.Future[Any] | None:
        """Begin to save now, the way the room itself does; None if that cannot be."""

    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version on disk that the room knows; None if it does not say."""


@dataclass(frozen=True)
class CollaborationRoom:
    """A room of ``jupyter_server_ydoc``, the server side of jupyter-collaboration.

    Parameters
    ----------
    id
        What it is called.
    path
        The API path of the file.
    document
        The shared document.
    room
        The room itself.
    rooms
        All rooms of the server, as they are at any time.
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
        """Return whether the room lets its clients in."""
        return bool(self.room.ready)

    def is_ready(self) -> bool:
        """Return whether nobody loads the document; what is changed meanwhile would be lost."""
        file = getattr(self.room, "_file", None)
        locks = (getattr(self.room, "_update_lock", None), getattr(file, "_lock", None))
        return self.has_loaded() and _is_at_rest(self.document, *locks)

    def has_autosave(self) -> bool:
        """Return whether one of the clients at least has autosave on, as the room does."""
        if getattr(self.room, "_save_delay", 1) is None:
            return False
        states = [state for state in self.room.awareness.states.values() if state]
        return not states or any(state.get("autosave", True) for state in states)

    def save(self) -> asyncio.Future[Any] | None:
        """Do what the room does when somebody clicks on save."""
        begin = getattr(self.room, "_save_to_disc", None)
        saving: asyncio.Future[Any] | None = None if begin is None else begin()
        return saving

    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version that the room loaded or saved last."""
        file = getattr(self.room, "_file", None)
        return getattr(file, "last_modified", None)


@dataclass(frozen=True)
class DocumentsRoom:
    """A room of ``jupyter_server_documents``.

    Parameters
    ----------
    id
        What it is called.
    path
        The API path of the file.
    document
        The shared document.
    room
        The room itself.
    manager
        The manager of all rooms.
    """

    id: str
    path: str | None
    document: Any
    room: Any
    manager: Any

    def is_live(self) -> bool:
        """Return whether the room has neither been stopped nor made way for another one."""
        live = any(room is self.room for room in self.manager.list_document_rooms())
        return live and not self.room.stopped

    def has_loaded(self) -> bool:
        """Return whether the file's content is in the document."""
        return bool(self.room.file_api.content_loaded)

    def is_ready(self) -> bool:
        """Return whether the document is loaded; it is read anew in one go."""
        lock = getattr(self.room.file_api, "_content_lock", None)
        return self.has_loaded() and _is_at_rest(self.document, lock)

    def has_autosave(self) -> bool:
        """Return True: there is no switch."""
        return True

    def save(self) -> asyncio.Future[Any] | None:
        """Save now rather than with the next turn of the room's own loop."""
        saving: asyncio.Future[Any] = asyncio.ensure_future(self.room.file_api.save(self.document))
        return saving

    def get_loaded_time(self) -> datetime | None:
        """Return the time of the version that the room loaded or saved last."""
        return getattr(self.room.file_api, "_last_modified", None)


def has_rooms(settings: Mapping[str, Any]) -> bool:
    """Return whether people can open a notebook in a room on this server."""
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    return server is not None or settings.get("yroom_manager") is not None


def find_room(
    settings: Mapping[str, Any], manager: Any, path: str, contents: str = NOTEBOOK
) -> Room | None:
    """Find the live room that holds a file, by whatever name it was opened.

    Parameters
    ----------
    settings
        Those of the server's web application.
    manager
        The contents manager.
    path
        The file's API path.
    contents
        What the room holds it as: format and type.

    Raises
    ------
    NotAPlainFile
        If there is one that cannot be worked with.
    """
    # Most servers have no room at all, and need not look where the file is.
    live = [room for room in _iterate_rooms(settings) if room.id.startswith(f"{contents}:")]
    place = get_file_identity(manager, path) if live else None
    for room in live:
        if room.path is not None and get_file_identity(manager, room.path) == place:
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
    """Return `place_of` all files that live rooms hold."""
    paths = [room.path for room in _iterate_rooms(settings)]
    return {get_file_identity(manager, path) for path in paths if path is not None}


def get_file_identity(manager: Any, path: str) -> object:
    """Return what identifies a file, also where it has several names."""
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
    def path_of(room_id: str) -> str | None:
        path: str | None = settings["file_id_manager"].get_path(room_id.split(":", _COLONS)[-1])
        return path

    manager = settings.get("yroom_manager")
    for room in manager.list_document_rooms() if manager is not None else ():
        if room.file_api is not None and not room.stopped:
            document = getattr(room, "_jupyter_ydoc", None)
            yield DocumentsRoom(room.room_id, path_of(room.room_id), document, room, manager)
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    rooms: Mapping[str, Any] = {} if server is None else server.rooms
    for room_id, room in list(rooms.items()):
        # Forks and the room of who is there hold no file.
        if room_id.count(":") >= _COLONS:
            document = getattr(room, "_document", None)
            yield CollaborationRoom(room_id, path_of(room_id), document, room, rooms)


def _is_at_rest(document: Any, *locks: asyncio.Lock | None) -> bool:
    """Return whether nobody is in the middle of loading, saving or changing a document.

    Each of these waits for others now and then, and what is changed meanwhile may be lost.
    """
    if any(lock is not None and lock.locked() for lock in locks):
        return False
    return getattr(document.ydoc, "_txn", None) is None
