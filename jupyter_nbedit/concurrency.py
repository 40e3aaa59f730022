"""Run work in threads or in the background of a write, and wait for conditions."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from contextvars import ContextVar, Token
from functools import partial
from typing import Any, Generic, TypeVar

from jupyter_nbedit.errors import Busy, ChangedDuringRead

_Result = TypeVar("_Result")

#: For notebooks of up to so many bytes, a thread switch costs more than the work.
SMALL_BYTES = 100_000
# How much longer than its timeout a thread waits for a coroutine on an event loop.
_BLOCKED_SECONDS = 1.0


async def run_in_thread_if_large(
    size: int, function: Callable[..., _Result], *arguments: Any
) -> _Result:
    """Call a function, in a thread if it works on more than `SMALL_BYTES` bytes."""
    if size <= SMALL_BYTES:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


class Polling:
    """Iterates at once, and again after each interval, until a time has passed.

    A loop that ends by itself has waited in vain.
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
    message = f"{source} has not answered, because the server is stopping or too busy. Try again."
    raise Busy(message)


# The functions to call while the writing thread waits for the disk: one function at each wait.
_DISK_WAIT_CALLBACKS: ContextVar[tuple[Callable[[], object], ...]] = ContextVar(
    "nbedit_later", default=()
)


def announce_disk_wait() -> None:
    """Call the next waiting function, because this thread is about to wait for the disk."""
    if callbacks := _DISK_WAIT_CALLBACKS.get():
        _DISK_WAIT_CALLBACKS.set(callbacks[1:])
        # RuntimeError: the event loop is closed.
        with suppress(RuntimeError):
            callbacks[0]()


class BackgroundTask(Generic[_Result]):
    """A coroutine that runs in the background while a context is open.

    Parameters
    ----------
    function
        The coroutine function. It is called again if the write replaces a file that it reads.
    size
        The size of the work: the number of bytes of a notebook. Small work begins when the writing
        thread waits for the disk, since it would slow the write down before.
    """

    def __init__(
        self, function: Callable[[], Coroutine[Any, Any, _Result]], size: int = SMALL_BYTES + 1
    ) -> None:
        self._function = function
        self._size = size
        self._may_start = False
        self._task: asyncio.Task[_Result] | None = None
        self._token: Token[tuple[Callable[[], object], ...]] | None = None

    def __enter__(self) -> None:
        """Start the task, or arrange that it starts while the writing thread waits."""
        self._may_start = True
        if self._size > SMALL_BYTES:
            self._start()
            return
        begin = partial(asyncio.get_running_loop().call_soon_threadsafe, self._start)
        self._token = _DISK_WAIT_CALLBACKS.set((*_DISK_WAIT_CALLBACKS.get(), begin))

    def _start(self) -> None:
        if self._may_start:
            self._task = asyncio.create_task(self._function())

    def __exit__(self, *_: object) -> None:
        """Cancel the task if its result was not used."""
        self._may_start = False
        if self._token is not None:
            _DISK_WAIT_CALLBACKS.reset(self._token)
        task, self._task = self._task, None
        if task is not None and not task.cancel() and not task.cancelled():
            # Retrieve the exception, so that asyncio does not log it.
            task.exception()

    async def get_result(self) -> _Result:
        """Return the result of the coroutine, or raise its exception."""
        self._may_start = False
        if self._task is not None:
            # The write itself replaces the file that the task reads.
            with suppress(ChangedDuringRead):
                return await self._task
        return await self._function()
