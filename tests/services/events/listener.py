"""Listen to the events of the server on its own socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jupyter_nbedit.services.events.models import EditEvent

_LIMIT_SECONDS = 60


class Listener:
    """Records all events of the server."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.heard: list[dict[str, Any]] = []

    async def wait_for(
        self, count: int, schema_id: str = EditEvent.get_schema_id()
    ) -> list[dict[str, Any]]:
        """Listen until there were so many events of a schema; return all, also earlier ones."""
        while len(found := self._filter_events(schema_id)) < count:
            message = await asyncio.wait_for(self._socket.read_message(), _LIMIT_SECONDS)
            self.heard.append(json.loads(message))
        return found

    def _filter_events(self, schema_id: str) -> list[dict[str, Any]]:
        return [event for event in self.heard if event["schema_id"] == schema_id]


@asynccontextmanager
async def open_listener(fetch: Any) -> AsyncIterator[Listener]:
    """Listen while the block runs."""
    socket = await fetch("api", "events", "subscribe")
    try:
        yield Listener(socket)
    finally:
        socket.close()
