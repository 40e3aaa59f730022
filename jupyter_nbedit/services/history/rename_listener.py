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
from jupyter_nbedit.services.modes import ModeManager

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
    #: Let no rename make a rule on a notebook laxer, not even for a moment.
    modes: ModeManager
    log: Logger
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def on_event(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002 -- the signature of a listener
        """Call the observers if an event is a rename or a deletion that has happened."""
        path = data["path"].strip("/")
        if data["action"] == "delete":
            await self._follow(path, None)
        elif data["action"] == "rename":
            old = str(data.get("source_path") or "").strip("/")
            # At once: others may hold the lock for long.
            with self.modes.expect_rename(old, path):
                await self._follow(old, path)

    async def _follow(self, old: str, new: str | None) -> None:
        """Call the observers, if the files are as after the rename or the deletion."""
        # In order: a notebook may be renamed twice.
        async with self._lock:
            try:
                if new is not None and not await self.exists(new):
                    return
                is_followed = not await self.exists(old)
            except NbEditError:
                return
            if not is_followed and new is not None:
                # Another file has the old path already, or the event is forged.
                await self._call(old, self.modes.copy_stricter_modes(old, new))
            elif is_followed:
                for observer in self.observers:
                    change = (
                        observer.on_deleted(old) if new is None else observer.on_renamed(old, new)
                    )
                    await self._call(old, change)

    async def _call(self, path: str, change: Awaitable[None]) -> None:
        try:
            await change
        except NbEditError as error:
            self.log.warning(
                "The history, the mode or the proposals of %r could not be moved or deleted: %s",
                path,
                error.message,
            )
