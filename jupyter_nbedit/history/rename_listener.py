"""Update the history, the modes and the proposals when notebooks are renamed or deleted.

The contents manager emits an event for both. Every user who may post events can forge one, so the
listener compares each event with the files before it acts on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from logging import Logger
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_nbedit.errors import NbEditError

if TYPE_CHECKING:
    from jupyter_events import EventLogger

#: The schema of the contents manager's events.
CONTENTS = "https://events.jupyter.org/jupyter_server/contents_service/v1"


class PathObserver(Protocol):
    """Stores something of notebooks by their API paths; the path of a folder means all below it."""

    async def on_renamed(self, old: str, new: str) -> None:
        """Store it under the new path."""

    async def on_deleted(self, path: str) -> None:
        """Delete it."""


@dataclass
class ContentsEventListener:
    """Passes renames and deletions of the contents manager on to observers, in order."""

    #: Returns whether there is a file or a folder at an API path; raises an `NbEditError` if that
    #: cannot be determined.
    exists: Callable[[str], Awaitable[bool]]
    observers: Sequence[PathObserver]
    log: Logger
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def on_event(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002 -- the signature of a listener
        """Call the observers if an event is a rename or a deletion that has happened."""
        action = data["action"]
        if action not in {"delete", "rename"}:
            return
        path, source = data["path"].strip("/"), str(data.get("source_path") or "").strip("/")
        # In order: a notebook may be renamed twice.
        async with self._lock:
            if action == "delete" and await self._is_deleted(path):
                for observer in self.observers:
                    await self._notify(observer.on_deleted, path)
            elif action == "rename" and await self._is_renamed(source, path):
                for observer in self.observers:
                    await self._notify(observer.on_renamed, source, path)

    async def _is_deleted(self, path: str) -> bool:
        try:
            return not await self.exists(path)
        except NbEditError:
            return False

    async def _is_renamed(self, old: str, new: str) -> bool:
        try:
            return await self._is_deleted(old) and await self.exists(new)
        except NbEditError:
            return False

    async def _notify(self, method: Callable[..., Awaitable[None]], *paths: str) -> None:
        try:
            await method(*paths)
        except NbEditError as error:
            self.log.warning(
                "The history, the mode or the proposals of %r could not be moved or deleted: %s",
                paths[0],
                error.message,
            )
