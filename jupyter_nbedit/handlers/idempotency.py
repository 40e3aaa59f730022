"""Answer a retried request as it was answered the first time, and do nothing twice.

The header is the one of https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from jupyter_nbedit.errors import IdempotencyMismatch

_MOST_BYTES = 32 * 1024 * 1024
_MOST_ANSWERS = 10_000


@dataclass(frozen=True)
class StoredResponse:
    """What is sent: also what is sent again."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class IdempotencyCache:
    """Remembers answers by their requests' keys; the oldest are forgotten first.

    Only what succeeded is remembered. A refused request has changed nothing, so that a retry of it
    may fare better.
    """

    _requests: dict[tuple[str, str], str] = field(default_factory=dict)
    _running: dict[tuple[str, str], asyncio.Future[StoredResponse | None]] = field(
        default_factory=dict
    )
    _answers: OrderedDict[tuple[str, str], StoredResponse] = field(default_factory=OrderedDict)
    _bytes: int = 0

    async def run(
        self, user: str, key: str, request: str, work: Callable[[], Awaitable[StoredResponse]]
    ) -> StoredResponse:
        """Do the work of a request unless it was done before; then give its answer again.

        Parameters
        ----------
        user
            Who asks; a key means nothing beside its user.
        key
            The request's ``Idempotency-Key``.
        request
            A digest of all the request says.
        work
            Does it. If it raises, the next copy of the request that waits does it anew.

        Raises
        ------
        IdempotencyMismatch
            If the key was another request's.
        """
        name = (user, key)
        while True:
            if self._requests.setdefault(name, request) != request:
                message = (
                    "This Idempotency-Key was sent before, with another request. Send a new key "
                    "with every new request, and the same one only to repeat it unchanged."
                )
                raise IdempotencyMismatch(message)
            if name in self._answers:
                return self._answers[name]
            if name not in self._running:
                return await self._run_first(name, work)
            answer = await asyncio.shield(self._running[name])
            if answer is not None:
                return answer

    async def _run_first(
        self, name: tuple[str, str], work: Callable[[], Awaitable[StoredResponse]]
    ) -> StoredResponse:
        running = self._running[name] = asyncio.get_running_loop().create_future()
        answer = None
        try:
            answer = await work()
            self._remember(name, answer)
        finally:
            del self._running[name]
            if answer is None:
                del self._requests[name]
            running.set_result(answer)
        return answer

    def _remember(self, name: tuple[str, str], answer: StoredResponse) -> None:
        self._answers[name] = answer
        self._bytes += len(answer.body)
        while self._bytes > _MOST_BYTES or len(self._answers) > _MOST_ANSWERS:
            oldest, forgotten = self._answers.popitem(last=False)
            self._bytes -= len(forgotten.body)
            del self._requests[oldest]
