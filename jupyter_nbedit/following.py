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


class Follower(Protocol):
    """Keeps something of notebooks, by their API paths. A folder means all that is in it."""

    async def renamed(self, old: str, new: str) -> None:
        """Keep it by the new path."""

    async def gone(self, path: str) -> None:
        """Keep it no longer."""


class Places(Protocol):
    """Tells where there is something."""

    async def is_there(self, path: str) -> bool:
        """Tell whether there is a file or a folder at an API path.

        Raises
        ------
        NbEditError
            If that cannot be told.
        """


@dataclass
class Following:
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

    places: Places
    followers: Sequence[Follower]
    log: Logger
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def heard(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002 -- what a listener is given
        """Go by an event of the contents manager."""
        action = data["action"]
        if action not in {"delete", "rename"}:
            return
        path, source = data["path"].strip("/"), str(data.get("source_path") or "").strip("/")
        # One after the other: a notebook may be renamed twice.
        async with self._turn:
            if action == "delete" and await self._is_gone(path):
                for follower in self.followers:
                    await self._tell(follower.gone, path)
            elif action == "rename" and await self._is_now(source, path):
                for follower in self.followers:
                    await self._tell(follower.renamed, source, path)

    async def _is_gone(self, path: str) -> bool:
        try:
            return not await self.places.is_there(path)
        except NbEditError:
            return False

    async def _is_now(self, old: str, new: str) -> bool:
        try:
            return await self._is_gone(old) and await self.places.is_there(new)
        except NbEditError:
            return False

    async def _tell(self, tell: Any, *paths: str) -> None:
        try:
            await tell(*paths)
        except NbEditError as error:
            self.log.warning("What is kept of %r does not follow it: %s", paths[0], error.message)
