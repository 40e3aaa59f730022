"""Send the same response to a retried request, without running the request again.

The header is ``Idempotency-Key`` of
https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from jupyter_nbedit.errors import IdempotencyMismatch

_MOST_BYTES = 32 * 1024 * 1024
_MOST_RESPONSES = 10_000


@dataclass(frozen=True)
class StoredResponse:
    """A response to a request and its retries."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class IdempotencyCache:
    """Remembers the responses of successful requests by user and key; the oldest are removed first.

    A failed request has changed nothing, so that a retry may succeed.
    """

    _digests: dict[tuple[str, str], str] = field(default_factory=dict)
    _running: dict[tuple[str, str], asyncio.Future[StoredResponse | None]] = field(
        default_factory=dict
    )
    _responses: OrderedDict[tuple[str, str], StoredResponse] = field(default_factory=OrderedDict)
    _bytes: int = 0

    async def begin(self, name: tuple[str, str], digest: str) -> StoredResponse | None:
        """Return the response of an earlier run; None if the caller must run the request now.

        The caller then calls `complete` or `abandon`. ``name`` is the user and the
        ``Idempotency-Key``, and ``digest`` one of the whole request.

        Raises
        ------
        IdempotencyMismatch
            If another request has used the key.
        """
        while True:
            if self._digests.setdefault(name, digest) != digest:
                message = (
                    "This Idempotency-Key was sent before, with another request. Send a new key "
                    "with every new request, and the same one only to repeat it unchanged."
                )
                raise IdempotencyMismatch(message)
            if name in self._responses:
                return self._responses[name]
            if name not in self._running:
                self._running[name] = asyncio.get_running_loop().create_future()
                return None
            response = await asyncio.shield(self._running[name])
            if response is not None:
                return response

    def abandon(self, name: tuple[str, str]) -> None:
        """Forget a request that has failed; the next waiting copy of it runs."""
        del self._digests[name]
        self._running.pop(name).set_result(None)

    def complete(self, name: tuple[str, str], response: StoredResponse) -> None:
        """Store the response of a request, and return it to the waiting copies."""
        self._running.pop(name).set_result(response)
        self._responses[name] = response
        self._bytes += len(response.body)
        while self._bytes > _MOST_BYTES or len(self._responses) > _MOST_RESPONSES:
            oldest_name, oldest = self._responses.popitem(last=False)
            self._bytes -= len(oldest.body)
            del self._digests[oldest_name]
