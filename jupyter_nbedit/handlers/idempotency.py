"""Send the same response to a retried request, without running the request again.

The header is ``Idempotency-Key`` of
https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_nbedit.errors import IdempotencyMismatch
from jupyter_nbedit.system.lru import LRUCache

_MAX_BYTES = 32 * 1024 * 1024
# What a response costs besides its body; about 10,000 small responses are kept.
_RESPONSE_BYTES = 3_000


@dataclass(frozen=True)
class StoredResponse:
    """A response to a request and its retries."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_text: bool = False


class IdempotencyCache:
    """Remembers the responses of successful requests by user and key.

    A failed request has changed nothing. Its response is not kept, because a retry may succeed.
    """

    def __init__(self) -> None:
        # Each with the hash of its request.
        self._running: dict[tuple[str, str], tuple[str, asyncio.Future[StoredResponse | None]]] = {}
        self._responses: LRUCache[tuple[str, str], tuple[str, StoredResponse]] = LRUCache(
            _MAX_BYTES, lambda stored: len(stored[1].body) + _RESPONSE_BYTES
        )

    async def begin(self, name: tuple[str, str], request_hash: str) -> StoredResponse | None:
        """Return the response of an earlier run; None if the caller must run the request now.

        The caller then calls `complete` or `abandon`. ``name`` is the user and the
        ``Idempotency-Key``, and ``request_hash`` one of the whole request. Raise
        `IdempotencyMismatch` if another request has used the key.
        """
        while True:
            stored, running = self._responses.get(name), self._running.get(name)
            known = stored or running
            if known is not None and known[0] != request_hash:
                raise IdempotencyMismatch(
                    "This Idempotency-Key was sent before, with another request. Send a new key "
                    "with every new request, and the same one only to repeat it unchanged."
                )
            if stored is not None:
                return stored[1]
            if running is None:
                self._running[name] = request_hash, asyncio.get_running_loop().create_future()
                return None
            response = await asyncio.shield(running[1])
            if response is not None:
                return response

    def abandon(self, name: tuple[str, str]) -> None:
        """Forget a request that has failed; the next waiting copy of it runs."""
        self._running.pop(name)[1].set_result(None)

    def complete(self, name: tuple[str, str], response: StoredResponse) -> None:
        """Store the response of a request, and return it to the waiting copies."""
        request_hash, future = self._running.pop(name)
        future.set_result(response)
        self._responses.put(name, (request_hash, response))
