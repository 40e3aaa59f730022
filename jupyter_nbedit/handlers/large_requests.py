"""Slots for requests with large bodies: each takes much memory and much time.

Tornado's loop waits for the interpreter's lock after each part of a body that it receives while
another request is being handled. So few bodies are received at once, and the others wait at their
clients.
"""

import asyncio

#: Requests with smaller bodies need no slot.
LARGE_BODY_BYTES = 1_000_000
_MAX_RECEIVED = 2
# A client that sends slowly must not keep all others waiting.
_RECEIVE_TIMEOUT = 30.0


class LargeRequestSlots:
    """The slots of a server: two large bodies are received at once, and one is handled."""

    def __init__(self) -> None:
        self.receive_slots = asyncio.Semaphore(_MAX_RECEIVED)
        self.handle_slots = asyncio.Semaphore(1)


class LargeRequest:
    """A request with a large body: it needs a slot to be received, then one to be handled."""

    def __init__(self, slots: LargeRequestSlots) -> None:
        self._slots = slots
        self._has_receive_slot = self._has_handle_slot = False

    async def acquire_receive_slot(self) -> None:
        """Wait until the rest of the body may be received."""
        await self._slots.receive_slots.acquire()
        self._has_receive_slot = True
        asyncio.get_running_loop().call_later(_RECEIVE_TIMEOUT, self.release_receive_slot)

    def release_receive_slot(self) -> None:
        """Let another body be received."""
        if self._has_receive_slot:
            self._has_receive_slot = False
            self._slots.receive_slots.release()

    async def acquire_handle_slot(self) -> None:
        """Wait until the request may be handled; its body has been received."""
        if not self._has_handle_slot:
            await self._slots.handle_slots.acquire()
            self._has_handle_slot = True
            self.release_receive_slot()

    def release(self) -> None:
        """Let other requests be received and handled."""
        self.release_receive_slot()
        if self._has_handle_slot:
            self._has_handle_slot = False
            self._slots.handle_slots.release()
