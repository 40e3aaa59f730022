"""Which rooms there are, for a file that is written while none holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_nbedit.storage.base import StaleContent


@dataclass(frozen=True)
class RoomIdSnapshot:
    """The rooms there were when a file was chosen to be written, which no room held.

    Parameters
    ----------
    settings
        Those of the server's web application.
    ids
        What the rooms were called.
    """

    settings: Mapping[str, Any] = field(compare=False, repr=False)
    ids: frozenset[str]

    @classmethod
    def take(cls, settings: Mapping[str, Any]) -> RoomIdSnapshot:
        """Note the rooms there are."""
        return cls(settings, _list_ids(settings))

    def check(self) -> None:
        """Refuse to write if any room has opened since, in any thread.

        Raises
        ------
        StaleContent
        """
        try:
            opened = not _list_ids(self.settings) <= self.ids
        except RuntimeError:
            # One opens at this very moment.
            opened = True
        if opened:
            raise StaleContent


def _list_ids(settings: Mapping[str, Any]) -> frozenset[str]:
    manager = settings.get("yroom_manager")
    server = getattr(settings.get("jupyter_server_ydoc"), "ywebsocket_server", None)
    ids = [] if manager is None else [room.room_id for room in manager.list_document_rooms()]
    return frozenset([*ids, *([] if server is None else server.rooms)])
