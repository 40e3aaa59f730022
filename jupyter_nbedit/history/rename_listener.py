"""What is kept of notebooks follows them: when they are renamed, and when they are deleted.

The contents manager tells of both as events. Whoever may post events can forge one, so an event is
a reason to look, and nothing is done unless it is as the event says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from logging import Logger
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_nbedit.errors import NbEditError

if TYPE_CHECKING:
    from jupyter_events import EventLogger

#: What the contents manager tells.
CONTENTS = "https://events.jupyter.org/jupyter_server/contents_service/v1"


class PathObserver(Protocol):
    """Keeps something of notebooks, by their API paths. A folder means all that is in it."""

    async def on_renamed(self, old: str, new: str) -> None:
        """Keep it by the new path."""

    async def on_deleted(self, path: str) -> None:
        """Keep it no longer."""


class PathProbe(Protocol):
    """Tells where there is something."""

    async def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder at an API path.

        Raises
        ------
        NbEditError
            If that cannot be told.
        """


@dataclass
class ContentsEventListener:
    """Listens to the contents manager.

    Parameters
    ----------
    places
        Tells what is true.
    followers
        Who is told of it; one that fails does not keep it from the others.
    log
        The server's.
    """

    places: PathProbe
    followers: Sequence[PathObserver]
    log: Logger
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def on_event(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002 -- what a listener is given
        """Go by an event of the contents manager."""
        action = data["action"]
        if action not in {"delete", "rename"}:
            return
        path, source = data["path"].strip("/"), str(data.get("source_path") or "").strip("/")
        # One after the other: a notebook may be renamed twice.
        async with self._turn:
            if action == "delete" and await self._is_deleted(path):
                for follower in self.followers:
                    await self._notify(follower.on_deleted, path)
            elif action == "rename" and await self._exists(source, path):
                for follower in self.followers:
                    await self._notify(follower.on_renamed, source, path)

    async def _is_deleted(self, path: str) -> bool:
        try:
            return not await self.places.exists(path)
        except NbEditError:
            return False

    async def _exists(self, old: str, new: str) -> bool:
        try:
            return await self._is_deleted(old) and await self.places.exists(new)
        except NbEditError:
            return False

    async def _notify(self, tell: Any, *paths: str) -> None:
        try:
            await tell(*paths)
        except NbEditError as error:
            self.log.warning("What is kept of %r does not follow it: %s", paths[0], error.message)
