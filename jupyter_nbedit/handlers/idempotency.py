"""Send the same response to a retried request, without running the request again.

The header is ``Idempotency-Key`` of
https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
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
    """Remembers the responses of successful requests by key; the oldest are removed first.

    A failed request has changed nothing, so that a retry may succeed.
    """

    _requests: dict[tuple[str, str], str] = field(default_factory=dict)
    _running: dict[tuple[str, str], asyncio.Future[StoredResponse | None]] = field(
        default_factory=dict
    )
    _responses: OrderedDict[tuple[str, str], StoredResponse] = field(default_factory=OrderedDict)
    _bytes: int = 0

    async def run(
        self, user: str, key: str, digest: str, function: Callable[[], Awaitable[StoredResponse]]
    ) -> StoredResponse:
        """Run a request, or return the response of an earlier run.

        Parameters
        ----------
        user
            The user; keys of different users are different.
        key
            The ``Idempotency-Key`` of the request.
        digest
            A digest of the whole request.
        function
            Runs the request. If it raises an error, the next waiting copy of the request runs it.

        Raises
        ------
        IdempotencyMismatch
            If another request has used the key.
        """
        name = (user, key)
        while True:
            if self._requests.setdefault(name, digest) != digest:
                message = (
                    "This Idempotency-Key was sent before, with another request. Send a new key "
                    "with every new request, and the same one only to repeat it unchanged."
                )
                raise IdempotencyMismatch(message)
            if name in self._responses:
                return self._responses[name]
            if name not in self._running:
                return await self._run_first(name, function)
            response = await asyncio.shield(self._running[name])
            if response is not None:
                return response

    async def _run_first(
        self, name: tuple[str, str], function: Callable[[], Awaitable[StoredResponse]]
    ) -> StoredResponse:
        future = self._running[name] = asyncio.get_running_loop().create_future()
        response = None
        try:
            response = await function()
            self._remember(name, response)
        finally:
            del self._running[name]
            if response is None:
                del self._requests[name]
            future.set_result(response)
        return response

    def _remember(self, name: tuple[str, str], response: StoredResponse) -> None:
        self._responses[name] = response
        self._bytes += len(response.body)
        while self._bytes > _MOST_BYTES or len(self._responses) > _MOST_RESPONSES:
            oldest_name, oldest = self._responses.popitem(last=False)
            self._bytes -= len(oldest.body)
            del self._requests[oldest_name]
