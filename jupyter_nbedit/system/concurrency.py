"""Run work in threads and on the event loop, and wait for conditions."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from jupyter_nbedit.errors import Busy

_Result = TypeVar("_Result")

#: For notebooks of up to so many bytes, a thread switch costs more than the work.
SMALL_BYTES = 100_000
# More threads would hold the memory of more requests at once, and keep the event loop from the
# interpreter's lock.
_LARGE_WORK = ThreadPoolExecutor(2, thread_name_prefix="jupyter_nbedit")
# How much longer than its timeout a thread waits for a coroutine on an event loop.
_BLOCKED_SECONDS = 1.0


async def run_in_thread_if_large(
    size: int, function: Callable[..., _Result], *arguments: Any
) -> _Result:
    """Call a function, in a thread if it works on more than `SMALL_BYTES` bytes.

    The function may not wait for anything: there are only two such threads for all requests.
    """
    if size <= SMALL_BYTES:
        return function(*arguments)
    call = partial(copy_context().run, function, *arguments)
    return await asyncio.get_running_loop().run_in_executor(_LARGE_WORK, call)


class Polling:
    """Iterates at once, and again after each interval, until a time has passed.

    If an `async for` over it ends without `break`, the condition was never met.
    """

    def __init__(self, seconds: float, interval: float = 0.02) -> None:
        self._deadline = time.monotonic() + seconds
        self._interval = interval
        self._has_begun = False

    def __aiter__(self) -> Polling:
        return self

    async def __anext__(self) -> None:
        if self._has_begun:
            if time.monotonic() > self._deadline:
                raise StopAsyncIteration
            await asyncio.sleep(self._interval)
        self._has_begun = True


def run_on_loop(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, _Result],
    *,
    source: str,
    timeout: float,
) -> _Result:
    """Run a coroutine on an event loop, and return its result to this other thread.

    Raise `Busy` if there is no result after `timeout` seconds, or the loop has stopped. `source` is
    the component that answers, as the beginning of a sentence.
    """

    async def run() -> _Result:
        try:
            return await asyncio.wait_for(coroutine, timeout)
        except asyncio.TimeoutError:
            message = f"{source} has not answered for {timeout:g} seconds. Try again later."
            raise Busy(message) from None

    if loop.is_running():
        future = asyncio.run_coroutine_threadsafe(run(), loop)
        # The loop may stop before it ends this, or be blocked.
        with suppress(CancelledError, FutureTimeoutError):
            return future.result(timeout + _BLOCKED_SECONDS)
        future.cancel()
    if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
        coroutine.close()
    raise Busy(f"{source} has not answered, because the server is stopping or too busy. Try again.")
