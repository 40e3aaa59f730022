"""Requests with large bodies take turns: each takes much memory and much time.

Tornado's loop waits for the interpreter's lock after each part of a body that it receives while
another request is being handled. So few bodies are received at once, and the others wait at their
clients.
"""

from __future__ import annotations

import asyncio

#: Requests with smaller bodies do not take turns.
LARGE_BODY_BYTES = 1_000_000
_MOST_RECEIVED = 2
# A client that sends slowly must not keep all others waiting.
_RECEIVING_SECONDS = 30.0


class LargeRequests:
    """The large requests of a server: some are received, one is handled."""

    def __init__(self) -> None:
        self.receiving = asyncio.Semaphore(_MOST_RECEIVED)
        self.handling = asyncio.Semaphore(1)


class Turn:
    """The turn of one large request: it begins to be received, then to be handled, and ends."""

    def __init__(self, requests: LargeRequests) -> None:
        self._requests = requests
        self._is_received = self._is_handled = False

    async def begin_receiving(self) -> None:
        """Wait until the rest of the body may be received."""
        await self._requests.receiving.acquire()
        self._is_received = True
        asyncio.get_running_loop().call_later(_RECEIVING_SECONDS, self.end_receiving)

    def end_receiving(self) -> None:
        """Let another body be received."""
        if self._is_received:
            self._is_received = False
            self._requests.receiving.release()

    async def begin_handling(self) -> None:
        """Wait until the request may be handled; its body has been received."""
        if not self._is_handled:
            await self._requests.handling.acquire()
            self._is_handled = True
            self.end_receiving()

    def end(self) -> None:
        """Let other requests run."""
        self.end_receiving()
        if self._is_handled:
            self._is_handled = False
            self._requests.handling.release()
