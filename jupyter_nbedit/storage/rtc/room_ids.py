"""A snapshot of the rooms of a server, to detect one that opens during an edit of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.storage.base import StaleContent


@dataclass(frozen=True)
class RoomIdSnapshot:
    """The rooms of a server when a file was chosen to be written, which none of them had open."""

    settings: Mapping[str, Any]
    ids: frozenset[str]

    @classmethod
    def take(cls, settings: Mapping[str, Any]) -> RoomIdSnapshot:
        """Return a snapshot of the current rooms."""
        return cls(settings, _list_ids(settings))

    def check(self) -> None:
        """Raise `StaleContent` if any room was opened since; callable from any thread."""
        try:
            is_opened = not _list_ids(self.settings) <= self.ids
        except RuntimeError:
            # A room is being opened in another thread.
            is_opened = True
        if is_opened:
            raise StaleContent


def _list_ids(settings: Mapping[str, Any]) -> frozenset[str]:
    manager = settings.get("yroom_manager")
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    ids = [] if manager is None else [room.room_id for room in manager.list_document_rooms()]
    return frozenset([*ids, *([] if server is None else server.rooms)])
